// SPDX-License-Identifier: MIT
// Rotational regression as a model, with or without torques: shared by `rotreg` and `torque`.
#ifndef SINEW_TRAIN_ROTREG_ROTREG_H
#define SINEW_TRAIN_ROTREG_ROTREG_H

#include "sinew/train.h"
#include "train/rotreg/reduced.h"

// The training task of both methods.
typedef struct sn_rotreg_task {
  const sn_rotreg_options *options;
  const sn_torque_loads *loads; // `torque` only; NULL: without torques
} sn_rotreg_task;

extern const sn_option sn_rotreg_option_table[]; // all options but `published`

// The options of the predictors' fit.
sn_rotreg_fit_options sn_rotreg_fit_options_of(const sn_rotreg_options *options);

// Fails for options that do not go with published=1.
sn_status sn_rotreg_check_published(sn_context *ctx, const sn_rotreg_options *options);

// Trains the reduced form and builds its model.
sn_status sn_rotreg_train(sn_context *ctx, const sn_rotreg_task *task, const sn_examples *examples,
                          const sn_keys *keys, sn_plan *plan, sn_train_report *report);

// The unreduced form (4.1, 4.2): trains it and evaluates it at the frames of `wanted`, in the examples' vertex order.
sn_status sn_rotreg_full(sn_context *ctx, const sn_rotreg_task *task, const sn_examples *examples,
                         const sn_keys *keys, const sn_keys *wanted, sn_frames *out);

// ---- the model -----------------------------------------------------------------------------------------------------

// A trained regression as the drive of a plan.
typedef struct sn_rotreg_drive {
  const sn_examples *examples;
  const sn_keys *keys;
  const sn_rotreg_reduced *reduced;
  const sn_torque_loads *loads; // NULL: without torques
} sn_rotreg_drive;

sn_status sn_rotreg_describe(sn_context *ctx, const sn_rotreg_drive *drive, sn_plan *plan);

#endif
