// SPDX-License-Identifier: MIT
// A palette matrix as a rigid motion and a stretch.
#ifndef SINEW_RUNTIME_DUALQUAT_H
#define SINEW_RUNTIME_DUALQUAT_H

#include <stdint.h>

#include "runtime/smallmath.h"
#include "runtime/vertex.h"

// Unit dual quaternion of the rotation r and translation t: real q, dual (t, 0) q / 2.
SN_RT_BOTH void sn_rt_make_dualquat(const float r[9], const float t[3], float out[8]) {
  float *q = out, *d = out + 4;
  sn_rt_quat_from_rotation(r, q);
  d[0] = 0.5f * (t[0] * q[3] + t[1] * q[2] - t[2] * q[1]);
  d[1] = 0.5f * (t[1] * q[3] + t[2] * q[0] - t[0] * q[2]);
  d[2] = 0.5f * (t[2] * q[3] + t[0] * q[1] - t[1] * q[0]);
  d[3] = -0.5f * (t[0] * q[0] + t[1] * q[1] + t[2] * q[2]);
}

// M = rigid after stretch: M p = r (s / common (p - c) + c) common + t. A joint's stretch keeps its centre c fixed; the common
// scale of the joints is about the origin, so that it is exact for any blend.
SN_RT_BOTH int sn_rt_split_matrix(const float m[16], const float centre[3], float common, float dualquat[8],
                                  float stretch[16]) {
  float a[9], r[9], s[9], moved[3], t[3], kept[3];
  sn_rt_linear_part(m, a);
  int rigid = sn_rt_polar(a, r, s);
  for (int n = 0; n < 3; n++) kept[n] = common * centre[n];
  sn_rt_make_about(s, centre, kept, stretch);
  sn_rt_transform(m, centre, moved);
  for (int n = 0; n < 3; n++)
    t[n] = rigid ? m[12 + n] : moved[n] - (r[3 * n] * kept[0] + r[3 * n + 1] * kept[1] + r[3 * n + 2] * kept[2]);
  sn_rt_make_dualquat(r, t, dualquat);
  return rigid;
}

SN_RT_BOTH float sn_rt_mean_stretch(const float *stretch) { return (stretch[0] + stretch[5] + stretch[10]) / 3; }

// The scale of more than half of the entries (majority vote, then a count), else 1. Entries are `stride` floats apart, as columns
// of four or rows of four.
SN_RT_BOTH float sn_rt_common_scale(const float *stretches, uint32_t count, uint32_t stride) {
  const float same = 1e-4f; // relative: scales of a file in single precision
  float scale = 1;
  uint32_t votes = 0, agree = 0;
  for (uint32_t e = 0; e < count; e++) {
    float own = sn_rt_mean_stretch(stretches + (size_t)e * stride);
    int equal = fabsf(own - scale) <= same * fabsf(scale);
    if (votes == 0) scale = own;
    votes = votes == 0 || equal ? votes + 1 : votes - 1;
  }
  for (uint32_t e = 0; e < count; e++)
    agree += fabsf(sn_rt_mean_stretch(stretches + (size_t)e * stride) - scale) <= same * fabsf(scale);
  return agree > count / 2 && scale > 0 ? scale : 1;
}

#endif
