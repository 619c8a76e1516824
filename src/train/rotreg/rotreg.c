// SPDX-License-Identifier: MIT
// `rotreg`: rotational regression (Wang, Pulli and Popovic 2007). The reduced form becomes a model with the drive
// `rotreg`; the full form is evaluated offline. `torque` uses the same driver.
#include "train/rotreg/rotreg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/scope.h"
#include "train/correct/correct.h"
#include "train/train.h"

// True if any local rotation changes: corrections are functions of local rotations.
static bool has_local_rotations(const sn_rotreg_rotations *rotations) {
  for (int n = 0; n < rotations->pose_count * rotations->joint_count; n++) {
    int j = n % rotations->joint_count;
    if (rotations->base[j] != j && sn_vec3_length(rotations->theta[n]) > sn_least_motion) return true;
  }
  return false;
}

// Corrects the residual of the proxy bones by the common regression, or, to interpolate the training poses exactly
// (section 8), by one pose space for all joints.
static sn_status correct_residual(sn_context *ctx, bool meet, const sn_examples *examples, const sn_keys *keys,
                                  sn_plan *plan, sn_train_report *report) {
  sn_correct_options correct = sn_correct_options_default();
  correct.bounded = !meet;
  if (meet) correct.space = SN_SPACE_WHOLE;
  return sn_correct_plan(ctx, &correct, examples, keys, plan, report);
}

static void note_polynomials(const sn_rotreg_training *t, sn_train_report *report) {
  const sn_torque_functions *f = &t->torque.functions[t->torque.pairs[0].load];
  snprintf(report->note, sizeof report->note,
           "as published: f_r = %.3f %+.3f x %+.3f x^2 %+.3f x^3, f_s = %.3f %+.3f x %+.3f x^2 %+.3f x^3, x from the "
           "least torque (0) to the largest (1)",
           f->offset[0], f->rotation[0], f->rotation[1], f->rotation[2], f->offset[1], f->shear[0], f->shear[1],
           f->shear[2]);
}

// Notes how many proxy bones follow each joint's torque.
static void note_torques(const sn_rotreg_training *t, sn_train_report *report) {
  const sn_skeleton *skeleton = &t->examples->skeleton;
  char *note = report->note;
  int size = (int)sizeof report->note, used = snprintf(note, (size_t)size, "proxy bones that follow a torque:");
  for (int j = 0; j < skeleton->joint_count; j++) {
    int count = 0;
    for (int k = 0; k < t->bones.bone_count; k++) count += t->torque.pairs[k].load == j;
    if (count > 0 && used < size) {
      used += snprintf(note + used, (size_t)(size - used), " %s %d,", skeleton->names[j], count);
    }
  }
  if (used < size) {
    snprintf(note + used, (size_t)(size - used),
             " of %d; cross-validated error of their gradients %.0f %% of that without torques", t->bones.bone_count,
             100 * sqrt(t->torque.gain));
  }
}

static sn_status train_model(sn_rotreg_training *t, sn_plan *plan, sn_train_report *report) {
  const sn_rotreg_options *o = t->options;
  if (t->examples->rest.triangle_count == 0)
    return sn_fail(t->ctx, SN_BAD_INPUT, "the rest mesh has no triangles to learn from");
  SN_TRY(sn_rotreg_reduced_train(t));
  if (t->torques) (o->published ? note_polynomials : note_torques)(t, report);
  if (o->shade == SN_ROTREG_RECOMPUTE) plan->desc.shade = SN_RT_SHADE_RECOMPUTE;
  SN_TRY(sn_rotreg_describe(t, plan));
  plan->skin = t->palette_skin, t->palette_skin = (sn_skin){0};
  if (!o->psd && (o->published || !has_local_rotations(&t->rotations))) return SN_OK;
  return correct_residual(t->ctx, o->psd, t->examples, t->keys, plan, report);
}

sn_status sn_rotreg_train(sn_rotreg_training *t, sn_plan *plan, sn_train_report *report) {
  sn_status status = train_model(t, plan, report);
  sn_rotreg_training_free(t);
  return status;
}

static sn_status train(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                       sn_plan *plan, sn_train_report *report) {
  sn_rotreg_training t = {.ctx = ctx, .examples = examples, .keys = keys, .options = options};
  return sn_rotreg_train(&t, plan, report);
}

static sn_status predict(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                         const sn_keys *targets, sn_frames *out) {
  sn_rotreg_training t = {.ctx = ctx, .examples = examples, .keys = keys, .options = options};
  return sn_rotreg_full(&t, targets, out);
}

static bool has_no_model(const void *options) { return ((const sn_rotreg_options *)options)->full; }

#define FIELD(name) offsetof(sn_rotreg_options, name)
const sn_option sn_rotreg_option_table[] = {
  {"bones", SN_OPTION_INT, FIELD(bones), "0", 0, 1024, NULL, SN_OPTION_COMMON,
   "proxy bones; 0: 80, or as many as `error` needs"},
  {"error", SN_OPTION_REAL, FIELD(error), "0", 0, 100, NULL, SN_OPTION_COMMON,
   "instead of bones: largest rms error of the proxy bones in training, % of the diagonal"},
  {"joints", SN_OPTION_INT, FIELD(most_joints), "2", 1, sn_rotreg_most_factors, NULL, SN_OPTION_ADVANCED,
   "most joints of a predictor"},
  {"influences", SN_OPTION_INT, FIELD(influences), "4", 1, 8, NULL, SN_OPTION_ADVANCED,
   "most proxy bones of a vertex"},
  {"start", SN_OPTION_CHOICE, FIELD(start), "clusters", 0, 0, "clusters|meanshift", SN_OPTION_ADVANCED,
   "groups that proxy bones start from: joined by their error (5.1), or mean shift (James and Twigg 2005)"},
  {"shade", SN_OPTION_CHOICE, FIELD(shade), "recompute", 0, 0, "recompute|transform", SN_OPTION_COMMON,
   "normals from the deformed triangles, or by the blended matrix (smaller and faster)"},
  {"psd", SN_OPTION_SWITCH, FIELD(psd), "0", 0, 1, NULL, SN_OPTION_COMMON,
   "1: pose-space corrections on top, so that training poses are met"},
  {"full", SN_OPTION_SWITCH, FIELD(full), "0", 0, 1, NULL, SN_OPTION_ADVANCED,
   "1: the unreduced form, as a reference row of compare"},
  {0},
};
static const sn_option own[] = {
  {"published", SN_OPTION_SWITCH, FIELD(published), "0", 0, 1, NULL, SN_OPTION_ADVANCED,
   "1: sections 3 to 5 as printed, without what Sinew adds; on scans, worse than lbs"},
  {0},
};
static const sn_option_group groups[] = {{sn_rotreg_option_table, 0}, {own, 0}, SN_METHOD_COMMON, {0}};

const sn_method sn_method_rotreg = {
  .name = "rotreg",
  .summary = "rotational regression: proxy bones driven by learned rotations (Wang 2007)",
  .options = groups,
  .needs_skeleton = true,
  .wants_skin = true,
  .vertex_bytes = 4 * 1024,
  .pose_bytes = SN_RESIDUAL_BYTES,
  .train = train,
  .has_no_model = has_no_model,
  .predict = predict,
};
