// SPDX-License-Identifier: MIT
// Matrices of size three: inverse, eigenvectors, singular values, polar decomposition.
#include "sinew/math.h"

#include <float.h>

sn_vec3 sn_vec3_normalize(sn_vec3 a, sn_vec3 fallback) {
  double largest = fmax(fabs(a.x), fmax(fabs(a.y), fabs(a.z)));
  if (!(largest > 0) || isinf(largest)) return fallback;
  sn_vec3 scaled = {a.x / largest, a.y / largest, a.z / largest};
  return sn_vec3_scale(scaled, 1 / sn_vec3_length(scaled));
}

sn_vec3 sn_vec3_perpendicular(sn_vec3 a) {
  double x = fabs(a.x), y = fabs(a.y), z = fabs(a.z);
  sn_vec3 axis = x <= y && x <= z ? sn_vec3_make(1, 0, 0) : y <= z ? sn_vec3_make(0, 1, 0) : sn_vec3_make(0, 0, 1);
  return sn_vec3_normalize(sn_vec3_cross(a, axis), axis);
}

sn_mat3 sn_mat3_add(sn_mat3 a, sn_mat3 b) {
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++) a.m[r][c] += b.m[r][c];
  return a;
}

sn_mat3 sn_mat3_sub(sn_mat3 a, sn_mat3 b) { return sn_mat3_add(a, sn_mat3_scale(b, -1)); }

sn_mat3 sn_mat3_scale(sn_mat3 a, double s) {
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++) a.m[r][c] *= s;
  return a;
}

sn_mat3 sn_mat3_mul(sn_mat3 a, sn_mat3 b) {
  sn_mat3 out;
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++) out.m[r][c] = a.m[r][0] * b.m[0][c] + a.m[r][1] * b.m[1][c] + a.m[r][2] * b.m[2][c];
  return out;
}

double sn_mat3_determinant(sn_mat3 a) {
  return sn_vec3_dot(sn_mat3_column(a, 0), sn_vec3_cross(sn_mat3_column(a, 1), sn_mat3_column(a, 2)));
}

static double largest_entry(sn_mat3 a) {
  double largest = 0;
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++) largest = fmax(largest, fabs(a.m[r][c]));
  return largest;
}

double sn_mat3_norm(sn_mat3 a) {
  double sum = 0, scale = largest_entry(a);
  if (!(scale > 0) || isinf(scale)) scale = 1;
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++) sum += (a.m[r][c] / scale) * (a.m[r][c] / scale);
  return sqrt(sum) * scale;
}

bool sn_mat3_invert(sn_mat3 a, sn_mat3 *out) {
  *out = (sn_mat3){0};
  // Scales columns by powers of two to entries near 1: nothing overflows, and the determinant measures how close to
  // singular their directions are.
  int exponent[3];
  for (int c = 0; c < 3; c++) {
    double scale = fmax(fabs(a.m[0][c]), fmax(fabs(a.m[1][c]), fabs(a.m[2][c])));
    if (!(scale > 0) || isinf(scale)) return false;
    exponent[c] = ilogb(scale);
    for (int r = 0; r < 3; r++) a.m[r][c] = scalbn(a.m[r][c], -exponent[c]);
  }
  sn_vec3 x = sn_mat3_column(a, 0), y = sn_mat3_column(a, 1), z = sn_mat3_column(a, 2);
  double det = sn_mat3_determinant(a);
  if (!(fabs(det) >= 64 * DBL_EPSILON)) return false;
  sn_mat3 rows = sn_mat3_columns(sn_vec3_cross(y, z), sn_vec3_cross(z, x), sn_vec3_cross(x, y));
  sn_mat3 inverse = sn_mat3_scale(sn_mat3_transpose(rows), 1 / det);
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++) out->m[r][c] = scalbn(inverse.m[r][c], -exponent[r]);
  return true;
}

