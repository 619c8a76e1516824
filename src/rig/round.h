// SPDX-License-Identifier: MIT
#ifndef SINEW_RIG_ROUND_H
#define SINEW_RIG_ROUND_H

#include "rig/solver.h"
#include "rig/tree.h"

// How a model is fitted.
typedef struct rig_way {
  rig_tree *tree; // NULL: free bones
  bool affine;
  const rig_smooth *smooth; // NULL: none
} rig_way;

// One round: bones (and joints) for the present weights, then weights. Needs the moments, and leaves those of the result.
// With `extrapolate` the bones go on by as much again as they have moved since the last round; where that does not lower
// the error it is taken back.
sn_status rig_round(sn_context *ctx, rig_model *m, const rig_way *way, rig_support mode, bool extrapolate);

// To be called when bones were added, removed or replaced: what they did before means nothing.
static inline void rig_forget_trail(rig_model *m) { m->trail_age = -1; }

#endif
