// SPDX-License-Identifier: MIT
// Internal declarations: an uploaded model, the memory of one evaluation, the stages.
#ifndef SINEW_CUDA_DEVICE_H
#define SINEW_CUDA_DEVICE_H

#include <cuda_runtime.h>
#include <stdint.h>

#include "cuda/fans.h"
#include "cuda/sums.h"
#include "cuda/tiles.h"
#include "runtime/format.h"
#include "runtime/pose_space.h"
#include "sinew/cuda.h"

// All arrays are in one allocation: layouts and sections of the model.
struct sn_cuda_model {
  sn_rt_info info;
  sn_cuda_tiles tiles; // device pointers, in the next two as well
  sn_cuda_fans fans;
  sn_cuda_sums sums;
  size_t most_shared;                     // maximum bytes of shared memory of a block
  const void *sections[SN_SECTION_COUNT]; // of the drives and corrections, device copies; NULL if missing
  sn_rt_control control;                  // the drive `controls`
  uint32_t field_count, basis_count;      // corrections
  uint32_t linear_count;                  // the drive `helpers`
  uint32_t most_axes, most_terms;         // of any field that is not a sum of terms
  bool forward, limited, limit_after;
  void *memory;
  size_t bytes;
};

// Device memory of one evaluation.
struct crowd {
  const sn_cuda_model *model;
  uint32_t count; // characters
  sn_cuda_input input;
  sn_cuda_output output;
  cudaStream_t stream;
  const float4 *matrices; // [character][palette][3]: rows; the input array if the palette is the joints only
  float4 *palette;        // the same, if the drive computes it
  float4 *dualquats;      // [character][palette][2]; blend `centres` [4]: the matrix, then the quaternion
  float4 *stretches;      // [character][palette][3]
  uint32_t *stretched;    // [character]: 1 if a palette entry is not rigid
  float *rotations;       // [character]: [joint][8], signed quaternion and pose vector, then the named values
  float *terms;           // [character / 32][term][32], of the fields that are sums
  float *values;          // [character / 32][basis][32]
  float *drive;           // private memory of the drive
  float *rows;            // [row_passes][vertex][3][32]: positions for recomputed normals
  uint32_t row_passes;
};

// Stages, each on the crowd's stream. They return the first launch error.
cudaError_t sn_cuda_drive(const crowd *c);
cudaError_t sn_cuda_helpers(const crowd *c); // a part of it
cudaError_t sn_cuda_correct(const crowd *c);
cudaError_t sn_cuda_sum_terms(const crowd *c, const sn_rt_pose_spaces *spaces); // a part of it
// Passes of 32 characters. `rows` NULL: to the output; otherwise positions only, in the layout of crowd.rows.
cudaError_t sn_cuda_octet_skin(const crowd *c, uint32_t first_pass, uint32_t passes, float *rows);
cudaError_t sn_cuda_skin(const crowd *c);  // to the output
cudaError_t sn_cuda_shade(const crowd *c); // skin and recomputed normals

// Size of a character's `rotations`.
static inline size_t sn_cuda_rotation_floats(const sn_cuda_model *m) {
  return 8 * (size_t)m->info.joint_count + m->info.value_count;
}

// Floats of `drive`.
size_t sn_cuda_drive_floats(const sn_cuda_model *model, uint32_t characters);

// Bytes of shared memory that a character needs in the drive `controls`, and in the correct slot.
size_t sn_cuda_control_shared(const sn_rt_control *head, uint32_t bones, uint32_t points);
size_t sn_cuda_correct_shared(const sn_cuda_model *model);

template <class T> static const T *section(const sn_cuda_model *m, int id) { return (const T *)m->sections[id]; }

// Rows of a 3x4 matrix <-> four columns of four
static __device__ __forceinline__ void load_columns(const float *rows, float columns[16]) {
  for (int c = 0; c < 4; c++) {
    for (int r = 0; r < 3; r++) columns[4 * c + r] = rows[4 * r + c];
    columns[4 * c + 3] = 0;
  }
}

static __device__ __forceinline__ void store_rows(const float columns[16], float4 *rows) {
  for (int r = 0; r < 3; r++) rows[r] = make_float4(columns[r], columns[4 + r], columns[8 + r], columns[12 + r]);
}

static inline unsigned sn_cuda_blocks(size_t count, unsigned of) { return (unsigned)((count + of - 1) / of); }

#endif
