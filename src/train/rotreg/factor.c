// SPDX-License-Identifier: MIT
// The rotational model of one joint: rho = u W theta (3.2), its closed-form fit and the branch of the logarithm.
#include "train/rotreg/predictor.h"

// U diag(1, 1, det(U V^T)) V^T of m = U S V^T: the rotation nearest to m.
static sn_mat3 nearest_rotation(sn_mat3 m) {
  sn_mat3 rotation;
  sn_mat3_polar(m, &rotation, NULL);
  return rotation;
}

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

static void fit_sums(const factor_sums *s, int least_sign, double *u, sn_mat3 *w) {
  *u = 0, *w = sn_mat3_identity();
  if (!(s->theta2 > 1e-12)) return;
  double c = sn_rotreg_hinge_ridge * s->product, best = -INFINITY;
  for (int sign = 1; sign >= least_sign; sign -= 2) {
    sn_mat3 rotation = nearest_rotation(sn_mat3_add(sn_mat3_scale(s->m, sign), sn_mat3_diagonal(c, c, c)));
    double value = sign * inner(rotation, s->m) + c * sn_mat3_trace(rotation);
    if (value > best) best = value, *w = rotation, *u = inner(rotation, s->m) / s->theta2;
  }
}

static double fit_signed(int count, const sn_vec3 *theta, const sn_vec3 *rho, int least_sign, double *u, sn_mat3 *w) {
  factor_sums s = {0};
  double all = 0;
  for (int i = 0; i < count; i++) add_pose(&s, theta[i], rho[i]), all += sn_vec3_dot(rho[i], rho[i]);
  fit_sums(&s, least_sign, u, w);
  if (*u < 0 && least_sign > 0) *u = 0;
  return all - *u * *u * s.theta2;
}

double sn_rotreg_fit_factor(int count, const sn_vec3 *theta, const sn_vec3 *rho, double *u, sn_mat3 *w) {
  return fit_signed(count, theta, rho, -1, u, w);
}

double sn_rotreg_fit_published_factor(int count, const sn_vec3 *theta, const sn_vec3 *rho, double *u, sn_mat3 *w) {
  return fit_signed(count, theta, rho, 1, u, w);
}

// Index of the pose with the smallest |theta| among those not yet `done` up to the value `after`.
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

// By increasing |theta|: every rho goes to the branch nearest to the prediction of the fit on the poses before it.
static void grow_branches(int count, const sn_vec3 *theta, sn_vec3 *rho) {
  factor_sums s = {0};
  double angle = -1;
  for (int n = 0, i = -1; n < count; n++) {
    i = next_by_angle(count, theta, angle, i);
    if (i < 0) return;
    angle = sn_vec3_length(theta[i]);
    double u;
    sn_mat3 w;
    fit_sums(&s, -1, &u, &w);
    if (!(s.theta2 > 1e-12)) u = 1; // without precedent rho is near theta
    rho[i] = sn_rotation_unwrap(rho[i], sn_vec3_scale(sn_mat3_apply(w, theta[i]), u));
    add_pose(&s, theta[i], rho[i]);
  }
}

// One more pass with the fit on all poses; true where a branch changed.
static bool settle_branches(int count, const sn_vec3 *theta, sn_vec3 *rho) {
  double u;
  sn_mat3 w;
  bool changed = false;
  sn_rotreg_fit_factor(count, theta, rho, &u, &w);
  for (int i = 0; i < count; i++) {
    sn_vec3 moved = sn_rotation_unwrap(rho[i], sn_vec3_scale(sn_mat3_apply(w, theta[i]), u));
    if (sn_vec3_distance(moved, rho[i]) < 1) continue;
    rho[i] = moved, changed = true;
  }
  return changed;
}

void sn_rotreg_choose_branches(int count, const sn_vec3 *theta, sn_vec3 *rho) {
  // Another branch of rho is at least 2 pi - |rho| long: small rotations have only one that theta can reach.
  double largest = 0;
  for (int i = 0; i < count; i++) largest = fmax(largest, sn_vec3_length(rho[i]));
  if (largest < 0.5 * SN_PI) return;
  grow_branches(count, theta, rho);
  for (int sweep = 0; sweep < 8 && settle_branches(count, theta, rho); sweep++) continue;
}
