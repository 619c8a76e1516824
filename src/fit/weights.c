// SPDX-License-Identifier: MIT
// The pass over the data: skinning weights and the moments that the bone updates need.
//
// Works on chunks of vertices. Prediction, gradient of every weight and moments of a chunk are three matrix products in single
// precision (residuals are small, so nothing cancels). The quadratic part A_jk = u~^T G_jk u~ of a vertex uses Gram matrices
// G_jk that do not depend on the vertex, in double precision.
#include "base/team.h"
#include "fit/weights.h"

#include <cblas.h>
#include <string.h>

#include "solve/solve.h"

enum {
  chunk_size = FIT_CHUNK, // vertices per chunk
  gram_bones = 8          // bones whose Gram matrices with all others are computed by one product
};

typedef struct group_sums {
  float *moment; // bones * 4 * 3f
  double *pair;  // bones * bones * 10, lower triangle
  double *price; // bones
  double error;
} group_sums;

typedef struct chunk_scratch {
  const int *vertex; // vertices of the chunk
  int count;
  int active;      // number of bones that the chunk's vertices may use: see choose_active
  int *bone;       // active: their indices
  int *slot;       // bones: index among the active ones, -1: not active
  float *t;        // 4 active rows of 3f: their transformations
  float *mix;      // chunk * 4 active: w_ij u~_ic
  float *residual; // chunk * 3f
  float *gradient; // chunk * 4 active
  double *term;    // bones: linear term of the smoothness, sum_k c_ik w_kj
  double *slope;   // bones: gradient of the weights of one vertex
  double *product; // 4 gram_bones rows of 4 bones: products of transformations, for the Gram matrices
} chunk_scratch;

struct pass_space {
  int workers;
  group_sums groups[FIT_MOST_GROUPS];
  chunk_scratch *scratch; // one per worker
};

typedef struct pass_job {
  fit_model *m;
  fit_support mode;
  const fit_smooth *smooth;
  double min_gain;     // FIT_THIN: least gain of an influence
  uint16_t *new_joint; // separate from m->joint if the pass reads the old weights of other vertices
  double *new_weight;
  bool *unused; // bones without vertices, candidates besides those used nearby; NULL: see choose_active
} pass_job;

// With more than `many_bones` bones, candidates of a vertex are the bones used in its chunk and `near_chunks` on either side.
enum { many_bones = 64, near_chunks = 4 };

static struct pass_space *new_space(sn_context *ctx, sn_arena *memory, const fit_problem *p, size_t bones) {
  size_t columns = 3 * (size_t)p->f;
  struct pass_space *space = SN_NEW(ctx, memory, struct pass_space, 1);
  if (!space) return NULL;
  space->workers = sn_threads(ctx);
  space->scratch = SN_NEW(ctx, memory, chunk_scratch, space->workers);
  bool good = space->scratch != NULL;
  for (int g = 0; g < fit_groups(p) && good; g++) {
    group_sums *sums = &space->groups[g];
    sums->moment = SN_NEW(ctx, memory, float, 4 * bones * columns);
    sums->pair = SN_NEW(ctx, memory, double, bones *bones *FIT_MONOMIALS);
    sums->price = SN_NEW(ctx, memory, double, bones);
    good = sums->moment && sums->pair && sums->price;
  }
  for (int t = 0; t < space->workers && good; t++) {
    chunk_scratch *s = &space->scratch[t];
    s->t = SN_NEW(ctx, memory, float, 4 * bones * columns);
    s->mix = SN_NEW(ctx, memory, float, chunk_size * 4 * bones);
    s->gradient = SN_NEW(ctx, memory, float, chunk_size * 4 * bones);
    s->residual = SN_NEW(ctx, memory, float, chunk_size *columns);
    s->term = SN_NEW(ctx, memory, double, bones), s->slope = SN_NEW(ctx, memory, double, bones);
    s->bone = SN_NEW(ctx, memory, int, bones), s->slot = SN_NEW(ctx, memory, int, bones);
    s->product = SN_NEW(ctx, memory, double, 16 * gram_bones * bones);
    good = s->product && s->t && s->mix && s->gradient && s->residual && s->term && s->slope && s->bone && s->slot;
  }
  return good ? space : NULL;
}

