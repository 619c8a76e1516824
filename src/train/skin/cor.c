// SPDX-License-Identifier: MIT
// `cor`: skinning about optimised centres of rotation (Le and Hodgins 2016). Weights given, or those of lbs.
#include "train/pose_space.h"
#include "train/skin/centres.h"
#include "train/train.h"

static sn_status build(sn_context *ctx, const sn_examples *examples, const sn_keys *keys, sn_skin *skin,
                       sn_model *out) {
  sn_arena scratch = sn_arena_new(ctx);
  sn_turn *turns;
  void *references = NULL;
  size_t size = 0;
  float(*centres)[3] = sn_arena_alloc(ctx, &scratch, (size_t)examples->rest.vertex_count, sizeof *centres);
  sn_status status = centres ? SN_OK : ctx->error.status;
  sn_skin_normalize(skin);
  if (status == SN_OK) status = sn_centres(ctx, &examples->rest, skin, centres);
  if (status == SN_OK) status = sn_turns_make(ctx, &scratch, &examples->skeleton, &examples->poses, keys, &turns);
  if (status == SN_OK)
    status = sn_turns_section(ctx, &scratch, turns, examples->skeleton.joint_count, &references, &size);
  if (status == SN_OK) {
    sn_model_desc desc = sn_model_desc_default();
    desc.rest = &examples->rest, desc.skeleton = &examples->skeleton, desc.skin = skin;
    desc.blend = SN_RT_BLEND_CENTRES, desc.centres = (const float(*)[3])centres;
    sn_model_section section = {"joint.reference", references, size, true};
    desc.sections = &section, desc.section_count = 1;
    status = sn_train_build(ctx, examples, desc, out);
  }
  sn_arena_free(&scratch);
  return status;
}

sn_status sn_cor_train(sn_context *ctx, const sn_skin_options *options, const sn_examples *examples,
                       const sn_keys *keys, sn_model *out, sn_train_report *report) {
  sn_skin skin = {0};
  const sn_skin_task task = {options, examples, SN_RT_BLEND_CENTRES, keys};
  sn_status status = sn_train_skin(ctx, &task, &skin, report);
  if (status == SN_OK) status = build(ctx, examples, keys, &skin, out);
  sn_skin_free(&skin);
  return status;
}

static sn_status train(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                       sn_model *out, sn_train_report *report) {
  return sn_cor_train(ctx, options, examples, keys, out, report);
}

static const sn_option_group groups[] = {{sn_skin_option_table, 0}, SN_METHOD_COMMON, {0}};

const sn_method sn_method_cor = {
  .name = "cor",
  .summary = "skinning about optimised centres of rotation (Le and Hodgins 2016)",
  .options = groups,
  .needs_skeleton = true,
  .wants_skin = true,
  .needs_no_frames = sn_skin_needs_no_frames,
  .vertex_bytes = 250,
  .train = train,
};
