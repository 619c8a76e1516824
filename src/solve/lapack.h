// SPDX-License-Identifier: MIT
// LAPACK on row-major matrices, with memory of the context: LAPACKE allocates by itself and reports failures like numerical ones.
//
// All return SN_OK, SN_NO_MEMORY (with ctx->error set), or SN_NOT_CONVERGED, for which the caller writes the message.
#ifndef SINEW_SOLVE_LAPACK_H
#define SINEW_SOLVE_LAPACK_H

#include "sinew/base.h"

// Restricts OpenBLAS to the calling thread until the enclosing function returns: our loops are parallel, and sums must not depend
// on the number of threads. Restores the program's setting afterwards. Debian's serial variant has no locks: do not use it.
#define SN_BLAS_SCOPE __attribute__((cleanup(sn_blas_leave))) int blas_scope = sn_blas_enter()
int sn_blas_enter(void);
void sn_blas_leave(const int *scope);

// OpenBLAS hangs if it cannot allocate its buffers, one per thread: checks that there is memory for them. Call before work
// begins.
sn_status sn_lapack_room(sn_context *ctx);

// b <- a^-1 b for a symmetric positive definite a (n x n, of which the triangle `uplo` is used, and overwritten); b has n
// rows of `columns`.
sn_status sn_lapack_posv(sn_context *ctx, char uplo, int n, int columns, double *a, double *b);

// a <- L, lower, with L L^T = a (n x n, symmetric positive definite); the upper triangle is not changed.
sn_status sn_lapack_potrf(sn_context *ctx, int n, double *a);

// Eigenvalues, ascending, of the symmetric a (n x n, its triangle `uplo`), and its eigenvectors as the columns of a.
sn_status sn_lapack_syevd(sn_context *ctx, char uplo, int n, double *a, double *values);

// a = u diag(s) vt, a of rows x columns (overwritten), s of the smaller of both, u of rows x smaller, vt smaller x columns.
typedef struct sn_svd {
  int rows, columns;
  double *a, *s, *u, *vt;
} sn_svd;
sn_status sn_lapack_gesvd(sn_context *ctx, const sn_svd *svd);

// a <- a^-1 (n x n) and the reciprocal of its condition number in the 1-norm. Definite: symmetric, by Cholesky.
sn_status sn_lapack_invert(sn_context *ctx, bool definite, int n, double *a, double *rcond);

#endif
