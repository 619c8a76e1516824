// SPDX-License-Identifier: MIT
// `dqs`: dual-quaternion skinning (Murtagh 2008). Weights given, those of lbs, or fitted for the dual-quaternion blend.
#include "train/pose_space.h"
#include "train/train.h"

sn_status sn_dqs_train(sn_context *ctx, const sn_skin_options *o, const sn_examples *examples, const sn_keys *keys,
                       sn_model *out, sn_train_report *report) {
  sn_skin skin = {0};
  sn_arena scratch = sn_arena_new(ctx);
  sn_turn *turns;
  void *references = NULL;
  size_t size = 0;
  int joint_count = examples->skeleton.joint_count;
  bool linear = o->weights == SN_WEIGHTS_LBS; // whose score is not that of this blend
  const sn_skin_task task = {o, examples, linear ? SN_RT_BLEND_LINEAR : SN_RT_BLEND_DUALQUAT, keys};
  sn_status status = sn_train_skin(ctx, &task, &skin, linear ? NULL : report);
  if (status == SN_OK) status = sn_turns_make(ctx, &scratch, &examples->skeleton, &examples->poses, keys, &turns);
  if (status == SN_OK) status = sn_turns_section(ctx, &scratch, turns, joint_count, &references, &size);
  if (status == SN_OK) {
    sn_model_desc desc = sn_model_desc_default();
    desc.rest = &examples->rest, desc.skeleton = &examples->skeleton, desc.skin = &skin;
    desc.blend = SN_RT_BLEND_DUALQUAT;
    sn_model_section section = {"joint.reference", references, size, true};
    desc.sections = &section, desc.section_count = 1;
    status = sn_train_build(ctx, examples, desc, out);
  }
  sn_skin_free(&skin);
  sn_arena_free(&scratch);
  return status;
}

static sn_status train(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                       sn_model *out, sn_train_report *report) {
  return sn_dqs_train(ctx, options, examples, keys, out, report);
}

static const sn_option_group groups[] = {{sn_skin_option_table, 0}, SN_METHOD_COMMON, {0}};

const sn_method sn_method_dqs = {
  .name = "dqs",
  .summary = "dual-quaternion skinning (Murtagh 2008)",
  .options = groups,
  .needs_skeleton = true,
  .wants_skin = true,
  .needs_no_frames = sn_skin_needs_no_frames,
  .vertex_bytes = 170,
  .train = train,
};
