// SPDX-License-Identifier: MIT
// LAPACK on row-major matrices.
#include "base/scope.h"
#include "solve/lapack.h"

#include <cblas.h>
#include <math.h>
#include <pthread.h>
#include <sys/mman.h>

#include <lapacke.h>

static pthread_mutex_t scope_mutex = PTHREAD_MUTEX_INITIALIZER;
static int scopes, threads_before; // open scopes; OpenBLAS's thread count before the first

int sn_blas_enter(void) {
  pthread_mutex_lock(&scope_mutex);
  if (scopes++ == 0 && (threads_before = openblas_get_num_threads()) != 1) openblas_set_num_threads(1);
  pthread_mutex_unlock(&scope_mutex);
  return 1;
}

void sn_blas_leave(const int *scope) {
  (void)scope;
  pthread_mutex_lock(&scope_mutex);
  if (--scopes == 0 && threads_before != 1) openblas_set_num_threads(threads_before);
  pthread_mutex_unlock(&scope_mutex);
}

static bool all_finite(const double *values, size_t count) {
  for (size_t k = 0; k < count; k++)
    if (!isfinite(values[k])) return false;
  return true;
}

sn_status sn_lapack_room(sn_context *ctx) {
  const size_t buffer = (size_t)128 << 20; // of OpenBLAS 0.3.21
  size_t size = buffer * (size_t)sn_threads(ctx);
  void *room = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED)
    return sn_fail(ctx, SN_NO_MEMORY,
                   "out of memory: cannot reserve %zu MB of addresses for the buffers of %d threads", size >> 20,
                   sn_threads(ctx));
  munmap(room, size);
  return SN_OK;
}

static void transpose_square(int n, double *a) {
  for (size_t r = 0; r < (size_t)n; r++)
    for (size_t c = 0; c < r; c++) {
      double below = a[r * (size_t)n + c];
      a[r * (size_t)n + c] = a[c * (size_t)n + r];
      a[c * (size_t)n + r] = below;
    }
}

// `from` (rows x columns) in column-major order.
static void transpose(int rows, int columns, const double *from, double *to) {
  for (size_t r = 0; r < (size_t)rows; r++)
    for (size_t c = 0; c < (size_t)columns; c++) to[c * (size_t)rows + r] = from[r * (size_t)columns + c];
}

sn_status sn_lapack_posv(sn_context *ctx, char uplo, int n, int columns, double *a, double *b) {
  size_t count = (size_t)n * (size_t)columns;
  if (!all_finite(a, (size_t)n * (size_t)n) || !all_finite(b, count)) return SN_NOT_CONVERGED;
  SN_SCRATCH(scratch, ctx);
  double *transposed = SN_NEW(ctx, &scratch, double, count);
  if (!transposed) return ctx->error.status;
  transpose_square(n, a);
  transpose(n, columns, b, transposed);
  lapack_int info = LAPACKE_dposv_work(LAPACK_COL_MAJOR, uplo, n, columns, a, n, transposed, n);
  transpose(columns, n, transposed, b);
  return info == 0 ? SN_OK : SN_NOT_CONVERGED;
}

sn_status sn_lapack_potrf(sn_context *ctx, int n, double *a) {
  (void)ctx;
  if (!all_finite(a, (size_t)n * (size_t)n)) return SN_NOT_CONVERGED;
  return LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', n, a, n) == 0 ? SN_OK : SN_NOT_CONVERGED; // row-major: lower
}

