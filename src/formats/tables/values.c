// SPDX-License-Identifier: MIT
// Tables: frame,NAME,NAME,... and a row per frame, one of them optionally called rest. Columns are named values or, by joint,
// torques.
#include "formats/tables/values.h"

#include <math.h>
#include <string.h>

#include "base/csv.h"

enum { most_values = 4096 };

typedef struct table {
  sn_csv csv;
  sn_values *out;
  bool *seen; // per frame; the last is the rest mesh
} table;

static bool is_text(const char *field, size_t size, const char *text) {
  return size == strlen(text) && memcmp(field, text, size) == 0;
}

// Counts the columns after `frame`.
static sn_status count_columns(sn_csv csv, int *count) {
  const char *field;
  size_t size;
  if (!sn_csv_field(&csv, &field, &size) || !is_text(field, size, "frame"))
    return sn_fail(csv.ctx, SN_BAD_FILE, "%s:1: the first column must be called frame", csv.path);
  for (*count = 0; sn_csv_field(&csv, &field, &size); (*count)++)
    if (*count == most_values)
      return sn_fail(csv.ctx, SN_BAD_FILE, "%s:1: more than %d values", csv.path, most_values);
  return SN_OK;
}

static bool has_rest(sn_csv csv) {
  const char *field;
  size_t size;
  for (; csv.p < csv.end; sn_csv_next_line(&csv))
    if (!sn_csv_blank_line(&csv) && sn_csv_field(&csv, &field, &size) && is_text(field, size, "rest")) return true;
  return false;
}

// Address of a row's numbers; NULL, with a message, if its first field is neither a frame nor `rest`.
static double *row_place(table *t, const char *field, size_t size) {
  sn_values *out = t->out;
  double frame;
  int index = out->frame_count;
  if (!is_text(field, size, "rest")) {
    if (sn_csv_number(&t->csv, field, size, &frame) != SN_OK) return NULL;
    index = frame >= 0 && frame < out->frame_count && frame == floor(frame) ? (int)frame : -1;
  }
  if (index >= 0 && !t->seen[index]) {
    t->seen[index] = true;
    return index == out->frame_count ? out->rest : out->values + (size_t)index * (size_t)out->count;
  }
  sn_fail(t->csv.ctx, SN_BAD_FILE, "%s:%d: frame %.*s: the rows must be frames 0 to %d, each once (and perhaps rest)",
          t->csv.path, t->csv.line, (int)size, field, out->frame_count - 1);
  return NULL;
}

static sn_status read_row(table *t) {
  const char *field;
  size_t size;
  sn_csv_field(&t->csv, &field, &size);
  double *row = row_place(t, field, size), ignored;
  if (!row) return t->csv.ctx->error.status;
  int count = 0;
  for (; sn_csv_field(&t->csv, &field, &size); count++)
    SN_TRY(sn_csv_number(&t->csv, field, size, count < t->out->count ? row + count : &ignored));
  if (count == t->out->count) return SN_OK;
  return sn_fail(t->csv.ctx, SN_BAD_FILE, "%s:%d: %d values where the first line has %d names", t->csv.path,
                 t->csv.line, count, t->out->count);
}

// The names of the columns, each another.
static sn_status read_names(table *t) {
  sn_csv *csv = &t->csv;
  const char *field;
  size_t size;
  sn_csv_field(csv, &field, &size);
  for (int v = 0; v < t->out->count; v++) {
    sn_csv_field(csv, &field, &size);
    if (size == 0 || size > 200)
      return sn_fail(csv->ctx, SN_BAD_FILE, "%s:1: column %d needs a name, of at most 200 characters", csv->path,
                     csv->column);
    char *name = SN_NEW(csv->ctx, &t->out->memory, char, size + 1);
    if (!name) return csv->ctx->error.status;
    memcpy(name, field, size);
    for (int k = 0; k < v; k++)
      if (strcmp(t->out->names[k], name) == 0)
        return sn_fail(csv->ctx, SN_BAD_FILE, "%s:1: two columns are called '%s'", csv->path, name);
    t->out->names[v] = name;
  }
  sn_csv_next_line(csv);
  return SN_OK;
}

