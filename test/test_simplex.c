// SPDX-License-Identifier: MIT
// Quadratic programmes on the simplex against enumeration of all supports with LAPACK.
#include "check.h"

#include <lapacke.h>

#include "solve/solve.h"

// A = F^T F with `rank` rows, b = F^T y.
static sn_simplex random_programme(sn_random *rng, int n, int rank, double scale) {
  double f[SN_SIMPLEX_MAX][SN_SIMPLEX_MAX], y[SN_SIMPLEX_MAX];
  sn_simplex q = {.n = n};
  for (int r = 0; r < rank; r++) {
    y[r] = scale * sn_random_normal(rng);
    for (int j = 0; j < n; j++) f[r][j] = scale * sn_random_normal(rng);
  }
  for (int j = 0; j < n; j++)
    for (int r = 0; r < rank; r++) {
      q.b[j] += f[r][j] * y[r];
      for (int k = 0; k < n; k++) q.a[j][k] += f[r][j] * f[r][k];
    }
  q.w[sn_random_below(rng, n)] = 1;
  return q;
}

static void check_feasible(const sn_simplex *q, int limit) {
  double sum = 0;
  int positive = 0;
  for (int j = 0; j < q->n; j++) {
    assert_true(q->w[j] >= 0);
    sum += q->w[j], positive += q->w[j] > 0;
  }
  assert_near(sum, 1, 1e-9);
  assert_true(positive <= limit);
}

// The best energy over all supports of at most `limit` entries, each by the bordered system.
static double best_by_enumeration(const sn_simplex *q, int limit) {
  double best = INFINITY;
  for (int mask = 1; mask < 1 << q->n; mask++) {
    int index[SN_SIMPLEX_MAX], m = 0;
    for (int j = 0; j < q->n; j++)
      if (mask >> j & 1) index[m++] = j;
    if (m > limit) continue;
    double a[(SN_SIMPLEX_MAX + 1) * (SN_SIMPLEX_MAX + 1)] = {0}, x[SN_SIMPLEX_MAX + 1];
    lapack_int pivots[SN_SIMPLEX_MAX + 1];
    for (int r = 0; r < m; r++) {
      for (int c = 0; c < m; c++) a[r * (m + 1) + c] = q->a[index[r]][index[c]];
      a[r * (m + 1) + m] = a[m * (m + 1) + r] = 1, x[r] = q->b[index[r]];
    }
    x[m] = 1;
    if (LAPACKE_dgesv(LAPACK_ROW_MAJOR, m + 1, 1, a, m + 1, pivots, x, 1) != 0) continue;
    sn_simplex trial = *q;
    bool inside = true;
    memset(trial.w, 0, sizeof trial.w);
    for (int r = 0; r < m; r++) trial.w[index[r]] = x[r], inside = inside && x[r] > -1e-12;
    if (inside) best = fmin(best, sn_simplex_energy(&trial));
  }
  return best;
}

static void finds_the_minimum(void **state) {
  sn_random rng = sn_random_new(1);
  for (int trial = 0; trial < 1000; trial++) {
    int n = 1 + sn_random_below(&rng, 8);
    double scale = pow(10, 4 * sn_random_uniform(&rng) - 2);
    sn_simplex q = random_programme(&rng, n, 8, scale);
    sn_simplex_solve(&q);
    check_feasible(&q, n);
    double best = best_by_enumeration(&q, n);
    assert_below(sn_simplex_energy(&q), best + 1e-8 * (fabs(best) + scale * scale));
  }
}

// Parallel and repeated columns: the energy is still the least, and nothing is lost in rounding.
static void singular_matrices(void **state) {
  sn_random rng = sn_random_new(2);
  for (int trial = 0; trial < 1000; trial++) {
    int n = 2 + sn_random_below(&rng, 7), rank = sn_random_below(&rng, 3);
    sn_simplex q = random_programme(&rng, n, rank, 1);
    sn_simplex longer = q;
    sn_simplex_solve(&q);
    check_feasible(&q, n);
    // Projected gradient descent from the same start must not get lower.
    double step = 0.1 / n;
    for (int round = 0; round < 400; round++) {
      double g[SN_SIMPLEX_MAX], top = -INFINITY;
      int best = 0;
      for (int j = 0; j < n; j++) {
        g[j] = longer.b[j];
        for (int k = 0; k < n; k++) g[j] -= longer.a[j][k] * longer.w[k];
        if (g[j] > top) top = g[j], best = j;
      }
      for (int j = 0; j < n; j++) longer.w[j] *= 1 - step;
      longer.w[best] += step;
      step = 2.0 / (round + 3) / n;
    }
    assert_below(sn_simplex_energy(&q), sn_simplex_energy(&longer) + 1e-7);
  }
}

static void sparse_weights(void **state) {
  sn_random rng = sn_random_new(3);
  int exact = 0, count = 1000;
  double excess = 0;
  for (int trial = 0; trial < count; trial++) {
    int n = 5 + sn_random_below(&rng, 4);
    sn_simplex q = random_programme(&rng, n, 9, 1);
    // A blend of three columns and a little of all others, so that the limit matters.
    double blend[SN_SIMPLEX_MAX], total = 0, constant = 0;
    for (int j = 0; j < n; j++) total += blend[j] = (j < 3 ? 0.2 : 0.02) + 0.2 * (j < 3) * sn_random_uniform(&rng);
    for (int j = 0; j < n; j++) {
      q.b[j] = 0;
      for (int k = 0; k < n; k++) q.b[j] += q.a[j][k] * blend[k] / total;
    }
    for (int j = 0; j < n; j++) constant += q.b[j] * blend[j] / total;
    double before = sn_simplex_energy(&q);
    sn_simplex_solve_sparse(&q, 3);
    check_feasible(&q, 3);
    double after = sn_simplex_energy(&q), best = best_by_enumeration(&q, 3);
    assert_below(after, before + 1e-12);
    assert_below(best, after + 1e-9);
    exact += after < best + 1e-9;
    excess += (after + constant) / (best + constant) - 1;
  }
  print_message("best support found in %d of %d, mean excess %.2f %%\n", exact, count, 100 * excess / count);
  assert_true(exact > count * 9 / 10);
  assert_below(excess / count, 0.1);
}

static void improving_never_worsens(void **state) {
  sn_random rng = sn_random_new(4);
  for (int trial = 0; trial < 2000; trial++) {
    int n = 1 + sn_random_below(&rng, SN_SIMPLEX_MAX), limit = 1 + sn_random_below(&rng, 4);
    sn_simplex q = random_programme(&rng, n, 1 + sn_random_below(&rng, 16), 1);
    double before = sn_simplex_energy(&q);
    sn_simplex_improve(&q, limit, 2, 0);
    check_feasible(&q, limit);
    assert_below(sn_simplex_energy(&q), before + 1e-12);
  }
}

static void zeros_and_extremes(void **state) {
  for (int kind = 0; kind < 4; kind++) {
    double size = kind == 0 ? 0 : kind == 1 ? 1e-200 : kind == 2 ? 1e150 : 1;
    sn_simplex q = {.n = 6, .w = {1}};
    for (int j = 0; j < 6; j++)
      for (int k = 0; k < 6; k++) q.a[j][k] = kind == 3 ? 1 : j == k ? size : 0;
    sn_simplex_solve_sparse(&q, 4);
    check_feasible(&q, 4);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(finds_the_minimum),       cmocka_unit_test(singular_matrices),  cmocka_unit_test(sparse_weights),
    cmocka_unit_test(improving_never_worsens), cmocka_unit_test(zeros_and_extremes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
