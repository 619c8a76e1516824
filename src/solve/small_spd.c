// SPDX-License-Identifier: MIT
// Small symmetric positive definite systems, in place.
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
