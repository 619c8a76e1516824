// SPDX-License-Identifier: MIT
// `--method auto`: cross-validates the methods and trains the best within the limits on all poses. Without folds: the best fit.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/scope.h"
#include "sinew/eval.h"
#include "train/correct/correct.h"
#include "train/folds.h"

enum { most_candidates = 32 };

// Cross-validation does not separate methods whose errors differ by less than this factor: the smallest model is chosen.
static const double as_good = 1.02;

// A method whose error on the folds so far exceeds this times the least is not trained on the other folds.
static const double far_behind = 1.5;

// Conditions of a candidate: on_values without a skeleton, on_controls with control points, where_limited with any limit.
enum { usual = 0, with_skin = 1, with_torques = 2, where_limited = 4, on_values = 8, on_controls = 16 };

static const struct {
  const char *spec;
  int needs;
} offers[] = {
  {"lbs:weights=given", with_skin},
  {"dqs:weights=given", with_skin},
  {"lbs", usual},
  {"dqs", usual},
  {"helpers", where_limited},
  {"eigenskin", usual},
  {"eigenskin:blend=dualquat", usual},
  {"psd", usual},
  {"psd:blend=dualquat", usual},
  {"rotreg", usual},
  {"torque", with_torques},
  {"eigenskin:blend=dualquat,components=1", where_limited},
  {"eigenskin:blend=dualquat,components=2", where_limited},
  {"rotreg:bones=20,shade=transform", where_limited},
  {"rotreg:shade=transform", where_limited},
  {"psd", on_values},
  {"affine", on_controls},
  {"affine:bones=25", on_controls | where_limited},
  {"affine:bones=50", on_controls | where_limited},
};

typedef struct chooser {
  sn_context *ctx;
  const sn_examples *examples;
  const sn_keys *keys;
  const sn_limits *limits;
  sn_folds folds;
  sn_errors errors[most_candidates]; // validation errors of every candidate on the folds so far
  sn_choice_table *out;
  sn_progress_fn progress; // the caller's
  void *progress_user;
  char task[320]; // the trial that progress shows, and the part of all trials that is done
  double done;
} chooser;

static bool show_trial(void *user, const char *task, double done) {
  const chooser *c = user;
  (void)task, (void)done;
  return c->progress(c->progress_user, c->task, c->done);
}

static void free_errors(chooser *c) {
  for (int n = 0; n < most_candidates; n++) sn_errors_free(&c->errors[n]);
}

static bool is_limited(const chooser *c) {
  return c->limits->bytes > 0 || c->limits->time > 0 || c->limits->error > 0;
}

static sn_status list_candidates(chooser *c) {
  const sn_examples *e = c->examples;
  int driven = e->skeleton.joint_count > 0 ? usual : on_values;
  if (e->control_count > 0 || e->control_target > 0) driven = on_controls;
  int has = driven | (e->skin.vertex_count > 0 ? with_skin : 0) | (e->torques.joint_count > 0 ? with_torques : 0) |
            (is_limited(c) ? where_limited : 0);
  if (driven == on_values && e->values.count == 0)
    return sn_fail(
      c->ctx, SN_BAD_INPUT,
      "what drives the skin? Give `skeleton`, `values` or `controls`; sinew rig finds a skeleton for bare meshes");
  c->out->candidates = SN_NEW(c->ctx, &c->out->memory, sn_candidate, most_candidates);
  if (!c->out->candidates) return c->ctx->error.status;
  for (size_t k = 0; k < sizeof offers / sizeof *offers; k++) {
    if ((offers[k].needs & ~has) || (offers[k].needs & driven) != driven) continue;
    sn_candidate *candidate = &c->out->candidates[c->out->count++];
    *candidate = (sn_candidate){.ratio = NAN};
    SN_TRY(sn_method_parse(c->ctx, offers[k].spec, &candidate->spec));
  }
  return SN_OK;
}

static sn_status measure_model(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples,
                               const sn_keys *keys, sn_errors *sum) {
  SN_FREED_BY(sn_errors_free) sn_errors errors = {0};
  SN_TRY(sn_errors_of_model(ctx, model, &(sn_measured){examples, examples, keys}, false, &errors));
  return sn_errors_add(ctx, sum, &errors);
}

static const char *too_much(const sn_limits *limits, double bytes, double ratio) {
  if (limits->bytes > 0 && bytes > limits->bytes) return "too large";
  return limits->time > 0 && ratio > limits->time ? "too slow" : NULL;
}

