// SPDX-License-Identifier: MIT
// Bottom-up clustering of triangles that move together (Wang 2007, 5.1; also the start of Kim 2010): contiguous groups
// are joined in the order of what the join costs, down to one group, and the tree can be cut at any number of groups.
#ifndef SINEW_TRAIN_CLUSTER_H
#define SINEW_TRAIN_CLUSTER_H

#include "sinew/scene.h"

// Of linear parts that a flat group leaves open, relative to the mean diagonal; in rotreg also of coefficients of other groups
// than a triangle's own, and of anchors, per pose and in squared diagonals.
static const double sn_bone_ridge = 1e-2;

typedef struct sn_cluster_tree {
  int leaf_count;  // triangles
  int (*joins)[2]; // leaf_count - 1, in order: the groups that hold these two triangles become one
  double *costs;   // E_A->B of each join
} sn_cluster_tree;

// A group moves by the affine maps T that fit its vertices best. A join costs E_A->B, the error of A's vertices under B's maps, or
// E_B->A where that is less. Groups of different components are joined when few are left.
sn_status sn_cluster_triangles(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                               sn_cluster_tree *out);

// The groups when `count` are left (all leaves if there are fewer): group_of[t] is 0 .. returned number - 1, numbered by
// first appearance.
sn_status sn_cluster_cut(sn_context *ctx, const sn_cluster_tree *tree, int count, int *group_of, int *group_count);

#endif