sn_status sn_fit_model_new(sn_context *ctx, sn_arena *memory, const fit_problem *p, int capacity, int limit,
                           fit_model *out) {
  *out = (fit_model){.capacity = capacity, .limit = limit, .p = p};
  size_t n = (size_t)p->n, rows = 4 * (size_t)capacity, columns = 3 * (size_t)p->f;
  size_t pairs = (size_t)capacity * (size_t)capacity;
  out->t = SN_NEW(ctx, memory, double, rows *columns);
  out->trail = SN_NEW(ctx, memory, double, rows *columns);
  out->t32 = SN_NEW(ctx, memory, float, rows *columns);
  out->moment = SN_NEW(ctx, memory, double, rows *columns);
  out->gram = SN_NEW(ctx, memory, double, pairs *FIT_MONOMIALS);
  out->pair = SN_NEW(ctx, memory, double, pairs *FIT_MONOMIALS);
  out->joint = SN_NEW(ctx, memory, uint16_t, n * (size_t)limit);
  out->weight = SN_NEW(ctx, memory, double, n *(size_t)limit);
  out->vertex_error = SN_NEW(ctx, memory, double, n);
  out->price = SN_NEW(ctx, memory, double, capacity);
  out->space = new_space(ctx, memory, p, (size_t)capacity);
  bool good = out->t && out->trail && out->t32 && out->moment && out->gram && out->pair && out->joint &&
              out->weight && out->vertex_error && out->price && out->space;
  return good ? SN_OK : ctx->error.status;
}

static double dot10(const double *a, const double *b) {
  double even = a[0] * b[0] + a[2] * b[2] + a[4] * b[4] + a[6] * b[6] + a[8] * b[8];
  return even + (a[1] * b[1] + a[3] * b[3] + a[5] * b[5] + a[7] * b[7] + a[9] * b[9]);
}

// G_jk = sum_f T_j^T T_k as coefficients of the monomials, for blocks of bones j.
static void gram_blocks(void *user, int64_t begin, int64_t end, int worker) {
  fit_model *m = user;
  int columns = 3 * m->p->f;
  double *product = m->space->scratch[worker].product;
  for (int first = (int)begin * gram_bones; first < (int)end * gram_bones && first < m->bones; first += gram_bones) {
    int last = first + gram_bones < m->bones ? first + gram_bones : m->bones, width = 4 * last;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, 4 * (last - first), width, columns, 1,
                m->t + (size_t)(4 * first) * (size_t)columns, columns, m->t, columns, 0, product, width);
    for (int j = first; j < last; j++)
      for (int k = 0; k <= j; k++) {
        const double *g = product + (size_t)(4 * (j - first)) * (size_t)width + 4 * k;
        double *out = fit_gram(m, j, k);
        for (int c = 0, q = 0; c < 4; c++)
          for (int d = c; d < 4; d++) out[q++] = c == d ? g[c * width + c] : g[c * width + d] + g[d * width + c];
        if (k < j) memcpy(fit_gram(m, k, j), out, FIT_MONOMIALS * sizeof *out);
      }
  }
}

void sn_fit_model_refresh(const sn_context *ctx, fit_model *m) {
  size_t count = 4 * (size_t)m->bones * 3 * (size_t)m->p->f;
  for (size_t e = 0; e < count; e++) m->t32[e] = (float)m->t[e];
  fit_parallel(ctx, (m->bones + gram_bones - 1) / gram_bones, 1, 12.0 * m->bones * m->bones * m->p->f, gram_blocks,
               m);
}

// Active bones: all, or those used by the vertices order[from .. to) and those in job->unused. Copies their transformations.
static void choose_active(const pass_job *job, bool all, int from, int to, chunk_scratch *s) {
  const fit_model *m = job->m;
  size_t columns = 3 * (size_t)m->p->f;
  s->active = 0;
  for (int j = 0; j < m->bones; j++) s->slot[j] = all || (job->unused && job->unused[j]) ? 0 : -1;
  for (int place = from; place < to && !all; place++) {
    size_t row = (size_t)m->p->order[place] * (size_t)m->limit;
    for (int q = 0; q < m->limit && m->weight[row + (size_t)q] > 0; q++) s->slot[m->joint[row + (size_t)q]] = 0;
  }
  for (int j = 0; j < m->bones; j++) {
    if (s->slot[j] < 0) continue;
    memcpy(s->t + 4 * (size_t)s->active * columns, m->t32 + 4 * (size_t)j * columns, 4 * columns * sizeof *s->t);
    s->slot[j] = s->active, s->bone[s->active++] = j;
  }
}

