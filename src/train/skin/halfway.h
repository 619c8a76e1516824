// SPDX-License-Identifier: MIT
// Mohr and Gleicher 2003, "Building efficient, accurate character skins from examples": joints added to a skeleton so
// that a linear blend can twist and bulge.
#ifndef SINEW_TRAIN_SKIN_HALFWAY_H
#define SINEW_TRAIN_SKIN_HALFWAY_H

#include "sinew/model.h"

// For every joint with a parent: one extra joint that rotates half-way, and extra joints that scale up and down across
// the bones on either side as the joint bends.
sn_status sn_halfway_joints(sn_context *ctx, const sn_skeleton *skeleton, sn_arena *memory, sn_extra_joint **out,
                            int *count);

// The palette of joints and extra joints at every pose, as the runtime computes it.
sn_status sn_halfway_palette(sn_context *ctx, const sn_examples *examples, const sn_model_desc *desc, sn_poses *out);

#endif
