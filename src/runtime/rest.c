// SPDX-License-Identifier: MIT
// Rest pose, weights and displacement fields, from blocks back to vertex order.
#include <string.h>

#include "runtime/internal.h"
#include "runtime/vertex.h"

// ---- the rest pose -------------------------------------------------------------------------------------------------------

static void read_centre(const sn_rt_model *model, const sn_rt_stored *skin, const sn_rt_block *view, uint32_t lane,
                        float out[3]) {
  const float(*centres)[3][SN_RT_LANES] = sn_rt_data(model, SN_SECTION_SKIN_CENTRES);
  if (!centres) sn_rt_stored_position(skin, view->group, view->block, lane, out);
  for (int c = 0; centres && c < 3; c++) out[c] = centres[view->block][c][lane];
}

static void read_points(const sn_rt_model *model, const sn_rt_block *view, const sn_rt_rest *out) {
  sn_rt_stored skin = sn_rt_stored_of(model);
  int normals = out->normals && model->info.shade == SN_RT_SHADE_TRANSFORM;
  for (uint32_t l = 0; l < SN_RT_LANES; l++) {
    if (out->positions) sn_rt_stored_position(&skin, view->group, view->block, l, out->positions[view->vertex[l]]);
    if (out->centres) read_centre(model, &skin, view, l, out->centres[view->vertex[l]]);
    if (out->tangents) sn_rt_stored_tangent(&skin, view->block, l, out->tangents[view->vertex[l]]);
    if (out->tangents && skin.boxes) sn_rt_normalise(out->tangents[view->vertex[l]]);
    if (!normals) continue;
    sn_rt_stored_normal(&skin, view->block, l, out->normals[view->vertex[l]]);
    if (skin.boxes) sn_rt_normalise(out->normals[view->vertex[l]]);
  }
}

static void read_weights(const sn_rt_model *model, const sn_rt_block *view, uint32_t lane, const sn_rt_rest *out) {
  sn_rt_stored skin = sn_rt_stored_of(model);
  const sn_rt_group *g = skin.groups + view->group;
  size_t row = (size_t)view->vertex[lane] * out->influences;
  float first = 1, total = sn_rt_weight_total(skin.weight_bits);
  for (uint32_t k = 0; k < out->influences; k++) {
    int used = k < g->influences;
    float weight = used && k ? sn_rt_stored_weight(&skin, view->weight_row + k - 1, lane) / total : 0;
    uint32_t joint = !used                           ? 0
                     : g->kind == SN_RT_GROUP_SHARED ? g->joints[k]
                                                     : sn_rt_stored_joint(&skin, view->tuple_row + k, lane);
    first -= weight;
    out->weights[row + k] = weight, out->joints[row + k] = (uint16_t)joint;
  }
  out->weights[row] = first;
}

sn_rt_status sn_rt_get_rest(const sn_rt_model *model, const sn_rt_rest *out, sn_rt_error *error) {
  if (!sn_rt_at(model)->bytes) return sn_rt_fail(error, SN_RT_BAD_ARGUMENT, "the model is not open");
  if (!out->joints != !out->weights) return sn_rt_fail(error, SN_RT_BAD_ARGUMENT, "joints and weights go together");
  if (out->weights && out->influences < model->info.max_influences)
    return sn_rt_fail(error, SN_RT_BAD_ARGUMENT, "the model has up to %u influences per vertex, there is room for %u",
                      model->info.max_influences, out->influences);
  if (out->tangents && !model->info.tangents)
    return sn_rt_fail(error, SN_RT_BAD_ARGUMENT, "the model has no tangents");
  int recompute = out->normals && model->info.shade == SN_RT_SHADE_RECOMPUTE;
  if (recompute && !out->positions)
    return sn_rt_fail(error, SN_RT_BAD_ARGUMENT, "normals of this model are made from its positions");
  for (sn_rt_block view = {0}; sn_rt_next_block(model, &view);) {
    read_points(model, &view, out);
    for (uint32_t l = 0; out->weights && l < SN_RT_LANES; l++) read_weights(model, &view, l, out);
  }
  sn_rt_output output = {.positions = (float *)out->positions, .normals = (float *)out->normals};
  return recompute ? sn_rt_normals(model, &output, 0, model->info.vertex_count, error) : SN_RT_OK;
}

// ---- displacement fields ---------------------------------------------------------------------------------------------------

uint32_t sn_rt_displacement_count(const sn_rt_model *model) {
  const sn_rt_correct_head *head = sn_rt_data(model, SN_SECTION_CORRECT_HEAD);
  return head && head->order == SN_RT_ORDER_INVERSE ? head->basis_count : 0;
}

void sn_rt_displacements(const sn_rt_model *model, float (*out)[3]) {
  size_t count = sn_rt_displacement_count(model);
  if (count == 0) return;
  sn_rt_stored_corrections stored = sn_rt_stored_corrections_of(model);
  memset(out, 0, count * model->info.vertex_count * sizeof *out);
  for (sn_rt_block b = {0}; sn_rt_next_block(model, &b);)
    for (uint32_t n = stored.start[b.block]; n < stored.start[b.block + 1]; n++) {
      sn_rt_correct_entry e = sn_rt_stored_entry(&stored, n);
      for (uint32_t l = 0; l < SN_RT_LANES; l++) {
        float *to = out[(size_t)e.basis * model->info.vertex_count + b.vertex[l]];
        for (uint32_t c = 0; c < 3; c++) to[c] = e.position * sn_rt_stored_delta(&stored, n, c, l);
      }
    }
}

// ---- blocks and triangles -------------------------------------------------------------------------------------------

void sn_rt_get_blocks(const sn_rt_model *model, uint32_t *out) {
  for (sn_rt_block b = {0}; sn_rt_next_block(model, &b);)
    for (int l = 0; l < SN_RT_LANES; l++) out[b.vertex[l]] = (uint32_t)b.block;
}

int sn_rt_get_order(const sn_rt_model *model, uint32_t *out) {
  const uint32_t *order = sn_rt_data(model, SN_SECTION_MESH_ORDER);
  for (uint32_t k = 0; out && k < model->info.vertex_count; k++) out[k] = order ? order[k] : k;
  return order != NULL;
}

void sn_rt_get_triangles(const sn_rt_model *model, uint32_t (*out)[3]) {
  size_t count = 3 * (size_t)model->info.triangle_count;
  uint32_t *vertex = (uint32_t *)out;
  const uint8_t *packed = sn_rt_data(model, SN_SECTION_PACK_TRIANGLES);
  if (!packed) {
    if (count) memcpy(out, sn_rt_data(model, SN_SECTION_MESH_TRIANGLES), count * sizeof *vertex);
    return;
  }
  const uint8_t *end = packed + sn_rt_size(model, SN_SECTION_PACK_TRIANGLES);
  uint32_t last = 0;
  for (size_t n = 0; n < count; n++) vertex[n] = last += sn_rt_packed_step(&packed, end);
}
