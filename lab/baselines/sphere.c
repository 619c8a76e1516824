// SPDX-License-Identifier: MIT
#include "lab/baselines/sphere.h"

#include <math.h>

// Directions with singular values below this part of the largest are undetermined. In single precision, relative
// rotations below 1e-3 radians do not determine a centre.
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

static sn_mat3 rotation_of(sn_affine m) {
  sn_mat3 rotation;
  sn_mat3_polar(sn_affine_linear(m), &rotation, NULL);
  return rotation;
}

// Q, and the blended M_j c.
static sn_affine blend_pairs(int count, const sn_affine *matrices, const double *weights, sn_vec3 centre) {
  sn_quat first = sn_quat_from_mat3(rotation_of(matrices[0])), sum = {0, 0, 0, 0};
  sn_vec3 moved = {0, 0, 0};
  for (int k = 0; k < count; k++) {
    sn_quat q = sn_quat_from_mat3(rotation_of(matrices[k]));
    sum = sn_quat_add(sum, sn_quat_scale(q, sn_quat_dot(q, first) < 0 ? -weights[k] : weights[k]));
    moved = sn_vec3_mad(moved, sn_affine_apply(matrices[k], centre), weights[k]);
  }
  return sn_affine_make(sn_quat_to_mat3(sn_quat_normalize(sum)), moved);
}

sn_vec3 sn_sphere_at(int count, const sn_affine *matrices, const double *weights, sn_vec3 near, sn_vec3 v) {
  sn_vec3 centre = sn_sphere_centre(count, matrices, near);
  return sn_affine_apply(blend_pairs(count, matrices, weights, centre), sn_vec3_sub(v, centre));
}

sn_vec3 sn_hejl_at(int count, const sn_affine *matrices, const double *weights, sn_vec3 near, sn_vec3 v) {
  (void)near;
  return sn_affine_apply(blend_pairs(count, matrices, weights, (sn_vec3){0, 0, 0}), v);
}

// V of exp([w]x, u) = (exp [w]x, V u): I + (1 - cos a) / a^2 [w]x + (a - sin a) / a^3 [w]x^2, a = |w|.
static sn_mat3 translation_factor(sn_vec3 w) {
  const sn_mat3 cross = {{{0, -w.z, w.y}, {w.z, 0, -w.x}, {-w.y, w.x, 0}}};
  double a = sn_vec3_length(w), b = a > 1e-4 ? (1 - cos(a)) / (a * a) : 0.5,
         c = a > 1e-4 ? (a - sin(a)) / (a * a * a) : 1.0 / 6;
  sn_mat3 square = sn_mat3_mul(cross, cross), out = sn_mat3_identity();
  return sn_mat3_add(out, sn_mat3_add(sn_mat3_scale(cross, b), sn_mat3_scale(square, c)));
}

sn_vec3 sn_alexa_at(int count, const sn_affine *matrices, const double *weights, sn_vec3 near, sn_vec3 v) {
  (void)near;
  sn_vec3 turn = {0, 0, 0}, shift = {0, 0, 0};
  for (int k = 0; k < count; k++) {
    const sn_affine *m = &matrices[k];
    sn_vec3 w = sn_rotation_log(rotation_of(*m)), u = {m->m[0][3], m->m[1][3], m->m[2][3]};
    turn = sn_vec3_mad(turn, w, weights[k]);
    sn_mat3 inverse;
    if (sn_mat3_invert(translation_factor(w), &inverse)) // always true for |w| <= pi
      shift = sn_vec3_mad(shift, sn_mat3_apply(inverse, u), weights[k]);
  }
  return sn_vec3_add(sn_mat3_apply(sn_rotation_exp(turn), v), sn_mat3_apply(translation_factor(turn), shift));
}
