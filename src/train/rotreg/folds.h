// SPDX-License-Identifier: MIT
// Poses left out in turn: what the learned parts are worth on poses they have not seen.
#ifndef SINEW_TRAIN_ROTREG_FOLDS_H
#define SINEW_TRAIN_ROTREG_FOLDS_H

#include "sinew/base.h"

enum { rotreg_most_folds = 5 };

typedef struct rotreg_fold {
  int *poses;               // those outside the fold, then those in it
  int outside_count, count; // a single pose is its own test: it is on both sides
} rotreg_fold;

typedef struct rotreg_folds {
  int fold_count;
  rotreg_fold *folds;
} rotreg_folds;

// Pose k is in fold k modulo their number, at most five.
sn_status rotreg_folds_make(sn_context *ctx, sn_arena *memory, int pose_count, rotreg_folds *out);

double rotreg_mean(const double *values, size_t count);
// What is added to mean squares before they are inverted into weights, so that no term counts for everything: `part` of
// their mean, and next to nothing of the mesh's size.
double rotreg_floor(const double *values, size_t count, double part, double diagonal);

#endif
