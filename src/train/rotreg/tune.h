// SPDX-License-Identifier: MIT
#ifndef SINEW_TRAIN_ROTREG_TUNE_H
#define SINEW_TRAIN_ROTREG_TUNE_H

#include "train/rotreg/predictor.h"
#include "train/folds.h"

// Chooses options->map_ridge, shear_ridge and tilt_ridge: those whose predictors miss the poses left out least, over `count`
// sequences of rotations->pose_count gradients each.
sn_status sn_rotreg_tune(sn_context *ctx, const sn_rotreg_rotations *rotations, const sn_folds *folds,
                         const sn_mat3 *sequences, int count, const sn_rotreg_local *local,
                         sn_rotreg_fit_options *options);

// A worker's part of scratch memory of `size` bytes each (sn_rotreg_work_size).
sn_rotreg_work *sn_rotreg_work_of(char *work, size_t size, int worker);

#endif
