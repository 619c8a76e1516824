// SPDX-License-Identifier: MIT
// `--method auto`: every method is trained without a part of the poses and asked about that part; the best that may be afforded is
// trained on all of them.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sinew/eval.h"
#include "train/folds.h"

// Three trainings on two thirds of the poses and one on all of them are about three of the method.
enum { fold_count = 3, most_candidates = 32, timing_rounds = 3 };

// Poses nearer to each other than this part of the largest distance are left out together. From the generated athlete's animation to
// another, which leaves psd 0.245 and rotreg 0.197: with 0.5 poses left out say 0.186 and 0.194, with 0.25 they say 0.092 and 0.118.
static const double alike = 0.5;

// Of methods so near to the least error, which poses left out cannot tell apart, the smallest model is taken. With 1.05 what was given away on poses left
// out came back as 5.6 % on new motion (cheburashka, range of motion and animation to another).
static const double as_good = 1.02;

// A method whose error on the parts so far is more than this times the least is not asked about the others: with it the choice below is the
// same on all pairs measured (docs/methods/README.md), and takes half the time.
static const double far_behind = 1.5;

// ---- who is asked -----------------------------------------------------------------------------------------------------

// When a candidate is tried.
enum { usual = 0, with_skin = 1, with_torques = 2, where_limited = 4 };

typedef struct offer {
  const char *spec;
  int needs;
} offer;

// Of a skeleton.
static const offer offers[] = {
  {"lbs:weights=given", with_skin},
  {"dqs:weights=given", with_skin},
  {"lbs", usual},
  {"dqs", usual},
  {"eigenskin", usual},
  {"eigenskin:blend=dualquat", usual},
  {"psd", usual},
  {"psd:blend=dualquat", usual},
  {"rotreg", usual},
  {"torque", with_torques},
  {"eigenskin:blend=dualquat,components=1", where_limited},
  {"eigenskin:blend=dualquat,components=2", where_limited},
  {"rotreg:bones=20,remainder=none,shade=transform", where_limited},
  {"rotreg:remainder=none,shade=transform", where_limited},
  {0},
};

// Of control points.
static const offer control_offers[] = {
  {"affine", usual},
  {"affine:bones=25", where_limited},
  {"affine:bones=50", where_limited},
  {0},
};

typedef struct chooser {
  sn_context *ctx;
  sn_arena *memory;
  const sn_examples *examples;
  const sn_keys *keys;
  const sn_limits *limits;
  sn_folds folds;
  sn_errors errors[most_candidates]; // of every candidate, on the parts left out so far
  sn_choice_table *out;
} chooser;

static sn_status list_candidates(chooser *c) {
  const sn_examples *e = c->examples;
  const sn_limits *limits = c->limits;
  bool joints = e->skeleton.joint_count > 0, limited = limits->bytes > 0 || limits->time > 0 || limits->error > 0;
  if (!joints && e->control_count == 0 && e->controls_wanted == 0)
    return sn_fail(c->ctx, SN_BAD_INPUT, "method auto needs `skeleton` FILE, or `controls`");
  c->out->candidates = SN_NEW(c->ctx, c->memory, sn_candidate, most_candidates);
  if (!c->out->candidates) return c->ctx->error.status;
  for (const offer *o = joints ? offers : control_offers; o->spec; o++) {
    if ((o->needs & with_skin) && e->skin.vertex_count == 0) continue;
    if ((o->needs & with_torques) && e->torques.joint_count == 0) continue;
    if ((o->needs & where_limited) && !limited) continue;
    sn_candidate *candidate = &c->out->candidates[c->out->count++];
    *candidate = (sn_candidate){.ratio = NAN};
    sn_status status = sn_method_parse(c->ctx, o->spec, &candidate->spec);
    if (status != SN_OK) return status;
  }
  return SN_OK;
}

// ---- poses left out -----------------------------------------------------------------------------------------------------

