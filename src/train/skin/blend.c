// SPDX-License-Identifier: MIT
#include "train/skin/blend.h"

// As split_matrix of src/runtime/palette.c: the joint's own stretch is about its centre, the common scale about the origin.
static joint_motion split_matrix(sn_affine a, sn_vec3 centre, double common) {
  joint_motion out;
  sn_mat3 rotation, stretch;
  sn_mat3_polar(sn_affine_linear(a), &rotation, &stretch);
  sn_vec3 kept = sn_vec3_scale(centre, common);
  out.stretch = sn_affine_make(stretch, sn_vec3_sub(kept, sn_mat3_apply(stretch, centre)));
  sn_vec3 t = sn_vec3_sub(sn_affine_apply(a, centre), sn_mat3_apply(rotation, kept));
  out.rigid = sn_dualquat_from_rigid(sn_affine_make(rotation, t));
  return out;
}

static double mean_stretch(const joint_motion *motion) {
  return sn_mat3_trace(sn_affine_linear(motion->stretch)) / 3;
}

// The scale that more than half of the joints share, else 1.
static double common_scale(const joint_motion *pose, int count) {
  const double same = 1e-4;
  for (int j = 0; j < count; j++) {
    double scale = mean_stretch(&pose[j]);
    int agree = 0;
    for (int k = 0; k < count; k++) agree += fabs(mean_stretch(&pose[k]) - scale) <= same * fabs(scale);
    if (agree > count / 2) return scale > 0 && fabs(scale - 1) > same ? scale : 1;
  }
  return 1;
}

static void split_pose(const sn_skeleton *skeleton, const sn_affine *matrices, joint_motion *pose) {
  double common = 1;
  for (int pass = 0; pass < 2 && (pass == 0 || common != 1); pass++) {
    for (int j = 0; j < skeleton->joint_count; j++) {
      pose[j] = split_matrix(matrices[j], sn_affine_translation(skeleton->rest[j]), common);
    }
    if (pass == 0) common = common_scale(pose, skeleton->joint_count);
  }
}

static bool is_stretched(sn_affine s) {
  double off = 0;
  for (int k = 0; k < 9; k++) off = fmax(off, fabs(s.m[k / 3][k % 3] - (k % 4 == 0)));
  return off > 1e-6;
}

// Every quaternion on the hemisphere of its joint's reference, as the runtime has it (src/runtime/turns.c).
static void choose_hemispheres(const sn_turn *turns, int joint_count, joint_motion *pose) {
  for (int n = 0; n < joint_count; n++) {
    sn_dualquat *own = &pose[turns[n].joint].rigid;
    sn_quat parent = turns[n].parent < 0 ? sn_quat_identity() : pose[turns[n].parent].rigid.real;
    sn_quat turn = sn_quat_mul(sn_quat_conjugate(parent), own->real);
    if (sn_quat_dot(turn, turns[n].reference) >= 0) continue;
    *own = (sn_dualquat){sn_quat_scale(own->real, -1), sn_quat_scale(own->dual, -1)};
  }
}

sn_status sn_blend_new(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                       const sn_turn *turns, sn_blend *out) {
  *out = (sn_blend){.examples = examples, .keys = keys};
  if (!turns) return SN_OK;
  int joint_count = examples->skeleton.joint_count;
  joint_motion *motions = SN_NEW(ctx, memory, joint_motion, (size_t)keys->count * (size_t)joint_count);
  if (!motions) return ctx->error.status;
  for (int k = 0; k < keys->count; k++) {
    joint_motion *pose = motions + (size_t)k * (size_t)joint_count;
    split_pose(&examples->skeleton, sn_pose(&examples->poses, keys->frames[k]), pose);
    choose_hemispheres(turns, joint_count, pose);
    for (int j = 0; j < joint_count; j++) out->stretched = out->stretched || is_stretched(pose[j].stretch);
  }
  out->motions = motions;
  return SN_OK;
}

sn_status sn_blend_for(sn_context *ctx, sn_arena *memory, const sn_examples *examples, sn_rt_blend kind,
                       const sn_keys *keys, const sn_keys *references, sn_blend *out) {
  sn_turn *turns = NULL;
  sn_status status = SN_OK;
  if (kind == SN_RT_BLEND_DUALQUAT)
    status = sn_turns_make(ctx, memory, &examples->skeleton, &examples->poses, references, &turns);
  return status == SN_OK ? sn_blend_new(ctx, memory, examples, keys, turns, out) : status;
}

