// SPDX-License-Identifier: MIT
// Chooses control points: the vertices that best predict the others on held-out frames.
//
// The score is the leave-one-out error of kernel ridge regression from control positions to the whole shape, in closed form. Shapes
// are coordinates in the span of the training frames, so the cost of a trial is independent of the vertices.
#include "train/affine/affine.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "base/scope.h"
#include "solve/lapack.h"

enum { candidate_count = 64 };

// Kernel width (in mean squared distances, like beta) and ridge of the score.
static const double width = 16, ridge = 1e-7;

typedef struct search {
  int frames, rank;
  double *shapes; // frames * rank: coordinates of the centred shapes
  int candidates, *vertex;
  double *distances; // [candidate][frames][frames]: squared distances between its positions
  int chosen_count;
  double *chosen; // frames * frames: squared distances summed over the control points chosen so far
  double *errors; // per candidate
  double *space;  // per worker: 2 frames^2
} search;

// Coordinates of the shapes in their span: with the Gram matrix of the centred shapes G = V L V^T they are V sqrt(L).
static sn_status shape_coordinates(sn_context *ctx, const sn_examples *examples, const sn_keys *keys,
                                   sn_arena *memory, search *s) {
  size_t n = (size_t)s->frames;
  double *gram = SN_NEW(ctx, memory, double, n *n), *values = SN_NEW(ctx, memory, double, n);
  double *mean = SN_NEW(ctx, memory, double, 3), *row = SN_NEW(ctx, memory, double, n);
  s->shapes = SN_NEW(ctx, memory, double, n *n);
  if (!gram || !values || !mean || !row || !s->shapes) return ctx->error.status;
  for (int i = 0; i < examples->rest.vertex_count; i++)
    for (int r = 0; r < 3; r++) {
      double sum = 0;
      for (size_t f = 0; f < n; f++) sum += row[f] = (double)sn_frame(&examples->frames, keys->frames[f])[i][r];
      for (size_t f = 0; f < n; f++) row[f] -= sum / (double)n;
      for (size_t f = 0; f < n; f++)
        for (size_t g = 0; g <= f; g++) gram[g * n + f] += row[f] * row[g];
    }
  sn_status status = sn_lapack_syevd(ctx, 'U', s->frames, gram, values);
  if (status == SN_NO_MEMORY) return status;
  if (status != SN_OK) {
    return sn_fail(ctx, SN_NOT_CONVERGED, "controls auto: the principal shapes of %d frames were not found",
                   s->frames);
  }
  for (int k = s->frames - 1; k >= 0 && values[k] > 1e-12 * values[n - 1] && values[k] > 0; k--, s->rank++)
    for (size_t f = 0; f < n; f++) s->shapes[f * n + (size_t)s->rank] = gram[f * n + (size_t)k] * sqrt(values[k]);
  return SN_OK;
}

static double motion_distance(const sn_examples *examples, const sn_keys *keys, int a, int b) {
  double sum = 0;
  for (int f = -1; f < keys->count; f++) {
    const float(*p)[3] =
      f < 0 ? (const float(*)[3])examples->rest.positions : sn_frame(&examples->frames, keys->frames[f]);
    double d = sn_vec3_distance(sn_vec3_from(p[a]), sn_vec3_from(p[b]));
    sum += d * d;
  }
  return sum;
}

// Farthest-point sampling over the mesh and its motion.
static void choose_candidates(const sn_examples *examples, const sn_keys *keys, double *nearest, search *s) {
  int n = examples->rest.vertex_count, next = 0;
  for (int i = 0; i < n; i++) nearest[i] = INFINITY;
  sn_vec3 centre = {0, 0, 0};
  for (int i = 0; i < n; i++) centre = sn_vec3_mad(centre, sn_vec3_from(examples->rest.positions[i]), 1.0 / n);
  for (int i = 1; i < n; i++) {
    if (sn_vec3_distance(sn_vec3_from(examples->rest.positions[i]), centre) >
        sn_vec3_distance(sn_vec3_from(examples->rest.positions[next]), centre))
      next = i;
  }
  for (int c = 0; c < s->candidates; c++) {
    s->vertex[c] = next;
    int farthest = 0;
    for (int i = 0; i < n; i++) {
      nearest[i] = fmin(nearest[i], motion_distance(examples, keys, i, s->vertex[c]));
      if (nearest[i] > nearest[farthest]) farthest = i;
    }
    next = farthest;
  }
}