// One-sided Jacobi: rotates pairs of columns of `a` (and of `v`) until they are orthogonal. Accurate for singular
// values of very different sizes, and needs no special cases for repeated ones.
static void orthogonalise_columns(sn_mat3 *a, sn_mat3 *v) {
  for (int sweep = 0; sweep < 40; sweep++) {
    bool rotated = false;
    for (int p = 0; p < 2; p++)
      for (int q = p + 1; q < 3; q++) {
        sn_vec3 x = sn_mat3_column(*a, p), y = sn_mat3_column(*a, q);
        double xx = sn_vec3_dot(x, x), yy = sn_vec3_dot(y, y), xy = sn_vec3_dot(x, y);
        if (fabs(xy) <= 2 * DBL_EPSILON * sqrt(xx * yy) || fabs(xy) < DBL_MIN) continue;
        rotated = true;
        double zeta = (yy - xx) / (2 * xy);
        double t = isinf(zeta * zeta) ? 0.5 / zeta : copysign(1, zeta) / (fabs(zeta) + sqrt(1 + zeta * zeta));
        double c = 1 / sqrt(1 + t * t), s = c * t;
        for (int r = 0; r < 3; r++) {
          double ap = a->m[r][p], aq = a->m[r][q], vp = v->m[r][p], vq = v->m[r][q];
          a->m[r][p] = c * ap - s * aq, a->m[r][q] = s * ap + c * aq;
          v->m[r][p] = c * vp - s * vq, v->m[r][q] = s * vp + c * vq;
        }
      }
    if (!rotated) return;
  }
}

static void swap_columns(sn_mat3 *a, int p, int q) {
  for (int r = 0; r < 3; r++) {
    double keep = a->m[r][p];
    a->m[r][p] = a->m[r][q], a->m[r][q] = keep;
  }
}

void sn_mat3_svd(sn_mat3 a, sn_mat3 *u, sn_vec3 *s, sn_mat3 *v) {
  double scale = largest_entry(a);
  *v = sn_mat3_identity();
  if (!(scale > 0)) {
    *u = sn_mat3_identity(), *s = (sn_vec3){0, 0, 0};
    return;
  }
  // An exact power of two, applied in two steps where its inverse would overflow.
  int exponent = ilogb(scale);
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++) a.m[r][c] = scalbn(a.m[r][c], -exponent);
  orthogonalise_columns(&a, v);
  double length[3];
  for (int c = 0; c < 3; c++) length[c] = sn_vec3_length(sn_mat3_column(a, c));
  for (int pass = 0; pass < 2; pass++)
    for (int c = 0; c < 2; c++) {
      if (length[c] >= length[c + 1]) continue;
      double keep = length[c];
      length[c] = length[c + 1], length[c + 1] = keep;
      swap_columns(&a, c, c + 1), swap_columns(v, c, c + 1);
    }
  // Columns that are zero to working precision get directions that complete the basis.
  sn_vec3 x = sn_vec3_normalize(sn_mat3_column(a, 0), sn_vec3_make(1, 0, 0));
  sn_vec3 y = sn_mat3_column(a, 1), z = sn_mat3_column(a, 2);
  double tiny = 1e-15 * length[0];
  y = length[1] > tiny ? sn_vec3_normalize(sn_vec3_mad(y, x, -sn_vec3_dot(x, y)), sn_vec3_perpendicular(x))
                       : sn_vec3_perpendicular(x);
  sn_vec3 w = sn_vec3_cross(x, y);
  if (length[2] > tiny && sn_vec3_dot(z, w) < 0) w = sn_vec3_scale(w, -1);
  *u = sn_mat3_columns(x, y, w);
  *s = (sn_vec3){scalbn(length[0], exponent), scalbn(length[1], exponent), scalbn(length[2], exponent)};
}

// r = u diag(1, 1, det(u v^T)) v^T
static sn_mat3 nearest_rotation(sn_mat3 u, sn_mat3 v) {
  if (sn_mat3_determinant(u) * sn_mat3_determinant(v) < 0)
    for (int r = 0; r < 3; r++) u.m[r][2] = -u.m[r][2];
  return sn_mat3_mul(u, sn_mat3_transpose(v));
}

void sn_mat3_polar(sn_mat3 a, sn_mat3 *r, sn_mat3 *p) {
  sn_mat3 u, v;
  sn_vec3 s;
  sn_mat3_svd(a, &u, &s, &v);
  *r = nearest_rotation(u, v);
  if (!p) return;
  if (sn_mat3_determinant(u) * sn_mat3_determinant(v) < 0) s.z = -s.z;
  *p = sn_mat3_mul(sn_mat3_mul(v, sn_mat3_diagonal(s.x, s.y, s.z)), sn_mat3_transpose(v));
}

sn_mat3 sn_mat3_kabsch(sn_mat3 h) {
  sn_mat3 u, v;
  sn_vec3 s;
  sn_mat3_svd(h, &u, &s, &v);
  return nearest_rotation(v, u);
}
