// SPDX-License-Identifier: MIT
// Learns corrections from the plan of a model and examples: inverts blends, merges poses, solves pose spaces, describes them.
#include "train/correct/correct.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "train/correct/corrector.h"
#include "train/correct/fields.h"
#include "train/skin/base.h"
#include "train/train.h"

#define FIELD(name) offsetof(sn_correct_options, name)
const sn_option sn_correct_option_table[] = {
  {"space", SN_OPTION_CHOICE, FIELD(space), "local", 0, 0, "local|whole", SN_OPTION_COMMON,
   "local: a sum of functions of single joints' rotations; whole: one function of all rotations, as published"},
  {"kernel", SN_OPTION_CHOICE, FIELD(kernel), "gauss", 0, 0, "gauss|thinplate|bspline|shepard", SN_OPTION_ADVANCED,
   "of the interpolation in pose space; thinplate has a linear term, bspline reaches twice the nearest other pose"},
  {"sigma", SN_OPTION_REAL, FIELD(sigma), "auto", 1e-6, 1e6, "auto|pose", SN_OPTION_ADVANCED,
   "width of the kernels in radians (shepard: the power); auto: by held-out poses; pose: by the nearest other pose"},
  {"order", SN_OPTION_CHOICE, FIELD(order), "inverse", 0, 0, "inverse|forward", SN_OPTION_ADVANCED,
   "corrections before or after skinning"},
  {"distance", SN_OPTION_CHOICE, FIELD(distance), "euclid", 0, 0, "euclid|normalised|mahalanobis", SN_OPTION_ADVANCED,
   "between poses; normalised: every component by its deviation; mahalanobis: by the covariance"},
  {"linear", SN_OPTION_SWITCH, FIELD(linear), "0", 0, 1, NULL, SN_OPTION_ADVANCED,
   "1: a hyperplane under the kernels"},
  {"cardinal", SN_OPTION_SWITCH, FIELD(cardinal), "1", 0, 1, NULL, SN_OPTION_ADVANCED,
   "1: N x N weights and the displacements themselves (Shape by Example); 0: kernel weights per vertex"},
  {"threshold", SN_OPTION_REAL, FIELD(threshold), "0.005", 0, 100, NULL, SN_OPTION_ADVANCED,
   "corrections below this, in % of the diagonal, are not stored; normals below half a degree"},
  {"shapes", SN_OPTION_INT, FIELD(shapes), "0", 0, 64, NULL, SN_OPTION_ADVANCED,
   "most displacement fields of the character (`sinew export` takes 32); 0: as many as every patch needs"},
  {"joints", SN_OPTION_TEXT, FIELD(joint_names), "", 0, 0, NULL, SN_OPTION_ADVANCED,
   "joints of the pose space, NAME+NAME; default: all that rotate"},
  {0},
};

sn_correct_options sn_correct_options_default(void) {
  sn_correct_options out = {0};
  sn_options_initial((const sn_option_group[]){{sn_correct_option_table, 0}, {0}}, &out);
  return out;
}

void sn_corrector_note(sn_corrector *c, const char *format, ...) {
  size_t used = strlen(c->report->note);
  va_list list;
  va_start(list, format);
  vsnprintf(c->report->note + used, sizeof c->report->note - used, format, list);
  va_end(list);
}

// ---- options ------------------------------------------------------------------------------------------------------------

// These options exist only with space=whole.
static sn_status check_local(sn_context *ctx, const sn_correct_options *o) {
  const char *form = o->kernel != SN_RBF_GAUSS                                ? "a kernel other than gauss"
                     : o->sigma != SN_SIGMA_AUTO                              ? "a width (sigma)"
                     : o->distance != SN_DISTANCE_EUCLID                      ? "a distance other than euclid"
                     : o->weighted                                            ? "weighted=1"
                     : o->linear                                              ? "linear=1"
                     : !o->cardinal                                           ? "cardinal=0"
                     : o->threshold != sn_correct_options_default().threshold ? "a threshold"
                                                                              : NULL;
  return form ? sn_fail(ctx, SN_BAD_INPUT, "%s is a form of one pose space for all joints: add space=whole", form)
              : SN_OK;
}

// Widths of single poses need a pose space whose centres are the poses.
static sn_status check_sigmas(sn_context *ctx, const sn_correct_options *o, const sn_examples *examples) {
  if (!examples->sigmas || (o->space == SN_SPACE_WHOLE && !o->weighted && o->kernel != SN_RBF_THINPLATE))
    return SN_OK;
  return sn_fail(
    ctx, SN_BAD_INPUT,
    "a pose with a separate sigma (`pose` FRAME=MESH@sigma) goes with one pose space for all: add space=whole "
    "(without weighted=1 or kernel=thinplate)");
}

