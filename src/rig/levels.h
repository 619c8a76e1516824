// SPDX-License-Identifier: MIT
// The solve from coarse to fine.
#ifndef SINEW_RIG_LEVELS_H
#define SINEW_RIG_LEVELS_H

#include "rig/solver.h"
#include "rig/tree.h"

typedef struct rig_plan {
  int bones, limit;
  bool tree, affine;
  int iterations;           // most rounds over all the data
  int effort;               // 1 to 3: how many moves out of local minima are tried
  const rig_smooth *smooth; // for all the data; NULL: none
} rig_plan;

// Bones, weights and (plan->tree) skeleton for problem p. `m` and `tree` live in `memory`. m->bones may be fewer than
// planned where the data does not support more. `rounds` counts the rounds over all the data.
sn_status rig_solve(sn_context *ctx, sn_arena *memory, const rig_problem *p, const rig_plan *plan, rig_model *m,
                    rig_tree *tree, int *rounds);

#endif
