// SPDX-License-Identifier: MIT
// The table of methods, and the parsing of --method.
#include "solve/lapack.h"
#include "train/train.h"

#include <stdio.h>
#include <string.h>

enum { most_methods = 31 };
static const sn_method *methods[most_methods + 1] = {
  &sn_method_rigid,     &sn_method_lbs,    &sn_method_dqs,    &sn_method_cor,    &sn_method_psd,
  &sn_method_eigenskin, &sn_method_rotreg, &sn_method_torque, &sn_method_affine, &sn_method_helpers};

const sn_method *const *sn_methods(void) { return methods; }

void sn_methods_add(const sn_method *method) {
  int k = 0;
  while (methods[k] && methods[k] != method) k++;
  if (k < most_methods) methods[k] = method;
}

const sn_option sn_file_option_table[] = {
  {"pack", SN_OPTION_SWITCH, offsetof(sn_file_options, pack), "0", 0, 0, NULL, SN_OPTION_COMMON,
   "a packed model: half the bytes, rounded to 0.02 % of the diagonal at most, as `sinew pack` does it"},
  {"tangents", SN_OPTION_SWITCH, offsetof(sn_file_options, tangents), "0", 0, 0, NULL, SN_OPTION_COMMON,
   "a model with tangents, those of the rest file or from its texture coordinates, for normal maps"},
  {"vertex_order", SN_OPTION_CHOICE, offsetof(sn_file_options, vertex_order), "file", 0, 0, "file|blocks",
   SN_OPTION_COMMON,
   "blocks: number vertices in the order in which the runtime computes them, which is faster; see `sinew pack "
   "--order`"},
  {0},
};

#define DEFAULTS(name, type, member)                                                                                 \
  type sn_##name##_options_default(void) {                                                                           \
    sn_method_options out;                                                                                           \
    memset(&out, 0, sizeof out); /* = {0} may leave members of the union as they are */                              \
    sn_options_initial(sn_method_##name.options, &out);                                                              \
    return out.member;                                                                                               \
  }
DEFAULTS(lbs, sn_lbs_options, lbs)
DEFAULTS(dqs, sn_skin_options, skin)
DEFAULTS(cor, sn_skin_options, skin)
DEFAULTS(psd, sn_psd_options, psd)
DEFAULTS(eigenskin, sn_psd_options, psd)
DEFAULTS(rotreg, sn_rotreg_options, rotreg)
DEFAULTS(torque, sn_torque_options, torque)
DEFAULTS(affine, sn_affine_options, affine)
DEFAULTS(helpers, sn_helpers_options, helpers)

static const char *text_of(const sn_method_spec *spec) { return *spec->text ? spec->text : spec->method->name; }

static sn_status find_method(sn_context *ctx, const char *name, const sn_method **out) {
  const char *names[most_methods + 1] = {0};
  for (int k = 0; methods[k]; k++) {
    names[k] = methods[k]->name;
    if (strcmp(name, names[k]) == 0) {
      *out = methods[k];
      return SN_OK;
    }
  }
  return sn_fail_unknown(ctx, strpbrk(name, ",=") ? "method (options follow a colon)" : "method", name, names);
}

sn_status sn_method_parse(sn_context *ctx, const char *text, sn_method_spec *out) {
  memset(out, 0, sizeof *out);
  if (strlen(text) >= sizeof out->text) return sn_fail(ctx, SN_BAD_INPUT, "method %.40s...: too long", text);
  snprintf(out->text, sizeof out->text, "%s", text);
  char name[sizeof out->text];
  size_t length = strcspn(text, ":");
  memcpy(name, text, length);
  name[length] = '\0';
  sn_status status = find_method(ctx, name, &out->method);
  if (status != SN_OK) return status;
  sn_options_initial(out->method->options, &out->options);
  status = sn_options_parse(ctx, out->method->options, text[length] ? text + length + 1 : NULL, &out->options);
  return status == SN_OK ? SN_OK : sn_fail_prefix(ctx, "method %s: ", text);
}

bool sn_method_needs_no_frames(const sn_method_spec *spec) {
  return spec->method->needs_no_frames && spec->method->needs_no_frames(&spec->options);
}

