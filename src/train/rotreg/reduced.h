// SPDX-License-Identifier: MIT
// The reduced form (4.3, 5): everything that goes into a model.
#ifndef SINEW_TRAIN_ROTREG_REDUCED_H
#define SINEW_TRAIN_ROTREG_REDUCED_H

#include "train/rotreg/predictor.h"
#include "train/rotreg/bones.h"
#include "train/rotreg/torque.h"

typedef struct rotreg_reduced {
  rotreg_joints joints;
  rotreg_bones bones;
  rotreg_predictor *predictors; // one per bone
  torque_model torque;          // pairs instead, where there are torques
  double *c;                    // [C1 C2], 4P x (3P + 4J), row-major
  sn_skin skin;                 // on the palette: joints, then proxy bones
} rotreg_reduced;

typedef struct rotreg_reduced_options {
  int bones; // proxy bones, 0: as many as `error` asks for
  double
    error; // largest rms distance that the proxy bones may leave in the training poses, in percent of the diagonal
  int influences;
  rotreg_fit_options fit;
  const torque_loads *loads; // torques of the training poses, or NULL
} rotreg_reduced_options;

// Memory comes from `memory`, except the skins (free them with sn_skin_free).
sn_status rotreg_reduced_train(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                               const rotreg_reduced_options *options, rotreg_reduced *out);

#endif
