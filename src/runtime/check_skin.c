// SPDX-License-Identifier: MIT
// Checks of joints, blocks of vertices and triangles.
#include <math.h>
#include <string.h>

#include "runtime/check.h"

// ---- joints ------------------------------------------------------------------------------------------------------------

// Checks a section of `count` names; `what` is for messages.
static sn_rt_status check_names(sn_rt_checker *c, sn_rt_section_id id, uint64_t count, const char *what) {
  const uint32_t *start = sn_rt_data(c->model, id);
  uint64_t size = sn_rt_size(c->model, id), head = (count + 1) * 4;
  SN_RT_TRY((count ? sn_rt_need : sn_rt_need_if_there)(c, id, size));
  if (!start) return SN_RT_OK;
  if (size < head || start[0] != 0 || start[count] != size - head)
    return SN_RT_BAD(c, "section %s is too short", sn_rt_section_name(id));
  const char *text = (const char *)(start + count + 1);
  for (uint64_t n = 0; n < count; n++)
    if (start[n + 1] <= start[n] || start[n + 1] > size - head || text[start[n + 1] - 1] != 0)
      return SN_RT_BAD(c, "the name of %s %" PRIu64 " does not end", what, n);
  return SN_RT_OK;
}

sn_rt_status sn_rt_check_values(sn_rt_checker *c) {
  uint32_t count = c->model->info.value_count;
  if (count == 0) return SN_RT_OK;
  const float(*ranges)[2] = sn_rt_data(c->model, SN_SECTION_VALUE_RANGES);
  SN_RT_TRY(check_names(c, SN_SECTION_VALUE_NAMES, count, "value"));
  SN_RT_TRY(sn_rt_need_floats(c, SN_SECTION_VALUE_RANGES, 2 * (uint64_t)count));
  for (uint32_t v = 0; v < count; v++)
    if (!(ranges[v][1] - ranges[v][0] > 1e-30f && ranges[v][1] - ranges[v][0] < 1e30f))
      return SN_RT_BAD(c, "value %u has no range", v);
  return SN_RT_OK;
}

sn_rt_status sn_rt_check_joints(sn_rt_checker *c) {
  uint64_t joint_count = c->model->info.joint_count, parents_size = joint_count * 4, floats = joint_count * 12;
  SN_RT_TRY(check_names(c, SN_SECTION_JOINT_NAMES, joint_count, "joint"));
  SN_RT_TRY((joint_count ? sn_rt_need : sn_rt_need_if_there)(c, SN_SECTION_JOINT_PARENTS, parents_size));
  SN_RT_TRY((joint_count ? sn_rt_need_floats : sn_rt_need_floats_if_there)(c, SN_SECTION_JOINT_REST, floats));
  const int32_t *parents = sn_rt_data(c->model, SN_SECTION_JOINT_PARENTS);
  for (uint32_t j = 0; j < joint_count; j++)
    if (parents[j] < -1 || parents[j] >= (int64_t)joint_count) return SN_RT_BAD(c, "joint %u has no such parent", j);
  return SN_RT_OK;
}

// ---- blocks ------------------------------------------------------------------------------------------------------------

static uint64_t chunk_count(const sn_rt_info *info) {
  return ((uint64_t)info->vertex_count + info->grain - 1) / info->grain;
}

// Number of vertices of the chunk that begins at first_vertex.
static uint64_t chunk_size(const sn_rt_checker *c, uint64_t first_vertex) {
  uint64_t left = c->model->info.vertex_count - first_vertex, grain = c->model->info.grain;
  return left < grain ? left : grain;
}

// Bit set of the vertices of a chunk that some block writes.
typedef struct coverage {
  uint8_t bits[SN_RT_MAX_GRAIN / 8 + 1];
  uint32_t count;
} coverage;

static sn_rt_status check_lanes(sn_rt_checker *c, const sn_rt_group *g, uint64_t first_vertex, coverage *seen) {
  const uint16_t *lanes =
    (const uint16_t *)sn_rt_data(c->model, SN_SECTION_SKIN_LANES) + (uint64_t)g->first_block * SN_RT_LANES;
  uint64_t limit = chunk_size(c, first_vertex);
  for (uint32_t n = 0; n < (uint32_t)g->block_count * SN_RT_LANES; n++) {
    uint32_t lane = lanes[n];
    if (lane >= limit)
      return SN_RT_BAD(c, "block %u moves a vertex that does not exist", g->first_block + n / SN_RT_LANES);
    uint8_t bit = (uint8_t)(1u << lane % 8);
    seen->count += !(seen->bits[lane / 8] & bit);
    seen->bits[lane / 8] |= bit;
  }
  return SN_RT_OK;
}

