// SPDX-License-Identifier: MIT
// Retargeting: every joint gets the rotation from the bind pose of its partner, in world space, independent of local axes and of
// the directions that the characters face. Bone lengths are kept.
#include "base/scope.h"
#include "sinew/scene.h"

#include <math.h>

static sn_vec3 place(const sn_skeleton *skeleton, int j) { return sn_affine_translation(skeleton->rest[j]); }

static double length_of(const sn_skeleton *skeleton, int j) {
  int p = skeleton->parents[j];
  return p < 0 ? 0 : sn_vec3_distance(place(skeleton, j), place(skeleton, p));
}

bool sn_skeletons_match(const sn_skeleton *a, const sn_skeleton *b) {
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

typedef struct fitting {
  const sn_skeleton *ours, *theirs;
  const int *partners;
  double scale; // from their translations to ours
  sn_mat3 axes; // rotation by multiples of 90 degrees from our rest pose to theirs
} fitting;

static sn_status fit(sn_context *ctx, fitting *f) {
  static const double clearly = 1.01; // a rotation must fit clearly better: straight chains fit at any twist
  const sn_skeleton *ours = f->ours, *theirs = f->theirs;
  SN_SCRATCH(scratch, ctx);
  sn_vec3 *x = SN_NEW(ctx, &scratch, sn_vec3, ours->joint_count),
          *y = SN_NEW(ctx, &scratch, sn_vec3, ours->joint_count);
  double own = 0, other = 0, straight = 0, rotated = 0;
  int count = 0;
  if (!x || !y) return ctx->error.status;
  for (int j = 0; j < ours->joint_count; j++) {
    int p = ours->parents[j], k = f->partners[j];
    if (k < 0) continue;
    x[count] = place(ours, j), y[count++] = place(theirs, k);
    if (p < 0 || f->partners[p] < 0) continue;
    own += length_of(ours, j), other += sn_vec3_distance(place(theirs, k), place(theirs, f->partners[p]));
  }
  f->scale = own > 0 && other > 0 ? own / other : 1;
  f->axes = sn_affine_linear(sn_procrustes(count, x, y, NULL));
  for (int e = 0; e < 9; e++) f->axes.m[e / 3][e % 3] = nearbyint(f->axes.m[e / 3][e % 3]);
  for (int n = 1; n < count; n++) {
    sn_vec3 from = sn_vec3_sub(x[n], x[0]), to = sn_vec3_sub(y[n], y[0]);
    straight += sn_vec3_dot(from, to), rotated += sn_vec3_dot(sn_mat3_apply(f->axes, from), to);
  }
  if (sn_mat3_determinant(f->axes) != 1 || rotated <= clearly * straight) f->axes = sn_mat3_identity();
  return SN_OK;
}

static void retarget_pose(const fitting *fit, const sn_affine *pose, sn_affine *out) {
  const sn_skeleton *ours = fit->ours;
  sn_mat3 back = sn_mat3_transpose(fit->axes);
  for (int n = 0; n < ours->joint_count; n++) {
    int j = ours->order[n], p = ours->parents[j], k = fit->partners[j];
    sn_vec3 rest = place(ours, j), at = rest;
    sn_mat3 rotation = p >= 0 ? sn_affine_linear(out[p]) : sn_mat3_identity();
    if (k >= 0) {
      sn_mat3_polar(sn_affine_linear(pose[k]), &rotation, NULL);
      rotation = sn_mat3_mul(back, sn_mat3_mul(rotation, fit->axes));
    }
    if (p >= 0) {
      at = sn_affine_apply(out[p], rest);
    } else if (k >= 0) { // scaled translation of the partner root
      sn_vec3 from = place(fit->theirs, k), to = sn_affine_apply(pose[k], from);
      at = sn_vec3_mad(rest, sn_mat3_apply(back, sn_vec3_sub(to, from)), fit->scale);
    }
    out[j] = sn_affine_make(rotation, sn_vec3_sub(at, sn_mat3_apply(rotation, rest)));
  }
}

sn_status sn_retarget(sn_context *ctx, const sn_skeleton *ours, const sn_skeleton *theirs, const int *partners,
                      const sn_poses *poses, sn_poses *out) {
  *out = (sn_poses){0};
  fitting between = {.ours = ours, .theirs = theirs, .partners = partners};
  SN_TRY(fit(ctx, &between));
  SN_TRY(sn_poses_new(ctx, ours->joint_count, poses->frame_count, out));
  for (int f = 0; f < poses->frame_count; f++) retarget_pose(&between, sn_pose(poses, f), sn_pose(out, f));
  return SN_OK;
}
