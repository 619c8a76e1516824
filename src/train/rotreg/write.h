// SPDX-License-Identifier: MIT
// Writes a trained rotational regression as a model.
#ifndef SINEW_TRAIN_ROTREG_WRITE_H
#define SINEW_TRAIN_ROTREG_WRITE_H

#include "train/rotreg/reduced.h"

// A trained predictor and what its model is made of.
typedef struct sn_rotreg_plan {
  const sn_examples *examples;
  const sn_keys *keys;
  const sn_rotreg_reduced *reduced;
  const sn_torque_loads *loads; // NULL: without torques
  const float *centre;          // NULL: learned about the origin
  sn_rt_shade shade;
} sn_rotreg_plan;

// The model; `memory` is temporary.
sn_status sn_rotreg_build(sn_context *ctx, sn_arena *memory, const sn_rotreg_plan *plan, sn_model *out);

#endif
