// SPDX-License-Identifier: MIT
// Kernel canonical correlation analysis against a dense generalised eigenvalue solve and against linear CCA.
#include "check.h"

#include <lapacke.h>

#include "solve/kcca.h"

enum { most = 40 };

typedef struct sample {
  int frames, inputs, outputs;
  double c[most][12], x[most][SN_KCCA_OUTPUTS];
  double kernel[most * most];
} sample;

// Outputs that follow the inputs through a smooth map, with some noise; centred.
static sample make_sample(int frames, int inputs, int outputs, double noise, double width, uint64_t seed) {
  sample s = {.frames = frames, .inputs = inputs, .outputs = outputs};
  sn_random rng = sn_random_new(seed);
  for (int f = 0; f < frames; f++)
    for (int n = 0; n < inputs; n++) s.c[f][n] = sn_random_normal(&rng);
  for (int o = 0; o < outputs; o++) {
    double a[12], mean = 0;
    for (int n = 0; n < inputs; n++) a[n] = sn_random_normal(&rng);
    for (int f = 0; f < frames; f++) {
      double along = 0;
      for (int n = 0; n < inputs; n++) along += a[n] * s.c[f][n];
      s.x[f][o] = (width > 0 ? sin(along) : along) + noise * sn_random_normal(&rng);
      mean += s.x[f][o] / frames;
    }
    for (int f = 0; f < frames; f++) s.x[f][o] -= mean;
  }
  for (int a = 0; a < frames; a++)
    for (int b = 0; b < frames; b++) {
      double d = 0, dot = 0;
      for (int n = 0; n < inputs; n++) {
        d += (s.c[a][n] - s.c[b][n]) * (s.c[a][n] - s.c[b][n]);
        dot += s.c[a][n] * s.c[b][n];
      }
      s.kernel[a * frames + b] = width > 0 ? exp(-d / width) : dot; // no width: the linear kernel
    }
  return s;
}

static void centred(const sample *s, double *k) {
  int n = s->frames;
  double mean[most] = {0}, grand = 0;
  for (int a = 0; a < n; a++) {
    for (int b = 0; b < n; b++) mean[a] += s->kernel[a * n + b] / n;
    grand += mean[a] / n;
  }
  for (int a = 0; a < n; a++)
    for (int b = 0; b < n; b++) k[a * n + b] = s->kernel[a * n + b] - mean[a] - mean[b] + grand;
}

// The analysis, and what it means for the frames: rows of F_c^T, of C_r and of Q_r, one per component.
typedef struct analysis {
  int components;
  double correlation[SN_KCCA_OUTPUTS];
  double f[SN_KCCA_OUTPUTS * most], c[SN_KCCA_OUTPUTS * most], q[SN_KCCA_OUTPUTS * most];
} analysis;

static void solve(sn_context *ctx, sn_arena *memory, const sample *s, double ridge, double floor, int wanted,
                  sn_kcca_basis *basis, analysis *out) {
  int p = s->frames, m = s->outputs;
  double y[most * SN_KCCA_OUTPUTS] = {0}, gram[SN_KCCA_OUTPUTS * SN_KCCA_OUTPUTS] = {0};
  sn_kcca kcca;
  assert_ok(ctx, sn_kcca_basis_make(ctx, memory, p, s->kernel, basis));
  kcca = (sn_kcca){.forward = SN_NEW(ctx, memory, double, SN_KCCA_OUTPUTS *(size_t)(p))};
  sn_kcca_project(basis, &s->x[0][0], SN_KCCA_OUTPUTS, y);
  for (int f = 0; f < p; f++)
    for (int a = 0; a < m; a++)
      for (int b = 0; b < m; b++) gram[a * SN_KCCA_OUTPUTS + b] += s->x[f][a] * s->x[f][b];
  sn_kcca_solve(basis, &(sn_kcca_outputs){m, SN_KCCA_OUTPUTS, y, gram, floor}, ridge, wanted, &kcca);
  memset(out, 0, sizeof *out);
  out->components = kcca.components;
  for (int k = 0; k < kcca.components; k++) {
    out->correlation[k] = kcca.correlation[k];
    for (int f = 0; f < p; f++) {
      for (int r = 0; r < basis->rank; r++) {
        double part = kcca.forward[k * basis->rank + r] * basis->vectors[r * p + f];
        out->f[k * p + f] += part, out->c[k * p + f] += basis->values[r] * part;
      }
      for (int a = 0; a < m; a++) out->q[k * p + f] += kcca.g[k][a] * s->x[f][a];
    }
  }
}

