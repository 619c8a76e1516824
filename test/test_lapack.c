// SPDX-License-Identifier: MIT
// Our way to LAPACK gives the bits of LAPACKE's own, and tells memory from numerics.
#include <cblas.h>
#include <lapacke.h>

#include "check.h"
#include "solve/lapack.h"

enum { most = 40 };

static void random_numbers(sn_random *rng, double *out, int count) {
  for (int k = 0; k < count; k++) out[k] = sn_random_normal(rng);
}

// B B^T + I, n x n.
static void definite_matrix(sn_random *rng, int n, double *out) {
  double b[most * most];
  random_numbers(rng, b, n * n);
  for (int r = 0; r < n; r++)
    for (int c = 0; c < n; c++) {
      double sum = r == c;
      for (int k = 0; k < n; k++) sum += b[r * n + k] * b[c * n + k];
      out[r * n + c] = sum;
    }
}

static void test_posv(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(1);
  for (int n = 1; n <= most; n += 13) {
    double a[most * most], a2[most * most], b[most * 7], b2[most * 7];
    definite_matrix(&rng, n, a);
    random_numbers(&rng, b, n * 7);
    memcpy(a2, a, sizeof a), memcpy(b2, b, sizeof b);
    assert_int_equal(LAPACKE_dposv(LAPACK_ROW_MAJOR, 'L', n, 7, a2, n, b2, 7), 0);
    assert_ok(&ctx, sn_lapack_posv(&ctx, 'L', n, 7, a, b));
    assert_memory_equal(b, b2, sizeof(double) * 7 * (size_t)n);
  }
}

static void test_eigenvalues(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(2);
  for (int n = 1; n <= most; n += 13) {
    double a[most * most], a2[most * most], values[most], values2[most];
    definite_matrix(&rng, n, a);
    memcpy(a2, a, sizeof a);
    assert_int_equal(LAPACKE_dsyevd(LAPACK_ROW_MAJOR, 'V', 'U', n, a2, n, values2), 0);
    assert_ok(&ctx, sn_lapack_syevd(&ctx, 'U', n, a, values));
    assert_memory_equal(values, values2, sizeof(double) * (size_t)n);
    assert_memory_equal(a, a2, sizeof(double) * (size_t)n * (size_t)n);
  }
}

static void test_gesvd(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(3);
  static const int shapes[][2] = {{1, 1}, {20, 7}, {7, 20}, {40, 40}};
  for (int k = 0; k < 4; k++) {
    int rows = shapes[k][0], columns = shapes[k][1], least = rows < columns ? rows : columns;
    double a[most * most], a2[most * most], s[most], s2[most], super[most];
    double u[most * most], u2[most * most], vt[most * most], vt2[most * most];
    random_numbers(&rng, a, rows * columns);
    memcpy(a2, a, sizeof a);
    assert_int_equal(
      LAPACKE_dgesvd(LAPACK_ROW_MAJOR, 'S', 'S', rows, columns, a2, columns, s2, u2, least, vt2, columns, super), 0);
    assert_ok(&ctx, sn_lapack_gesvd(&ctx, &(sn_svd){rows, columns, a, s, u, vt}));
    assert_memory_equal(s, s2, sizeof(double) * (size_t)least);
    assert_memory_equal(u, u2, sizeof(double) * (size_t)(rows * least));
    assert_memory_equal(vt, vt2, sizeof(double) * (size_t)(least * columns));
  }
}

static void test_invert(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(4);
  for (int n = 1; n <= most; n += 13)
    for (int definite = 0; definite < 2; definite++) {
      double a[most * most], inverse[most * most], rcond;
      if (definite)
        definite_matrix(&rng, n, a);
      else
        random_numbers(&rng, a, n * n);
      memcpy(inverse, a, sizeof a);
      assert_ok(&ctx, sn_lapack_invert(&ctx, definite, n, inverse, &rcond));
      assert_true(rcond > 1e-8 && rcond <= 1 + 1e-12);
      for (int r = 0; r < n; r++)
        for (int c = 0; c < n; c++) {
          double sum = 0;
          for (int k = 0; k < n; k++) sum += a[r * n + k] * inverse[k * n + c];
          assert_near(sum, r == c, 1e-9);
        }
    }
}

