// SPDX-License-Identifier: MIT
// The rotational model of one joint (3.2): rho~ = u W theta~, its closed-form fit and the branch of the logarithm.
#include "train/rotreg/predictor.h"

static double inner(sn_mat3 a, sn_mat3 b) {
  double sum = 0;
  for (int n = 0; n < 9; n++) sum += a.m[n / 3][n % 3] * b.m[n / 3][n % 3];
  return sum;
}

typedef struct factor_sums {
  sn_mat3 m;              // sum rho theta^T
  double theta2, product; // sum |theta|^2, sum |rho| |theta|
} factor_sums;

static void add_pose(factor_sums *s, sn_vec3 theta, sn_vec3 rho) {
  s->m = sn_mat3_add(s->m, sn_mat3_outer(rho, theta));
  s->theta2 += sn_vec3_dot(theta, theta);
  s->product += sn_vec3_length(rho) * sn_vec3_length(theta);
}

// argmin_(W, u) sum |u W theta - rho|^2 (3.2.2): W is the rotation nearest to M = sum rho theta^T or, for u < 0, to -M.
// For a hinge (M of rank 1) W is made unique by a small multiple of the identity.
static void solve_u_w(const factor_sums *s, bool published, double *u, sn_mat3 *w) {
  *u = 0, *w = sn_mat3_identity();
  if (!(s->theta2 > 1e-12)) return;
  double c = sn_rotreg_rounding * s->product, best = -INFINITY;
  for (int sign = 1; sign >= (published ? 1 : -1); sign -= 2) {
    sn_mat3 rotation;
    sn_mat3_polar(sn_mat3_add(sn_mat3_scale(s->m, sign), sn_mat3_diagonal(c, c, c)), &rotation, NULL);
    double value = sign * inner(rotation, s->m) + c * sn_mat3_trace(rotation);
    if (value > best) best = value, *w = rotation, *u = inner(rotation, s->m) / s->theta2;
  }
  if (published) *u = fmax(*u, 0);
}

double sn_rotreg_fit_u_w(int count, const sn_vec3 *theta, const sn_vec3 *rho, bool published, double *u, sn_mat3 *w) {
  factor_sums s = {0};
  double all = 0;
  for (int i = 0; i < count; i++) add_pose(&s, theta[i], rho[i]), all += sn_vec3_dot(rho[i], rho[i]);
  solve_u_w(&s, published, u, w);
  return all - *u * *u * s.theta2;
}

// The next pose after `last` in order of increasing |theta|.
static int next_by_angle(int count, const sn_vec3 *theta, double after, int last) {
  int best = -1;
  double least = INFINITY;
  for (int i = 0; i < count; i++) {
    double angle = sn_vec3_length(theta[i]);
    bool later = angle > after || (angle == after && i > last);
    if (later && angle < least) least = angle, best = i;
  }
  return best;
}

// In order of increasing |theta|, puts every rho on the branch nearest to the prediction of the fit on the poses before it.
void sn_rotreg_choose_branches(int count, const sn_vec3 *theta, sn_vec3 *rho) {
  factor_sums s = {0};
  double angle = -1;
  for (int n = 0, i = -1; n < count; n++) {
    i = next_by_angle(count, theta, angle, i);
    if (i < 0) return;
    angle = sn_vec3_length(theta[i]);
    double u;
    sn_mat3 w;
    solve_u_w(&s, false, &u, &w);
    if (!(s.theta2 > 1e-12)) u = 1; // the first pose: assume rho is near theta
    rho[i] = sn_rotation_unwrap(rho[i], sn_vec3_scale(sn_mat3_apply(w, theta[i]), u));
    add_pose(&s, theta[i], rho[i]);
  }
}
