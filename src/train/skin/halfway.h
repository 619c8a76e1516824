// SPDX-License-Identifier: MIT
// Mohr and Gleicher 2003, "Building efficient, accurate character skins from examples": joints added to a skeleton so
// that a linear blend can twist and bulge.
#ifndef SINEW_TRAIN_SKIN_HALFWAY_H
#define SINEW_TRAIN_SKIN_HALFWAY_H

#include "train/train.h"

// Adds extra joints to the plan: for every joint with a parent one that rotates half-way, and some that scale up and down across
// the bones on either side as the joint bends. `out`: the palette of joints and extra joints at every pose.
sn_status sn_halfway_palette(sn_context *ctx, const sn_examples *examples, sn_plan *plan, sn_poses *out);

#endif
