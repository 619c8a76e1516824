// SPDX-License-Identifier: MIT
// Between the caller's units and the solver's.
#ifndef SINEW_RIG_PROBLEM_H
#define SINEW_RIG_PROBLEM_H

#include "rig/solver.h"
#include "sinew/scene.h"

// x = (motion_f^-1(position) - centre) / scale
typedef struct rig_units {
  sn_vec3 centre;
  double scale;
  sn_affine *motion; // per frame: the rigid motion that takes the rest pose there best
} rig_units;

// The problem of frames chosen[0 .. count), in that order.
sn_status rig_problem_build(sn_context *ctx, sn_arena *memory, const sn_mesh *rest, const sn_frames *frames,
                            const int *chosen, int count, rig_units *units, rig_problem *p);

// Fills the order of a problem whose u are set.
sn_status rig_problem_order(sn_context *ctx, sn_arena *memory, rig_problem *p);

// Fills the moments of a problem whose x and u are set.
sn_status rig_problem_moments(sn_context *ctx, sn_arena *memory, rig_problem *p);

// A skinning matrix of frame f into the solver's units and back. Rigid maps stay rigid.
sn_affine rig_to_units(const rig_units *units, int f, sn_affine t);
sn_affine rig_from_units(const rig_units *units, int f, sn_affine t);

sn_affine rig_bone(const rig_model *m, int j, int f);
void rig_set_bone(rig_model *m, int j, int f, sn_affine a);

// An order of the frames that depends on their contents only, so that permuting them permutes the result exactly.
typedef struct rig_sort_key {
  const void *bytes;
  size_t size;
  int frame;
} rig_sort_key;
sn_status rig_sort_frames(sn_context *ctx, const sn_frames *frames, int *order);

#endif
