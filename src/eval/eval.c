// SPDX-License-Identifier: MIT
// Scores of a model on training, test and all frames; leave-one-out cross-validation.
#include "sinew/eval.h"

#include <math.h>
#include <string.h>

#include "base/team.h"

// Frames per window of positions and normals; at least one per thread.
static int window_size(const sn_context *ctx, const sn_rt_model *model) {
  enum { window_bytes = 64 << 20 };
  size_t frame = 2 * sizeof(float[3]) * (model->info.vertex_count + (size_t)1), count = window_bytes / frame;
  int least = sn_threads(ctx);
  return count < (size_t)least ? least : count > INT32_MAX ? INT32_MAX : (int)count;
}

static sn_status measure_windows(sn_context *ctx, const sn_rt_model *model, const sn_examples *input,
                                 const sn_examples *truth, const sn_keys *keys, sn_errors *out) {
  sn_status status = sn_errors_begin(ctx, truth, keys->count, out);
  int step = window_size(ctx, model);
  for (int first = 0; status == SN_OK && first < keys->count; first += step) {
    int count = keys->count - first < step ? keys->count - first : step;
    sn_keys window = {.count = count, .frames = keys->frames + first};
    sn_frames positions, normals;
    status = sn_assess_evaluate(ctx, model, input, &window, &positions, &normals);
    if (status != SN_OK) break;
    status = sn_errors_window(ctx, &window, first, &positions, &normals, out);
    sn_frames_free(&positions);
    sn_frames_free(&normals);
  }
  if (status != SN_OK) sn_errors_free(out);
  return status;
}

static sn_status share_errors(sn_context *ctx, int owner, sn_errors *e) {
  struct {
    double largest, angle_sum;
  } both = {e->largest, e->angle_sum};
  sn_status status = sn_team_share(ctx, owner, e->squared, (size_t)e->vertex_count * sizeof *e->squared);
  if (status == SN_OK)
    status = sn_team_share(ctx, owner, e->frame_squared, (size_t)e->frame_count * sizeof *e->frame_squared);
  if (status == SN_OK) status = sn_team_share(ctx, owner, &both, sizeof both);
  e->largest = both.largest, e->angle_sum = both.angle_sum;
  return status;
}

// Frames are measured in groups, divided among the processes of a team. The sums are added in a fixed order, so that results do
// not depend on the team. A small set is one group.
enum { frame_groups = 8, least_group_bytes = 64 << 10 };

static int group_count(const sn_rt_model *model, const sn_keys *keys) {
  size_t bytes = (size_t)keys->count * model->info.vertex_count * sizeof(float[3]);
  size_t groups = 1 + bytes / least_group_bytes;
  if (groups > frame_groups) groups = frame_groups;
  return groups < (size_t)keys->count ? (int)groups : keys->count;
}

static sn_keys group_keys(const sn_keys *keys, int groups, int g) {
  int first = (int)((int64_t)keys->count * g / groups), last = (int)((int64_t)keys->count * (g + 1) / groups);
  return (sn_keys){.count = last - first, .frames = keys->frames + first};
}

static int group_owner(const sn_context *ctx, int groups, int g) {
  int rank = 0;
  while (sn_team_first(ctx, groups, rank + 1) <= g) rank++;
  return rank;
}

// Exchanges the sums of a group: its owner sends, the others receive.
static sn_status receive(sn_context *ctx, const sn_examples *examples, const sn_keys *keys, int owner,
                         sn_errors *out) {
  sn_status status = SN_OK;
  if (!out->squared) status = sn_errors_begin(ctx, examples, keys->count, out);
  if (status == SN_OK) memcpy(out->frames, keys->frames, (size_t)keys->count * sizeof *out->frames);
  return status == SN_OK ? share_errors(ctx, owner, out) : status;
}

// Errors of the model, driven by `input`, against the frames of `truth`.
static sn_status measure(sn_context *ctx, const sn_rt_model *model, const sn_examples *input,
                         const sn_examples *truth, const sn_keys *keys, sn_errors *out) {
  sn_errors group[frame_groups] = {{0}};
  sn_status status = SN_OK;
  int groups = group_count(model, keys);
  *out = (sn_errors){0};
  for (int g = 0; ctx->team && g < groups && status == SN_OK; g++) {
    sn_keys own = group_keys(keys, groups, g);
    if (group_owner(ctx, groups, g) == sn_team_rank(ctx))
      status = measure_windows(ctx, model, input, truth, &own, &group[g]);
  }
  for (int g = 0; g < groups && status == SN_OK; g++) {
    sn_keys own = group_keys(keys, groups, g);
    status = ctx->team ? receive(ctx, truth, &own, group_owner(ctx, groups, g), &group[g])
                       : measure_windows(ctx, model, input, truth, &own, &group[g]);
    if (status == SN_OK) status = sn_errors_add(ctx, out, &group[g]);
    sn_errors_free(&group[g]);
    if (!ctx->team) sn_progress(ctx, "measuring", (g + 1.0) / groups);
  }
  for (int g = 0; g < groups; g++) sn_errors_free(&group[g]);
  if (status != SN_OK) sn_errors_free(out);
  return status;
}

