// SPDX-License-Identifier: MIT
// The blend of a vertex as the runtime evaluates it, and its inverse.
#include "train/correct/correct.h"

// ---- the blend of a vertex, as an affine map -----------------------------------------------------------------------------

static void add_matrix(const float m[12], float weight, sn_affine *sum) {
  for (int n = 0; n < 12; n++) sum->m[n / 4][n % 4] += weight * (double)m[n];
}

static sn_affine blend_linear(const sn_rt_model *model, const void *scratch, int count, const uint16_t *joints,
                              const float *weights) {
  sn_affine sum = {0};
  for (int k = 0; k < count; k++) {
    float m[12];
    sn_rt_palette_matrix(model, scratch, joints[k], m);
    add_matrix(m, weights[k], &sum);
  }
  return sum;
}

// Dual-quaternion blend. Quaternion signs are fixed in the palette, or else by the pivot, the first joint.
static sn_affine blend_rigid(const sn_rt_model *model, const void *scratch, int count, const uint16_t *joints,
                             const float *weights) {
  sn_dualquat sum = {{0, 0, 0, 0}, {0, 0, 0, 0}};
  sn_affine stretch = {0};
  float pivot[8], q[8], m[12];
  sn_rt_palette_split(model, scratch, joints[0], pivot, m);
  for (int k = 0; k < count; k++) {
    bool chosen = sn_rt_palette_split(model, scratch, joints[k], q, m);
    bool flip = !chosen && q[0] * pivot[0] + q[1] * pivot[1] + q[2] * pivot[2] + q[3] * pivot[3] < 0;
    double w = flip ? -weights[k] : weights[k];
    sum.real = sn_quat_add(sum.real, sn_quat_scale((sn_quat){q[0], q[1], q[2], q[3]}, w));
    sum.dual = sn_quat_add(sum.dual, sn_quat_scale((sn_quat){q[4], q[5], q[6], q[7]}, w));
    add_matrix(m, weights[k], &stretch);
  }
  return sn_affine_mul(sn_dualquat_to_rigid(sum), stretch);
}

// x -> R S (x - c) + B c: linear part from the dual-quaternion blend, position of the centre c from linear blending.
static sn_affine about_centre(sn_affine turn, sn_affine matrix, sn_vec3 centre) {
  sn_mat3 linear = sn_affine_linear(turn);
  return sn_affine_make(linear, sn_vec3_sub(sn_affine_apply(matrix, centre), sn_mat3_apply(linear, centre)));
}

sn_affine sn_blend_of(const sn_rt_model *model, const void *scratch, const sn_skin *skin, const float (*centres)[3],
                      int i) {
  size_t row = (size_t)i * (size_t)skin->influences;
  int count = sn_skin_row_influences(skin, i);
  const uint16_t *joints = skin->joints + row;
  const float *weights = skin->weights + row;
  if (model->info.blend == SN_RT_BLEND_LINEAR) return blend_linear(model, scratch, count, joints, weights);
  sn_affine turn = blend_rigid(model, scratch, count, joints, weights);
  if (model->info.blend == SN_RT_BLEND_DUALQUAT) return turn;
  return about_centre(turn, blend_linear(model, scratch, count, joints, weights), sn_vec3_from(centres[i]));
}

// ---- inverting it --------------------------------------------------------------------------------------------------------------

// A linear blend of joints rotated by nearly 180 degrees collapses the skin. Singular values below this are damped
// instead of inverted.
static const double least_singular = 0.05;

// Solves a d = r by the damped singular value decomposition.
sn_vec3 sn_blend_solve(sn_mat3 a, sn_vec3 r) {
  sn_mat3 u, v;
  sn_vec3 s;
  sn_mat3_svd(a, &u, &s, &v);
  sn_vec3 y = sn_mat3_apply(sn_mat3_transpose(u), r);
  const double floor2 = least_singular * least_singular;
  y.x *= s.x > least_singular ? 1 / s.x : s.x / floor2;
  y.y *= s.y > least_singular ? 1 / s.y : s.y / floor2;
  y.z *= s.z > least_singular ? 1 / s.z : s.z / floor2;
  return sn_mat3_apply(v, y);
}

// Normals transform by the cofactors of `a`, so `target` is mapped back by a^T.
sn_vec3 sn_normal_before(sn_mat3 a, sn_vec3 rest, sn_vec3 target) {
  double sign = sn_mat3_determinant(a) < 0 ? -1 : 1;
  sn_vec3 n = sn_vec3_scale(sn_mat3_apply(sn_mat3_transpose(a), target), sign);
  return sn_vec3_sub(sn_vec3_normalize(n, rest), rest);
}