// residual = x - (mix) (t)
static void chunk_residual(const fit_model *m, const uint16_t *joint, const double *weight, chunk_scratch *s) {
  int rows = 4 * s->active, columns = 3 * m->p->f;
  memset(s->mix, 0, (size_t)s->count * (size_t)rows * sizeof *s->mix);
  for (int i = 0; i < s->count; i++) {
    int vertex = s->vertex[i];
    const double *u = m->p->u[vertex];
    for (int q = 0; q < m->limit; q++) {
      double w = weight[(size_t)vertex * (size_t)m->limit + (size_t)q];
      if (!(w > 0)) break;
      int slot = s->slot[joint[(size_t)vertex * (size_t)m->limit + (size_t)q]];
      float *mix = s->mix + (size_t)i * (size_t)rows + 4 * slot;
      for (int c = 0; c < 4; c++) mix[c] = (float)(w * u[c]);
    }
    memcpy(s->residual + (size_t)i * (size_t)columns, fit_row(m->p, vertex), (size_t)columns * sizeof(float));
  }
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, s->count, columns, rows, -1, s->mix, rows, s->t, columns, 1,
              s->residual, columns);
}

static void chunk_gradient(const fit_model *m, chunk_scratch *s) {
  int rows = 4 * s->active, columns = 3 * m->p->f;
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, s->count, rows, columns, 1, s->residual, columns, s->t,
              columns, 0, s->gradient, rows);
}

// The quadratic programme of one vertex over some bones, relative to its present prediction: column j is
// p_j = T_j u~ - (prediction), so that entries are as small as the differences between bones.
typedef struct vertex_problem {
  sn_simplex q;
  int bone[SN_SIMPLEX_MAX];
} vertex_problem;

static void fill_quadratic(const fit_model *m, const double mono[FIT_MONOMIALS], const double *gradient,
                           vertex_problem *v) {
  sn_simplex *q = &v->q;
  double along[SN_SIMPLEX_MAX], centre = 0, mean = 0;
  for (int a = 0; a < q->n; a++)
    for (int b = 0; b <= a; b++) q->a[a][b] = q->a[b][a] = dot10(mono, fit_gram(m, v->bone[a], v->bone[b]));
  for (int a = 0; a < q->n; a++) {
    along[a] = 0;
    for (int b = 0; b < q->n; b++) along[a] += q->w[b] * q->a[a][b];
    centre += q->w[a] * along[a], mean += q->w[a] * gradient[v->bone[a]];
  }
  for (int a = 0; a < q->n; a++) {
    q->b[a] = gradient[v->bone[a]] - mean;
    for (int b = 0; b < q->n; b++) q->a[a][b] += centre - along[a] - along[b];
    q->a[a][a] = q->a[a][a] > 0 ? q->a[a][a] : 0;
  }
}

// Adds the smoothness energy of vertex i: sum_k c_ik |w - w_k|^2.
static void add_smoothness(const fit_model *m, const fit_smooth *smooth, int i, double *term, vertex_problem *v) {
  double total = 0;
  for (int a = 0; a < v->q.n; a++) term[v->bone[a]] = 0;
  for (int e = smooth->start[i]; e < smooth->start[i + 1]; e++) {
    size_t row = (size_t)smooth->ring[e] * (size_t)m->limit;
    total += smooth->edge_weight[e];
    for (int q = 0; q < m->limit && m->weight[row + (size_t)q] > 0; q++) {
      term[m->joint[row + (size_t)q]] += smooth->edge_weight[e] * m->weight[row + (size_t)q];
    }
  }
  if (smooth->steady) {
    for (int a = 0; a < v->q.n; a++) term[v->bone[a]] += total * v->q.w[a];
    total *= 2;
  }
  for (int a = 0; a < v->q.n; a++) v->q.a[a][a] += total, v->q.b[a] += term[v->bone[a]];
}

static bool has_bone(const vertex_problem *v, int j) {
  for (int a = 0; a < v->q.n; a++)
    if (v->bone[a] == j) return true;
  return false;
}

