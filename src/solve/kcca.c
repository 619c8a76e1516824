// SPDX-License-Identifier: MIT
#include "solve/kcca.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "solve/solve.h"

// ---- the kernel side --------------------------------------------------------------------------------------------------

// K <- H K H with H = I - 11^T / P; `mean` gets K 1 / P.
static void centre_kernel(int n, double *k, double *mean) {
  double grand = 0;
  for (int a = 0; a < n; a++) {
    mean[a] = 0;
    for (int b = 0; b < n; b++) mean[a] += k[(size_t)a * (size_t)n + (size_t)b] / n;
    grand += mean[a] / n;
  }
  for (int a = 0; a < n; a++)
    for (int b = 0; b < n; b++) k[(size_t)a * (size_t)n + (size_t)b] += grand - mean[a] - mean[b];
}

sn_status sn_kcca_basis_make(sn_context *ctx, sn_arena *memory, int frames, const double *kernel,
                             sn_kcca_basis *out) {
  size_t n = (size_t)frames;
  *out = (sn_kcca_basis){.frames = frames};
  double *vectors = SN_NEW(ctx, memory, double, n *n), *values = SN_NEW(ctx, memory, double, n);
  out->vectors = SN_NEW(ctx, memory, double, n *n), out->values = SN_NEW(ctx, memory, double, n);
  out->mean = SN_NEW(ctx, memory, double, n);
  if (!vectors || !values || !out->vectors || !out->values || !out->mean) return ctx->error.status;
  sn_blas_serial();
  memcpy(vectors, kernel, n * n * sizeof *vectors);
  centre_kernel(frames, vectors, out->mean);
  // Column-major, so that eigenvector k is the k-th run of n numbers; ascending.
  if (LAPACKE_dsyev(LAPACK_COL_MAJOR, 'V', 'U', frames, vectors, frames, values) != 0) {
    return sn_fail(ctx, SN_NOT_CONVERGED, "the eigenvalues of the kernel matrix of %d frames were not found", frames);
  }
  double least = 1e-10 * values[n - 1];
  for (int k = frames - 1; k >= 0 && values[k] > least && values[k] > 0; k--) {
    memcpy(out->vectors + (size_t)out->rank * n, vectors + (size_t)k * n, n * sizeof *vectors);
    out->values[out->rank++] = values[k];
  }
  return SN_OK;
}

// ---- the output side ----------------------------------------------------------------------------------------------------

sn_status sn_kcca_new(sn_context *ctx, sn_arena *memory, int frames, sn_kcca *out) {
  size_t n = (size_t)frames, m = SN_KCCA_OUTPUTS;
  *out = (sn_kcca){0};
  out->f = SN_NEW(ctx, memory, double, m *n), out->g = SN_NEW(ctx, memory, double, m *m);
  out->c = SN_NEW(ctx, memory, double, m *n), out->q = SN_NEW(ctx, memory, double, m *n);
  out->work = SN_NEW(ctx, memory, double, 3 * m * n + 64 * m + 8 * n);
  return out->f && out->g && out->c && out->q && out->work ? SN_OK : ctx->error.status;
}

// (X^T X + floor I)^(-1/2), m x m. Directions that a zero floor leaves without variance get 0.
static bool inverse_root(const double *x, int frames, int m, int stride, double floor, double *out) {
  double a[SN_KCCA_OUTPUTS * SN_KCCA_OUTPUTS] = {0}, values[SN_KCCA_OUTPUTS], work[4 * SN_KCCA_OUTPUTS];
  for (int f = 0; f < frames; f++)
    for (int p = 0; p < m; p++)
      for (int q = 0; q <= p; q++)
        a[p * m + q] += x[(size_t)f * (size_t)stride + (size_t)p] * x[(size_t)f * (size_t)stride + (size_t)q];
  for (int p = 0; p < m; p++) {
    a[p * m + p] += floor;
    for (int q = 0; q < p; q++) a[q * m + p] = a[p * m + q];
  }
  if (LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'V', 'U', m, a, m, values, work, 4 * SN_KCCA_OUTPUTS) != 0) return false;
  for (int p = 0; p < m; p++)
    for (int q = 0; q < m; q++) {
      double sum = 0;
      for (int k = 0; k < m; k++) {
        if (values[k] > 1e-14 * values[m - 1] && values[k] > 0) sum += a[k * m + p] * a[k * m + q] / sqrt(values[k]);
      }
      out[p * m + q] = sum;
    }
  return true;
}

