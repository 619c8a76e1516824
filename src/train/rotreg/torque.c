// SPDX-License-Identifier: MIT
// `torque`: rotational regression whose predictors follow the joints' torques (Kim, Park and Jung).
#include "train/rotreg/rotreg.h"
#include "train/train.h"

static sn_status train_torque(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                              sn_plan *plan, sn_train_report *report) {
  const sn_torque_options *o = options;
  sn_rotreg_training t = {.ctx = ctx, .examples = examples, .keys = keys, .options = &o->rotreg, .torques = o};
  return sn_rotreg_train(&t, plan, report);
}

static bool has_no_model(const void *options) { return ((const sn_torque_options *)options)->rotreg.full; }

static sn_status predict_torque(sn_context *ctx, const void *options, const sn_examples *examples,
                                const sn_keys *keys, const sn_keys *targets, sn_frames *out) {
  const sn_torque_options *o = options;
  sn_rotreg_training t = {.ctx = ctx, .examples = examples, .keys = keys, .options = &o->rotreg, .torques = o};
  return sn_rotreg_full(&t, targets, out);
}

#define FIELD(name) offsetof(sn_torque_options, name)
static const sn_option own[] = {
  {"degree_r", SN_OPTION_INT, FIELD(degree_r), "2", 1, sn_torque_most_degree, NULL, SN_OPTION_ADVANCED,
   "degree of the function that blends rotations"},
  {"degree_s", SN_OPTION_INT, FIELD(degree_s), "2", 1, sn_torque_most_degree, NULL, SN_OPTION_ADVANCED,
   "degree of the function that blends scale and shear"},
  {"joint", SN_OPTION_TEXT, FIELD(joint), "", 0, 0, NULL, SN_OPTION_COMMON,
   "only this joint's torque; empty: each bone follows the one that moves it"},
  {"published", SN_OPTION_SWITCH, FIELD(rotreg.published), "0", 0, 1, NULL, SN_OPTION_ADVANCED,
   "1: as printed: polynomials with a constant by least squares, ends from the extreme examples, rotreg:published=1 "
   "below"},
  {0},
};
static const sn_option_group groups[] = {{own, 0}, {sn_rotreg_option_table, FIELD(rotreg)}, SN_METHOD_COMMON, {0}};

const sn_method sn_method_torque = {
  .name = "torque",
  .summary = "rotational regression blended by joint torques (Kim, Park and Jung)",
  .options = groups,
  .needs_skeleton = true,
  .wants_skin = true,
  .vertex_bytes = 4 * 1024,
  .pose_bytes = SN_RESIDUAL_BYTES,
  .train = train_torque,
  .has_no_model = has_no_model,
  .predict = predict_torque,
};
