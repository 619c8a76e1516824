// SPDX-License-Identifier: MIT
// Vertex operations for CPU and GPU. Matrices are four columns of four floats, of which the last row is not used.
#ifndef SINEW_RUNTIME_VERTEX_H
#define SINEW_RUNTIME_VERTEX_H

#include <math.h>

#include "runtime/portable.h"

// Squared length (twice the area) below which a normal becomes (0, 0, 1).
#define SN_RT_NO_AREA 1e-37f

SN_RT_BOTH void sn_rt_transform(const float b[16], const float p[3], float out[3]) {
  for (int r = 0; r < 3; r++) out[r] = b[r] * p[0] + b[4 + r] * p[1] + b[8 + r] * p[2] + b[12 + r];
}

SN_RT_BOTH float sn_rt_inverse_root(float x) {
#if defined(__CUDA_ARCH__)
  return rsqrtf(x);
#else
  return 1 / sqrtf(x);
#endif
}

SN_RT_BOTH void sn_rt_normalise(float n[3]) {
  float squared = n[0] * n[0] + n[1] * n[1] + n[2] * n[2];
  float scale = sn_rt_inverse_root(squared > 1e-37f ? squared : 1e-37f);
  for (int r = 0; r < 3; r++) n[r] *= scale;
}

// Unit of the int16 numbers of shade.own. A computed unit normal n becomes the rest file's normal
// own[0] n + own[1] t + own[2] n x t, with t the unit vector perpendicular to n towards the vertex's first neighbour.
#define SN_RT_OWN_UNIT (1 / 32767.0f)

// Displacements are unchanged up to this fraction of their limit, a = fraction * limit. Longer ones approach the limit: the length
// becomes a + (limit - a) x / (1 + x) with x = (length - a) / (limit - a).
#define SN_RT_FREE_PART (1 / 1.3f)

#endif
