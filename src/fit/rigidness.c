// SPDX-License-Identifier: MIT
// Rigidness Laplacian (Le and Deng 2014): neighbours whose distance never changes should have the same weights.
#include "base/team.h"
#include "fit/weights.h"

#include <math.h>

typedef struct edge_job {
  const fit_problem *p;
  const int *start, *ring;
  float *edge_weight;
  double floor;
} edge_job;

static double distance3(const float *a, const float *b) {
  double x = (double)a[0] - (double)b[0], y = (double)a[1] - (double)b[1], z = (double)a[2] - (double)b[2];
  return sqrt(x * x + y * y + z * z);
}

// d_ik = 1 / (sqrt(mean_f (|x_i - x_k| - |u_i - u_k|)^2) + floor)
static void edge_rigidness(edge_job *job, int from, int to) {
  const fit_problem *p = job->p;
  for (int q = from; q < to; q++) {
    int i = p->order[q];
    for (int e = job->start[i]; e < job->start[i + 1]; e++) {
      int k = job->ring[e];
      const float *a = fit_row(p, i);
      if (p->place && (p->place[k] < from || p->place[k] >= to)) fit_used_one(p);
      double sum = 0;
      float space[3];
      sn_vec3 u = {p->u[i][0] - p->u[k][0], p->u[i][1] - p->u[k][1], p->u[i][2] - p->u[k][2]};
      double rest = sn_vec3_length(u);
      for (int f = 0; f < p->f; f++) {
        double change = distance3(a + 3 * f, fit_point(p, k, f, space)) - rest;
        sum += change * change;
      }
      job->edge_weight[e] = (float)(1 / (sqrt(sum / p->f) + job->floor));
    }
    fit_used(p, 1);
  }
}

typedef struct part_job {
  edge_job *job;
  int first;
} part_job;

static void edge_part(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  part_job *part = user;
  edge_rigidness(part->job, part->first + (int)begin, part->first + (int)end);
}

static sn_status gather_pulls(sn_context *ctx, edge_job *job) {
  const fit_problem *p = job->p;
  sn_arena scratch = sn_arena_new(ctx);
  float *packed = SN_NEW(ctx, &scratch, float, job->start[p->n]);
  sn_status status = packed ? SN_OK : ctx->error.status;
  for (int rank = 0; status == SN_OK && rank < sn_team_size(ctx); rank++) {
    int first, last, none;
    size_t count = 0;
    fit_group(p, (int)sn_team_first(ctx, fit_groups(p), rank), &first, &none);
    fit_group(p, (int)sn_team_first(ctx, fit_groups(p), rank + 1), &last, &none);
    for (int q = first; q < last; q++)
      for (int e = job->start[p->order[q]]; e < job->start[p->order[q] + 1]; e++)
        packed[count++] = job->edge_weight[e];
    status = sn_team_share(ctx, rank, packed, count * sizeof *packed);
    count = 0;
    for (int q = first; q < last; q++)
      for (int e = job->start[p->order[q]]; e < job->start[p->order[q] + 1]; e++)
        job->edge_weight[e] = packed[count++];
  }
  sn_arena_free(&scratch);
  return status;
}

// c_ik: the mean of d_ik / D_i and d_ik / D_k with D_i = sum_k d_ik. Symmetric; sums to about 1 over the neighbours.
static void normalise(const fit_problem *p, const int *start, const int *ring, double strength, float *edge_weight,
                      double *total) {
  for (int i = 0; i < p->n; i++)
    for (int e = start[i]; e < start[i + 1]; e++) total[i] += (double)edge_weight[e];
  for (int i = 0; i < p->n; i++)
    for (int e = start[i]; e < start[i + 1]; e++) {
      edge_weight[e] = (float)(strength * p->f * 0.5 * (double)edge_weight[e] * (1 / total[i] + 1 / total[ring[e]]));
    }
}

sn_status sn_fit_smooth_build(sn_context *ctx, sn_arena *memory, const sn_mesh *rest, const fit_problem *p,
                              double strength, fit_smooth *out) {
  *out = (fit_smooth){0};
  sn_topology topology;
  sn_status status = sn_topology_build(ctx, rest, &topology);
  if (status != SN_OK) return status;
  int n = p->n, count = topology.ring_start[n];
  int *start = SN_NEW(ctx, memory, int, n + 1), *ring = SN_NEW(ctx, memory, int, count);
  float *edge_weight = SN_NEW(ctx, memory, float, count);
  double *total = SN_NEW(ctx, memory, double, n);
  if (start && ring && edge_weight && total) {
    for (int i = 0; i <= n; i++) start[i] = topology.ring_start[i];
    for (int e = 0; e < count; e++) ring[e] = topology.ring[e];
    // The floor avoids division by zero on rigid edges: changes below 1e-6 of the mesh's size are rounding.
    edge_job job = {p, start, ring, edge_weight, 1e-6};
    part_job part = {&job, p->first};
    sn_parallel_for(ctx, p->last - p->first, 256, edge_part, &part);
    if (ctx->team) status = gather_pulls(ctx, &job);
    normalise(p, start, ring, strength, edge_weight, total);
    *out = (fit_smooth){.start = start, .ring = ring, .edge_weight = edge_weight};
  } else {
    status = ctx->error.status;
  }
  sn_topology_free(&topology);
  return status;
}

void sn_fit_smooth_scale(fit_smooth *smooth, int n, double factor) {
  for (int e = 0; e < smooth->start[n]; e++)
    smooth->edge_weight[e] = (float)(factor * (double)smooth->edge_weight[e]);
}

// sum_j (w_ij - w_kj)^2
static double weight_change(const fit_model *m, int i, int k) {
  const uint16_t *ji = m->joint + (size_t)i * (size_t)m->limit, *jk = m->joint + (size_t)k * (size_t)m->limit;
  const double *wi = m->weight + (size_t)i * (size_t)m->limit, *wk = m->weight + (size_t)k * (size_t)m->limit;
  double sum = 0;
  for (int a = 0; a < m->limit; a++) {
    sum += wi[a] * wi[a] + wk[a] * wk[a];
    for (int b = 0; b < m->limit && wi[a] > 0; b++)
      if (wk[b] > 0 && ji[a] == jk[b]) sum -= 2 * wi[a] * wk[b];
  }
  return sum;
}

double sn_fit_smooth_energy(const fit_model *m, const fit_smooth *smooth) {
  double sum = 0;
  for (int i = 0; i < m->p->n; i++)
    for (int e = smooth->start[i]; e < smooth->start[i + 1]; e++)
      sum += 0.5 * (double)smooth->edge_weight[e] * weight_change(m, i, smooth->ring[e]);
  return sum;
}

// Strength of the smoothness relative to the mean squared error (mesh of unit size), so that exact data is not smoothed; and its
// maximum.
static const double smooth_by_error = 200, smooth_most = 0.02;

void sn_fit_smooth_by_error(const fit_model *m, fit_smooth *smooth) {
  double squared = m->error / ((double)m->p->n * m->p->f);
  sn_fit_smooth_scale(smooth, m->p->n, fmin(smooth_by_error * squared, smooth_most));
}
