// SPDX-License-Identifier: MIT
// Torque-integrated skinning (Kim, Park and Jung): two predictors of every deformation gradient, at the least and the
// largest torque, and functions of the torque that blend them. Section III unless said otherwise; docs/methods/torque.md says
// where this goes further.
#ifndef SINEW_TRAIN_ROTREG_TORQUE_H
#define SINEW_TRAIN_ROTREG_TORQUE_H

#include "train/rotreg/predictor.h"
#include "train/folds.h"

enum { sn_torque_most_degree = 3 };

// The torques of the training poses and what is asked of the fit.
typedef struct sn_torque_loads {
  int joint_count, pose_count;
  double (*range)[2]; // per joint: least and largest torque; equal where the joint has none that changes
  double *x;          // [pose][joint]: (torque - least) / (largest - least); 0 where there is no range
  int degree_r, degree_s;
} sn_torque_loads;

// Torques of the frames of `keys`. Fails where there are none, where none changes, or where the joint called `only`
// (unless empty: then only its torque counts) has none.
sn_status sn_torque_loads_read(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                               const char *only, sn_torque_loads *out);

// The torques of a frame as they are in `x`, within [0, 1]: joint_count numbers.
void sn_torque_loads_at(const sn_torque_loads *loads, const sn_torques *torques, int frame, double *x);

// x where joint j bears no load; NAN where that is outside the range.
static inline double sn_torque_unloaded(const sn_torque_loads *loads, int j) {
  double low = loads->range[j][0], high = loads->range[j][1];
  return low <= 0 && high >= 0 && high > low ? -low / (high - low) : NAN;
}

// D(q, tau) = slerp(R_0, R_1, f_r) ((1 - f_s) S_0 + f_s S_1), with R_e and S_e those of ends[e].
typedef struct sn_torque_pair {
  sn_rotreg_predictor ends[2];
  int load; // joint whose torque blends the ends, or -1
} sn_torque_pair;

// f(x) = c[0] x + c[1] x^2 + c[2] x^3, with f(0) = 0 and f(1) = 1; as published, `offset` + that, and no such ends.
typedef struct sn_torque_functions {
  double rotation[sn_torque_most_degree], shear[sn_torque_most_degree];
  double offset[2]; // of rotation, of shear
} sn_torque_functions;

// f_r and f_s, clamped to [0, 1].
void sn_torque_blend(const sn_torque_functions *functions, double x, double out[2]);

// The function of this degree that minimises sum_i |b_i - f(x_i) a_i|^2: aa = |a_i|^2, ab = a_i . b_i. The blending weight
// of one example, w_i = ab / aa, is thus fitted with the weight that it has in the error.
void sn_torque_fit_function(int count, const double *x, const double *aa, const double *ab, int degree,
                            double c[sn_torque_most_degree]);

// As published: least squares to the weights w_i = ab / aa themselves, with a constant. An example whose ends agree has none.
// Returns the constant.
double sn_torque_fit_polynomial(int count, const double *x, const double *aa, const double *ab, int degree,
                                double c[sn_torque_most_degree]);

sn_mat3 sn_torque_predict(const sn_torque_pair *pair, const sn_torque_functions *functions, const sn_mat3 *rotation,
                          const sn_vec3 *theta, const double *x);

// What was learned of the torques.
typedef struct sn_torque_model {
  sn_torque_pair *pairs;          // per gradient
  sn_torque_functions *functions; // per joint
  double gain;                    // squared held-out error over that without torques; NAN as published
} sn_torque_model;

// Pairs of all gradients into learned->torque; learned->held_out gets their held-out predictions.
struct sn_rotreg_learned;
sn_status sn_torque_fit(sn_context *ctx, sn_arena *memory, struct sn_rotreg_learned *learned);

#endif
