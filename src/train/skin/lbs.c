// SPDX-License-Identifier: MIT
// `lbs`: linear blend skinning (SSD) with weights by non-negative least squares, optionally on the half-way and scaling
// joints of Mohr and Gleicher 2003; `rigid`: every vertex follows one joint, the best over the training frames.
#include "train/skin/base.h"

#include "train/skin/halfway.h"

const sn_option sn_skin_option_table[] = {
  {"influences", SN_OPTION_INT, offsetof(sn_skin_options, influences), "4", 1, 8, NULL, SN_OPTION_COMMON,
   "most joints of a vertex"},
  {"weights", SN_OPTION_CHOICE, offsetof(sn_skin_options, weights), "fit", 0, 0, "fit|given|lbs|skeleton",
   SN_OPTION_COMMON,
   "fitted to the frames, those of the skeleton file, those of lbs, or from the skeleton and the surface (bone "
   "heat)"},
  {"smooth", SN_OPTION_REAL, offsetof(sn_skin_options, rho), "0", 0, 1e6, NULL, SN_OPTION_ADVANCED,
   "smoothness of the weights (rho of Kim 2010; 0.01 there)"},
  {0},
};

bool sn_skin_needs_no_frames(const void *options) {
  const sn_skin_options *o = options;
  return o->weights == SN_WEIGHTS_GIVEN || o->weights == SN_WEIGHTS_SKELETON;
}

sn_status sn_lbs_train(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                       sn_plan *plan, sn_train_report *report) {
  const sn_skin_task task = {options, examples, SN_RT_BLEND_LINEAR, keys};
  sn_status status = sn_train_skin(ctx, &task, &plan->skin);
  return status == SN_OK ? sn_skin_validate(ctx, &task, &plan->skin, NULL, report) : status;
}

// Extra joints have no prior weights, so their weights are fitted freely.
static sn_status train_halfway(sn_context *ctx, const sn_skin_options *o, const sn_examples *examples,
                               const sn_keys *keys, sn_plan *plan) {
  sn_poses palette = {0};
  sn_status status = sn_halfway_palette(ctx, examples, plan, &palette);
  if (status == SN_OK) status = sn_free_weights(ctx, o, examples, &palette, keys, &plan->skin);
  sn_poses_free(&palette);
  return status;
}

static sn_status train(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                       sn_plan *plan, sn_train_report *report) {
  const sn_lbs_options *o = options;
  bool halfway = o->extra == SN_EXTRA_JOINTS_HALFWAY;
  if (halfway && sn_skin_needs_no_frames(&o->skin)) {
    return sn_fail(ctx, SN_BAD_INPUT,
                   "extra joints need fitted weights; leave out weights=given and weights=skeleton");
  }
  return halfway ? train_halfway(ctx, &o->skin, examples, keys, plan)
                 : sn_lbs_train(ctx, &o->skin, examples, keys, plan, report);
}

static const sn_option own[] = {
  {"extra", SN_OPTION_CHOICE, offsetof(sn_lbs_options, extra), "none", 0, 0, "none|halfway", SN_OPTION_COMMON,
   "half-way and scaling joints (Mohr and Gleicher 2003)"},
  {0},
};
static const sn_option_group groups[] = {
  {sn_skin_option_table, offsetof(sn_lbs_options, skin)}, {own, 0}, SN_METHOD_COMMON, {0}};

const sn_method sn_method_lbs = {
  .name = "lbs",
  .summary = "linear blend skinning, weights by non-negative least squares",
  .options = groups,
  .needs_skeleton = true,
  .wants_skin = true,
  .needs_no_frames = sn_skin_needs_no_frames,
  .train = train,
};

static sn_status train_rigid(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                             sn_plan *plan, sn_train_report *report) {
  (void)options, (void)report;
  return sn_rigid_skin(ctx, examples, keys, &plan->skin);
}

static const sn_option_group no_options[] = {SN_METHOD_COMMON, {0}};

const sn_method sn_method_rigid = {
  .name = "rigid",
  .summary = "one joint per vertex: the baseline of the enveloping error",
  .options = no_options,
  .needs_skeleton = true,
  .train = train_rigid,
};
