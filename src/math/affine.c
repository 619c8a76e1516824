// SPDX-License-Identifier: MIT
// Affine maps: products, inverses, Procrustes.
#include "sinew/math.h"

sn_affine sn_affine_mul(sn_affine a, sn_affine b) {
  return sn_affine_make(sn_mat3_mul(sn_affine_linear(a), sn_affine_linear(b)),
                        sn_affine_apply(a, sn_affine_translation(b)));
}

bool sn_affine_invert(sn_affine a, sn_affine *out) {
  sn_mat3 inverse;
  bool good = sn_mat3_invert(sn_affine_linear(a), &inverse);
  *out = sn_affine_make(inverse, sn_vec3_scale(sn_mat3_apply(inverse, sn_affine_translation(a)), -1));
  return good;
}

sn_affine sn_affine_about(sn_mat3 r, sn_vec3 c) { return sn_affine_make(r, sn_vec3_sub(c, sn_mat3_apply(r, c))); }

sn_affine sn_procrustes(int count, const sn_vec3 *x, const sn_vec3 *y, const double *weights) {
  sn_vec3 mx = {0, 0, 0}, my = {0, 0, 0};
  double total = 0;
  for (int i = 0; i < count; i++) {
    double w = weights ? weights[i] : 1;
    mx = sn_vec3_mad(mx, x[i], w), my = sn_vec3_mad(my, y[i], w), total += w;
  }
  if (!(total > 0)) return sn_affine_identity();
  mx = sn_vec3_scale(mx, 1 / total), my = sn_vec3_scale(my, 1 / total);
  sn_mat3 h = {0};
  for (int i = 0; i < count; i++) {
    double w = weights ? weights[i] : 1;
    h = sn_mat3_add(h, sn_mat3_outer(sn_vec3_scale(sn_vec3_sub(x[i], mx), w), sn_vec3_sub(y[i], my)));
  }
  sn_mat3 r = sn_mat3_kabsch(h);
  return sn_affine_make(r, sn_vec3_sub(my, sn_mat3_apply(r, mx)));
}

sn_affine sn_affine_from_trs(sn_vec3 t, sn_quat r, sn_vec3 s) {
  return sn_affine_make(sn_mat3_mul(sn_quat_to_mat3(r), sn_mat3_diagonal(s.x, s.y, s.z)), t);
}

double sn_affine_to_trs(sn_affine a, sn_vec3 *t, sn_quat *r, sn_vec3 *s) {
  sn_mat3 linear = sn_affine_linear(a), rotation, stretch;
  sn_mat3_polar(linear, &rotation, &stretch);
  *t = sn_affine_translation(a);
  // A = R diag(s) has orthogonal columns; the last axis takes the sign of a mirrored A.
  double length[3];
  for (int c = 0; c < 3; c++) length[c] = sn_vec3_length(sn_mat3_column(linear, c));
  *s = (sn_vec3){stretch.m[0][0], stretch.m[1][1], stretch.m[2][2]};
  double norm = sn_mat3_norm(linear);
  double shear = sn_mat3_norm(sn_mat3_sub(linear, sn_mat3_mul(rotation, sn_mat3_diagonal(s->x, s->y, s->z))));
  if (shear > 1e-9 * norm) {
    // The polar factor is not diagonal: try the directions of the columns (right for mirrored and flattened TRS).
    sn_vec3 x = sn_vec3_normalize(sn_mat3_column(linear, 0), sn_vec3_make(1, 0, 0));
    sn_vec3 y = sn_mat3_column(linear, 1);
    y = sn_vec3_normalize(sn_vec3_mad(y, x, -sn_vec3_dot(x, y)), sn_vec3_perpendicular(x));
    sn_mat3 basis = sn_mat3_columns(x, y, sn_vec3_cross(x, y));
    sn_vec3 scale = {length[0], sn_vec3_dot(y, sn_mat3_column(linear, 1)),
                     sn_vec3_dot(sn_mat3_column(basis, 2), sn_mat3_column(linear, 2))};
    sn_mat3 rebuilt = sn_mat3_mul(basis, sn_mat3_diagonal(scale.x, scale.y, scale.z));
    double other = sn_mat3_norm(sn_mat3_sub(linear, rebuilt));
    if (other < shear) rotation = basis, *s = scale, shear = other;
  }
  *r = sn_quat_from_mat3(rotation);
  return norm > 0 ? shear / norm : 0;
}
