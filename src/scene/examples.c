// SPDX-License-Identifier: MIT
// Examples and their named values: memory, consistency checks, notes, vertex orders.
#include "base/scope.h"
#include "sinew/scene.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

SN_DEFINE_FREE(sn_torques);

sn_status sn_values_new(sn_context *ctx, int count, int frame_count, sn_values *out) {
  *out = (sn_values){.count = count, .frame_count = frame_count, .memory = sn_arena_new(ctx)};
  out->names = SN_NEW(ctx, &out->memory, char *, count);
  out->rest = SN_NEW(ctx, &out->memory, double, count);
  out->values = SN_NEW(ctx, &out->memory, double, (size_t)frame_count *(size_t)count);
  if (out->names && out->rest && out->values) return SN_OK;
  sn_values_free(out);
  return ctx->error.status;
}

int sn_values_find(const sn_values *values, const char *name) {
  for (int v = 0; v < values->count; v++)
    if (strcmp(values->names[v], name) == 0) return v;
  return -1;
}

SN_DEFINE_FREE(sn_values);

// Number of frames: of the meshes, or of the poses if there are no meshes (input of `eval`).
static int frame_count(const sn_examples *examples) {
  return examples->frames.frame_count > 0 ? examples->frames.frame_count : examples->poses.frame_count;
}

// Rows of numbers, one per frame from `first` on; `width` numbers of a row belong to each of the columns.
typedef struct number_table {
  const double *numbers;
  int first, row_count, columns, width;
  const char *kind, *what;
} number_table;

// Models store numbers as floats: they must be in their range.
static sn_status check_numbers(sn_context *ctx, number_table t, char *const *names) {
  size_t row = (size_t)t.columns * (size_t)t.width;
  for (size_t k = 0; k < (size_t)t.row_count * row; k++) {
    if (fabs(t.numbers[k]) <= 1e30) continue;
    return sn_fail(ctx, SN_BAD_INPUT, "frame %d, %s %s: the %s is %s", t.first + (int)(k / row), t.kind,
                   names[k % row / (size_t)t.width], t.what, isfinite(t.numbers[k]) ? "too large" : "not finite");
  }
  return SN_OK;
}

// Poses or torques: a row for every frame, a column for every joint.
static sn_status check_joints(sn_context *ctx, const sn_examples *examples, number_table t) {
  const sn_skeleton *skeleton = &examples->skeleton;
  if (t.columns == skeleton->joint_count && t.row_count == frame_count(examples))
    return check_numbers(ctx, t, skeleton->names);
  return sn_fail(ctx, SN_BAD_INPUT, "the %ss are %d frames of %d joints; %d frames of %d joints are needed", t.what,
                 t.row_count, t.columns, frame_count(examples), skeleton->joint_count);
}

static sn_status check_skin(sn_context *ctx, const sn_examples *examples) {
  const sn_skin *skin = &examples->skin;
  if (skin->vertex_count != examples->rest.vertex_count)
    return sn_fail(ctx, SN_BAD_INPUT, "the skin has %d vertices, the rest mesh %d", skin->vertex_count,
                   examples->rest.vertex_count);
  for (size_t k = 0; k < (size_t)skin->vertex_count * (size_t)skin->influences; k++) {
    if (skin->joints[k] >= examples->skeleton.joint_count)
      return sn_fail(ctx, SN_BAD_INPUT, "vertex %zu is bound to joint %d of %d", k / (size_t)skin->influences,
                     skin->joints[k], examples->skeleton.joint_count);
  }
  return SN_OK;
}

static sn_status check_values(sn_context *ctx, const sn_examples *examples) {
  const sn_values *v = &examples->values;
  int frames = frame_count(examples);
  if (frames > 0 && v->frame_count != frames)
    return sn_fail(ctx, SN_BAD_INPUT, "`values` has %d rows, but there are %d frames: give a row per frame",
                   v->frame_count, frames);
  SN_TRY(check_numbers(ctx, (number_table){v->rest, -1, 1, v->count, 1, "value", "number"}, v->names));
  number_table table = {v->values, 0, v->frame_count, v->count, 1, "value", "number"};
  return check_numbers(ctx, table, v->names);
}

