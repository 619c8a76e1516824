// SPDX-License-Identifier: MIT
// Sparse Cholesky factorisation (CXSparse): factored once, solved for many right-hand sides.
#ifndef SINEW_SOLVE_CHOLESKY_H
#define SINEW_SOLVE_CHOLESKY_H

#include "sinew/base.h"

typedef struct sn_triplet {
  int row, column; // row <= column: the upper triangle is enough, repeated entries are added
  double value;
} sn_triplet;

typedef struct sn_cholesky {
  int n;
  void *symbolic, *numeric; // of CXSparse
} sn_cholesky;

// Factors the symmetric positive definite matrix with these entries. SN_NOT_CONVERGED if it is not definite.
sn_status sn_cholesky_factor(sn_context *ctx, int n, const sn_triplet *entries, int64_t count, sn_cholesky *out);
// x <- A^-1 x; `work` has n numbers. May be called from several threads at once.
void sn_cholesky_solve(const sn_cholesky *factor, double *x, double *work);
void sn_cholesky_free(sn_cholesky *factor);

#endif
