// SPDX-License-Identifier: MIT
// A skeleton over the bones: a tree whose edges are ball joints.
#ifndef SINEW_RIG_TREE_H
#define SINEW_RIG_TREE_H

#include "rig/solver.h"

typedef struct rig_tree {
  int bones, root;
  int *parent;        // -1 for a root, of which there may be several: they move freely
  int *order;         // parents before children
  double (*joint)[3]; // C_j: where bone j meets its parent in the rest pose; for the root the middle of its vertices
  double (*skin)[3];  // C0_j: the middle of the vertices that both share
} rig_tree;

sn_status rig_tree_new(sn_context *ctx, sn_arena *memory, int capacity, rig_tree *out);

// Both were made for at least as many bones.
void rig_tree_copy(const rig_tree *from, rig_tree *to);

// Topology and joints from free bones (Le and Deng 2014): the minimum spanning tree of the joint cost over the weight
// overlap, and the root whose motion alone explains the mesh best. Needs m->pair.
sn_status rig_tree_build(sn_context *ctx, const rig_model *m, rig_tree *tree);

// Rotations and the roots' translations of every frame, joints exact, by Gauss-Newton steps. Needs the moments of m's
// present bones, and keeps them right. `locked` bones (may be NULL) keep their motion.
sn_status rig_tree_fit(sn_context *ctx, rig_model *m, const rig_tree *tree, int steps, const bool *locked);

// Joint positions for the present rotations. Needs the moments, and keeps them right.
sn_status rig_tree_move_joints(sn_context *ctx, rig_model *m, rig_tree *tree);

#endif
