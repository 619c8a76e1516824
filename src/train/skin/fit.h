// SPDX-License-Identifier: MIT
// Skinning weights by least squares, with a ridge towards the weights of a prior.
#ifndef SINEW_TRAIN_SKIN_FIT_H
#define SINEW_TRAIN_SKIN_FIT_H

#include "train/skin/blend.h"

// Fits the weights of `blend` on the relevant joints of each vertex (near.h, by the weights of `prior`): minimises the
// squared residual over the keys plus the ridge, relative to the frames' information. `out` has `influences` per vertex.
sn_status sn_skin_fit(sn_context *ctx, const sn_blend *blend, const sn_skin *prior, double ridge, int influences,
                      sn_skin *out);

#endif
