// SPDX-License-Identifier: MIT
// Convex quadratic programmes on the simplex, for the weights of one vertex: an active-set method with a passive set of
// a few entries. The constraint sum w = 1 is eliminated by the first passive entry, so that a step with m passive
// entries is a Cholesky factorisation of m - 1 rows.
#include "solve/solve.h"

#include <math.h>
#include <string.h>

typedef struct passive_set {
  int count, index[SN_SIMPLEX_MAX];
} passive_set;

// Cholesky factor of the reduced matrix; the diagonal holds reciprocals.
typedef struct factor {
  double l[SN_SIMPLEX_MAX][SN_SIMPLEX_MAX];
} factor;

static passive_set support(const sn_simplex *q) {
  passive_set p = {0};
  for (int j = 0; j < q->n; j++)
    if (q->w[j] > 0) p.index[p.count++] = j;
  return p;
}

static void leave(passive_set *p, int r) {
  p->count--;
  for (; r < p->count; r++) p->index[r] = p->index[r + 1];
}

// Minimiser over {sum z = 1} of the passive entries, of any sign: z_0 = 1 - sum of the others, and
// (a_rc - a_r0 - a_0c + a_00) z_c = b_r - b_0 - a_r0 + a_00. A ridge of 1e-11 of the diagonal regularises singular cases.
static void solve_equality(const sn_simplex *q, const passive_set *p, factor *f, double *z) {
  int m = p->count - 1, first = p->index[0];
  const double *base = q->a[first];
  for (int r = 0; r < m; r++) {
    int j = p->index[r + 1];
    double shift = base[first] - base[j], value = q->b[j] - q->b[first] + shift;
    for (int c = 0; c <= r; c++) {
      int k = p->index[c + 1];
      double sum = q->a[j][k] - base[k] + shift;
      if (c == r) {
        double pivot = sum;
        for (int e = 0; e < c; e++) pivot -= f->l[r][e] * f->l[r][e];
        double floor = 1e-11 * sum + 1e-280;
        f->l[r][r] = 1 / sqrt(pivot > floor ? pivot : floor);
      } else {
        for (int e = 0; e < c; e++) sum -= f->l[r][e] * f->l[c][e];
        f->l[r][c] = sum * f->l[c][c];
      }
    }
    for (int e = 0; e < r; e++) value -= f->l[r][e] * z[e + 1];
    z[r + 1] = value * f->l[r][r];
  }
  double others = 1;
  for (int r = m - 1; r >= 0; r--) {
    for (int k = r + 1; k < m; k++) z[r + 1] -= f->l[k][r] * z[k + 1];
    z[r + 1] *= f->l[r][r];
    others -= z[r + 1];
  }
  z[0] = others;
}

// Minimises over the entries of `p` only: steps to the boundary drop entries until all are positive.
static void solve_passive(sn_simplex *q, passive_set *p, factor *f) {
  double z[SN_SIMPLEX_MAX];
  while (p->count > 1) {
    solve_equality(q, p, f, z);
    double step = 1, sum = 0;
    int blocking = -1;
    for (int r = 0; r < p->count; r++) {
      double w = q->w[p->index[r]];
      sum += z[r];
      if (z[r] > 0) continue;
      double reach = w > 0 ? w / (w - z[r]) : 0;
      if (blocking < 0 || reach < step) step = reach, blocking = r;
    }
    if (!(fabs(sum) < 2)) return; // not finite
    for (int r = 0; r < p->count; r++) {
      double *w = &q->w[p->index[r]];
      *w = blocking < 0 ? z[r] : *w + step * (z[r] - *w);
    }
    if (blocking < 0) return;
    q->w[p->index[blocking]] = 0;
    leave(p, blocking);
  }
  if (p->count == 1) q->w[p->index[0]] = 1;
}

// Half the decrease of the energy per unit of weight moved from the current w to entry j.
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

void sn_simplex_solve(sn_simplex *q) {
  factor f;
  double h[SN_SIMPLEX_MAX], tolerance = 0;
  for (int j = 0; j < q->n; j++) tolerance = fmax(tolerance, 1e-11 * (fabs(q->a[j][j]) + fabs(q->b[j])));
  bool banned[SN_SIMPLEX_MAX] = {false};
  passive_set p = support(q);
  int best = -1;
  for (int step = 0; step < 4 * q->n + 4; step++) {
    solve_passive(q, &p, &f);
    // An entry that is dropped at once was added because of rounding only.
    if (best >= 0 && !(q->w[best] > 0)) banned[best] = true;
    reduced_gradient(q, h);
    best = -1;
    for (int j = 0; j < q->n; j++)
      if (!(q->w[j] > 0) && !banned[j] && h[j] > tolerance && (best < 0 || h[j] > h[best])) best = j;
    if (best < 0) return;
    p = support(q);
    p.index[p.count++] = best;
  }
}