// Squared angles between the joints' turns against their parents in two poses, together.
static double turn_distance(const sn_examples *e, int f, int g) {
  double sum = 0;
  for (int j = 0; j < e->skeleton.joint_count; j++) {
    int parent = e->skeleton.parents[j];
    sn_mat3 turn[2];
    for (int k = 0; parent >= 0 && k < 2; k++) {
      const sn_affine *pose = sn_pose(&e->poses, k ? g : f);
      sn_mat3 own, base;
      sn_mat3_polar(sn_affine_linear(pose[j]), &own, NULL);
      sn_mat3_polar(sn_affine_linear(pose[parent]), &base, NULL);
      turn[k] = sn_mat3_mul(sn_mat3_transpose(base), own);
    }
    double angle = parent >= 0 ? sn_rotation_angle(turn[0], turn[1]) : 0;
    sum += angle * angle;
  }
  return sqrt(sum);
}

static double shape_distance(const sn_examples *e, int f, int g) {
  const float(*a)[3] = sn_frame(&e->frames, f), (*b)[3] = sn_frame(&e->frames, g);
  double sum = 0;
  for (int i = 0; i < e->rest.vertex_count; i++) {
    double d = sn_vec3_distance(sn_vec3_from(a[i]), sn_vec3_from(b[i]));
    sum += d * d;
  }
  return sqrt(sum);
}

// A range of motion is near the rest pose most of the time, and all of that, left out at once, leaves nothing to answer from (the generated
// athlete's: dqs with the given skin was chosen, 0.58 on its animation, where psd has 0.14). So no part has more than half of the poses.
enum { most_halvings = 6 };

static int most_left_out(const sn_folds *folds) {
  int most = 0;
  for (int n = 0; n < folds->fold_count; n++) {
    int count = folds->folds[n].count - folds->folds[n].outside_count;
    if (count > most) most = count;
  }
  return most;
}

static sn_status make_folds(chooser *c) {
  int poses = c->keys->count;
  double largest = 0, *distances = SN_NEW(c->ctx, c->memory, double, (size_t)poses *(size_t)poses);
  if (!distances) return c->ctx->error.status;
  for (int p = 0; p < poses; p++)
    for (int q = 0; q < p; q++) {
      int f = c->keys->frames[p], g = c->keys->frames[q];
      double d = (c->examples->skeleton.joint_count > 0 ? turn_distance : shape_distance)(c->examples, f, g);
      distances[p * poses + q] = distances[q * poses + p] = d;
      largest = fmax(largest, d);
    }
  double radius = alike * largest;
  sn_status status = sn_folds_similar(c->ctx, c->memory, poses, distances, radius, fold_count, &c->folds);
  for (int n = 0; status == SN_OK && most_left_out(&c->folds) > poses / 2 && n < most_halvings; n++)
    status = sn_folds_similar(c->ctx, c->memory, poses, distances, radius /= 2, fold_count, &c->folds);
  return status;
}

// ---- one candidate --------------------------------------------------------------------------------------------------------

static sn_status measure_model(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples,
                               const sn_keys *keys, sn_errors *sum) {
  sn_frames positions = {0};
  sn_errors errors = {0};
  sn_status status = sn_assess_evaluate(ctx, model, examples, keys, &positions, NULL);
  if (status == SN_OK) status = sn_errors_measure(ctx, examples, keys, &positions, NULL, &errors);
  if (status == SN_OK) status = sn_errors_add(ctx, sum, &errors);
  sn_errors_free(&errors);
  sn_frames_free(&positions);
  return status;
}

static double middle(double a, double b, double c) { return fmax(fmin(a, b), fmin(fmax(a, b), c)); }

// The model and linear blend skinning take turns, so that a disturbance of the machine falls on both.
static sn_status measure_ratio(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples, double *out) {
  sn_model plain = {0};
  sn_rt_model lbs;
  double ratios[timing_rounds] = {0};
  sn_status status = sn_assess_plain_lbs(ctx, model, &plain);
  if (status == SN_OK) status = sn_model_open(ctx, "lbs", plain.bytes, plain.size, &lbs);
  for (int r = 0; status == SN_OK && r < timing_rounds; r++) {
    sn_timing own, other;
    status = sn_assess_time(ctx, model, examples, true, 0.05, &own);
    if (status == SN_OK) status = sn_assess_time(ctx, &lbs, NULL, true, 0.05, &other);
    if (status == SN_OK) ratios[r] = own.median / other.median;
  }
  if (status == SN_OK) *out = middle(ratios[0], ratios[1], ratios[2]);
  sn_model_free(&plain);
  return status;
}

