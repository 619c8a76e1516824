// SPDX-License-Identifier: MIT
// Small symmetric positive definite systems, in place; moments of a linear regression: rows in, coefficients and residual out.
#include <math.h>

#include "solve/solve.h"

void sn_spd_solve(int n, int stride, double *a, int columns, double *b) {
  for (int j = 0; j < n; j++) {
    double *row = a + j * stride;
    for (int k = 0; k < j; k++) row[j] -= row[k] * row[k];
    row[j] = sqrt(fmax(row[j], 1e-300));
    for (int i = j + 1; i < n; i++) {
      double *below = a + i * stride;
      for (int k = 0; k < j; k++) below[j] -= below[k] * row[k];
      below[j] /= row[j];
    }
  }
  for (int c = 0; c < columns; c++) {
    for (int i = 0; i < n; i++) {
      for (int k = 0; k < i; k++) b[i * columns + c] -= a[i * stride + k] * b[k * columns + c];
      b[i * columns + c] /= a[i * stride + i];
    }
    for (int i = n - 1; i >= 0; i--) {
      for (int k = i + 1; k < n; k++) b[i * columns + c] -= a[k * stride + i] * b[k * columns + c];
      b[i * columns + c] /= a[i * stride + i];
    }
  }
}

void sn_moments_row(sn_moments *m, int n, const double *row, double y) {
  for (int k = 0; k < n; k++) {
    for (int l = 0; l <= k; l++) m->a[k][l] += row[k] * row[l];
    m->b[k] += row[k] * y;
  }
  m->c += y * y, m->rows++;
}

void sn_moments_add(sn_moments *to, int n, const sn_moments *m) {
  for (int k = 0; k < n; k++) {
    for (int l = 0; l <= k; l++) to->a[k][l] += m->a[k][l];
    to->b[k] += m->b[k];
  }
  to->c += m->c, to->rows += m->rows;
}

void sn_moments_solve(const sn_moments *m, int n, double ridge, double *x) {
  sn_moments copy = *m;
  for (int k = 0; k < n; k++) x[k] = isinf(ridge) ? 0 : m->b[k], copy.a[k][k] += ridge;
  if (!isinf(ridge)) sn_spd_solve(n, SN_MOMENTS_MAX, copy.a[0], 1, x);
}

double sn_moments_left(const sn_moments *m, int n, const double *x) {
  double sum = m->c;
  for (int k = 0; k < n; k++) {
    double row = 0.5 * m->a[k][k] * x[k];
    for (int l = 0; l < k; l++) row += m->a[k][l] * x[l];
    sum += 2 * x[k] * (row - m->b[k]);
  }
  return fmax(sum, 0);
}
