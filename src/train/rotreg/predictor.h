// SPDX-License-Identifier: MIT
// Rotational regression (Wang, Pulli and Popovic 2007): shared declarations. Section numbers are the paper's;
// docs/methods/rotational-regression.md lists the differences.
#ifndef SINEW_TRAIN_ROTREG_PREDICTOR_H
#define SINEW_TRAIN_ROTREG_PREDICTOR_H

#include "sinew/scene.h"
#include "sinew/train.h"
#include "train/folds.h"
#include "train/rotreg/numbers.h"

// ---- joint rotations (3.2.1) ----------------------------------------------------------------------------------------

// Rotations of all joints relative to their base: the parent; for further roots the first root; for the first root itself.
typedef struct sn_rotreg_rotations {
  int joint_count, pose_count;
  int *base;
  sn_vec3 *reference; // mean theta in training: theta is on the branch nearest to it, also at run time
  sn_mat3 *rotation;  // [pose][joint]: Q, from the rest pose to the pose
  sn_vec3 *theta;     // [pose][joint]: log(Q_base^T Q) on that branch
} sn_rotreg_rotations;

// The joint rotations at the frames of `keys`, which become poses 0, 1, ... of the training.
sn_status sn_rotreg_rotations_build(sn_context *ctx, sn_arena *memory, const sn_examples *examples,
                                    const sn_keys *keys, sn_rotreg_rotations *out);
// The same for one pose: joint_count rotations and thetas.
void sn_rotreg_rotations_pose(const sn_rotreg_rotations *rotations, const sn_affine *pose, sn_mat3 *rotation,
                              sn_vec3 *theta);

// ---- deformation gradients (3) --------------------------------------------------------------------------------------

// D of a triangle, [e2 e3 n] [e2^ e3^ n^]^-1. Returns false, and the identity, for a degenerate rest triangle.
bool sn_rotreg_gradient(const sn_mesh *rest, const float (*posed)[3], int triangle, sn_mat3 *out);

// ---- predictors (3.2, 3.3) ------------------------------------------------------------------------------------------

enum { sn_rotreg_most_factors = 3, sn_rotreg_shear_terms = 7 };

// One joint's factor of a rotation: exp(map theta). `map` is u W plus a regularised linear correction.
typedef struct sn_rotreg_factor {
  int joint;
  double u;
  sn_mat3 w, map;
  double prior; // of u, from the skin's weights, with W = I; NAN: none
} sn_rotreg_factor;

// D = R S with R = Q_base exp(map_1 theta_1) exp(map_2 theta_2) ... exp(tilt phi), S = H phi, phi = [theta_b1, theta_b2, 1].
typedef struct sn_rotreg_predictor {
  int base, factor_count;
  sn_rotreg_factor factors[sn_rotreg_most_factors];
  int shear_joints[2];
  double h[6][sn_rotreg_shear_terms];    // rows xx yy zz xy xz yz
  double tilt[3][sn_rotreg_shear_terms]; // a last small rotation; not in the paper
} sn_rotreg_predictor;

// The prior of one joint for a part of the surface, from the file's weights.
typedef struct sn_rotreg_local {
  bool near;    // the joint has weight on the part, or is next to a joint that has
  double share; // of the part's weight on the joint and its descendants: the fraction of its rotation to follow
} sn_rotreg_local;

typedef struct sn_rotreg_fit_options {
  int most_factors;   // joints of a predictor, at most
  double map_ridge;   // of map - u W, relative to the moments of theta; INFINITY: map = u W
  double shear_ridge; // of the scale/shear regression, relative to the mean squared angle
  double tilt_ridge;  // of the tilt, likewise; 0: no tilt
  double rest_weight; // of the rest pose (no tilt, no shear) relative to all poses
  bool published;     // see sn_rotreg_published_options
  // NULL: any joint, no prior. Otherwise maps are regularised towards `share` times the local rotation.
  const sn_rotreg_local *local;
} sn_rotreg_fit_options;

sn_rotreg_fit_options sn_rotreg_fit_options_default(void);
// published=1, sections 3 to 5 as printed: predictors exp(u W theta) with u >= 0 for the best joint and one more on the
// residual, scale and shear from the best joint and its parent, no free maps or tilts, edges of equal weight, a hard
// set F, clusters by E_A->B, key gradients from the proxy bones with free coefficients.
sn_rotreg_fit_options sn_rotreg_published_options(void);

// argmin_(W, u) sum |u W theta - rho|^2 with u >= 0 in closed form (3.2.2): W is the rotation nearest to sum rho theta^T. u = 0,
// W = I if theta is always zero. Returns the minimum.
double sn_rotreg_fit_u_w(int count, const sn_vec3 *theta, const sn_vec3 *rho, double *u, sn_mat3 *w);

// Poses pick[0 .. count) of a sequence of deformation gradients (one per training pose), and the options of the fit.
typedef struct sn_rotreg_sample {
  const sn_rotreg_rotations *rotations;
  const sn_mat3 *sequence;
  const int *pick;
  int count;
  const sn_rotreg_fit_options *options;
} sn_rotreg_sample;

typedef struct sn_rotreg_work sn_rotreg_work;
size_t sn_rotreg_work_size(int pose_count);
void sn_rotreg_fit(const sn_rotreg_sample *sample, sn_rotreg_work *work, sn_rotreg_predictor *out);
// The same with the joints of `like`, not chosen again.
void sn_rotreg_refit(const sn_rotreg_sample *sample, sn_rotreg_work *work, const sn_rotreg_predictor *like,
                     sn_rotreg_predictor *out);

sn_mat3 sn_rotreg_predict_rotation(const sn_rotreg_predictor *p, const sn_mat3 *rotation, const sn_vec3 *theta);
sn_mat3 sn_rotreg_predict_shear(const sn_rotreg_predictor *p, const sn_vec3 *theta);
sn_mat3 sn_rotreg_predict(const sn_rotreg_predictor *p, const sn_mat3 *rotation, const sn_vec3 *theta);

// theta~ = [theta_b1, theta_b2, 1], the regressors of scale/shear and tilts. vec(S - I): xx yy zz xy xz yz.
void sn_rotreg_terms(const int joints[2], const sn_vec3 *theta, double out[sn_rotreg_shear_terms]);
void sn_rotreg_vec(sn_mat3 s, double out[6]);

// Ridge regression y = H row; rows are theta~, or [theta~, f theta~] with torques.
typedef struct sn_rotreg_regression {
  int terms, columns, count; // length of a row, length of y; number of rows
  double a[2 * sn_rotreg_shear_terms][2 * sn_rotreg_shear_terms];
  double b[2 * sn_rotreg_shear_terms][6]; // after the solve: H^T
} sn_rotreg_regression;
void sn_rotreg_regression_add(sn_rotreg_regression *r, const double *row, const double *y);
// `ridge`: relative to the mean squared angle. `constant`: ridge of the constants, relative to the number of rows;
// as y = 0 in the rest pose, it is the weight of the rest pose.
void sn_rotreg_regression_solve(sn_rotreg_regression *r, double ridge, double constant);

// Fits H of p->shear_joints (3.3); `shear` is in the order of the sample's poses.
void sn_rotreg_fit_h(const sn_rotreg_sample *sample, const sn_mat3 *shear, sn_rotreg_predictor *p);

#endif
