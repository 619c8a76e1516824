// SPDX-License-Identifier: MIT
// `psd`: pose-space deformation on linear or dual-quaternion skinning (Murtagh 2008); `eigenskin`: with fewer fields.
#include "train/correct/corrector.h"
#include "train/skin/base.h"

// ---- the method -----------------------------------------------------------------------------------------------------------

// The rest mesh on one fixed palette entry, for values without a skeleton.
static sn_status train_still(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                             sn_plan *plan, sn_train_report *report) {
  (void)options, (void)keys, (void)report;
  sn_status status = sn_skin_new(ctx, examples->rest.vertex_count, 1, &plan->skin);
  for (int i = 0; status == SN_OK && i < plan->skin.vertex_count; i++) plan->skin.weights[i] = 1;
  plan->desc.palette_count = 1;
  return status;
}

static sn_status train_base(sn_context *ctx, const sn_psd_options *o, const sn_skin_options *skin,
                            const sn_examples *examples, const sn_keys *keys, sn_plan *plan) {
  return (examples->skeleton.joint_count == 0 ? train_still
          : o->blend == SN_RT_BLEND_LINEAR    ? sn_lbs_train
          : o->blend == SN_RT_BLEND_DUALQUAT  ? sn_dqs_train
                                              : sn_cor_train)(ctx, skin, examples, keys, plan, NULL);
}

static sn_status train(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                       sn_plan *plan, sn_train_report *report) {
  sn_psd_options own = *(const sn_psd_options *)options;
  const sn_psd_options *o = &own;
  sn_skin_options skin = o->skin;
  if (examples->sculpted) own.correct.space = SN_SPACE_WHOLE;
  // Weights refitted for linear blending compensate for lost volume, which does not extrapolate beyond the training poses; and a
  // few sculpted poses are corrections of the file's weights.
  if (skin.weights == SN_WEIGHTS_FIT && sn_skin_has_prior(examples) &&
      (o->blend == SN_RT_BLEND_LINEAR || examples->sculpted))
    skin.weights = SN_WEIGHTS_GIVEN;
  if (examples->skeleton.joint_count > 0) sn_skin_describe(&skin, examples, report);
  sn_status status = train_base(ctx, o, &skin, examples, keys, plan);
  return status == SN_OK ? sn_correct_plan(ctx, &o->correct, examples, keys, plan, report) : status;
}

static const sn_option common[] = {
  {"blend", SN_OPTION_CHOICE, offsetof(sn_psd_options, blend), "linear", 0, 0, "linear|dualquat|centres",
   SN_OPTION_COMMON, "the skinning underneath: lbs, dqs or cor"},
  {0},
};
static const sn_option weighted[] = {
  {"weighted", SN_OPTION_SWITCH, offsetof(sn_psd_options, correct.weighted), "0", 0, 1, NULL, SN_OPTION_ADVANCED,
   "1: distances by each vertex's skinning weights"},
  {0},
};
static const sn_option components[] = {
  {"components", SN_OPTION_INT, offsetof(sn_psd_options, correct.components), "3", 1, 1000, NULL, SN_OPTION_COMMON,
   "displacement fields: of a vertex on average (space=local), or per pose space"},
  {0},
};
static const sn_option_group psd_groups[] = {{common, 0},
                                             {weighted, 0},
                                             {sn_correct_option_table, offsetof(sn_psd_options, correct)},
                                             {sn_skin_option_table, offsetof(sn_psd_options, skin)},
                                             SN_METHOD_COMMON,
                                             {0}};
static const sn_option_group eigenskin_groups[] = {{components, 0},
                                                   {common, 0},
                                                   {sn_correct_option_table, offsetof(sn_psd_options, correct)},
                                                   {sn_skin_option_table, offsetof(sn_psd_options, skin)},
                                                   SN_METHOD_COMMON,
                                                   {0}};

const sn_method sn_method_psd = {.name = "psd",
                                 .summary =
                                   "pose-space deformation on linear or dual-quaternion skinning (Murtagh 2008)",
                                 .options = psd_groups,
                                 .needs_skeleton = true,
                                 .wants_skin = true,
                                 .takes_values = true,
                                 .pose_bytes = SN_RESIDUAL_BYTES,
                                 .train = train};
const sn_method sn_method_eigenskin = {.name = "eigenskin",
                                       .summary = "corrections in a basis of principal components per joint",
                                       .options = eigenskin_groups,
                                       .needs_skeleton = true,
                                       .wants_skin = true,
                                       .takes_values = true,
                                       .pose_bytes = SN_RESIDUAL_BYTES,
                                       .train = train};
