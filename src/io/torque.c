// SPDX-License-Identifier: MIT
// Torque tables: frame,JOINT,JOINT,... and a row per frame.
#include "sinew/io.h"
#include "io/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct csv_reader {
  sn_context *ctx;
  const char *path, *p, *end;
  int line;
} csv_reader;

// The next field of this line, blanks trimmed. False at the line's end.
static bool next_field(csv_reader *csv, bool first, const char **field, size_t *size) {
  if (!first) {
    if (csv->p == csv->end || *csv->p != ',') return false;
    csv->p++;
  }
  const char *start = csv->p;
  while (csv->p < csv->end && *csv->p != ',' && *csv->p != '\n') csv->p++;
  const char *stop = csv->p;
  while (start < stop && (*start == ' ' || *start == '\t')) start++;
  while (stop > start && (stop[-1] == ' ' || stop[-1] == '\t' || stop[-1] == '\r')) stop--;
  *field = start, *size = (size_t)(stop - start);
  return true;
}

static void next_line(csv_reader *csv) {
  const char *newline = csv->p < csv->end ? memchr(csv->p, '\n', (size_t)(csv->end - csv->p)) : NULL;
  csv->p = newline ? newline + 1 : csv->end;
  csv->line++;
}

static bool blank_line(const csv_reader *csv) {
  const char *p = csv->p;
  while (p < csv->end && (*p == ' ' || *p == '\t' || *p == '\r')) p++;
  return p == csv->end || *p == '\n';
}

static int count_rows(const csv_reader *from) {
  csv_reader csv = *from;
  int rows = 0;
  for (; csv.p < csv.end; next_line(&csv)) rows += !blank_line(&csv);
  return rows;
}

static sn_status read_header(csv_reader *csv, const sn_skeleton *skeleton, sn_torques *out, int *columns,
                             int *count) {
  const char *field;
  size_t size;
  *count = 0;
  if (!next_field(csv, true, &field, &size) || size != 5 || memcmp(field, "frame", 5) != 0) {
    return sn_fail(csv->ctx, SN_BAD_FILE, "%s:1: the first column must be called frame", csv->path);
  }
  while (next_field(csv, false, &field, &size)) {
    int joint = 0;
    while (joint < skeleton->joint_count &&
           (strlen(skeleton->names[joint]) != size || memcmp(skeleton->names[joint], field, size) != 0)) {
      joint++;
    }
    if (joint == skeleton->joint_count) {
      return sn_fail(csv->ctx, SN_BAD_FILE, "%s:1: the skeleton has no joint called '%.*s'", csv->path, (int)size,
                     field);
    }
    if (out->has[joint]) {
      return sn_fail(csv->ctx, SN_BAD_FILE, "%s:1: two columns for joint '%.*s'", csv->path, (int)size, field);
    }
    out->has[joint] = true;
    columns[(*count)++] = joint;
  }
  next_line(csv);
  return SN_OK;
}

static sn_status read_value(csv_reader *csv, const char *field, size_t size, double *out) {
  const char *behind = sn_parse_number(field, field + size, out);
  if (behind != field + size || size == 0 || !isfinite(*out)) {
    return sn_fail(csv->ctx, SN_BAD_FILE, "%s:%d: '%.*s' is not a finite number", csv->path, csv->line, (int)size,
                   field);
  }
  return SN_OK;
}

static sn_status read_row(csv_reader *csv, const int *columns, int count, bool *seen, sn_torques *out) {
  const char *field;
  size_t size;
  double frame, value;
  next_field(csv, true, &field, &size);
  sn_status status = read_value(csv, field, size, &frame);
  if (status != SN_OK) return status;
  if (!(frame >= 0 && frame < out->frame_count) || frame != floor(frame) || seen[(int)frame]) {
    return sn_fail(csv->ctx, SN_BAD_FILE, "%s:%d: frame %g: the %d rows must be frames 0 to %d, each once", csv->path,
                   csv->line, frame, out->frame_count, out->frame_count - 1);
  }
  seen[(int)frame] = true;
  double *row = out->values + (size_t)frame * (size_t)out->joint_count;
  int c = 0;
  for (; status == SN_OK && next_field(csv, false, &field, &size); c++) {
    status = c < count ? read_value(csv, field, size, &value) : SN_OK;
    if (status == SN_OK && c < count) row[columns[c]] = value;
  }
  if (status == SN_OK && c != count) {
    status = sn_fail(csv->ctx, SN_BAD_FILE, "%s:%d: %d values where the first line has %d joints", csv->path,
                     csv->line, c, count);
  }
  return status;
}

static sn_status read_table(csv_reader *csv, const sn_skeleton *skeleton, sn_torques *out) {
  sn_context *ctx = csv->ctx;
  out->joint_count = skeleton->joint_count;
  out->has = SN_NEW(ctx, &out->memory, bool, skeleton->joint_count);
  int *columns = SN_NEW(ctx, &out->memory, int, skeleton->joint_count), count;
  if (!out->has || !columns) return ctx->error.status;
  sn_status status = read_header(csv, skeleton, out, columns, &count);
  if (status != SN_OK) return status;
  out->frame_count = count_rows(csv);
  if (out->frame_count == 0) return sn_fail(ctx, SN_BAD_FILE, "%s: no rows", csv->path);
  out->values = SN_NEW(ctx, &out->memory, double, (size_t)out->frame_count *(size_t)out->joint_count);
  bool *seen = SN_NEW(ctx, &out->memory, bool, out->frame_count);
  if (!out->values || !seen) return ctx->error.status;
  for (; status == SN_OK && csv->p < csv->end; next_line(csv)) {
    if (!blank_line(csv)) status = read_row(csv, columns, count, seen, out);
  }
  return status;
}

sn_status sn_torques_parse(sn_context *ctx, const char *name, const char *text, size_t size,
                           const sn_skeleton *skeleton, sn_torques *out) {
  *out = (sn_torques){.memory = sn_arena_new(ctx)};
  csv_reader csv = {
    .ctx = ctx, .path = name, .p = sn_skip_byte_order_mark(text, size), .end = text + size, .line = 1};
  sn_status status = read_table(&csv, skeleton, out);
  if (status != SN_OK) sn_torques_free(out);
  return status;
}

sn_status sn_torques_read(sn_context *ctx, const char *path, const sn_skeleton *skeleton, sn_torques *out) {
  *out = (sn_torques){0};
  sn_file file;
  sn_status status = sn_file_open(ctx, path, &file);
  if (status != SN_OK) return status;
  status = sn_torques_parse(ctx, path, (const char *)file.bytes, file.size, skeleton, out);
  sn_file_close(&file);
  return status;
}