// T = diag(sqrt(lambda / (lambda + ridge))) Q^T X root, r x m, column-major; `white` = X root, frames x m row-major.
static void whitened_cross(const sn_kcca_basis *b, const double *x, int m, int stride, const double *root,
                           double ridge, double *white, double *t) {
  for (int f = 0; f < b->frames; f++)
    for (int p = 0; p < m; p++) {
      double sum = 0;
      for (int q = 0; q < m; q++) sum += x[(size_t)f * (size_t)stride + (size_t)q] * root[q * m + p];
      white[(size_t)f * (size_t)m + (size_t)p] = sum;
    }
  for (int k = 0; k < b->rank; k++) {
    double sum[SN_KCCA_OUTPUTS] = {0}, scale = sqrt(b->values[k] / (b->values[k] + ridge));
    const double *vector = b->vectors + (size_t)k * (size_t)b->frames;
    for (int f = 0; f < b->frames; f++)
      for (int p = 0; p < m; p++) sum[p] += vector[f] * white[(size_t)f * (size_t)m + (size_t)p];
    for (int p = 0; p < m; p++) t[(size_t)p * (size_t)b->rank + (size_t)k] = scale * sum[p];
  }
}

// Row `k` of F_c^T, G^T, C_r and Q_r from the singular vectors u (rank numbers) and v (m numbers, `step` apart).
static void store_component(const sn_kcca_basis *b, const double *white, const double *root, int m, double ridge,
                            const double *u, const double *v, int step, int k, sn_kcca *out) {
  double *f = out->f + (size_t)k * (size_t)b->frames, *c = out->c + (size_t)k * (size_t)b->frames;
  double *q = out->q + (size_t)k * (size_t)b->frames, *g = out->g + (size_t)k * (size_t)m;
  memset(f, 0, (size_t)b->frames * sizeof *f), memset(c, 0, (size_t)b->frames * sizeof *c);
  for (int r = 0; r < b->rank; r++) {
    const double *vector = b->vectors + (size_t)r * (size_t)b->frames;
    double value = b->values[r], forward = u[r] / sqrt(value * value + ridge * value), reduced = forward * value;
    for (int n = 0; n < b->frames; n++) f[n] += forward * vector[n], c[n] += reduced * vector[n];
  }
  for (int n = 0; n < b->frames; n++) {
    q[n] = 0;
    for (int p = 0; p < m; p++) q[n] += white[(size_t)n * (size_t)m + (size_t)p] * v[p * step];
  }
  for (int p = 0; p < m; p++) {
    g[p] = 0;
    for (int l = 0; l < m; l++) g[p] += root[p * m + l] * v[l * step];
  }
}

void sn_kcca_solve(const sn_kcca_basis *basis, const double *x, int m, int stride, double ridge, double floor,
                   int most, sn_kcca *out) {
  double root[SN_KCCA_OUTPUTS * SN_KCCA_OUTPUTS], v[SN_KCCA_OUTPUTS * SN_KCCA_OUTPUTS], s[SN_KCCA_OUTPUTS];
  int rank = basis->rank, least = rank < m ? rank : m;
  size_t frames = (size_t)basis->frames, room = SN_KCCA_OUTPUTS * frames;
  double *white = out->work, *t = white + room, *u = t + room, *work = u + room;
  int work_size = 64 * SN_KCCA_OUTPUTS + 8 * basis->frames;
  out->components = 0;
  if (least == 0 || !inverse_root(x, basis->frames, m, stride, floor, root)) return;
  whitened_cross(basis, x, m, stride, root, ridge, white, t);
  if (LAPACKE_dgesvd_work(LAPACK_COL_MAJOR, 'S', 'S', rank, m, t, rank, s, u, rank, v, least, work, work_size) != 0) {
    return;
  }
  for (int k = 0; k < least && k < most && s[k] > 1e-7; k++) { // v holds V^T, column-major: v_k is its row k
    store_component(basis, white, root, m, ridge, u + (size_t)k * (size_t)rank, v + k, least, k, out);
    out->correlation[out->components++] = s[k];
  }
}
