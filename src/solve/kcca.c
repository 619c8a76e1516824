// SPDX-License-Identifier: MIT
// Kernel canonical correlation analysis (Kim 2010, appendix): F_c is Q forward^T, its kappa columns those of `most`.
#include "solve/kcca.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "solve/lapack.h"
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
  memcpy(vectors, kernel, n * n * sizeof *vectors);
  centre_kernel(frames, vectors, out->mean);
  sn_status status = sn_lapack_syevd(ctx, 'U', frames, vectors, values);
  if (status == SN_NO_MEMORY) return status;
  if (status != SN_OK)
    return sn_fail(ctx, SN_NOT_CONVERGED, "the eigenvalues of the kernel matrix of %d frames were not found", frames);
  double least = 1e-10 * values[n - 1];
  for (int k = frames - 1; k >= 0 && values[k] > least && values[k] > 0; k--) {
    for (size_t f = 0; f < n; f++) out->vectors[(size_t)out->rank * n + f] = vectors[f * n + (size_t)k];
    out->values[out->rank++] = values[k];
  }
  return SN_OK;
}

void sn_kcca_project(const sn_kcca_basis *basis, const double *x, int columns, double *out) {
  if (basis->rank == 0) return;
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, basis->rank, columns, basis->frames, 1, basis->vectors,
              basis->frames, x, columns, 0, out, columns);
}

// ---- the output side ----------------------------------------------------------------------------------------------------

typedef double small_matrix[SN_KCCA_OUTPUTS][SN_KCCA_OUTPUTS];

// Eigenvalues, ascending, and eigenvectors, as rows, of the symmetric matrix a (its upper triangle by rows).
static bool small_eigen(int m, small_matrix a, double values[SN_KCCA_OUTPUTS]) {
  double work[8 * SN_KCCA_OUTPUTS];
  return LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'V', 'L', m, &a[0][0], SN_KCCA_OUTPUTS, values, work,
                            8 * SN_KCCA_OUTPUTS) == 0;
}

// (X^T X + floor I)^(-1/2), m x m. With floor 0, directions without variance get 0.
static bool inverse_root(const double *gram, int m, int stride, double floor, small_matrix out) {
  small_matrix a;
  double values[SN_KCCA_OUTPUTS];
  for (int p = 0; p < m; p++)
    for (int q = p; q < m; q++) a[p][q] = gram[(size_t)p * (size_t)stride + (size_t)q] + (p == q ? floor : 0);
  if (!small_eigen(m, a, values)) return false;
  for (int p = 0; p < m; p++)
    for (int q = 0; q < m; q++) {
      out[p][q] = 0;
      for (int k = 0; k < m; k++)
        if (values[k] > 1e-14 * values[m - 1] && values[k] > 0) out[p][q] += a[k][p] * a[k][q] / sqrt(values[k]);
    }
  return true;
}

// The singular values and right-hand vectors of T = diag(sqrt(lambda / (lambda + ridge))) Q^T X root come from T^T T
// (m x m). Correlations below 1e-4 are dropped as rounding errors of directions with no variance but the floor.
void sn_kcca_solve(const sn_kcca_basis *basis, const sn_kcca_outputs *x, double ridge, int most, sn_kcca *out) {
  int m = x->m, stride = x->stride;
  const double *y = x->y;
  small_matrix root, inner = {{0}}, square;
  double values[SN_KCCA_OUTPUTS];
  out->components = 0;
  if (basis->rank == 0 || !inverse_root(x->gram, m, stride, x->floor, root)) return;
  for (int r = 0; r < basis->rank; r++) {
    const double *row = y + (size_t)r * (size_t)stride;
    double scale = basis->values[r] / (basis->values[r] + ridge);
    for (int p = 0; p < m; p++)
      for (int q = p; q < m; q++) inner[p][q] += scale * row[p] * row[q];
  }
  for (int p = 0; p < m; p++) { // square = root inner root
    double half[SN_KCCA_OUTPUTS];
    for (int q = 0; q < m; q++) {
      half[q] = 0;
      for (int k = 0; k < m; k++) half[q] += root[p][k] * (k <= q ? inner[k][q] : inner[q][k]);
    }
    for (int q = 0; q < m; q++) {
      square[p][q] = 0;
      for (int k = 0; k < m; k++) square[p][q] += half[k] * root[k][q];
    }
  }
  if (!small_eigen(m, square, values)) return;
  for (int k = m - 1; k >= 0 && out->components < most && values[k] > 1e-8; k--) {
    int at = out->components++;
    double s = sqrt(values[k]), *forward = out->forward + (size_t)at * (size_t)basis->rank, *g = out->g[at];
    out->correlation[at] = s;
    for (int p = 0; p < m; p++) {
      g[p] = 0;
      for (int l = 0; l < m; l++) g[p] += root[p][l] * square[k][l];
    }
    for (int r = 0; r < basis->rank; r++) { // u / sqrt(lambda^2 + ridge lambda)
      const double *row = y + (size_t)r * (size_t)stride;
      double sum = 0;
      for (int p = 0; p < m; p++) sum += row[p] * g[p];
      forward[r] = sum / (s * (basis->values[r] + ridge));
    }
  }
}