sn_status sn_examples_check(sn_context *ctx, const sn_examples *examples) {
  const sn_poses *poses = &examples->poses;
  const sn_torques *torques = &examples->torques;
  number_table pose_table = {NULL, 0, poses->frame_count, poses->joint_count, 12, "joint", "pose"};
  number_table torque_table = {NULL, 0, torques->frame_count, torques->joint_count, 1, "joint", "torque"};
  pose_table.numbers = (const double *)poses->matrices, torque_table.numbers = torques->values;
  if (sn_mesh_check(ctx, &examples->rest) != SN_OK) return sn_fail_prefix(ctx, "rest mesh: ");
  if (examples->frames.frame_count > 0 && examples->frames.vertex_count != examples->rest.vertex_count)
    return sn_fail(ctx, SN_BAD_INPUT, "the frames have %d vertices, the rest mesh %d", examples->frames.vertex_count,
                   examples->rest.vertex_count);
  SN_TRY(sn_frames_check(ctx, &examples->frames));
  if (poses->matrices) SN_TRY(check_joints(ctx, examples, pose_table));
  if (examples->skin.influences > 0) SN_TRY(check_skin(ctx, examples));
  if (torques->values) SN_TRY(check_joints(ctx, examples, torque_table));
  if (examples->values.count > 0) SN_TRY(check_values(ctx, examples));
  for (int c = 0; c < examples->control_count; c++) {
    int i = examples->controls[c];
    if (i < 0 || i >= examples->rest.vertex_count)
      return sn_fail(ctx, SN_BAD_INPUT, "control vertex %d does not exist (there are %d vertices)", i,
                     examples->rest.vertex_count);
  }
  return SN_OK;
}

int sn_examples_file_vertices(const sn_examples *examples) {
  return examples->source ? examples->source_count : examples->rest.vertex_count;
}

void sn_examples_to_file(const sn_examples *examples, const void *vertices, size_t size, void *out) {
  for (int s = 0; s < sn_examples_file_vertices(examples); s++)
    memcpy((char *)out + (size_t)s * size, (const char *)vertices + (size_t)sn_examples_vertex(examples, s) * size,
           size);
}

void sn_examples_from_file(const sn_examples *examples, const void *vertices, size_t size, void *out) {
  for (int s = 0; s < sn_examples_file_vertices(examples); s++)
    memcpy((char *)out + (size_t)sn_examples_vertex(examples, s) * size, (const char *)vertices + (size_t)s * size,
           size);
}

sn_status sn_examples_file_mesh(sn_context *ctx, const sn_examples *examples, sn_mesh *out) {
  const sn_mesh *rest = &examples->rest;
  SN_TRY(sn_mesh_new(ctx, sn_examples_file_vertices(examples), rest->triangle_count, out));
  sn_examples_to_file(examples, rest->positions, sizeof *rest->positions, out->positions);
  memcpy(out->triangles, examples->source_triangles ? examples->source_triangles : rest->triangles,
         (size_t)rest->triangle_count * sizeof *out->triangles);
  return SN_OK;
}

sn_status sn_examples_file_skin(sn_context *ctx, const sn_examples *examples, const sn_skin *skin, sn_skin *out) {
  SN_TRY(sn_skin_new(ctx, sn_examples_file_vertices(examples), skin->influences, out));
  sn_examples_to_file(examples, skin->joints, (size_t)skin->influences * sizeof *skin->joints, out->joints);
  sn_examples_to_file(examples, skin->weights, (size_t)skin->influences * sizeof *skin->weights, out->weights);
  return SN_OK;
}

void sn_examples_note(sn_context *ctx, sn_examples *examples, const char *format, ...) {
  char text[SN_NOTE_SIZE];
  (void)ctx;
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  for (int k = 0; k < examples->note_count; k++)
    if (strcmp(examples->notes[k], text) == 0) return;
  if (examples->note_count < SN_MOST_NOTES) strcpy(examples->notes[examples->note_count++], text);
}

void sn_examples_free(sn_examples *examples) {
  sn_mesh_free(&examples->rest);
  sn_frames_free(&examples->frames);
  sn_skeleton_free(&examples->skeleton);
  sn_poses_free(&examples->poses);
  sn_skin_free(&examples->skin);
  sn_torques_free(&examples->torques);
  sn_values_free(&examples->values);
  sn_arena_free(&examples->memory);
  *examples = (sn_examples){0};
}
