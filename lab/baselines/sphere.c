// SPDX-License-Identifier: MIT
#include "lab/baselines/sphere.h"

#include <math.h>

// Singular values below this part of the largest leave their direction open. Matrices in single precision that turn by less than
// a thousandth of a radian against each other say nothing about where.
static const double open_below = 1e-5;

sn_vec3 sn_sphere_centre(int count, const sn_affine *matrices, sn_vec3 near) {
  sn_mat3 normal = {0}, u, v;
  sn_vec3 right = {0, 0, 0}, s;
  for (int a = 0; a < count; a++)
    for (int b = 0; b < a; b++) {
      sn_mat3 d = sn_mat3_sub(sn_affine_linear(matrices[a]), sn_affine_linear(matrices[b]));
      sn_vec3 apart = sn_vec3_sub(sn_affine_apply(matrices[b], near), sn_affine_apply(matrices[a], near));
      normal = sn_mat3_add(normal, sn_mat3_mul(sn_mat3_transpose(d), d));
      right = sn_vec3_add(right, sn_mat3_apply(sn_mat3_transpose(d), apart));
    }
  sn_mat3_svd(normal, &u, &s, &v); // symmetric: u = v
  const double size[3] = {s.x, s.y, s.z};
  sn_vec3 out = near;
  for (int k = 0; k < 3; k++) {
    sn_vec3 axis = {v.m[0][k], v.m[1][k], v.m[2][k]};
    if (size[k] > open_below * s.x && size[k] > 1e-12)
      out = sn_vec3_mad(out, axis, sn_vec3_dot(axis, right) / size[k]);
  }
  return out;
}

static sn_quat turn_of(sn_affine m) {
  sn_mat3 rotation;
  sn_mat3_polar(sn_affine_linear(m), &rotation, NULL);
  return sn_quat_from_mat3(rotation);
}

sn_vec3 sn_sphere_at(int count, const sn_affine *matrices, const double *weights, sn_vec3 near, sn_vec3 v) {
  sn_vec3 centre = sn_sphere_centre(count, matrices, near), moved = {0, 0, 0};
  sn_quat first = turn_of(matrices[0]), sum = {0, 0, 0, 0};
  for (int k = 0; k < count; k++) {
    sn_quat q = turn_of(matrices[k]);
    sum = sn_quat_add(sum, sn_quat_scale(q, sn_quat_dot(q, first) < 0 ? -weights[k] : weights[k]));
    moved = sn_vec3_mad(moved, sn_affine_apply(matrices[k], centre), weights[k]);
  }
  sn_mat3 turn = sn_quat_to_mat3(sn_quat_normalize(sum));
  return sn_vec3_add(sn_mat3_apply(turn, sn_vec3_sub(v, centre)), moved);
}
