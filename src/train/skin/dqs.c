// SPDX-License-Identifier: MIT
// `dqs`: dual-quaternion skinning (Murtagh 2008); `cor`: skinning about optimised centres of rotation (Le and Hodgins 2016).
// Weights given, those of lbs, or fitted: for the dual-quaternion blend, or, about centres, as for linear blending.
#include "train/pose_space.h"
#include "train/skin/centres.h"
#include "train/train.h"

// A blend of rigid motions needs the joints' references, to choose the signs of quaternions.
static sn_status build(sn_context *ctx, const sn_skin_task *task, sn_skin *skin, sn_model *out) {
  const sn_examples *examples = task->examples;
  sn_arena scratch = sn_arena_new(ctx);
  sn_turn *turns;
  void *references = NULL;
  size_t size = 0;
  float(*centres)[3] = NULL;
  sn_status status = SN_OK;
  if (task->blend == SN_RT_BLEND_CENTRES) {
    centres = sn_arena_alloc(ctx, &scratch, (size_t)examples->rest.vertex_count, sizeof *centres);
    sn_skin_normalize(skin);
    status = centres ? sn_centres(ctx, &examples->rest, skin, centres) : ctx->error.status;
  }
  if (status == SN_OK) status = sn_turns_make(ctx, &scratch, examples, task->keys, &turns);
  if (status == SN_OK)
    status = sn_turns_section(ctx, &scratch, turns, examples->skeleton.joint_count, &references, &size);
  if (status == SN_OK) {
    sn_model_desc desc = sn_model_desc_default();
    desc.rest = &examples->rest, desc.skeleton = &examples->skeleton, desc.skin = skin;
    desc.blend = task->blend, desc.centres = (const float(*)[3])centres;
    sn_model_section section = {"joint.reference", references, size, true};
    desc.sections = &section, desc.section_count = 1;
    status = sn_train_build(ctx, examples, desc, out);
  }
  sn_arena_free(&scratch);
  return status;
}

static sn_status train(sn_context *ctx, const sn_skin_task *task, sn_model *out, sn_train_report *report) {
  sn_skin skin = {0};
  bool linear = task->blend == SN_RT_BLEND_DUALQUAT && task->options->weights == SN_WEIGHTS_LBS;
  sn_skin_task fitted = *task;
  if (linear) fitted.blend = SN_RT_BLEND_LINEAR; // whose score is not that of this blend
  sn_status status = sn_train_skin(ctx, &fitted, &skin, linear ? NULL : report);
  if (status == SN_OK) status = build(ctx, task, &skin, out);
  sn_skin_free(&skin);
  return status;
}

sn_status sn_dqs_train(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                       sn_model *out, sn_train_report *report) {
  return train(ctx, &(sn_skin_task){options, examples, SN_RT_BLEND_DUALQUAT, keys}, out, report);
}

sn_status sn_cor_train(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                       sn_model *out, sn_train_report *report) {
  return train(ctx, &(sn_skin_task){options, examples, SN_RT_BLEND_CENTRES, keys}, out, report);
}

static const sn_option_group groups[] = {{sn_skin_option_table, 0}, SN_METHOD_COMMON, {0}};

const sn_method sn_method_dqs = {
  .name = "dqs",
  .summary = "dual-quaternion skinning (Murtagh 2008)",
  .options = groups,
  .needs_skeleton = true,
  .wants_skin = true,
  .needs_no_frames = sn_skin_needs_no_frames,
  .vertex_bytes = SN_SKIN_BYTES,
  .train = sn_dqs_train,
};

const sn_method sn_method_cor = {
  .name = "cor",
  .summary = "skinning about optimised centres of rotation (Le and Hodgins 2016)",
  .options = groups,
  .needs_skeleton = true,
  .wants_skin = true,
  .needs_no_frames = sn_skin_needs_no_frames,
  .vertex_bytes = 250,
  .train = sn_cor_train,
};
