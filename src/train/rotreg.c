// SPDX-License-Identifier: MIT
// `rotreg`: rotational regression (Wang, Pulli and Popovic 2007).
#include "train/rotreg.h"

#include "train/train.h"

static bool has_no_model(const sn_method_spec *spec) { return sn_method_number(spec, "full") != 0; }

static sn_status train(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples, const sn_keys *keys,
                       sn_model *out, sn_train_report *report) {
  (void)examples, (void)keys, (void)report, (void)out;
  return sn_fail(ctx, SN_UNSUPPORTED, "%s: the reduced form is not there yet", spec->text);
}

static const sn_method_option options[] = {
  {"joints", SN_OPTION_INT, "2", 1, rotreg_most_turns, NULL, "most joints of a predictor"},
  {"full", SN_OPTION_INT, "0", 0, 1, NULL, "the unreduced form, as a reference row of compare"},
  {0},
};

const sn_method sn_method_rotreg = {
  .name = "rotreg",
  .summary = "rotational regression: proxy bones driven by learned rotations (Wang 2007)",
  .options = options,
  .needs_skeleton = true,
  .train = train,
  .has_no_model = has_no_model,
  .predict = rotreg_full,
};
