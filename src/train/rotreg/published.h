// SPDX-License-Identifier: MIT
// rotreg:published=1, sections 3 to 5 as printed: predictors exp(u W theta) with u >= 0 for the best joint and one more on the
// residual, scale and shear from the best joint and its parent, no free maps or tilts, edges of equal weight, a hard set F of
// vertices that follow linear blend skinning, clusters by E_A->B, key gradients from the proxy bones with free coefficients.
#ifndef SINEW_TRAIN_ROTREG_PUBLISHED_H
#define SINEW_TRAIN_ROTREG_PUBLISHED_H

#include "train/rotreg/anchor.h"
#include "train/rotreg/predictor.h"

sn_rotreg_fit_options sn_rotreg_published_options(void);

// F (4.2), near-rigid vertices: those whose error under linear blend skinning (`blend`) is below a threshold in the training
// poses, and the best one of every component, without which its place would be open.
sn_status sn_rotreg_hard_set(sn_context *ctx, const sn_examples *examples, const sn_topology *topology,
                             const sn_keys *keys, const sn_rotreg_anchors *blend, bool *fixed);

#endif
