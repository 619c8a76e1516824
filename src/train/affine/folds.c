// SPDX-License-Identifier: MIT
// Cross-validation of the ridge.
#include <math.h>
#include <string.h>

#include "solve/solve.h"
#include "train/affine/predict.h"
#include "train/folds.h"

// Frames held out, one at a time, and vertices whose error counts.
enum { most_folds = 12, most_samples = 250 };

// ---- the error of a left-out frame ----------------------------------------------------------------------------------

// Which frames are left out, one at a time, and the vertices whose error counts.
typedef struct fold_plan {
  sn_folds folds;
  int sample_count, *samples;
} fold_plan;

static int frame_of(const fold_plan *plan, int fold) {
  return plan->folds.folds[fold].poses[plan->folds.folds[fold].outside_count];
}

static sn_status plan_folds(sn_context *ctx, sn_arena *memory, const sn_control_data *data, fold_plan *out) {
  int vertices = data->examples->rest.vertex_count;
  out->sample_count = vertices < most_samples ? vertices : most_samples;
  out->samples = SN_NEW(ctx, memory, int, out->sample_count);
  if (!out->samples) return ctx->error.status;
  for (int n = 0; n < out->sample_count; n++) out->samples[n] = (int)((int64_t)n * vertices / out->sample_count);
  return sn_folds_single(ctx, memory, data->bones->frames, most_folds, &out->folds);
}

// Squared error of the sampled vertices at training frame f for the bones' numbers d, with their places; `linear` and `places`
// are room for the bones.
static double shape_error(const sn_control_data *data, const fold_plan *plan, int f, const double *d, sn_mat3 *linear,
                          sn_vec3 *places) {
  const sn_control_bones *bones = data->bones;
  for (int b = 0; b < bones->bones; b++)
    linear[b] =
      sn_control_decode(d + (size_t)b * (size_t)data->outputs, data->options, bones->centres[b], &places[b]);
  double error = 0;
  const float(*truth)[3] = sn_frame(&data->examples->frames, data->keys->frames[f]);
  for (int n = 0; n < plan->sample_count; n++) {
    int i = plan->samples[n];
    sn_vec3 p = sn_vec3_from(data->examples->rest.positions[i]), sum = sn_vec3_scale(sn_vec3_from(truth[i]), -1);
    for (int k = 0; k < bones->skin.influences; k++) {
      size_t at = (size_t)i * (size_t)bones->skin.influences + (size_t)k;
      int b = bones->skin.joints[at];
      sn_vec3 moved = sn_vec3_add(places[b], sn_mat3_apply(linear[b], sn_vec3_sub(p, bones->centres[b])));
      sum = sn_vec3_mad(sum, moved, (double)bones->skin.weights[at]);
    }
    error += sn_vec3_dot(sum, sum);
  }
  return error;
}

// ---- the training data without one frame ----------------------------------------------------------------------------

typedef struct left_out {
  int out, frames; // the frame that is held out, how many are not
  double *controls, *numbers, *kernel, *xi, *t;
  sn_control_space space;
} left_out;

static sn_status leave_out(sn_context *ctx, sn_arena *memory, const sn_control_data *data, int out, left_out *l) {
  int bones = data->bones->bones, frames = data->bones->frames - 1, numbers = 3 * data->control_count;
  size_t outputs = (size_t)data->outputs;
  l->out = out, l->frames = frames;
  l->controls = SN_NEW(ctx, memory, double, (size_t)frames *(size_t)numbers);
  l->numbers = SN_NEW(ctx, memory, double, (size_t)bones *(size_t)frames *outputs);
  l->kernel = SN_NEW(ctx, memory, double, (size_t)frames *(size_t)frames);
  l->xi = SN_NEW(ctx, memory, double, frames), l->t = SN_NEW(ctx, memory, double, frames);
  sn_status status = sn_control_space_new(ctx, memory, frames, data->outputs, &l->space);
  if (status != SN_OK || !l->controls || !l->numbers || !l->kernel || !l->xi || !l->t) return ctx->error.status;
  for (int f = 0, to = 0; f < data->bones->frames; f++) {
    if (f == out) continue;
    memcpy(l->controls + (size_t)to * (size_t)numbers, data->inputs + (size_t)f * (size_t)numbers,
           (size_t)numbers * sizeof(double));
    for (int b = 0; b < bones; b++) {
      memcpy(l->numbers + ((size_t)b * (size_t)frames + (size_t)to) * outputs,
             data->numbers + ((size_t)b * (size_t)data->bones->frames + (size_t)f) * outputs,
             outputs * sizeof(double));
    }
    to++;
  }
  return SN_OK;
}

