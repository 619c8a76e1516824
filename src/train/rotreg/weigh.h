// SPDX-License-Identifier: MIT
// Predictors of all deformation gradients, and the weights of the least-squares problem that both forms solve: inverse mean
// squares of each term's residual on held-out poses (docs/methods/rotational-regression.md).
#ifndef SINEW_TRAIN_ROTREG_WEIGH_H
#define SINEW_TRAIN_ROTREG_WEIGH_H

#include "train/rotreg/key_gradients.h"
#include "train/rotreg/torque.h"

typedef struct sn_rotreg_learned {
  const sn_rotreg_data *data;
  const sn_rotreg_rotations *rotations;
  const sn_rotreg_fit_options *fit;
  const sn_rotreg_local *local; // [gradient][joint]; NULL without a prior
  const sn_torque_loads *loads; // NULL: without torques
  const sn_rotreg_key_gradients *gradients;
  sn_rotreg_predictor *predictors; // of every gradient
  sn_torque_model torque;          // pairs instead, where there are torques
  sn_mat3 *held_out;               // [pose][gradient]: predicted without that pose
} sn_rotreg_learned;

// Fills the last three.
sn_status sn_rotreg_predictors_fit(sn_context *ctx, sn_arena *memory, sn_rotreg_learned *learned);

// Weights of the edges (triangle_count) and of the anchors, whose `anchor` are mean squared residuals before. As published edges
// weigh alike, and anchors are not touched.
sn_status sn_rotreg_weigh(sn_context *ctx, const sn_rotreg_learned *learned, double (*edge)[2], double *anchor);

double sn_rotreg_mean(const double *values, size_t count);

#endif
