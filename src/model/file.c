// SPDX-License-Identifier: MIT
// Model files: to and from disk, and back into meshes, weights and skeletons.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/scope.h"
#include "runtime/format.h"
#include "sinew/model.h"

sn_status sn_model_write(sn_context *ctx, const char *path, const sn_model *model) {
  sn_writer writer;
  SN_TRY(sn_writer_open(ctx, path, &writer));
  sn_write(&writer, model->bytes, model->size);
  return sn_writer_commit(ctx, &writer);
}

sn_status sn_model_open(sn_context *ctx, const char *name, const void *bytes, size_t size, sn_rt_model *out) {
  sn_rt_error error;
  sn_rt_status status = sn_rt_open(bytes, size, out, &error);
  if (status == SN_RT_OK) return SN_OK;
  return sn_fail(ctx, status == SN_RT_UNSUPPORTED ? SN_UNSUPPORTED : SN_BAD_FILE, "%s: %s", name, error.message);
}

void sn_model_joints(const sn_affine *matrices, int count, float (*out)[12]) {
  for (int j = 0; j < count; j++)
    for (int n = 0; n < 12; n++) out[j][n] = (float)matrices[j].m[n / 4][n % 4];
}

void sn_model_torques(const sn_torques *torques, int frame, int count, float *out) {
  for (int j = 0; j < count; j++) out[j] = torques->values ? (float)sn_torque(torques, frame, j) : 0;
}

// ---- what is inside, in the order of the rest file ------------------------------------------------------------------

sn_status sn_model_mesh(sn_context *ctx, const sn_rt_model *model, sn_mesh *out) {
  SN_TRY(sn_mesh_new(ctx, (int)model->info.vertex_count, (int)model->info.triangle_count, out));
  sn_rt_get_rest(model, &(sn_rt_rest){.positions = out->positions}, NULL);
  sn_rt_get_triangles(model, (uint32_t(*)[3])out->triangles); // checked: they fit an int
  const uint32_t *order = sn_rt_data(model, SN_SECTION_MESH_ORDER);
  for (size_t n = 0; order && n < 3 * (size_t)out->triangle_count; n++) {
    int *vertex = &out->triangles[n / 3][n % 3];
    *vertex = (int)order[*vertex];
  }
  sn_status status = sn_model_to_file(ctx, model, out->positions, sizeof *out->positions, 1);
  if (status != SN_OK) sn_mesh_free(out);
  return status;
}

sn_status sn_model_skin(sn_context *ctx, const sn_rt_model *model, sn_skin *out) {
  int influences = model->info.max_influences ? (int)model->info.max_influences : 1;
  SN_TRY(sn_skin_new(ctx, (int)model->info.vertex_count, influences, out));
  sn_rt_get_rest(
    model, &(sn_rt_rest){.joints = out->joints, .weights = out->weights, .influences = (uint32_t)influences}, NULL);
  for (size_t n = 0; n < (size_t)model->info.vertex_count * (size_t)influences; n++) // rounding errors of 1 - sum
    if (!(out->weights[n] > 1e-6f)) out->weights[n] = 0, out->joints[n] = 0;
  sn_skin_sort(out);
  sn_status status = sn_model_to_file(ctx, model, out->joints, (size_t)influences * sizeof *out->joints, 1);
  if (status == SN_OK)
    status = sn_model_to_file(ctx, model, out->weights, (size_t)influences * sizeof *out->weights, 1);
  if (status != SN_OK) sn_skin_free(out);
  return status;
}

sn_status sn_model_skeleton(sn_context *ctx, const sn_rt_model *model, sn_skeleton *out) {
  int joint_count = (int)model->info.joint_count;
  sn_status status = sn_skeleton_new(ctx, joint_count, out);
  const float(*rest)[12] = sn_rt_data(model, SN_SECTION_JOINT_REST);
  for (int j = 0; status == SN_OK && j < joint_count; j++) {
    const char *name = sn_rt_joint_name(model, (uint32_t)j);
    if (name) out->names[j] = sn_arena_text(ctx, &out->memory, name);
    if (!out->names[j]) status = SN_NO_MEMORY;
    out->parents[j] = sn_rt_joint_parent(model, (uint32_t)j);
    for (int n = 0; rest && n < 12; n++) out->rest[j].m[n / 4][n % 4] = rest[j][n];
  }
  if (status == SN_OK) status = sn_skeleton_sort(ctx, out);
  if (status != SN_OK) sn_skeleton_free(out);
  return status;
}

sn_status sn_model_values(sn_context *ctx, const sn_rt_model *model, int frame_count, sn_values *out) {
  int count = (int)model->info.value_count;
  sn_status status = sn_values_new(ctx, count, frame_count, out);
  for (int v = 0; status == SN_OK && v < count; v++) {
    float range[2] = {0};
    sn_rt_value_range(model, (uint32_t)v, range);
    for (int f = 0; f < frame_count; f++)
      out->values[f * count + v] = fmin(fmax(0, (double)range[0]), (double)range[1]);
    out->names[v] = sn_arena_text(ctx, &out->memory, sn_rt_value_name(model, (uint32_t)v));
    if (!out->names[v]) status = ctx->error.status;
  }
  if (status != SN_OK) sn_values_free(out);
  return status;
}

