// SPDX-License-Identifier: MIT
// The rotational model of one joint (3.2): rho~ = u W theta~, and its closed-form fit.
#include "train/rotreg/predictor.h"

// argmin_(W, u >= 0) sum |u W theta~ - rho~|^2 (3.2.2); c makes W of a hinge (M of rank 1) unique. Returns the sum.
double sn_rotreg_fit_u_w(int count, const sn_vec3 *theta, const sn_vec3 *rho, double *u, sn_mat3 *w) {
  sn_mat3 m = {0}; // sum rho~ theta~^T
  double theta2 = 0, product = 0, all = 0, inner = 0;
  for (int i = 0; i < count; i++) {
    m = sn_mat3_add(m, sn_mat3_outer(rho[i], theta[i]));
    theta2 += sn_vec3_dot(theta[i], theta[i]), all += sn_vec3_dot(rho[i], rho[i]);
    product += sn_vec3_length(rho[i]) * sn_vec3_length(theta[i]);
  }
  *u = 0, *w = sn_mat3_identity();
  if (!(theta2 > 1e-12)) return all;
  double c = sn_rotreg_rounding * product;
  sn_mat3_polar(sn_mat3_add(m, sn_mat3_diagonal(c, c, c)), w, NULL);
  for (int n = 0; n < 9; n++) inner += w->m[n / 3][n % 3] * m.m[n / 3][n % 3];
  *u = fmax(inner / theta2, 0);
  return all - *u * *u * theta2;
}