static double rest_diagonal(const sn_examples *examples) {
  return sn_points_diagonal((const float(*)[3])examples->rest.positions, examples->rest.vertex_count);
}

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
static sn_status score(sn_context *ctx, const sn_examples *examples, parts *p, sn_scores *out, double *frame_rms) {
  double diagonal = rest_diagonal(examples);
  sn_metrics *const metrics[3] = {&out->train, &out->between, &out->test};
  sn_status status = SN_OK;
  sn_errors all = {0};
  int parts_used = 0;
  for (int k = 0; status == SN_OK && k < 3; k++) {
    status = sn_metrics_of(ctx, &p->errors[k], diagonal, metrics[k]);
    if (frame_rms) store_frame_rms(&p->errors[k], &p->keys[k], frame_rms);
    if (p->errors[k].frame_count > 0) out->all = *metrics[k], parts_used++;
  }
  for (int k = 0; parts_used != 1 && k < 3; k++)
    if (status == SN_OK && p->errors[k].frame_count > 0) status = sn_errors_add(ctx, &all, &p->errors[k]);
  if (status == SN_OK && parts_used != 1) status = sn_metrics_of(ctx, &all, diagonal, &out->all);
  free_errors(p);
  sn_errors_free(&all);
  return status;
}

sn_status sn_assess(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples,
                    const sn_scored_frames *frames, sn_scores *out) {
  parts p = split(examples, frames->train, frames->test);
  sn_status status = SN_OK;
  for (int k = 0; status == SN_OK && k < 3; k++)
    status = measure(ctx, model, examples, examples, &p.keys[k], &p.errors[k]);
  if (status == SN_OK) return score(ctx, examples, &p, out, frames->frame_rms);
  free_errors(&p);
  return status;
}

// At a seam, the first file vertex counts.
static void store_vertex_rms(const sn_errors *errors, double *vertex_rms) {
  const int *source = errors->examples->source;
  for (int s = errors->vertex_count - 1; s >= 0; s--)
    vertex_rms[source ? source[s] : s] = errors->frame_count > 0 ? sqrt(errors->squared[s] / errors->frame_count) : 0;
}

sn_status sn_assess_vertices(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples,
                             const sn_keys *keys, double *out) {
  sn_errors errors;
  sn_status status = measure(ctx, model, examples, examples, keys, &errors);
  if (status == SN_OK) store_vertex_rms(&errors, out);
  sn_errors_free(&errors);
  return status;
}

sn_status sn_assess_all(sn_context *ctx, const sn_rt_model *model, const sn_examples *input, const sn_examples *truth,
                        sn_arena *memory, sn_figures *out) {
  sn_keys all = {.count = truth->frames.frame_count, .frames = SN_NEW(ctx, memory, int, truth->frames.frame_count)};
  sn_errors errors = {0};
  *out = (sn_figures){.frame_rms = SN_NEW(ctx, memory, double, all.count),
                      .vertex_rms = SN_NEW(ctx, memory, double, truth->rest.vertex_count)};
  if (!all.frames || !out->frame_rms || !out->vertex_rms) return ctx->error.status;
  for (int f = 0; f < all.count; f++) all.frames[f] = f;
  sn_status status = measure(ctx, model, input, truth, &all, &errors);
  if (status == SN_OK) status = sn_metrics_of(ctx, &errors, rest_diagonal(truth), &out->error);
  if (status == SN_OK) store_frame_rms(&errors, &all, out->frame_rms), store_vertex_rms(&errors, out->vertex_rms);
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
  sn_status status = measure_predictions(ctx, spec, examples, &p, report);
  if (status == SN_OK) return score(ctx, examples, &p, out, frames->frame_rms);
  free_errors(&p);
  return status;
}

// ---- leave one out --------------------------------------------------------------------------------------------------

typedef struct fold {
  sn_context ctx; // separate: folds run at the same time
  sn_metrics train;
  sn_errors test;
  double seconds;
  sn_status status;
} fold;

typedef struct loocv_job {
  const sn_method_spec *spec;
  const sn_examples *examples;
  const sn_keys *keys;
  fold *folds;
} loocv_job;

