// SPDX-License-Identifier: MIT
// For every vertex, minimises sum_f |x_f(w) - x_f|^2 + mu |w - w0|^2 over the simplex of its relevant joints. w0 are
// the prior's weights; the second norm is a metric of lengths (`measure`).
// mu is relative to the information of the frames: tr A on changes of weights that sum to zero, A = sum_f J_f^T J_f.
#include "train/skin/fit.h"

#include <math.h>
#include <string.h>

#include "base/team.h"
#include "solve/solve.h"
#include "train/near.h"

enum { gauss_newton_steps = 2 }; // linear blending needs one

typedef struct fit_job {
  sn_context *ctx;
  const sn_blend *blend;
  sn_near near;
  int influences;
  double ridge; // mu / tr A
  double floor; // squared length per key: joints that place a vertex closer together do not determine weights
  sn_skin *out;
} fit_job;

typedef struct fit_vertex {
  int i, count;
  uint16_t joints[SN_SIMPLEX_MAX];
  double prior[SN_SIMPLEX_MAX];
  double metric[SN_SIMPLEX_MAX][SN_SIMPLEX_MAX];
} fit_vertex;

static bool is_below(const sn_skeleton *skeleton, int joint, int top) {
  for (int depth = 0; joint >= 0 && depth <= skeleton->joint_count; joint = skeleton->parents[joint], depth++)
    if (joint == top) return true;
  return false;
}

// The ridge's metric on changes of weights: the squared displacement of the vertex by a small rotation of each relevant
// joint with its descendants, summed over axes and joints.
static void measure(const sn_skeleton *skeleton, sn_vec3 rest, double least, fit_vertex *v) {
  for (int c = 0; c < v->count; c++) {
    int top = v->joints[c];
    sn_vec3 arm = sn_vec3_sub(rest, sn_affine_translation(skeleton->rest[top]));
    double size = sn_vec3_dot(arm, arm) + least;
    bool carried[SN_SIMPLEX_MAX] = {false};
    for (int k = 0; k < v->count; k++) carried[k] = is_below(skeleton, v->joints[k], top);
    for (int k = 0; k < v->count; k++)
      for (int l = 0; l < v->count; l++) v->metric[k][l] += carried[k] && carried[l] ? size : 0;
  }
}

static fit_vertex look_at(const fit_job *job, int i) {
  fit_vertex v = {.i = i};
  const sn_skin *skin = job->near.skin;
  v.count = sn_near_joints(&job->near, i, SN_SIMPLEX_MAX, v.joints);
  double sum = 0;
  for (int c = 0; c < v.count; c++)
    for (int k = 0; k < skin->influences; k++) {
      size_t at = (size_t)i * (size_t)skin->influences + (size_t)k;
      if (skin->joints[at] == v.joints[c]) v.prior[c] += skin->weights[at], sum += skin->weights[at];
    }
  for (int c = 0; c < v.count; c++) v.prior[c] /= sum;
  measure(&job->blend->examples->skeleton, sn_vec3_from(job->blend->examples->rest.positions[i]), job->floor, &v);
  return v;
}

// The normal equations of a Gauss-Newton step from `weights`.
static void linearise(const fit_job *job, const fit_vertex *v, const double *weights, sn_simplex *q) {
  double gradient[SN_SIMPLEX_MAX] = {0};
  sn_vec3 column[SN_SIMPLEX_MAX];
  const sn_blend_row row = {v->count, v->joints, weights};
  *q = (sn_simplex){.n = v->count};
  for (int k = 0; k < job->blend->keys->count; k++) {
    sn_vec3 residual = sn_blend_residual(job->blend, k, v->i, &row, column);
    for (int a = 0; a < v->count; a++) {
      gradient[a] += sn_vec3_dot(column[a], residual);
      for (int b = 0; b <= a; b++) q->a[a][b] += sn_vec3_dot(column[a], column[b]);
    }
  }
  for (int a = 0; a < v->count; a++)
    for (int b = 0; b < a; b++) q->a[b][a] = q->a[a][b];
  for (int a = 0; a < v->count; a++) {
    q->b[a] = -gradient[a];
    for (int b = 0; b < v->count; b++) q->b[a] += q->a[a][b] * weights[b];
  }
}

