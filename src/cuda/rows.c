// SPDX-License-Identifier: MIT
// A model's vertices in the order of its file, read from its blocks.
#include "cuda/rows.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/vertex.h"

void sn_cuda_find_homes(const sn_rt_model *model, sn_cuda_home *homes) {
  for (sn_rt_block b = {0}; sn_rt_next_block(model, &b);)
    for (uint32_t l = 0; l < SN_RT_LANES; l++)
      homes[b.vertex[l]] =
        (sn_cuda_home){(uint32_t)b.block, b.group, l, (uint32_t)b.weight_row, (uint32_t)b.tuple_row};
}

// Smaller weights are treated as zero: 1 minus the other weights may be a rounding error.
static const float least_weight = 1e-7f;

// Drops joints of a group's common list that have no weight at this vertex, except the pivot of dual quaternions, with which
// the others' signs are compared.
sn_cuda_row sn_cuda_read_row(const sn_rt_model *model, sn_cuda_home at) {
  sn_rt_stored skin = sn_rt_stored_of(model);
  const sn_rt_group *g = skin.groups + at.group;
  sn_cuda_row row = {.count = 1};
  float left = 1, total = sn_rt_weight_total(skin.weight_bits);
  for (uint32_t k = 0; k < g->influences; k++) {
    uint16_t joint =
      (uint16_t)(g->kind == SN_RT_GROUP_SHARED ? g->joints[k] : sn_rt_stored_joint(&skin, at.tuple_row + k, at.lane));
    float own = k ? sn_rt_stored_weight(&skin, at.weight_row + k - 1, at.lane) / total : 0;
    left -= own;
    if (k == 0) row.joints[0] = joint;
    if (k && fabsf(own) > least_weight) row.joints[row.count] = joint, row.weights[row.count++] = own;
  }
  row.weights[0] = left;
  if (row.count > 1 && fabsf(left) <= least_weight && model->info.blend == SN_RT_BLEND_LINEAR) {
    row.count--;
    memmove(row.joints, row.joints + 1, row.count * sizeof *row.joints);
    memmove(row.weights, row.weights + 1, row.count * sizeof *row.weights);
    row.joints[row.count] = 0, row.weights[row.count] = 0;
  }
  return row;
}

uint32_t sn_cuda_most_influences(const sn_rt_model *model, const sn_cuda_home *homes) {
  uint32_t most = 1;
  for (uint32_t i = 0; i < model->info.vertex_count; i++) {
    uint32_t count = sn_cuda_read_row(model, homes[i]).count;
    if (count > most) most = count;
  }
  return most;
}

void sn_cuda_read_rest(const sn_rt_model *model, sn_cuda_home at, float position[3], float normal[3], float *limit) {
  sn_rt_stored skin = sn_rt_stored_of(model);
  sn_rt_stored_corrections c = sn_rt_stored_corrections_of(model);
  sn_rt_stored_position(&skin, at.group, at.block, at.lane, position);
  if (skin.normals) sn_rt_stored_normal(&skin, at.block, at.lane, normal);
  if (skin.boxes && skin.normals) sn_rt_normalise(normal);
  *limit = c.limits ? sn_rt_stored_limit(&c, at.block, at.lane) : 0;
}

void sn_cuda_number_joints(const sn_cuda_row *row, uint16_t *local_of, uint16_t *joints, uint32_t *used) {
  for (uint32_t k = 0; k < row->count; k++) {
    uint16_t joint = row->joints[k];
    if (local_of[joint] == 0xffff) local_of[joint] = (uint16_t)*used, joints[(*used)++] = joint;
  }
}

void sn_cuda_gather_deltas(const sn_rt_stored_corrections *c, sn_cuda_home at, uint32_t lane, uint32_t lanes,
                           float *all, uint8_t *touched) {
  for (uint32_t n = c->start[at.block]; n < c->start[at.block + 1]; n++) {
    sn_rt_correct_entry e = sn_rt_stored_entry(c, n);
    float *to = all + (size_t)e.basis * 6 * lanes + lane;
    touched[e.basis] = 1;
    for (uint32_t r = 0; r < 6; r++)
      to[r * lanes] += (r < 3 ? e.position : e.normal) * sn_rt_stored_delta(c, n, r, at.lane);
  }
}

void sn_cuda_unpack_solve(const sn_rt_model *model, float *out) {
  sn_rt_packed_solve s = sn_rt_packed_solve_of(model);
  uint32_t joint_count = model->info.joint_count, bones = model->info.palette_count - joint_count;
  size_t columns = 3 * (size_t)bones + 4 * (size_t)joint_count;
  for (size_t at = 0; at < sn_rt_rotreg_blocks(bones) * columns; at++)
    for (size_t bone = 0; bone < SN_RT_LANES; bone++) {
      const int16_t *from = s.rows + at * SN_RT_ROTREG_ROWS + 4 * bone;
      const float *centre = s.centres[at / columns * SN_RT_LANES + bone];
      float *to = out + at * SN_RT_ROTREG_ROWS + 4 * bone;
      for (int c = 0; c < 4; c++) to[c] = s.scales[at] * (float)from[c];
      to[3] = s.unit * to[3] - (to[0] * centre[0] + to[1] * centre[1] + to[2] * centre[2]);
    }
}

float *sn_cuda_lay_out_solve(const sn_rt_model *model, size_t *size) {
  const size_t joints = model->info.joint_count, bones = model->info.palette_count - joints,
               columns = 3 * bones + 4 * joints;
  const size_t padded = sn_cuda_solve_columns(&model->info), strips = sn_rt_rotreg_blocks((uint32_t)bones);
  const bool is_packed = sn_rt_data(model, SN_SECTION_PACK_SOLVE) != NULL;
  float *unpacked =
    is_packed ? (float *)malloc(sn_rt_rotreg_solve_count((uint32_t)joints, (uint32_t)bones) * sizeof(float)) : NULL;
  float *out = (float *)calloc(strips * padded * SN_RT_ROTREG_ROWS, sizeof *out);
  if (unpacked) sn_cuda_unpack_solve(model, unpacked);
  const float *from = is_packed ? unpacked : (const float *)sn_rt_data(model, SN_SECTION_DRIVE_SOLVE);
  for (size_t n = 0; out && from && n < strips * columns * SN_RT_ROTREG_ROWS; n++) {
    const size_t row = n % SN_RT_ROTREG_ROWS, strip = n / SN_RT_ROTREG_ROWS / columns,
                 column = n / SN_RT_ROTREG_ROWS % columns;
    const size_t lane = row % 8 * 4 + column % 4, step = (strip * padded + column) / 8;
    out[((step * 32 + lane) * 4 + row / 8) * 2 + column % 8 / 4] = from[n];
  }
  *size = strips * padded * SN_RT_ROTREG_ROWS * sizeof *out;
  free(unpacked);
  if (out && from) return out;
  free(out);
  return NULL;
}
