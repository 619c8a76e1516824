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
  enum { sn_rotreg_clusters, sn_rotreg_meanshift } start;
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

// ---- scenes far from the origin ------------------------------------------------------------------------------------

// Proxy bones are solved for in single precision, so they are learned, and evaluated, about a centre that moves with the first
// joint.
typedef struct sn_rotreg_scene {
  bool far;
  float centre[3]; // c: the middle of the rest mesh
  sn_examples
    examples; // rest mesh and skeleton less c, frames and poses less where the first joint takes c; `far` only
} sn_rotreg_scene;

sn_status sn_rotreg_scene_make(sn_context *ctx, const sn_examples *examples, sn_rotreg_scene *out);
// What to learn from: the examples, or the scene's own where they are far away.
const sn_examples *sn_rotreg_scene_examples(const sn_rotreg_scene *scene, const sn_examples *examples);
// Frames of the scene back to where the examples have them; frame n is the examples' frame frames[n].
void sn_rotreg_scene_restore(const sn_rotreg_scene *scene, const sn_examples *examples, const int *frames,
                             sn_frames *out);
void sn_rotreg_scene_free(sn_rotreg_scene *scene);

// ---- the model -----------------------------------------------------------------------------------------------------

// A trained regression as the drive of a plan.
typedef struct sn_rotreg_drive {
  const sn_examples *examples;
  const sn_keys *keys;
  const sn_rotreg_reduced *reduced;
  const sn_torque_loads *loads; // NULL: without torques
  const float *centre;          // NULL: learned about the origin
} sn_rotreg_drive;

sn_status sn_rotreg_describe(sn_context *ctx, const sn_rotreg_drive *drive, sn_plan *plan);

#endif