// Adds the `extra` bones with the largest gain of moving weight to bone j, proportionally from the present bones.
static void add_promising(const fit_model *m, const double mono[FIT_MONOMIALS], const chunk_scratch *s, int extra,
                          vertex_problem *v) {
  const double *gradient = s->slope;
  double along[SN_SIMPLEX_MAX], centre = 0, mean = 0, costs[SN_SIMPLEX_MAX];
  int chosen[SN_SIMPLEX_MAX], count = 0, present = v->q.n;
  for (int a = 0; a < present; a++) {
    along[a] = 0;
    for (int b = 0; b < present; b++) along[a] += v->q.w[b] * dot10(mono, fit_gram(m, v->bone[a], v->bone[b]));
    centre += v->q.w[a] * along[a], mean += v->q.w[a] * gradient[v->bone[a]];
  }
  for (int e = 0; e < s->active; e++) {
    int j = s->bone[e];
    double g = gradient[j] - mean;
    // The gain is at most 2 g.
    if (!(g > 0) || (count == extra && -2 * g >= costs[count - 1]) || has_bone(v, j)) continue;
    double across = 0;
    for (int a = 0; a < present; a++) across += v->q.w[a] * dot10(mono, fit_gram(m, j, v->bone[a]));
    double size = dot10(mono, fit_gram(m, j, j)) - 2 * across + centre;
    double step = size > g ? g / size : 1, score = step * (2 * g - step * size);
    if (score > 0) count = sn_least_enter(extra, count, -score, j, costs, chosen);
  }
  for (int q = 0; q < count; q++) v->q.w[v->q.n] = 0, v->bone[v->q.n++] = chosen[q];
}

static void store_weights(const fit_model *m, const vertex_problem *v, uint16_t *joint, double *weight) {
  int order[SN_SIMPLEX_MAX], count = 0;
  double total = 0, costs[SN_SIMPLEX_MAX];
  for (int a = 0; a < v->q.n; a++)
    if (v->q.w[a] > 1e-5) count = sn_least_enter(m->limit, count, -v->q.w[a], a, costs, order);
  for (int q = 0; q < count; q++) total += v->q.w[order[q]];
  for (int q = 0; q < m->limit; q++) {
    joint[q] = q < count ? (uint16_t)v->bone[order[q]] : 0;
    weight[q] = q < count ? v->q.w[order[q]] / total : 0;
  }
}

// Least weight at a neighbour for its bone to become a candidate.
static const double neighbour_weight = 0.05;

// Adds the two largest influences of the neighbours as candidates: smoothness may favour them even if the data does not.
static void add_neighbours(const fit_model *m, const fit_smooth *smooth, const chunk_scratch *s, int i, int most,
                           vertex_problem *v) {
  for (int e = smooth->start[i]; e < smooth->start[i + 1] && v->q.n < most; e++) {
    size_t row = (size_t)smooth->ring[e] * (size_t)m->limit;
    for (int q = 0; q < 2 && q < m->limit && v->q.n < most; q++) {
      int j = m->joint[row + (size_t)q];
      if (!(m->weight[row + (size_t)q] > neighbour_weight) || s->slot[j] < 0 || has_bone(v, j)) continue;
      v->q.w[v->q.n] = 0, v->bone[v->q.n++] = j;
    }
  }
}

// The single bone that fits best: |x - T_j u~|^2 = |residual|^2 - 2 g_j + |T_j u~ - prediction|^2.
static void best_bone(const pass_job *job, int i, const double *gradient, const double mono[FIT_MONOMIALS]) {
  const fit_model *m = job->m;
  int present = m->joint[i], best = present;
  double centre = dot10(mono, fit_gram(m, present, present)), most = 0;
  for (int j = 0; j < m->bones; j++) {
    double size = dot10(mono, fit_gram(m, j, j)) - 2 * dot10(mono, fit_gram(m, j, present)) + centre;
    double gain = 2 * (gradient[j] - gradient[present]) - size;
    if (gain > most) most = gain, best = j;
  }
  job->new_joint[i] = (uint16_t)best, job->new_weight[i] = 1;
}

// The quadratic programme of vertex i, starting from its present weights.
static void vertex_setup(const pass_job *job, int i, int extra, const double *mono, chunk_scratch *s,
                         vertex_problem *v) {
  const fit_model *m = job->m;
  size_t row = (size_t)i * (size_t)m->limit;
  bool smooth = job->smooth && job->smooth->edge_weight;
  v->q.n = 0;
  for (int q = 0; q < m->limit && m->weight[row + (size_t)q] > 0; q++) {
    v->q.w[v->q.n] = m->weight[row + (size_t)q], v->bone[v->q.n++] = m->joint[row + (size_t)q];
  }
  int room = SN_SIMPLEX_MAX - v->q.n - (smooth ? 2 : 0);
  add_promising(m, mono, s, extra < room ? extra : room, v);
  if (smooth) add_neighbours(m, job->smooth, s, i, v->q.n + 4 < SN_SIMPLEX_MAX ? v->q.n + 4 : SN_SIMPLEX_MAX, v);
  fill_quadratic(m, mono, s->slope, v);
  if (smooth) add_smoothness(m, job->smooth, i, s->term, v);
}