uint16_t sn_model_joint_of(const sn_rt_model *model, uint16_t entry) {
  uint32_t joint_count = model->info.joint_count;
  if (entry < joint_count || joint_count == 0) return entry;
  uint32_t bone = entry - joint_count, block = bone / SN_RT_LANES, lane = bone % SN_RT_LANES;
  switch (model->info.drive) {
  case SN_RT_DRIVE_ROTREG:
    return ((const sn_rt_rotreg_block *)sn_rt_data(model, SN_SECTION_DRIVE_KEYS))[block].base[lane];
  case SN_RT_DRIVE_TORQUE:
    return ((const sn_rt_torque_block *)sn_rt_data(model, SN_SECTION_DRIVE_PAIRS))[block].ends[0].base[lane];
  case SN_RT_DRIVE_HELPERS:
    return ((const sn_rt_helper *)sn_rt_data(model, SN_SECTION_DRIVE_HELPERS))[bone].parent;
  default:
    return ((const sn_rt_extra *)sn_rt_data(model, SN_SECTION_DRIVE_EXTRA))[bone].child;
  }
}

void sn_model_read_palette(const sn_rt_model *model, const void *scratch, sn_affine *out) {
  for (uint32_t e = 0; e < model->info.palette_count; e++) {
    float m[12];
    sn_rt_palette_matrix(model, scratch, e, m);
    for (int k = 0; k < 12; k++) out[e].m[k / 4][k % 4] = m[k];
  }
}

// ---- displacement fields --------------------------------------------------------------------------------------------

sn_status sn_model_displacements(sn_context *ctx, const sn_rt_model *model, sn_displacements *out) {
  *out = (sn_displacements){0};
  if (model->info.correct == SN_RT_CORRECT_NONE) return SN_OK;
  const sn_rt_correct_head *head = sn_rt_data(model, SN_SECTION_CORRECT_HEAD);
  if (head->order != SN_RT_ORDER_INVERSE)
    return sn_fail(ctx, SN_UNSUPPORTED, "forward corrections are added after skinning");
  *out = (sn_displacements){.count = (int)sn_rt_displacement_count(model), .memory = sn_arena_new(ctx)};
  out->deltas = sn_arena_alloc(ctx, &out->memory, (size_t)out->count * model->info.vertex_count, sizeof *out->deltas);
  if (!out->deltas) return ctx->error.status;
  sn_rt_displacements(model, out->deltas);
  return sn_model_to_file(ctx, model, out->deltas, sizeof *out->deltas, (size_t)out->count);
}

SN_DEFINE_FREE(sn_displacements);

// The single value whose terms are the field's bases; -1 for other fields.
static int value_of_field(const sn_rt_model *model, const sn_rt_field *field) {
  const sn_rt_terms *terms = sn_rt_data(model, SN_SECTION_CORRECT_TERMS);
  const uint16_t *groups = sn_rt_data(model, SN_SECTION_CORRECT_JOINTS);
  if (field->kernel != SN_RT_KERNEL_SUM || field->joint_count != 1) return -1;
  const sn_rt_terms *functions = terms + groups[field->first_joint], *own = terms + functions->a;
  bool single = functions->kind == SN_RT_TERMS_FUNCTIONS && functions->b == 1 && own->kind == SN_RT_TERMS_VALUE;
  return single && own->count == functions->count && field->basis_count == own->count ? own->a : -1;
}

sn_status sn_model_shape_names(sn_context *ctx, sn_arena *memory, const sn_rt_model *model,
                               const char *const **names) {
  const sn_rt_correct_head *head = sn_rt_data(model, SN_SECTION_CORRECT_HEAD);
  const sn_rt_field *fields = sn_rt_data(model, SN_SECTION_CORRECT_FIELDS);
  *names = NULL;
  if (!head || model->info.value_count == 0) return SN_OK;
  bool *used = SN_NEW(ctx, memory, bool, model->info.value_count);
  const char **out = SN_NEW(ctx, memory, const char *, head->basis_count);
  if (!used || !out) return ctx->error.status;
  for (uint32_t f = 0; f < head->field_count; f++) {
    int value = value_of_field(model, fields + f);
    if (value < 0 || used[value]) return SN_OK;
    used[value] = true;
    const char *name = sn_rt_value_name(model, (uint32_t)value);
    size_t size = strlen(name) + sizeof "^2";
    for (uint32_t k = 0; k < fields[f].basis_count; k++) {
      char *text = sn_arena_alloc(ctx, memory, size, 1);
      if (!text) return ctx->error.status;
      snprintf(text, size, "%s%s", name, k ? "^2" : "");
      out[fields[f].first_basis + k] = text;
    }
  }
  *names = out;
  return SN_OK;
}
