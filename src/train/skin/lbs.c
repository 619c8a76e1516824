// SPDX-License-Identifier: MIT
// `lbs`: linear blend skinning (SSD) with weights by non-negative least squares, optionally on the half-way and scaling
// joints of Mohr and Gleicher 2003.
#include "train/train.h"

#include "sinew/rig.h"
#include "train/skin/halfway.h"
#include "train/skin/heat.h"
#include "train/skin/prior.h"

typedef struct sn_lbs_options {
  sn_skin_options skin;
  enum { extra_none, extra_halfway } extra;
} sn_lbs_options;

const sn_option sn_skin_option_table[] = {
  {"influences", SN_OPTION_INT, offsetof(sn_skin_options, influences), "4", 1, 8, NULL, SN_OPTION_COMMON,
   "most joints of a vertex"},
  {"weights", SN_OPTION_CHOICE, offsetof(sn_skin_options, weights), "fit", 0, 0, "fit|given|lbs|skeleton",
   SN_OPTION_COMMON,
   "fitted to the frames, those of the skeleton file, those of lbs, or from the skeleton and the surface (bone "
   "heat)"},
  {"prior", SN_OPTION_REAL, offsetof(sn_skin_options, prior), "auto", 1e-9, 1e6, "auto|none", SN_OPTION_ADVANCED,
   "lambda, the ridge of fitted weights at the skin of the skeleton file, on the joints near a vertex"},
  {"smooth", SN_OPTION_REAL, offsetof(sn_skin_options, rho), "0", 0, 1e6, NULL, SN_OPTION_ADVANCED,
   "smoothness of the weights (rho of Kim 2010; 0.01 there)"},
  {0},
};

static sn_status given_skin(sn_context *ctx, const sn_examples *examples, sn_skin *out) {
  const sn_skin *given = &examples->skin;
  *out = (sn_skin){0};
  if (given->influences == 0 || examples->skin_made) {
    return sn_fail(ctx, SN_BAD_INPUT,
                   "the skeleton file has no skin; weights are given with its mesh, fitted, or weights=skeleton");
  }
  sn_status status = sn_skin_new(ctx, given->vertex_count, given->influences, out);
  for (size_t k = 0; status == SN_OK && k < (size_t)given->vertex_count * (size_t)given->influences; k++) {
    out->joints[k] = given->joints[k], out->weights[k] = given->weights[k];
  }
  return status;
}

bool sn_skin_needs_no_frames(const void *options) {
  const sn_skin_options *o = options;
  return o->weights == SN_WEIGHTS_GIVEN || o->weights == SN_WEIGHTS_SKELETON;
}

// Up to so many joints a clip tells their parts well without a prior; and larger meshes would take longer for it than for their weights.
enum { few_joints = 6, most_made = 200000, made_influences = 4 };

sn_status sn_skin_make(sn_context *ctx, sn_examples *examples) {
  if (examples->skin.influences > 0 || examples->skeleton.joint_count <= few_joints) return SN_OK;
  if (examples->rest.triangle_count == 0 || examples->rest.vertex_count > most_made) return SN_OK;
  sn_status status = sn_heat_skin(ctx, &examples->rest, &examples->skeleton, made_influences, &examples->skin);
  examples->skin_made = status == SN_OK;
  if (status == SN_OK || status == SN_NO_MEMORY || status == SN_STOPPED) return status;
  ctx->error = (sn_error){0}, examples->skin = (sn_skin){0};
  return SN_OK;
}

const sn_skin *sn_skin_prior(const sn_skin_options *o, const sn_examples *examples) {
  return o->prior != SN_PRIOR_NONE && o->rho == 0 && examples->skin.influences > 0 ? &examples->skin : NULL;
}

// A skin that was made says above all which joints are near. Without its skin cheburashka leaves on new motion (four pairs; the athlete likewise) 0.99 to
// 1.01 of what fitted weights without a prior leave with 0.01 and 0.003, the athlete 0.87 to 0.98; with 0.03 up to 1.08.
static const double made_strength = 0.003;

double sn_skin_prior_strength(const sn_skin_options *o, const sn_examples *examples) {
  return o->prior == 0 && examples->skin_made ? made_strength : o->prior;
}

static sn_status fit_near_prior(sn_context *ctx, const sn_skin_options *o, const sn_skin *prior,
                                const sn_examples *examples, const sn_keys *keys, sn_skin *out, double *expected) {
  const sn_blend linear = {.examples = examples, .keys = keys};
  const sn_prior_options options = {.influences = o->influences, .strength = sn_skin_prior_strength(o, examples)};
  return sn_prior_fit(ctx, &linear, prior, &options, out, expected);
}

