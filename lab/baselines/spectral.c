// SPDX-License-Identifier: MIT
// Spectral clustering of a sample of the vertices; the others join the most similar of the nearby samples.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/baselines/segments.h"
#include "solve/lapack.h"

enum { samples = 600, local_scale = 7, near_samples = 6, mean_rounds = 50, most_frames = 48 };

// ---- normalised spectral clustering -------------------------------------------------------------------------------------

void sn_rig_affinity(int n, const double *distances, double *a, double *scale, double *row) {
  for (int i = 0; i < n; i++) {
    memcpy(row, distances + (size_t)i * (size_t)n, (size_t)n * sizeof *row);
    sn_sort_doubles(row, (size_t)n);
    scale[i] = fmax(row[n > local_scale ? local_scale : n - 1], 1e-9 * row[n - 1] + 1e-30);
  }
  for (int i = 0; i < n; i++) {
    row[i] = 0;
    for (int k = 0; k < n; k++) {
      double d = distances[(size_t)i * (size_t)n + (size_t)k];
      a[(size_t)i * (size_t)n + (size_t)k] = i == k ? 0 : exp(-d * d / (scale[i] * scale[k]));
      row[i] += a[(size_t)i * (size_t)n + (size_t)k];
    }
    row[i] = 1 / sqrt(row[i] + 1e-12);
  }
  for (int i = 0; i < n; i++)
    for (int k = 0; k < n; k++) a[(size_t)i * (size_t)n + (size_t)k] *= row[i] * row[k];
}

static double gap(const double *a, const double *b, int dimension) {
  double sum = 0;
  for (int c = 0; c < dimension; c++) sum += (a[c] - b[c]) * (a[c] - b[c]);
  return sum;
}

// Lloyd's algorithm from farthest-point seeds.
static void k_means(int n, int dimension, const double *points, int count, double *centres, double *distance,
                    int *of) {
  for (int i = 0; i < n; i++) distance[i] = INFINITY;
  for (int k = 0, seed = 0; k < count; k++) {
    memcpy(centres + k * dimension, points + (size_t)seed * (size_t)dimension, (size_t)dimension * sizeof *centres);
    for (int i = 0; i < n; i++)
      distance[i] =
        fmin(distance[i], gap(points + (size_t)i * (size_t)dimension, centres + k * dimension, dimension));
    for (int i = 0; i < n; i++)
      if (distance[i] > distance[seed]) seed = i;
  }
  for (int round = 0; round < mean_rounds; round++) {
    bool changed = round == 0;
    for (int i = 0; i < n; i++) {
      int best = 0;
      double least = INFINITY;
      for (int k = 0; k < count; k++) {
        double d = gap(points + (size_t)i * (size_t)dimension, centres + k * dimension, dimension);
        if (d < least) least = d, best = k;
      }
      changed = changed || of[i] != best;
      of[i] = best;
    }
    if (!changed) return;
    for (int k = 0; k < count; k++) {
      int members = 0;
      for (int i = 0; i < n; i++) members += of[i] == k;
      if (members == 0) continue;
      memset(centres + k * dimension, 0, (size_t)dimension * sizeof *centres);
      for (int i = 0; i < n; i++)
        for (int c = 0; c < dimension && of[i] == k; c++)
          centres[k * dimension + c] += points[(size_t)i * (size_t)dimension + (size_t)c] / members;
    }
  }
}

