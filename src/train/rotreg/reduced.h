// SPDX-License-Identifier: MIT
// The reduced form (4.3, 5): everything that goes into a model.
#ifndef SINEW_TRAIN_ROTREG_REDUCED_H
#define SINEW_TRAIN_ROTREG_REDUCED_H

#include "train/rotreg/predictor.h"
#include "train/rotreg/bones.h"
#include "train/rotreg/torque.h"

typedef struct sn_rotreg_reduced {
  sn_rotreg_rotations rotations;
  sn_rotreg_bones bones;
  sn_rotreg_predictor *predictors; // one per bone
  sn_torque_model torque;          // pairs instead, where there are torques
  double *c;                       // [C1 C2], 4P x (3P + 4J), row-major
  sn_skin skin;                    // on the palette: joints, then proxy bones
} sn_rotreg_reduced;

typedef struct sn_rotreg_reduced_options {
  int bones; // proxy bones, 0: as many as `error` asks for
  double
    error; // largest rms distance that the proxy bones may leave in the training poses, in percent of the diagonal
  int influences;
  sn_rotreg_fit_options fit;
  const sn_torque_loads *loads; // torques of the training poses, or NULL
} sn_rotreg_reduced_options;

// Memory comes from `memory`, except the skins (free them with sn_skin_free).
sn_status sn_rotreg_reduced_train(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                                  const sn_rotreg_reduced_options *options, sn_rotreg_reduced *out);

#endif