// Weights of one vertex. s->slope is T_j u~ . residual for every active bone, at the old weights.
static void solve_vertex(const pass_job *job, int i, chunk_scratch *s) {
  const fit_model *m = job->m;
  vertex_problem v;
  double mono[FIT_MONOMIALS];
  fit_monomials(m->p->u[i], mono);
  if (m->limit == 1) {
    best_bone(job, i, s->slope, mono);
    return;
  }
  vertex_setup(job, i, job->mode == FIT_EXHAUST ? SN_SIMPLEX_MAX : 4, mono, s, &v);
  if (job->mode == FIT_EXHAUST) {
    sn_simplex_solve_sparse(&v.q, m->limit);
  } else {
    sn_simplex_improve(&v.q, m->limit, 2, 1e-4 * m->vertex_error[i]);
  }
  if (job->mode == FIT_THIN) sn_simplex_thin(&v.q, job->min_gain);
  size_t row = (size_t)i * (size_t)m->limit;
  store_weights(m, &v, job->new_joint + row, job->new_weight + row);
}

// For each bone j of vertex i, adds the increase of the vertex's squared error without bone j to price[j].
static void price_vertex(const pass_job *job, int i, chunk_scratch *s, double *price) {
  const fit_model *m = job->m;
  vertex_problem v;
  double mono[FIT_MONOMIALS];
  fit_monomials(m->p->u[i], mono);
  vertex_setup(job, i, 4, mono, s, &v);
  int last = v.q.n - 1;
  if (last < 1) {
    price[v.bone[0]] += 1e3 * m->vertex_error[i];
    return;
  }
  for (int a = 0; a < v.q.n && v.q.w[a] > 0; a++) {
    sn_simplex q = v.q;
    double others = 1 - q.w[a];
    for (int c = 0; c < q.n; c++) q.a[a][c] = q.a[last][c];
    for (int r = 0; r < q.n; r++) q.a[r][a] = q.a[r][last];
    q.b[a] = q.b[last], q.w[a] = q.w[last], q.n = last;
    if (others > 1e-9) {
      for (int c = 0; c < last; c++) q.w[c] /= others;
    } else {
      q.w[0] = 1;
    }
    sn_simplex_improve(&q, m->limit, 1, 0);
    price[v.bone[a]] += sn_simplex_energy(&q);
  }
}

static void chunk_weights(const pass_job *job, chunk_scratch *s, double *price) {
  const fit_model *m = job->m;
  for (int i = 0; i < s->count; i++) {
    const double *u = m->p->u[s->vertex[i]];
    const float *g = s->gradient + (size_t)i * 4 * (size_t)s->active;
    for (int e = 0; e < s->active; e++, g += 4) {
      s->slope[s->bone[e]] = u[0] * (double)g[0] + u[1] * (double)g[1] + u[2] * (double)g[2] + u[3] * (double)g[3];
    }
    if (job->mode == FIT_PRICE) {
      price_vertex(job, s->vertex[i], s, price);
    } else {
      solve_vertex(job, s->vertex[i], s);
    }
  }
}

