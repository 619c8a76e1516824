// SPDX-License-Identifier: MIT
// Bone-vertex weight smoothing (Kim 2010): penalises the Laplacian of the weights on the surface.
#include "fit/weights.h"

#include <math.h>
#include <string.h>

#include "solve/solve.h"

typedef struct smooth_job {
  fit_model *m;
  const sn_topology *topology;
  double rho;        // in the solver's units, times the number of frames
  const int *vertex; // vertices of the present colour
  double *term;      // bones per worker: s_i
} smooth_job;

static int ring_size(const sn_topology *t, int i) { return t->ring_start[i + 1] - t->ring_start[i]; }

// Greedy colouring: vertices of a colour are more than two edges apart. A step reads weights up to two edges away, so vertices
// of a colour are independent. order[start[c] .. start[c + 1]) has colour c. Returns the number of colours.
static int colour_vertices(const sn_topology *t, int *colour, int *last_seen, int *order, int *start) {
  int n = t->vertex_count, count = 0;
  for (int i = 0; i < n; i++) colour[i] = -1, last_seen[i] = -1;
  for (int i = 0; i < n; i++) {
    for (int e = t->ring_start[i]; e < t->ring_start[i + 1]; e++) {
      int h = t->ring[e];
      if (colour[h] >= 0) last_seen[colour[h]] = i;
      for (int g = t->ring_start[h]; g < t->ring_start[h + 1]; g++)
        if (colour[t->ring[g]] >= 0) last_seen[colour[t->ring[g]]] = i;
    }
    int c = 0;
    while (c < count && last_seen[c] == i) c++;
    if (c == count) count++;
    colour[i] = c;
  }
  for (int c = 0, at = 0; c < count; c++) {
    start[c] = at;
    for (int i = 0; i < n; i++)
      if (colour[i] == c) order[at++] = i;
    start[c + 1] = at;
  }
  return count;
}

static void add_weights(const fit_model *m, int i, double scale, double *out) {
  size_t row = (size_t)i * (size_t)m->limit;
  for (int q = 0; q < m->limit && m->weight[row + (size_t)q] > 0; q++) {
    out[m->joint[row + (size_t)q]] += scale * m->weight[row + (size_t)q];
  }
}

// Quadratic of |L w|^2 in w_i, with the other weights fixed: c_i |w_i|^2 - 2 s_i . w_i. Adds s_i, returns c_i.
static double smoothness_terms(const smooth_job *job, int i, double *s) {
  const sn_topology *t = job->topology;
  double own = 1.0 / ring_size(t, i), c = 1;
  for (int e = t->ring_start[i]; e < t->ring_start[i + 1]; e++) {
    int h = t->ring[e];
    double other = 1.0 / ring_size(t, h);
    c += other * other;
    add_weights(job->m, h, own + other, s);
    for (int g = t->ring_start[h]; g < t->ring_start[h + 1]; g++)
      if (t->ring[g] != i) add_weights(job->m, t->ring[g], -other * other, s);
  }
  return c;
}

// Collects the bones of vertex i, then those of its neighbours; w = 0 for the latter. Returns how many.
static int candidates(const smooth_job *job, int i, int bone[SN_SIMPLEX_MAX], double *w) {
  const fit_model *m = job->m;
  const sn_topology *t = job->topology;
  int count = 0;
  for (int e = t->ring_start[i] - 1; e < t->ring_start[i + 1]; e++) {
    int from = e < t->ring_start[i] ? i : t->ring[e];
    size_t row = (size_t)from * (size_t)m->limit;
    for (int q = 0; q < m->limit && m->weight[row + (size_t)q] > 0 && count < SN_SIMPLEX_MAX; q++) {
      int j = m->joint[row + (size_t)q], k = 0;
      while (k < count && bone[k] != j) k++;
      if (k == count) bone[count] = j, w[count++] = from == i ? m->weight[row + (size_t)q] : 0;
    }
  }
  return count;
}