static sn_status try_fold(const chooser *c, const sn_fold *fold, sn_candidate *candidate, sn_errors *errors) {
  sn_context *ctx = c->ctx;
  SN_SCRATCH(scratch, ctx);
  int *frames = SN_NEW(ctx, &scratch, int, fold->count);
  if (!frames) return ctx->error.status;
  for (int k = 0; k < fold->count; k++) frames[k] = c->keys->frames[fold->poses[k]];
  sn_keys learned = {.count = fold->outside_count, .frames = frames};
  sn_keys held_out = {.count = fold->count - fold->outside_count, .frames = frames + fold->outside_count};
  SN_FREED_BY(sn_model_free) sn_model bytes = {0};
  sn_rt_model model;
  sn_train_report report = {0};
  sn_status status = sn_train(ctx, &candidate->spec, c->examples, &learned, &bytes, &report);
  candidate->bytes = fmax(candidate->bytes, (double)bytes.size), candidate->seconds += report.seconds;
  SN_TRY(status);
  SN_TRY(sn_model_open(ctx, candidate->spec.text, bytes.bytes, bytes.size, &model));
  SN_TRY(measure_model(ctx, &model, c->examples, &held_out, errors));
  if (c->limits->time > 0 && isnan(candidate->ratio))
    return sn_assess_ratio(ctx, &model, c->examples, &candidate->ratio);
  return SN_OK;
}

// A method that cannot train on these examples is refused with the reason, the middle of "SPEC: reason; advice"; not an error.
static sn_status refuse_failed(sn_context *ctx, sn_candidate *candidate, sn_status status) {
  if (status != SN_BAD_INPUT && status != SN_NOT_CONVERGED && status != SN_UNSUPPORTED) return status;
  const char *colon = strstr(ctx->error.message, ": "), *why = colon ? colon + 2 : ctx->error.message;
  snprintf(candidate->refused, sizeof candidate->refused, "%.*s", (int)strcspn(why, ";"), why);
  ctx->error = (sn_error){0};
  return SN_OK;
}

static void refuse(sn_candidate *candidate, const char *why) {
  snprintf(candidate->refused, sizeof candidate->refused, "%s", why ? why : "");
}

// Trains and validates candidate n on fold f.
static sn_status try_candidate(chooser *c, int f, int n) {
  sn_candidate *candidate = &c->out->candidates[n];
  sn_status status = try_fold(c, &c->folds.folds[f], candidate, &c->errors[n]);
  if (status != SN_OK) return refuse_failed(c->ctx, candidate, status);
  refuse(candidate, too_much(c->limits, candidate->bytes, candidate->ratio));
  if (candidate->refused[0]) return SN_OK;
  SN_TRY(sn_metrics_of(c->ctx, &c->errors[n], &candidate->held_out));
  if (!isfinite(candidate->held_out.rms)) refuse(candidate, "what it gives is not finite");
  candidate->folds = f + 1;
  return SN_OK;
}

// A skin without corrections, with a residual that these would learn.
static bool is_uncorrected(const sn_candidate *one) {
  bool skin = strncmp(one->spec.text, "lbs", 3) == 0 || strncmp(one->spec.text, "dqs", 3) == 0;
  return skin && one->held_out.rms_pct_diag > sn_correct_options_default().threshold;
}

// Without limits corrections come before the error: in a sparse range of motion only a held-out pose shows what it shows, so
// that its correction cannot be judged, and helps new motion all the same.
static bool comes_after(const chooser *c, const sn_candidate *one, const sn_candidate *other) {
  return !is_limited(c) && is_uncorrected(one) && !is_uncorrected(other);
}

// Of the candidates that were tried on `folds` folds; NULL: none.
static const sn_candidate *least_error(const chooser *c, int folds) {
  const sn_candidate *least = NULL;
  for (const sn_candidate *one = c->out->candidates; one < c->out->candidates + c->out->count; one++) {
    if (one->refused[0] || one->folds != folds) continue;
    if (!least || comes_after(c, least, one) ||
        (!comes_after(c, one, least) && one->held_out.rms_pct_diag < least->held_out.rms_pct_diag))
      least = one;
  }
  return least;
}

static sn_status try_all(chooser *c) {
  for (int f = 0; f < c->folds.fold_count; f++) {
    const sn_candidate *least = f > 0 ? least_error(c, f) : NULL;
    double most = least ? far_behind * fmax(least->held_out.rms_pct_diag, c->limits->error) : INFINITY;
    for (int n = 0; n < c->out->count; n++) {
      const sn_candidate *candidate = &c->out->candidates[n];
      bool behind = candidate->folds < f || candidate->held_out.rms_pct_diag > most;
      snprintf(c->task, sizeof c->task, "auto: fold %d of %d, %s", f + 1, c->folds.fold_count, candidate->spec.text);
      c->done = (f + (double)n / c->out->count) / c->folds.fold_count;
      if (!candidate->refused[0] && !behind) SN_TRY(try_candidate(c, f, n));
    }
  }
  return SN_OK;
}