static sn_status check_options(sn_context *ctx, const sn_correct_options *o, const sn_rt_model *model, int values) {
  if (model->info.correct != SN_RT_CORRECT_NONE)
    return sn_fail(ctx, SN_BAD_INPUT, "the model has corrections already");
  if (o->linear && o->kernel == SN_RBF_SHEPARD)
    return sn_fail(ctx, SN_BAD_INPUT, "kernel=shepard takes no linear term: leave out linear=1");
  if (o->space == SN_SPACE_LOCAL) return check_local(ctx, o);
  if (!o->weighted) return SN_OK;
  if (values > 0)
    return sn_fail(ctx, SN_BAD_INPUT, "weighted=1 weighs joints, and values have no weights: leave it out");
  if (o->kernel != SN_RBF_GAUSS && o->kernel != SN_RBF_BSPLINE)
    return sn_fail(ctx, SN_BAD_INPUT, "weighted=1 goes with kernel=gauss or kernel=bspline");
  if (o->distance == SN_DISTANCE_MAHALANOBIS)
    return sn_fail(ctx, SN_BAD_INPUT, "weighted=1 weighs joints, distance=mahalanobis mixes them: choose one");
  if (o->linear) return sn_fail(ctx, SN_BAD_INPUT, "weighted=1 has no linear term: leave out linear=1");
  if (o->sigma == SN_SIGMA_POSE)
    return sn_fail(ctx, SN_BAD_INPUT, "weighted=1 has one sigma for all poses: auto or a number");
  if (model->info.palette_count != model->info.joint_count)
    return sn_fail(ctx, SN_BAD_INPUT, "weighted=1 needs a skin on the joints alone");
  return SN_OK;
}

// Scales a squared error over the poses to all training frames, and adds the scatter within merged poses.
static double over_frames(const sn_corrector *c, double squared) {
  return squared * c->keys->count / fmax(c->residuals.pose_count - 1, 1) + c->scatter;
}

static double enveloping_error(const sn_corrector *c, double squared) {
  return c->rigid > 0 ? sqrt(over_frames(c, squared) / c->rigid) : 0;
}

// The weights that decide which joints are relevant to a vertex: the file's, or else the model's if it is on joints.
static const sn_skin *skin_on_joints(const sn_corrector *c) {
  if (c->residuals.joint_count == 0) return NULL;
  if (c->examples->skin.vertex_count > 0) return &c->examples->skin;
  return c->model.info.palette_count == c->model.info.joint_count ? &c->residuals.skin : NULL;
}

// The fields kept may raise the cross-validated error by the factor more_error, and lose at most lost_part of the
// squared residual. An rms loss below the option `threshold` is always allowed.
static const double more_error = 1.03, lost_part = 0.0025;

// Bytes of all fields, at most: field_bytes * most_fields per vertex, plus free_bytes.
static const double most_fields = 5, field_bytes = 16, free_bytes = 85000;

static sn_regression regression_of(sn_corrector *c) {
  return (sn_regression){
    .ctx = c->ctx, .memory = &c->memory, .m = &c->residuals, .controls = c->joints, .control_count = c->joint_count};
}

static sn_status make_fields(sn_corrector *c, sn_corrections *out) {
  const sn_correct_options *o = c->options;
  return (o->components > 0 ? sn_eigenskin_fields : o->weighted ? sn_weighted_fields : sn_psd_fields)(c, out);
}

// ---- rate and distortion -----------------------------------------------------------------------------------------------------

typedef struct rated {
  sn_corrector *c;
  sn_regression *r;
  sn_fields *fields;
  sn_plan *plan;
  int patches;
} rated;

static sn_status describe_rated(void *user, bool measured, sn_field_limits *limits, sn_rate *rate) {
  rated *w = user;
  sn_corrector *c = w->c;
  const sn_residuals *m = &c->residuals;
  sn_corrections corrections;
  bool exact = m->joint_count == 0 && !(limits->bytes > 0);
  sn_status status = SN_OK;
  if (!exact && !w->fields)
    status = sn_fields_find(w->r, c->examples->rest.positions, c->options->shapes, &w->fields);
  if (status == SN_OK)
    status = exact ? sn_shapes_make(w->r, &corrections) : sn_fields_make(w->fields, limits, &corrections);
  if (status == SN_OK) status = sn_corrections_limit(c, &corrections);
  if (status == SN_OK) status = sn_correct_describe(c, &corrections, w->plan);
  if (status != SN_OK) return status;
  double squared = w->r->score + (exact ? 0 : limits->lost);
  *rate = (sn_rate){.fields = corrections.basis_count, .cross_validated = enveloping_error(c, squared)};
  rate->rms_pct_diag = 100 * sqrt(over_frames(c, squared) / m->vertex_count / c->keys->count) / m->diagonal;
  w->patches = corrections.field_count;
  if (measured)
    status = sn_plan_measure(c->ctx, w->plan, c->examples, &c->report->limits, &rate->bytes, &rate->ratio);
  if (exact) *limits = (sn_field_limits){0, rate->bytes};
  return status;
}

