// SPDX-License-Identifier: MIT
// Scattered-data interpolation with radial basis functions (Murtagh 2008, 2.3.2), for any number of right-hand sides at
// once: solves for cardinal functions, one per centre, 1 there and 0 at the others.
//
//     terms(x) = kernels of the distances to the centres [, 1, x_1 ... x_dims]
//     value of cardinal function k at x = sum_t mix[k][t] terms[t]
//     interpolant of data f = sum_k f_k * cardinal k = sum_t c_t terms[t], c = mix^T f
#ifndef SINEW_SOLVE_RBF_H
#define SINEW_SOLVE_RBF_H

#include "sinew/base.h"
#include "sinew/math.h"

typedef enum sn_rbf_linear {
  SN_RBF_NO_LINEAR,
  SN_RBF_LINEAR,         // kernel coefficients orthogonal to the polynomials: [Phi A; A^T 0]
  SN_RBF_LINEAR_TWO_STEP // a least-squares hyperplane, then the kernels for its residual (Shape by Example)
} sn_rbf_linear;

// Centres may lie in a subspace or be too few for a hyperplane: the slope is then the one of minimum norm, and the cardinal
// functions still sum to one.
typedef struct sn_rbf {
  sn_rbf_kernel kernel;
  sn_rbf_linear linear;
  int count, dims, terms;
  const double *centres; // count * dims, the caller's
  const double *widths;  // count, the caller's
  double *mix;           // count * terms
  sn_arena memory;
} sn_rbf;

// Solves for the cardinal functions: fills terms, mix and memory of *rbf, whose other fields are the problem (`linear` is adjusted
// to the kernel). SN_NOT_CONVERGED if the system is singular to working precision (duplicate centres; widths far larger than the
// distances).
sn_status sn_rbf_solve(sn_context *ctx, sn_rbf *rbf);
void sn_rbf_free(sn_rbf *rbf);

double sn_rbf_kernel_value(sn_rbf_kernel kernel, double distance, double width);
void sn_rbf_terms(const sn_rbf *rbf, const double *x, double *terms);
// The values of the `count` cardinal functions at x; `terms` is scratch memory.
void sn_rbf_cardinal(const sn_rbf *rbf, const double *x, double *terms, double *values);

// Sum over all centres k of the squared error at centre k of the interpolant through the other centres, for data with
// gram[a * count + b] = sum of f_a f_b over the right-hand sides: in closed form, (c_k / (M^-1)_kk)^2, except the two-step
// form and Shepard, which are refitted without each centre.
sn_status sn_rbf_leave_one_out(sn_context *ctx, const sn_rbf *rbf, const double *gram, double *error);
// The same by refitting, for any form: checks the closed form.
sn_status sn_rbf_leave_one_out_refit(sn_context *ctx, const sn_rbf *rbf, const double *gram, double *error);

// Distance from each centre to the nearest other one (1 if there is no other).
void sn_rbf_nearest(int count, int dims, const double *centres, double *out);

// Bound of the terms' coefficients relative to the data: max_t sum_k |mix[k][t]|.
double sn_rbf_amplification(const sn_rbf *rbf);

// Scales widths[k] by the factor, of a fixed sequence, with the least leave-one-out error among those that amplify by at most
// `most_amplified` (INFINITY: any); SN_NOT_CONVERGED if none works. `problem`: as for sn_rbf_solve, without widths.
sn_status sn_rbf_choose_widths(sn_context *ctx, const sn_rbf *problem, const double *gram, double most_amplified,
                               double *widths);

#endif
