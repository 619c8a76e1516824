// SPDX-License-Identifier: MIT
// `rigid`: every vertex follows one joint, the best over the training frames.
#include "train/skin/base.h"

static sn_status train_rigid(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                             sn_model *out, sn_train_report *report) {
  (void)options, (void)report;
  sn_skin skin = {0};
  sn_status status = sn_base_fit(ctx, &(sn_skin_task){.examples = examples, .keys = keys}, SN_BASE_RIGID, &skin);
  if (status == SN_OK) {
    sn_model_desc desc = sn_model_desc_default();
    desc.rest = &examples->rest, desc.skeleton = &examples->skeleton, desc.skin = &skin;
    status = sn_train_build(ctx, examples, desc, out);
  }
  sn_skin_free(&skin);
  return status;
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
