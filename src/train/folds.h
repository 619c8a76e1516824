// SPDX-License-Identifier: MIT
// Cross-validation: folds of poses that are held out in turn, and the choice of a setting by the error on them.
#ifndef SINEW_TRAIN_FOLDS_H
#define SINEW_TRAIN_FOLDS_H

#include "sinew/scene.h"

typedef struct sn_fold {
  int *poses;               // those to learn from, then those held out
  int outside_count, count; // learned from; both together. The poses of a fold without others are on both sides
} sn_fold;

typedef struct sn_folds {
  int fold_count;
  sn_fold *folds;
  int *fold_of; // the fold that holds out a pose; negative: none
} sn_folds;

enum { sn_usual_folds = 5 };

// Pose k is held out with fold_of[k], 0 <= fold_of[k] < fold_count; in none where that is negative. No fold may be empty.
sn_status sn_folds_make(sn_context *ctx, sn_arena *memory, int pose_count, const int *fold_of, int fold_count,
                        sn_folds *out);

// The cross-validation of everything that is chosen. Similar poses are held out together: poses of a clip nearer than a
// quarter of its rms distance form a cluster (single linkage), and clusters are dealt to five folds at random; a clip
// of fewer clusters is cut into five runs of frames.
typedef struct sn_fold_poses {
  int count, dims;
  const double *vectors; // count * dims
  const int *clip_of;    // NULL: one clip
} sn_fold_poses;
sn_status sn_folds_of_poses(sn_context *ctx, sn_arena *memory, const sn_fold_poses *poses, sn_folds *out);
// The same for the frames of `keys`: clips of the examples, local rotations of the joints; without joints, where the vertices are.
sn_status sn_folds_of_keys(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                           sn_folds *out);
// The same, but frames at the rest pose are never held out: every method reproduces them. Where fewer than two others would be
// left to learn from, a single fold has all frames on both sides.
sn_status sn_folds_of_moved(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                            sn_folds *out);

// Calls body for every fold, several at a time, each with a context and memory of its own. Fails as the first that failed.
typedef sn_status (*sn_fold_fn)(sn_context *ctx, sn_arena *memory, void *user, int fold);
sn_status sn_folds_run(sn_context *ctx, const sn_folds *folds, sn_fold_fn body, void *user);
// The same where the processes of a team have a part of the folds each; body(..., n) writes result n of `size` bytes, and
// afterwards all of them have all results.
sn_status sn_folds_share(sn_context *ctx, const sn_folds *folds, sn_fold_fn body, void *user, void *results,
                         size_t size);

// The first of `count` settings, simplest first, whose error is at most `tolerance` times the least: a setting that is not
// simpler has to be worth it, in general SN_WORTH_IT: by a hundredth.
#define SN_WORTH_IT (1 / 0.99)
int sn_simplest(const double *errors, int count, double tolerance);

#endif
