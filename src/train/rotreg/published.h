// SPDX-License-Identifier: MIT
// rotreg:published=1, sections 3 and 4 as printed: predictors exp(u W theta) with u >= 0 for the best joint and one more on the
// residual, scale and shear from the best joint and its parent, no free maps or tilts, edges that weigh alike, and a hard
// set F of vertices that follow linear blend skinning while nothing holds the others.
#ifndef SINEW_TRAIN_ROTREG_PUBLISHED_H
#define SINEW_TRAIN_ROTREG_PUBLISHED_H

#include "train/rotreg/anchor.h"
#include "train/rotreg/predictor.h"

sn_rotreg_fit_options sn_rotreg_published_options(void);

// F, near-rigid vertices: of those of a component of the mesh that follow one joint above all, the part that linear blend
// skinning (`blend`) fits best in the training poses.
sn_status sn_rotreg_hard_set(sn_context *ctx, const sn_examples *examples, const sn_topology *topology,
                             const sn_keys *keys, const sn_rotreg_anchors *blend, bool *fixed);

#endif
