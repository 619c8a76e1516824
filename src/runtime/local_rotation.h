// SPDX-License-Identifier: MIT
// One joint's local rotation: see local_rotations.c.
#ifndef SINEW_RUNTIME_LOCAL_ROTATION_H
#define SINEW_RUNTIME_LOCAL_ROTATION_H

#include "runtime/format.h"
#include "runtime/smallmath.h"

SN_RT_BOTH void sn_rt_quat_multiply(const float a[4], const float b[4], float out[4]) {
  out[0] = a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1];
  out[1] = a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0];
  out[2] = a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3];
  out[3] = a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2];
}

SN_RT_BOTH void sn_rt_conjugate_times(const float a[4], const float b[4], float out[4]) {
  float c[4] = {-a[0], -a[1], -a[2], a[3]};
  sn_rt_quat_multiply(c, b, out);
}

SN_RT_BOTH float sn_rt_dot4(const float a[4], const float b[4]) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
}

SN_RT_BOTH void sn_rt_joint_quaternion(const float m[12], float q[4]) {
  float a[9], r[9], s[9];
  for (int n = 0; n < 9; n++) a[n] = m[4 * (n / 3) + n % 3];
  sn_rt_polar(a, r, s);
  sn_rt_quat_from_rotation(r, q);
}

// 2 acos(w) / sqrt(1 - w^2) for w from 0 to 1, to a relative error of 1e-7: a polynomial in 1 - w.
SN_RT_BOTH float sn_rt_angle_over_sine(float w) {
  const float c[] = {0.022714723f, -0.066914737f, 0.10515729f, -0.070301667f, 0.061971273f,
                     0.039697409f, 0.1160754f,    0.26652178f, 0.66667116f,   2.0f};
  float x = 1 - w, sum = c[0];
  for (int n = 1; n < 10; n++) sum = sum * x + c[n];
  return sum;
}

// Rotation vector of a signed unit quaternion: the angle is 0 to 2 pi.
SN_RT_BOTH void sn_rt_signed_logarithm(const float q[4], float out[3]) {
  float factor = sn_rt_angle_over_sine(fabsf(q[3]));
  if (q[3] < 0) {
    float sine = sqrtf(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]);
    factor = sine > 1e-6f ? 6.28318530718f / sine - factor : 0;
  }
  for (int c = 0; c < 3; c++) out[c] = factor * q[c];
}

// Of the vectors with the same quaternion (angle + 4 pi k), the one nearest to `last`.
SN_RT_BOTH void sn_rt_unwrap(float x[3], const float last[3]) {
  const float period = 12.566370614359172f;
  float angle = sqrtf(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
  if (!(angle > 1e-6f)) { // full rotations: along the last vector
    float length = sqrtf(last[0] * last[0] + last[1] * last[1] + last[2] * last[2]);
    float cycles = rintf(length / period);
    for (int c = 0; c < 3; c++) x[c] = cycles > 0 ? last[c] / length * cycles * period : x[c];
    return;
  }
  float along = (last[0] * x[0] + last[1] * x[1] + last[2] * x[2]) / angle;
  float whole = rintf((along - angle) / period);
  for (int c = 0; c < 3; c++) x[c] *= 1 + whole * period / angle;
}

// One joint: `rotation` is its quaternion and pose vector, `last` the same of the last frame (NULL or zero: none).
SN_RT_BOTH void sn_rt_make_local_rotation(const sn_rt_reference *r, const float m[12], const float *parent,
                                          const float *last, float rotation[8]) {
  float relative[4], from_reference[4];
  int remembered = last && sn_rt_dot4(last, last) > 0;
  sn_rt_joint_quaternion(m, rotation);
  if (remembered && sn_rt_dot4(rotation, last) < 0)
    for (int n = 0; n < 4; n++) rotation[n] = -rotation[n];
  sn_rt_conjugate_times(parent, rotation, relative);
  sn_rt_conjugate_times(r->rotation, relative, from_reference);
  if (!remembered && from_reference[3] < 0)
    for (int n = 0; n < 4; n++) rotation[n] = -rotation[n], from_reference[n] = -from_reference[n];
  sn_rt_signed_logarithm(from_reference, rotation + 4);
  if (remembered) sn_rt_unwrap(rotation + 4, last + 4);
  rotation[7] = 0;
}

#endif