// [0 KX; X^T K 0] v = rho [K^2 + ridge K, 0; 0, X^T X + floor I] v: the largest rho are the correlations.
static void test_generalised_eigenvalues(void **state) {
  sn_context ctx = sn_context_default();
  for (uint64_t seed = 1; seed <= 20; seed++) {
    sample s = make_sample(8 + (int)seed, 3, 1 + (int)seed % 6, 0.3, 4, seed);
    sn_arena memory = sn_arena_new(&ctx);
    int p = s.frames, m = s.outputs, n = p + m;
    double ridge = 0.05 * (double)(seed % 3 + 1), floor = 0.01, k[most * most], values[2 * most];
    static double a[4 * most * most], b[4 * most * most];
    memset(a, 0, sizeof a), memset(b, 0, sizeof b);
    centred(&s, k);
    for (int i = 0; i < p; i++)
      for (int j = 0; j < p; j++) {
        b[i * n + j] = ridge * k[i * p + j] + (i == j ? 1e-9 : 0); // the constant direction is not in K
        for (int l = 0; l < p; l++) b[i * n + j] += k[i * p + l] * k[l * p + j];
      }
    for (int i = 0; i < m; i++)
      for (int j = 0; j < m; j++) {
        b[(p + i) * n + p + j] = i == j ? floor : 0;
        for (int f = 0; f < p; f++) b[(p + i) * n + p + j] += s.x[f][i] * s.x[f][j];
      }
    for (int i = 0; i < p; i++)
      for (int j = 0; j < m; j++) {
        double sum = 0;
        for (int f = 0; f < p; f++) sum += k[i * p + f] * s.x[f][j];
        a[i * n + p + j] = a[(p + j) * n + i] = sum;
      }
    assert_int_equal(LAPACKE_dsygv(LAPACK_ROW_MAJOR, 1, 'N', 'U', n, a, n, b, n, values), 0);
    sn_kcca_basis basis;
    analysis kcca;
    solve(&ctx, &memory, &s, ridge, floor, m, &basis, &kcca);
    assert_int_equal(kcca.components, m);
    for (int c = 0; c < m; c++) assert_near(kcca.correlation[c], values[n - 1 - c], 1e-6);
    sn_arena_free(&memory);
  }
}

// The linear kernel without a ridge: classical CCA, correlations from (C^T C)^(-1/2) C^T X (X^T X)^(-1/2) by way of the
// eigenvalues of (C^T C)^-1 C^T X (X^T X)^-1 X^T C.
static void test_linear(void **state) {
  sn_context ctx = sn_context_default();
  for (uint64_t seed = 1; seed <= 10; seed++) {
    enum { d = 3 };
    sample s = make_sample(30, d, 4, 0.5, 0, seed);
    sn_arena memory = sn_arena_new(&ctx);
    double c[most][d], cc[d * d] = {0}, xx[16] = {0}, cx[d * 4] = {0}, left[d * 4], right[4 * d], product[d * d];
    for (int n = 0; n < d; n++) {
      double mean = 0;
      for (int f = 0; f < s.frames; f++) mean += s.c[f][n] / s.frames;
      for (int f = 0; f < s.frames; f++) c[f][n] = s.c[f][n] - mean;
    }
    for (int f = 0; f < s.frames; f++) {
      for (int i = 0; i < d; i++)
        for (int j = 0; j < d; j++) cc[i * d + j] += c[f][i] * c[f][j];
      for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) xx[i * 4 + j] += s.x[f][i] * s.x[f][j];
      for (int i = 0; i < d; i++)
        for (int j = 0; j < 4; j++) cx[i * 4 + j] += c[f][i] * s.x[f][j];
    }
    int pivots[4];
    memcpy(left, cx, sizeof left);
    for (int i = 0; i < d; i++)
      for (int j = 0; j < 4; j++) right[j * d + i] = cx[i * 4 + j];
    assert_int_equal(LAPACKE_dgesv(LAPACK_ROW_MAJOR, d, 4, cc, d, pivots, left, 4), 0);
    assert_int_equal(LAPACKE_dgesv(LAPACK_ROW_MAJOR, 4, d, xx, 4, pivots, right, d), 0);
    for (int i = 0; i < d; i++)
      for (int j = 0; j < d; j++) {
        product[i * d + j] = 0;
        for (int l = 0; l < 4; l++) product[i * d + j] += left[i * 4 + l] * right[l * d + j];
      }
    double real[d], imaginary[d];
    assert_int_equal(LAPACKE_dgeev(LAPACK_ROW_MAJOR, 'N', 'N', d, product, d, real, imaginary, NULL, d, NULL, d), 0);
    sn_kcca_basis basis;
    analysis kcca;
    solve(&ctx, &memory, &s, 0, 0, 4, &basis, &kcca);
    assert_int_equal(basis.rank, d);
    assert_int_equal(kcca.components, d);
    for (int k = 0; k < d; k++) {
      double nearest = INFINITY;
      for (int l = 0; l < d; l++) nearest = fmin(nearest, fabs(kcca.correlation[k] - sqrt(fmax(real[l], 0))));
      assert_below(nearest, 1e-9);
    }
    sn_arena_free(&memory);
  }
}

