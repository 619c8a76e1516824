// SPDX-License-Identifier: MIT
// Tuned numbers of `rotreg` and `torque`; what other values do: docs/measurements.md#constants-of-rotational-regression.
#ifndef SINEW_TRAIN_ROTREG_NUMBERS_H
#define SINEW_TRAIN_ROTREG_NUMBERS_H

enum {
  sn_rotreg_default_bones = 80,   // proxy bones
  sn_rotreg_bone_rounds = 4,      // of proxy bones' weights and matrices
  sn_rotreg_gradient_rounds = 3,  // of key gradients and their coefficients: published, 5.2
  sn_rotreg_most_candidates = 12, // groups that a vertex may follow, its own and the nearest
  sn_rotreg_most_gradients = 6,   // key gradients of a triangle
  sn_rotreg_anchor_slots = 6,     // joints of an anchor
};

// Of linear parts that a flat group leaves open (proxy bones' in C, key gradients) and of coefficients of other groups than a
// triangle's own; relative to the mean diagonal. A hundredth: fox + 6 %; ten times: generated elbow + 8 %.
static const double sn_rotreg_ridge = 1e-2;

// F, the near-rigid vertices (4.2): rms distance to linear blend skinning in the training poses, of the diagonal. None: exact
// linear blends are no longer exact.
static const double sn_rotreg_near_rigid = 1e-4;

// Of steps of the proxy bones' matrices, relative to the mean diagonal: linear parts, translations. One value: fox + 4 %.
static const double sn_rotreg_step_ridge[2] = {1e-4, 1e-6};

// Of anchors per pose, in squared diagonals. A hundredth: fox - 11 %, cheburashka, half of a clip on the other, + 15 %.
static const double sn_rotreg_anchor_ridge = 1e-2;

// Added to mean squared residuals before they are inverted to weights, as a part of their mean. Half, twice: within 1 %.
static const double sn_rotreg_floor = 0.05;

// At W = I, relative to sum |rho| |theta|: decides what a hinge (M of rank 1) leaves open. Nothing: within 1 %.
static const double sn_rotreg_hinge_ridge = 1e-3;

// Diagonals between the origin and a scene that is trained about its centre: what single precision loses grows with their square.
static const double sn_rotreg_far_diagonals = 10;

// Of torque's regressions, relative to the mean squared angle. Ten times: generated leg + 69 %.
static const double sn_torque_ridge = 1e-3;

// torque:published=1, of the range: examples this near to an end are at it, torques this far apart are different.
static const double sn_torque_end_width = 0.02;

// What only has to be above rounding, relative to what it is added to.
static const double sn_rotreg_rounding = 1e-7;

#endif