static const char *too_much(const sn_limits *limits, double bytes, double ratio) {
  if (limits->bytes > 0 && bytes > limits->bytes) return "too large";
  return limits->time > 0 && ratio > limits->time ? "too slow" : NULL;
}

static sn_status try_fold(const chooser *c, const sn_fold *fold, sn_candidate *candidate, sn_errors *errors) {
  sn_context *ctx = c->ctx;
  sn_arena scratch = sn_arena_new(ctx);
  int *frames = SN_NEW(ctx, &scratch, int, fold->count);
  sn_status status = frames ? SN_OK : ctx->error.status;
  for (int k = 0; status == SN_OK && k < fold->count; k++) frames[k] = c->keys->frames[fold->poses[k]];
  sn_keys learned = {.count = fold->outside_count, .frames = frames};
  sn_keys asked = {.count = fold->count - fold->outside_count,
                   .frames = frames ? frames + fold->outside_count : NULL};
  sn_model bytes = {0};
  sn_rt_model model;
  sn_train_report report = {0};
  if (status == SN_OK) status = sn_train(ctx, &candidate->spec, c->examples, &learned, &bytes, &report);
  if (status == SN_OK) status = sn_model_open(ctx, candidate->spec.text, bytes.bytes, bytes.size, &model);
  if (status == SN_OK) status = measure_model(ctx, &model, c->examples, &asked, errors);
  if (status == SN_OK && c->limits->time > 0 && isnan(candidate->ratio))
    status = measure_ratio(ctx, &model, c->examples, &candidate->ratio);
  candidate->bytes = fmax(candidate->bytes, (double)bytes.size), candidate->seconds += report.seconds;
  sn_model_free(&bytes);
  sn_arena_free(&scratch);
  return status;
}

// What the method cannot be trained on is no reason to stop.
static sn_status forgive(sn_context *ctx, sn_candidate *candidate, sn_status status) {
  if (status != SN_BAD_INPUT && status != SN_NOT_CONVERGED && status != SN_UNSUPPORTED) return status;
  snprintf(candidate->refused, sizeof candidate->refused, "%.*s", (int)sizeof candidate->refused - 1,
           ctx->error.message);
  ctx->error = (sn_error){0};
  return SN_OK;
}

static void refuse(sn_candidate *candidate, const char *why) {
  snprintf(candidate->refused, sizeof candidate->refused, "%s", why ? why : "");
}

// Asks the n-th candidate about a part.
static sn_status ask(chooser *c, int part, int n) {
  sn_candidate *candidate = &c->out->candidates[n];
  sn_status status = try_fold(c, &c->folds.folds[part], candidate, &c->errors[n]);
  if (status != SN_OK) return forgive(c->ctx, candidate, status);
  refuse(candidate, too_much(c->limits, candidate->bytes, candidate->ratio));
  if (candidate->refused[0]) return SN_OK;
  const sn_mesh *rest = &c->examples->rest;
  double diagonal = sn_points_diagonal((const float(*)[3])rest->positions, rest->vertex_count);
  status = sn_metrics_of(c->ctx, &c->errors[n], diagonal, &candidate->left_out);
  if (status == SN_OK && !isfinite(candidate->left_out.rms)) refuse(candidate, "what it gives is not finite");
  candidate->parts = part + 1;
  return status;
}

// Of the candidates that were asked about `parts` parts.
static double least_error(const chooser *c, int parts) {
  double least = INFINITY;
  for (int n = 0; n < c->out->count; n++) {
    const sn_candidate *candidate = &c->out->candidates[n];
    if (!candidate->refused[0] && candidate->parts == parts) least = fmin(least, candidate->left_out.rms_pct_diag);
  }
  return least;
}