// The constraints of the problem hold, coefficients sum to zero, and projecting the training inputs gives C_r.
static void test_normalisation(void **state) {
  sn_context ctx = sn_context_default();
  sample s = make_sample(20, 4, 4, 0.2, 6, 3);
  sn_arena memory = sn_arena_new(&ctx);
  sn_kcca_basis basis;
  analysis kcca;
  double ridge = 0.1, k[most * most];
  int p = s.frames;
  centred(&s, k);
  solve(&ctx, &memory, &s, ridge, 1e-3, 3, &basis, &kcca);
  assert_int_equal(kcca.components, 3);
  for (int a = 0; a < 3; a++) {
    const double *f = kcca.f + a * p;
    double sum = 0, kf[most];
    for (int i = 0; i < p; i++) {
      sum += f[i], kf[i] = 0;
      for (int j = 0; j < p; j++) kf[i] += k[i * p + j] * f[j];
    }
    assert_near(sum, 0, 1e-9);
    for (int b = 0; b < 3; b++) {
      double norm = 0, across = 0;
      for (int i = 0; i < p; i++) norm += kf[i] * kcca.c[b * p + i] + ridge * kf[i] * kcca.f[b * p + i];
      for (int i = 0; i < p; i++) across += kf[i] * kcca.q[b * p + i];
      assert_near(norm, a == b, 1e-9);
      assert_near(across, a == b ? kcca.correlation[a] : 0, 1e-9);
    }
    for (int i = 0; i < p; i++) {
      double projected = 0;
      for (int j = 0; j < p; j++) projected += f[j] * (s.kernel[i * p + j] - basis.mean[j]);
      assert_near(projected, kcca.c[a * p + i], 1e-9);
    }
  }
  sn_arena_free(&memory);
}

static void test_degenerate(void **state) {
  sn_context ctx = sn_context_default();
  sn_arena memory = sn_arena_new(&ctx);
  sn_kcca_basis basis;
  analysis kcca;
  sample one = make_sample(1, 3, 4, 0, 4, 1);
  solve(&ctx, &memory, &one, 0.1, 1e-6, 4, &basis, &kcca);
  assert_int_equal(kcca.components, 0);
  sample same = make_sample(6, 3, 4, 0.2, 4, 2); // all inputs equal: nothing to learn from
  for (int n = 0; n < 36; n++) same.kernel[n] = 1;
  solve(&ctx, &memory, &same, 0.1, 1e-6, 4, &basis, &kcca);
  assert_int_equal(kcca.components, 0);
  sample still = make_sample(6, 3, 4, 0.2, 4, 2); // outputs that never change
  memset(still.x, 0, sizeof still.x);
  solve(&ctx, &memory, &still, 0.1, 1e-6, 4, &basis, &kcca);
  assert_int_equal(kcca.components, 0);
  solve(&ctx, &memory, &still, 0.1, 0, 4, &basis, &kcca);
  assert_int_equal(kcca.components, 0);
  sample twice = make_sample(8, 3, 4, 0.2, 4, 5); // frames 0 and 1 coincide
  for (int n = 0; n < 8; n++) twice.kernel[8 + n] = twice.kernel[n];
  for (int n = 0; n < 8; n++) twice.kernel[8 * n + 1] = twice.kernel[8 * n];
  solve(&ctx, &memory, &twice, 0.01, 1e-6, 4, &basis, &kcca);
  assert_int_equal(basis.rank, 6);
  for (int c = 0; c < kcca.components; c++) {
    assert_true(isfinite(kcca.correlation[c]));
    assert_near(kcca.c[c * 8], kcca.c[c * 8 + 1], 1e-9);
  }
  sn_arena_free(&memory);
}

static void test_no_memory(void **state) {
  sample made = make_sample(10, 3, 4, 0.2, 4, 5);
  for (starvation s = {0}; starve(&s);) {
    sn_arena memory = sn_arena_new(&s.ctx);
    sn_kcca_basis basis;
    s.status = sn_kcca_basis_make(&s.ctx, &memory, made.frames, made.kernel, &basis);
    sn_arena_free(&memory);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_generalised_eigenvalues),
    cmocka_unit_test(test_linear),
    cmocka_unit_test(test_normalisation),
    cmocka_unit_test(test_degenerate),
    cmocka_unit_test(test_no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
