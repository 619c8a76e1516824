// SPDX-License-Identifier: MIT
// Rotational regression as a model, with or without torques: shared by `rotreg` and `torque`.
#ifndef SINEW_TRAIN_ROTREG_ROTREG_H
#define SINEW_TRAIN_ROTREG_ROTREG_H

#include "sinew/train.h"
#include "train/rotreg/reduced.h"

extern const sn_option sn_rotreg_option_table[]; // all options but `published`

// Trains the reduced form and builds its model; frees `t`.
sn_status sn_rotreg_train(sn_rotreg_training *t, sn_plan *plan, sn_train_report *report);

// The unreduced form (4.1, 4.2): trains it and evaluates it at the frames of `targets`, in the examples' vertex order;
// frees `t`.
sn_status sn_rotreg_full(sn_rotreg_training *t, const sn_keys *targets, sn_frames *out);

// A trained regression as the drive of a plan.
sn_status sn_rotreg_describe(const sn_rotreg_training *t, sn_plan *plan);

#endif
