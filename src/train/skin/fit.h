// SPDX-License-Identifier: MIT
// Skinning weights by least squares, with a ridge towards the weights of a prior.
#ifndef SINEW_TRAIN_SKIN_FIT_H
#define SINEW_TRAIN_SKIN_FIT_H

#include "train/skin/blend.h"

// SN_FIT_RIDGE: a regular ridge. SN_FIT_FREE: for joints that were themselves found from the frames; the prior only
// decides what the frames do not determine.
typedef enum sn_fit_prior { SN_FIT_RIDGE, SN_FIT_FREE } sn_fit_prior;

// Fits the weights of `blend` on the relevant joints of each vertex (near.h, by the weights of `prior`): minimises the
// squared residual over the keys plus the ridge. `out` has `influences` per vertex.
sn_status sn_skin_fit(sn_context *ctx, const sn_blend *blend, const sn_skin *prior, sn_fit_prior kind, int influences,
                      sn_skin *out);

#endif
