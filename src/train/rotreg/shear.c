// SPDX-License-Identifier: MIT
// Scale/shear regression (3.3): vec(S) = H theta~, theta~ = [theta_b1, theta_b2, 1].
#include "train/rotreg/predictor.h"

#include <string.h>

#include "solve/solve.h"

enum { terms = sn_rotreg_shear_terms };

static const int entry[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};

void sn_rotreg_terms(const int joints[2], const sn_vec3 *theta, double out[terms]) {
  sn_vec3 a = theta[joints[0]], b = theta[joints[1]];
  const double row[terms] = {a.x, a.y, a.z, b.x, b.y, b.z, 1};
  memcpy(out, row, sizeof row);
}

void sn_rotreg_vec(sn_mat3 s, double out[6]) {
  for (int c = 0; c < 6; c++) out[c] = s.m[entry[c][0]][entry[c][1]] - (c < 3);
}

void sn_rotreg_regression_add(sn_rotreg_regression *r, const double *row, const double *y) {
  for (int m = 0; m < r->terms; m++) {
    for (int n = 0; n <= m; n++) r->a[m][n] += row[m] * row[n];
    for (int c = 0; c < r->columns; c++) r->b[m][c] += row[m] * y[c];
  }
  r->count++;
}

void sn_rotreg_regression_solve(sn_rotreg_regression *r, double ridge, double constant) {
  double energy = sn_rotreg_rounding * r->count; // squared radians; above zero even if no joint rotates
  for (int m = 0; m < terms - 1; m++) energy += r->a[m][m] / (terms - 1);
  for (int m = 0; m < r->terms; m++)
    r->a[m][m] += m % terms < terms - 1 ? ridge * energy : fmax(constant * r->count, 1e-9);
  sn_spd_solve(r->terms, 2 * terms, r->a[0], 6, r->b[0]);
}

void sn_rotreg_fit_h(const sn_rotreg_sample *s, const sn_mat3 *shear, sn_rotreg_predictor *p) {
  sn_rotreg_regression r = {.terms = terms, .columns = 6};
  for (int i = 0; i < s->count; i++) {
    double row[terms], y[6];
    sn_rotreg_terms(p->shear_joints, s->rotations->theta + (size_t)s->pick[i] * (size_t)s->rotations->joint_count,
                    row);
    sn_rotreg_vec(shear[i], y);
    sn_rotreg_regression_add(&r, row, y);
  }
  sn_rotreg_regression_solve(&r, s->options->shear_ridge, s->options->rest_weight);
  for (int n = 0; n < 6 * terms; n++) p->h[n / terms][n % terms] = r.b[n % terms][n / terms];
  for (int c = 0; c < 3; c++) p->h[c][terms - 1] += 1;
}

sn_mat3 sn_rotreg_predict_shear(const sn_rotreg_predictor *p, const sn_vec3 *theta) {
  double row[terms];
  sn_mat3 s;
  sn_rotreg_terms(p->shear_joints, theta, row);
  for (int c = 0; c < 6; c++) {
    double sum = 0;
    for (int r = 0; r < terms; r++) sum += p->h[c][r] * row[r];
    s.m[entry[c][0]][entry[c][1]] = s.m[entry[c][1]][entry[c][0]] = sum;
  }
  return s;
}