sn_status sn_rig_spectral(sn_context *ctx, int n, const double *distances, int count, int *of) {
  sn_arena scratch = sn_arena_new(ctx);
  if (count > n) count = n;
  double *a = SN_NEW(ctx, &scratch, double, (size_t)n *(size_t)n), *values = SN_NEW(ctx, &scratch, double, n);
  double *points = SN_NEW(ctx, &scratch, double, (size_t)n *(size_t)count), *room = SN_NEW(ctx, &scratch, double, n);
  double *centres = SN_NEW(ctx, &scratch, double, (size_t)count *(size_t)count);
  sn_status status = a && values && points && room && centres ? SN_OK : ctx->error.status;
  if (status == SN_OK) {
    sn_rig_affinity(n, distances, a, values, room);
    status = sn_lapack_syevd(ctx, 'L', n, a, values);
    if (status == SN_NOT_CONVERGED) sn_fail(ctx, status, "the spectrum of the clusters did not converge");
  }
  for (int i = 0; status == SN_OK && i < n; i++) {
    double *row = points + (size_t)i * (size_t)count, length = 0;
    for (int c = 0; c < count; c++) {
      row[c] = a[(size_t)i * (size_t)n + (size_t)(n - 1 - c)];
      length += row[c] * row[c];
    }
    for (int c = 0; c < count; c++) row[c] /= sqrt(length + 1e-30);
  }
  if (status == SN_OK) k_means(n, count, points, count, centres, room, of);
  sn_arena_free(&scratch);
  return status;
}

// ---- from the sample to all vertices ------------------------------------------------------------------------------------

// The dissimilarity of the motion of two vertices.
typedef double (*unlike_fn)(const void *user, int i, int k);

typedef struct spread_job {
  const fit_problem *p;
  const int *sample;
  int sample_count;
  const int *sample_of;
  unlike_fn unlike;
  const void *user;
  double *distances;
  int *of;
} spread_job;

static void distance_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const spread_job *job = user;
  for (int64_t i = begin; i < end; i++)
    for (int k = 0; k < job->sample_count; k++) {
      job->distances[(size_t)i * (size_t)job->sample_count + (size_t)k] =
        job->unlike(job->user, job->sample[i], job->sample[k]);
    }
}

static void spread_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const spread_job *job = user;
  for (int64_t i = begin; i < end; i++) {
    int near[near_samples], count = 0;
    double reach[near_samples];
    for (int s = 0; s < job->sample_count; s++) { // the nearest samples in the rest pose, nearest first
      double d = gap(job->p->u[i], job->p->u[job->sample[s]], 3);
      if (count == near_samples && !(d < reach[count - 1])) continue;
      int at = count < near_samples ? count++ : count - 1;
      for (; at > 0 && d < reach[at - 1]; at--) reach[at] = reach[at - 1], near[at] = near[at - 1];
      reach[at] = d, near[at] = s;
    }
    double least = INFINITY;
    for (int s = 0; s < count; s++) {
      double d = job->unlike(job->user, (int)i, job->sample[near[s]]);
      if (d < least) least = d, job->of[i] = job->sample_of[near[s]];
    }
  }
}

static sn_status cluster_all(sn_context *ctx, const fit_problem *p, unlike_fn unlike, const void *user, int count,
                             int *of) {
  sn_arena scratch = sn_arena_new(ctx);
  int n = p->n < samples ? p->n : samples;
  int *sample = SN_NEW(ctx, &scratch, int, n), *sample_of = SN_NEW(ctx, &scratch, int, n);
  double *distances = SN_NEW(ctx, &scratch, double, (size_t)n *(size_t)n);
  spread_job job = {p, sample, n, sample_of, unlike, user, distances, of};
  sn_status status = sample && sample_of && distances ? SN_OK : ctx->error.status;
  if (status == SN_OK) {
    for (int s = 0; s < n; s++) sample[s] = p->order[(int64_t)s * p->n / n];
    sn_parallel_for(ctx, n, 4, distance_range, &job);
    status = sn_rig_spectral(ctx, n, distances, count, sample_of);
  }
  if (status == SN_OK) sn_parallel_for(ctx, p->n, 64, spread_range, &job);
  sn_arena_free(&scratch);
  return status;
}

// ---- de Aguiar and others: distances that change ------------------------------------------------------------------------

static int frame_at(const sn_rig_motions *c, int f) { return (int)((int64_t)f * c->p->f / c->frames); }

