// SPDX-License-Identifier: MIT
// Small dense solvers that know nothing about meshes.
#ifndef SINEW_SOLVE_H
#define SINEW_SOLVE_H

#include <stdbool.h>

// |a - b|^2.
static inline double sn_squared_distance(int dims, const double *a, const double *b) {
  double sum = 0;
  for (int d = 0; d < dims; d++) sum += (a[d] - b[d]) * (a[d] - b[d]);
  return sum;
}

// Inserts `item` into the sorted list of the `most` items of least cost. Returns the new count.
static inline int sn_least_enter(int most, int count, double cost, int item, double *costs, int *items) {
  int at = count < most ? count++ : most;
  for (; at > 0 && cost < costs[at - 1]; at--)
    if (at < most) costs[at] = costs[at - 1], items[at] = items[at - 1];
  if (at < most) costs[at] = cost, items[at] = item;
  return count;
}

// ---- least squares on the simplex --------------------------------------------------------------------------------

enum { SN_SIMPLEX_MAX = 16 };

// minimise w^T A w - 2 b^T w   subject to w >= 0, sum w = 1, with A (n x n, n <= SN_SIMPLEX_MAX) symmetric and positive
// semi-definite; singular A is fine. Only rows and columns below n are used.
typedef struct sn_simplex {
  int n;
  double a[SN_SIMPLEX_MAX][SN_SIMPLEX_MAX];
  double b[SN_SIMPLEX_MAX];
  double w[SN_SIMPLEX_MAX]; // in: a feasible start; out: the minimiser
} sn_simplex;

double sn_simplex_energy(const sn_simplex *q);

// Active-set solve from q->w. Entries outside the support of q->w may come in.
void sn_simplex_solve(sn_simplex *q);

// The same among at most `limit` positive weights: solves, drops the weights that cost least while there are more than
// `limit`, then tries exchanges with absent entries. Never worse than a start that has at most `limit`.
void sn_simplex_solve_sparse(sn_simplex *q, int limit);

// From a start with at most `limit` positive weights: solves on its support, then makes up to `exchanges` exchanges with
// absent entries, each only if it lowers the energy. Entries with a predicted gain below `least_gain` are not tried.
void sn_simplex_improve(sn_simplex *q, int limit, int exchanges, double least_gain);

// Repeatedly drops the entry that raises the energy least (the others adapt), while the rise is at most `price`:
// a penalty per entry.
void sn_simplex_thin(sn_simplex *q, double price);

// ---- small systems ---------------------------------------------------------------------------------------------------

// b <- a^-1 b for a symmetric positive definite (its lower triangle is used, and overwritten by its Cholesky factor), row-major
// with `stride` numbers from row to row; b has n rows of `columns`. For a few dozen unknowns; larger ones go to LAPACK.
void sn_spd_solve(int n, int stride, double *a, int columns, double *b);

// ---- ridge regression of a few unknowns ----------------------------------------------------------------------------------

enum { SN_MOMENTS_MAX = 24 };

// x^T a x - 2 b^T x + c: residual sum of squares of some rows for n unknowns x. a: lower triangle.
typedef struct sn_moments {
  double a[SN_MOMENTS_MAX][SN_MOMENTS_MAX], b[SN_MOMENTS_MAX], c;
  int rows;
} sn_moments;

void sn_moments_row(sn_moments *m, int n, const double *row, double y); // adds the equation row . x = y
void sn_moments_add(sn_moments *to, int n, const sn_moments *m);
void sn_moments_solve(const sn_moments *m, int n, double ridge, double *x); // 0 for a ridge of INFINITY
double sn_moments_left(const sn_moments *m, int n, const double *x);

#endif
