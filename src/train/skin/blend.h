// SPDX-License-Identifier: MIT
// Positions of a vertex in the training poses by linear or dual-quaternion blending, and their derivatives by the weights.
#ifndef SINEW_TRAIN_SKIN_BLEND_H
#define SINEW_TRAIN_SKIN_BLEND_H

#include "sinew/runtime.h"
#include "train/pose_space.h"
#include "train/train.h"

// A joint's matrix as the runtime blends it: a stretch of the rest pose, then a rigid motion.
typedef struct joint_motion {
  sn_dualquat rigid;
  sn_affine stretch;
} joint_motion;

typedef struct sn_blend {
  const sn_examples *examples;
  const sn_keys *keys;
  const joint_motion *motions; // keys->count * joint_count; NULL for linear blending
  const float (*centres)[3];   // centres of rotation per vertex, rest pose (no derivatives then); NULL: none
} sn_blend;

// Fills in a blend of `kind` whose examples and keys are set. The frames of `references` give the joints' reference rotations.
sn_status sn_blend_make(sn_context *ctx, sn_arena *memory, sn_rt_blend kind, const sn_keys *references,
                        sn_blend *out);

// The squared error of a skin over all vertices and keys.
sn_status sn_blend_error(sn_context *ctx, const sn_blend *blend, const sn_skin *skin, double *out);

// The weights of one vertex.
typedef struct sn_blend_row {
  int count;
  const uint16_t *joints;
  const double *weights;
} sn_blend_row;

// The residual of vertex i in key k; `columns` (may be NULL) receives the derivatives by the weights. Weights sum to
// one, so a vector common to all columns has no effect.
sn_vec3 sn_blend_residual(const sn_blend *blend, int k, int i, const sn_blend_row *row, sn_vec3 *columns);

#endif
