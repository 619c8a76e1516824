// SPDX-License-Identifier: MIT
// The linear blend of a vertex's palette entries.
#ifndef SINEW_CUDA_BLEND_H
#define SINEW_CUDA_BLEND_H

#include <stdint.h>

// sum_k w_k M_k, as columns of four
template <int K>
static __device__ __forceinline__ void blend_matrices(const float *weights, int influences, const float4 *palette,
                                                      const uint32_t *entries, float b[16]) {
  float4 rows[3] = {};
#pragma unroll
  for (int k = 0; k < K; k++) {
    if (k >= influences) break;
#pragma unroll
    for (int r = 0; r < 3; r++) {
      float4 m = palette[entries[k] + r];
      rows[r].x += weights[k] * m.x, rows[r].y += weights[k] * m.y;
      rows[r].z += weights[k] * m.z, rows[r].w += weights[k] * m.w;
    }
  }
#pragma unroll
  for (int r = 0; r < 3; r++) b[r] = rows[r].x, b[4 + r] = rows[r].y, b[8 + r] = rows[r].z, b[12 + r] = rows[r].w;
}

#endif