sn_status sn_train_skin(sn_context *ctx, const sn_skin_options *o, const sn_examples *examples, const sn_poses *poses,
                        const sn_keys *keys, sn_skin *out, double *expected) {
  *expected = 0;
  if (o->weights == SN_WEIGHTS_GIVEN) return given_skin(ctx, examples, out);
  if (o->weights == SN_WEIGHTS_SKELETON) {
    return sn_heat_skin(ctx, &examples->rest, &examples->skeleton, o->influences, out);
  }
  const sn_skin *prior = poses == &examples->poses ? sn_skin_prior(o, examples) : NULL; // extra joints have none
  if (prior) return fit_near_prior(ctx, o, prior, examples, keys, out, expected);
  sn_weights_options options = sn_weights_options_default();
  options.influences = o->influences, options.rho = o->rho;
  return sn_solve_weights(ctx, &examples->rest, &examples->frames, poses, keys, &options, out);
}

static sn_status train_plain(sn_context *ctx, const sn_skin_options *o, const sn_examples *examples,
                             const sn_keys *keys, sn_model_desc *desc, sn_model *out, double *expected) {
  sn_skin skin = {0};
  sn_status status = sn_train_skin(ctx, o, examples, &examples->poses, keys, &skin, expected);
  if (status == SN_OK && sn_skin_needs_no_frames(o))
    sn_prior_expected(&(sn_blend){.examples = examples, .keys = keys}, &skin, expected);
  desc->skin = &skin;
  if (status == SN_OK) status = sn_train_build(ctx, examples, *desc, out);
  sn_skin_free(&skin);
  return status;
}

static sn_status train_halfway(sn_context *ctx, const sn_skin_options *o, const sn_examples *examples,
                               const sn_keys *keys, sn_model_desc *desc, sn_model *out, double *expected) {
  sn_arena scratch = sn_arena_new(ctx);
  sn_poses palette = {0};
  sn_skin skin = {0};
  sn_extra_joint *extra;
  sn_status status = sn_halfway_joints(ctx, &examples->skeleton, &scratch, &extra, &desc->extra_count);
  desc->extra = extra;
  if (status == SN_OK) status = sn_halfway_palette(ctx, examples, desc, keys, &palette);
  if (status == SN_OK) status = sn_train_skin(ctx, o, examples, &palette, keys, &skin, expected);
  desc->skin = &skin;
  if (status == SN_OK) status = sn_train_build(ctx, examples, *desc, out);
  sn_skin_free(&skin);
  sn_poses_free(&palette);
  sn_arena_free(&scratch);
  return status;
}

static sn_model_desc describe(const sn_examples *examples) {
  sn_model_desc desc = sn_model_desc_default();
  desc.rest = &examples->rest, desc.skeleton = &examples->skeleton;
  return desc;
}

sn_status sn_lbs_train(sn_context *ctx, const sn_skin_options *options, const sn_examples *examples,
                       const sn_keys *keys, sn_model *out, double *expected) {
  sn_model_desc desc = describe(examples);
  return train_plain(ctx, options, examples, keys, &desc, out, expected);
}

static sn_status train(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                       sn_model *out, sn_train_report *report) {
  const sn_lbs_options *o = options;
  bool halfway = o->extra == extra_halfway;
  if (halfway && sn_skin_needs_no_frames(&o->skin)) {
    return sn_fail(ctx, SN_BAD_INPUT,
                   "extra joints need fitted weights; leave out weights=given and weights=skeleton");
  }
  sn_model_desc desc = describe(examples);
  return (halfway ? train_halfway : train_plain)(ctx, &o->skin, examples, keys, &desc, out, &report->expected);
}

static const sn_option own[] = {
  {"extra", SN_OPTION_CHOICE, offsetof(sn_lbs_options, extra), "none", 0, 0, "none|halfway", SN_OPTION_COMMON,
   "half-way and scaling joints (Mohr and Gleicher 2003)"},
  {0},
};
static const sn_option_group groups[] = {
  {sn_skin_option_table, offsetof(sn_lbs_options, skin)}, {own, 0}, SN_METHOD_COMMON, {0}};
_Static_assert(sizeof(sn_lbs_options) <= SN_METHOD_COMMON_OFFSET, "room in sn_method_spec");

const sn_method sn_method_lbs = {
  .name = "lbs",
  .summary = "linear blend skinning, weights by non-negative least squares",
  .options = groups,
  .needs_skeleton = true,
  .wants_skin = true,
  .needs_no_frames = sn_skin_needs_no_frames,
  .vertex_bytes = 170,
  .train = train,
};
