// SPDX-License-Identifier: MIT
// A model in vertex order, for building the GPU's layouts: the block of a vertex, its joints and weights, its displacements and its
// neighbours.
#ifndef SINEW_CUDA_ROWS_H
#define SINEW_CUDA_ROWS_H

#include "runtime/packed.h"

#ifdef __cplusplus
extern "C" {
#endif

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

// Columns of X and C of `rotreg` and `torque`: 3 bones + 4 joints, padded to a multiple of eight.
static inline uint32_t sn_cuda_solve_columns(const sn_rt_info *info) {
  return (3 * (info->palette_count - info->joint_count) + 4 * info->joint_count + 7) / 8 * 8;
}

// The packed solve of `rotreg` and `torque` as floats in the layout of drive.solve: sn_rt_rotreg_solve_count numbers.
void sn_cuda_unpack_solve(const sn_rt_model *model, float *out);

// The solve for the lanes of a warp (PTX ISA, mma.m16n8k8, operand B): [strip of 32 rows][eight columns][lane][eight rows][2], rows
// lane / 4 of each eight, columns lane % 4 and four more. NULL: no memory. `size` in bytes.
float *sn_cuda_lay_out_solve(const sn_rt_model *model, size_t *size);

#ifdef __cplusplus
}
#endif
#endif