static void test_numerics(void **state) {
  sn_context ctx = sn_context_default();
  double indefinite[4] = {1, 2, 2, 1}, b[2] = {1, 1}, values[2], broken[4] = {1, NAN, NAN, 1}, rcond;
  double singular[4] = {1, 1, 1, 1};
  assert_int_equal(sn_lapack_posv(&ctx, 'L', 2, 1, indefinite, b), SN_NOT_CONVERGED);
  assert_int_equal(sn_lapack_posv(&ctx, 'L', 2, 1, broken, b), SN_NOT_CONVERGED);
  assert_int_equal(sn_lapack_syevd(&ctx, 'L', 2, broken, values), SN_NOT_CONVERGED);
  assert_int_equal(sn_lapack_invert(&ctx, false, 2, singular, &rcond), SN_NOT_CONVERGED);
}

static void test_no_memory(void **state) {
  for (int what = 0; what < 4; what++)
    for (starvation s = {0}; starve(&s);) {
      double a[9] = {4, 1, 0, 1, 4, 1, 0, 1, 4}, b[3] = {1, 2, 3}, values[3], u[9], vt[9], rcond;
      s.status = what == 0   ? sn_lapack_posv(&s.ctx, 'L', 3, 1, a, b)
                 : what == 1 ? sn_lapack_syevd(&s.ctx, 'L', 3, a, values)
                 : what == 2 ? sn_lapack_gesvd(&s.ctx, &(sn_svd){3, 3, a, values, u, vt})
                             : sn_lapack_invert(&s.ctx, true, 3, a, &rcond);
    }
}

typedef struct threads_job {
  const double *matrix, *wanted;
  int wrong[64];
} threads_job;

static void factorise(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  threads_job *job = user;
  for (int64_t k = begin; k < end; k++) {
    double a[most * most];
    memcpy(a, job->matrix, sizeof a);
    LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'U', most, a, most);
    job->wrong[k] = memcmp(a, job->wanted, sizeof a) != 0;
  }
}

// Factorisations on several threads at once do not disturb each other.
static void test_threads(void **state) {
  sn_context ctx = sn_context_default();
  ctx.threads = 8;
  sn_random rng = sn_random_new(7);
  double a[most * most], wanted[most * most];
  definite_matrix(&rng, most, a);
  memcpy(wanted, a, sizeof a);
  LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'U', most, wanted, most);
  for (int round = 0; round < 200; round++) {
    threads_job job = {a, wanted, {0}};
    sn_parallel_for(&ctx, 64, 1, factorise, &job);
    for (int k = 0; k < 64; k++) assert_int_equal(job.wrong[k], 0);
  }
}

// Within a call of ours BLAS has one thread, nested calls included; the program's own number is back afterwards.
static void nested_scope(void) {
  SN_BLAS_SCOPE;
  assert_int_equal(openblas_get_num_threads(), 1);
}

static void outer_scope(void) {
  SN_BLAS_SCOPE;
  nested_scope();
  assert_int_equal(openblas_get_num_threads(), 1);
}

static void test_scope(void **state) {
  int before = openblas_get_num_threads();
  openblas_set_num_threads(2);
  outer_scope();
  assert_int_equal(openblas_get_num_threads(), 2);
  openblas_set_num_threads(before);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_posv),    cmocka_unit_test(test_eigenvalues), cmocka_unit_test(test_gesvd),
    cmocka_unit_test(test_invert),  cmocka_unit_test(test_numerics),    cmocka_unit_test(test_no_memory),
    cmocka_unit_test(test_threads), cmocka_unit_test(test_scope),
  };
  return cmocka_run_group_tests_name("lapack", tests, NULL, NULL);
}
