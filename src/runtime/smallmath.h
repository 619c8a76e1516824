// SPDX-License-Identifier: MIT
// Rotations and quaternions (x y z w) of the palette stage. Matrices are 3x3 row-major here.
#ifndef SINEW_RUNTIME_SMALLMATH_H
#define SINEW_RUNTIME_SMALLMATH_H

#include <math.h>
#include <string.h>

#include "runtime/portable.h"

// ---- polar decomposition -------------------------------------------------------------------------------------------------

SN_RT_BOTH void sn_rt_rotate_pair(double *x, double *y, double c, double s) {
  double old = *x;
  *x = c * old - s * *y, *y = s * old + c * *y;
}

// Diagonalises the symmetric matrix k by Jacobi rotations of rows and columns p and q; the columns of v become its eigenvectors.
SN_RT_BOTH void sn_rt_diagonalise(double k[4][4], double v[4][4], double tiny) {
  for (int sweep = 0, rotated = 1; sweep < 30 && rotated; sweep++) {
    rotated = 0;
    for (int p = 0; p < 3; p++)
      for (int q = p + 1; q < 4; q++) {
        if (!(fabs(k[p][q]) > tiny)) continue;
        rotated = 1;
        double zeta = (k[q][q] - k[p][p]) / (2 * k[p][q]);
        double t = copysign(1.0, zeta) / (fabs(zeta) + sqrt(1 + zeta * zeta)), c = 1 / sqrt(1 + t * t);
        for (int r = 0; r < 4; r++) sn_rt_rotate_pair(&k[r][p], &k[r][q], c, c * t);
        for (int r = 0; r < 4; r++) sn_rt_rotate_pair(&k[p][r], &k[q][r], c, c * t);
        for (int r = 0; r < 4; r++) sn_rt_rotate_pair(&v[r][p], &v[r][q], c, c * t);
      }
  }
}

// The proper rotation r nearest to a is that of the quaternion x y z w which is the eigenvector of the largest eigenvalue of k
// (Horn 1987); s = r^T a is symmetric. In double precision: floats would lose a small stretch next to a large one.
SN_RT_BOTH void sn_rt_polar_by_quaternion(const float a[9], float r_out[9], float s_out[9]) {
  double xx = a[0], xy = a[1], xz = a[2], yx = a[3], yy = a[4], yz = a[5], zx = a[6], zy = a[7], zz = a[8], size = 0;
  double k[4][4] = {{xx - yy - zz, xy + yx, xz + zx, zy - yz},
                    {xy + yx, yy - xx - zz, yz + zy, xz - zx},
                    {xz + zx, yz + zy, zz - xx - yy, yx - xy},
                    {zy - yz, xz - zx, yx - xy, xx + yy + zz}};
  double v[4][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
  for (int n = 0; n < 9; n++) size += fabs((double)a[n]);
  sn_rt_diagonalise(k, v, 1e-16 * size);
  int best = 3;
  for (int n = 0; n < 3; n++)
    if (k[n][n] > k[best][best]) best = n;
  double x = v[0][best], y = v[1][best], z = v[2][best], w = v[3][best], f = 2 / (x * x + y * y + z * z + w * w);
  double r[3][3] = {{1 - f * (y * y + z * z), f * (x * y - w * z), f * (x * z + w * y)},
                    {f * (x * y + w * z), 1 - f * (x * x + z * z), f * (y * z - w * x)},
                    {f * (x * z - w * y), f * (y * z + w * x), 1 - f * (x * x + y * y)}};
  for (int n = 0; n < 9; n++) {
    double sum = 0;
    for (int m = 0; m < 3; m++) sum += r[m][n / 3] * a[3 * m + n % 3] + r[m][n % 3] * a[3 * m + n / 3];
    r_out[n] = (float)r[n / 3][n % 3], s_out[n] = (float)(sum / 2);
  }
}

// a = r s with r a proper rotation (always) and s symmetric; if det a < 0 the smallest eigenvalue of s is negative. Returns 1 if a
// is a rotation (to 1e-5); s is then the identity. For small e = a^T a - 1, s = 1 + e / 2, r = a (1 - e / 2).
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
  if (!(largest < near && det > 0)) { // also for NaN
    sn_rt_polar_by_quaternion(a, r, s);
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
