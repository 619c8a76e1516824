// SPDX-License-Identifier: MIT
// `rotreg`: rotational regression (Wang, Pulli and Popovic 2007). The reduced form becomes a model with the drive
// `rotreg`; the full one is evaluated offline.
#include "train/rotreg_write.h"
#include "train/train.h"

static sn_status train(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples, const sn_keys *keys,
                       sn_model *out, sn_train_report *report) {
  return rotreg_train(ctx, spec, examples, keys, NULL, out, report);
}

static sn_status predict(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples,
                         const sn_keys *keys, const sn_keys *wanted, sn_frames *out) {
  return rotreg_full(ctx, spec, examples, keys, NULL, wanted, out);
}

static const sn_method_option options[] = {ROTREG_OPTIONS, {0}};

const sn_method sn_method_rotreg = {
  .name = "rotreg",
  .summary = "rotational regression: proxy bones driven by learned rotations (Wang 2007)",
  .options = options,
  .needs_skeleton = true,
  .train = train,
  .has_no_model = rotreg_has_no_model,
  .predict = predict,
};
