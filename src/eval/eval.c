// SPDX-License-Identifier: MIT
// Scores of a model on training, test and all frames; leave-one-out cross-validation.
#include "sinew/eval.h"

#include <math.h>
#include <string.h>

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

// Scores of the parts. Frees their errors.
static sn_status score(sn_context *ctx, sn_status status, parts *p, sn_scores *out, double *frame_rms) {
  sn_metrics *const metrics[3] = {&out->train, &out->between, &out->test};
  sn_errors all = {0};
  for (int k = 0; status == SN_OK && k < 3; k++) {
    status = sn_metrics_of(ctx, &p->errors[k], metrics[k]);
    if (frame_rms) store_frame_rms(&p->errors[k], &p->keys[k], frame_rms);
    if (status == SN_OK && p->errors[k].frame_count > 0) status = sn_errors_add(ctx, &all, &p->errors[k]);
  }
  bool one = false; // all frames are in one part
  for (int k = 0; status == SN_OK && k < 3; k++)
    if (p->errors[k].frame_count == all.frame_count) out->all = *metrics[k], one = true;
  if (status == SN_OK && !one) status = sn_metrics_of(ctx, &all, &out->all);
  free_errors(p);
  sn_errors_free(&all);
  return status;
}

static sn_status measure(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples, parts *p) {
  sn_status status = SN_OK;
  for (int k = 0; status == SN_OK && k < 3; k++)
    if (p->keys[k].count > 0)
      status = sn_errors_of_model(ctx, model, &(sn_measured){examples, examples, &p->keys[k]}, true, &p->errors[k]);
  return status;
}

sn_status sn_assess(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples,
                    const sn_scored_frames *frames, sn_scores *out) {
  parts p = split(examples, frames->train, frames->test);
  return score(ctx, measure(ctx, model, examples, &p), &p, out, frames->frame_rms);
}

sn_status sn_assess_figures(sn_context *ctx, const sn_rt_model *model, const sn_measured *of, sn_arena *memory,
                            sn_figures *out) {
  const sn_examples *truth = of->truth;
  int frames = truth->frames.frame_count;
  sn_keys all = {.count = frames, .frames = SN_NEW(ctx, memory, int, frames)};
  const sn_keys *keys = of->keys ? of->keys : &all;
  sn_errors errors = {0};
  *out = (sn_figures){.frame_rms = SN_NEW(ctx, memory, double, frames),
                      .vertex_rms = SN_NEW(ctx, memory, double, truth->rest.vertex_count)};
  if (!all.frames || !out->frame_rms || !out->vertex_rms) return ctx->error.status;
  for (int f = 0; f < frames; f++) all.frames[f] = f;
  sn_status status = sn_errors_of_model(ctx, model, &(sn_measured){of->input, truth, keys}, true, &errors);
  if (status == SN_OK) status = sn_metrics_of(ctx, &errors, &out->error);
  if (status == SN_OK) store_frame_rms(&errors, keys, out->frame_rms);
  for (int s = errors.vertex_count - 1; keys->count > 0 && s >= 0; s--) // at a seam, the first file vertex counts
    out->vertex_rms[truth->source ? truth->source[s] : s] = sqrt(errors.squared[s] / keys->count);
  sn_errors_free(&errors);
  return status;
}

// ---- a method without a model ---------------------------------------------------------------------------------------

// Normals for positions in the order of the rest file.
static sn_status predicted_normals(sn_context *ctx, const sn_examples *examples, const sn_frames *positions,
                                   sn_frames *out) {
  sn_arena scratch = sn_arena_new(ctx);
  float(*welded)[3] = sn_arena_alloc(ctx, &scratch, (size_t)examples->rest.vertex_count, sizeof *welded);
  sn_status status = welded ? SN_OK : ctx->error.status;
  if (status == SN_OK) status = sn_frames_new(ctx, positions->vertex_count, positions->frame_count, out);
  for (int f = 0; status == SN_OK && f < positions->frame_count; f++) {
    sn_examples_from_file(examples, sn_frame(positions, f), sizeof *welded, welded);
    sn_examples_normals(examples, (const float(*)[3])welded, sn_frame_mutable(out, f));
  }
  sn_arena_free(&scratch);
  return status;
}

static sn_status measure_part(sn_context *ctx, const sn_examples *examples, const sn_keys *keys,
                              const sn_frames all[2], int first, sn_errors *out) {
  *out = (sn_errors){0};
  if (keys->count == 0) return SN_OK;
  sn_frames part[2] = {all[0], all[1]}; // positions and normals
  for (int n = 0; n < 2; n++) part[n].positions = sn_frame(&all[n], first), part[n].frame_count = keys->count;
  return sn_errors_measure(ctx, examples, keys, &part[0], &part[1], out);
}

