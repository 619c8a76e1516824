// SPDX-License-Identifier: MIT
// Error metrics (docs/reference/metrics.md). Sums are per vertex, so that errors of disjoint sets of frames can be added.
#include "eval/frames.h"

#include <math.h>

#include "base/scope.h"
#include "base/team.h"

typedef struct frame_error {
  double squared, largest, angles;
} frame_error;

typedef struct measuring {
  sn_context *ctx;
  const sn_examples *truth;
  const sn_keys *keys;
  int vertex_count;                     // of file and model
  const sn_frames *given[2];            // positions and normals, where there is no model
  int blocks, grain;                    // blocks of frames; their sums are added in order
  double *squared;                      // blocks * vertex_count
  uint64_t (*bins)[SN_PERCENTILE_BINS]; // of every block: squared distances times `unit`, 1 over the squared diagonal
  double unit;
  frame_error *frames; // of every key
  float (*normals)[3]; // of the truth, per worker
  sn_arena memory;
} measuring;

static void free_measuring(measuring *m) { sn_arena_free(&m->memory); }

static double angle_between(sn_vec3 a, sn_vec3 b) {
  return atan2(sn_vec3_length(sn_vec3_cross(a, b)), sn_vec3_dot(a, b));
}

static void add_frame(void *user, int k, const float (*positions)[3], const float (*normals)[3], int worker) {
  const measuring *m = user;
  const sn_examples *e = m->truth;
  const float(*truth)[3] = sn_frame(&e->frames, m->keys->frames[k]);
  double *squared = m->squared + (size_t)(k / m->grain) * (size_t)m->vertex_count;
  uint64_t *bins = m->bins[k / m->grain];
  frame_error sum = {0, 0, normals ? 0 : NAN};
  if (worker == 0) sn_progress(m->ctx, "measuring", (double)k / m->keys->count); // the caller's thread
  for (int i = 0; i < m->vertex_count; i++) {
    sn_vec3 d = sn_vec3_sub(sn_vec3_from(positions[i]), sn_vec3_from(truth[sn_examples_vertex(e, i)]));
    double square = sn_vec3_dot(d, d);
    squared[i] += square, sum.squared += square, bins[sn_percentile_bin(square * m->unit)]++;
    if (!(square <= sum.largest)) sum.largest = square;
  }
  float(*own)[3] = m->normals + (size_t)worker * (size_t)m->vertex_count;
  if (normals) sn_examples_normals(e, truth, own);
  for (int i = 0; normals && i < m->vertex_count; i++)
    sum.angles += angle_between(sn_vec3_from(normals[i]), sn_vec3_from(own[i]));
  m->frames[k] = sum;
  sn_frames_used(&e->frames, e->rest.vertex_count, 1);
}

static void add_given(void *user, int64_t begin, int64_t end, int worker) {
  const measuring *m = user;
  for (int64_t k = begin; k < end; k++)
    add_frame(user, (int)k, sn_frame(m->given[0], (int)k), m->given[1] ? sn_frame(m->given[1], (int)k) : NULL,
              worker);
}

static sn_status start(sn_context *ctx, const sn_examples *truth, const sn_keys *keys, measuring *m) {
  enum { most_blocks = 16 };
  *m = (measuring){.ctx = ctx, .truth = truth, .keys = keys, .memory = sn_arena_new(ctx)};
  size_t n = (size_t)(m->vertex_count = sn_examples_file_vertices(truth));
  m->grain = keys->count / most_blocks + 1, m->blocks = (keys->count + m->grain - 1) / m->grain;
  m->squared = SN_NEW(ctx, &m->memory, double, (size_t)m->blocks *n);
  m->bins = sn_arena_alloc(ctx, &m->memory, (size_t)m->blocks, sizeof *m->bins);
  m->frames = SN_NEW(ctx, &m->memory, frame_error, keys->count);
  m->normals = sn_arena_alloc(ctx, &m->memory, (size_t)sn_threads(ctx) * n, sizeof *m->normals);
  double diagonal = sn_mesh_diagonal(&truth->rest);
  m->unit = 1 / (diagonal * diagonal);
  return m->squared && m->bins && m->frames && m->normals ? SN_OK : ctx->error.status;
}