// Adds moments, pairs and errors of the chunk; s->residual must be that of the new weights.
static void chunk_sums(const pass_job *job, chunk_scratch *s, group_sums *sums) {
  const fit_model *m = job->m;
  int rows = 4 * s->active, columns = 3 * m->p->f;
  // s->t is no longer needed: reused for the moments of the chunk.
  cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, rows, columns, s->count, 1, s->mix, rows, s->residual, columns,
              0, s->t, columns);
  for (int e = 0; e < s->active; e++) {
    float *to = sums->moment + 4 * (size_t)s->bone[e] * (size_t)columns;
    const float *from = s->t + 4 * (size_t)e * (size_t)columns;
    for (int q = 0; q < 4 * columns; q++) to[q] += from[q];
  }
  for (int i = 0; i < s->count; i++) {
    int vertex = s->vertex[i];
    const float *residual = s->residual + (size_t)i * (size_t)columns;
    double error = 0, mono[FIT_MONOMIALS];
    for (int e = 0; e < columns; e++) error += (double)residual[e] * (double)residual[e];
    m->vertex_error[vertex] = error;
    sums->error += error;
    fit_monomials(m->p->u[vertex], mono);
    size_t row = (size_t)vertex * (size_t)m->limit;
    const uint16_t *joint = job->new_joint + row;
    const double *weight = job->new_weight + row;
    for (int a = 0; a < m->limit && weight[a] > 0; a++)
      for (int b = 0; b < m->limit && weight[b] > 0; b++) {
        if (joint[b] > joint[a]) continue;
        double w = weight[a] * weight[b];
        double *pair = sums->pair + ((size_t)joint[a] * (size_t)m->bones + (size_t)joint[b]) * FIT_MONOMIALS;
        for (int q = 0; q < FIT_MONOMIALS; q++) pair[q] += w * mono[q];
      }
  }
}

static void clear_sums(const fit_model *m, group_sums *sums) {
  size_t bones = (size_t)m->bones;
  memset(sums->moment, 0, 12 * bones * (size_t)m->p->f * sizeof *sums->moment);
  memset(sums->pair, 0, bones * bones * FIT_MONOMIALS * sizeof *sums->pair);
  memset(sums->price, 0, bones * sizeof *sums->price);
  sums->error = 0;
}

static bool looks_far(fit_support mode) { return mode == FIT_EXPLORE || mode == FIT_EXHAUST || mode == FIT_PRICE; }

static void pass_group(void *user, int64_t begin, int64_t end, int worker) {
  pass_job *job = user;
  const fit_model *m = job->m;
  chunk_scratch *s = &m->space->scratch[worker];
  bool all = m->limit == 1 || looks_far(job->mode);
  int margin = job->unused ? near_chunks * chunk_size : 0;
  for (int group = (int)begin; group < (int)end; group++) {
    group_sums *sums = &m->space->groups[group];
    int from, to;
    fit_group(m->p, group, &from, &to);
    clear_sums(m, sums);
    for (int first = from; first < to; first += chunk_size) {
      s->vertex = m->p->order + first, s->count = to - first < chunk_size ? to - first : chunk_size;
      int low = first > margin ? first - margin : 0, high = first + s->count;
      choose_active(job, all && !job->unused, low, high + margin < m->p->n ? high + margin : m->p->n, s);
      chunk_residual(m, m->joint, m->weight, s);
      fit_used(m->p, s->count);
      if (job->mode != FIT_KEEP) {
        chunk_gradient(m, s);
        chunk_weights(job, s, sums->price);
        if (job->mode == FIT_PRICE) continue;
        chunk_residual(m, job->new_joint, job->new_weight, s);
      }
      chunk_sums(job, s, sums);
    }
  }
}

// New weights and error of a vertex, to send to other processes.
typedef struct packed_vertex {
  double error, weight[FIT_MOST_INFLUENCES];
  uint16_t joint[FIT_MOST_INFLUENCES];
} packed_vertex;

static void pack_vertices(const pass_job *job, int from, int to, packed_vertex *out) {
  const fit_model *m = job->m;
  for (int q = from; q < to; q++, out++) {
    int i = m->p->order[q];
    size_t row = (size_t)i * (size_t)m->limit;
    out->error = m->vertex_error[i];
    memcpy(out->joint, job->new_joint + row, (size_t)m->limit * sizeof *out->joint);
    memcpy(out->weight, job->new_weight + row, (size_t)m->limit * sizeof *out->weight);
  }
}

static void unpack_vertices(const pass_job *job, int from, int to, const packed_vertex *in) {
  const fit_model *m = job->m;
  for (int q = from; q < to; q++, in++) {
    int i = m->p->order[q];
    size_t row = (size_t)i * (size_t)m->limit;
    m->vertex_error[i] = in->error;
    memcpy(job->new_joint + row, in->joint, (size_t)m->limit * sizeof *in->joint);
    memcpy(job->new_weight + row, in->weight, (size_t)m->limit * sizeof *in->weight);
  }
}

