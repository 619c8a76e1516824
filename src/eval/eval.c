// SPDX-License-Identifier: MIT
// Scores of a model on training, test and all frames; leave-one-out cross-validation.
#include "sinew/eval.h"

#include <math.h>

#include "base/scope.h"
#include "train/folds.h"

static void store_frame_rms(const sn_errors *errors, const sn_keys *keys, double *frame_rms) {
  for (int k = 0; k < keys->count; k++)
    frame_rms[keys->frames[k]] = sqrt(errors->frame_squared[k] / errors->vertex_count);
}

// ---- a model --------------------------------------------------------------------------------------------------------

// How many of the ascending frames lie before the test clips; 0 without test clips.
static int count_between(const sn_examples *examples, const sn_keys *test) {
  int count = 0;
  if (examples->test_frame_count == 0) return 0;
  while (count < test->count && test->frames[count] < examples->frames.frame_count - examples->test_frame_count)
    count++;
  return count;
}

// Errors of training frames, of other frames of the training clips, and of test frames.
typedef struct parts {
  sn_keys keys[3];
  sn_errors errors[3];
} parts;

static parts split(const sn_examples *examples, const sn_keys *train, const sn_keys *test) {
  int between = count_between(examples, test);
  parts p = {.keys = {{.count = train->count, .frames = train->frames}, {.count = between, .frames = test->frames}}};
  p.keys[2] = (sn_keys){.count = test->count - between, .frames = test->frames + between};
  return p;
}

static void free_errors(parts *p) {
  for (int k = 0; k < 3; k++) sn_errors_free(&p->errors[k]);
}

static sn_status score(sn_context *ctx, const parts *p, sn_scores *out, double *frame_rms) {
  sn_metrics *const metrics[3] = {&out->train, &out->between, &out->test};
  SN_FREED_BY(sn_errors_free) sn_errors all = {0};
  for (int k = 0; k < 3; k++) {
    SN_TRY(sn_metrics_of(ctx, &p->errors[k], metrics[k]));
    if (frame_rms) store_frame_rms(&p->errors[k], &p->keys[k], frame_rms);
    if (p->errors[k].frame_count > 0) SN_TRY(sn_errors_add(ctx, &all, &p->errors[k]));
  }
  for (int k = 0; k < 3; k++)
    if (p->errors[k].frame_count == all.frame_count) { // all frames are in one part
      out->all = *metrics[k];
      return SN_OK;
    }
  return sn_metrics_of(ctx, &all, &out->all);
}

static sn_status measure(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples, parts *p) {
  for (int k = 0; k < 3; k++)
    if (p->keys[k].count > 0)
      SN_TRY(sn_errors_of_model(ctx, model, &(sn_measured){examples, examples, &p->keys[k]}, true, &p->errors[k]));
  return SN_OK;
}

sn_status sn_assess(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples,
                    const sn_scored_frames *frames, sn_scores *out) {
  SN_FREED_BY(free_errors) parts p = split(examples, frames->train, frames->test);
  SN_TRY(measure(ctx, model, examples, &p));
  return score(ctx, &p, out, frames->frame_rms);
}

sn_status sn_assess_figures(sn_context *ctx, const sn_rt_model *model, const sn_measured *of, sn_arena *memory,
                            sn_figures *out) {
  const sn_examples *truth = of->truth;
  int frames = truth->frames.frame_count;
  sn_keys all = {.count = frames, .frames = SN_NEW(ctx, memory, int, frames)};
  const sn_keys *keys = of->keys ? of->keys : &all;
  SN_FREED_BY(sn_errors_free) sn_errors errors = {0};
  *out = (sn_figures){.frame_rms = SN_NEW(ctx, memory, double, frames),
                      .vertex_rms = SN_NEW(ctx, memory, double, truth->rest.vertex_count)};
  if (!all.frames || !out->frame_rms || !out->vertex_rms) return ctx->error.status;
  for (int f = 0; f < frames; f++) all.frames[f] = f;
  SN_TRY(sn_errors_of_model(ctx, model, &(sn_measured){of->input, truth, keys}, true, &errors));
  SN_TRY(sn_metrics_of(ctx, &errors, &out->error));
  store_frame_rms(&errors, keys, out->frame_rms);
  for (int s = errors.vertex_count - 1; keys->count > 0 && s >= 0; s--) // at a seam, the first file vertex counts
    out->vertex_rms[sn_examples_vertex(truth, s)] = sqrt(errors.squared[s] / keys->count);
  return SN_OK;
}

