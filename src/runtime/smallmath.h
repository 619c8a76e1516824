// SPDX-License-Identifier: MIT
// Rotations and quaternions (x y z w) of the palette stage. Matrices are 3x3 row-major here.
#ifndef SINEW_RUNTIME_SMALLMATH_H
#define SINEW_RUNTIME_SMALLMATH_H

#include <math.h>
#include <string.h>

#include "runtime/portable.h"

// ---- polar decomposition, by one-sided Jacobi rotations in double precision ---------------------------------------------

SN_RT_BOTH double sn_rt_column_dot(const double a[3][3], int p, int q) {
  return a[0][p] * a[0][q] + a[1][p] * a[1][q] + a[2][p] * a[2][q];
}

SN_RT_BOTH void sn_rt_rotate_columns(double a[3][3], int p, int q, double c, double s) {
  for (int r = 0; r < 3; r++) {
    double x = a[r][p], y = a[r][q];
    a[r][p] = c * x - s * y, a[r][q] = s * x + c * y;
  }
}

// Rotates columns of a (and of v) until they are at right angles: then a = u diag(lengths).
SN_RT_BOTH void sn_rt_orthogonalise_columns(double a[3][3], double v[3][3]) {
  for (int sweep = 0; sweep < 30; sweep++) {
    int rotated = 0;
    for (int p = 0; p < 2; p++)
      for (int q = p + 1; q < 3; q++) {
        double xx = sn_rt_column_dot(a, p, p), yy = sn_rt_column_dot(a, q, q), xy = sn_rt_column_dot(a, p, q);
        if (!(fabs(xy) > 1e-15 * sqrt(xx * yy)) || !(fabs(xy) > 1e-290)) continue;
        rotated = 1;
        double zeta = (yy - xx) / (2 * xy);
        double t = copysign(1.0, zeta) / (fabs(zeta) + sqrt(1 + zeta * zeta)), c = 1 / sqrt(1 + t * t);
        sn_rt_rotate_columns(a, p, q, c, c * t), sn_rt_rotate_columns(v, p, q, c, c * t);
      }
    if (!rotated) return;
  }
}

SN_RT_BOTH void sn_rt_swap_columns(double a[3][3], int p, int q) {
  for (int r = 0; r < 3; r++) {
    double keep = a[r][p];
    a[r][p] = a[r][q], a[r][q] = keep;
  }
}

SN_RT_BOTH void sn_rt_cross_columns(double a[3][3], int p, int q, double out[3]) {
  out[0] = a[1][p] * a[2][q] - a[2][p] * a[1][q];
  out[1] = a[2][p] * a[0][q] - a[0][p] * a[2][q];
  out[2] = a[0][p] * a[1][q] - a[1][p] * a[0][q];
}

// Column c of u to unit length; where it is zero, some direction at right angles to column 0 (or the x axis).
SN_RT_BOTH void sn_rt_unit_column(double u[3][3], int c, double length, double tiny) {
  double fill[3] = {1, 0, 0};
  if (c == 1) { // the axis that column 0 has least of, less its part along column 0
    int axis = 0;
    for (int r = 1; r < 3; r++)
      if (fabs(u[r][0]) < fabs(u[axis][0])) axis = r;
    for (int r = 0; r < 3; r++) fill[r] = (r == axis) - u[axis][0] * u[r][0];
  }
  double norm = sqrt(fill[0] * fill[0] + fill[1] * fill[1] + fill[2] * fill[2]);
  for (int r = 0; r < 3; r++) u[r][c] = length > tiny ? u[r][c] / length : fill[r] / norm;
}

SN_RT_BOTH void sn_rt_polar_by_jacobi(const float a[9], float r_out[9], float s_out[9]) {
  double u[3][3], v[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, length[3], third[3];
  for (int n = 0; n < 9; n++) u[n / 3][n % 3] = a[n];
  sn_rt_orthogonalise_columns(u, v);
  for (int c = 0; c < 3; c++) length[c] = sqrt(sn_rt_column_dot(u, c, c));
  for (int pass = 0; pass < 2; pass++)
    for (int c = 0; c < 2; c++) {
      if (!(length[c] < length[c + 1])) continue;
      double keep = length[c];
      length[c] = length[c + 1], length[c + 1] = keep;
      sn_rt_swap_columns(u, c, c + 1), sn_rt_swap_columns(v, c, c + 1);
    }
  double tiny = 1e-12 * length[0];
  sn_rt_unit_column(u, 0, length[0], 0), sn_rt_unit_column(u, 1, length[1], tiny);
  // The last column completes u to the handedness of v, so that r = u v^T is a proper rotation.
  double vw[3];
  sn_rt_cross_columns(v, 0, 1, vw);
  double hand = vw[0] * v[0][2] + vw[1] * v[1][2] + vw[2] * v[2][2] < 0 ? -1 : 1;
  sn_rt_cross_columns(u, 0, 1, third);
  double along = u[0][2] * third[0] + u[1][2] * third[1] + u[2][2] * third[2];
  if (along * hand < 0) length[2] = -length[2];
  for (int r = 0; r < 3; r++) u[r][2] = hand * third[r];
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++) {
      double rotation = 0, stretch = 0;
      for (int k = 0; k < 3; k++) rotation += u[r][k] * v[c][k], stretch += v[r][k] * length[k] * v[c][k];
      r_out[3 * r + c] = (float)rotation, s_out[3 * r + c] = (float)stretch;
    }
}

