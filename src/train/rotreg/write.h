// SPDX-License-Identifier: MIT
// A trained rotational regression in the plan of a model.
#ifndef SINEW_TRAIN_ROTREG_WRITE_H
#define SINEW_TRAIN_ROTREG_WRITE_H

#include "train/rotreg/reduced.h"

// A trained regression as the drive of a plan.
typedef struct sn_rotreg_drive {
  const sn_examples *examples;
  const sn_keys *keys;
  const sn_rotreg_reduced *reduced;
  const sn_torque_loads *loads; // NULL: without torques
  const float *centre;          // NULL: learned about the origin
} sn_rotreg_drive;

sn_status sn_rotreg_describe(sn_context *ctx, const sn_rotreg_drive *drive, sn_plan *plan);

#endif
