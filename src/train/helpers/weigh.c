// SPDX-License-Identifier: MIT
// Weights on joints and helpers for the regressed motion: least squares on the simplex, with a ridge that draws a joint's and its
// helpers' weights together to that of the joint in the base skin, which decides where joints do not move apart in training.
#include "train/helpers/helpers.h"

#include <math.h>
#include <string.h>

// Of the prior: relative to the frames' information, and to `min_gain` (joints with a fifth of the weight stay).
static const double ridge = 0.01, kept = 25;

typedef struct weighing {
  sn_helper_solve *s;
  bool all;
  const sn_skin *skin; // of residuals
} weighing;

typedef struct vertex {
  int i, entries[SN_SIMPLEX_MAX], joint[SN_SIMPLEX_MAX]; // palette entries, and the joints that they go with
  sn_simplex q;                                          // its start: the base skin, the prior
} vertex;

static bool is_relevant(const sn_helper_solve *s, const vertex *v, int joints, int parent) {
  for (int k = 0; k < joints; k++)
    if (v->entries[k] == parent || sn_near_beside(&s->near, v->entries[k], parent)) return true;
  return false;
}

// The joints of the base skin, then the nearest helpers of these joints and their neighbours.
static void find_entries(const sn_helper_solve *s, vertex *v) {
  size_t row = (size_t)v->i * (size_t)s->base.influences;
  sn_vec3 rest = sn_vec3_from(s->examples->rest.positions[v->i]);
  int joints = 0, count = 0;
  double far[SN_SIMPLEX_MAX];
  for (size_t at = row; at < row + (size_t)s->base.influences; at++) {
    if (!(s->base.weights[at] > 0)) continue;
    v->entries[joints] = v->joint[joints] = s->base.joints[at];
    v->q.w[joints++] = s->base.weights[at];
  }
  for (int h = 0; h < s->placed_count; h++) {
    if (!is_relevant(s, v, joints, s->helpers[h].parent)) continue;
    sn_vec3 d = sn_vec3_sub(rest, sn_vec3_from(s->helpers[h].centre));
    count = sn_least_enter(SN_SIMPLEX_MAX - joints, count, sn_vec3_dot(d, d), h, far, v->entries + joints);
  }
  v->q.n = joints + count;
  for (int k = joints; k < v->q.n; k++) {
    v->joint[k] = s->helpers[v->entries[k]].parent;
    v->entries[k] += s->joint_count;
  }
}

// The normal matrix. Returns its trace without the mean of the motions.
static double fill(const sn_helper_solve *s, vertex *v) {
  sn_vec3 rest = sn_vec3_from(s->examples->rest.positions[v->i]), d[SN_SIMPLEX_MAX];
  sn_simplex *q = &v->q;
  double trace = 0, sum = 0;
  for (int f = 0; f < s->frame_count; f++) {
    const sn_affine *palette = sn_helper_palette(s, f);
    sn_vec3 x = sn_vec3_from(sn_frame(&s->examples->frames, s->keys.frames[f])[v->i]);
    for (int k = 0; k < q->n; k++) d[k] = sn_vec3_sub(sn_affine_apply(palette[v->entries[k]], rest), x);
    for (int k = 0; k < q->n; k++)
      for (int l = 0; l <= k; l++) q->a[k][l] += sn_vec3_dot(d[k], d[l]);
  }
  for (int k = 0; k < q->n; k++) {
    trace += q->a[k][k];
    for (int l = k + 1; l < q->n; l++) q->a[k][l] = q->a[l][k];
    for (int l = 0; l < q->n; l++) sum += q->a[k][l];
  }
  return trace - sum / q->n;
}

void sn_helper_solve_row(sn_simplex *q, const int *entries, double price, int influences, uint16_t *joints,
                         float *weights) {
  int put = 0;
  sn_simplex_solve_sparse(q, influences);
  if (price > 0) sn_simplex_thin(q, price);
  for (int k = 0; k < influences; k++) joints[k] = 0, weights[k] = 0;
  for (int k = 0; k < q->n && put < influences; k++)
    if (q->w[k] > 0) joints[put] = (uint16_t)entries[k], weights[put++] = (float)q->w[k];
}

static void weigh_vertex(const sn_helper_solve *s, int i, double min_gain) {
  vertex v = {.i = i};
  sn_simplex *q = &v.q;
  size_t row = (size_t)i * (size_t)s->skin.influences;
  find_entries(s, &v);
  double mu = ridge * fill(s, &v) / q->n + kept * min_gain;
  for (int k = 0; k < q->n; k++)
    for (int l = 0; l < q->n; l++)
      if (v.joint[k] == v.joint[l]) q->a[k][l] += mu, q->b[k] += mu * q->w[l];
  sn_helper_solve_row(q, v.entries, min_gain, s->skin.influences, s->skin.joints + row, s->skin.weights + row);
}

static void weigh_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const weighing *w = user;
  for (int64_t n = begin; n < end; n++)
    weigh_vertex(w->s, w->all ? (int)n : w->s->sample[n], w->all ? w->s->min_gain : 0);
}

sn_status sn_helpers_weigh(sn_helper_solve *s, bool all) {
  weighing w = {.s = s, .all = all};
  sn_parallel_for(s->ctx, all ? s->examples->rest.vertex_count : s->sample_count, 16, weigh_range, &w);
  return sn_stopped(s->ctx) ? s->ctx->error.status : SN_OK;
}

static void residual_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const weighing *job = user;
  const sn_helper_solve *s = job->s;
  for (int64_t n = begin; n < end; n++)
    for (int f = 0; f < s->frame_count; f++) {
      int i = s->sample[n];
      sn_vec3 at = sn_skin_blend(job->skin, i, sn_helper_palette(s, f), sn_vec3_from(s->examples->rest.positions[i]));
      sn_vec3 x = sn_vec3_from(sn_frame(&s->examples->frames, s->keys.frames[f])[i]);
      sn_vec3_store(sn_vec3_sub(x, at), s->residuals[(size_t)f * (size_t)s->sample_count + (size_t)n]);
    }
}

void sn_helpers_residuals(sn_helper_solve *s, const sn_skin *skin) {
  weighing job = {.s = s, .skin = skin};
  sn_parallel_for(s->ctx, s->sample_count, 16, residual_range, &job);
}