double sn_rig_distance_changes(const void *user, int i, int k) {
  const sn_rig_motions *c = user;
  const fit_problem *p = c->p;
  double sum = 0, square = 0;
  for (int f = 0; f < c->frames; f++) {
    float room[2][3];
    const float *x = fit_point(p, i, frame_at(c, f), room[0]), *y = fit_point(p, k, frame_at(c, f), room[1]);
    double a = (double)(x[0] - y[0]), b = (double)(x[1] - y[1]), d = (double)(x[2] - y[2]);
    double length2 = a * a + b * b + d * d;
    sum += sqrt(length2), square += length2;
  }
  double mean = sum / c->frames;
  return sqrt(fmax(0, square / c->frames - mean * mean)) + 0.02 * mean;
}

sn_status sn_rig_distance_segments(sn_context *ctx, const fit_problem *p, int count, int *of) {
  sn_rig_motions choice = {p, p->f < most_frames ? p->f : most_frames, NULL};
  return cluster_all(ctx, p, sn_rig_distance_changes, &choice, count, of);
}

// ---- Hasler and others: rotations -----------------------------------------------------------------------------------------

typedef struct rotation_job {
  const sn_rig_motions *choice;
  const sn_topology *topology;
  float *out;
} rotation_job;

// The rotation of each vertex's one-ring in every frame.
static void rotation_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const rotation_job *job = user;
  const fit_problem *p = job->choice->p;
  for (int64_t i = begin; i < end; i++)
    for (int f = 0; f < job->choice->frames; f++) {
      sn_mat3 h = sn_mat3_diagonal(1e-12, 1e-12, 1e-12);
      int frame = frame_at(job->choice, f);
      float room[2][3];
      const float *x = fit_point(p, (int)i, frame, room[0]);
      for (int k = job->topology->ring_start[i]; k < job->topology->ring_start[i + 1]; k++) {
        int other = job->topology->ring[k];
        const float *y = fit_point(p, other, frame, room[1]);
        for (int c = 0; c < 3; c++)
          for (int r = 0; r < 3; r++) h.m[c][r] += (p->u[other][c] - p->u[i][c]) * (double)(y[r] - x[r]);
      }
      sn_mat3 rotation = sn_mat3_kabsch(h);
      float *to = job->out + ((size_t)i * (size_t)job->choice->frames + (size_t)f) * 9;
      for (int e = 0; e < 9; e++) to[e] = (float)rotation.m[e / 3][e % 3];
    }
}

double sn_rig_rotation_differs(const void *user, int i, int k) {
  static const double apart = 0.5; // radians per unit of distance (mesh radius)
  const sn_rig_motions *c = user;
  const float *a = c->rotation + (size_t)i * (size_t)c->frames * 9,
              *b = c->rotation + (size_t)k * (size_t)c->frames * 9;
  double sum = 0;
  for (int e = 0; e < 9 * c->frames; e++) sum += (double)((a[e] - b[e]) * (a[e] - b[e]));
  return sqrt(sum / 2 / c->frames + apart * apart * gap(c->p->u[i], c->p->u[k], 3));
}

sn_status sn_rig_rotation_segments(sn_context *ctx, const fit_problem *p, const sn_topology *topology, int count,
                                   int *of) {
  sn_arena scratch = sn_arena_new(ctx);
  sn_rig_motions choice = {p, p->f < most_frames ? p->f : most_frames, NULL};
  float *rotation = SN_NEW(ctx, &scratch, float, (size_t)p->n *(size_t)choice.frames * 9);
  rotation_job job = {&choice, topology, rotation};
  sn_status status = rotation ? SN_OK : ctx->error.status;
  if (status == SN_OK) sn_parallel_for(ctx, p->n, 64, rotation_range, &job);
  choice.rotation = rotation;
  if (status == SN_OK) status = cluster_all(ctx, p, sn_rig_rotation_differs, &choice, count, of);
  sn_arena_free(&scratch);
  return status;
}
