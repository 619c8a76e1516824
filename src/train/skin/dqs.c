// SPDX-License-Identifier: MIT
// `dqs`: dual-quaternion skinning (Murtagh 2008); `cor`: skinning about optimised centres of rotation (Le and Hodgins 2016).
// Weights are the file's, those of lbs, or fitted: for dual quaternions by their blend, for `cor` as in linear blending.
#include "train/pose_space.h"
#include "train/skin/base.h"
#include "train/skin/centres.h"

sn_status sn_dqs_train(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                       sn_plan *plan, sn_train_report *report) {
  const sn_skin_options *o = options;
  bool linear = o->weights == SN_WEIGHTS_LBS; // its cross-validated error is not that of this blend
  const sn_skin_task task = {o, examples, linear ? SN_RT_BLEND_LINEAR : SN_RT_BLEND_DUALQUAT, keys};
  plan->desc.blend = SN_RT_BLEND_DUALQUAT;
  sn_status status = sn_train_skin(ctx, &task, &plan->skin);
  if (status == SN_OK) status = sn_skin_validate(ctx, &task, &plan->skin, NULL, linear ? NULL : report);
  return status == SN_OK ? sn_plan_reference_joints(ctx, plan, examples, keys) : status;
}

sn_status sn_cor_train(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                       sn_plan *plan, sn_train_report *report) {
  float(*centres)[3] = sn_arena_alloc(ctx, &plan->memory, (size_t)examples->rest.vertex_count, sizeof *centres);
  if (!centres) return ctx->error.status;
  const sn_skin_task task = {options, examples, SN_RT_BLEND_CENTRES, keys};
  plan->desc.blend = SN_RT_BLEND_CENTRES, plan->desc.centres = (const float(*)[3])centres;
  sn_status status = sn_train_skin(ctx, &task, &plan->skin);
  if (status != SN_OK) return status;
  sn_skin_normalize(&plan->skin);
  status = sn_centres(ctx, &examples->rest, &plan->skin, centres);
  if (status == SN_OK) status = sn_skin_validate(ctx, &task, &plan->skin, plan->desc.centres, report);
  return status == SN_OK ? sn_plan_reference_joints(ctx, plan, examples, keys) : status;
}

static const sn_option_group groups[] = {{sn_skin_option_table, 0}, SN_METHOD_COMMON, {0}};

const sn_method sn_method_dqs = {
  .name = "dqs",
  .summary = "dual-quaternion skinning (Murtagh 2008)",
  .options = groups,
  .needs_skeleton = true,
  .wants_skin = true,
  .needs_no_frames = sn_skin_needs_no_frames,
  .train = sn_dqs_train,
};

const sn_method sn_method_cor = {
  .name = "cor",
  .summary = "skinning about optimised centres of rotation (Le and Hodgins 2016)",
  .options = groups,
  .needs_skeleton = true,
  .wants_skin = true,
  .needs_no_frames = sn_skin_needs_no_frames,
  .train = sn_cor_train,
};
