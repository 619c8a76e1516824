// SPDX-License-Identifier: MIT
// `rigid`: every vertex follows one joint, the best over the training frames.
#include "train/skin/base.h"

static sn_status train_rigid(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                             sn_plan *plan, sn_train_report *report) {
  (void)options, (void)report;
  return sn_base_fit(ctx, &(sn_skin_task){.examples = examples, .keys = keys}, SN_BASE_RIGID, &plan->skin);
}

static const sn_option_group groups[] = {SN_METHOD_COMMON, {0}};

const sn_method sn_method_rigid = {
  .name = "rigid",
  .summary = "one joint per vertex: the baseline of the enveloping error",
  .options = groups,
  .needs_skeleton = true,
  .vertex_bytes = 120,
  .train = train_rigid,
};
