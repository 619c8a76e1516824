// SPDX-License-Identifier: MIT
// Scale/shear regression (3.3): vec(S) = H [theta_b1, theta_b2, 1].
#include "train/rotreg/predictor.h"

#include <string.h>

#include "solve/solve.h"

enum { terms = sn_rotreg_shear_terms };

const int sn_rotreg_shear_entry[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};

void sn_rotreg_terms(const int joints[2], const sn_vec3 *theta, double out[terms]) {
  sn_vec3 a = theta[joints[0]], b = theta[joints[1]];
  const double row[terms] = {a.x, a.y, a.z, b.x, b.y, b.z, 1};
  memcpy(out, row, sizeof row);
}

double sn_rotreg_energy(const double *a, int stride, int poses) {
  double sum = sn_rotreg_rounding * poses; // squared radians, above zero where joints hardly rotate
  for (int r = 0; r < terms - 1; r++) sum += a[r * stride + r] / (terms - 1);
  return sum;
}

// The rest pose counts as one more example (theta = 0, S = I), with the weight options->rest_weight; the bias has no other
// ridge.
double sn_rotreg_fit_shear(const sn_rotreg_sample *s, const sn_mat3 *shear, sn_rotreg_predictor *p) {
  double a[terms][terms] = {{0}}, b[terms][6] = {{0}}, right[terms][6], row[terms], left = 0;
  for (int i = 0; i < s->count; i++) {
    sn_rotreg_terms(p->shear_joints, s->rotations->theta + (size_t)s->pick[i] * (size_t)s->rotations->joint_count,
                    row);
    for (int r = 0; r < terms; r++) {
      for (int c = 0; c < terms; c++) a[r][c] += row[r] * row[c];
      for (int c = 0; c < 6; c++) {
        double target = shear[i].m[sn_rotreg_shear_entry[c][0]][sn_rotreg_shear_entry[c][1]] - (c < 3);
        b[r][c] += row[r] * target;
        if (r == 0) left += target * target;
      }
    }
  }
  double ridge = s->options->shear_ridge * sn_rotreg_energy(a[0], terms, s->count);
  for (int r = 0; r < terms - 1; r++) a[r][r] += ridge;
  a[terms - 1][terms - 1] += fmax(s->options->rest_weight * s->count, 1e-9);
  memcpy(right, b, sizeof right);
  sn_spd_solve(terms, terms, a[0], 6, b[0]);
  for (int c = 0; c < 6; c++) {
    for (int r = 0; r < terms; r++) p->shear[c][r] = b[r][c], left -= b[r][c] * right[r][c];
    p->shear[c][terms - 1] += c < 3;
  }
  return left;
}

void sn_rotreg_choose_shear(const sn_rotreg_sample *s, const sn_mat3 *shear, sn_rotreg_predictor *p) {
  double least = INFINITY;
  for (int slot = 0; slot < 2; slot++) {
    sn_rotreg_predictor trial = *p;
    for (int j = 0; j < s->rotations->joint_count; j++) {
      if (s->options->local && !s->options->local[j].near) continue;
      // The same joint twice is one joint.
      trial.shear_joints[slot] = j;
      if (slot == 0) trial.shear_joints[1] = j;
      double left = sn_rotreg_fit_shear(s, shear, &trial);
      if (left < least * (1 - 1e-9)) least = left, *p = trial;
    }
  }
}

sn_mat3 sn_rotreg_predict_shear(const sn_rotreg_predictor *p, const sn_vec3 *theta) {
  double row[terms];
  sn_mat3 s;
  sn_rotreg_terms(p->shear_joints, theta, row);
  for (int c = 0; c < 6; c++) {
    double sum = 0;
    for (int r = 0; r < terms; r++) sum += p->shear[c][r] * row[r];
    s.m[sn_rotreg_shear_entry[c][0]][sn_rotreg_shear_entry[c][1]] =
      s.m[sn_rotreg_shear_entry[c][1]][sn_rotreg_shear_entry[c][0]] = sum;
  }
  return s;
}