static sn_status share_group(sn_context *ctx, void *user, int group, int owner) {
  pass_job *job = user;
  const fit_model *m = job->m;
  group_sums *sums = &m->space->groups[group];
  size_t bones = (size_t)m->bones;
  if (job->mode == FIT_PRICE) return sn_team_share(ctx, owner, sums->price, bones * sizeof *sums->price);
  sn_arena scratch = sn_arena_new(ctx);
  int from, to;
  fit_group(m->p, group, &from, &to);
  packed_vertex *packed = SN_NEW(ctx, &scratch, packed_vertex, to - from);
  sn_status status = packed ? SN_OK : ctx->error.status;
  if (status == SN_OK)
    status = sn_team_share(ctx, owner, sums->moment, 12 * bones * (size_t)m->p->f * sizeof *sums->moment);
  if (status == SN_OK)
    status = sn_team_share(ctx, owner, sums->pair, bones * bones * FIT_MONOMIALS * sizeof *sums->pair);
  if (status == SN_OK) status = sn_team_share(ctx, owner, &sums->error, sizeof sums->error);
  if (status == SN_OK) {
    pack_vertices(job, from, to, packed);
    status = sn_team_share(ctx, owner, packed, (size_t)(to - from) * sizeof *packed);
    unpack_vertices(job, from, to, packed);
  }
  sn_arena_free(&scratch);
  return status;
}

static void add_groups(pass_job *job) {
  fit_model *m = job->m;
  if (job->mode == FIT_PRICE) {
    memset(m->price, 0, (size_t)m->bones * sizeof *m->price);
    for (int g = 0; g < fit_groups(m->p); g++)
      for (int j = 0; j < m->bones; j++) m->price[j] += m->space->groups[g].price[j];
    return;
  }
  size_t moments = 4 * (size_t)m->bones * 3 * (size_t)m->p->f;
  size_t pairs = (size_t)m->bones * (size_t)m->bones * FIT_MONOMIALS;
  memset(m->moment, 0, moments * sizeof *m->moment);
  memset(m->pair, 0, pairs * sizeof *m->pair);
  m->error = 0;
  for (int g = 0; g < fit_groups(m->p); g++) {
    for (size_t e = 0; e < moments; e++) m->moment[e] += (double)m->space->groups[g].moment[e];
    for (size_t e = 0; e < pairs; e++) m->pair[e] += m->space->groups[g].pair[e];
    m->error += m->space->groups[g].error;
  }
  for (int j = 0; j < m->bones; j++)
    for (int k = 0; k < j; k++) memcpy(fit_pair(m, k, j), fit_pair(m, j, k), FIT_MONOMIALS * sizeof(double));
}

static void find_unused(const fit_model *m, bool *unused) {
  for (int j = 0; j < m->bones; j++) unused[j] = true;
  for (size_t e = 0; e < (size_t)m->p->n * (size_t)m->limit; e++)
    if (m->weight[e] > 0) unused[m->joint[e]] = false;
}

sn_status sn_fit_pass(sn_context *ctx, fit_model *m, fit_support mode, const fit_smooth *smooth) {
  sn_arena scratch = sn_arena_new(ctx);
  size_t slots = (size_t)m->p->n * (size_t)m->limit;
  double min_gain = m->min_gain * m->error / m->p->n + 1e-10 * m->p->f; // above rounding errors
  pass_job job = {
    .m = m, .mode = mode, .smooth = smooth, .min_gain = min_gain, .new_joint = m->joint, .new_weight = m->weight};
  sn_status status = SN_OK;
  if (m->bones > many_bones && m->limit > 1 && (mode == FIT_EXPLORE || mode == FIT_PRICE)) {
    job.unused = SN_NEW(ctx, &scratch, bool, m->bones);
    if (job.unused) find_unused(m, job.unused);
    if (!job.unused) status = ctx->error.status;
  }
  if ((smooth && smooth->edge_weight && mode != FIT_KEEP) || job.unused) {
    job.new_joint = SN_NEW(ctx, &scratch, uint16_t, slots);
    job.new_weight = SN_NEW(ctx, &scratch, double, slots);
    if (!job.new_joint || !job.new_weight) status = ctx->error.status;
  }
  if (status == SN_OK) status = sn_fit_groups(ctx, m->p, pass_group, share_group, &job);
  if (status == SN_OK) {
    if (job.new_joint != m->joint && mode != FIT_PRICE) {
      memcpy(m->joint, job.new_joint, slots * sizeof *m->joint);
      memcpy(m->weight, job.new_weight, slots * sizeof *m->weight);
    }
    add_groups(&job);
  }
  sn_arena_free(&scratch);
  return status;
}
