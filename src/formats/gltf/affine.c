// SPDX-License-Identifier: MIT
// Represents any affine map by two nested translation-rotation-scale nodes: M = U S V^T S2, outer node with rotation U and scale S,
// inner node with rotation V^T and the constant scale S2: three different scales, which determine U and V of nearly rigid maps. The
// factors are not unique; they are chosen continuous from key to key, because players interpolate them.
#include "formats/gltf/out.h"

const sn_vec3 sn_gltf_inner_scale = {1, 2, 0.5};

static sn_mat3 scale_columns(sn_mat3 a, sn_vec3 s) { return sn_mat3_mul(a, sn_mat3_diagonal(s.x, s.y, s.z)); }

// SVD with rotations U and V: if one is a reflection, its third column and s3 change sign.
static void rotation_svd(sn_mat3 a, sn_mat3 *u, sn_vec3 *s, sn_mat3 *v) {
  sn_mat3_svd(a, u, s, v);
  if (sn_mat3_determinant(*u) < 0) *u = scale_columns(*u, sn_vec3_make(1, 1, -1)), s->z = -s->z;
  if (sn_mat3_determinant(*v) < 0) *v = scale_columns(*v, sn_vec3_make(1, 1, -1)), s->z = -s->z;
}

static const int permutations[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};

// One of the 24 signed permutations with determinant 1.
static sn_mat3 rotation_permutation(int index) {
  const int *order = permutations[index / 4];
  double x = index & 1 ? -1 : 1, y = index & 2 ? -1 : 1, z = (index / 4 < 3 ? 1 : -1) * x * y;
  sn_mat3 out = {0};
  out.m[order[0]][0] = x, out.m[order[1]][1] = y, out.m[order[2]][2] = z;
  return out;
}

static double overlap(sn_mat3 a, sn_mat3 b) { return sn_mat3_trace(sn_mat3_mul(sn_mat3_transpose(a), b)); }

static sn_quat near_quat(sn_mat3 r, sn_quat previous) {
  sn_quat q = sn_quat_from_mat3(r);
  return sn_quat_dot(q, previous) < 0 ? sn_quat_scale(q, -1) : q;
}

gltf_factors sn_gltf_factor(sn_affine map, const gltf_factors *previous) {
  gltf_factors start = {.outer = sn_quat_identity(), .inner = sn_quat_identity()};
  if (!previous) previous = &start;
  sn_mat3 u, v, best_u = sn_mat3_identity(), best_v = best_u;
  sn_vec3 s, s2 = sn_gltf_inner_scale, best_s = {1, 1, 1};
  rotation_svd(scale_columns(sn_affine_linear(map), sn_vec3_make(1 / s2.x, 1 / s2.y, 1 / s2.z)), &u, &s, &v);
  sn_mat3 last_u = sn_quat_to_mat3(previous->outer), last_v = sn_mat3_transpose(sn_quat_to_mat3(previous->inner));
  double best = -INFINITY;
  for (int p = 0; p < 24; p++) {
    sn_mat3 permutation = rotation_permutation(p), new_v = sn_mat3_mul(v, permutation);
    sn_mat3 permuted_u = sn_mat3_mul(u, permutation);
    double sv[3] = {s.x, s.y, s.z};
    const int *order = permutations[p / 4];
    for (int flip = 0; flip < 4; flip++) {
      sn_vec3 signs = {flip & 1 ? -1 : 1, flip & 2 ? -1 : 1, (flip == 1 || flip == 2) ? -1 : 1};
      sn_mat3 new_u = scale_columns(permuted_u, signs);
      double score = overlap(last_u, new_u) + overlap(last_v, new_v);
      if (score <= best) continue;
      best = score, best_u = new_u, best_v = new_v;
      best_s = sn_vec3_make(sv[order[0]] * signs.x, sv[order[1]] * signs.y, sv[order[2]] * signs.z);
    }
  }
  return (gltf_factors){.translation = sn_affine_translation(map),
                        .scale = best_s,
                        .outer = near_quat(best_u, previous->outer),
                        .inner = near_quat(sn_mat3_transpose(best_v), previous->inner)};
}