// Adds the corrections, the ridges and the cross-validated errors to the report.
static void report_learned(const sn_corrector *c, const rated *w, const sn_rate *rate) {
  const sn_regression *r = w->r;
  char *text = c->report->learned, ridges[SN_MOST_CLIPS * 8] = "";
  size_t size = sizeof c->report->learned, used = strlen(text);
  int clips = c->residuals.clip_of[c->residuals.pose_count - 1] + 1;
  for (int k = 0; k < clips && k < SN_MOST_CLIPS; k++) {
    size_t length = strlen(ridges);
    snprintf(ridges + length, sizeof ridges - length, "%s%g", k ? ", " : "", sn_ridge(r->priors.of[k]));
  }
  snprintf(text + used, size - used,
           "%sCorrections: %d displacement fields in %d patch%s, functions of %d %s, ridge %s. ", used ? " " : "",
           rate->fields, w->patches, w->patches == 1 ? "" : "es", r->control_count,
           c->residuals.joint_count == 0  ? "values"
           : c->residuals.value_count > 0 ? "joints and values"
           : r->control_count == 1        ? "joint"
                                          : "joints",
           ridges);
  used = strlen(text);
  if (r->undecided)
    snprintf(text + used, size - used,
             "Cross-validation cannot judge them: the training poses are too few or too different.");
  else if (rate->cross_validated > 0) // without joints there is no enveloping error
    snprintf(text + used, size - used, "Cross-validated error: %.3g, %.3g without them, %.3g with all fields.",
             rate->cross_validated, enveloping_error(c, r->uncorrected), enveloping_error(c, r->score));
}

static sn_status regress(sn_corrector *c, sn_plan *plan) {
  const sn_residuals *m = &c->residuals;
  sn_regression r = regression_of(c);
  rated w = {.c = c, .r = &r, .plan = plan};
  sn_status status = m->joint_count > 0 ? sn_rigid_error(c->ctx, &c->memory, c->examples, c->keys, &c->rigid) : SN_OK;
  if (status == SN_OK) status = sn_regression_choose(&r);
  if (status == SN_OK) status = sn_regression_solve(&r);
  double floor = c->options->threshold / 100 * m->diagonal,
         lost = r.undecided ? 0 : fmin((more_error * more_error - 1) * r.score, lost_part * r.uncorrected);
  sn_field_limits usual = {
    fmax(lost, floor * floor * m->pose_count * m->vertex_count),
    field_bytes * m->vertex_count * (c->options->components ? c->options->components : most_fields) + free_bytes};
  if (c->options->shapes) usual.bytes = 0;
  if (m->joint_count == 0 && !c->options->components) usual = (sn_field_limits){0}; // shapes of values are exact
  if (status == SN_OK) status = sn_rate_choose(c->ctx, describe_rated, &w, usual, c->report);
  if (status != SN_OK) return status;
  if (r.undecided)
    sn_corrector_note(
      c, m->joint_count > 0
           ? "the training poses are too few or too different to hold some out: the ridge is the default, 1e-3. "
           : "the training shapes are too few or too different to hold some out: they are learned as they are. ");
  const sn_rate *rate = c->report->rates;
  while (c->report->rate_count > 0 && !rate->is_chosen) rate++;
  c->report->cross_validated = rate->cross_validated;
  report_learned(c, &w, rate);
  return SN_OK;
}

// Measures the residuals of the plan's model at the training poses and chooses the controls.
static sn_status prepare(sn_corrector *c, const sn_plan *plan) {
  sn_context *ctx = c->ctx;
  sn_status status = sn_local_rotations_make(ctx, &c->memory, c->examples, c->keys, &c->rotations);
  if (status == SN_OK) status = sn_plan_encode(ctx, plan, c->examples, &c->base);
  if (status == SN_OK) status = sn_model_open(ctx, "model", c->base.bytes, c->base.size, &c->model);
  if (status == SN_OK) status = check_options(ctx, c->options, &c->model, c->examples->values.count);
  if (status == SN_OK) status = check_sigmas(ctx, c->options, c->examples);
  if (status == SN_OK) status = sn_residuals_measure(c);
  if (status == SN_OK) status = sn_controls_choose(c);
  if (status != SN_OK) return status;
  sn_poses_merge(c);
  if (c->options->space == SN_SPACE_LOCAL) sn_poses_thin(c);
  c->residuals.weights = skin_on_joints(c);
  return SN_OK;
}

static sn_status run(sn_corrector *c, sn_plan *plan) {
  sn_corrections corrections;
  sn_status status = prepare(c, plan);
  if (status == SN_OK) status = sn_correct_describe_inputs(c, plan);
  if (status != SN_OK || c->options->space == SN_SPACE_LOCAL) return status == SN_OK ? regress(c, plan) : status;
  status = make_fields(c, &corrections);
  return status == SN_OK ? sn_correct_describe(c, &corrections, plan) : status;
}

sn_status sn_correct_plan(sn_context *ctx, const sn_correct_options *options, const sn_examples *examples,
                          const sn_keys *keys, sn_plan *plan, sn_train_report *report) {
  sn_corrector c = {.ctx = ctx,
                    .options = options,
                    .examples = examples,
                    .keys = keys,
                    .report = report,
                    .memory = sn_arena_new(ctx)};
  sn_status status = run(&c, plan);
  sn_skin_free(&c.residuals.skin);
  sn_model_free(&c.base);
  sn_arena_join(&plan->memory, &c.memory);
  return status;
}
