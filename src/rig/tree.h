// SPDX-License-Identifier: MIT
// A skeleton of bones that are being fitted: tree, joints, and the motion that keeps joints together.
#ifndef SINEW_RIG_TREE_H
#define SINEW_RIG_TREE_H

#include "fit/weights.h"
#include "rig/body.h"

typedef struct rig_tree {
  int bones, root;
  int *parent;        // -1 for a root, of which there may be several: they move freely
  int *order;         // parents before children
  double (*joint)[3]; // C_j: where bone j meets its parent in the rest pose; for the root the middle of its vertices
  double (*skin)[3];  // C0_j: the middle of the vertices that both share, inside the body
  double *hold;       // mu_j: the weight of joint j at C0_j, relative to a rotation by one radian in every frame
  double rise;        // most that pulling joints inside may raise the squared error by in one round
  bool stays;         // joints that are inside stay there
  rig_ball *around;   // 2 bones: about the joint and the middle of the skin of every bone
  const rig_body *body; // NULL: there is no inside
} rig_tree;

// The middle of the vertices that j and k share; of j's own where they share none.
void sn_rig_shared_middle(const fit_model *m, int j, int k, double out[3]);
// C_jk: (sum dR^T dR + mu F I) C = - sum dR^T dT + mu F C0. Returns the remaining sum_f |dR C + dT|^2 + mu F |C - C0|^2.
double sn_rig_joint_position(const fit_model *m, int j, int k, double mu, const double start[3], double out[3]);

int sn_rig_joints_outside(const rig_tree *tree);
// The first point inside the body on the way from joint j to the skin that its bones share, or to the middle of the body nearby;
// false: none.
bool sn_rig_joint_inside(const rig_tree *tree, int j, double out[3]);
sn_status sn_rig_tree_new(sn_context *ctx, sn_arena *memory, int capacity, rig_tree *out);

// Both were made for at least as many bones.
void sn_rig_tree_copy(const rig_tree *from, rig_tree *to);

// Topology and joints from free bones (Le and Deng 2014): the minimum spanning tree of the joint cost over the weight
// overlap, and the root whose motion alone explains the mesh best. Needs m->pair.
sn_status sn_rig_tree_build(sn_context *ctx, const fit_model *m, rig_tree *tree);

// A root of few vertices hands over to the bone nearest to the middle of the body that has more. The motion
// stays what it is. Needs m->pair.
void sn_rig_tree_settle_root(const fit_model *m, rig_tree *tree);

// For a single bone, after which the others stay joined as they are. Need m->pair, and the bones of before (remove) or after (add)
// the change: the last bone is new, bone j will be taken out.
void sn_rig_tree_add(const fit_model *m, rig_tree *tree);
void sn_rig_tree_remove(const fit_model *m, rig_tree *tree, int j);

// Rotations and the roots' translations of every frame, joints exact, by Gauss-Newton steps. Needs the moments of m's
// present bones, and keeps them right. `locked` bones (may be NULL) keep their motion.
sn_status sn_rig_tree_fit(sn_context *ctx, fit_model *m, const rig_tree *tree, int steps, const bool *locked);

// Joint positions for the present rotations. Needs the moments, and keeps them right.
// Joints that the motion leaves outside of the body are pulled harder to its inside, every time.
sn_status sn_rig_tree_move_joints(sn_context *ctx, fit_model *m, rig_tree *tree);

#endif
