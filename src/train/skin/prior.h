// SPDX-License-Identifier: MIT
// Skinning weights that stay near a prior, the skin that came with the rig, as far as the examples do not know better.
#ifndef SINEW_TRAIN_SKIN_PRIOR_H
#define SINEW_TRAIN_SKIN_PRIOR_H

#include "train/skin/blend.h"

typedef struct sn_prior_options {
  int influences;
  double
    strength; // lambda, of the ridge at the prior, relative to what the joints near a vertex differ by; 0: chosen
} sn_prior_options;

// Weights of `blend` on the joints near each vertex: least squares over the keys, with a ridge at `prior` that poses left out
// choose. `out` has options->influences per vertex. `expected`: the enveloping error on poses left out, 0 where the strength is given.
sn_status sn_prior_fit(sn_context *ctx, const sn_blend *blend, const sn_skin *prior, const sn_prior_options *options,
                       sn_skin *out, double *expected);

// The enveloping error of a skin that no frames have changed, from some of its vertices: the same on any motion of this kind.
void sn_prior_expected(const sn_blend *blend, const sn_skin *skin, double *expected);

// The blend by which a skin leaves less, of linear and dual-quaternion ones, and what it leaves. `turns` NULL: linear.
sn_status sn_prior_better_blend(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                                const sn_skin *skin, sn_turn **turns, double *left);

#endif
