// SPDX-License-Identifier: MIT
// `lbs`: linear blend skinning (SSD) with weights by non-negative least squares, optionally on the half-way and scaling
// joints of Mohr and Gleicher 2003.
#include "train/train.h"

#include "sinew/rig.h"
#include "train/skin/halfway.h"

enum { weights_fit, weights_given };
enum { extra_none, extra_halfway };

sn_status sn_train_fit_skin(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples,
                            const sn_poses *poses, const sn_keys *keys, sn_skin *out) {
  sn_weights_options options = sn_weights_options_default();
  options.influences = (int)sn_method_number(spec, "influences");
  options.laplacian = sn_method_number(spec, "smooth");
  return sn_solve_weights(ctx, &examples->rest, &examples->frames, poses, keys, &options, out);
}

sn_status sn_train_given_skin(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples,
                              sn_skin *out) {
  const sn_skin *given = &examples->skin;
  *out = (sn_skin){0};
  if (given->influences == 0) {
    return sn_fail(ctx, SN_BAD_INPUT, "%s: the skeleton file has no skin; weights are given with its mesh, or fitted",
                   spec->text);
  }
  sn_status status = sn_skin_new(ctx, given->vertex_count, given->influences, out);
  for (size_t k = 0; status == SN_OK && k < (size_t)given->vertex_count * (size_t)given->influences; k++) {
    out->joints[k] = given->joints[k], out->weights[k] = given->weights[k];
  }
  return status;
}

static sn_status train_plain(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples,
                             const sn_keys *keys, sn_model_desc *desc, sn_model *out) {
  sn_skin skin = {0};
  sn_status status = sn_method_number(spec, "weights") == weights_given
                       ? sn_train_given_skin(ctx, spec, examples, &skin)
                       : sn_train_fit_skin(ctx, spec, examples, &examples->poses, keys, &skin);
  desc->skin = &skin;
  if (status == SN_OK) status = sn_train_build(ctx, examples, *desc, out);
  sn_skin_free(&skin);
  return status;
}

static sn_status train_halfway(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples,
                               const sn_keys *keys, sn_model_desc *desc, sn_model *out) {
  sn_arena scratch = sn_arena_new(ctx);
  sn_poses palette = {0};
  sn_skin skin = {0};
  sn_extra_joint *extra;
  sn_status status = sn_halfway_joints(ctx, &examples->skeleton, &scratch, &extra, &desc->extra_count);
  desc->extra = extra;
  if (status == SN_OK) status = sn_halfway_palette(ctx, examples, desc, keys, &palette);
  if (status == SN_OK) status = sn_train_fit_skin(ctx, spec, examples, &palette, keys, &skin);
  desc->skin = &skin;
  if (status == SN_OK) status = sn_train_build(ctx, examples, *desc, out);
  sn_skin_free(&skin);
  sn_poses_free(&palette);
  sn_arena_free(&scratch);
  return status;
}

static sn_status train(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples, const sn_keys *keys,
                       sn_model *out, sn_train_report *report) {
  (void)report;
  bool halfway = sn_method_number(spec, "extra") == extra_halfway;
  if (halfway && sn_method_number(spec, "weights") == weights_given) {
    return sn_fail(ctx, SN_BAD_INPUT, "%s: extra joints need fitted weights; leave out weights=given", spec->text);
  }
  sn_model_desc desc = sn_model_desc_default();
  desc.rest = &examples->rest, desc.skeleton = &examples->skeleton;
  const int bits[] = {32, 16, 8};
  desc.weight_bits = bits[(int)sn_method_number(spec, "bits")];
  return (halfway ? train_halfway : train_plain)(ctx, spec, examples, keys, &desc, out);
}

static const sn_method_option options[] = {
  {"influences", SN_OPTION_INT, "4", 1, 8, NULL, "most joints of a vertex"},
  {"weights", SN_OPTION_CHOICE, "fit", 0, 0, "fit|given", "fitted to the frames, or those of the skeleton file"},
  {"smooth", SN_OPTION_REAL, "0", 0, 1e6, NULL, "smoothness of the weights (rho of Kim 2010; 0.01 there)"},
  {"extra", SN_OPTION_CHOICE, "none", 0, 0, "none|halfway", "half-way and scaling joints (Mohr and Gleicher 2003)"},
  {"bits", SN_OPTION_CHOICE, "32", 0, 0, "32|16|8", "of each stored weight"},
  {0},
};

const sn_method sn_method_lbs = {
  .name = "lbs",
  .summary = "linear blend skinning, weights by non-negative least squares",
  .options = options,
  .needs_skeleton = true,
  .train = train,
};