// A and b of the data term: sum_f (T_a u~) . (T_b u~) and sum_f x . (T_a u~).
static void data_terms(const fit_model *m, int i, const int *bone, sn_simplex *q) {
  double mono[FIT_MONOMIALS];
  const double *u = m->p->u[i];
  size_t columns = 3 * (size_t)m->p->f;
  fit_monomials(u, mono);
  for (int a = 0; a < q->n; a++) {
    for (int b = 0; b <= a; b++) {
      const double *gram = fit_gram(m, bone[a], bone[b]);
      double sum = 0;
      for (int k = 0; k < FIT_MONOMIALS; k++) sum += mono[k] * gram[k];
      q->a[a][b] = q->a[b][a] = sum;
    }
    const double *t = m->t + 4 * (size_t)bone[a] * columns;
    double sum = 0;
    for (int f = 0; f < m->p->f; f++) {
      float space[3];
      const float *x = fit_point(m->p, i, f, space);
      for (size_t r = 0, k = 3 * (size_t)f; r < 3; r++, k++) {
        double moved = u[0] * t[k] + u[1] * t[columns + k] + u[2] * t[2 * columns + k] + u[3] * t[3 * columns + k];
        sum += (double)x[r] * moved;
      }
    }
    q->b[a] = sum;
  }
  fit_used_one(m->p);
}

static void store(fit_model *m, int i, const sn_simplex *q, const int *bone) {
  size_t row = (size_t)i * (size_t)m->limit;
  int order[SN_SIMPLEX_MAX], count = 0;
  double total = 0, costs[SN_SIMPLEX_MAX];
  for (int a = 0; a < q->n; a++)
    if (q->w[a] > 1e-6) count = sn_least_enter(m->limit, count, -q->w[a], a, costs, order);
  for (int k = 0; k < count; k++) total += q->w[order[k]];
  for (int k = 0; k < m->limit; k++) {
    m->joint[row + (size_t)k] = k < count ? (uint16_t)bone[order[k]] : 0;
    m->weight[row + (size_t)k] = k < count ? q->w[order[k]] / total : 0;
  }
}

static void smooth_range(void *user, int64_t begin, int64_t end, int worker) {
  const smooth_job *job = user;
  fit_model *m = job->m;
  double *s = job->term + (size_t)worker * (size_t)m->bones;
  for (int64_t n = begin; n < end; n++) {
    int i = job->vertex[n], bone[SN_SIMPLEX_MAX];
    sn_simplex q = {0};
    if (ring_size(job->topology, i) == 0) continue;
    memset(s, 0, (size_t)m->bones * sizeof *s);
    double c = smoothness_terms(job, i, s);
    q.n = candidates(job, i, bone, q.w);
    data_terms(m, i, bone, &q);
    for (int a = 0; a < q.n; a++) q.a[a][a] += job->rho * c, q.b[a] += job->rho * s[bone[a]];
    sn_simplex_solve_sparse(&q, m->limit);
    store(m, i, &q, bone);
  }
}

// Largest distance of a vertex from the centroid, in the solver's units.
static double radius(const fit_problem *p) {
  double most = 0;
  for (int i = 0; i < p->n; i++) {
    const double *u = p->u[i];
    most = fmax(most, u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
  }
  return most > 0 ? sqrt(most) : 1;
}

sn_status sn_fit_smooth_weights(sn_context *ctx, const sn_mesh *rest, fit_model *m, double rho, int sweeps) {
  sn_topology topology;
  sn_status status = sn_topology_build(ctx, rest, &topology);
  if (status != SN_OK) return status;
  sn_arena scratch = sn_arena_new(ctx);
  size_t n = (size_t)m->p->n;
  int *colour = SN_NEW(ctx, &scratch, int, n), *seen = SN_NEW(ctx, &scratch, int, n + 1);
  int *order = SN_NEW(ctx, &scratch, int, n), *start = SN_NEW(ctx, &scratch, int, n + 1);
  double *term = SN_NEW(ctx, &scratch, double, (size_t)sn_threads(ctx) * (size_t)m->bones);
  if (colour && seen && order && start && term) {
    double r = radius(m->p);
    int colours = colour_vertices(&topology, colour, seen, order, start);
    smooth_job job = {m, &topology, rho * r * r * m->p->f, NULL, term};
    for (int sweep = 0; sweep < sweeps; sweep++)
      for (int c = 0; c < colours; c++) {
        job.vertex = order + start[c];
        sn_parallel_for(ctx, start[c + 1] - start[c], 32, smooth_range, &job);
      }
  } else {
    status = ctx->error.status;
  }
  sn_arena_free(&scratch);
  sn_topology_free(&topology);
  return status;
}