// Tries all candidates with the progress of all trials, not of each.
static sn_status try_all_shown(chooser *c) {
  sn_context *ctx = c->ctx;
  c->progress = ctx->progress, c->progress_user = ctx->progress_user;
  if (c->progress) ctx->progress = show_trial, ctx->progress_user = c;
  sn_status status = try_all(c);
  ctx->progress = c->progress, ctx->progress_user = c->progress_user;
  return status;
}

// The smallest model within `as_good` of the least error; with limits->error the smallest below it. NULL: none. Considers
// candidates with fewer folds only if those with more were refused.
static sn_candidate *best_of(const chooser *c) {
  sn_candidate *best = NULL;
  for (int folds = c->folds.fold_count; !best && folds > 0; folds--) {
    const sn_candidate *least = least_error(c, folds);
    double most = c->limits->error > 0 ? c->limits->error : least ? least->held_out.rms_pct_diag * as_good : 0;
    for (int n = 0; least && n < c->out->count; n++) {
      sn_candidate *candidate = &c->out->candidates[n];
      if (candidate->refused[0] || candidate->folds != folds || candidate->held_out.rms_pct_diag > most) continue;
      if (comes_after(c, candidate, least)) continue;
      if (!best || candidate->bytes < best->bytes) best = candidate;
    }
  }
  return best;
}

static sn_status fail_none(const chooser *c) {
  const sn_candidate *least = NULL, *first = c->out->candidates;
  for (int folds = c->folds.fold_count; !least && folds > 0; folds--) least = least_error(c, folds);
  if (!least && (c->limits->bytes > 0 || c->limits->time > 0))
    return sn_fail(c->ctx, SN_BAD_INPUT, "method auto: no method stays within the limits; give larger ones");
  if (!least)
    return sn_fail(c->ctx, SN_BAD_INPUT, "method auto: no method suits; %s: %s", first->spec.text, first->refused);
  return sn_fail(
    c->ctx, SN_BAD_INPUT, "method auto: no method reaches an error of %g %% on %s poses; the least is %.3g %% of %s",
    c->limits->error, c->out->is_fit ? "the training" : "held-out", least->held_out.rms_pct_diag, least->spec.text);
}

static const char fit_note[] =
  "auto takes what fits the training poses best: too few differ from the rest pose to hold some out. Add poses. ";

// Trains the best on all poses; if it exceeds the limits, the next best.
static sn_status train_best(const chooser *c, sn_model *out, sn_train_report *report) {
  for (;;) {
    sn_candidate *best = best_of(c);
    sn_rt_model model;
    if (!best && c->out->count == 1 && isfinite(c->out->candidates->held_out.rms) && !is_limited(c)) {
      best = c->out->candidates; // the only one, and every pose is needed: its own error tells what is wrong
      best->refused[0] = 0, best->held_out.ee = best->held_out.rms_pct_diag = NAN, c->out->is_fit = true;
    }
    if (!best) return fail_none(c);
    SN_TRY(sn_train(c->ctx, &best->spec, c->examples, c->keys, out, report));
    SN_TRY(sn_model_open(c->ctx, best->spec.text, out->bytes, out->size, &model));
    if (c->limits->time > 0) SN_TRY(sn_assess_ratio(c->ctx, &model, c->examples, &best->ratio));
    best->bytes = (double)out->size, best->seconds += report->seconds;
    const char *why = too_much(c->limits, best->bytes, best->ratio);
    if (!why) {
      size_t used = strlen(report->note);
      if (c->out->is_fit)
        snprintf(report->note + used, sizeof report->note - used, "%s%s",
                 used && report->note[used - 1] != ' ' ? ". " : "", fit_note);
      report->cross_validated = c->out->is_fit ? 0 : fmax(report->cross_validated, fmax(best->held_out.ee, 0));
      c->out->chosen = best;
      return SN_OK;
    }
    refuse(best, why);
    sn_model_free(out);
  }
}

sn_status sn_train_chosen(sn_context *ctx, const sn_examples *examples, const sn_keys *keys, sn_choice_table *table,
                          sn_model *out, sn_train_report *report) {
  *table = (sn_choice_table){.limits = table->limits, .memory = sn_arena_new(ctx)};
  *out = (sn_model){0}, *report = (sn_train_report){0};
  if (keys->count == 0) return sn_fail(ctx, SN_BAD_INPUT, "no frames to train on; see `keys`");
  SN_FREED_BY(free_errors)
  chooser c = {.ctx = ctx, .examples = examples, .keys = keys, .limits = &table->limits, .out = table};
  SN_TRY(list_candidates(&c));
  SN_TRY(sn_folds_of_moved(ctx, &table->memory, examples, keys, &c.folds));
  table->is_fit = c.folds.fold_count == 1;
  SN_TRY(try_all_shown(&c));
  return train_best(&c, out, report);
}

void sn_choice_table_free(sn_choice_table *table) { sn_arena_free(&table->memory); }
