// SPDX-License-Identifier: MIT
// Cross-validation: folds of held-out poses, and the choice of a setting by the validation error.
#ifndef SINEW_TRAIN_FOLDS_H
#define SINEW_TRAIN_FOLDS_H

#include "sinew/scene.h"

typedef struct sn_fold {
  int *poses;               // training poses, then held-out poses
  int outside_count, count; // training poses; all. A single fold trains and validates on the same poses
} sn_fold;

typedef struct sn_folds {
  int fold_count;
  sn_fold *folds;
  int *fold_of; // the fold in which a pose is held out; negative: none
} sn_folds;

enum { sn_usual_folds = 5 };

// Pose k is held out in fold fold_of[k] < fold_count; negative: never. No fold may be empty.
sn_status sn_folds_make(sn_context *ctx, sn_arena *memory, int pose_count, const int *fold_of, int fold_count,
                        sn_folds *out);

// The folds of all choices. Holds out similar poses together: poses of a clip nearer than a quarter of its rms distance form a
// cluster (single linkage), and clusters are assigned to five folds at random. A clip with fewer than five clusters is cut into
// five runs of frames.
typedef struct sn_fold_poses {
  int count, dims;
  const double *vectors; // count * dims
  const int *clip_of;    // NULL: one clip
} sn_fold_poses;
sn_status sn_folds_of_poses(sn_context *ctx, sn_arena *memory, const sn_fold_poses *poses, sn_folds *out);
// The same for the frames of `keys`: by the clips of the examples and the local rotations (without joints: vertex positions).
sn_status sn_folds_of_keys(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                           sn_folds *out);
// The same, but frames at the rest pose are never held out: every method reproduces them. Where fewer than two others would be
// left to learn from, a single fold has all frames on both sides.
sn_status sn_folds_of_moved(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                            sn_folds *out);

// Calls `body` for all folds in parallel, each with a separate context and memory. Returns the first error.
typedef sn_status (*sn_fold_fn)(sn_context *ctx, sn_arena *memory, void *user, int fold);
sn_status sn_folds_run(sn_context *ctx, const sn_folds *folds, sn_fold_fn body, void *user);
// The same with the folds divided among the processes of a team: body(..., n) writes result n of `size` bytes; then all
// processes get all results.
sn_status sn_folds_share(sn_context *ctx, const sn_folds *folds, sn_fold_fn body, void *user, void *results,
                         size_t size);

// The first of `count` settings, ordered from simple to complex, whose error is at most `tolerance` times the least. Default
// SN_WORTH_IT: a more complex setting must lower the error by 1 %.
#define SN_WORTH_IT (1 / 0.99)
int sn_simplest(const double *errors, int count, double tolerance);

#endif
