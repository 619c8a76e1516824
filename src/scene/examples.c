// SPDX-License-Identifier: MIT
// Examples: consistency checks, notes, vertex orders, freeing.
#include "sinew/scene.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void sn_torques_free(sn_torques *torques) {
  sn_arena_free(&torques->memory);
  *torques = (sn_torques){0};
}

// Number of frames: of the meshes, or of the poses if there are no meshes (input of `eval`).
static int frame_count(const sn_examples *examples) {
  return examples->frames.frame_count > 0 ? examples->frames.frame_count : examples->poses.frame_count;
}

static sn_status check_size(sn_context *ctx, const sn_examples *examples, const char *what, int frames,
                            int joint_count) {
  if (joint_count == examples->skeleton.joint_count && frames == frame_count(examples)) return SN_OK;
  return sn_fail(ctx, SN_BAD_INPUT, "the %s are %d frames of %d joints; %d frames of %d joints are needed", what,
                 frames, joint_count, frame_count(examples), examples->skeleton.joint_count);
}

// Models store numbers as floats: values must be in their range.
static sn_status check_number(sn_context *ctx, double value, int f, const char *kind, const char *name,
                              const char *what) {
  if (fabs(value) <= 1e30) return SN_OK;
  return sn_fail(ctx, SN_BAD_INPUT, "frame %d, %s %s: the %s is %s", f, kind, name, what,
                 isfinite(value) ? "too large" : "not finite");
}

static sn_status check_poses(sn_context *ctx, const sn_examples *examples) {
  const sn_poses *poses = &examples->poses;
  sn_status status = check_size(ctx, examples, "poses", poses->frame_count, poses->joint_count);
  if (status != SN_OK) return status;
  for (int f = 0; f < poses->frame_count; f++)
    for (int j = 0; j < poses->joint_count; j++)
      for (int k = 0; k < 12; k++) {
        double value = sn_pose(poses, f)[j].m[k / 4][k % 4];
        status = check_number(ctx, value, f, "joint", examples->skeleton.names[j], "pose");
        if (status != SN_OK) return status;
      }
  return SN_OK;
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

static sn_status check_torques(sn_context *ctx, const sn_examples *examples) {
  const sn_torques *torques = &examples->torques;
  sn_status status = check_size(ctx, examples, "torques", torques->frame_count, torques->joint_count);
  if (status != SN_OK) return status;
  for (int f = 0; f < torques->frame_count; f++)
    for (int j = 0; j < torques->joint_count; j++) {
      double torque = torques->values[(size_t)f * (size_t)torques->joint_count + (size_t)j];
      status = check_number(ctx, torque, f, "joint", examples->skeleton.names[j], "torque");
      if (status != SN_OK) return status;
    }
  return SN_OK;
}

static sn_status check_values(sn_context *ctx, const sn_examples *examples) {
  const sn_values *values = &examples->values;
  int frames = frame_count(examples);
  if (frames > 0 && values->frame_count != frames)
    return sn_fail(ctx, SN_BAD_INPUT, "`values` has %d rows, but there are %d frames: give a row per frame",
                   values->frame_count, frames);
  for (int f = -1; f < values->frame_count; f++)
    for (int v = 0; v < values->count; v++) {
      double value = f < 0 ? values->rest[v] : values->values[(size_t)f * (size_t)values->count + (size_t)v];
      sn_status status = check_number(ctx, value, f, "value", values->names[v], "number");
      if (status != SN_OK) return status;
    }
  return SN_OK;
}

sn_status sn_examples_check(sn_context *ctx, const sn_examples *examples) {
  sn_status status = sn_mesh_check(ctx, &examples->rest);
  if (status != SN_OK) return sn_fail_prefix(ctx, "rest mesh: ");
  if (examples->frames.frame_count > 0 && examples->frames.vertex_count != examples->rest.vertex_count)
    return sn_fail(ctx, SN_BAD_INPUT, "the frames have %d vertices, the rest mesh %d", examples->frames.vertex_count,
                   examples->rest.vertex_count);
  status = sn_frames_check(ctx, &examples->frames);
  if (status == SN_OK && examples->poses.matrices) status = check_poses(ctx, examples);
  if (status == SN_OK && examples->skin.influences > 0) status = check_skin(ctx, examples);
  if (status == SN_OK && examples->torques.values) status = check_torques(ctx, examples);
  if (status == SN_OK && examples->values.count > 0) status = check_values(ctx, examples);
  for (int c = 0; status == SN_OK && c < examples->control_count; c++) {
    int i = examples->controls[c];
    if (i < 0 || i >= examples->rest.vertex_count) {
      status = sn_fail(ctx, SN_BAD_INPUT, "control vertex %d does not exist (there are %d vertices)", i,
                       examples->rest.vertex_count);
    }
  }
  return status;
}

int sn_examples_file_vertices(const sn_examples *examples) {
  return examples->source ? examples->source_count : examples->rest.vertex_count;
}

void sn_examples_to_file(const sn_examples *examples, const void *vertices, size_t size, void *out) {
  for (int s = 0; s < sn_examples_file_vertices(examples); s++) {
    size_t i = (size_t)(examples->source ? examples->source[s] : s);
    memcpy((char *)out + (size_t)s * size, (const char *)vertices + i * size, size);
  }
}

void sn_examples_from_file(const sn_examples *examples, const void *vertices, size_t size, void *out) {
  for (int s = 0; s < sn_examples_file_vertices(examples); s++) {
    size_t i = (size_t)(examples->source ? examples->source[s] : s);
    memcpy((char *)out + i * size, (const char *)vertices + (size_t)s * size, size);
  }
}

sn_status sn_examples_file_mesh(sn_context *ctx, const sn_examples *examples, sn_mesh *out) {
  const sn_mesh *rest = &examples->rest;
  sn_status status = sn_mesh_new(ctx, sn_examples_file_vertices(examples), rest->triangle_count, out);
  if (status != SN_OK) return status;
  sn_examples_to_file(examples, rest->positions, sizeof *rest->positions, out->positions);
  memcpy(out->triangles, examples->source_triangles ? examples->source_triangles : rest->triangles,
         (size_t)rest->triangle_count * sizeof *out->triangles);
  return SN_OK;
}

sn_status sn_examples_file_skin(sn_context *ctx, const sn_examples *examples, const sn_skin *skin, sn_skin *out) {
  sn_status status = sn_skin_new(ctx, sn_examples_file_vertices(examples), skin->influences, out);
  if (status != SN_OK) return status;
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
