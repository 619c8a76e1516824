// SPDX-License-Identifier: MIT
// Rotational regression (Wang, Pulli and Popovic 2007): what its files share. Section numbers are the paper's;
// docs/methods/rotational-regression.md says where this differs from it.
#ifndef SINEW_TRAIN_ROTREG_PREDICTOR_H
#define SINEW_TRAIN_ROTREG_PREDICTOR_H

#include "sinew/scene.h"
#include "sinew/train.h"
#include "train/folds.h"
#include "train/rotreg/numbers.h"

// ---- joint rotations (3.2.1) ----------------------------------------------------------------------------------------

// Every joint's rotation as seen from its base: the parent, for a second root the first one, for the first root itself.
typedef struct sn_rotreg_rotations {
  int joint_count, pose_count;
  int *base;
  sn_vec3 *reference; // mean training rotation: the logarithm's branch nearest to it is taken, then and at run time
  sn_mat3 *rotation;  // [pose][joint]: Q, from the rest pose to the pose
  sn_vec3 *theta;     // [pose][joint]: log(Q_base^T Q) on that branch
} sn_rotreg_rotations;

// The joints at the frames of `keys`, which become the poses 0, 1, ... of the training.
sn_status sn_rotreg_rotations_build(sn_context *ctx, sn_arena *memory, const sn_examples *examples,
                                    const sn_keys *keys, sn_rotreg_rotations *out);
// The same for any pose: joint_count rotations and thetas.
void sn_rotreg_rotations_pose(const sn_rotreg_rotations *rotations, const sn_affine *pose, sn_mat3 *rotation,
                              sn_vec3 *theta);

// ---- deformation gradients (3) --------------------------------------------------------------------------------------

// D of a triangle, [e2 e3 n] [e2^ e3^ n^]^-1. False, and the identity, for a triangle without area in the rest pose.
bool sn_rotreg_gradient(const sn_mesh *rest, const float (*posed)[3], int triangle, sn_mat3 *out);

// ---- predictors (3.2, 3.3) ------------------------------------------------------------------------------------------

enum { sn_rotreg_most_factors = 3, sn_rotreg_shear_terms = 7 };

// One joint's factor of a rotation: exp(u W theta). `map` is u W, plus a correction of the fit that is not a rotation.
typedef struct sn_rotreg_factor {
  int joint;
  double u;
  sn_mat3 w, map;
  double prior; // what the skin says u is, with W = I; NAN without one
} sn_rotreg_factor;

// D = R S with R = Q_base exp(map_1 theta_1) exp(map_2 theta_2) ... exp(tilt phi) and S = H phi, phi = [theta_b1, theta_b2, 1].
typedef struct sn_rotreg_predictor {
  int base, factor_count;
  sn_rotreg_factor factors[sn_rotreg_most_factors];
  int shear_joints[2];
  double h[6][sn_rotreg_shear_terms];    // of xx yy zz xy xz yz
  double tilt[3][sn_rotreg_shear_terms]; // a last small rotation, which the paper does not have
} sn_rotreg_predictor;

// What the skin that came with the skeleton says about a part of the surface, one per joint.
typedef struct sn_rotreg_local {
  bool near;    // the joint carries the part, or is next to one that does
  double share; // of the part's weights at the joint and below it: the part of its rotation that the surface follows
} sn_rotreg_local;

typedef struct sn_rotreg_fit_options {
  int most_factors;   // most joints of a predictor
  double map_ridge;   // of what maps add to u W, relative to the moments of theta; INFINITY: nothing
  double shear_ridge; // of the scale/shear regression, relative to the mean squared angle
  double tilt_ridge;  // the same of the tilt; 0: no tilt
  double
    rest_weight; // of the rest pose (no tilt, no scale or shear) over that of all poses: determines what a joint that is
                 // always rotated leaves open
  bool published; // see sn_rotreg_published_options
  // NULL: any joint, and no prior. Otherwise maps are regularised towards shares of the local rotations.
  const sn_rotreg_local *local;
} sn_rotreg_fit_options;

sn_rotreg_fit_options sn_rotreg_fit_options_default(void);
// published=1, sections 3 to 5 as printed: predictors exp(u W theta) with u >= 0 for the best joint and one more on the residual,
// scale and shear from the best joint and its parent, no free maps or tilts, edges of equal weight, a hard set F, clusters by
// E_A->B, key gradients from the proxy bones with free coefficients.
sn_rotreg_fit_options sn_rotreg_published_options(void);

// argmin_(W, u) sum |u W theta - rho|^2 in closed form, `published` with u >= 0; u = 0, W = I where theta never moves. Returns that
// sum.
double sn_rotreg_fit_u_w(int count, const sn_vec3 *theta, const sn_vec3 *rho, bool published, double *u, sn_mat3 *w);
// Puts every rho on the branch of the logarithm that fits rho = u W theta best.
void sn_rotreg_choose_branches(int count, const sn_vec3 *theta, sn_vec3 *rho);

// Poses pick[0 .. count) of a sequence of deformation gradients (one per training pose), and how a predictor is fitted to them.
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
// The same with the joints of `like`.
void sn_rotreg_refit(const sn_rotreg_sample *sample, sn_rotreg_work *work, const sn_rotreg_predictor *like,
                     sn_rotreg_predictor *out);

sn_mat3 sn_rotreg_predict_rotation(const sn_rotreg_predictor *p, const sn_mat3 *rotation, const sn_vec3 *theta);
sn_mat3 sn_rotreg_predict_shear(const sn_rotreg_predictor *p, const sn_vec3 *theta);
sn_mat3 sn_rotreg_predict(const sn_rotreg_predictor *p, const sn_mat3 *rotation, const sn_vec3 *theta);

// theta~ = [theta_b1, theta_b2, 1]: what scale/shear, and tilts, are linear in. vec(S - I): xx yy zz xy xz yz.
void sn_rotreg_terms(const int joints[2], const sn_vec3 *theta, double out[sn_rotreg_shear_terms]);
void sn_rotreg_vec(sn_mat3 s, double out[6]);

// y = H row by regularised least squares; rows are theta~, or [theta~, f theta~] with torques.
typedef struct sn_rotreg_regression {
  int terms, columns, count; // of a row, of y; rows
  double a[2 * sn_rotreg_shear_terms][2 * sn_rotreg_shear_terms];
  double b[2 * sn_rotreg_shear_terms][6]; // solved: H^T
} sn_rotreg_regression;
void sn_rotreg_regression_add(sn_rotreg_regression *r, const double *row, const double *y);
// `ridge` relative to the mean squared angle; `constant`: that of the constants, relative to the number of rows. As
// y = 0 in the rest pose, that is the weight of the rest pose.
void sn_rotreg_regression_solve(sn_rotreg_regression *r, double ridge, double constant);

// H of p->shear_joints (3.3), `shear` in the order of the sample's poses.
void sn_rotreg_fit_h(const sn_rotreg_sample *sample, const sn_mat3 *shear, sn_rotreg_predictor *p);

#endif
