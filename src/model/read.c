// SPDX-License-Identifier: MIT
// Model files: to and from disk, and back into meshes, weights and skeletons.
#include <string.h>

#include "runtime/internal.h"
#include "sinew/model.h"

sn_status sn_model_write(sn_context *ctx, const char *path, const sn_model *model) {
  sn_writer writer;
  sn_status status = sn_writer_open(ctx, path, &writer);
  if (status != SN_OK) return status;
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

// ---- blocks, back in the order of the rest mesh ---------------------------------------------------------------------------

// Calls `visit` for every lane of every block (a vertex that fills up a block comes more than once).
typedef void (*lane_fn)(const sn_rt_model *model, const sn_rt_group *g, uint32_t block, int lane, uint32_t vertex,
                        void *user);

static void for_each_lane(const sn_rt_model *model, lane_fn visit, void *user) {
  const uint32_t *chunks = model->sections[SN_SECTION_SKIN_CHUNKS];
  const sn_rt_group *groups = model->sections[SN_SECTION_SKIN_GROUPS];
  const uint16_t(*lanes)[SN_RT_LANES] = model->sections[SN_SECTION_SKIN_LANES];
  uint32_t grain = model->info.grain;
  for (uint32_t c = 0; (uint64_t)c * grain < model->info.vertex_count; c++)
    for (uint32_t n = chunks[c]; n < chunks[c + 1]; n++)
      for (uint32_t b = 0; b < groups[n].block_count; b++)
        for (int l = 0; l < SN_RT_LANES; l++) {
          visit(model, groups + n, b, l, c * grain + lanes[groups[n].first_block + b][l], user);
        }
}

static void visit_position(const sn_rt_model *model, const sn_rt_group *g, uint32_t block, int lane, uint32_t vertex,
                           void *user) {
  const float(*rest)[3][SN_RT_LANES] = model->sections[SN_SECTION_SKIN_REST];
  float(*positions)[3] = user;
  for (int c = 0; c < 3; c++) positions[vertex][c] = rest[g->first_block + block][c][lane];
}

sn_status sn_model_mesh(sn_context *ctx, const sn_rt_model *model, sn_mesh *out) {
  sn_status status = sn_mesh_new(ctx, (int)model->info.vertex_count, (int)model->info.triangle_count, out);
  if (status != SN_OK) return status;
  for_each_lane(model, visit_position, out->positions);
  const uint32_t(*triangles)[3] = model->sections[SN_SECTION_MESH_TRIANGLES];
  for (int t = 0; t < out->triangle_count; t++)
    for (int c = 0; c < 3; c++) out->triangles[t][c] = (int)triangles[t][c];
  return SN_OK;
}

static float weight_at(const sn_rt_model *model, size_t index) {
  return sn_rt_stored_weight(model->sections[SN_SECTION_SKIN_WEIGHTS], model->info.weight_bits, index) /
         sn_rt_weight_total(model);
}

static void visit_weights(const sn_rt_model *model, const sn_rt_group *g, uint32_t block, int lane, uint32_t vertex,
                          void *user) {
  sn_skin *skin = user;
  const uint16_t(*tuples)[SN_RT_LANES] = model->sections[SN_SECTION_SKIN_TUPLES];
  size_t row = (size_t)vertex * (size_t)skin->influences;
  size_t first = g->first_weight + (size_t)block * (size_t)(g->influences - 1);
  int count = 0;
  float first_weight = 1;
  for (size_t k = 1; k < g->influences; k++)
    first_weight -= weight_at(model, (first + k - 1) * SN_RT_LANES + (size_t)lane);
  for (size_t k = 0; k < g->influences; k++) {
    float weight = k ? weight_at(model, (first + k - 1) * SN_RT_LANES + (size_t)lane) : first_weight;
    uint16_t joint =
      g->kind == SN_RT_GROUP_SHARED ? g->joints[k] : tuples[g->first_tuple + (size_t)block * g->influences + k][lane];
    if (!(weight > 1e-6f)) continue; // what is left of 1 may be a rounding error
    int to = count++;
    for (; to > 0 && skin->weights[row + (size_t)to - 1] < weight; to--) {
      skin->weights[row + (size_t)to] = skin->weights[row + (size_t)to - 1];
      skin->joints[row + (size_t)to] = skin->joints[row + (size_t)to - 1];
    }
    skin->weights[row + (size_t)to] = weight, skin->joints[row + (size_t)to] = joint;
  }
}

sn_status sn_model_skin(sn_context *ctx, const sn_rt_model *model, sn_skin *out) {
  int influences = model->info.max_influences ? (int)model->info.max_influences : 1;
  sn_status status = sn_skin_new(ctx, (int)model->info.vertex_count, influences, out);
  if (status == SN_OK) for_each_lane(model, visit_weights, out);
  return status;
}

sn_status sn_model_skeleton(sn_context *ctx, const sn_rt_model *model, sn_skeleton *out) {
  int joints = (int)model->info.joint_count;
  sn_status status = sn_skeleton_new(ctx, joints, out);
  const float(*rest)[12] = model->sections[SN_SECTION_JOINT_REST];
  for (int j = 0; status == SN_OK && j < joints; j++) {
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

void sn_model_read_palette(const sn_rt_model *model, const void *scratch, sn_affine *out) {
  for (uint32_t e = 0; e < model->info.palette_count; e++) {
    float m[12];
    sn_rt_palette_matrix(model, scratch, e, m);
    for (int k = 0; k < 12; k++) out[e].m[k / 4][k % 4] = m[k];
  }
}
