// SPDX-License-Identifier: MIT
// The base of a model: the skin on the joints, before any correction. Cross-validation chooses among candidates.
#ifndef SINEW_TRAIN_SKIN_BASE_H
#define SINEW_TRAIN_SKIN_BASE_H

#include "train/folds.h"
#include "train/train.h"

// Simplest first.
typedef enum sn_base_kind {
  SN_BASE_FILE,           // the file's weights
  SN_BASE_SKELETON,       // weights from the skeleton and the surface (bone heat)
  SN_BASE_LARGEST,        // one joint per vertex: that of the file's largest weight
  SN_BASE_RIGID,          // the best single joint of every vertex
  SN_BASE_REFIT,          // the file's weights, refitted
  SN_BASE_SKELETON_REFIT, // weights from the skeleton, refitted
  SN_BASE_FREE, // weights without a prior, on the relevant joints of bone heat, or on any joint if bone heat fails
  SN_BASE_KINDS
} sn_base_kind;

// The candidate's name in reports.
const char *sn_base_name(sn_base_kind kind);

// The candidates that these examples and options allow, simplest first. Returns their number.
int sn_base_candidates(const sn_skin_options *o, const sn_examples *examples, sn_base_kind out[SN_BASE_KINDS]);

// Fits the skin of a candidate to the frames of task->keys alone.
sn_status sn_base_fit(sn_context *ctx, const sn_skin_task *task, sn_base_kind kind, sn_skin *out);

// ---- cross-validation -----------------------------------------------------------------------------------------------

// The sample that cross-validation runs on: an even selection of vertices and frames, with its folds. `examples` has no
// triangles, and its frames are exactly those of `keys`.
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

// `memory` owns the result.
sn_status sn_base_sample_make(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                              sn_base_sample *out);

// The squared error of the best single joint of every vertex, over the keys.
sn_status sn_rigid_error(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                         double *out);

// The candidate with the least cross-validated error; a simpler one wins if it is within one per cent. All of them go
// to the report (may be NULL).
sn_status sn_base_choose(sn_context *ctx, const sn_skin_task *task, sn_base_kind *out, sn_train_report *report);

#endif
