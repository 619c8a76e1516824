// SPDX-License-Identifier: MIT
// Joint rotations relative to the parent, on one branch of the logarithm.
#include "train/rotreg/predictor.h"

static sn_vec3 relative_log(const sn_rotreg_rotations *rotations, const sn_mat3 *rotation, int j, sn_vec3 reference) {
  if (rotations->base[j] == j) return sn_vec3_make(0, 0, 0);
  sn_mat3 relative = sn_mat3_mul(sn_mat3_transpose(rotation[rotations->base[j]]), rotation[j]);
  return sn_rotation_log_near(relative, reference);
}

void sn_rotreg_rotations_pose(const sn_rotreg_rotations *rotations, const sn_affine *pose, sn_mat3 *rotation,
                              sn_vec3 *theta) {
  for (int j = 0; j < rotations->joint_count; j++) sn_mat3_polar(sn_affine_linear(pose[j]), &rotation[j], NULL);
  for (int j = 0; j < rotations->joint_count; j++)
    theta[j] = relative_log(rotations, rotation, j, rotations->reference[j]);
}

// The mean of joint j's rotation vectors, each on the branch nearest to the one before. This is correct if neighbouring
// poses differ by less than 180 degrees.
static sn_vec3 mean_unwrapped(const sn_rotreg_rotations *rotations, int j) {
  sn_vec3 sum = {0, 0, 0}, last = {0, 0, 0};
  for (int k = 0; k < rotations->pose_count; k++) {
    const sn_mat3 *rotation = rotations->rotation + (size_t)k * (size_t)rotations->joint_count;
    last = relative_log(rotations, rotation, j, last);
    sum = sn_vec3_add(sum, last);
  }
  return sn_vec3_scale(sum, 1.0 / rotations->pose_count);
}

// Takes logarithms on the branch nearest to their mean, which the runtime can do for single poses. The reference is at
// most pi long, so that the rest pose stays at theta = 0.
static void choose_reference(sn_rotreg_rotations *rotations, int j) {
  sn_vec3 mean = mean_unwrapped(rotations, j);
  double angle = sn_vec3_length(mean);
  rotations->reference[j] = angle > SN_PI ? sn_vec3_scale(mean, SN_PI / angle) : mean;
  for (int k = 0; k < rotations->pose_count; k++) {
    size_t at = (size_t)k * (size_t)rotations->joint_count;
    rotations->theta[at + (size_t)j] = relative_log(rotations, rotations->rotation + at, j, rotations->reference[j]);
  }
}

sn_status sn_rotreg_rotations_build(sn_context *ctx, sn_arena *memory, const sn_examples *examples,
                                    const sn_keys *keys, sn_rotreg_rotations *out) {
  int joint_count = examples->skeleton.joint_count;
  size_t all = (size_t)joint_count * (size_t)keys->count;
  *out = (sn_rotreg_rotations){.joint_count = joint_count, .pose_count = keys->count};
  out->base = SN_NEW(ctx, memory, int, joint_count);
  out->reference = SN_NEW(ctx, memory, sn_vec3, joint_count);
  out->rotation = SN_NEW(ctx, memory, sn_mat3, all);
  out->theta = SN_NEW(ctx, memory, sn_vec3, all);
  if (!out->base || !out->reference || !out->rotation || !out->theta) return ctx->error.status;
  for (int j = 0; j < joint_count; j++) {
    int parent = examples->skeleton.parents[j];
    out->base[j] = parent >= 0 ? parent : examples->skeleton.order[0];
  }
  for (int k = 0; k < keys->count; k++) {
    sn_rotreg_rotations_pose(out, sn_pose(&examples->poses, keys->frames[k]),
                             out->rotation + (size_t)k * (size_t)joint_count,
                             out->theta + (size_t)k * (size_t)joint_count);
  }
  for (int j = 0; j < joint_count; j++) choose_reference(out, j);
  return SN_OK;
}
