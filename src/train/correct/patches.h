// SPDX-License-Identifier: MIT
// Patches of the surface: vertices that are near each other and have similar weights. The displacement fields of a
// patch move its vertices alone.
#ifndef SINEW_TRAIN_CORRECT_PATCHES_H
#define SINEW_TRAIN_CORRECT_PATCHES_H

#include "train/correct/correct.h"

// The patch of every vertex (patch_of, vertex_count): k-means on the position over the diagonal and 0.3 times the
// weights (METHODS.md), from `count` boxes, of whole blocks of eight vertices that the skin lets share a block. Returns
// how many patches have vertices in *count.
sn_status sn_patches_make(sn_context *ctx, const sn_residuals *m, const float (*positions)[3], int *count,
                          int *patch_of);

#endif
