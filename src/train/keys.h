// SPDX-License-Identifier: MIT
#ifndef SINEW_TRAIN_KEYS_H
#define SINEW_TRAIN_KEYS_H

#include "sinew/train.h"

// Exchanges frames of `chosen` (`wanted` of the first `frames`) for others from which the shapes of all are predicted better, by the turns of
// the joints. gram: products of the frames' shapes. Without a skeleton nothing changes.
sn_status sn_keys_exchange(sn_context *ctx, const sn_examples *examples, int frames, const double *gram, int wanted,
                           int *chosen);

#endif
