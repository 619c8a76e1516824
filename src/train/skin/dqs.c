// SPDX-License-Identifier: MIT
// `dqs`: dual-quaternion skinning (Murtagh 2008). Weights given, those of lbs, or refined for the dual-quaternion blend
// by Gauss-Newton steps on the simplex.
#include "train/correct/pose_space.h"
#include "train/skin/prior.h"
#include "train/train.h"

static const double free_strength = 1e-9; // decides only what the frames leave open

static sn_status expect(sn_context *ctx, const sn_examples *examples, const sn_keys *keys, const sn_turn *turns,
                        const sn_skin *skin, double *expected) {
  sn_arena scratch = sn_arena_new(ctx);
  sn_blend blend;
  sn_status status = sn_blend_new(ctx, &scratch, examples, keys, turns, &blend);
  if (status == SN_OK) sn_prior_expected(&blend, skin, expected);
  sn_arena_free(&scratch);
  return status;
}

// Weights for the dual-quaternion blend, from those of `skin`: near the prior where there is one, on the joints of `skin`
// itself where there is none.
static sn_status refine(sn_context *ctx, const sn_skin_options *o, const sn_examples *examples, const sn_keys *keys,
                        const sn_turn *turns, sn_skin *skin, double *expected) {
  sn_arena scratch = sn_arena_new(ctx);
  sn_skin fitted;
  sn_blend blend;
  sn_prior_options options = {.influences = o->influences, .strength = sn_skin_prior_strength(o, examples)};
  sn_status status = sn_blend_new(ctx, &scratch, examples, keys, turns, &blend);
  if (status == SN_OK) {
    const sn_skin *prior = sn_skin_prior(o, examples);
    if (!prior) options.strength = free_strength;
    status = sn_prior_fit(ctx, &blend, prior ? prior : skin, &options, &fitted, expected);
  }
  if (status == SN_OK) {
    sn_skin_free(skin);
    *skin = fitted;
  }
  sn_arena_free(&scratch);
  return status;
}

sn_status sn_dqs_train(sn_context *ctx, const sn_skin_options *o, const sn_examples *examples, const sn_keys *keys,
                       sn_model *out, double *expected) {
  sn_skin skin = {0};
  sn_arena scratch = sn_arena_new(ctx);
  sn_turn *turns;
  void *references = NULL;
  size_t size = 0;
  int joint_count = examples->skeleton.joint_count;
  sn_status status = sn_train_skin(ctx, o, examples, &examples->poses, keys, &skin, expected);
  if (status == SN_OK) status = sn_turns_make(ctx, &scratch, &examples->skeleton, &examples->poses, keys, &turns);
  if (status == SN_OK) status = sn_turns_section(ctx, &scratch, turns, joint_count, &references, &size);
  if (status == SN_OK && o->weights == SN_WEIGHTS_FIT)
    status = refine(ctx, o, examples, keys, turns, &skin, expected);
  if (o->weights == SN_WEIGHTS_LBS) *expected = 0; // that of a linear blend
  if (status == SN_OK && sn_skin_needs_no_frames(o)) status = expect(ctx, examples, keys, turns, &skin, expected);
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
  return sn_dqs_train(ctx, options, examples, keys, out, &report->expected);
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
