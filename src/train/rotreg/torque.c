// SPDX-License-Identifier: MIT
// `torque`: rotational regression whose predictors follow the joints' torques (Kim, Park and Jung).
#include "train/rotreg/rotreg.h"
#include "train/train.h"

// Reads the torques of the training poses.
static sn_status read_loads(sn_context *ctx, sn_arena *memory, const sn_torque_options *o,
                            const sn_examples *examples, const sn_keys *keys, sn_torque_loads *out) {
  sn_status status = sn_torque_loads_read(ctx, memory, examples, keys, o->joint, out);
  out->degree_r = o->degree_r, out->degree_s = o->degree_s;
  return status;
}

static sn_status train_torque(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                              sn_plan *plan, sn_train_report *report) {
  const sn_torque_options *o = options;
  sn_arena memory = sn_arena_new(ctx);
  sn_torque_loads loads = {0};
  sn_status status = read_loads(ctx, &memory, o, examples, keys, &loads);
  if (status == SN_OK)
    status = sn_rotreg_train(ctx, &(sn_rotreg_task){&o->rotreg, &loads}, examples, keys, plan, report);
  sn_arena_free(&memory);
  return status;
}

static bool has_no_model(const void *options) { return ((const sn_torque_options *)options)->rotreg.full; }

static sn_status predict_torque(sn_context *ctx, const void *options, const sn_examples *examples,
                                const sn_keys *keys, const sn_keys *wanted, sn_frames *out) {
  const sn_torque_options *o = options;
  sn_arena memory = sn_arena_new(ctx);
  sn_torque_loads loads = {0};
  *out = (sn_frames){0};
  sn_status status = read_loads(ctx, &memory, o, examples, keys, &loads);
  if (status == SN_OK)
    status = sn_rotreg_full(ctx, &(sn_rotreg_task){&o->rotreg, &loads}, examples, keys, wanted, out);
  sn_arena_free(&memory);
  return status;
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
