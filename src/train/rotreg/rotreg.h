// SPDX-License-Identifier: MIT
// Rotational regression as a model, with or without torques: what `rotreg` and `torque` have in common.
#ifndef SINEW_TRAIN_ROTREG_ROTREG_H
#define SINEW_TRAIN_ROTREG_ROTREG_H

#include "sinew/train.h"
#include "train/rotreg/reduced.h"

// Options of both methods.
#define ROTREG_OPTIONS                                                                                               \
  {"bones", SN_OPTION_INT, "0", 0, 1024, NULL, "proxy bones; 0: 80, or as many as `error` needs"},                   \
    {"error",                                                                                                        \
     SN_OPTION_REAL,                                                                                                 \
     "0",                                                                                                            \
     0,                                                                                                              \
     100,                                                                                                            \
     NULL,                                                                                                           \
     "instead of bones: rms distance the proxy bones may leave in training, % of the diagonal"},                     \
    {"joints", SN_OPTION_INT, "2", 1, rotreg_most_turns, NULL, "most joints of a predictor"},                        \
    {"influences", SN_OPTION_INT, "4", 1, 8, NULL, "most proxy bones of a vertex"},                                  \
    {"shade",                                                                                                        \
     SN_OPTION_CHOICE,                                                                                               \
     "recompute",                                                                                                    \
     0,                                                                                                              \
     0,                                                                                                              \
     "recompute|transform",                                                                                          \
     "normals from the deformed triangles, or by the blended matrix (smaller and faster)"},                          \
    {"psd", SN_OPTION_INT, "0", 0, 1, NULL, "1: pose-space corrections on top, so that training poses are met"}, {   \
    "full", SN_OPTION_INT, "0", 0, 1, NULL, "1: the unreduced form, as a reference row of compare"                   \
  }

// Trains the reduced form and builds its model; `loads` NULL: without torques.
sn_status rotreg_train(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples, const sn_keys *keys,
                       const torque_loads *loads, sn_model *out, sn_train_report *report);

bool rotreg_has_no_model(const sn_method_spec *spec);

#endif