static sn_status train_and_measure(fold *f, const loocv_job *job, const sn_keys *others, const sn_keys *held_out,
                                   sn_errors *seen, sn_train_report *report) {
  sn_model model = {0};
  sn_rt_model opened;
  if (sn_method_has_no_model(job->spec)) {
    parts p = {.keys = {*others, {0}, *held_out}};
    sn_status status = measure_predictions(&f->ctx, job->spec, job->examples, &p, report);
    *seen = p.errors[0], f->test = p.errors[2];
    return status;
  }
  sn_status status = sn_train(&f->ctx, job->spec, job->examples, others, &model, report);
  if (status == SN_OK) status = sn_model_open(&f->ctx, "model", model.bytes, model.size, &opened);
  if (status == SN_OK) status = measure(&f->ctx, &opened, job->examples, job->examples, others, seen);
  if (status == SN_OK) status = measure(&f->ctx, &opened, job->examples, job->examples, held_out, &f->test);
  sn_model_free(&model);
  return status;
}

static void run_fold(const loocv_job *job, int k) {
  fold *f = &job->folds[k];
  sn_arena scratch = sn_arena_new(&f->ctx);
  sn_keys others = {.frames = SN_NEW(&f->ctx, &scratch, int, job->keys->count)};
  sn_keys held_out = {.count = 1, .frames = &job->keys->frames[k]};
  sn_errors seen = {0};
  sn_train_report report = {0};
  f->status = others.frames ? SN_OK : f->ctx.error.status;
  for (int o = 0; f->status == SN_OK && o < job->keys->count; o++)
    if (o != k) others.frames[others.count++] = job->keys->frames[o];
  if (f->status == SN_OK) f->status = train_and_measure(f, job, &others, &held_out, &seen, &report);
  if (f->status == SN_OK) f->status = sn_metrics_of(&f->ctx, &seen, rest_diagonal(job->examples), &f->train);
  f->seconds = report.seconds;
  sn_errors_free(&seen);
  sn_arena_free(&scratch);
}

static void run_folds(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  for (int64_t k = begin; k < end; k++) run_fold(user, (int)k);
}

// Mean of every training metric over the folds.
static sn_metrics mean_metrics(const fold *folds, int count) {
  sn_metrics m = {folds[0].train.frame_count, 0, 0, 0, 0, 0, 0, 0};
  for (int k = 0; k < count; k++) {
    const sn_metrics *t = &folds[k].train;
    m.rms += t->rms / count, m.rms_pct_diag += t->rms_pct_diag / count, m.max_pct_diag += t->max_pct_diag / count;
    m.e_rms += t->e_rms / count, m.ee += t->ee / count, m.std_pct_diag += t->std_pct_diag / count;
    m.normal_deg += t->normal_deg / count;
  }
  return m;
}

sn_status sn_assess_loocv(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples,
                          const sn_keys *keys, sn_scores *out, double *seconds) {
  if (keys->count < 2) return sn_fail(ctx, SN_BAD_INPUT, "leave-one-out needs at least two frames");
  sn_arena scratch = sn_arena_new(ctx);
  loocv_job job = {spec, examples, keys, SN_NEW(ctx, &scratch, fold, keys->count)};
  sn_errors all = {0};
  sn_status status = job.folds ? SN_OK : ctx->error.status;
  for (int k = 0; status == SN_OK && k < keys->count; k++)
    job.folds[k].ctx = (sn_context){.allocator = ctx->allocator, .threads = 1};
  if (status == SN_OK) sn_parallel_for(ctx, keys->count, 1, run_folds, &job);
  for (int k = 0; status == SN_OK && k < keys->count; k++) {
    status = job.folds[k].status;
    if (status != SN_OK)
      sn_fail(ctx, status, "without frame %d: %s", keys->frames[k], job.folds[k].ctx.error.message);
    else
      status = sn_errors_add(ctx, &all, &job.folds[k].test);
  }
  sn_metrics held_out;
  if (status == SN_OK) status = sn_metrics_of(ctx, &all, rest_diagonal(examples), &held_out);
  if (status == SN_OK) {
    out->train = mean_metrics(job.folds, keys->count);
    if (examples->test_frame_count > 0)
      out->between = held_out;
    else
      out->test = out->all = held_out;
    *seconds = 0;
    for (int k = 0; k < keys->count; k++) *seconds += job.folds[k].seconds;
  }
  for (int k = 0; job.folds && k < keys->count; k++) sn_errors_free(&job.folds[k].test);
  sn_errors_free(&all);
  sn_arena_free(&scratch);
  return status;
}