// ---- a method without a model ---------------------------------------------------------------------------------------

// Normals for positions in the order of the rest file.
static sn_status predicted_normals(sn_context *ctx, const sn_examples *examples, const sn_frames *positions,
                                   sn_frames *out) {
  SN_SCRATCH(scratch, ctx);
  float(*welded)[3] = sn_arena_alloc(ctx, &scratch, (size_t)examples->rest.vertex_count, sizeof *welded);
  if (!welded) return ctx->error.status;
  SN_TRY(sn_frames_new(ctx, positions->vertex_count, positions->frame_count, out));
  for (int f = 0; f < positions->frame_count; f++) {
    sn_examples_from_file(examples, sn_frame(positions, f), sizeof *welded, welded);
    sn_examples_normals(examples, (const float(*)[3])welded, sn_frame_mutable(out, f));
  }
  return SN_OK;
}

// Errors of all parts, predicted by one training.
static sn_status measure_predictions(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples,
                                     parts *p, sn_train_report *report) {
  SN_SCRATCH(scratch, ctx);
  sn_keys predicted = {.frames = SN_NEW(ctx, &scratch, int, p->keys[0].count + p->keys[1].count + p->keys[2].count)};
  SN_FREED_BY(sn_frames_free) sn_frames positions = {0};
  SN_FREED_BY(sn_frames_free) sn_frames normals = {0};
  if (!predicted.frames) return ctx->error.status;
  for (int k = 0; k < 3; k++)
    for (int n = 0; n < p->keys[k].count; n++) predicted.frames[predicted.count++] = p->keys[k].frames[n];
  double start = sn_seconds();
  SN_TRY(sn_train_predict(ctx, spec, examples, &p->keys[0], &predicted, &positions));
  *report = (sn_train_report){.seconds = sn_seconds() - start};
  SN_TRY(predicted_normals(ctx, examples, &positions, &normals));
  for (int k = 0; k < 3; k++) {
    if (p->keys[k].count > 0)
      SN_TRY(sn_errors_measure(ctx, examples, &p->keys[k], &positions, &normals, &p->errors[k]));
    positions.positions += (size_t)p->keys[k].count * (size_t)positions.vertex_count; // of the next part
    normals.positions += (size_t)p->keys[k].count * (size_t)normals.vertex_count;
  }
  return SN_OK;
}

sn_status sn_assess_predict(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples,
                            const sn_scored_frames *frames, sn_scores *out, sn_train_report *report) {
  SN_FREED_BY(free_errors) parts p = split(examples, frames->train, frames->test);
  SN_TRY(measure_predictions(ctx, spec, examples, &p, report));
  return score(ctx, &p, out, frames->frame_rms);
}

// ---- leave one out --------------------------------------------------------------------------------------------------

typedef struct loocv {
  const sn_method_spec *spec;
  const sn_examples *examples;
  const sn_keys *keys;
  sn_folds folds;
  sn_metrics *train; // of every fold
  sn_errors *test;
  double *seconds;
  sn_arena memory;
} loocv;

static void free_loocv(loocv *l) {
  for (int n = 0; l->test && n < l->keys->count; n++) sn_errors_free(&l->test[n]);
  sn_arena_free(&l->memory);
}

