// SPDX-License-Identifier: MIT
#ifndef SINEW_TRAIN_ROTREG_TUNE_H
#define SINEW_TRAIN_ROTREG_TUNE_H

#include "train/rotreg/predictor.h"
#include "train/folds.h"

// Chooses options->freedom, shear_pull and tilt_pull: those whose predictors miss the poses left out least, over `count`
// sequences of joints->pose_count gradients each.
sn_status rotreg_tune(sn_context *ctx, const rotreg_joints *joints, const sn_folds *folds, const sn_mat3 *sequences,
                      int count, rotreg_fit_options *options);

// A worker's part of scratch memory of `size` bytes each (rotreg_work_size).
rotreg_work *rotreg_work_of(char *work, size_t size, int worker);

#endif
