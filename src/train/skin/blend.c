// SPDX-License-Identifier: MIT
// Linear and dual-quaternion blends of one vertex, and their derivatives by the weights.
#include "train/skin/blend.h"

#include <string.h>

// Like split_matrix of src/runtime/palette.c: the joint's stretch is about its centre, the common scale about the origin.
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

// The scale of more than half of the joints, else 1.
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

// Puts every quaternion on the hemisphere of its joint's reference, like the runtime (src/runtime/local_rotations.c).
static void choose_hemispheres(const sn_turn *turns, int joint_count, joint_motion *pose) {
  for (int n = 0; n < joint_count; n++) {
    sn_dualquat *own = &pose[turns[n].joint].rigid;
    sn_quat parent = turns[n].parent < 0 ? sn_quat_identity() : pose[turns[n].parent].rigid.real;
    sn_quat turn = sn_quat_mul(sn_quat_conjugate(parent), own->real);
    if (sn_quat_dot(turn, turns[n].reference) >= 0) continue;
    *own = (sn_dualquat){sn_quat_scale(own->real, -1), sn_quat_scale(own->dual, -1)};
  }
}

sn_status sn_blend_make(sn_context *ctx, sn_arena *memory, sn_rt_blend kind, const sn_keys *references,
                        sn_blend *out) {
  const sn_examples *examples = out->examples;
  const sn_keys *keys = out->keys;
  int joint_count = examples->skeleton.joint_count;
  sn_turn *turns = NULL;
  if (kind == SN_RT_BLEND_LINEAR) return SN_OK;
  sn_status status = sn_turns_make(ctx, memory, examples, references, &turns);
  if (status != SN_OK) return status;
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

static sn_vec3 linear_residual(const sn_affine *pose, sn_vec3 rest, sn_vec3 target, const sn_blend_row *row,
                               sn_vec3 *columns) {
  sn_vec3 sum = {0, 0, 0};
  for (int k = 0; k < row->count; k++) {
    sn_vec3 off = sn_vec3_sub(sn_affine_apply(pose[row->joints[k]], rest), target);
    sum = sn_vec3_mad(sum, off, row->weights[k]);
    if (columns) columns[k] = off;
  }
  return sum;
}

// The position of a point under dual quaternions with weights w: N / |r|^2, N = r x r^* + 2 d r^*, with r and d the
// blended real and dual parts and x the stretched rest position (Murtagh 2008, section 2.4). Its derivative by w_k is
// linear in the real and dual parts of joint k.
typedef struct dual_place {
  sn_vec3 place;
  double by_real[3][4], by_dual[3][4]; // derivatives by r and d; columns are (x, y, z, w)
} dual_place;

// The matrix of q -> the vector part of q b.
static void times_right(sn_quat b, double m[3][4]) {
  const double rows[3][4] = {{b.w, b.z, -b.y, b.x}, {-b.z, b.w, b.x, b.y}, {b.y, -b.x, b.w, b.z}};
  memcpy(m, rows, sizeof rows);
}

static dual_place place_dual(sn_quat r, sn_quat d, sn_vec3 x, bool wants_derivatives) {
  dual_place out = {0};
  double size = fmax(sn_quat_dot(r, r), 1e-30), turned[3][4], dual[3][4];
  sn_quat back = sn_quat_conjugate(r);
  times_right(sn_quat_mul((sn_quat){x.x, x.y, x.z, 0}, back), turned); // q -> q x r^*
  times_right(back, out.by_dual);
  const double rs[4] = {r.x, r.y, r.z, r.w}, ds[4] = {d.x, d.y, d.z, d.w};
  double place[3] = {0, 0, 0};
  for (int c = 0; c < 3; c++) {
    for (int e = 0; e < 4; e++) place[c] += turned[c][e] * rs[e] + 2 * out.by_dual[c][e] * ds[e];
    place[c] /= size;
  }
  out.place = (sn_vec3){place[0], place[1], place[2]};
  if (!wants_derivatives) return out;
  // The vector part of d q^* is minus that of q d^*, and that of r x q^* equals that of q x r^*.
  times_right(sn_quat_conjugate(d), dual);
  for (int c = 0; c < 3; c++)
    for (int e = 0; e < 4; e++) {
      out.by_real[c][e] = 2 / size * (turned[c][e] - dual[c][e] - place[c] * rs[e]);
      out.by_dual[c][e] *= 2 / size;
    }
  return out;
}

static sn_vec3 dual_residual(const joint_motion *pose, sn_vec3 rest, sn_vec3 target, const sn_blend_row *row,
                             bool stretched, sn_vec3 *columns) {
  const uint16_t *joints = row->joints;
  const double *weights = row->weights;
  sn_quat r = {0, 0, 0, 0}, d = {0, 0, 0, 0};
  sn_vec3 x = stretched ? (sn_vec3){0, 0, 0} : rest;
  for (int k = 0; k < row->count; k++) {
    if (weights[k] == 0) continue;
    const joint_motion *motion = &pose[joints[k]];
    r = sn_quat_add(r, sn_quat_scale(motion->rigid.real, weights[k]));
    d = sn_quat_add(d, sn_quat_scale(motion->rigid.dual, weights[k]));
    if (stretched) x = sn_vec3_mad(x, sn_affine_apply(motion->stretch, rest), weights[k]);
  }
  dual_place at = place_dual(r, d, x, columns != NULL);
  sn_mat3 turn = stretched && columns ? sn_quat_to_mat3(r) : sn_mat3_identity(); // the derivative by x
  for (int k = 0; columns && k < row->count; k++) {
    const joint_motion *motion = &pose[joints[k]];
    const double real[4] = {motion->rigid.real.x, motion->rigid.real.y, motion->rigid.real.z, motion->rigid.real.w};
    const double dual[4] = {motion->rigid.dual.x, motion->rigid.dual.y, motion->rigid.dual.z, motion->rigid.dual.w};
    double sum[3] = {0, 0, 0};
    for (int c = 0; c < 3; c++)
      for (int e = 0; e < 4; e++) sum[c] += at.by_real[c][e] * real[e] + at.by_dual[c][e] * dual[e];
    columns[k] = (sn_vec3){sum[0], sum[1], sum[2]};
    if (stretched) columns[k] = sn_vec3_add(columns[k], sn_mat3_apply(turn, sn_affine_apply(motion->stretch, rest)));
  }
  return sn_vec3_sub(at.place, target);
}

// Rotation about a centre that linear blending moves (Le and Hodgins 2016).
static sn_vec3 centre_residual(const sn_blend *blend, int k, int i, const sn_blend_row *row) {
  const sn_examples *examples = blend->examples;
  int f = blend->keys->frames[k];
  const sn_affine *pose = sn_pose(&examples->poses, f);
  const joint_motion *motions = blend->motions + (size_t)k * (size_t)examples->skeleton.joint_count;
  sn_vec3 centre = sn_vec3_from(blend->centres[i]), place = {0, 0, 0}, stretched = {0, 0, 0};
  sn_vec3 arm = sn_vec3_sub(sn_vec3_from(examples->rest.positions[i]), centre);
  sn_quat r = {0, 0, 0, 0};
  for (int n = 0; n < row->count; n++) {
    double w = row->weights[n];
    const joint_motion *motion = &motions[row->joints[n]];
    r = sn_quat_add(r, sn_quat_scale(motion->rigid.real, w));
    place = sn_vec3_mad(place, sn_affine_apply(pose[row->joints[n]], centre), w);
    stretched = sn_vec3_mad(stretched, sn_mat3_apply(sn_affine_linear(motion->stretch), arm), w);
  }
  place = sn_vec3_add(place, sn_mat3_apply(sn_quat_to_mat3(r), stretched));
  return sn_vec3_sub(place, sn_vec3_from(sn_frame(&examples->frames, f)[i]));
}

sn_vec3 sn_blend_residual(const sn_blend *blend, int k, int i, const sn_blend_row *row, sn_vec3 *columns) {
  if (blend->centres) return centre_residual(blend, k, i, row);
  const sn_examples *examples = blend->examples;
  int f = blend->keys->frames[k];
  sn_vec3 rest = sn_vec3_from(examples->rest.positions[i]);
  sn_vec3 target = sn_vec3_from(sn_frame(&examples->frames, f)[i]);
  if (!blend->motions) return linear_residual(sn_pose(&examples->poses, f), rest, target, row, columns);
  const joint_motion *pose = blend->motions + (size_t)k * (size_t)examples->skeleton.joint_count;
  return dual_residual(pose, rest, target, row, blend->stretched, columns);
}

sn_status sn_blend_error(sn_context *ctx, const sn_blend *blend, const sn_skin *skin, double *out) {
  sn_arena scratch = sn_arena_new(ctx);
  double *weights = SN_NEW(ctx, &scratch, double, skin->influences);
  *out = 0;
  for (int i = 0; weights && i < skin->vertex_count; i++) {
    size_t at = (size_t)i * (size_t)skin->influences;
    const sn_blend_row row = {sn_skin_row_influences(skin, i), skin->joints + at, weights};
    for (int k = 0; k < row.count; k++) weights[k] = (double)skin->weights[at + (size_t)k];
    for (int k = 0; k < blend->keys->count; k++) {
      sn_vec3 residual = sn_blend_residual(blend, k, i, &row, NULL);
      *out += sn_vec3_dot(residual, residual);
    }
  }
  sn_arena_free(&scratch);
  return weights ? SN_OK : ctx->error.status;
}
