// SPDX-License-Identifier: MIT
// Convex quadratic programmes on the simplex, for the weights of one vertex: an active-set method with a passive set of
// a few entries, so that every step is a Cholesky factorisation of a handful of rows.
#include "solve/solve.h"

#include <math.h>
#include <string.h>

typedef struct passive_set {
  int count, index[SN_SIMPLEX_MAX];
} passive_set;

// The factor of A on the passive set, and what the equality constraint needs of it.
typedef struct factor {
  double l[SN_SIMPLEX_MAX][SN_SIMPLEX_MAX]; // lower; the diagonal holds reciprocals
  double y[SN_SIMPLEX_MAX];                 // A^-1 1
  double ones;                              // 1^T A^-1 1
} factor;

static passive_set support(const sn_simplex *q) {
  passive_set p = {0};
  for (int j = 0; j < q->n; j++)
    if (q->w[j] > 0) p.index[p.count++] = j;
  return p;
}

// Adds a ridge of 1e-11 of the mean diagonal: invisible where A is regular, a choice where it is not.
static void factorise(const sn_simplex *q, const passive_set *p, factor *f) {
  double ridge = 1e-300;
  for (int r = 0; r < p->count; r++) ridge += q->a[p->index[r]][p->index[r]];
  ridge *= 1e-11 / p->count;
  for (int r = 0; r < p->count; r++) {
    const double *row = q->a[p->index[r]];
    for (int c = 0; c <= r; c++) {
      double sum = row[p->index[c]];
      for (int k = 0; k < c; k++) sum -= f->l[r][k] * f->l[c][k];
      if (c < r) {
        f->l[r][c] = sum * f->l[c][c];
      } else {
        f->l[r][r] = 1 / sqrt(fmax(sum + ridge, ridge + 1e-300));
      }
    }
  }
}

static void back_solve(const factor *f, int count, double *x) {
  for (int r = 0; r < count; r++) {
    for (int k = 0; k < r; k++) x[r] -= f->l[r][k] * x[k];
    x[r] *= f->l[r][r];
  }
  for (int r = count - 1; r >= 0; r--) {
    for (int k = r + 1; k < count; k++) x[r] -= f->l[k][r] * x[k];
    x[r] *= f->l[r][r];
  }
}

// [A_QQ 1; 1^T 0][z; lambda] = [b; 1] on the passive set Q.
static void solve_equality(const sn_simplex *q, const passive_set *p, factor *f, double *z) {
  if (p->count == 1) {
    z[0] = 1;
    return;
  }
  factorise(q, p, f);
  double sum = 0;
  for (int r = 0; r < p->count; r++) z[r] = q->b[p->index[r]], f->y[r] = 1;
  back_solve(f, p->count, z), back_solve(f, p->count, f->y);
  f->ones = 0;
  for (int r = 0; r < p->count; r++) sum += z[r], f->ones += f->y[r];
  double lambda = (1 - sum) / f->ones;
  for (int r = 0; r < p->count; r++) z[r] += lambda * f->y[r];
}

// Minimises over the entries of `p` alone: steps to the boundary drop entries until all are positive.
static void solve_passive(sn_simplex *q, passive_set *p, factor *f) {
  double z[SN_SIMPLEX_MAX];
  for (;;) {
    solve_equality(q, p, f, z);
    double step = 1;
    int blocking = -1;
    for (int r = 0; r < p->count; r++) {
      double w = q->w[p->index[r]];
      if (z[r] > 0 || !(w - z[r] > 0)) continue;
      if (w / (w - z[r]) < step || blocking < 0) step = fmin(step, w / (w - z[r])), blocking = r;
    }
    bool finite = true;
    for (int r = 0; r < p->count; r++) finite = finite && isfinite(z[r]);
    if (!finite) return;
    for (int r = 0; r < p->count; r++) {
      int j = p->index[r];
      q->w[j] = blocking < 0 ? fmax(z[r], 0) : fmax(q->w[j] + step * (z[r] - q->w[j]), 0);
    }
    if (blocking < 0 || p->count == 1) return;
    q->w[p->index[blocking]] = 0;
    p->count--;
    for (int r = blocking; r < p->count; r++) p->index[r] = p->index[r + 1];
  }
}

// Half the descent that moving weight to entry j from the current mix would bring, per unit of weight.
static void reduced_gradient(const sn_simplex *q, double *h) {
  double mean = 0;
  for (int j = 0; j < q->n; j++) {
    double sum = q->b[j];
    for (int k = 0; k < q->n; k++) sum -= q->a[j][k] * q->w[k];
    h[j] = sum, mean += q->w[j] * sum;
  }
  for (int j = 0; j < q->n; j++) h[j] -= mean;
}

