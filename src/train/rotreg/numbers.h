// SPDX-License-Identifier: MIT
// Tuned constants of `rotreg` and `torque`; sensitivity: docs/measurements.md#constants-of-rotational-regression.
#ifndef SINEW_TRAIN_ROTREG_NUMBERS_H
#define SINEW_TRAIN_ROTREG_NUMBERS_H

enum {
  sn_rotreg_default_bones = 80,   // P, proxy bones: published, Table 1 (James, Drago)
  sn_rotreg_rounds = 3,           // of alpha and T_b (5.1), and of beta and D_l (5.2): published, 5.2
  sn_rotreg_most_candidates = 12, // groups considered for a vertex: those of its triangles and adjacent ones
  sn_rotreg_most_gradients = 6,   // key gradients per triangle, at most
  sn_rotreg_anchor_slots = 6,     // joints per anchor, at most
};

// F, the near-rigid vertices (4.2): largest rms distance to linear blend skinning in training, relative to the diagonal.
static const double sn_rotreg_near_rigid = 1e-4;

// Ridge of the torque regressions, relative to the mean squared angle.
static const double sn_torque_ridge = 1e-3;

// Scenes more than this many diagonals from the origin are trained about their centre, against loss of precision.
static const double sn_rotreg_far_diagonals = 10;

// Relative ridges and tolerances that only have to exceed rounding.
static const double sn_rotreg_rounding = 1e-7;

#endif