static sn_vec3 linear_residual(const sn_affine *pose, sn_vec3 rest, sn_vec3 target, const uint16_t *joints,
                               const double *weights, int count, sn_vec3 *columns) {
  sn_vec3 sum = {0, 0, 0};
  for (int k = 0; k < count; k++) {
    sn_vec3 off = sn_vec3_sub(sn_affine_apply(pose[joints[k]], rest), target);
    sum = sn_vec3_mad(sum, off, weights[k]);
    if (columns) columns[k] = off;
  }
  return sum;
}

// The vector part of a b.
static sn_vec3 product(sn_quat a, sn_quat b) {
  return (sn_vec3){a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y, a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                   a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
}

// Murtagh 2008, section 2.4: blend, then normalise. With r and d the blended real and dual parts and x the stretched rest
// position, the place is N / |r|^2, N = r x r^* + 2 d r^*; each column is the derivative of that. Without stretch r x r^* changes
// by the weights through r alone.
static sn_vec3 dual_residual(const joint_motion *pose, sn_vec3 rest, sn_vec3 target, const uint16_t *joints,
                             const double *weights, int count, bool stretched, sn_vec3 *columns) {
  sn_quat r = {0, 0, 0, 0}, d = {0, 0, 0, 0};
  sn_vec3 x = stretched ? (sn_vec3){0, 0, 0} : rest;
  for (int k = 0; k < count; k++) {
    const joint_motion *motion = &pose[joints[k]];
    r = sn_quat_add(r, sn_quat_scale(motion->rigid.real, weights[k]));
    d = sn_quat_add(d, sn_quat_scale(motion->rigid.dual, weights[k]));
    if (stretched) x = sn_vec3_mad(x, sn_affine_apply(motion->stretch, rest), weights[k]);
  }
  double size = fmax(sn_quat_dot(r, r), 1e-30);
  sn_quat back = sn_quat_conjugate(r), turned = sn_quat_mul((sn_quat){x.x, x.y, x.z, 0}, back); // x r^*
  sn_vec3 place = sn_vec3_scale(sn_vec3_mad(product(r, turned), product(d, back), 2), 1 / size);
  for (int k = 0; columns && k < count; k++) {
    const joint_motion *motion = &pose[joints[k]];
    sn_quat real = motion->rigid.real;
    // r_k x r^* + r x r_k^*: the second is the conjugate of minus the first, so its vector part is the same.
    sn_vec3 change = sn_vec3_add(product(real, turned), product(motion->rigid.dual, back));
    change = sn_vec3_add(change, product(d, sn_quat_conjugate(real)));
    if (stretched) {
      sn_vec3 own = sn_affine_apply(motion->stretch, rest);
      change = sn_vec3_mad(change, product(r, sn_quat_mul((sn_quat){own.x, own.y, own.z, 0}, back)), 0.5);
    }
    columns[k] = sn_vec3_scale(sn_vec3_mad(change, place, -sn_quat_dot(r, real)), 2 / size);
  }
  return sn_vec3_sub(place, target);
}

sn_vec3 sn_blend_residual(const sn_blend *blend, int k, int i, const uint16_t *joints, const double *weights,
                          int count, sn_vec3 *columns) {
  const sn_examples *examples = blend->examples;
  int f = blend->keys->frames[k];
  sn_vec3 rest = sn_vec3_from(examples->rest.positions[i]);
  sn_vec3 target = sn_vec3_from(sn_frame(&examples->frames, f)[i]);
  if (!blend->motions) {
    return linear_residual(sn_pose(&examples->poses, f), rest, target, joints, weights, count, columns);
  }
  const joint_motion *pose = blend->motions + (size_t)k * (size_t)examples->skeleton.joint_count;
  return dual_residual(pose, rest, target, joints, weights, count, blend->stretched, columns);
}

sn_status sn_blend_error(sn_context *ctx, const sn_blend *blend, const sn_skin *skin, double *out) {
  sn_arena scratch = sn_arena_new(ctx);
  double *weights = SN_NEW(ctx, &scratch, double, skin->influences);
  *out = 0;
  for (int i = 0; weights && i < skin->vertex_count; i++) {
    size_t row = (size_t)i * (size_t)skin->influences;
    int count = sn_skin_row_influences(skin, i);
    for (int k = 0; k < count; k++) weights[k] = (double)skin->weights[row + (size_t)k];
    for (int k = 0; k < blend->keys->count; k++) {
      sn_vec3 residual = sn_blend_residual(blend, k, i, skin->joints + row, weights, count, NULL);
      *out += sn_vec3_dot(residual, residual);
    }
  }
  sn_arena_free(&scratch);
  return weights ? SN_OK : ctx->error.status;
}