double sn_simplex_energy(const sn_simplex *q) {
  double sum = 0;
  for (int j = 0; j < q->n; j++) {
    if (!(q->w[j] > 0)) continue;
    double row = -2 * q->b[j];
    for (int k = 0; k < q->n; k++) row += q->a[j][k] * q->w[k];
    sum += q->w[j] * row;
  }
  return sum;
}

static double diagonal_scale(const sn_simplex *q) {
  double largest = 0;
  for (int j = 0; j < q->n; j++) largest = fmax(largest, fabs(q->a[j][j]) + fabs(q->b[j]));
  return largest;
}

void sn_simplex_solve(sn_simplex *q) {
  factor f;
  double h[SN_SIMPLEX_MAX], tolerance = 1e-10 * diagonal_scale(q);
  bool banned[SN_SIMPLEX_MAX] = {false};
  passive_set p = support(q);
  for (int step = 0; step < 3 * q->n; step++) {
    solve_passive(q, &p, &f);
    reduced_gradient(q, h);
    int best = -1;
    for (int j = 0; j < q->n; j++) {
      if (!(q->w[j] > 0) && !banned[j] && h[j] > tolerance && (best < 0 || h[j] > h[best])) best = j;
    }
    if (best < 0) return;
    // An entry that falls out at once (rounding, parallel columns) is not tried again.
    banned[best] = true;
    p = support(q);
    p.index[p.count++] = best;
  }
}

// Cost of forcing each passive entry to zero while the others adapt: w_j^2 / Z_jj, Z the inverse on {sum = 0}.
static int cheapest_entry(const sn_simplex *q, const passive_set *p, factor *f) {
  double z[SN_SIMPLEX_MAX];
  solve_equality(q, p, f, z);
  int best = 0;
  double least = INFINITY;
  for (int r = 0; r < p->count; r++) {
    double column[SN_SIMPLEX_MAX] = {0};
    column[r] = 1;
    back_solve(f, p->count, column);
    double inverse = column[r] - f->y[r] * f->y[r] / f->ones, w = q->w[p->index[r]];
    double cost = inverse > 0 ? w * w / inverse : 0;
    if (cost < least) least = cost, best = r;
  }
  return best;
}

static void drop_to(sn_simplex *q, int limit) {
  factor f;
  for (passive_set p = support(q); p.count > limit; p = support(q)) {
    int r = cheapest_entry(q, &p, &f);
    double freed = q->w[p.index[r]], rest = 1 - freed;
    q->w[p.index[r]] = 0;
    p.count--;
    for (int k = r; k < p.count; k++) p.index[k] = p.index[k + 1];
    for (int k = 0; k < p.count; k++) q->w[p.index[k]] = rest > 1e-12 ? q->w[p.index[k]] / rest : 1.0 / p.count;
    solve_passive(q, &p, &f);
  }
}

void sn_simplex_solve_sparse(sn_simplex *q, int limit) {
  double best[SN_SIMPLEX_MAX], best_energy = INFINITY, h[SN_SIMPLEX_MAX];
  factor f;
  passive_set p = support(q);
  memcpy(best, q->w, sizeof best);
  if (p.count <= limit) {
    solve_passive(q, &p, &f);
    best_energy = sn_simplex_energy(q);
    memcpy(best, q->w, sizeof best);
  }
  sn_simplex_solve(q);
  p = support(q);
  if (p.count <= limit) return;
  drop_to(q, limit);
  double energy = sn_simplex_energy(q);
  if (energy < best_energy) {
    best_energy = energy;
    memcpy(best, q->w, sizeof best);
  } else {
    memcpy(q->w, best, sizeof best);
  }
  // Exchanges: let the most promising absent entry in, drop the cheapest, keep it if that is better.
  for (int attempt = 0; attempt < 2; attempt++) {
    reduced_gradient(q, h);
    int enter = -1;
    double score = 0;
    for (int j = 0; j < q->n; j++) {
      if (q->w[j] > 0 || !(h[j] > 0) || !(q->a[j][j] > 0)) continue;
      double gain = h[j] * h[j] / q->a[j][j];
      if (gain > score) score = gain, enter = j;
    }
    if (enter < 0) break;
    p = support(q);
    p.index[p.count++] = enter;
    solve_passive(q, &p, &f);
    drop_to(q, limit);
    energy = sn_simplex_energy(q);
    if (!(energy < best_energy - 1e-14 * fabs(best_energy))) break;
    best_energy = energy;
    memcpy(best, q->w, sizeof best);
  }
  memcpy(q->w, best, sizeof best);
}
