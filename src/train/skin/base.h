// SPDX-License-Identifier: MIT
// The base of a model: the skin on the joints, before any correction. Candidates, and the choice among them by cross-validation.
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
  SN_BASE_FREE,           // weights without a prior, on the relevant joints of bone heat or, where it fails, on any
  SN_BASE_KINDS
} sn_base_kind;

// In words, for reports.
const char *sn_base_name(sn_base_kind kind);

// The candidates that these examples and options allow, simplest first. Returns how many.
int sn_base_candidates(const sn_skin_options *o, const sn_examples *examples, sn_base_kind out[SN_BASE_KINDS]);

// The skin of a candidate, learned from the frames of task->keys alone.
sn_status sn_base_fit(sn_context *ctx, const sn_skin_task *task, sn_base_kind kind, sn_skin *out);

// ---- cross-validation -----------------------------------------------------------------------------------------------

// What cross-validation runs on: some vertices and some frames of the examples, spread evenly, and its folds. `examples` has no
// triangles; its frames are those of `keys`, all of them.
typedef struct sn_base_sample {
  sn_examples examples;
  sn_keys keys;
  int *vertices; // of the whole mesh
  int *frames;   // of all examples
  sn_folds folds;
  double rigid; // squared residual of the best single joints, over all keys: what enveloping errors are relative to
} sn_base_sample;

// At most `most` of `count`, spread evenly.
int *sn_spread(sn_context *ctx, sn_arena *memory, int count, int most, int *chosen);

// `memory` owns the result.
sn_status sn_base_sample_make(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                              sn_base_sample *out);

// The squared residual of the best single joints over the keys.
sn_status sn_rigid_error(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                         double *out);

// The candidate with the least cross-validated error; ties within a hundredth go to the simplest. The report (may be NULL)
// gets all of them.
sn_status sn_base_choose(sn_context *ctx, const sn_skin_task *task, sn_base_kind *out, sn_train_report *report);

#endif
