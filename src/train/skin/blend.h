// SPDX-License-Identifier: MIT
// Where weights take a vertex in the training poses, by linear or dual-quaternion blending, and how that changes with them.
#ifndef SINEW_TRAIN_SKIN_BLEND_H
#define SINEW_TRAIN_SKIN_BLEND_H

#include "sinew/runtime.h"
#include "train/pose_space.h"

// A joint's matrix as the runtime blends it: a rigid motion after a stretch of the rest pose.
typedef struct joint_motion {
  sn_dualquat rigid;
  sn_affine stretch;
} joint_motion;

typedef struct sn_blend {
  const sn_examples *examples;
  const sn_keys *keys;
  const joint_motion *motions; // keys->count * joint_count; NULL for linear blending
  bool stretched;              // some motion has a stretch
  const float (*centres)[3]; // of rotation, in the rest pose, per vertex: such a blend has no derivatives; NULL: none
} sn_blend;

// Fills in a blend of `kind` whose examples and keys are set; its reference rotations are of the frames of `references`.
sn_status sn_blend_make(sn_context *ctx, sn_arena *memory, sn_rt_blend kind, const sn_keys *references,
                        sn_blend *out);

// The squared residual of a skin over all vertices and keys.
sn_status sn_blend_error(sn_context *ctx, const sn_blend *blend, const sn_skin *skin, double *out);

// The weights of one vertex.
typedef struct sn_blend_row {
  int count;
  const uint16_t *joints;
  const double *weights;
} sn_blend_row;

// The residual of vertex i in key k; `columns` (may be NULL) get the derivatives by the weights. Weights sum
// to one, so a vector common to all columns is of no account.
sn_vec3 sn_blend_residual(const sn_blend *blend, int k, int i, const sn_blend_row *row, sn_vec3 *columns);

#endif
