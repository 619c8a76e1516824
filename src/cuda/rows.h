// SPDX-License-Identifier: MIT
// A model in vertex order, for building the GPU's layouts: the block of a vertex, its joints and weights, its displacements and its
// neighbours.
#ifndef SINEW_CUDA_ROWS_H
#define SINEW_CUDA_ROWS_H

#include "runtime/packed.h"

// Location of a vertex in the model: its block of eight, its lane, and the block's first rows of weights and of joints.
typedef struct sn_cuda_home {
  uint32_t block, group, lane, weight_row, tuple_row;
} sn_cuda_home;

typedef struct sn_cuda_row {
  uint32_t count;
  uint16_t joints[SN_RT_MAX_INFLUENCES];
  float weights[SN_RT_MAX_INFLUENCES];
} sn_cuda_row;

void sn_cuda_find_homes(const sn_rt_model *model, sn_cuda_home *homes);
sn_cuda_row sn_cuda_read_row(const sn_rt_model *model, sn_cuda_home at);
uint32_t sn_cuda_most_influences(const sn_rt_model *model, const sn_cuda_home *homes); // of any row; at least 1
// The rest position, the unit normal (if the model has normals) and the limit of displacements (0: none).
void sn_cuda_read_rest(const sn_rt_model *model, sn_cuda_home at, float position[3], float normal[3], float *limit);
// Assigns local indices (local_of) to joints of the row that have none, and appends them to `joints` at *used.
void sn_cuda_number_joints(const sn_cuda_row *row, uint16_t *local_of, uint16_t *joints, uint32_t *used);

// Adds the deltas of one vertex to those of its group, in floats: [basis][6][lanes].
void sn_cuda_gather_deltas(const sn_rt_stored_corrections *c, sn_cuda_home at, uint32_t lane, uint32_t lanes,
                           float *all, uint8_t *touched);

// The packed solve of `rotreg` and `torque` as floats in the layout of drive.solve: sn_rt_rotreg_solve_count numbers.
static inline void sn_cuda_unpack_solve(const sn_rt_model *model, float *out) {
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

#endif
