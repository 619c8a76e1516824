// SPDX-License-Identifier: MIT
// Rotational regression as a model, with or without torques: what `rotreg` and `torque` have in common.
#ifndef SINEW_TRAIN_ROTREG_ROTREG_H
#define SINEW_TRAIN_ROTREG_ROTREG_H

#include "sinew/train.h"
#include "train/rotreg/reduced.h"

// Options of both methods.
typedef struct sn_rotreg_options {
  int bones;       // proxy bones; 0: the default, or as `error` asks
  double error;    // see sn_rotreg_reduced_options
  int most_joints; // most joints of a predictor
  int influences;  // most proxy bones of a vertex
  enum { sn_rotreg_recompute, sn_rotreg_transform } shade;
  bool psd;                     // corrections on top
  bool full;                    // the unreduced form, which has no model
  bool published;               // as printed, without what Sinew adds
  const sn_torque_loads *loads; // set by `torque`; NULL: without torques
} sn_rotreg_options;

extern const sn_option sn_rotreg_option_table[]; // without `published`

// What the options ask of the predictors' fit.
sn_rotreg_fit_options sn_rotreg_fit_options_of(const sn_rotreg_options *options);

// Refuses options that published=1 does not know.
sn_status sn_rotreg_check_published(sn_context *ctx, const sn_rotreg_options *options);

// Trains the reduced form by sn_rotreg_options and builds its model.
sn_status sn_rotreg_train(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                          sn_plan *plan, sn_train_report *report);

// The unreduced form (4.1, 4.2): trained, and evaluated at the frames of `wanted` in the examples' vertex order.
sn_status sn_rotreg_full(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                         const sn_keys *wanted, sn_frames *out);

#endif