static sn_status ask_all(chooser *c) {
  sn_status status = SN_OK;
  for (int part = 0; part < c->folds.fold_count; part++) {
    double most = part > 0 ? far_behind * fmax(least_error(c, part), c->limits->error) : INFINITY;
    for (int n = 0; status == SN_OK && n < c->out->count; n++) {
      const sn_candidate *candidate = &c->out->candidates[n];
      bool behind = candidate->parts < part || candidate->left_out.rms_pct_diag > most;
      if (!candidate->refused[0] && !behind) status = ask(c, part, n);
    }
  }
  return status;
}

// ---- the choice --------------------------------------------------------------------------------------------------------

// Of those as good as the one with the least error the smallest; with limits->error the smallest that stays below it. NULL: none. Those
// that were far behind are asked where all others were refused.
static sn_candidate *best_of(const chooser *c) {
  sn_candidate *best = NULL;
  for (int parts = c->folds.fold_count; !best && parts > 0; parts--) {
    double most = c->limits->error > 0 ? c->limits->error : least_error(c, parts) * as_good;
    for (int n = 0; n < c->out->count; n++) {
      sn_candidate *candidate = &c->out->candidates[n];
      if (candidate->refused[0] || candidate->parts != parts) continue;
      if (!(candidate->left_out.rms_pct_diag <= most)) continue;
      if (!best || candidate->bytes < best->bytes) best = candidate;
    }
  }
  return best;
}

static sn_status fail_none(const chooser *c) {
  const sn_candidate *least = NULL;
  for (int n = 0; n < c->out->count; n++) {
    const sn_candidate *candidate = &c->out->candidates[n];
    if (candidate->refused[0]) continue;
    bool better =
      !least || candidate->parts > least->parts ||
      (candidate->parts == least->parts && candidate->left_out.rms_pct_diag < least->left_out.rms_pct_diag);
    if (better) least = candidate;
  }
  if (!least)
    return sn_fail(c->ctx, SN_BAD_INPUT, "method auto: no method stays within the limits; give larger ones");
  return sn_fail(c->ctx, SN_BAD_INPUT,
                 "method auto: no method reaches an error of %g %% on poses left out; the least is %.3g %% of %s",
                 c->limits->error, least->left_out.rms_pct_diag, least->spec.text);
}

// Trains the best on all poses; one that turns out too large or slow makes way for the next.
static sn_status train_best(const chooser *c, sn_model *out, sn_train_report *report) {
  for (;;) {
    sn_candidate *best = best_of(c);
    sn_rt_model model;
    if (!best) return fail_none(c);
    sn_status status = sn_train(c->ctx, &best->spec, c->examples, c->keys, out, report);
    if (status == SN_OK) status = sn_model_open(c->ctx, best->spec.text, out->bytes, out->size, &model);
    if (status == SN_OK && c->limits->time > 0) status = measure_ratio(c->ctx, &model, c->examples, &best->ratio);
    if (status != SN_OK) return status;
    best->bytes = (double)out->size, best->seconds += report->seconds;
    const char *why = too_much(c->limits, best->bytes, best->ratio);
    if (!why) {
      report->cross_validated = fmax(report->cross_validated, best->left_out.ee > 0 ? best->left_out.ee : 0);
      c->out->chosen = best;
      return SN_OK;
    }
    refuse(best, why);
    sn_model_free(out);
  }
}

sn_status sn_train_chosen(sn_context *ctx, const sn_examples *examples, const sn_keys *keys, const sn_limits *limits,
                          sn_arena *memory, sn_choice_table *table, sn_model *out, sn_train_report *report) {
  *table = (sn_choice_table){0}, *out = (sn_model){0}, *report = (sn_train_report){0};
  chooser c = {.ctx = ctx, .memory = memory, .examples = examples, .keys = keys, .limits = limits, .out = table};
  sn_status status = keys->count > 0 ? SN_OK : sn_fail(ctx, SN_BAD_INPUT, "no frames to train on; see `keys`");
  if (status == SN_OK) status = list_candidates(&c);
  if (status == SN_OK) status = make_folds(&c);
  if (status == SN_OK) status = ask_all(&c);
  for (int n = 0; n < most_candidates; n++) sn_errors_free(&c.errors[n]);
  return status == SN_OK ? train_best(&c, out, report) : status;
}