static sn_status train_and_measure(sn_context *ctx, const loocv *l, parts *p, sn_train_report *report) {
  if (sn_method_has_no_model(l->spec)) return measure_predictions(ctx, l->spec, l->examples, p, report);
  SN_FREED_BY(sn_model_free) sn_model model = {0};
  sn_rt_model opened;
  SN_TRY(sn_train(ctx, l->spec, l->examples, &p->keys[0], &model, report));
  SN_TRY(sn_model_open(ctx, "model", model.bytes, model.size, &opened));
  return measure(ctx, &opened, l->examples, p);
}

static sn_status run_fold(sn_context *ctx, sn_arena *memory, void *user, int n) {
  const loocv *l = user;
  const sn_fold *fold = &l->folds.folds[n];
  int *frames = SN_NEW(ctx, memory, int, fold->count);
  sn_train_report report = {0};
  if (!frames) return ctx->error.status;
  for (int k = 0; k < fold->count; k++) frames[k] = l->keys->frames[fold->poses[k]];
  SN_FREED_BY(free_errors)
  parts p = {.keys = {{.count = fold->outside_count, .frames = frames},
                      {.count = 0},
                      {.count = 1, .frames = frames + fold->outside_count}}};
  sn_status status = train_and_measure(ctx, l, &p, &report);
  if (status == SN_OK) status = sn_metrics_of(ctx, &p.errors[0], &l->train[n]);
  l->test[n] = p.errors[2], p.errors[2] = (sn_errors){0}, l->seconds[n] = report.seconds;
  return status == SN_OK ? SN_OK : sn_fail_prefix(ctx, "without frame %d: ", p.keys[2].frames[0]);
}

// Mean of every training metric over the folds.
static sn_metrics mean_metrics(const sn_metrics *folds, int count) {
  sn_metrics m = {folds[0].frame_count, 0, 0, 0, 0, 0, 0, 0, 0};
  for (const sn_metrics *t = folds; t < folds + count; t++) {
    m.rms += t->rms / count, m.rms_pct_diag += t->rms_pct_diag / count, m.p99_pct_diag += t->p99_pct_diag / count;
    m.e_rms += t->e_rms / count, m.ee += t->ee / count, m.std_pct_diag += t->std_pct_diag / count;
    m.max_pct_diag += t->max_pct_diag / count, m.normal_deg += t->normal_deg / count;
  }
  return m;
}

sn_status sn_assess_loocv(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples,
                          const sn_keys *keys, sn_scores *out, double *seconds) {
  int count = keys->count;
  if (count < 2) return sn_fail(ctx, SN_BAD_INPUT, "leave-one-out needs at least two frames");
  SN_FREED_BY(free_loocv)
  loocv l = {.spec = spec, .examples = examples, .keys = keys, .memory = sn_arena_new(ctx)};
  l.train = SN_NEW(ctx, &l.memory, sn_metrics, count), l.test = SN_NEW(ctx, &l.memory, sn_errors, count);
  l.seconds = SN_NEW(ctx, &l.memory, double, count);
  int *fold_of = SN_NEW(ctx, &l.memory, int, count);
  SN_FREED_BY(sn_errors_free) sn_errors all = {0};
  sn_metrics held_out;
  if (!l.train || !l.test || !l.seconds || !fold_of) return ctx->error.status;
  for (int k = 0; k < count; k++) fold_of[k] = k;
  SN_TRY(sn_folds_make(ctx, &l.memory, count, fold_of, count, &l.folds));
  SN_TRY(sn_folds_run(ctx, &l.folds, run_fold, &l));
  for (int k = 0; k < count; k++) SN_TRY(sn_errors_add(ctx, &all, &l.test[k]));
  SN_TRY(sn_metrics_of(ctx, &all, &held_out));
  out->train = mean_metrics(l.train, count);
  if (examples->test_frame_count > 0)
    out->between = held_out;
  else
    out->test = out->all = held_out;
  *seconds = 0;
  for (int k = 0; k < count; k++) *seconds += l.seconds[k];
  return SN_OK;
}
