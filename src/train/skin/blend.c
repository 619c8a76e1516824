// SPDX-License-Identifier: MIT
// Linear and dual-quaternion blends of one vertex, and their derivatives by the weights.
#include "train/skin/blend.h"

// Reads the runtime's palette at every key.
static sn_status read_motions(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples,
                              const sn_keys *keys, joint_motion *out) {
  sn_arena scratch = sn_arena_new(ctx);
  sn_model_input input;
  sn_status status = sn_model_input_new(ctx, model, examples, &scratch, &input);
  void *values = status == SN_OK ? sn_arena_alloc(ctx, &scratch, sn_model_input_size(model), 1) : NULL;
  void *palette = sn_arena_alloc(ctx, &scratch, sn_rt_scratch_size(model), 1);
  if (status == SN_OK && (!values || !palette)) status = ctx->error.status;
  for (int k = 0; status == SN_OK && k < keys->count; k++) {
    sn_rt_input frame = sn_model_input_at(&input, keys->frames[k], values);
    sn_rt_palette(model, &frame, palette, NULL);
    for (uint32_t j = 0; j < model->info.joint_count; j++, out++) {
      float q[8], stretch[12];
      sn_rt_palette_split(model, palette, j, q, stretch);
      out->rigid = (sn_dualquat){{q[0], q[1], q[2], q[3]}, {q[4], q[5], q[6], q[7]}};
      for (int n = 0; n < 12; n++) out->stretch.m[n / 4][n % 4] = (double)stretch[n];
    }
  }
  sn_arena_free(&scratch);
  return status;
}

sn_status sn_blend_make(sn_context *ctx, sn_arena *memory, sn_rt_blend kind, const sn_keys *references,
                        sn_blend *out) {
  if (kind == SN_RT_BLEND_LINEAR) return SN_OK;
  sn_examples poses = *out->examples; // each for itself: signs by the references, not by the frame before
  poses.motion = false;
  sn_plan plan = sn_plan_new(ctx, &poses);
  sn_model model = {0};
  sn_rt_model opened;
  joint_motion *motions =
    SN_NEW(ctx, memory, joint_motion, (size_t)out->keys->count * (size_t)poses.skeleton.joint_count);
  sn_status status = motions ? sn_plan_reference_joints(ctx, &plan, &poses, references) : ctx->error.status;
  plan.desc.blend = SN_RT_BLEND_DUALQUAT;
  if (status == SN_OK) status = sn_plan_palette_model(ctx, &plan, &model, &opened);
  if (status == SN_OK) status = read_motions(ctx, &opened, &poses, out->keys, motions);
  out->motions = motions;
  sn_model_free(&model);
  sn_plan_free(&plan);
  return status;
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

static sn_vec3 vector_part(sn_quat q) { return (sn_vec3){q.x, q.y, q.z}; }

// The position under dual quaternions with weights w is N / |r|^2, N = r x r^* + 2 d r^*, with r and d the blended real and dual
// parts and x the stretched rest position (Murtagh 2008, section 2.4). In its derivative by w_k the vector parts of r_k x r^* and
// r x r_k^* are equal, and d r_k^* has that of -r_k d^*.
static sn_vec3 dual_residual(const joint_motion *pose, sn_vec3 rest, sn_vec3 target, const sn_blend_row *row,
                             sn_vec3 *columns) {
  sn_quat r = {0, 0, 0, 0}, d = {0, 0, 0, 0};
  sn_vec3 x = {0, 0, 0};
  for (int k = 0; k < row->count; k++) {
    if (row->weights[k] == 0) continue;
    const joint_motion *motion = &pose[row->joints[k]];
    r = sn_quat_add(r, sn_quat_scale(motion->rigid.real, row->weights[k]));
    d = sn_quat_add(d, sn_quat_scale(motion->rigid.dual, row->weights[k]));
    x = sn_vec3_mad(x, sn_affine_apply(motion->stretch, rest), row->weights[k]);
  }
  double size = fmax(sn_quat_dot(r, r), 1e-30);
  sn_quat back = sn_quat_conjugate(r), xr = sn_quat_mul((sn_quat){x.x, x.y, x.z, 0}, back);
  sn_vec3 place = vector_part(sn_quat_add(sn_quat_mul(r, xr), sn_quat_scale(sn_quat_mul(d, back), 2)));
  place = sn_vec3_scale(place, 1 / size);
  sn_mat3 turn = columns ? sn_quat_to_mat3(r) : sn_mat3_identity();
  sn_quat right = sn_quat_add(xr, sn_quat_scale(sn_quat_conjugate(d), -1));
  for (int k = 0; columns && k < row->count; k++) {
    const joint_motion *motion = &pose[row->joints[k]];
    sn_quat real = motion->rigid.real;
    sn_vec3 sum = vector_part(sn_quat_add(sn_quat_mul(real, right), sn_quat_mul(motion->rigid.dual, back)));
    sn_vec3 by_x = sn_mat3_apply(turn, sn_affine_apply(motion->stretch, rest));
    columns[k] = sn_vec3_mad(by_x, sn_vec3_mad(sum, place, -sn_quat_dot(r, real)), 2 / size);
  }
  return sn_vec3_sub(place, target);
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
  return dual_residual(pose, rest, target, row, columns);
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
