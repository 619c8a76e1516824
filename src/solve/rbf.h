// SPDX-License-Identifier: MIT
// Scattered-data interpolation with radial basis functions (Murtagh 2008, 2.3.2), for any number of
// right-hand sides at once: what is solved for are cardinal functions, one per centre, 1 there and 0 at the others.
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
  SN_RBF_LINEAR,         // coefficients of the kernels at right angles to the polynomials: [Phi A; A^T 0]
  SN_RBF_LINEAR_TWO_STEP // a least-squares hyperplane, then the kernels for what it leaves (Shape by Example)
} sn_rbf_linear;

// Centres that lie in a subspace, or are too few for a hyperplane, are fine: the slope is the smallest that will do, and
// the cardinal functions still sum to one.
typedef struct sn_rbf {
  sn_rbf_kernel kernel;
  sn_rbf_linear linear;
  int count, dims, terms;
  const double *centres; // count * dims, the caller's
  const double *widths;  // count, the caller's
  double *mix;           // count * terms
  sn_arena memory;
} sn_rbf;

// Solves for the cardinal functions: fills terms, mix and memory of *rbf, whose other fields are the problem (`linear` becomes what
// the kernel takes). SN_NOT_CONVERGED where the system is singular to working precision (duplicate centres; widths far larger than
// the distances).
sn_status sn_rbf_solve(sn_context *ctx, sn_rbf *rbf);
void sn_rbf_free(sn_rbf *rbf);

double sn_rbf_kernel_value(sn_rbf_kernel kernel, double distance, double width);
void sn_rbf_terms(const sn_rbf *rbf, const double *x, double *terms);
// The values of the `count` cardinal functions at x; room for the terms is the caller's.
void sn_rbf_cardinal(const sn_rbf *rbf, const double *x, double *terms, double *values);

// Sum over all centres k of the squared error at centre k of the interpolant through the other centres, for data with
// gram[a * count + b] = sum of f_a f_b over the right-hand sides: in closed form, (c_k / (M^-1)_kk)^2, but for the
// two-step form and Shepard, which are fitted anew without each centre.
sn_status sn_rbf_leave_one_out(sn_context *ctx, const sn_rbf *rbf, const double *gram, double *error);
// The same by fitting anew, whatever the form: the check of the closed form.
sn_status sn_rbf_leave_one_out_refit(sn_context *ctx, const sn_rbf *rbf, const double *gram, double *error);

// Distance from each centre to the nearest other one (1 where there is no other).
void sn_rbf_nearest(int count, int dims, const double *centres, double *out);

// How much larger than the data the coefficients of the terms can be: max_t sum_k |mix[k][t]|.
double sn_rbf_amplification(const sn_rbf *rbf);

// widths[k] times the factor, of a fixed ladder, with the least leave-one-out error among those that do not amplify by more than
// `most_amplified` (INFINITY: any); SN_NOT_CONVERGED where none works. `problem`: as for sn_rbf_solve, without widths.
sn_status sn_rbf_choose_widths(sn_context *ctx, const sn_rbf *problem, const double *gram, double most_amplified,
                               double *widths);

#endif
