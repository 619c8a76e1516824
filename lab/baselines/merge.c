// SPDX-License-Identifier: MIT
// Bottom-up merging: every vertex starts as a separate part.
#include <math.h>

#include "lab/baselines/segments.h"

enum { most_frames = 16 }; // evenly spaced; more frames hardly change the merges

// Moments of a part in one frame: sums of x, |x|^2 and u x^T.
typedef struct frame_moments {
  double x[3], xx, ux[3][3];
} frame_moments;

typedef struct part {
  double n, u[3], uu, error;
  double cost;    // of merging with `best`, the neighbour with the least cost
  int best;       // -1: none; -2: to be recomputed
  int last, next; // linked list of its vertices, starting with the part's own number; -1 ends it
} part;

typedef struct merge_job {
  const fit_problem *p;
  const sn_topology *topology;
  int frames;
  part *parts;
  frame_moments *moments; // [part][frame]
  int *part_of, *seen;    // per vertex; per part: the part that visited it last
} merge_job;

static frame_moments *moments_of(const merge_job *job, int a) {
  return job->moments + (size_t)a * (size_t)job->frames;
}

// |X|^2 + |U|^2 - 2 max_R tr(R H) about the centroids; the maximum follows from the singular values of H.
static double rigid_error(const part *a, const part *b, const frame_moments *ma, const frame_moments *mb) {
  double n = a->n + b->n, xx = ma->xx + mb->xx, uu = a->uu + b->uu;
  sn_mat3 h, left, right;
  sn_vec3 s;
  for (int c = 0; c < 3; c++) {
    double x = ma->x[c] + mb->x[c], u = a->u[c] + b->u[c];
    xx -= x * x / n, uu -= u * u / n;
    for (int r = 0; r < 3; r++) h.m[c][r] = ma->ux[c][r] + mb->ux[c][r] - u * (ma->x[r] + mb->x[r]) / n;
  }
  sn_mat3_svd(h, &left, &s, &right);
  return fmax(0, xx + uu - 2 * (s.x + s.y + (sn_mat3_determinant(h) < 0 ? -s.z : s.z)));
}

// The increase of the error by merging.
static double merge_cost(const merge_job *job, int a, int b) {
  double sum = -job->parts[a].error - job->parts[b].error;
  for (int f = 0; f < job->frames; f++) {
    sum += rigid_error(&job->parts[a], &job->parts[b], moments_of(job, a) + f, moments_of(job, b) + f);
  }
  return sum;
}

static void consider(const merge_job *job, int a, int other, double cost) {
  part *of = &job->parts[a];
  if (of->best >= 0 && !(cost < of->cost || (cost == of->cost && other < of->best))) return;
  of->best = other, of->cost = cost;
}

// Recomputes a part's best neighbour. `tell`: also updates the neighbours; those whose best changed or is gone are marked -2.
static void look(const merge_job *job, int a, int gone, bool tell) {
  job->parts[a].best = -1;
  for (int i = a; i >= 0; i = job->parts[i].next)
    for (int k = job->topology->ring_start[i]; k < job->topology->ring_start[i + 1]; k++) {
      int other = job->part_of[job->topology->ring[k]];
      if (other == a || job->seen[other] == a) continue;
      job->seen[other] = a;
      double cost = merge_cost(job, a, other);
      consider(job, a, other, cost);
      if (!tell) continue;
      if (job->parts[other].best == a || job->parts[other].best == gone) job->parts[other].best = -2;
      if (job->parts[other].best != -2) consider(job, other, a, cost);
    }
  for (int i = a; i >= 0; i = job->parts[i].next) // resets the marks
    for (int k = job->topology->ring_start[i]; k < job->topology->ring_start[i + 1]; k++)
      job->seen[job->part_of[job->topology->ring[k]]] = -1;
}

static void begin(const merge_job *job) {
  const fit_problem *p = job->p;
  for (int i = 0; i < p->n; i++) {
    part *of = &job->parts[i];
    of->n = 1, of->last = i, of->next = -1, job->part_of[i] = i, job->seen[i] = -1;
    for (int c = 0; c < 3; c++) of->u[c] = p->u[i][c], of->uu += p->u[i][c] * p->u[i][c];
    for (int f = 0; f < job->frames; f++) {
      float room[3];
      const float *x = fit_point(p, i, (int)((int64_t)f * p->f / job->frames), room);
      frame_moments *m = moments_of(job, i) + f;
      for (int r = 0; r < 3; r++) {
        m->x[r] = (double)x[r], m->xx += m->x[r] * m->x[r];
        for (int c = 0; c < 3; c++) m->ux[c][r] = p->u[i][c] * (double)x[r];
      }
    }
  }
  for (int i = 0; i < p->n; i++) look(job, i, -1, false);
}

