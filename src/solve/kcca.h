// SPDX-License-Identifier: MIT
// Kernel canonical correlation analysis with regularisation (Kim 2010, appendix; f is its f_c, g maps E to the reduced q_r).
//
//   maximise  f^T K X g   subject to   f^T (K^2 + ridge K) f = 1,   g^T (X^T X + floor I) g = 1
//
// K is the kernel matrix of P training inputs, X the P x m matrix of outputs, both centred. Everything is done in the
// eigenvectors of K = Q diag(values) Q^T: X enters by Q^T X and X^T X, and f = Q forward.
#ifndef SINEW_SOLVE_KCCA_H
#define SINEW_SOLVE_KCCA_H

#include "sinew/base.h"

enum { SN_KCCA_OUTPUTS = 13 }; // maximum columns of X

// The centred kernel matrix. One basis serves any number of outputs.
typedef struct sn_kcca_basis {
  int frames, rank;
  double *vectors; // rank rows of `frames`: Q^T
  double *values;  // rank, descending, all above 1e-10 of the largest
  double *mean;    // frames: K0 1 / P, with K0 the matrix before centring
} sn_kcca_basis;

// `kernel` is P x P, symmetric, not centred. Fails if the eigenvalues do not converge.
sn_status sn_kcca_basis_make(sn_context *ctx, sn_arena *memory, int frames, const double *kernel, sn_kcca_basis *out);

// out = Q^T x: rank rows of `columns`, from the frames' rows of x.
void sn_kcca_project(const sn_kcca_basis *basis, const double *x, int columns, double *out);

// Directions, one row per component.
typedef struct sn_kcca {
  int components;
  double correlation[SN_KCCA_OUTPUTS];
  double
    *forward; // the caller's, SN_KCCA_OUTPUTS rows of rank columns: F_c^T Q, so that c_r = forward Q^T (xi - mean)
  double g[SN_KCCA_OUTPUTS][SN_KCCA_OUTPUTS]; // m columns: G^T
} sn_kcca;

// Centred outputs X.
typedef struct sn_kcca_outputs {
  int m, stride;          // columns, at most SN_KCCA_OUTPUTS; numbers from row to row
  const double *y, *gram; // Q^T X, X^T X
  double floor;
} sn_kcca_outputs;

// At most the first `most` components. Directions without correlation are dropped.
void sn_kcca_solve(const sn_kcca_basis *basis, const sn_kcca_outputs *x, double ridge, int most, sn_kcca *out);

#endif