static sn_status check_training(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples,
                                const sn_keys *keys) {
  sn_status status = sn_options_check(ctx, spec->method->options, &spec->options);
  if (status != SN_OK) return sn_fail_prefix(ctx, "method %s: ", text_of(spec));
  if (keys->count == 0 && !sn_method_needs_no_frames(spec))
    return sn_fail(ctx, SN_BAD_INPUT, "no frames to train on; see `keys`");
  bool valued = spec->method->takes_values && examples->values.count > 0;
  if (spec->method->needs_skeleton && examples->skeleton.joint_count == 0 && !valued) {
    return sn_fail(ctx, SN_BAD_INPUT, "method %s needs `skeleton` FILE with a pose for every frame%s",
                   spec->method->name, spec->method->takes_values ? ", or `values` FILE.csv" : "");
  }
  if (spec->options.file.tangents && !examples->uvs) {
    return sn_fail(ctx, SN_BAD_INPUT, "method %s: tangents come from texture coordinates, and the rest file has none",
                   text_of(spec));
  }
  return SN_OK;
}

// Applies the file options, common to all methods, to the model description.
static void describe_file(const sn_method_spec *spec, const sn_examples *examples, sn_model_desc *desc) {
  if (spec->options.file.pack) desc->weight_bits = SN_RT_PACKED_BITS;
  if (spec->options.file.tangents)
    desc->uvs = (const float(*)[2])examples->uvs, desc->tangents = (const float(*)[4])examples->tangents;
  desc->order = spec->options.file.vertex_order;
}

bool sn_method_has_no_model(const sn_method_spec *spec) {
  return spec->method->has_no_model && spec->method->has_no_model(&spec->options);
}

void sn_train_report_add(sn_train_report *report, const char *name, double cross_validated, bool is_chosen) {
  if (report->candidate_count == SN_MOST_SCORED) return;
  sn_scored *next = &report->candidates[report->candidate_count++];
  *next = (sn_scored){.cross_validated = cross_validated, .is_chosen = is_chosen};
  snprintf(next->name, sizeof next->name, "%s", name);
}

sn_status sn_train(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples, const sn_keys *keys,
                   sn_model *out, sn_train_report *report) {
  SN_BLAS_SCOPE;
  *out = (sn_model){0};
  sn_train_report ignored;
  if (!report) report = &ignored;
  *report = (sn_train_report){.limits = spec->limits};
  if (sn_method_has_no_model(spec)) {
    return sn_fail(ctx, SN_UNSUPPORTED, "%s has no model that could be written: only `compare` evaluates it",
                   text_of(spec));
  }
  sn_status status = check_training(ctx, spec, examples, keys);
  if (status == SN_OK) status = sn_lapack_room(ctx);
  double start = sn_seconds();
  sn_examples skinned = *examples;
  if (status == SN_OK && spec->method->wants_skin && !sn_method_needs_no_frames(spec))
    status = sn_skin_make(ctx, &skinned);
  sn_plan plan = sn_plan_new(ctx, &skinned);
  if (status == SN_OK) {
    status = spec->method->train(ctx, &spec->options, &skinned, keys, &plan, report);
    if (status == SN_BAD_INPUT) sn_fail_prefix(ctx, "%s: ", text_of(spec));
  }
  describe_file(spec, examples, &plan.desc);
  if (status == SN_OK) status = sn_plan_encode(ctx, &plan, &skinned, out);
  sn_plan_free(&plan);
  if (skinned.skin_made && !examples->skin_made) sn_skin_free(&skinned.skin);
  report->seconds = sn_seconds() - start;
  return status == SN_OK && keys->count > 0 ? sn_train_lacks(ctx, examples, keys, report) : status;
}

// From the examples' welded vertices to those of the rest file.
static sn_status split_frames(sn_context *ctx, const sn_examples *examples, const sn_frames *welded, sn_frames *out) {
  sn_status status = sn_frames_new(ctx, examples->source_count, welded->frame_count, out);
  for (int f = 0; status == SN_OK && f < welded->frame_count; f++)
    sn_examples_to_file(examples, sn_frame(welded, f), sizeof(float[3]), sn_frame_mutable(out, f));
  return status;
}

sn_status sn_train_predict(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples,
                           const sn_keys *keys, const sn_keys *targets, sn_frames *out) {
  SN_BLAS_SCOPE;
  *out = (sn_frames){0};
  sn_status status = check_training(ctx, spec, examples, keys);
  sn_frames frames = {0};
  if (status == SN_OK) status = spec->method->predict(ctx, &spec->options, examples, keys, targets, &frames);
  if (status != SN_OK || !examples->source) {
    *out = frames;
    return status;
  }
  status = split_frames(ctx, examples, &frames, out);
  sn_frames_free(&frames);
  return status;
}
