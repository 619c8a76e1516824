// SPDX-License-Identifier: MIT
// Error metrics (docs/reference/metrics.md). Sums are per vertex, so that errors of disjoint sets of frames can be added.
#include "sinew/eval.h"

#include <math.h>
#include <string.h>

typedef struct error_job {
  const sn_examples *examples;
  const sn_keys *keys;
  const sn_frames *positions;
  const int *source;         // the examples' vertex of each vertex of file and model; NULL: the same
  int vertex_count;          // of file and model
  double *squared, *largest; // per vertex; per chunk of `grain` vertices
} error_job;

enum { grain = 512 };

static void add_squares(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const error_job *job = user;
  double largest = 0;
  for (int k = 0; k < job->keys->count; k++) {
    const float(*truth)[3] = sn_frame(&job->examples->frames, job->keys->frames[k]);
    const float(*model)[3] = sn_frame(job->positions, k);
    for (int64_t i = begin; i < end; i++) {
      sn_vec3 d = sn_vec3_sub(sn_vec3_from(model[i]), sn_vec3_from(truth[job->source ? job->source[i] : i]));
      double square = sn_vec3_dot(d, d);
      job->squared[i] += square;
      if (!(square <= largest)) largest = square;
    }
  }
  job->largest[begin / grain] = sqrt(largest);
}

static double frame_square(const error_job *job, int k) {
  const float(*truth)[3] = sn_frame(&job->examples->frames, job->keys->frames[k]);
  const float(*model)[3] = sn_frame(job->positions, k);
  double sum = 0;
  for (int i = 0; i < job->vertex_count; i++) {
    sn_vec3 d = sn_vec3_sub(sn_vec3_from(model[i]), sn_vec3_from(truth[job->source ? job->source[i] : i]));
    sum += sn_vec3_dot(d, d);
  }
  return sum;
}

static double angle_between(sn_vec3 a, sn_vec3 b) {
  return atan2(sn_vec3_length(sn_vec3_cross(a, b)), sn_vec3_dot(a, b));
}

typedef struct normal_job {
  const error_job *job;
  const sn_frames *normals;
  float (*truth)[3]; // per worker
  double *sums;      // per frame
} normal_job;

static void frame_angles(void *user, int64_t begin, int64_t end, int worker) {
  const normal_job *n = user;
  const error_job *job = n->job;
  float(*truth)[3] = n->truth + (size_t)worker * (size_t)job->vertex_count;
  for (int64_t k = begin; k < end; k++) {
    sn_examples_normals(job->examples, sn_frame(&job->examples->frames, job->keys->frames[k]), truth);
    const float(*model)[3] = sn_frame(n->normals, (int)k);
    for (int i = 0; i < job->vertex_count; i++)
      n->sums[k] += angle_between(sn_vec3_from(model[i]), sn_vec3_from(truth[i]));
  }
}

// Adds the angles between the model's normals and those of the frames' meshes to *sum.
static sn_status measure_normals(sn_context *ctx, const error_job *job, const sn_frames *normals, double *sum) {
  sn_arena scratch = sn_arena_new(ctx);
  normal_job n = {.job = job, .normals = normals, .sums = SN_NEW(ctx, &scratch, double, job->keys->count)};
  n.truth = sn_arena_alloc(ctx, &scratch, (size_t)sn_threads(ctx) * (size_t)job->vertex_count, sizeof *n.truth);
  bool good = n.truth && n.sums;
  if (good) sn_parallel_for(ctx, job->keys->count, 1, frame_angles, &n);
  for (int k = 0; good && k < job->keys->count; k++) *sum += n.sums[k];
  sn_arena_free(&scratch);
  return good ? SN_OK : ctx->error.status;
}

static sn_status new_errors(sn_context *ctx, const sn_examples *examples, int vertices, int frames, sn_errors *out) {
  *out =
    (sn_errors){.vertex_count = vertices, .frame_count = frames, .examples = examples, .memory = sn_arena_new(ctx)};
  out->squared = SN_NEW(ctx, &out->memory, double, vertices);
  out->frame_squared = SN_NEW(ctx, &out->memory, double, frames);
  out->frames = SN_NEW(ctx, &out->memory, int, frames);
  if (out->squared && out->frame_squared && out->frames) return SN_OK;
  sn_errors_free(out);
  return ctx->error.status;
}

sn_status sn_errors_begin(sn_context *ctx, const sn_examples *examples, int frame_count, sn_errors *out) {
  return new_errors(ctx, examples, sn_examples_file_vertices(examples), frame_count, out);
}

