// SPDX-License-Identifier: MIT
// Motion of one skeleton on another: every joint rotates from its bind pose as its partner does, whatever the local
// axes of the two; lengths stay those of the skeleton that is moved.
#include "sinew/scene.h"

#include <math.h>

static sn_vec3 place(const sn_skeleton *skeleton, int j) { return sn_affine_translation(skeleton->rest[j]); }

static double length_of(const sn_skeleton *skeleton, int j) {
  int p = skeleton->parents[j];
  return p < 0 ? 0 : sn_vec3_distance(place(skeleton, j), place(skeleton, p));
}

bool sn_skeletons_alike(const sn_skeleton *a, const sn_skeleton *b) {
  static const double tolerance = 0.01, rounding = 1e-5; // of a bone's length; of the longest bone
  double longest = 0;
  for (int j = 0; j < a->joint_count; j++) longest = fmax(longest, length_of(a, j));
  for (int j = 0; j < a->joint_count; j++) {
    int k = sn_skeleton_find_near(b, a->names[j], j), p = a->parents[j];
    if (k < 0) return false;
    if (p < 0) continue;
    int q = sn_skeleton_find_near(b, a->names[p], p);
    if (q < 0) return false;
    double ours = length_of(a, j), theirs = sn_vec3_distance(place(b, k), place(b, q));
    if (fabs(ours - theirs) > fmax(tolerance * fmax(ours, theirs), rounding * longest)) return false;
  }
  return true;
}

// Size of a skeleton: mean length of the bones between joints that have partners.
static double size_of(const sn_skeleton *skeleton, const sn_skeleton *ours, const int *partners, bool own) {
  double sum = 0;
  for (int j = 0; j < ours->joint_count; j++) {
    int p = ours->parents[j];
    if (p < 0 || partners[j] < 0 || partners[p] < 0) continue;
    sum += own ? sn_vec3_distance(place(skeleton, j), place(skeleton, p))
               : sn_vec3_distance(place(skeleton, partners[j]), place(skeleton, partners[p]));
  }
  return sum;
}

static void retarget_pose(const sn_skeleton *ours, const sn_skeleton *theirs, const int *partners, double scale,
                          const sn_affine *pose, sn_affine *out) {
  for (int n = 0; n < ours->joint_count; n++) {
    int j = ours->order[n], p = ours->parents[j], k = partners[j];
    sn_vec3 rest = place(ours, j), at = rest;
    sn_mat3 rotation = p >= 0 ? sn_affine_linear(out[p]) : sn_mat3_identity();
    if (k >= 0) sn_mat3_polar(sn_affine_linear(pose[k]), &rotation, NULL);
    if (p >= 0) {
      at = sn_affine_apply(out[p], rest);
    } else if (k >= 0) { // a root goes where its partner goes, in proportion
      sn_vec3 from = place(theirs, k), to = sn_affine_apply(pose[k], from);
      at = sn_vec3_mad(rest, sn_vec3_sub(to, from), scale);
    }
    out[j] = sn_affine_make(rotation, sn_vec3_sub(at, sn_mat3_apply(rotation, rest)));
  }
}

sn_status sn_retarget(sn_context *ctx, const sn_skeleton *ours, const sn_skeleton *theirs, const int *partners,
                      const sn_poses *poses, sn_poses *out) {
  double own = size_of(ours, ours, partners, true), other = size_of(theirs, ours, partners, false);
  double scale = own > 0 && other > 0 ? own / other : 1;
  sn_status status = sn_poses_new(ctx, ours->joint_count, poses->frame_count, out);
  for (int f = 0; status == SN_OK && f < poses->frame_count; f++)
    retarget_pose(ours, theirs, partners, scale, sn_pose(poses, f), sn_pose(out, f));
  return status;
}