// Running totals over the groups: where the next group must begin.
typedef struct totals {
  uint64_t blocks, weights, tuples, shared;
} totals;

static sn_rt_status check_group(sn_rt_checker *c, uint32_t index, totals *sum) {
  const sn_rt_group *g = (const sn_rt_group *)sn_rt_data(c->model, SN_SECTION_SKIN_GROUPS) + index;
  if (g->influences < 1 || g->influences > SN_RT_MAX_INFLUENCES || g->influences > c->model->info.max_influences)
    return SN_RT_BAD(c, "group %u has %u influences", index, (unsigned)g->influences);
  if (g->kind != SN_RT_GROUP_SHARED && g->kind != SN_RT_GROUP_LOOSE)
    return sn_rt_fail(c->error, SN_RT_UNSUPPORTED, "group %u is of a kind (%u) that this runtime does not know",
                      index, (unsigned)g->kind);
  if (g->first_block != sum->blocks || g->first_weight != sum->weights || g->first_tuple != sum->tuples)
    return SN_RT_BAD(c, "group %u does not begin where the one before ends", index);
  sum->blocks += g->block_count, sum->weights += (uint64_t)g->block_count * (uint64_t)(g->influences - 1);
  if (g->kind == SN_RT_GROUP_LOOSE) {
    sum->tuples += (uint64_t)g->block_count * g->influences;
  } else {
    sum->shared += g->block_count;
    for (int k = 0; k < g->influences; k++)
      if (g->joints[k] >= c->model->info.palette_count)
        return SN_RT_BAD(c, "group %u has a joint that does not exist", index);
  }
  if (sum->blocks > c->model->info.block_count)
    return SN_RT_BAD(c, "the groups have more than the model's %u blocks", c->model->info.block_count);
  return SN_RT_OK;
}

// mesh.order, if present, must be a permutation within every chunk.
static sn_rt_status check_order(sn_rt_checker *c) {
  uint64_t vertices = c->model->info.vertex_count;
  SN_RT_TRY(sn_rt_need_if_there(c, SN_SECTION_MESH_ORDER, vertices * sizeof(uint32_t)));
  const uint32_t *order = sn_rt_data(c->model, SN_SECTION_MESH_ORDER);
  coverage seen;
  for (uint64_t first = 0; order && first < vertices; first += c->model->info.grain) {
    uint64_t count = chunk_size(c, first);
    memset(seen.bits, 0, count / 8 + 1);
    for (uint64_t k = first; k < first + count; k++) {
      uint64_t at = order[k] - first; // wraps to a large number if before the chunk
      if (at >= count) return SN_RT_BAD(c, "vertex %" PRIu64 " comes from outside its chunk", k);
      if (seen.bits[at / 8] >> at % 8 & 1) return SN_RT_BAD(c, "vertex %u of the rest file is there twice", order[k]);
      seen.bits[at / 8] |= (uint8_t)(1u << at % 8);
    }
  }
  return SN_RT_OK;
}

static sn_rt_status check_chunk(sn_rt_checker *c, uint64_t chunk, totals *sum) {
  const uint32_t *start = sn_rt_data(c->model, SN_SECTION_SKIN_CHUNKS);
  const sn_rt_group *groups = sn_rt_data(c->model, SN_SECTION_SKIN_GROUPS);
  uint64_t first_vertex = chunk * c->model->info.grain;
  coverage seen;
  memset(seen.bits, 0, c->model->info.grain / 8 + 1);
  seen.count = 0;
  for (uint32_t g = start[chunk]; g < start[chunk + 1]; g++) {
    SN_RT_TRY(check_group(c, g, sum));
    SN_RT_TRY(check_lanes(c, groups + g, first_vertex, &seen));
  }
  if (seen.count != chunk_size(c, first_vertex))
    return SN_RT_BAD(c, "some vertices from %" PRIu64 " on belong to no block", first_vertex);
  return SN_RT_OK;
}