sn_status sn_lapack_syevd(sn_context *ctx, char uplo, int n, double *a, double *values) {
  double size = 0;
  lapack_int whole_size = 0;
  if (!all_finite(a, (size_t)n * (size_t)n)) return SN_NOT_CONVERGED;
  if (LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', uplo, n, a, n, values, &size, -1, &whole_size, -1) != 0)
    return SN_NOT_CONVERGED;
  SN_SCRATCH(scratch, ctx);
  double *work = SN_NEW(ctx, &scratch, double, size);
  lapack_int *whole = SN_NEW(ctx, &scratch, lapack_int, whole_size);
  if (!work || !whole) return ctx->error.status;
  transpose_square(n, a);
  lapack_int info =
    LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', uplo, n, a, n, values, work, (int)size, whole, whole_size);
  transpose_square(n, a);
  return info == 0 ? SN_OK : SN_NOT_CONVERGED;
}

sn_status sn_lapack_gesvd(sn_context *ctx, const sn_svd *svd) {
  int rows = svd->rows, columns = svd->columns, least = rows < columns ? rows : columns;
  size_t left = (size_t)rows * (size_t)least, right = (size_t)least * (size_t)columns;
  double size = 0;
  if (!all_finite(svd->a, (size_t)rows * (size_t)columns)) return SN_NOT_CONVERGED;
  if (LAPACKE_dgesvd_work(LAPACK_COL_MAJOR, 'S', 'S', rows, columns, svd->a, rows, svd->s, svd->u, rows, svd->vt,
                          least, &size, -1) != 0)
    return SN_NOT_CONVERGED;
  SN_SCRATCH(scratch, ctx);
  double *work = SN_NEW(ctx, &scratch, double, size),
         *transposed = SN_NEW(ctx, &scratch, double, (size_t)rows *(size_t)columns);
  double *transposed_u = SN_NEW(ctx, &scratch, double, left), *transposed_vt = SN_NEW(ctx, &scratch, double, right);
  if (!work || !transposed || !transposed_u || !transposed_vt) return ctx->error.status;
  transpose(rows, columns, svd->a, transposed);
  lapack_int info = LAPACKE_dgesvd_work(LAPACK_COL_MAJOR, 'S', 'S', rows, columns, transposed, rows, svd->s,
                                        transposed_u, rows, transposed_vt, least, work, (int)size);
  transpose(least, rows, transposed_u, svd->u);
  transpose(columns, least, transposed_vt, svd->vt);
  return info == 0 ? SN_OK : SN_NOT_CONVERGED;
}

typedef struct inversion {
  int n, work_size;
  double *a, norm, *rcond, *work;
  lapack_int *whole, *pivots;
} inversion;

static lapack_int invert_definite(const inversion *v) {
  int n = v->n;
  double *a = v->a;
  lapack_int info = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', n, a, n);
  if (info == 0) info = LAPACKE_dpocon_work(LAPACK_COL_MAJOR, 'L', n, a, n, v->norm, v->rcond, v->work, v->whole);
  if (info == 0) info = LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'L', n, a, n);
  for (size_t c = 0; c < (size_t)n; c++)
    for (size_t r = 0; r < c; r++) a[c * (size_t)n + r] = a[r * (size_t)n + c];
  return info;
}

static lapack_int invert_general(const inversion *v) {
  int n = v->n;
  lapack_int info = LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, n, n, v->a, n, v->pivots);
  if (info == 0) info = LAPACKE_dgecon_work(LAPACK_COL_MAJOR, '1', n, v->a, n, v->norm, v->rcond, v->work, v->whole);
  if (info == 0) info = LAPACKE_dgetri_work(LAPACK_COL_MAJOR, n, v->a, n, v->pivots, v->work, v->work_size);
  return info;
}

sn_status sn_lapack_invert(sn_context *ctx, bool definite, int n, double *a, double *rcond) {
  enum { condition_work = 4, blocks = 64 }; // per row: dgecon needs 4 numbers, dgetri is best with a block of columns
  *rcond = 0;
  if (!all_finite(a, (size_t)n * (size_t)n)) return SN_NOT_CONVERGED;
  _Static_assert(blocks >= condition_work, "work for the condition number");
  SN_SCRATCH(scratch, ctx);
  inversion v = {.n = n, .work_size = blocks * n, .a = a, .rcond = rcond};
  v.work = SN_NEW(ctx, &scratch, double, v.work_size);
  v.whole = SN_NEW(ctx, &scratch, lapack_int, n), v.pivots = SN_NEW(ctx, &scratch, lapack_int, n);
  if (!v.work || !v.whole || !v.pivots) return ctx->error.status;
  transpose_square(n, a);
  v.norm = LAPACKE_dlange_work(LAPACK_COL_MAJOR, '1', n, n, a, n, v.work);
  lapack_int info = (definite ? invert_definite : invert_general)(&v);
  transpose_square(n, a);
  return info == 0 ? SN_OK : SN_NOT_CONVERGED;
}
