// SPDX-License-Identifier: MIT
// `rotreg`: rotational regression (Wang, Pulli and Popovic 2007). The reduced form becomes a model with the drive
// `rotreg`; the full one is evaluated offline. `torque` shares its driver.
#include "train/rotreg/rotreg.h"

#include <math.h>
#include <stdio.h>

#include "train/correct/correct.h"
#include "train/rotreg/write.h"
#include "train/train.h"

// Section 8: where training poses need to be met exactly, a displacement correction on top.
static sn_status add_corrections(sn_context *ctx, const sn_examples *examples, const sn_keys *keys, sn_model *model,
                                 sn_train_report *report) {
  sn_correct_options correct = sn_correct_options_default();
  sn_model base = *model;
  sn_status status = sn_correct_model(ctx, &correct, examples, keys, &base, model, report);
  sn_model_free(&base);
  return status;
}

bool rotreg_has_no_model(const sn_method_spec *spec) { return sn_method_number(spec, "full") != 0; }

// Which torques move bones, and how the ends were found.
static void note_torques(const sn_examples *examples, const rotreg_reduced *r, sn_train_report *report) {
  char *note = report->note;
  int size = (int)sizeof report->note, used = snprintf(note, (size_t)size, "proxy bones that follow a torque:");
  for (int j = 0; j < examples->skeleton.joint_count; j++) {
    int count = 0;
    for (int k = 0; k < r->bones.bone_count; k++) count += r->torque.pairs[k].load == j;
    if (count > 0 && used < size) {
      used += snprintf(note + used, (size_t)(size - used), " %s %d,", examples->skeleton.names[j], count);
    }
  }
  if (used < size) {
    snprintf(note + used, (size_t)(size - used),
             " of %d; predictors fitted %s; on frames left out they miss %.0f %% of what they would without torques",
             r->bones.bone_count,
             r->torque.together ? "together from all examples" : "at the ends of the torque ranges",
             100 * sqrt(r->torque.gain));
  }
}

sn_status rotreg_train(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples, const sn_keys *keys,
                       const torque_loads *loads, sn_model *out, sn_train_report *report) {
  if (examples->rest.triangle_count == 0) {
    return sn_fail(ctx, SN_BAD_INPUT, "%s: the rest mesh has no triangles to learn from", spec->text);
  }
  rotreg_reduced_options options = {.bones = (int)sn_method_number(spec, "bones"),
                                    .error = sn_method_number(spec, "error"),
                                    .influences = (int)sn_method_number(spec, "influences"),
                                    .fit = rotreg_fit_options_default(),
                                    .loads = loads};
  options.fit.turns = (int)sn_method_number(spec, "joints");
  sn_arena memory = sn_arena_new(ctx);
  rotreg_reduced reduced;
  sn_status status = rotreg_reduced_train(ctx, &memory, examples, keys, &options, &reduced);
  const sn_rt_shade shades[] = {SN_RT_SHADE_RECOMPUTE, SN_RT_SHADE_TRANSFORM};
  sn_rt_shade shade = shades[(int)sn_method_number(spec, "shade")];
  if (status == SN_OK && loads) note_torques(examples, &reduced, report);
  if (status == SN_OK) status = rotreg_build(ctx, &memory, examples, &reduced, loads, shade, out);
  if (status == SN_OK && sn_method_number(spec, "psd") != 0) {
    status = add_corrections(ctx, examples, keys, out, report);
  }
  sn_skin_free(&reduced.bones.skin);
  sn_skin_free(&reduced.skin);
  sn_arena_free(&memory);
  return status;
}

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