static sn_status new_errors(sn_context *ctx, const sn_examples *examples, int vertices, int frames, sn_errors *out) {
  *out =
    (sn_errors){.vertex_count = vertices, .frame_count = frames, .examples = examples, .memory = sn_arena_new(ctx)};
  out->squared = SN_NEW(ctx, &out->memory, double, vertices);
  out->frame_squared = SN_NEW(ctx, &out->memory, double, frames);
  out->frames = SN_NEW(ctx, &out->memory, int, frames);
  out->bins = SN_NEW(ctx, &out->memory, uint64_t, SN_PERCENTILE_BINS);
  if (out->squared && out->frame_squared && out->frames && out->bins) return SN_OK;
  sn_errors_free(out);
  return ctx->error.status;
}

// Adds the sums of all blocks in their order.
static sn_status finish(const measuring *m, sn_errors *out) {
  sn_context *ctx = m->ctx;
  const sn_keys *keys = m->keys;
  size_t n = (size_t)m->vertex_count;
  SN_TRY(sn_team_gather(ctx, m->blocks, 1, m->squared, n * sizeof *m->squared));
  SN_TRY(sn_team_gather(ctx, m->blocks, 1, m->bins, sizeof *m->bins));
  SN_TRY(sn_team_gather(ctx, keys->count, m->grain, m->frames, sizeof *m->frames));
  for (int k = 0; k < keys->count; k++)
    if (!isfinite(m->frames[k].squared) && !sn_frame_is_finite(&m->truth->frames, keys->frames[k]))
      return sn_frame_changed(ctx, keys->frames[k]);
  SN_TRY(new_errors(ctx, m->truth, m->vertex_count, keys->count, out));
  for (size_t at = 0; at < (size_t)m->blocks * n; at++) out->squared[at % n] += m->squared[at];
  for (int block = 0; block < m->blocks; block++)
    for (int bin = 0; bin < SN_PERCENTILE_BINS; bin++) out->bins[bin] += m->bins[block][bin];
  for (int k = 0; k < keys->count; k++) {
    const frame_error *frame = m->frames + k;
    double distance = sqrt(frame->largest);
    if (!(distance <= out->largest)) out->largest = distance;
    out->angle_sum += frame->angles;
    out->frame_squared[k] = frame->squared, out->frames[k] = keys->frames[k];
  }
  return SN_OK;
}

static sn_status check_count(const measuring *m, int vertex_count) {
  if (vertex_count == m->vertex_count) return SN_OK;
  return sn_fail(m->ctx, SN_BAD_INPUT, "the model has %d vertices, the rest mesh %d", vertex_count, m->vertex_count);
}

sn_status sn_errors_measure(sn_context *ctx, const sn_examples *examples, const sn_keys *keys,
                            const sn_frames *positions, const sn_frames *normals, sn_errors *out) {
  SN_FREED_BY(free_measuring) measuring m = {0};
  *out = (sn_errors){0};
  SN_TRY(start(ctx, examples, keys, &m));
  m.given[0] = positions, m.given[1] = normals;
  SN_TRY(check_count(&m, positions->vertex_count));
  sn_parallel_for(ctx, keys->count, m.grain, add_given, &m);
  return finish(&m, out);
}

sn_status sn_errors_of_model(sn_context *ctx, const sn_rt_model *model, const sn_measured *of, bool normals,
                             sn_errors *out) {
  SN_FREED_BY(free_measuring) measuring m = {0};
  *out = (sn_errors){0};
  SN_TRY(start(ctx, of->truth, of->keys, &m));
  SN_TRY(check_count(&m, (int)model->info.vertex_count));
  SN_TRY(sn_assess_visit(ctx, model, of->input, of->keys, &(sn_visit){add_frame, &m, m.grain, normals, true}));
  return finish(&m, out);
}

