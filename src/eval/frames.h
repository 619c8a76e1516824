// SPDX-License-Identifier: MIT
// Frames of a model as the runtime evaluates them, visited one by one instead of stored.
#ifndef SINEW_EVAL_FRAMES_H
#define SINEW_EVAL_FRAMES_H

#include "sinew/eval.h"

// What is called for frame k of the keys, in the vertex order of the rest file. Frames of a block of `grain` are visited in order
// by one thread.
typedef struct sn_visit {
  void (*body)(void *user, int k, const float (*positions)[3], const float (*normals)[3], int worker);
  void *user;
  int grain;
  bool normals; // else they are NULL
  bool shared;  // the blocks are divided among the processes of a team
} sn_visit;

sn_status sn_assess_visit(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples, const sn_keys *keys,
                          const sn_visit *visit);

#endif
