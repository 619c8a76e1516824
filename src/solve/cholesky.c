// SPDX-License-Identifier: MIT
// Sparse Cholesky factorisation through CXSparse.
#include "solve/cholesky.h"

#include <cs.h>
#include <errno.h>

static cs_di *upper_triangle(int n, const sn_triplet *entries, int64_t count) {
  cs_di *list = cs_di_spalloc(n, n, (int)count, 1, 1);
  if (!list) return NULL;
  for (int64_t k = 0; k < count; k++)
    list->i[k] = entries[k].row, list->p[k] = entries[k].column, list->x[k] = entries[k].value;
  list->nz = (int)count;
  cs_di *packed = cs_di_compress(list);
  cs_di_spfree(list);
  if (packed && !cs_di_dupl(packed)) packed = cs_di_spfree(packed);
  return packed;
}

sn_status sn_cholesky_factor(sn_context *ctx, int n, const sn_triplet *entries, int64_t count, sn_cholesky *out) {
  *out = (sn_cholesky){.n = n};
  if (count > INT32_MAX) return sn_fail(ctx, SN_BAD_INPUT, "a sparse matrix of %lld entries", (long long)count);
  cs_di *a = upper_triangle(n, entries, count);
  if (!a) return sn_fail(ctx, SN_NO_MEMORY, "out of memory for a sparse matrix of %d rows", n);
  errno = 0; // CXSparse returns NULL without memory and for a matrix that is not definite: malloc tells them apart
  out->symbolic = cs_di_schol(1, a);
  if (out->symbolic) out->numeric = cs_di_chol(a, out->symbolic);
  bool starved = !out->symbolic || errno == ENOMEM;
  cs_di_spfree(a);
  if (out->numeric) return SN_OK;
  sn_cholesky_free(out);
  if (starved) return sn_fail(ctx, SN_NO_MEMORY, "out of memory for a sparse matrix of %d rows", n);
  return sn_fail(ctx, SN_NOT_CONVERGED, "a sparse matrix of %d rows is not positive definite", n);
}

void sn_cholesky_solve(const sn_cholesky *factor, double *x, double *work) {
  const cs_dis *symbolic = factor->symbolic;
  const cs_din *numeric = factor->numeric;
  cs_di_ipvec(symbolic->pinv, x, work, factor->n);
  cs_di_lsolve(numeric->L, work);
  cs_di_ltsolve(numeric->L, work);
  cs_di_pvec(symbolic->pinv, work, x, factor->n);
}

void sn_cholesky_free(sn_cholesky *factor) {
  cs_di_sfree(factor->symbolic);
  cs_di_nfree(factor->numeric);
  *factor = (sn_cholesky){0};
}
