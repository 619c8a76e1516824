// SPDX-License-Identifier: MIT
#ifndef SINEW_RIG_SMOOTH_H
#define SINEW_RIG_SMOOTH_H

#include "rig/solver.h"
#include "sinew/scene.h"

// The rigidness Laplacian of Le and Deng 2014 in its symmetric form, for the frames of `p`.
// `strength` is relative to the squared size of the mesh times the number of frames.
sn_status rig_smooth_build(sn_context *ctx, sn_arena *memory, const sn_mesh *rest, const rig_problem *p,
                           double strength, rig_smooth *out);

#endif
