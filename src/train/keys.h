// SPDX-License-Identifier: MIT
// --keys auto:N: the frames from which functions of the pose predict the vertices of the others best.
#ifndef SINEW_TRAIN_KEYS_H
#define SINEW_TRAIN_KEYS_H

#include "sinew/train.h"

// Widths of the functions of the pose that vertices may follow.
enum { SN_KEY_WIDTHS = 2 };

// Vertices that are carried by the same joint. The matrices are of all pairs of frames.
typedef struct sn_key_set {
  double *kernels[SN_KEY_WIDTHS]; // of those functions
  double *missed;                 // products of the skin's residuals
} sn_key_set;

typedef struct sn_key_sets {
  int frame_count, count;
  sn_key_set *sets;
} sn_key_sets;

// Of the frames of `among`; without frames of these poses. Sets with hardly any residual are dropped.
sn_status sn_key_sets_make(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *among,
                           sn_key_sets *out);

// Marks `wanted` of the frames.
sn_status sn_key_sets_choose(sn_context *ctx, const sn_key_sets *sets, int wanted, bool *chosen);

#endif