// The basis of the remaining frames, and l->t = Q^T (xi - mean) for the one left out.
static sn_status left_out_basis(sn_context *ctx, sn_arena *memory, const sn_control_data *data, double beta,
                                left_out *l, sn_kcca_basis *basis) {
  int numbers = 3 * data->control_count;
  double width = beta * sn_control_spread(l->controls, numbers, l->frames);
  sn_control_kernel(l->controls, numbers, l->frames, width, l->kernel);
  sn_control_kernel_vector(data->inputs + (size_t)l->out * (size_t)numbers, l->controls, numbers, l->frames, width,
                           l->xi);
  sn_status status = sn_kcca_basis_make(ctx, memory, l->frames, l->kernel, basis);
  if (status != SN_OK) return status;
  for (int f = 0; f < l->frames; f++) l->xi[f] -= basis->mean[f];
  sn_kcca_project(basis, l->xi, 1, l->t);
  return SN_OK;
}

static void bone_moments(const sn_control_data *data, const sn_kcca_basis *basis, int b, left_out *l) {
  sn_control_moments_of(basis, l->numbers + (size_t)b * (size_t)l->frames * (size_t)data->outputs, data->outputs,
                        &l->space);
}

// The bone's numbers at the frame left out, with the first `most` components.
static void predicted(const left_out *l, int rank, int outputs, int most, double *d) {
  const sn_control_map *map = &l->space.map;
  memcpy(d, l->space.moments.mean, (size_t)outputs * sizeof *d);
  for (int p = 0; p < map->components && p < most; p++) {
    double reduced = 0;
    for (int r = 0; r < rank; r++) reduced += map->forward[(size_t)p * (size_t)rank + (size_t)r] * l->t[r];
    for (int o = 0; o < outputs; o++) d[o] += reduced * map->effect[p][o];
  }
}

// ---- the ridge -------------------------------------------------------------------------------------------------------

// Smoothest first.
static const double ridges[] = {1e-7, 1e-5, 1e-3, 1e-2, 1e-1};
enum { ridge_count = 5 };

typedef struct choose_job {
  const sn_control_data *data;
  const fold_plan *plan;
  double *errors; // [fold][ridge]
} choose_job;

// Errors of all ridges.
static sn_status try_fold(sn_context *ctx, sn_arena *memory, void *user, int index) {
  const choose_job *job = user;
  const sn_control_data *data = job->data;
  left_out l = {0};
  sn_kcca_basis basis;
  size_t outputs = (size_t)data->outputs, bones = (size_t)data->bones->bones;
  double *d = SN_NEW(ctx, memory, double, ridge_count *bones *outputs);
  sn_mat3 *linear = SN_NEW(ctx, memory, sn_mat3, bones);
  sn_vec3 *places = SN_NEW(ctx, memory, sn_vec3, bones);
  if (!d || !linear || !places) return ctx->error.status;
  sn_status status = leave_out(ctx, memory, data, frame_of(job->plan, index), &l);
  if (status == SN_OK) status = left_out_basis(ctx, memory, data, data->options->beta, &l, &basis);
  for (size_t b = 0; status == SN_OK && b < bones; b++) {
    bone_moments(data, &basis, (int)b, &l);
    for (size_t q = 0; q < ridge_count; q++) {
      sn_control_reduce(&basis, data->options, (int)outputs, ridges[q], data->options->kappa, &l.space);
      predicted(&l, basis.rank, (int)outputs, data->options->kappa, d + (q * bones + b) * outputs);
    }
  }
  for (size_t q = 0; status == SN_OK && q < ridge_count; q++)
    job->errors[(size_t)index * ridge_count + q] =
      shape_error(data, job->plan, l.out, d + q * bones * outputs, linear, places);
  return status;
}

// The errors of every choice over all folds, and the smoothest of the good ones: meshes are exact and neighbouring poses
// alike, so of equally good functions through the frames the smoothest is the natural one.
static int smoothest(const double *errors, int folds, double *least) {
  double total[ridge_count] = {0};
  *least = INFINITY;
  for (int c = 0; c < ridge_count; c++) {
    for (int n = 0; n < folds; n++) total[c] += errors[n * ridge_count + c];
    *least = fmin(*least, total[c]);
  }
  return sn_simplest(total, ridge_count, SN_CONTROL_TOLERANCE);
}

sn_status sn_control_choose(sn_context *ctx, const sn_control_data *data, sn_control_choice *out) {
  int frames = data->bones->frames;
  *out = (sn_control_choice){data->options->kappa, data->options->beta, ridges[0], 0};
  if (frames < 3) return SN_OK;
  sn_arena scratch = sn_arena_new(ctx);
  fold_plan plan = {0};
  sn_status status = plan_folds(ctx, &scratch, data, &plan);
  choose_job job = {.data = data, .plan = &plan};
  if (status == SN_OK) {
    job.errors = SN_NEW(ctx, &scratch, double, (size_t)plan.folds.fold_count *ridge_count);
    if (!job.errors) status = ctx->error.status;
  }
  if (status == SN_OK) status = sn_folds_run(ctx, &plan.folds, try_fold, &job);
  if (status == SN_OK) {
    out->ridge = ridges[smoothest(job.errors, plan.folds.fold_count, &out->error)];
    if (data->options->kappa >= frames - 1) out->ridge = ridges[0]; // nothing is to be left out
  }
  sn_arena_free(&scratch);
  return status;
}
