// SPDX-License-Identifier: MIT
// The skeleton during the fit: tree, joints, and the motion with exact joints.
#ifndef SINEW_RIG_TREE_H
#define SINEW_RIG_TREE_H

#include "fit/weights.h"
#include "rig/body.h"

typedef struct rig_tree {
  int bones, root;
  int *parent;        // -1 for a root; several roots may exist and move freely
  int *order;         // parents before children
  double (*joint)[3]; // C_j: joint of bone j and its parent in the rest pose; for a root the centroid of its vertices
  double (*skin)[3];  // C0_j: centroid of the vertices that bone j and its parent share, moved inside the body
  rig_ball *around;   // 2 per bone: balls around C_j and C0_j, see sn_rig_inside_known
  const rig_body *body; // NULL: the mesh has no inside
} rig_tree;

// The weighted centroid of the vertices that j and k share; of j's vertices where they share none.
void sn_rig_shared_middle(const fit_model *m, int j, int k, double out[3]);
// C_jk: (sum dR^T dR + mu F I) C = - sum dR^T dT + mu F C0. Returns sum_f |dR C + dT|^2 + mu F |C - C0|^2 at the solution.
double sn_rig_joint_position(const fit_model *m, int j, int k, double mu, const double start[3], double out[3]);

int sn_rig_joints_outside(const rig_tree *tree);
// The first point inside the body on the line from joint j to C0_j or to the nearest medial point, whichever is closer.
// False: there is none.
bool sn_rig_joint_inside(const rig_tree *tree, int j, double out[3]);
sn_status sn_rig_tree_new(sn_context *ctx, sn_arena *memory, int capacity, rig_tree *out);

// Both need capacity for from->bones.
void sn_rig_tree_copy(const rig_tree *from, rig_tree *to);

// Topology and joints from free bones (Le and Deng 2014): the minimum spanning tree of the joint cost over the weight
// overlap; the root is its middle bone. Needs m->pair.
sn_status sn_rig_tree_build(sn_context *ctx, const fit_model *m, rig_tree *tree);

// Makes the middle bone of the present tree the root. Does not change the motion. Needs m->pair.
void sn_rig_tree_settle_root(const fit_model *m, rig_tree *tree);

// Add or remove one bone without rebuilding the tree. Both need m->pair. Call `add` after the model got its last bone, `remove`
// before bone j leaves the model.
void sn_rig_tree_add(const fit_model *m, rig_tree *tree);
void sn_rig_tree_remove(const fit_model *m, rig_tree *tree, int j);

// Rotations and root translations of every frame, with exact joints, by Gauss-Newton steps. Needs the moments of m and
// updates them. `locked` bones (may be NULL) keep their motion.
sn_status sn_rig_tree_fit(sn_context *ctx, fit_model *m, const rig_tree *tree, int steps, const bool *locked);

// Joint positions for fixed rotations. Needs the moments and updates them.
sn_status sn_rig_tree_move_joints(sn_context *ctx, fit_model *m, rig_tree *tree);

#endif