static sn_status parse_table(sn_context *ctx, const char *name, const char *text, size_t size, sn_values *out) {
  *out = (sn_values){0};
  table t = {.csv = sn_csv_new(ctx, name, text, size), .out = out};
  int count;
  SN_TRY(count_columns(t.csv, &count));
  sn_csv rows = t.csv;
  sn_csv_next_line(&rows);
  int frames = sn_csv_count_rows(&rows) - has_rest(rows);
  if (frames <= 0) return sn_fail(ctx, SN_BAD_FILE, "%s: no rows", name);
  SN_TRY(sn_values_new(ctx, count, frames, out));
  t.seen = SN_NEW(ctx, &out->memory, bool, frames + 1);
  sn_status status = t.seen ? read_names(&t) : ctx->error.status;
  for (; status == SN_OK && t.csv.p < t.csv.end; sn_csv_next_line(&t.csv)) {
    if (!sn_csv_blank_line(&t.csv)) status = read_row(&t);
  }
  if (status != SN_OK) sn_values_free(out);
  return status;
}

sn_status sn_values_parse(sn_context *ctx, const char *name, const char *text, size_t size, sn_values *out) {
  SN_TRY(parse_table(ctx, name, text, size, out));
  if (out->count > 0) return SN_OK;
  sn_values_free(out);
  return sn_fail(ctx, SN_BAD_FILE, "%s:1: no columns beside frame: frame,NAME,NAME,...", name);
}

sn_status sn_values_read(sn_context *ctx, const char *path, sn_values *out) {
  *out = (sn_values){0};
  SN_FREED_BY(sn_file_close) sn_file file;
  SN_TRY(sn_file_open(ctx, path, &file));
  return sn_values_parse(ctx, path, (const char *)file.bytes, file.size, out);
}

// ---- torques -----------------------------------------------------------------------------------------------------------

static sn_status take_joint(sn_context *ctx, const sn_values *columns, int column, const sn_skeleton *skeleton,
                            sn_torques *out) {
  int joint = sn_skeleton_find(skeleton, columns->names[column]);
  if (joint < 0) return sn_fail(ctx, SN_BAD_FILE, "the skeleton has no joint called '%s'", columns->names[column]);
  if (columns->rest[column] != 0)
    return sn_fail(ctx, SN_BAD_FILE, "joint '%s' has a torque in the rest pose, which must be 0",
                   columns->names[column]);
  out->has[joint] = true;
  for (int f = 0; f < out->frame_count; f++)
    out->values[f * (size_t)out->joint_count + (size_t)joint] =
      columns->values[f * (size_t)columns->count + (size_t)column];
  return SN_OK;
}

sn_status sn_torques_parse(sn_context *ctx, const char *name, const char *text, size_t size,
                           const sn_skeleton *skeleton, sn_torques *out) {
  SN_FREED_BY(sn_values_free) sn_values columns;
  *out = (sn_torques){0};
  SN_TRY(parse_table(ctx, name, text, size, &columns));
  *out = (sn_torques){
    .joint_count = skeleton->joint_count, .frame_count = columns.frame_count, .memory = sn_arena_new(ctx)};
  out->has = SN_NEW(ctx, &out->memory, bool, skeleton->joint_count);
  out->values = SN_NEW(ctx, &out->memory, double, (size_t)out->frame_count *(size_t)out->joint_count);
  sn_status status = out->has && out->values ? SN_OK : ctx->error.status;
  for (int c = 0; status == SN_OK && c < columns.count; c++) status = take_joint(ctx, &columns, c, skeleton, out);
  if (status == SN_OK) return SN_OK;
  sn_torques_free(out);
  return sn_fail_prefix(ctx, "%s:1: ", name);
}

sn_status sn_torques_read(sn_context *ctx, const char *path, const sn_skeleton *skeleton, sn_torques *out) {
  *out = (sn_torques){0};
  SN_FREED_BY(sn_file_close) sn_file file;
  SN_TRY(sn_file_open(ctx, path, &file));
  return sn_torques_parse(ctx, path, (const char *)file.bytes, file.size, skeleton, out);
}
