// SPDX-License-Identifier: MIT
// `torque`: rotational regression whose predictors follow the joints' torques (Kim, Park and Jung).
#include "train/rotreg/rotreg.h"
#include "train/train.h"

static sn_status read_loads(sn_context *ctx, sn_arena *memory, const sn_method_spec *spec,
                            const sn_examples *examples, const sn_keys *keys, torque_loads *out) {
  char only[128];
  sn_method_text(spec, "joint", only, sizeof only);
  sn_status status = torque_loads_read(ctx, memory, examples, keys, only, out);
  out->degree_r = (int)sn_method_number(spec, "degree_r"), out->degree_s = (int)sn_method_number(spec, "degree_s");
  out->mode = (torque_fit_mode)sn_method_number(spec, "fit");
  return status;
}

static sn_status train(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples, const sn_keys *keys,
                       sn_model *out, sn_train_report *report) {
  sn_arena memory = sn_arena_new(ctx);
  torque_loads loads;
  sn_status status = read_loads(ctx, &memory, spec, examples, keys, &loads);
  if (status == SN_OK) status = rotreg_train(ctx, spec, examples, keys, &loads, out, report);
  sn_arena_free(&memory);
  return status;
}

static sn_status predict(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples,
                         const sn_keys *keys, const sn_keys *wanted, sn_frames *out) {
  sn_arena memory = sn_arena_new(ctx);
  torque_loads loads;
  *out = (sn_frames){0};
  sn_status status = read_loads(ctx, &memory, spec, examples, keys, &loads);
  if (status == SN_OK) status = rotreg_full(ctx, spec, examples, keys, &loads, wanted, out);
  sn_arena_free(&memory);
  return status;
}

static const sn_method_option options[] = {
  ROTREG_OPTIONS,
  {"degree_r", SN_OPTION_INT, "2", 1, torque_most_degree, NULL, "degree of the function that blends rotations"},
  {"degree_s", SN_OPTION_INT, "2", 1, torque_most_degree, NULL, "degree of the function that blends scale and shear"},
  {"joint", SN_OPTION_TEXT, "", 0, 0, NULL,
   "only this joint's torque; empty: each bone follows the one that moves it"},
  {"fit", SN_OPTION_CHOICE, "auto", 0, 0, "auto|extremes|together",
   "predictors from the examples at the ends of the torque range, or both from all; auto: the better on frames left "
   "out"},
  {0},
};

const sn_method sn_method_torque = {
  .name = "torque",
  .summary = "rotational regression blended by joint torques (Kim, Park and Jung)",
  .options = options,
  .needs_skeleton = true,
  .train = train,
  .has_no_model = rotreg_has_no_model,
  .predict = predict,
};
