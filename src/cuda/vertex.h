// SPDX-License-Identifier: MIT
// Transforms a vertex by a blended matrix, dual quaternion or rotation about a centre: on the GPU, and in its test on the CPU.
#ifndef SINEW_CUDA_VERTEX_H
#define SINEW_CUDA_VERTEX_H

#include "runtime/vertex.h"

// The linear part alone.
SN_RT_BOTH void sn_rt_transform_vector(const float b[16], const float v[3], float out[3]) {
  for (int r = 0; r < 3; r++) out[r] = b[r] * v[0] + b[4 + r] * v[1] + b[8 + r] * v[2];
}

SN_RT_BOTH void sn_rt_cross(const float a[3], const float b[3], float out[3]) {
  out[0] = a[1] * b[2] - a[2] * b[1], out[1] = a[2] * b[0] - a[0] * b[2], out[2] = a[0] * b[1] - a[1] * b[0];
}

// The cofactor matrix times n: for columns x y z, (y z') nx + (z x') ny + (x y') nz with ' the cross product. It is the
// inverse transpose times the determinant, so it needs no division and keeps the triangles' orientation if a blend mirrors.
SN_RT_BOTH void sn_rt_transform_normal(const float b[16], const float n[3], float out[3]) {
  float yz[3], zx[3], xy[3];
  sn_rt_cross(b + 4, b + 8, yz), sn_rt_cross(b + 8, b, zx), sn_rt_cross(b, b + 4, xy);
  for (int r = 0; r < 3; r++) out[r] = yz[r] * n[0] + zx[r] * n[1] + xy[r] * n[2];
}

// On the GPU, 0 gives NaN, for which comparisons are false.
SN_RT_BOTH float sn_rt_root(float x) {
#if defined(__CUDA_ARCH__)
  return x * rsqrtf(x);
#else
  return sqrtf(x);
#endif
}

SN_RT_BOTH float sn_rt_divide(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fdividef(a, b); // to 2 units of the last place
#else
  return a / b;
#endif
}

// Converts the computed normal n to the rest file's (SN_RT_OWN_UNIT), with `edge` towards the first neighbour.
SN_RT_BOTH void sn_rt_bend(const float own[3], const float edge[3], float n[3]) {
  float along = n[0] * edge[0] + n[1] * edge[1] + n[2] * edge[2], t[3], across[3];
  for (int r = 0; r < 3; r++) t[r] = edge[r] - along * n[r];
  sn_rt_normalise(t);
  sn_rt_cross(n, t, across);
  for (int r = 0; r < 3; r++) n[r] = own[0] * n[r] + own[1] * t[r] + own[2] * across[r];
  sn_rt_normalise(n);
}

// The factor that limits a displacement of squared length `squared` (SN_RT_FREE_PART).
SN_RT_BOTH float sn_rt_limit(float squared, float limit) {
  float length = sn_rt_root(squared), free_part = SN_RT_FREE_PART * limit;
  if (!(length > free_part)) return 1;
  float room = limit - free_part, beyond = length - free_part;
  return sn_rt_divide(free_part + sn_rt_divide(room * beyond, room + beyond), length);
}

// Adds to `out` the displacement d transformed by the linear part of b, limited to length `limit`.
SN_RT_BOTH void sn_rt_move_limited(const float b[16], const float d[3], float limit, float out[3]) {
  float move[3];
  sn_rt_transform_vector(b, d, move);
  float share = sn_rt_limit(move[0] * move[0] + move[1] * move[1] + move[2] * move[2], limit);
  for (int r = 0; r < 3; r++) out[r] += share * move[r];
}

// p + 2 / |r|^2 (r x (r x p + w p + d) + w d - e r) for the real part (r, w) and the dual part (d, e) of q, which need
// not be of unit length. With `move` 0 only the rotation.
SN_RT_BOTH void sn_rt_apply_dualquat(const float q[8], const float p[3], int move, float out[3]) {
  const float *r = q, *d = q + 4;
  float inner[3], outer[3], w = q[3], e = q[7];
  float scale = sn_rt_divide(2, r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + w * w);
  sn_rt_cross(r, p, inner);
  for (int c = 0; c < 3; c++) inner[c] += w * p[c] + (move ? d[c] : 0);
  sn_rt_cross(r, inner, outer);
  for (int c = 0; c < 3; c++) out[c] = p[c] + scale * (outer[c] + (move ? w * d[c] - e * r[c] : 0));
}

// Le and Hodgins 2016: R S (p - c) + B c for the blended matrix B, the rotation R of the blended quaternion, whose length
// does not matter, and the blended stretch S (NULL: none). Where c is p the blend is linear.
SN_RT_BOTH void sn_rt_apply_centre(const float b[16], const float q[8], const float *stretch, const float c[3],
                                   const float p[3], float out[3]) {
  float arm[3], turned[3];
  for (int r = 0; r < 3; r++) arm[r] = p[r] - c[r];
  if (stretch) {
    float from[3] = {arm[0], arm[1], arm[2]};
    sn_rt_transform_vector(stretch, from, arm);
  }
  sn_rt_apply_dualquat(q, arm, 0, turned);
  sn_rt_transform(b, c, out);
  for (int r = 0; r < 3; r++) out[r] += turned[r];
}

#endif
