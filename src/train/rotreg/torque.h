// SPDX-License-Identifier: MIT
// Torque-integrated skinning (Kim, Park and Jung): two predictors per deformation gradient, at the least and the
// largest torque, blended by functions of the torque. Section III unless stated; docs/methods/torque.md lists the
// differences.
#ifndef SINEW_TRAIN_ROTREG_TORQUE_H
#define SINEW_TRAIN_ROTREG_TORQUE_H

#include "train/rotreg/predictor.h"
#include "train/folds.h"

enum { sn_torque_most_degree = 3 };

// The torques of the training poses, and the degrees of the blending functions.
typedef struct sn_torque_loads {
  int joint_count, pose_count;
  double (*range)[2]; // per joint: least and largest torque; equal if the torque never changes or is missing
  double *x;          // [pose][joint]: (torque - least) / (largest - least); 0 if the range is empty
  int degree_r, degree_s;
} sn_torque_loads;

// Reads the torques of the frames of `keys`; if options->joint names a joint, only its torque. Fails if there are no
// torques, if none changes, or if that joint has none.
sn_status sn_torque_loads_read(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                               const sn_torque_options *options, sn_torque_loads *out);

// The torques of a frame scaled like `x`, clamped to [0, 1]: joint_count numbers.
void sn_torque_loads_at(const sn_torque_loads *loads, const sn_torques *torques, int frame, double *x);

// x of joint j at torque 0; NAN if that is outside the range.
static inline double sn_torque_unloaded(const sn_torque_loads *loads, int j) {
  double low = loads->range[j][0], high = loads->range[j][1];
  return low <= 0 && high >= 0 && high > low ? -low / (high - low) : NAN;
}

// D(q, tau) = slerp(R_0, R_1, f_r) ((1 - f_s) S_0 + f_s S_1), with R_e and S_e those of ends[e].
typedef struct sn_torque_pair {
  sn_rotreg_predictor ends[2];
  int load; // joint whose torque blends the ends; -1: none
} sn_torque_pair;

// f(x) = c[0] x + c[1] x^2 + c[2] x^3 with f(0) = 0 and f(1) = 1; as published, `offset` is added and the ends are free.
typedef struct sn_torque_functions {
  double rotation[sn_torque_most_degree], shear[sn_torque_most_degree];
  double offset[2]; // of rotation, of shear
} sn_torque_functions;

// f_r and f_s, clamped to [0, 1].
void sn_torque_blend(const sn_torque_functions *functions, double x, double out[2]);

// The function of this degree that minimises sum_i |b_i - f(x_i) a_i|^2; aa = |a_i|^2, ab = a_i . b_i. This weights
// each example's blending weight w_i = ab / aa by its effect on the error.
void sn_torque_fit_function(int count, const double *x, const double *aa, const double *ab, int degree,
                            double c[sn_torque_most_degree]);

// As published: least squares to the blending weights w_i = ab / aa, with a constant. Examples whose two ends agree
// have no weight and are skipped. Returns the constant.
double sn_torque_fit_polynomial(int count, const double *x, const double *aa, const double *ab, int degree,
                                double c[sn_torque_most_degree]);

sn_mat3 sn_torque_predict(const sn_torque_pair *pair, const sn_torque_functions *functions, const sn_mat3 *rotation,
                          const sn_vec3 *theta, const double *x);

// The learned dependence on torques.
typedef struct sn_torque_model {
  sn_torque_pair *pairs;          // per gradient
  sn_torque_functions *functions; // per joint
  double gain;                    // squared held-out error relative to that without torques; NAN as published
} sn_torque_model;

#endif
