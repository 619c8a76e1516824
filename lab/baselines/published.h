// SPDX-License-Identifier: MIT
// Le and Deng, "Robust and accurate skeletal rigging from mesh sequences" (2014), as printed in their slides:
//
//   min E = E_D + omega E_S + lambda E_J
//
// Symbols are theirs: i vertex, j and k bones, f frame, u rest position, v position in a frame, w weight, N, F and B
// numbers of vertices, frames and bones, S the edges of the skeleton, C_jk the joint of an edge in the rest pose. In a
// rig_tree, S is the pairs of a bone j and its parent k, and C_jk is joint[j].
#ifndef SINEW_LAB_BASELINES_PUBLISHED_H
#define SINEW_LAB_BASELINES_PUBLISHED_H

#include "rig/solve.h"

// ---- "Objective function" ----------------------------------------------------------------------------------------------

// E_D = 1/(N F) sum_i sum_f |sum_j w_ij [R_j^f | T_j^f] u~_i - v_i^f|^2. The errors of m must be up to date.
double sn_published_data_term(const fit_model *m);
// E_S = sum_j w_j^T L w_j, L symmetric (see docs/methods/rigging.md). `smooth` must be built with the strength omega N.
double sn_published_smoothness_term(const fit_model *m, const fit_smooth *smooth, double omega);
// sum_f |([R_j^f | T_j^f] - [R_k^f | T_k^f]) C~|^2
double sn_published_joint_value(const fit_model *m, int j, int k, const double c[3]);
// E_J = 1/F sum_((j, k) in S) of the joint values
double sn_published_joint_term(const fit_model *m, const rig_tree *tree);

// ---- "Skeletal topology reconstruction" ----------------------------------------------------------------------------------

// The C_jk with the least joint value.
void sn_published_joint_position(const fit_model *m, int j, int k, double c[3]);
// g(j, k): the joint value over sum_i w_ij w_ik; infinite if the bones have no common vertex.
double sn_published_edge_cost(const fit_model *m, int j, int k, const double c[3]);
// The minimum spanning tree of g.
sn_status sn_published_topology(sn_context *ctx, const fit_model *m, rig_tree *tree);

// ---- "Skeleton pruning" ------------------------------------------------------------------------------------------------------

// gone[j]: sum_i w_ij^2 < 1e-2 M, M = max_k sum_i w_ik^2. Returns the number of such bones.
int sn_published_prune(const fit_model *m, bool *gone);

// ---- "Bone transformations update" ---------------------------------------------------------------------------------------------

// The data of bone j^ in one frame, q_i = v_i - sum_(k != j^) w_ik [R_k | T_k] u~_i:
typedef struct published_bone {
  double uu[4][4], qu[3][4]; // sum_i w_ij^2 u~_i u~_i^T and sum_i w_ij q_i u~_i^T
  double vertices;           // N
  double lambda;
  int joints;             // number of joints at the bone
  const sn_vec3 *c, *psi; // C_jk, and Psi_k(C_jk) = [R_k | T_k] C~_jk
} published_bone;

// The centroids p* and q*.
void sn_published_centres(const published_bone *b, sn_vec3 *p, sn_vec3 *q);
// The rotation that best maps p-bar_i and C-bar_jk to q-bar_i and Psi-bar_k, and T = q* - R p*.
sn_affine sn_published_update(const published_bone *b);
// Updates every bone of every frame in turn, `sweeps` times. Needs the moments of m and invalidates them.
sn_status sn_published_bones(sn_context *ctx, fit_model *m, const rig_tree *tree, double lambda, int sweeps);

// ---- "Optimization pipeline" ---------------------------------------------------------------------------------------------------

// The whole pipeline. plan->bones 0: pruning alone decides the number of bones, starting from plan->most.
sn_status sn_published_solve(sn_context *ctx, sn_arena *memory, const fit_problem *p, const rig_plan *plan,
                             fit_model *m, rig_tree *tree);

#endif
