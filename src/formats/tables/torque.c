// SPDX-License-Identifier: MIT
// Torque tables: frame,JOINT,JOINT,... and a row per frame.
#include "sinew/formats.h"
#include "base/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static sn_status read_header(sn_csv *csv, const sn_skeleton *skeleton, sn_torques *out, int *columns, int *count) {
  const char *field;
  size_t size;
  *count = 0;
  if (!sn_csv_field(csv, &field, &size) || size != 5 || memcmp(field, "frame", 5) != 0) {
    return sn_fail(csv->ctx, SN_BAD_FILE, "%s:1: the first column must be called frame", csv->path);
  }
  while (sn_csv_field(csv, &field, &size)) {
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
  sn_csv_next_line(csv);
  return SN_OK;
}

static sn_status read_row(sn_csv *csv, const int *columns, int count, bool *seen, sn_torques *out) {
  const char *field;
  size_t size;
  double frame, value;
  sn_csv_field(csv, &field, &size);
  sn_status status = sn_csv_number(csv, field, size, &frame);
  if (status != SN_OK) return status;
  if (!(frame >= 0 && frame < out->frame_count) || frame != floor(frame) || seen[(int)frame]) {
    return sn_fail(csv->ctx, SN_BAD_FILE, "%s:%d: frame %g: the %d rows must be frames 0 to %d, each once", csv->path,
                   csv->line, frame, out->frame_count, out->frame_count - 1);
  }
  seen[(int)frame] = true;
  double *row = out->values + (size_t)frame * (size_t)out->joint_count;
  int c = 0;
  for (; status == SN_OK && sn_csv_field(csv, &field, &size); c++) {
    status = c < count ? sn_csv_number(csv, field, size, &value) : SN_OK;
    if (status == SN_OK && c < count) row[columns[c]] = value;
  }
  if (status == SN_OK && c != count) {
    status = sn_fail(csv->ctx, SN_BAD_FILE, "%s:%d: %d values where the first line has %d joints", csv->path,
                     csv->line, c, count);
  }
  return status;
}

static sn_status read_table(sn_csv *csv, const sn_skeleton *skeleton, sn_torques *out) {
  sn_context *ctx = csv->ctx;
  out->joint_count = skeleton->joint_count;
  out->has = SN_NEW(ctx, &out->memory, bool, skeleton->joint_count);
  int *columns = SN_NEW(ctx, &out->memory, int, skeleton->joint_count), count;
  if (!out->has || !columns) return ctx->error.status;
  sn_status status = read_header(csv, skeleton, out, columns, &count);
  if (status != SN_OK) return status;
  out->frame_count = sn_csv_count_rows(csv);
  if (out->frame_count == 0) return sn_fail(ctx, SN_BAD_FILE, "%s: no rows", csv->path);
  out->values = SN_NEW(ctx, &out->memory, double, (size_t)out->frame_count *(size_t)out->joint_count);
  bool *seen = SN_NEW(ctx, &out->memory, bool, out->frame_count);
  if (!out->values || !seen) return ctx->error.status;
  for (; status == SN_OK && csv->p < csv->end; sn_csv_next_line(csv)) {
    if (!sn_csv_blank_line(csv)) status = read_row(csv, columns, count, seen, out);
  }
  return status;
}

sn_status sn_torques_parse(sn_context *ctx, const char *name, const char *text, size_t size,
                           const sn_skeleton *skeleton, sn_torques *out) {
  *out = (sn_torques){.memory = sn_arena_new(ctx)};
  sn_csv csv = sn_csv_new(ctx, name, text, size);
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