sn_status sn_errors_add(sn_context *ctx, sn_errors *a, const sn_errors *b) {
  sn_errors sum;
  SN_TRY(new_errors(ctx, b->examples, b->vertex_count, a->frame_count + b->frame_count, &sum));
  sum.largest = fmax(a->largest, b->largest), sum.angle_sum = a->angle_sum + b->angle_sum;
  for (int i = 0; i < b->vertex_count; i++) sum.squared[i] = b->squared[i] + (a->squared ? a->squared[i] : 0);
  for (int n = 0; n < SN_PERCENTILE_BINS; n++) sum.bins[n] = b->bins[n] + (a->bins ? a->bins[n] : 0);
  for (int k = 0; k < sum.frame_count; k++) {
    const sn_errors *from = k < a->frame_count ? a : b;
    int at = k < a->frame_count ? k : k - a->frame_count;
    sum.frame_squared[k] = from->frame_squared[at], sum.frames[k] = from->frames[at];
  }
  sn_errors_free(a);
  *a = sum;
  return SN_OK;
}

SN_DEFINE_FREE(sn_errors);

// Least rms error of the articulated rigid body, relative to the diagonal: below, it is rounding, and the enveloping error
// would be meaningless.
static const double rigid_floor = 1e-6;

// Wang 2007, 7.1: squared error of the best articulated rigid body, one joint per vertex over all frames.
static sn_status best_rigid(sn_context *ctx, const sn_errors *errors, double *out) {
  const sn_examples *e = errors->examples;
  SN_SCRATCH(scratch, ctx);
  sn_keys keys = {.count = errors->frame_count, .frames = errors->frames};
  int n = e->rest.vertex_count, *copies = SN_NEW(ctx, &scratch, int, n); // file vertices per vertex
  double *least = SN_NEW(ctx, &scratch, double, n);
  if (!copies || !least) return ctx->error.status;
  SN_TRY(sn_best_joints(ctx, e, &keys, NULL, least));
  for (int s = 0; s < errors->vertex_count; s++) copies[sn_examples_vertex(e, s)]++;
  *out = 0;
  for (int i = 0; i < n; i++) *out += copies[i] * least[i];
  return SN_OK;
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

sn_status sn_metrics_of(sn_context *ctx, const sn_errors *errors, sn_metrics *out) {
  *out = (sn_metrics){errors->frame_count, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
  if (errors->frame_count == 0 || errors->vertex_count == 0) return SN_OK;
  const sn_mesh *rest = &errors->examples->rest;
  double diagonal = sn_mesh_diagonal(rest);
  double total = 0, count = (double)errors->vertex_count * errors->frame_count;
  for (int i = 0; i < errors->vertex_count; i++) total += errors->squared[i];
  double percent = diagonal > 0 ? 100 / diagonal : NAN;
  out->rms = sqrt(total / count);
  out->rms_pct_diag = percent * out->rms;
  out->p99_pct_diag = 100 * sn_percentile(errors->bins, 0.99);
  out->max_pct_diag = percent * errors->largest;
  out->e_rms = 1000 * sqrt(total / (3 * count));
  out->std_pct_diag = percent * vertex_deviation(errors);
  out->normal_deg = errors->angle_sum / count * 180 / SN_PI;
  if (errors->examples->poses.joint_count == 0) return SN_OK;
  double rounding = rigid_floor * diagonal, rigid = 0;
  SN_TRY(best_rigid(ctx, errors, &rigid));
  rigid = fmax(rigid, rounding * rounding * count);
  out->ee = rigid > 0 ? sqrt(total / rigid) : NAN;
  return SN_OK;
}
