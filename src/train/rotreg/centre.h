// SPDX-License-Identifier: MIT
// Scenes far from the origin: proxy bones are solved for in single precision, so they are learned, and evaluated, about a
// centre that moves with the first joint.
#ifndef SINEW_TRAIN_ROTREG_CENTRE_H
#define SINEW_TRAIN_ROTREG_CENTRE_H

#include "sinew/scene.h"

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

#endif
