// SPDX-License-Identifier: MIT
// Tuned numbers of `rotreg` and `torque`; what other values do: docs/measurements.md#constants-of-rotational-regression.
#ifndef SINEW_TRAIN_ROTREG_NUMBERS_H
#define SINEW_TRAIN_ROTREG_NUMBERS_H

enum {
  sn_rotreg_default_bones = 80,   // P, proxy bones: published, Table 1 (James, Drago)
  sn_rotreg_rounds = 3,           // of alpha and T_b (5.1); of beta and D_l (5.2): published, 5.2
  sn_rotreg_most_candidates = 12, // groups that a vertex may follow, its own and the nearest
  sn_rotreg_most_gradients = 6,   // key gradients of a triangle
  sn_rotreg_anchor_slots = 6,     // joints of an anchor
};

// F, the near-rigid vertices (4.2): rms distance to linear blend skinning in the training poses, of the diagonal.
static const double sn_rotreg_near_rigid = 1e-4;

// Of torque's regressions, relative to the mean squared angle.
static const double sn_torque_ridge = 1e-3;

// Diagonals between the origin and a scene that is trained about its centre: what single precision loses grows with their square.
static const double sn_rotreg_far_diagonals = 10;

// What only has to be above rounding, relative to what it is added to.
static const double sn_rotreg_rounding = 1e-7;

#endif