static void fill_distances(const sn_examples *examples, const sn_keys *keys, search *s) {
  size_t n = (size_t)s->frames;
  for (int c = 0; c < s->candidates; c++)
    for (size_t f = 0; f < n; f++)
      for (size_t g = 0; g < n; g++) {
        sn_vec3 a = sn_vec3_from(sn_frame(&examples->frames, keys->frames[f])[s->vertex[c]]);
        sn_vec3 b = sn_vec3_from(sn_frame(&examples->frames, keys->frames[g])[s->vertex[c]]);
        double d = sn_vec3_distance(a, b);
        s->distances[((size_t)c * n + f) * n + g] = d * d;
      }
}

// Sum over held-out frames of the squared shape error, with G = K + 11^T + ridge I: e_k = (G^-1 Y)_k / (G^-1)_kk.
static double held_out_error(const search *s, const double *squared, double beta, double *g) {
  size_t n = (size_t)s->frames;
  for (size_t a = 0; a < n * n; a++) g[a] = exp(-squared[a] / beta);
  for (size_t a = 0; a < n; a++) g[a * n + a] += ridge;
  for (size_t a = 0; a < n * n; a++) g[a] += 1; // constant term
  if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', s->frames, g, s->frames) != 0 ||
      LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'L', s->frames, g, s->frames) != 0)
    return INFINITY;
  double error = 0;
  for (size_t k = 0; k < n; k++)
    for (int r = 0; r < s->rank; r++) {
      double sum = 0;
      for (size_t f = 0; f < n; f++) sum += (f >= k ? g[k * n + f] : g[f * n + k]) * s->shapes[f * n + (size_t)r];
      sum /= g[k * n + k];
      error += sum * sum;
    }
  return error;
}

static void try_candidates(void *user, int64_t begin, int64_t end, int worker) {
  const search *s = user;
  size_t n = (size_t)s->frames;
  double *squared = s->space + (size_t)worker * 2 * n * n, *g = squared + n * n;
  for (int64_t c = begin; c < end; c++) {
    double mean = 0;
    for (size_t a = 0; a < n * n; a++) {
      squared[a] = s->chosen[a] + s->distances[(size_t)c * n * n + a];
      mean += squared[a] / (double)(n * n);
    }
    s->errors[c] = held_out_error(s, squared, width * mean + 1e-30, g);
  }
}

static bool is_taken(const int *chosen, int count, int vertex) {
  for (int k = 0; k < count; k++)
    if (chosen[k] == vertex) return true;
  return false;
}

// Takes the best candidate left; if there is none, the first free vertex.
static void take_best(search *s, int vertex_count, int *out) {
  size_t n = (size_t)s->frames;
  int best = -1;
  for (int c = 0; c < s->candidates; c++) {
    if (is_taken(out, s->chosen_count, s->vertex[c])) continue;
    if (best < 0 || s->errors[c] < s->errors[best]) best = c;
  }
  int vertex = best >= 0 ? s->vertex[best] : 0;
  while (best < 0 && vertex < vertex_count && is_taken(out, s->chosen_count, vertex)) vertex++;
  for (size_t a = 0; best >= 0 && a < n * n; a++) s->chosen[a] += s->distances[(size_t)best * n * n + a];
  out[s->chosen_count++] = vertex;
}

sn_status sn_control_choose_controls(sn_context *ctx, const sn_examples *examples, const sn_keys *keys, int count,
                                     int *out) {
  SN_SCRATCH(scratch, ctx);
  int vertices = examples->rest.vertex_count, workers = sn_threads(ctx);
  search s = {.frames = keys->count, .candidates = vertices < candidate_count ? vertices : candidate_count};
  if (s.candidates < count) s.candidates = count < vertices ? count : vertices;
  size_t n = (size_t)s.frames;
  s.vertex = SN_NEW(ctx, &scratch, int, s.candidates);
  s.distances = SN_NEW(ctx, &scratch, double, (size_t)s.candidates *n *n);
  s.chosen = SN_NEW(ctx, &scratch, double, n *n);
  s.errors = SN_NEW(ctx, &scratch, double, s.candidates);
  s.space = SN_NEW(ctx, &scratch, double, (size_t)workers * 2 * n * n);
  double *nearest = SN_NEW(ctx, &scratch, double, vertices);
  if (!s.vertex || !s.distances || !s.chosen || !s.errors || !s.space || !nearest) return ctx->error.status;
  SN_TRY(shape_coordinates(ctx, examples, keys, &scratch, &s));
  choose_candidates(examples, keys, nearest, &s);
  fill_distances(examples, keys, &s);
  for (int k = 0; k < count; k++) {
    sn_parallel_for(ctx, s.candidates, 4, try_candidates, &s);
    take_best(&s, vertices, out);
  }
  return SN_OK;
}
