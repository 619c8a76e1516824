// SPDX-License-Identifier: MIT
// Writes a trained rotational regression as a model.
#ifndef SINEW_TRAIN_ROTREG_WRITE_H
#define SINEW_TRAIN_ROTREG_WRITE_H

#include "train/rotreg/reduced.h"

// The model of a trained predictor; `loads` NULL: without torques, `centre` NULL: learned about the origin. `memory` is
// temporary.
sn_status sn_rotreg_build(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                          const sn_rotreg_reduced *r, const sn_torque_loads *loads, const float centre[3],
                          sn_rt_shade shade, sn_model *out);

#endif