// Cost of forcing each passive entry to zero while the others adapt: w_j^2 / Z_jj, with Z the inverse of the reduced
// matrix; for the eliminated entry Z is the sum of all its elements. `f` is the factor of this passive set.
static int cheapest_entry(const sn_simplex *q, const passive_set *p, const factor *f) {
  int m = p->count - 1, best = 0;
  double inverse[SN_SIMPLEX_MAX] = {0}, ones = 0;
  for (int c = 0; c < m; c++) {
    double column[SN_SIMPLEX_MAX]; // of L^-1
    for (int r = c; r < m; r++) {
      double sum = r == c;
      for (int k = c; k < r; k++) sum -= f->l[r][k] * column[k];
      column[r] = sum * f->l[r][r];
      inverse[c] += column[r] * column[r];
    }
  }
  double y[SN_SIMPLEX_MAX];
  for (int r = 0; r < m; r++) {
    y[r] = 1;
    for (int k = 0; k < r; k++) y[r] -= f->l[r][k] * y[k];
    y[r] *= f->l[r][r];
    ones += y[r] * y[r];
  }
  double least = INFINITY;
  for (int r = 0; r < p->count; r++) {
    double w = q->w[p->index[r]], cost = w * w / (r == 0 ? ones : inverse[r - 1]);
    if (cost < least) least = cost, best = r;
  }
  return best;
}

// The passive set must be the support of w, and `f` its factor.
static void drop_to(sn_simplex *q, passive_set *p, factor *f, int limit) {
  while (p->count > limit) {
    int r = cheapest_entry(q, p, f);
    double others = 1 - q->w[p->index[r]];
    q->w[p->index[r]] = 0;
    leave(p, r);
    for (int k = 0; k < p->count; k++) {
      double *w = &q->w[p->index[k]];
      *w = others > 1e-12 ? *w / others : 1.0 / p->count;
    }
    solve_passive(q, p, f);
  }
}

// Adds an absent entry, drops the cheapest if there are too many, and keeps the result if it is better. Entries with the
// largest one-dimensional gains are tried first, at most `tries`. False if none helps.
static bool exchange(sn_simplex *q, int limit, int tries, double least_gain) {
  double h[SN_SIMPLEX_MAX], gain[SN_SIMPLEX_MAX] = {0}, before[SN_SIMPLEX_MAX], energy = 0;
  reduced_gradient(q, h);
  for (int j = 0; j < q->n; j++)
    if (!(q->w[j] > 0) && h[j] > 0) gain[j] = h[j] * h[j] / (q->a[j][j] + 1e-300);
  memcpy(before, q->w, sizeof before);
  for (int attempt = 0; attempt < tries; attempt++) {
    int enter = -1;
    for (int j = 0; j < q->n; j++)
      if (gain[j] > (enter < 0 ? least_gain : gain[enter])) enter = j;
    if (enter < 0) return false;
    if (attempt == 0) energy = sn_simplex_energy(q);
    factor f;
    gain[enter] = 0;
    passive_set p = support(q);
    p.index[p.count++] = enter;
    solve_passive(q, &p, &f);
    drop_to(q, &p, &f, limit);
    if (sn_simplex_energy(q) < energy - 1e-12 * fabs(energy)) return true;
    memcpy(q->w, before, sizeof before);
  }
  return false;
}

void sn_simplex_improve(sn_simplex *q, int limit, int exchanges, double least_gain) {
  factor f;
  passive_set p = support(q);
  solve_passive(q, &p, &f);
  while (exchanges-- > 0 && exchange(q, limit, 1, least_gain)) continue;
}

void sn_simplex_thin(sn_simplex *q, double price) {
  factor f;
  double before[SN_SIMPLEX_MAX];
  passive_set p = support(q);
  solve_passive(q, &p, &f);
  for (double energy = sn_simplex_energy(q), least; p.count > 1; energy = least) {
    memcpy(before, q->w, sizeof before);
    drop_to(q, &p, &f, p.count - 1);
    least = sn_simplex_energy(q);
    if (least > energy + price) {
      memcpy(q->w, before, sizeof before);
      return;
    }
  }
}

void sn_simplex_solve_sparse(sn_simplex *q, int limit) {
  factor f;
  double best[SN_SIMPLEX_MAX];
  bool allowed = support(q).count <= limit;
  memcpy(best, q->w, sizeof best);
  double energy = allowed ? sn_simplex_energy(q) : INFINITY;
  sn_simplex_solve(q);
  passive_set p = support(q);
  if (p.count > limit) {
    solve_passive(q, &p, &f);
    drop_to(q, &p, &f, limit);
    if (!(sn_simplex_energy(q) <= energy)) {
      memcpy(q->w, best, sizeof best);
      p = support(q);
      solve_passive(q, &p, &f);
    }
    for (int round = 0; round < 8 && exchange(q, limit, 2, 0); round++) continue;
  }
}