// Merges part b into part a and updates the neighbours.
static void merge(const merge_job *job, int a, int b, double cost) {
  part *to = &job->parts[a], *from = &job->parts[b];
  to->error += from->error + cost, to->n += from->n, to->uu += from->uu;
  for (int c = 0; c < 3; c++) to->u[c] += from->u[c];
  for (int f = 0; f < job->frames; f++) {
    frame_moments *m = moments_of(job, a) + f;
    const frame_moments *o = moments_of(job, b) + f;
    m->xx += o->xx;
    for (int r = 0; r < 3; r++) {
      m->x[r] += o->x[r];
      for (int c = 0; c < 3; c++) m->ux[c][r] += o->ux[c][r];
    }
  }
  for (int i = b; i >= 0; i = job->parts[i].next) job->part_of[i] = a;
  job->parts[to->last].next = b, to->last = from->last;
  from->n = 0;
  look(job, a, b, true);
  for (int i = a; i >= 0; i = job->parts[i].next)
    for (int k = job->topology->ring_start[i]; k < job->topology->ring_start[i + 1]; k++) {
      int other = job->part_of[job->topology->ring[k]];
      if (job->parts[other].best == -2) look(job, other, -1, false);
    }
}

// The cheapest merge. If no part has neighbours (separate components), the smallest part joins the nearest.
static void next_merge(const merge_job *job, int *a, int *b, double *cost) {
  int small = -1;
  *a = -1;
  for (int i = 0; i < job->p->n; i++) {
    const part *of = &job->parts[i];
    if (!(of->n > 0)) continue;
    if (small < 0 || of->n < job->parts[small].n) small = i;
    if (of->best >= 0 && (*a < 0 || of->cost < *cost)) *a = i, *b = of->best, *cost = of->cost;
  }
  if (*a >= 0) return;
  double nearest = INFINITY;
  for (int i = 0; i < job->p->n; i++) {
    double d = 0;
    if (!(job->parts[i].n > 0) || i == small) continue;
    for (int c = 0; c < 3; c++) {
      double gap = job->parts[i].u[c] / job->parts[i].n - job->parts[small].u[c] / job->parts[small].n;
      d += gap * gap;
    }
    if (d < nearest) nearest = d, *a = i;
  }
  *b = small, *cost = merge_cost(job, *a, small);
}

sn_status sn_rig_merged_segments(sn_context *ctx, const fit_problem *p, const sn_topology *topology, int count,
                                 int *of) {
  sn_arena scratch = sn_arena_new(ctx);
  merge_job job = {.p = p, .topology = topology, .frames = p->f < most_frames ? p->f : most_frames, .part_of = of};
  job.parts = SN_NEW(ctx, &scratch, part, p->n);
  job.moments = SN_NEW(ctx, &scratch, frame_moments, (size_t)p->n * (size_t)job.frames);
  job.seen = SN_NEW(ctx, &scratch, int, p->n);
  sn_status status = job.parts && job.moments && job.seen ? SN_OK : ctx->error.status;
  if (status == SN_OK) begin(&job);
  for (int left = p->n; status == SN_OK && left > count; left--) {
    int a, b;
    double cost;
    next_merge(&job, &a, &b, &cost);
    if (a > b) {
      int other = a;
      a = b, b = other;
    }
    merge(&job, a, b, cost);
    if (left % 64 == 0 && !sn_progress(ctx, "merging", 1 - (double)left / p->n)) {
      status = sn_fail(ctx, SN_STOPPED, "merging: stopped");
    }
  }
  for (int i = 0, made = 0; status == SN_OK && i < p->n;
       i++) // by first appearance; a part is named after its least vertex
    if (of[i] == i) job.seen[i] = made++;
  for (int i = 0; status == SN_OK && i < p->n; i++) of[i] = job.seen[of[i]];
  sn_arena_free(&scratch);
  return status;
}