sn_status sn_errors_window(sn_context *ctx, const sn_keys *keys, int first, const sn_frames *positions,
                           const sn_frames *normals, sn_errors *errors) {
  const sn_examples *examples = errors->examples;
  int n = errors->vertex_count;
  if (positions->vertex_count != n)
    return sn_fail(ctx, SN_BAD_INPUT, "the model has %d vertices, the rest mesh %d", positions->vertex_count, n);
  sn_arena scratch = sn_arena_new(ctx);
  error_job job = {.examples = examples,
                   .keys = keys,
                   .positions = positions,
                   .source = examples->source,
                   .vertex_count = n,
                   .squared = errors->squared};
  int chunks = (n + grain - 1) / grain;
  job.largest = SN_NEW(ctx, &scratch, double, chunks);
  sn_status status = job.largest ? SN_OK : ctx->error.status;
  if (status == SN_OK) {
    sn_parallel_for(ctx, n, grain, add_squares, &job);
    for (int c = 0; c < chunks; c++)
      if (!(job.largest[c] <= errors->largest)) errors->largest = job.largest[c];
    for (int k = 0; k < keys->count; k++) {
      errors->frame_squared[first + k] = frame_square(&job, k);
      errors->frames[first + k] = keys->frames[k];
      if (!isfinite(errors->frame_squared[first + k]) && !sn_frame_is_finite(&examples->frames, keys->frames[k]))
        status = sn_frame_changed(ctx, keys->frames[k]);
    }
    if (!normals) errors->angle_sum = NAN;
    if (normals && status == SN_OK) status = measure_normals(ctx, &job, normals, &errors->angle_sum);
    sn_frames_used(&examples->frames, n, keys->count);
  }
  sn_arena_free(&scratch);
  return status;
}

sn_status sn_errors_measure(sn_context *ctx, const sn_examples *examples, const sn_keys *keys,
                            const sn_frames *positions, const sn_frames *normals, sn_errors *out) {
  sn_status status = sn_errors_begin(ctx, examples, keys->count, out);
  if (status != SN_OK) return status;
  status = sn_errors_window(ctx, keys, 0, positions, normals, out);
  if (status != SN_OK) sn_errors_free(out);
  return status;
}

sn_status sn_errors_add(sn_context *ctx, sn_errors *a, const sn_errors *b) {
  sn_errors sum;
  sn_status status = new_errors(ctx, b->examples, b->vertex_count, a->frame_count + b->frame_count, &sum);
  if (status != SN_OK) return status;
  sum.largest = fmax(a->largest, b->largest), sum.angle_sum = a->angle_sum + b->angle_sum;
  for (int i = 0; i < b->vertex_count; i++) sum.squared[i] = b->squared[i] + (a->squared ? a->squared[i] : 0);
  for (int k = 0; k < sum.frame_count; k++) {
    const sn_errors *from = k < a->frame_count ? a : b;
    int at = k < a->frame_count ? k : k - a->frame_count;
    sum.frame_squared[k] = from->frame_squared[at], sum.frames[k] = from->frames[at];
  }
  sn_errors_free(a);
  *a = sum;
  return SN_OK;
}

void sn_errors_free(sn_errors *errors) {
  sn_arena_free(&errors->memory);
  *errors = (sn_errors){0};
}

// Least rms error of the articulated rigid body, relative to the diagonal: below, it is rounding, and the enveloping error
// would be meaningless.
static const double rigid_floor = 1e-6;

// Wang 2007, 7.1: squared error of the best articulated rigid body, one joint per vertex over all frames.
static sn_status best_rigid(sn_context *ctx, const sn_errors *errors, double *out) {
  const sn_examples *e = errors->examples;
  sn_arena scratch = sn_arena_new(ctx);
  sn_keys keys = {.count = errors->frame_count, .frames = errors->frames};
  int n = e->rest.vertex_count, *copies = SN_NEW(ctx, &scratch, int, n); // file vertices per vertex
  double *least = SN_NEW(ctx, &scratch, double, n);
  sn_status status = copies && least ? sn_best_joints(ctx, e, &keys, NULL, least) : ctx->error.status;
  for (int s = 0; status == SN_OK && s < errors->vertex_count; s++) copies[e->source ? e->source[s] : s]++;
  *out = 0;
  for (int i = 0; status == SN_OK && i < n; i++) *out += copies[i] * least[i];
  sn_arena_free(&scratch);
  return status;
}

static double vertex_deviation(const sn_errors *errors) {
  double mean = 0, square = 0;
  int n = errors->vertex_count, f = errors->frame_count;
  for (int i = 0; i < n; i++) mean += sqrt(errors->squared[i] / f) / n;
  for (int i = 0; i < n; i++) {
    double d = sqrt(errors->squared[i] / f) - mean;
    square += d * d / n;
  }
  return sqrt(square);
}

sn_status sn_metrics_of(sn_context *ctx, const sn_errors *errors, double diagonal, sn_metrics *out) {
  *out = (sn_metrics){errors->frame_count, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
  if (errors->frame_count == 0 || errors->vertex_count == 0) return SN_OK;
  double total = 0, count = (double)errors->vertex_count * errors->frame_count;
  for (int i = 0; i < errors->vertex_count; i++) total += errors->squared[i];
  double percent = diagonal > 0 ? 100 / diagonal : NAN;
  out->rms = sqrt(total / count);
  out->rms_pct_diag = percent * out->rms;
  out->max_pct_diag = percent * errors->largest;
  out->e_rms = 1000 * sqrt(total / (3 * count));
  out->std_pct_diag = percent * vertex_deviation(errors);
  out->normal_deg = errors->angle_sum / count * 180 / SN_PI;
  if (errors->examples->poses.joint_count == 0) return SN_OK;
  double rounding = rigid_floor * diagonal, rigid;
  sn_status status = best_rigid(ctx, errors, &rigid);
  rigid = fmax(rigid, rounding * rounding * count);
  out->ee = rigid > 0 ? sqrt(total / rigid) : NAN;
  return status;
}
