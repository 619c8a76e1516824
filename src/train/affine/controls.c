// SPDX-License-Identifier: MIT
// Chooses control points: greedily, each time the vertex with which those chosen best predict the others on held-out frames.
//
// The score is the leave-one-out error of ridge regression from the coordinates x of the control points to the whole shape: with K
// the Gram matrix of the centred shapes, M = r (1 1^T / r + sum x x^T + r I)^-1 and E = M K M it is sum_f E_ff / M_ff^2.
#include "train/affine/affine.h"

#include <cblas.h>
#include <math.h>

#include "base/scope.h"
#include "train/cluster.h"

enum { most_candidates = 256 };

typedef struct search {
  const sn_examples *examples;
  const sn_keys *keys;
  int candidate_count; // evenly spread over the vertices
  double ridge;
  double *m;      // of the control points so far: M, then E
  double *trials; // per worker: the same with a candidate, and three vectors
  double *errors; // per candidate; INFINITY: chosen
} search;

// The coordinate r of a vertex in every frame, minus its mean.
static void read_coordinate(const search *s, int vertex, int r, double *x) {
  int n = s->keys->count;
  double mean = 0;
  for (int f = 0; f < n; f++)
    x[f] = (double)sn_frame(&s->examples->frames, s->keys->frames[f])[vertex][r], mean += x[f] / n;
  for (int f = 0; f < n; f++) x[f] -= mean;
}

// M = I - 1 1^T / n and E = K. The ridge is relative to the mean variance of a coordinate.
static void start(search *s, double *x) {
  size_t n = (size_t)s->keys->count;
  double *e = s->m + n * n, trace = 1e-300;
  for (size_t a = 0; a < n * n; a++) s->m[a] = (a % (n + 1) == 0) - 1.0 / (double)n;
  for (int k = 0; k < 3 * s->examples->rest.vertex_count; k++) {
    read_coordinate(s, k / 3, k % 3, x);
    cblas_dsyr(CblasRowMajor, CblasUpper, (int)n, 1, x, 1, e, (int)n);
  }
  for (size_t a = 0; a < n * n; a++) e[a] = a / n <= a % n ? e[a] : e[a % n * n + a / n];
  for (size_t f = 0; f < n; f++) trace += e[f * n + f];
  s->ridge = sn_bone_rounding * trace / ((double)n * 3 * s->examples->rest.vertex_count);
}

// Adds the coordinates of a vertex: with v = M x, u = E x and g = r + x^T v, M becomes M - v v^T / g and so on. `x`: space.
static void add_vertex(const search *s, int vertex, double *m, double *x) {
  int n = s->keys->count;
  double *e = m + (size_t)n * (size_t)n, *v = x + n, *u = v + n;
  for (int r = 0; r < 3; r++) {
    read_coordinate(s, vertex, r, x);
    cblas_dsymv(CblasRowMajor, CblasUpper, n, 1, m, n, x, 1, 0, v, 1);
    cblas_dsymv(CblasRowMajor, CblasUpper, n, 1, e, n, x, 1, 0, u, 1);
    double g = s->ridge + cblas_ddot(n, x, 1, v, 1);
    cblas_dsyr(CblasRowMajor, CblasUpper, n, -1 / g, v, 1, m, n);
    cblas_dsyr2(CblasRowMajor, CblasUpper, n, -1 / g, v, 1, u, 1, e, n);
    cblas_dsyr(CblasRowMajor, CblasUpper, n, cblas_ddot(n, x, 1, u, 1) / (g * g), v, 1, e, n);
  }
}

static int candidate(const search *s, int64_t c) {
  return (int)(c * s->examples->rest.vertex_count / s->candidate_count);
}

static void try_candidates(void *user, int64_t begin, int64_t end, int worker) {
  const search *s = user;
  size_t n = (size_t)s->keys->count;
  double *m = s->trials + (size_t)worker * (2 * n * n + 3 * n), *e = m + n * n;
  for (int64_t c = begin; c < end; c++) {
    if (isinf(s->errors[c])) continue;
    cblas_dcopy((int)(2 * n * n), s->m, 1, m, 1);
    add_vertex(s, candidate(s, c), m, e + n * n);
    s->errors[c] = 0;
    for (size_t f = 0; f < n * n; f += n + 1) s->errors[c] += fmax(e[f], 0) / (m[f] * m[f]);
  }
}

sn_status sn_control_choose_controls(sn_context *ctx, const sn_examples *examples, const sn_keys *keys, int count,
                                     int *out) {
  SN_SCRATCH(scratch, ctx);
  size_t n = (size_t)keys->count;
  int most = count > most_candidates ? count : most_candidates, vertices = examples->rest.vertex_count;
  search s = {.examples = examples, .keys = keys, .candidate_count = vertices < most ? vertices : most};
  s.m = SN_NEW(ctx, &scratch, double, 2 * n * n);
  s.trials = SN_NEW(ctx, &scratch, double, (size_t)sn_threads(ctx) * (2 * n * n + 3 * n));
  s.errors = SN_NEW(ctx, &scratch, double, s.candidate_count);
  if (!s.m || !s.trials || !s.errors) return ctx->error.status;
  start(&s, s.trials);
  for (int k = 0; k < count; k++) {
    int best = 0;
    sn_parallel_for(ctx, s.candidate_count, 4, try_candidates, &s);
    for (int c = 1; c < s.candidate_count; c++)
      if (s.errors[c] < s.errors[best]) best = c;
    out[k] = candidate(&s, best), s.errors[best] = INFINITY;
    add_vertex(&s, out[k], s.m, s.trials);
  }
  return SN_OK;
}
