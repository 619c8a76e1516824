// SPDX-License-Identifier: MIT
// Vertex reduction (5.1): proxy bones, the vertices' weights on them, and the bones' matrices in the training poses.
#ifndef SINEW_TRAIN_ROTREG_BONES_H
#define SINEW_TRAIN_ROTREG_BONES_H

#include "sinew/scene.h"
#include "train/cluster.h"
#include "train/rotreg/predictor.h"

typedef struct sn_rotreg_bones {
  int bone_count, pose_count;
  int *group_of;     // per triangle
  bool *adjacent;    // [bone][bone]: groups with a common edge, and every group with itself
  sn_vec3 *centre;   // of the group, in the rest pose
  sn_affine *matrix; // [pose][bone]: takes p - centre to the pose
  sn_skin skin;      // `joints` are bones; free with sn_skin_free
  double *error;     // per vertex: mean squared distance in the training poses
} sn_rotreg_bones;

// Where the tree is cut into bones.
typedef struct sn_rotreg_cut {
  const sn_cluster_tree *tree;
  int count, influences;
} sn_rotreg_cut;

// Weights and matrices in alternation, from the groups of the cut.
sn_status sn_rotreg_bones_fit(sn_context *ctx, sn_arena *memory, const sn_rotreg_data *data, const sn_rotreg_cut *cut,
                              sn_rotreg_bones *out);

#endif
