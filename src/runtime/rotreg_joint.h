// SPDX-License-Identifier: MIT
// Inputs of the drives `rotreg` and `torque` from one joint: its logarithm (Wang 2007, 3.2.1), and f_r and f_s of its torque
// (Kim, Park and Jung, section III).
#ifndef SINEW_RUNTIME_ROTREG_JOINT_H
#define SINEW_RUNTIME_ROTREG_JOINT_H

#include "runtime/format.h"
#include "runtime/smallmath.h"

// The image of p under a matrix (four columns of four).
SN_RT_BOTH void sn_rt_image(const float m[16], const float p[3], double out[3]) {
  for (int r = 0; r < 3; r++)
    out[r] = (double)m[r] * p[0] + (double)m[4 + r] * p[1] + (double)m[8 + r] * p[2] + m[12 + r];
}

// Single precision is too coarse for the solve far from the origin, so it is done relative to a centre c: a joint's matrix M
// becomes T(-c') M T(c) with c' the first joint's image of c, and a bone's matrix B becomes T(c') B T(-c). Both change only the
// last column.
SN_RT_BOTH void sn_rt_bring_home(const float c[3], const double there[3], float m[16]) {
  double image[3];
  sn_rt_image(m, c, image);
  for (int r = 0; r < 3; r++) m[12 + r] = (float)(image[r] - there[r]);
}

SN_RT_BOTH void sn_rt_bring_back(const float c[3], const double there[3], float m[16]) {
  double image[3];
  sn_rt_image(m, c, image);
  for (int r = 0; r < 3; r++) m[12 + r] = (float)(2.0 * m[12 + r] - image[r] + there[r]);
}

// The logarithm of base^-1 q, on the branch nearest to `reference`.
SN_RT_BOTH void sn_rt_relative_log(const float base[4], const float q[4], const float reference[3], float out[3]) {
  float x = base[3] * q[0] - base[0] * q[3] - base[1] * q[2] + base[2] * q[1];
  float y = base[3] * q[1] - base[1] * q[3] - base[2] * q[0] + base[0] * q[2];
  float z = base[3] * q[2] - base[2] * q[3] - base[0] * q[1] + base[1] * q[0];
  float w = base[3] * q[3] + base[0] * q[0] + base[1] * q[1] + base[2] * q[2];
  if (w < 0) x = -x, y = -y, z = -z, w = -w;
  const float whole = 6.28318530717958647692f;
  float sine = sqrtf(x * x + y * y + z * z), angle = 2 * atan2f(sine, w), factor = 2;
  if (sine > 1e-6f) {
    float along = (x * reference[0] + y * reference[1] + z * reference[2]) / sine;
    factor = (angle + whole * rintf((along - angle) / whole)) / sine;
  }
  out[0] = factor * x, out[1] = factor * y, out[2] = factor * z;
}

SN_RT_BOTH float sn_rt_within_unit(float x) { return x > 0 ? (x < 1 ? x : 1) : 0; }

SN_RT_BOTH float sn_rt_blending_function(float offset, const float c[3], float x) {
  return sn_rt_within_unit(offset + x * (c[0] + x * (c[1] + x * c[2])));
}

// f_r and f_s of a joint; `offsets`: their values at the minimum torque, or NULL.
SN_RT_BOTH void sn_rt_torque_blend(const sn_rt_torque *of, const float *offsets, float torque, float out[2]) {
  float range = of->high - of->low, x = range > 0 ? sn_rt_within_unit((torque - of->low) / range) : 0;
  out[0] = sn_rt_blending_function(offsets ? offsets[0] : 0, of->rotation, x);
  out[1] = sn_rt_blending_function(offsets ? offsets[1] : 0, of->shear, x);
}

#endif