// Rest tangents, in floats: the last of four numbers is 1 or -1.
static sn_rt_status check_tangents(sn_rt_checker *c) {
  uint64_t blocks = c->model->info.block_count;
  SN_RT_TRY(sn_rt_need_floats_if_there(c, SN_SECTION_SKIN_TANGENTS, blocks * 4 * SN_RT_LANES));
  const float(*rows)[SN_RT_LANES] = sn_rt_data(c->model, SN_SECTION_SKIN_TANGENTS);
  for (uint64_t b = 0; rows && b < blocks; b++)
    for (int l = 0; l < SN_RT_LANES; l++)
      if (fabsf(rows[4 * b + 3][l]) != 1)
        return SN_RT_BAD(c, "a tangent of block %" PRIu64 " is neither right- nor left-handed", b);
  return SN_RT_OK;
}

// Rest positions and normals, in floats.
static sn_rt_status check_points(sn_rt_checker *c) {
  const sn_rt_info *info = &c->model->info;
  uint64_t count = (uint64_t)info->block_count * SN_RT_LANES * 3;
  int shaded = info->shade == SN_RT_SHADE_TRANSFORM;
  SN_RT_TRY(sn_rt_need_floats(c, SN_SECTION_SKIN_REST, count));
  SN_RT_TRY((shaded ? sn_rt_need_floats : sn_rt_need_floats_if_there)(c, SN_SECTION_SKIN_NORMALS, count));
  return check_tangents(c);
}

// Rest positions and normals of a packed model: all bit patterns are valid; the boxes must be finite.
static sn_rt_status check_packed_points(sn_rt_checker *c, uint32_t group_count) {
  uint64_t blocks = c->model->info.block_count;
  uint64_t tangents = blocks * SN_RT_PACKED_TANGENTS + SN_RT_PACKED_TAIL;
  SN_RT_TRY(sn_rt_need_floats(c, SN_SECTION_PACK_BOXES, (uint64_t)group_count * 4));
  SN_RT_TRY(sn_rt_need(c, SN_SECTION_PACK_REST, blocks * SN_RT_LANES * 3 * sizeof(uint16_t)));
  SN_RT_TRY(sn_rt_need_if_there(c, SN_SECTION_PACK_TANGENTS, tangents));
  if (c->model->info.shade != SN_RT_SHADE_TRANSFORM) return SN_RT_OK;
  return sn_rt_need(c, SN_SECTION_PACK_NORMALS, blocks * SN_RT_PACKED_NORMALS + SN_RT_PACKED_TAIL);
}

static sn_rt_status check_sizes(sn_rt_checker *c, uint32_t group_count) {
  const sn_rt_info *info = &c->model->info;
  SN_RT_TRY(sn_rt_check_starts(c, SN_SECTION_SKIN_CHUNKS, chunk_count(info), group_count));
  SN_RT_TRY(sn_rt_need(c, SN_SECTION_SKIN_GROUPS, (uint64_t)group_count * sizeof(sn_rt_group)));
  SN_RT_TRY(sn_rt_need(c, SN_SECTION_SKIN_LANES, (uint64_t)info->block_count * SN_RT_LANES * 2));
  if (info->blend == SN_RT_BLEND_CENTRES)
    SN_RT_TRY(sn_rt_need_floats(c, SN_SECTION_SKIN_CENTRES, (uint64_t)info->block_count * 3 * SN_RT_LANES));
  return info->weight_bits == SN_RT_PACKED_BITS ? check_packed_points(c, group_count) : check_points(c);
}

// Rows of weights, and the joints of loose groups.
static sn_rt_status check_rows(sn_rt_checker *c, const totals *sum) {
  const sn_rt_info *info = &c->model->info;
  int packed = info->weight_bits == SN_RT_PACKED_BITS, bytes = packed && info->palette_count <= 256;
  sn_rt_section_id tuples = bytes ? SN_SECTION_PACK_TUPLES : SN_SECTION_SKIN_TUPLES;
  SN_RT_TRY(sn_rt_need(c, packed ? SN_SECTION_PACK_WEIGHTS : SN_SECTION_SKIN_WEIGHTS,
                       sum->weights * info->weight_bits + (packed ? SN_RT_PACKED_TAIL : 0)));
  if (info->weight_bits == 32) SN_RT_TRY(sn_rt_check_floats(c, SN_SECTION_SKIN_WEIGHTS));
  if (sum->tuples) SN_RT_TRY(sn_rt_need(c, tuples, sum->tuples * SN_RT_LANES * (bytes ? 1 : 2)));
  return sn_rt_check_below(c, tuples, bytes ? 1 : 2, info->palette_count, "joint");
}

