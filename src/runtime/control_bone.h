// SPDX-License-Identifier: MIT
// The drive `controls` (Kim, Feng and Yu 2010): the kernel of a frame, and a bone from its predicted numbers.
#ifndef SINEW_RUNTIME_CONTROL_BONE_H
#define SINEW_RUNTIME_CONTROL_BONE_H

#include "runtime/format.h"
#include "runtime/smallmath.h"

// k(c, c^f) - 1 of the control points and those of a training frame.
SN_RT_BOTH float sn_rt_control_kernel(const sn_rt_control *head, uint32_t points, const float *controls,
                                      const float *frame) {
  float mean[3] = {0, 0, 0}, sum = 0;
  for (uint32_t c = 0; head->flags & SN_RT_CONTROL_CENTRED && c < points; c++)
    for (int r = 0; r < 3; r++) mean[r] += controls[3 * c + r] / (float)points;
  for (uint32_t c = 0; c < points; c++) {
    float x = controls[3 * c] - mean[0] - frame[3 * c], y = controls[3 * c + 1] - mean[1] - frame[3 * c + 1];
    float z = controls[3 * c + 2] - mean[2] - frame[3 * c + 2];
    sum += x * x + y * y + z * z;
  }
  return (float)expm1(-(double)head->scale * sum); // in double: all libraries then round alike
}

// Raises the eigenvalues of the symmetric matrix s that are below `least` to it: cyclic Jacobi rotations.
SN_RT_BOTH void sn_rt_raise_eigenvalues(float s[9], float least) {
  double a[3][3], v[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  for (int n = 0; n < 9; n++) a[n / 3][n % 3] = s[n];
  for (int round = 0; round < 24; round++) {
    int p = round % 3 == 2, q = round % 3 == 0 ? 1 : 2;
    if (!(fabs(a[p][q]) > 0)) continue;
    double zeta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
    double t = copysign(1.0, zeta) / (fabs(zeta) + sqrt(1 + zeta * zeta)), c = 1 / sqrt(1 + t * t), d = c * t;
    for (int n = 0; n < 3; n++) {
      double x = a[n][p], y = a[n][q], i = v[n][p], j = v[n][q];
      a[n][p] = c * x - d * y, a[n][q] = d * x + c * y, v[n][p] = c * i - d * j, v[n][q] = d * i + c * j;
    }
    for (int n = 0; n < 3; n++) {
      double x = a[p][n], y = a[q][n];
      a[p][n] = c * x - d * y, a[q][n] = d * x + c * y;
    }
  }
  for (int n = 0; n < 9; n++) {
    double sum = 0;
    for (int k = 0; k < 3; k++) sum += v[n / 3][k] * v[n % 3][k] * (a[k][k] > least ? a[k][k] : least);
    s[n] = (float)sum;
  }
}

// W from its upper triangle w; eigenvalues below SN_RT_LEAST_STRETCH are raised to it.
SN_RT_BOTH void sn_rt_make_stretch(const float w[6], float out[9]) {
  float a = w[0] - SN_RT_LEAST_STRETCH, d = w[3] - SN_RT_LEAST_STRETCH, f = w[5] - SN_RT_LEAST_STRETCH, b = w[1],
        c = w[2], e = w[4];
  float minor = a * d - b * b, det = f * minor - a * e * e + 2 * b * c * e - d * c * c;
  const float full[9] = {w[0], w[1], w[2], w[1], w[3], w[4], w[2], w[4], w[5]};
  memcpy(out, full, sizeof full);
  if (a > 0 && minor > 0 && det > 0) return;
  sn_rt_raise_eigenvalues(out, SN_RT_LEAST_STRETCH);
}

// F = R W as columns of four.
SN_RT_BOTH void sn_rt_bone_gradient(const float *d, uint32_t flags, float (*columns)[4]) {
  float q[4] = {d[0], d[1], d[2], d[3]}, r[9], w[9];
  if (!(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] > 1e-20f)) q[3] = 1;
  sn_rt_rotation_from_quat(q, r);
  if (!(flags & SN_RT_CONTROL_STRETCH)) {
    for (int c = 0; c < 3; c++) columns[c][0] = r[c], columns[c][1] = r[3 + c], columns[c][2] = r[6 + c];
  } else {
    sn_rt_make_stretch(d + 4, w);
    for (int c = 0; c < 3; c++)
      for (int n = 0; n < 3; n++) columns[c][n] = r[3 * n] * w[c] + r[3 * n + 1] * w[3 + c] + r[3 * n + 2] * w[6 + c];
  }
  for (int c = 0; c < 3; c++) columns[c][3] = 0;
}

// Image of the bone's centre if translations are predicted: from its displacement, or the dual part of a dual quaternion.
SN_RT_BOTH void sn_rt_predicted_place(const float *d, uint32_t flags, const float centre[3], float place[4]) {
  if (flags & SN_RT_CONTROL_STRETCH) {
    for (int n = 0; n < 3; n++) place[n] = centre[n] + d[10 + n];
    return;
  }
  // t = 2 dual real^*, over the squared length of the real part.
  float size = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + d[3] * d[3], s = size > 1e-20f ? 2 / size : 0;
  place[0] = centre[0] + s * (d[4] * d[3] - d[7] * d[0] - d[5] * d[2] + d[6] * d[1]);
  place[1] = centre[1] + s * (d[5] * d[3] - d[7] * d[1] - d[6] * d[0] + d[4] * d[2]);
  place[2] = centre[2] + s * (d[6] * d[3] - d[7] * d[2] - d[4] * d[1] + d[5] * d[0]);
}

// [F | place - F centre]
SN_RT_BOTH void sn_rt_store_bone(const float (*f)[4], const float place[4], const float centre[3], float *matrix) {
  memcpy(matrix, f, 12 * sizeof *matrix);
  for (int n = 0; n < 3; n++)
    matrix[12 + n] = place[n] - (f[0][n] * centre[0] + f[1][n] * centre[1] + f[2][n] * centre[2]);
  matrix[15] = 0;
}

#endif
