// SPDX-License-Identifier: MIT
// `psd`: pose-space deformation on linear or dual-quaternion skinning (Murtagh 2008); `eigenskin`: with fewer fields.
#include <math.h>

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

// ---- the base --------------------------------------------------------------------------------------------------------------

typedef struct trial {
  const sn_psd_options *options;
  const sn_base_sample *sample;
  sn_base_kind kind;
} trial;

// Tries corrections on a base that is learned from these keys alone; see sn_correct_try.
static sn_status try_base(sn_context *ctx, const trial *t, const sn_keys *keys, sn_correct_trial *correct) {
  const sn_examples *examples = &t->sample->examples;
  sn_skin_options skin = t->options->skin;
  sn_plan plan = sn_plan_new(ctx, examples);
  skin.base = 1 + (int)t->kind;
  sn_status status = train_base(ctx, t->options, &skin, examples, keys, &plan);
  if (status == SN_OK) status = sn_correct_try(ctx, &t->options->correct, examples, &t->sample->keys, &plan, correct);
  sn_plan_free(&plan);
  return status;
}

// Cross-validates a base together with its corrections: their squared error on held-out frames.
static sn_status validate_base(sn_context *ctx, sn_arena *memory, const trial *t, double *score) {
  const sn_folds *folds = &t->sample->folds;
  int count = t->sample->keys.count;
  bool *held = SN_NEW(ctx, memory, bool, count);
  int *frames = SN_NEW(ctx, memory, int, count);
  sn_correct_trial correct = {0};
  sn_status status = held && frames ? try_base(ctx, t, &t->sample->keys, &correct) : ctx->error.status;
  *score = 0, correct.held = held;
  for (int f = 0; status == SN_OK && f < folds->fold_count; f++) {
    const sn_fold *fold = folds->folds + f;
    sn_keys keys = {.count = fold->outside_count, .frames = frames};
    for (int n = 0; n < fold->count; n++) {
      held[fold->poses[n]] = n >= fold->outside_count;
      if (n < fold->outside_count) frames[n] = t->sample->keys.frames[fold->poses[n]];
    }
    correct.squared = 0;
    status = try_base(ctx, t, &keys, &correct);
    *score += correct.squared;
  }
  return status;
}

// If the file has weights, only these and their refit compete, the default first. For linear blending the default is
// the file's weights: refitted weights compensate for lost volume, which does not extrapolate beyond the training
// poses.
static int drop_others(sn_rt_blend blend, sn_base_kind *kinds, int count) {
  bool refit = false, linear = blend == SN_RT_BLEND_LINEAR;
  for (int k = 0; k < count; k++) refit |= kinds[k] == SN_BASE_REFIT;
  if (!refit) return count;
  kinds[0] = linear ? SN_BASE_FILE : SN_BASE_REFIT, kinds[1] = linear ? SN_BASE_REFIT : SN_BASE_FILE;
  return 2;
}

// A later candidate must have less than this part of an earlier one's error (with corrections).
static const double richer = 0.85;

static sn_status choose_base(sn_context *ctx, const sn_psd_options *o, const sn_examples *examples,
                             const sn_keys *keys, sn_train_report *report, int *base) {
  sn_arena memory = sn_arena_new(ctx);
  sn_base_kind kinds[SN_BASE_KINDS];
  sn_base_sample sample;
  double scores[SN_BASE_KINDS] = {0};
  int count = drop_others(o->blend, kinds, sn_base_candidates(&o->skin, examples, kinds));
  sn_status status = sn_base_sample_make(ctx, &memory, examples, keys, &sample);
  bool can_hold_out = status == SN_OK && sample.folds.fold_count > 1;
  for (int k = 0; can_hold_out && status == SN_OK && k < count; k++)
    status = validate_base(ctx, &memory, &(trial){o, &sample, kinds[k]}, scores + k);
  if (can_hold_out && status == SN_OK) {
    int best = sn_simplest(scores, count, 1 / (richer * richer));
    *base = 1 + (int)kinds[best];
    for (int k = 0; k < count; k++)
      sn_train_report_add(report, sn_base_name(kinds[k]), sample.rigid > 0 ? sqrt(scores[k] / sample.rigid) : 0,
                          k == best);
  }
  sn_arena_free(&memory);
  return status;
}

static sn_status train(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                       sn_plan *plan, sn_train_report *report) {
  sn_psd_options own = *(const sn_psd_options *)options;
  const sn_psd_options *o = &own;
  sn_skin_options skin = o->skin;
  if (examples->sculpted) own.correct.space = SN_SPACE_WHOLE;
  bool chosen = examples->skeleton.joint_count > 0 && skin.weights == SN_WEIGHTS_FIT &&
                o->correct.space == SN_SPACE_LOCAL && o->blend != SN_RT_BLEND_CENTRES && examples->values.count == 0;
  sn_status status = chosen ? choose_base(ctx, o, examples, keys, report, &skin.base) : SN_OK;
  if (status == SN_OK) status = train_base(ctx, o, &skin, examples, keys, plan);
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