static void add_prior(sn_simplex *q, const fit_vertex *v, double mu) {
  for (int k = 0; k < q->n; k++)
    for (int l = 0; l < q->n; l++) {
      q->a[k][l] += mu * v->metric[k][l];
      q->b[k] += mu * v->metric[k][l] * v->prior[l];
    }
}

// The trace of a matrix restricted to vectors that sum to zero.
static double size_of(int n, const double (*a)[SN_SIMPLEX_MAX]) {
  double trace = 0, sum = 0;
  for (int k = 0; k < n; k++) {
    trace += a[k][k];
    for (int l = 0; l < n; l++) sum += a[k][l];
  }
  return trace - sum / n;
}

// Starts at the prior's weights.
static void fit_one(const fit_job *job, const fit_vertex *v, double *weights) {
  memcpy(weights, v->prior, sizeof v->prior);
  double mu = 0;
  for (int n = 0; v->count > 1 && n < (job->blend->motions ? gauss_newton_steps : 1); n++) {
    sn_simplex q;
    linearise(job, v, weights, &q);
    if (n == 0)
      mu = job->ridge *
           (size_of(v->count, (const double(*)[SN_SIMPLEX_MAX])q.a) + job->blend->keys->count * job->floor) /
           size_of(v->count, (const double(*)[SN_SIMPLEX_MAX])v->metric);
    add_prior(&q, v, mu);
    memcpy(q.w, weights, sizeof q.w);
    sn_simplex_solve_sparse(&q, job->influences);
    memcpy(weights, q.w, sizeof q.w);
  }
}

static void fit_range(void *user, int64_t begin, int64_t end, int worker) {
  const fit_job *job = user;
  if (worker == 0 && job->blend->examples->frames.file.map) // only the caller's thread reports
    sn_progress(job->ctx, "fitting weights", (double)begin / job->out->vertex_count);
  for (int64_t i = begin; i < end; i++) {
    fit_vertex v = look_at(job, (int)i);
    double weights[SN_SIMPLEX_MAX];
    fit_one(job, &v, weights);
    for (int k = 0; k < job->influences; k++) {
      int best = 0;
      for (int c = 1; c < v.count; c++)
        if (weights[c] > weights[best]) best = c;
      size_t at = (size_t)i * (size_t)job->influences + (size_t)k;
      job->out->joints[at] = v.joints[best], job->out->weights[at] = (float)fmax(weights[best], 0);
      weights[best] = -1;
    }
  }
  sn_frames_used(&job->blend->examples->frames, end - begin, job->blend->keys->count);
}

sn_status sn_skin_fit(sn_context *ctx, const sn_blend *blend, const sn_skin *prior, double ridge, int influences,
                      sn_skin *out) {
  sn_arena scratch = sn_arena_new(ctx);
  int n = prior->vertex_count;
  size_t row = (size_t)influences;
  double diagonal = sn_points_diagonal((const float(*)[3])blend->examples->rest.positions, n);
  fit_job job = {.ctx = ctx, .blend = blend, .influences = influences, .ridge = ridge, .out = out};
  job.floor = sn_least_motion * sn_least_motion * diagonal * diagonal;
  *out = (sn_skin){0};
  sn_status status = sn_near_new(ctx, &scratch, &blend->examples->skeleton, prior, &job.near);
  if (status == SN_OK) status = sn_skin_new(ctx, n, influences, out);
  if (status == SN_OK) {
    sn_team_for(ctx, n, 64, fit_range, &job);
    status = sn_team_gather(ctx, n, 64, out->joints, row * sizeof *out->joints);
    if (status == SN_OK) status = sn_team_gather(ctx, n, 64, out->weights, row * sizeof *out->weights);
    sn_skin_normalize(out);
  }
  sn_arena_free(&scratch);
  return status;
}
