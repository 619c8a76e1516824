// SPDX-License-Identifier: MIT
// `lbs`: linear blend skinning (SSD) with weights by non-negative least squares, optionally on the half-way and scaling
// joints of Mohr and Gleicher 2003; `rigid`: every vertex follows one joint, the best over the training frames.
#include "train/skin/base.h"

#include "train/skin/halfway.h"
#include "train/skin/heat.h"

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

// Larger meshes get no bone heat: it would take longer than fitting their weights.
enum { most_made = 200000, made_influences = 4 };

sn_status sn_skin_make(sn_context *ctx, sn_examples *examples) {
  if (examples->made.influences > 0 || examples->skeleton.joint_count < 2) return SN_OK;
  if (examples->rest.triangle_count == 0 || examples->rest.vertex_count > most_made) return SN_OK;
  sn_status status = sn_heat_skin(ctx, &examples->rest, &examples->skeleton, made_influences, &examples->made);
  if (status == SN_NO_MEMORY || status == SN_STOPPED) return status;
  if (status != SN_OK) {
    ctx->error = (sn_error){0}, examples->made = (sn_skin){0};
    return SN_OK;
  }
  examples->skin_made = examples->skin.influences == 0;
  if (examples->skin_made) examples->skin = examples->made;
  return SN_OK;
}

sn_status sn_lbs_train(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                       sn_plan *plan, sn_train_report *report) {
  return sn_train_skin(ctx, &(sn_skin_task){options, examples, SN_RT_BLEND_LINEAR, keys}, &plan->skin, report);
}

// Extra joints have no prior weights, so their weights are fitted freely.
static sn_status train_halfway(sn_context *ctx, const sn_skin_options *o, const sn_examples *examples,
                               const sn_keys *keys, sn_plan *plan) {
  sn_poses palette = {0};
  sn_extra_joint *extra;
  sn_status status = sn_halfway_joints(ctx, &examples->skeleton, &plan->memory, &extra, &plan->desc.extra_count);
  plan->desc.extra = extra;
  if (status == SN_OK) status = sn_halfway_palette(ctx, examples, &plan->desc, &palette);
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
  return sn_base_fit(ctx, &(sn_skin_task){.examples = examples, .keys = keys}, SN_BASE_RIGID, &plan->skin);
}

static const sn_option_group no_options[] = {SN_METHOD_COMMON, {0}};

const sn_method sn_method_rigid = {
  .name = "rigid",
  .summary = "one joint per vertex: the baseline of the enveloping error",
  .options = no_options,
  .needs_skeleton = true,
  .train = train_rigid,
};
