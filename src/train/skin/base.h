// SPDX-License-Identifier: MIT
// The base of a model: the skin on the joints, before any correction; and the sample that cross-validation runs on.
#ifndef SINEW_TRAIN_SKIN_BASE_H
#define SINEW_TRAIN_SKIN_BASE_H

#include "train/folds.h"
#include "train/train.h"

// The file has weights on more than one joint.
bool sn_skin_has_prior(const sn_examples *examples);

// Every vertex on its best single joint.
sn_status sn_rigid_skin(sn_context *ctx, const sn_examples *examples, const sn_keys *keys, sn_skin *out);

// Says in the report which weights these are.
void sn_skin_describe(const sn_skin_options *options, const sn_examples *examples, sn_train_report *report);

// The same, with their cross-validated error on a sample. `skin` is the result of sn_train_skin, `centres` (NULL: none) its
// centres of rotation, which hardly depend on the folds. `report` may be NULL.
sn_status sn_skin_validate(sn_context *ctx, const sn_skin_task *task, const sn_skin *skin, const float (*centres)[3],
                           sn_train_report *report);

// An even selection of vertices and frames, with its folds. `examples` has no triangles, and its frames are exactly those of
// `keys`.
typedef struct sn_base_sample {
  sn_examples examples;
  sn_keys keys;
  int *vertices; // indices in the whole mesh
  int *frames;   // indices in all examples
  sn_folds folds;
  double rigid; // squared error of the best single joints, over all keys: the denominator of enveloping errors
} sn_base_sample;

// At most `most` of `count`, spread evenly.
int *sn_spread(sn_context *ctx, sn_arena *memory, int count, int most, int *chosen);

// `memory` owns all of the result but its skin, which sn_base_sample_free frees.
sn_status sn_base_sample_make(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                              sn_base_sample *out);
void sn_base_sample_free(sn_base_sample *sample);

// The squared error of the best single joint of every vertex, over the keys.
sn_status sn_rigid_error(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                         double *out);

#endif
