// SPDX-License-Identifier: MIT
// Proxy bones: affine motions of groups of triangles (Wang 2007, 5.1; Kim 2010, 3.1), whose skin `rotreg` and `affine` fit each in
// its way.
#ifndef SINEW_TRAIN_PROXY_H
#define SINEW_TRAIN_PROXY_H

#include "sinew/scene.h"

typedef struct sn_proxy_bones {
  const sn_examples *examples;
  const sn_keys *keys;         // whose frames are the poses
  const sn_topology *topology; // vertices in no triangle do not count; NULL: all count
  int bone_count, *group_of;   // bones; the bone of every triangle at the start
  sn_vec3 *centre;             // rest pose: of the bone's triangles, later of its weights
  sn_affine *motion;           // [pose][bone]: from the rest pose to the pose
  sn_skin skin;                // `joints` are bones; free with sn_skin_free
} sn_proxy_bones;

static inline sn_affine *sn_proxy_motions(const sn_proxy_bones *b, int pose) {
  return b->motion + (size_t)pose * (size_t)b->bone_count;
}

// Vertex i in a pose of the training.
static inline sn_vec3 sn_proxy_target(const sn_proxy_bones *b, int pose, int i) {
  return sn_vec3_from(sn_frame(&b->examples->frames, b->keys->frames[pose])[i]);
}

// The best rigid motions of the corners of each group's triangles.
sn_status sn_proxy_start(sn_context *ctx, sn_arena *memory, sn_proxy_bones *b);

// Motions at fixed weights by least squares, as a step from the present ones; the ridge keeps linear parts near them that the
// vertices do not determine (relative to the mean diagonal).
sn_status sn_proxy_refit(sn_context *ctx, const sn_proxy_bones *b, double ridge);

// What the bones leave of vertex i.
sn_vec3 sn_proxy_residual(const sn_proxy_bones *b, int pose, int i);

#endif
