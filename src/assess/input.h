// SPDX-License-Identifier: MIT
// The runtime's input for a frame of the examples, joints matched by name.
#ifndef SINEW_ASSESS_INPUT_H
#define SINEW_ASSESS_INPUT_H

#include "sinew/model.h"
#include "sinew/scene.h"

typedef struct assess_input {
  const sn_rt_model *model;
  const sn_examples *examples;
  int *joint_of;   // the skeleton's joint for each of the model's
  int *control_of; // the examples' vertex for each of the model's control points
} assess_input;

static inline size_t sn_align64(size_t size) { return (size + 63) / 64 * 64; }

// Fails, saying what is missing, where the examples lack what drives the model.
sn_status sn_assess_input_new(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples,
                              sn_arena *memory, assess_input *out);
size_t sn_assess_input_size(const assess_input *input);
// The input of frame f, made in `buffer` (sn_assess_input_size bytes).
sn_rt_input sn_assess_input(const assess_input *input, int f, void *buffer);

#endif
