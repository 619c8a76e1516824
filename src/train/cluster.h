// SPDX-License-Identifier: MIT
// Bottom-up clustering of triangles by their motion (Wang 2007, 5.1; also the initialisation of Kim 2010): joins adjacent groups,
// cheapest first, down to one group. The tree can be cut at any number of groups.
#ifndef SINEW_TRAIN_CLUSTER_H
#define SINEW_TRAIN_CLUSTER_H

#include "sinew/scene.h"

// Ridge on linear parts that a flat group does not determine, relative to the mean diagonal. rotreg uses it also for coefficients
// of groups other than the triangle's, and for anchors (per pose, in squared diagonals).
static const double sn_bone_ridge = 1e-2;

// The ridge of what only has to exceed rounding.
static const double sn_bone_rounding = 1e-7;

typedef struct sn_cluster_tree {
  int leaf_count;  // triangles
  int (*joins)[2]; // leaf_count - 1, in order: joins the groups of these two triangles
  double *costs;   // of each join: min(E_A->B, E_B->A)
} sn_cluster_tree;

// T_A: the affine maps that fit the vertices of group A best. E_A->B: the squared error of A's vertices under T_B. A join costs
// min(E_A->B, E_B->A). Groups of different components are joined only when few groups are left.
sn_status sn_cluster_triangles(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                               sn_cluster_tree *out);

// Cuts the tree at `count` groups (all leaves if there are fewer): group_of[t] is in 0 .. *group_count - 1, numbered by first
// appearance.
sn_status sn_cluster_cut(sn_context *ctx, const sn_cluster_tree *tree, int count, int *group_of, int *group_count);

#endif
