// SPDX-License-Identifier: MIT
// The extra joints of Mohr and Gleicher 2003, between a joint and its parent.
#include "train/skin/halfway.h"

// Half-way, and growing and shrinking on the parent's bone and on the child's.
enum { extras_per_joint = 1 + 2 * 2 };

static sn_vec3 joint_position(const sn_skeleton *skeleton, int j) { return sn_affine_translation(skeleton->rest[j]); }

// The end of joint j's bone: the mean of its children, or for a leaf the parent's position mirrored at the joint.
static sn_vec3 bone_end(const sn_skeleton *skeleton, int j) {
  sn_vec3 sum = {0, 0, 0}, here = joint_position(skeleton, j);
  int children = 0;
  for (int k = 0; k < skeleton->joint_count; k++) {
    if (skeleton->parents[k] != j) continue;
    sum = sn_vec3_add(sum, joint_position(skeleton, k));
    children++;
  }
  if (children > 0) return sn_vec3_scale(sum, 1.0 / children);
  int parent = skeleton->parents[j];
  return parent < 0 ? here : sn_vec3_sub(sn_vec3_scale(here, 2), joint_position(skeleton, parent));
}

// Stretches by `amount` across the bone from a to b, about its middle, when the joint `like.child` is fully bent.
static sn_extra_joint scaling_joint(sn_extra_joint like, int base, sn_vec3 a, sn_vec3 b, double amount) {
  sn_vec3 along = sn_vec3_normalize(sn_vec3_sub(b, a), sn_vec3_make(0, 0, 0));
  sn_mat3 across = sn_mat3_sub(sn_mat3_identity(), sn_mat3_outer(along, along));
  like.base = base, like.centre = sn_vec3_lerp(a, b, 0.5), like.stretch = sn_mat3_scale(across, amount);
  return like;
}

static sn_status add_joints(sn_context *ctx, const sn_skeleton *skeleton, sn_plan *plan) {
  sn_extra_joint *extra =
    SN_NEW(ctx, &plan->memory, sn_extra_joint, (size_t)skeleton->joint_count * extras_per_joint);
  if (!extra) return ctx->error.status;
  plan->desc.extra = extra;
  for (int j = 0; j < skeleton->joint_count; j++) {
    int parent = skeleton->parents[j];
    if (parent < 0) continue;
    sn_vec3 start = joint_position(skeleton, parent), here = joint_position(skeleton, j), end = bone_end(skeleton, j);
    const sn_extra_joint like = {
      .kind = SN_EXTRA_SCALING, .parent = parent, .child = j, .direction = sn_vec3_sub(end, here)};
    extra[0] = (sn_extra_joint){
      .kind = SN_EXTRA_HALFWAY, .parent = parent, .child = j, .amount = 0.5, .centre = here, .base = -1};
    extra[1] = scaling_joint(like, parent, start, here, 1);
    extra[2] = scaling_joint(like, parent, start, here, -0.5);
    extra[3] = scaling_joint(like, j, here, end, 1);
    extra[4] = scaling_joint(like, j, here, end, -0.5);
    extra += extras_per_joint, plan->desc.extra_count += extras_per_joint;
  }
  return SN_OK;
}

sn_status sn_halfway_palette(sn_context *ctx, const sn_examples *examples, sn_plan *plan, sn_poses *out) {
  *out = (sn_poses){0};
  sn_model model = {0};
  sn_rt_model opened;
  sn_status status = add_joints(ctx, &examples->skeleton, plan);
  if (status == SN_OK) status = sn_plan_palette_model(ctx, plan, &model, &opened);
  if (status == SN_OK) status = sn_model_palettes(ctx, &opened, examples, out, NULL, NULL);
  sn_model_free(&model);
  return status;
}