// a = r s with r a proper rotation (always) and s symmetric; where det a < 0 the smallest eigenvalue of s is negative.
// Returns 1 where a is a rotation (to 1e-5), and then s is the identity. For small e = a^T a - 1, s = 1 + e / 2, r = a (1 - e / 2).
SN_RT_BOTH int sn_rt_polar(const float a[9], float r[9], float s[9]) {
  const float identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, exact = 1e-5f, near = 3e-4f;
  float e[9], largest = 0,
              det = a[0] * (a[4] * a[8] - a[5] * a[7]) - a[1] * (a[3] * a[8] - a[5] * a[6]) +
                    a[2] * (a[3] * a[7] - a[4] * a[6]);
  for (int p = 0; p < 3; p++)
    for (int q = p; q < 3; q++) {
      float x = a[p] * a[q] + a[3 + p] * a[3 + q] + a[6 + p] * a[6 + q] - (p == q);
      e[3 * p + q] = e[3 * q + p] = x, x = fabsf(x), largest = x > largest ? x : largest;
    }
  if (!(largest < near && det > 0)) { // also for what is no number
    sn_rt_polar_by_jacobi(a, r, s);
    return 0;
  }
  memcpy(r, a, sizeof e), memcpy(s, identity, sizeof e);
  if (largest < exact) return 1;
  for (int n = 0; n < 9; n++) {
    s[n] += e[n] / 2;
    for (int k = 0; k < 3; k++) r[n] -= a[n / 3 * 3 + k] * e[3 * k + n % 3] / 2;
  }
  return 0;
}

// ---- quaternions --------------------------------------------------------------------------------------------------------

// From the largest of the four squared components, so that no square root is taken near zero.
SN_RT_BOTH void sn_rt_quat_from_rotation(const float r[9], float q[4]) {
  float xx = r[0], yy = r[4], zz = r[8], trace = xx + yy + zz;
  float yz = r[7] - r[5], zx = r[2] - r[6], xy = r[3] - r[1];
  if (trace > 0)
    q[0] = yz, q[1] = zx, q[2] = xy, q[3] = 1 + trace;
  else if (xx >= yy && xx >= zz)
    q[0] = 1 + xx - yy - zz, q[1] = r[1] + r[3], q[2] = r[2] + r[6], q[3] = yz;
  else if (yy >= zz)
    q[0] = r[1] + r[3], q[1] = 1 - xx + yy - zz, q[2] = r[5] + r[7], q[3] = zx;
  else
    q[0] = r[2] + r[6], q[1] = r[5] + r[7], q[2] = 1 - xx - yy + zz, q[3] = xy;
  float scale = 1 / sqrtf(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  for (int n = 0; n < 4; n++) q[n] *= scale;
}

SN_RT_BOTH void sn_rt_rotation_from_quat(const float q[4], float r[9]) {
  float x = q[0], y = q[1], z = q[2], w = q[3];
  float s = 2 / (x * x + y * y + z * z + w * w);
  r[0] = 1 - s * (y * y + z * z), r[1] = s * (x * y - w * z), r[2] = s * (x * z + w * y);
  r[3] = s * (x * y + w * z), r[4] = 1 - s * (x * x + z * z), r[5] = s * (y * z - w * x);
  r[6] = s * (x * z - w * y), r[7] = s * (y * z + w * x), r[8] = 1 - s * (x * x + y * y);
}

// The short way from a to b.
SN_RT_BOTH void sn_rt_slerp(const float a[4], const float b[4], float t, float out[4]) {
  float cosine = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3], sign = cosine < 0 ? -1.0f : 1.0f;
  float d = 0, s = 0; // |b - a|^2 and |b + a|^2: the angle between close quaternions is accurate from both
  for (int n = 0; n < 4; n++) {
    float difference = sign * b[n] - a[n], sum = sign * b[n] + a[n];
    d += difference * difference, s += sum * sum;
  }
  float angle = 2 * atan2f(sqrtf(d), sqrtf(s)), sine = sinf(angle);
  float wa = sine > 1e-4f ? sinf((1 - t) * angle) / sine : 1 - t, wb = sine > 1e-4f ? sinf(t * angle) / sine : t;
  for (int n = 0; n < 4; n++) out[n] = wa * a[n] + sign * wb * b[n];
}

// ---- palette matrices: four columns of four floats ------------------------------------------------------------------

SN_RT_BOTH void sn_rt_linear_part(const float m[16], float a[9]) {
  for (int n = 0; n < 9; n++) a[n] = m[4 * (n % 3) + n / 3];
}

// p -> a (p - from) + to
SN_RT_BOTH void sn_rt_make_about(const float a[9], const float from[3], const float to[3], float m[16]) {
  for (int r = 0; r < 3; r++) {
    for (int c = 0; c < 3; c++) m[4 * c + r] = a[3 * r + c];
    m[12 + r] = to[r] - (a[3 * r] * from[0] + a[3 * r + 1] * from[1] + a[3 * r + 2] * from[2]);
  }
  for (int c = 0; c < 4; c++) m[4 * c + 3] = 0;
}

// Of its polar decomposition.
SN_RT_BOTH void sn_rt_rotation_of(const float m[16], float r[9]) {
  float a[9], s[9];
  sn_rt_linear_part(m, a);
  sn_rt_polar(a, r, s);
}

#endif
