// SPDX-License-Identifier: MIT
// Cross-validation of the parameters: kernel, ridge and dimensions of the regression; weights of the edges and of the control
// points in the Poisson step.
#include <cblas.h>
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

// Room for the bones at one frame.
typedef struct pose_space {
  sn_mat3 *linear;
  double *columns; // (3 bones + controls) * 3: columns of F, control points
  double *places;  // bones * 3
} pose_space;

static sn_status new_pose_space(sn_context *ctx, sn_arena *memory, const sn_control_data *data, pose_space *out) {
  size_t bones = (size_t)data->bones->bones;
  out->linear = SN_NEW(ctx, memory, sn_mat3, bones);
  out->columns = SN_NEW(ctx, memory, double, 3 * (3 * bones + (size_t)data->control_count));
  out->places = SN_NEW(ctx, memory, double, 3 * bones);
  return out->linear && out->columns && out->places ? SN_OK : ctx->error.status;
}

// Squared error of the sampled vertices at training frame f for the bones' numbers d, placed by `solve` where there is one.
static double shape_error(const sn_control_data *data, const fold_plan *plan, int f, const double *d,
                          const double *solve, pose_space *s) {
  const sn_control_bones *bones = data->bones;
  int count = bones->bones, rows = 3 * count + data->control_count;
  for (int b = 0; b < count; b++) {
    sn_vec3 place = {0, 0, 0};
    s->linear[b] = sn_control_decode(d + (size_t)b * (size_t)data->outputs, data->options, bones->centres[b], &place);
    for (int k = 0; k < 3; k++)
      for (int r = 0; r < 3; r++) s->columns[3 * (3 * b + k) + r] = s->linear[b].m[r][k];
    s->places[3 * b] = place.x, s->places[3 * b + 1] = place.y, s->places[3 * b + 2] = place.z;
  }
  if (solve) {
    memcpy(s->columns + 9 * (size_t)count, data->controls + (size_t)f * 3 * (size_t)data->control_count,
           3 * (size_t)data->control_count * sizeof *s->columns);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, count, 3, rows, 1, solve, rows, s->columns, 3, 0,
                s->places, 3);
  }
  double error = 0;
  const float(*truth)[3] = sn_frame(&data->examples->frames, data->keys->frames[f]);
  for (int n = 0; n < plan->sample_count; n++) {
    int i = plan->samples[n];
    sn_vec3 p = sn_vec3_from(data->examples->rest.positions[i]), sum = sn_vec3_scale(sn_vec3_from(truth[i]), -1);
    for (int k = 0; k < bones->skin.influences; k++) {
      size_t at = (size_t)i * (size_t)bones->skin.influences + (size_t)k;
      int b = bones->skin.joints[at];
      sn_vec3 place = {s->places[3 * b], s->places[3 * b + 1], s->places[3 * b + 2]};
      sn_vec3 moved = sn_vec3_add(place, sn_mat3_apply(s->linear[b], sn_vec3_sub(p, bones->centres[b])));
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
static void try_ridges(const choose_job *job, const sn_kcca_basis *basis, left_out *l, double *d, pose_space *pose,
                       double *to) {
  const sn_control_data *data = job->data;
  size_t outputs = (size_t)data->outputs, bones = (size_t)data->bones->bones;
  for (size_t b = 0; b < bones; b++) {
    bone_moments(data, basis, (int)b, l);
    for (size_t q = 0; q < ridge_count; q++) {
      sn_control_reduce(basis, data->options, (int)outputs, ridges[q], data->options->kappa, &l->space);
      predicted(l, basis->rank, (int)outputs, data->options->kappa, d + (q * bones + b) * outputs);
    }
  }
  for (size_t q = 0; q < ridge_count; q++)
    to[q] = shape_error(data, job->plan, l->out, d + q * bones * outputs, data->solve, pose);
}

static sn_status try_fold(sn_context *ctx, sn_arena *memory, void *user, int index) {
  const choose_job *job = user;
  const sn_control_data *data = job->data;
  left_out l = {0};
  pose_space pose = {0};
  sn_kcca_basis basis;
  size_t numbers = (size_t)data->bones->bones * (size_t)data->outputs;
  double *d = SN_NEW(ctx, memory, double, ridge_count *numbers);
  sn_status status = d ? leave_out(ctx, memory, data, frame_of(job->plan, index), &l) : ctx->error.status;
  if (status == SN_OK) status = new_pose_space(ctx, memory, data, &pose);
  if (status == SN_OK) status = left_out_basis(ctx, memory, data, data->options->beta, &l, &basis);
  if (status == SN_OK) try_ridges(job, &basis, &l, d, &pose, job->errors + (size_t)index * ridge_count);
  return status;
}

// The errors of every choice over all folds, and the smoothest of the good ones: meshes are exact and neighbouring poses
// alike, so of equally good functions through the frames the smoothest is the natural one.
static int smoothest(const double *errors, int folds, int count, double *least) {
  double total[ridge_count] = {0};
  *least = INFINITY;
  for (int c = 0; c < count; c++) {
    for (int n = 0; n < folds; n++) total[c] += errors[(size_t)n * (size_t)count + (size_t)c];
    *least = fmin(*least, total[c]);
  }
  return sn_simplest(total, count, SN_CONTROL_TOLERANCE);
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
    out->ridge = ridges[smoothest(job.errors, plan.folds.fold_count, ridge_count, &out->error)];
    if (data->options->kappa >= frames - 1) out->ridge = ridges[0]; // nothing is to be left out
  }
  sn_arena_free(&scratch);
  return status;
}

// ---- places ---------------------------------------------------------------------------------------------------------

// Stiffest first: of equally good holds on the control points the one that meets them best.
static const double stiffnesses[] = {100, 10, 1};
enum { stiffness_count = 3 };

typedef struct places_job {
  const sn_control_data *data;
  const sn_control_choice *choice;
  const fold_plan *plan;
  double *numbers;                       // [fold][bone][outputs]: predicted by the other frames
  const double *solves[stiffness_count]; // P for every stiffness
  double *errors;                        // [fold][stiffness]
} places_job;

static sn_status predict_fold(sn_context *ctx, sn_arena *memory, void *user, int index) {
  const places_job *job = user;
  const sn_control_data *data = job->data;
  size_t outputs = (size_t)data->outputs, bones = (size_t)data->bones->bones;
  left_out l = {0};
  sn_kcca_basis basis;
  sn_status status = leave_out(ctx, memory, data, frame_of(job->plan, index), &l);
  if (status == SN_OK) status = left_out_basis(ctx, memory, data, job->choice->beta, &l, &basis);
  for (size_t b = 0; b < bones && status == SN_OK; b++) {
    bone_moments(data, &basis, (int)b, &l);
    sn_control_reduce(&basis, data->options, (int)outputs, job->choice->ridge, job->choice->kappa, &l.space);
    predicted(&l, basis.rank, (int)outputs, job->choice->kappa, job->numbers + ((size_t)index * bones + b) * outputs);
  }
  return status;
}

static sn_status place_fold(sn_context *ctx, sn_arena *memory, void *user, int index) {
  const places_job *job = user;
  const sn_control_data *data = job->data;
  size_t bones = (size_t)data->bones->bones, size = bones * (3 * bones + (size_t)data->control_count);
  pose_space pose = {0};
  int out = frame_of(job->plan, index);
  double *solve = SN_NEW(ctx, memory, double, size);
  sn_status status = solve ? new_pose_space(ctx, memory, data, &pose) : ctx->error.status;
  for (int k = 0; k < stiffness_count && status == SN_OK; k++) {
    memcpy(solve, job->solves[k], size * sizeof *solve);
    status = sn_control_poisson_fit(ctx, data, out, solve);
    if (status != SN_OK) break;
    job->errors[index * stiffness_count + k] =
      shape_error(data, job->plan, out, job->numbers + (size_t)index * bones * (size_t)data->outputs, solve, &pose);
  }
  return status;
}

// The bones' linear parts as predicted for the frames left out.
static sn_status left_out_gradients(sn_context *ctx, sn_arena *memory, const places_job *job, sn_mat3 **out) {
  size_t bones = (size_t)job->data->bones->bones, count = bones * (size_t)job->plan->folds.fold_count;
  *out = SN_NEW(ctx, memory, sn_mat3, count);
  for (size_t n = 0; *out && n < count; n++) {
    sn_vec3 none;
    (*out)[n] = sn_control_decode(job->numbers + n * (size_t)job->data->outputs, job->data->options,
                                  job->data->bones->centres[n % bones], &none);
  }
  return *out ? SN_OK : ctx->error.status;
}

static sn_status solve_places(sn_context *ctx, sn_arena *scratch, places_job *job, double *stiffness, double *solve) {
  const sn_control_data *data = job->data;
  size_t bones = (size_t)data->bones->bones, size = bones * (3 * bones + (size_t)data->control_count);
  fold_plan plan = {0};
  sn_mat3 *gradients = NULL;
  double *trust = NULL, *solves[stiffness_count];
  sn_status status = plan_folds(ctx, scratch, data, &plan);
  if (status != SN_OK) return status;
  job->plan = &plan;
  int folds = plan.folds.fold_count;
  job->numbers = SN_NEW(ctx, scratch, double, (size_t)folds *bones *(size_t)data->outputs);
  job->errors = SN_NEW(ctx, scratch, double, (size_t)folds *stiffness_count);
  int *frames = SN_NEW(ctx, scratch, int, folds);
  if (!job->numbers || !job->errors || !frames) return ctx->error.status;
  for (int n = 0; n < folds; n++) frames[n] = frame_of(&plan, n);
  status = sn_folds_run(ctx, &plan.folds, predict_fold, job);
  if (status == SN_OK) status = left_out_gradients(ctx, scratch, job, &gradients);
  if (status == SN_OK) {
    trust = sn_control_edge_trust(ctx, scratch, data, folds, frames, gradients);
    if (!trust) status = ctx->error.status;
  }
  for (int k = 0; k < stiffness_count && status == SN_OK; k++) {
    solves[k] = SN_NEW(ctx, scratch, double, size);
    if (!solves[k]) return ctx->error.status;
    job->solves[k] = solves[k];
    status = sn_control_poisson(ctx, data, &(sn_control_trust){trust, stiffnesses[k]}, solves[k]);
  }
  if (status == SN_OK) status = sn_folds_run(ctx, &plan.folds, place_fold, job);
  if (status != SN_OK) return status;
  double least = 0;
  int best = smoothest(job->errors, folds, stiffness_count, &least);
  *stiffness = stiffnesses[best];
  memcpy(solve, solves[best], size * sizeof *solve);
  return SN_OK;
}

sn_status sn_control_choose_places(sn_context *ctx, const sn_control_data *data, const sn_control_choice *choice,
                                   double *stiffness, double *solve) {
  sn_arena scratch = sn_arena_new(ctx);
  places_job job = {.data = data, .choice = choice};
  sn_status status = SN_OK;
  if (data->bones->frames >= 3) status = solve_places(ctx, &scratch, &job, stiffness, solve);
  if (status == SN_OK) status = sn_control_poisson_fit(ctx, data, -1, solve);
  sn_arena_free(&scratch);
  return status;
}