// Errors of all parts, predicted by one training.
static sn_status measure_predictions(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples,
                                     parts *p, sn_train_report *report) {
  sn_arena scratch = sn_arena_new(ctx);
  sn_keys predicted = {.frames = SN_NEW(ctx, &scratch, int, p->keys[0].count + p->keys[1].count + p->keys[2].count)};
  sn_frames all[2] = {{0}, {0}}; // positions and normals
  sn_status status = predicted.frames ? SN_OK : ctx->error.status;
  for (int k = 0; status == SN_OK && k < 3; k++)
    for (int n = 0; n < p->keys[k].count; n++) predicted.frames[predicted.count++] = p->keys[k].frames[n];
  double start = sn_seconds();
  if (status == SN_OK) status = sn_train_predict(ctx, spec, examples, &p->keys[0], &predicted, &all[0]);
  *report = (sn_train_report){.seconds = sn_seconds() - start};
  if (status == SN_OK) status = predicted_normals(ctx, examples, &all[0], &all[1]);
  for (int k = 0, first = 0; status == SN_OK && k < 3; first += p->keys[k++].count)
    status = measure_part(ctx, examples, &p->keys[k], all, first, &p->errors[k]);
  sn_frames_free(&all[0]);
  sn_frames_free(&all[1]);
  sn_arena_free(&scratch);
  return status;
}

sn_status sn_assess_predict(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples,
                            const sn_scored_frames *frames, sn_scores *out, sn_train_report *report) {
  parts p = split(examples, frames->train, frames->test);
  return score(ctx, measure_predictions(ctx, spec, examples, &p, report), &p, out, frames->frame_rms);
}

// ---- leave one out --------------------------------------------------------------------------------------------------

typedef struct loocv {
  const sn_method_spec *spec;
  const sn_examples *examples;
  const sn_keys *keys;
  const sn_folds *folds;
  sn_metrics *train; // of every fold
  sn_errors *test;
  double *seconds;
} loocv;

static sn_status train_and_measure(sn_context *ctx, const loocv *l, parts *p, sn_train_report *report) {
  if (sn_method_has_no_model(l->spec)) return measure_predictions(ctx, l->spec, l->examples, p, report);
  sn_model model = {0};
  sn_rt_model opened;
  sn_status status = sn_train(ctx, l->spec, l->examples, &p->keys[0], &model, report);
  if (status == SN_OK) status = sn_model_open(ctx, "model", model.bytes, model.size, &opened);
  if (status == SN_OK) status = measure(ctx, &opened, l->examples, p);
  sn_model_free(&model);
  return status;
}

static sn_status run_fold(sn_context *ctx, sn_arena *memory, void *user, int n) {
  const loocv *l = user;
  const sn_fold *fold = &l->folds->folds[n];
  int *frames = SN_NEW(ctx, memory, int, fold->count);
  sn_train_report report = {0};
  if (!frames) return ctx->error.status;
  for (int k = 0; k < fold->count; k++) frames[k] = l->keys->frames[fold->poses[k]];
  parts p = {.keys = {{.count = fold->outside_count, .frames = frames},
                      {.count = 0},
                      {.count = 1, .frames = frames + fold->outside_count}}};
  sn_status status = train_and_measure(ctx, l, &p, &report);
  if (status == SN_OK) status = sn_metrics_of(ctx, &p.errors[0], &l->train[n]);
  l->test[n] = p.errors[2], p.errors[2] = (sn_errors){0}, l->seconds[n] = report.seconds;
  free_errors(&p);
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
  sn_arena memory = sn_arena_new(ctx);
  sn_folds folds;
  loocv l = {.spec = spec, .examples = examples, .keys = keys, .folds = &folds};
  l.train = SN_NEW(ctx, &memory, sn_metrics, count), l.test = SN_NEW(ctx, &memory, sn_errors, count);
  l.seconds = SN_NEW(ctx, &memory, double, count);
  int *fold_of = SN_NEW(ctx, &memory, int, count);
  sn_errors all = {0};
  sn_metrics held_out;
  sn_status status = l.train && l.test && l.seconds && fold_of ? SN_OK : ctx->error.status;
  for (int k = 0; status == SN_OK && k < count; k++) fold_of[k] = k;
  if (status == SN_OK) status = sn_folds_make(ctx, &memory, count, fold_of, count, &folds);
  if (status == SN_OK) status = sn_folds_run(ctx, &folds, run_fold, &l);
  for (int k = 0; status == SN_OK && k < count; k++) status = sn_errors_add(ctx, &all, &l.test[k]);
  if (status == SN_OK) status = sn_metrics_of(ctx, &all, &held_out);
  if (status == SN_OK) {
    out->train = mean_metrics(l.train, count);
    if (examples->test_frame_count > 0)
      out->between = held_out;
    else
      out->test = out->all = held_out;
    *seconds = 0;
    for (int k = 0; k < count; k++) *seconds += l.seconds[k];
  }
  for (int k = 0; l.test && k < count; k++) sn_errors_free(&l.test[k]);
  sn_errors_free(&all);
  sn_arena_free(&memory);
  return status;
}
