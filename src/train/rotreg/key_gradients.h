// SPDX-License-Identifier: MIT
// Predictor reduction (5.2): every triangle's deformation gradients as a blend of a few key sequences.
#ifndef SINEW_TRAIN_ROTREG_KEY_GRADIENTS_H
#define SINEW_TRAIN_ROTREG_KEY_GRADIENTS_H

#include "train/rotreg/bones.h"

// D_k = sum_l beta_kl D_l. Unless published, the betas of a triangle sum to one: D_l = I everywhere gives D_k = I.
typedef struct sn_rotreg_key_gradients {
  int gradient_count, pose_count;
  sn_mat3 *sequence;                      // [gradient][pose]
  int (*index)[sn_rotreg_most_gradients]; // per triangle; -1 after the last
  double (*beta)[sn_rotreg_most_gradients];
} sn_rotreg_key_gradients;

// Coordinate descent from the proxy bones' linear parts.
sn_status sn_rotreg_key_gradients_fit(sn_context *ctx, sn_arena *memory, const sn_rotreg_data *data,
                                      const sn_rotreg_bones *bones, sn_rotreg_key_gradients *out);

// sum_l beta_kl D_l of triangle t for the values D_l of one pose.
sn_mat3 sn_rotreg_key_gradients_blend(const sn_rotreg_key_gradients *gradients, int t, const sn_mat3 *values);

#endif