sn_rt_status sn_rt_check_skin(sn_rt_checker *c, uint32_t group_count, uint32_t *shared_blocks) {
  const sn_rt_info *info = &c->model->info;
  totals sum = {0, 0, 0, 0};
  SN_RT_TRY(check_sizes(c, group_count));
  for (uint64_t n = 0; n < chunk_count(info); n++) SN_RT_TRY(check_chunk(c, n, &sum));
  if (sum.blocks != info->block_count)
    return SN_RT_BAD(c, "the groups have %" PRIu64 " blocks instead of %u", sum.blocks, info->block_count);
  *shared_blocks = (uint32_t)sum.shared;
  SN_RT_TRY(check_rows(c, &sum));
  return check_order(c);
}

// ---- triangles and fans ------------------------------------------------------------------------------------------------

uint64_t sn_rt_find_beside_last(const sn_rt_model *model) {
  if (model->info.shade != SN_RT_SHADE_RECOMPUTE) return 0;
  const uint32_t *start = sn_rt_data(model, SN_SECTION_SHADE_START);
  const void *fans = sn_rt_data(model, SN_SECTION_SHADE_FANS);
  uint32_t last = model->info.vertex_count - 1, bytes = sn_rt_fan_bytes(model->info.vertex_count);
  uint64_t blocks = 0;
  for (uint32_t b = 0; b < sn_rt_blocks_of(model->info.vertex_count); b++)
    for (size_t n = (size_t)SN_RT_LANES * start[b]; n < (size_t)SN_RT_LANES * start[b + 1]; n++)
      blocks |= (uint64_t)((bytes == 2 ? ((const uint16_t *)fans)[n] : ((const uint32_t *)fans)[n]) == last)
                << b % 64;
  return blocks;
}

static sn_rt_status check_fans(sn_rt_checker *c) {
  uint32_t vertices = c->model->info.vertex_count, bytes = sn_rt_fan_bytes(vertices);
  SN_RT_TRY(sn_rt_need_items(c, SN_SECTION_SHADE_FANS, (uint64_t)SN_RT_LANES * bytes));
  uint64_t steps = sn_rt_size(c->model, SN_SECTION_SHADE_FANS) / SN_RT_LANES / bytes;
  SN_RT_TRY(sn_rt_check_starts(c, SN_SECTION_SHADE_START, sn_rt_blocks_of(vertices), steps));
  SN_RT_TRY(sn_rt_check_below(c, SN_SECTION_SHADE_FANS, bytes, vertices, "vertex"));
  return sn_rt_need_if_there(c, SN_SECTION_SHADE_OWN, (uint64_t)sn_rt_blocks_of(vertices) * 3 * SN_RT_LANES * 2);
}

// Every vertex of the packed triangles, and nothing after them.
static sn_rt_status check_packed_triangles(sn_rt_checker *c) {
  const sn_rt_info *info = &c->model->info;
  SN_RT_TRY(sn_rt_need_items(c, SN_SECTION_PACK_TRIANGLES, 1));
  const uint8_t *at = sn_rt_data(c->model, SN_SECTION_PACK_TRIANGLES),
                *end = at + sn_rt_size(c->model, SN_SECTION_PACK_TRIANGLES);
  uint32_t vertex = 0;
  for (uint64_t n = 0; n < 3 * (uint64_t)info->triangle_count; n++) {
    if (at == end) return SN_RT_BAD(c, "section pack.triangles is too short");
    vertex += sn_rt_packed_step(&at, end);
    if (vertex >= info->vertex_count)
      return SN_RT_BAD(c, "number %" PRIu64 " of section pack.triangles is no vertex", n);
  }
  return at == end ? SN_RT_OK : SN_RT_BAD(c, "section pack.triangles is too long");
}

sn_rt_status sn_rt_check_mesh(sn_rt_checker *c) {
  const sn_rt_info *info = &c->model->info;
  uint64_t size = (uint64_t)info->triangle_count * 12;
  if (size && info->weight_bits == SN_RT_PACKED_BITS) {
    SN_RT_TRY(check_packed_triangles(c));
  } else {
    SN_RT_TRY((size ? sn_rt_need : sn_rt_need_if_there)(c, SN_SECTION_MESH_TRIANGLES, size));
    SN_RT_TRY(sn_rt_check_below(c, SN_SECTION_MESH_TRIANGLES, 4, info->vertex_count, "vertex"));
  }
  return info->shade == SN_RT_SHADE_RECOMPUTE ? check_fans(c) : SN_RT_OK;
}
