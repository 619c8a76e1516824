// SPDX-License-Identifier: MIT
// The normal equations of a skeleton's rotations in one frame, solved by conjugate gradients.
#ifndef SINEW_RIG_TREE_CG_H
#define SINEW_RIG_TREE_CG_H

#include "rig/solve.h"

// Block of a bone in the preconditioner, for the rotation and the shift of its joint: [turn across; across^T shift].
typedef struct rig_cg_body {
  sn_mat3 turn, across, shift; // factorise() inverts turn, and shift of the roots
  double arm[3];               // l_j, from the parent's joint to this one, in the present pose
  double damping;
} rig_cg_body;

// The normal equations of one frame. Vectors have six numbers per bone: rotation vector w_j and shift p_j of its joint, 0
// unless it is a root.
typedef struct rig_cg {
  int bones;
  const rig_tree *tree;
  const bool *locked; // NULL: none
  const int *start, *overlap;
  const double (*pair)[4][4]; // S of every pair in `overlap`
  const double (*arm)[3][4];  // of every bone: [R | -R C]; maps u~ to y, the vector from the joint
  rig_cg_body *body;          // filled for every solve
  double (*velocity)[3][4];
  double *space;
} rig_cg;

// Torque about the joint and force, from the moment m = sum_i f_i u~_i^T of the forces f_i on a bone's points.
static inline void rig_moment_force(const double m[3][4], const double arm[3][4], double out[6]) {
  double n[3][3];
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++)
      n[r][c] = m[r][0] * arm[c][0] + m[r][1] * arm[c][1] + m[r][2] * arm[c][2] + m[r][3] * arm[c][3];
  out[0] = n[2][1] - n[1][2], out[1] = n[0][2] - n[2][0], out[2] = n[1][0] - n[0][1];
  for (int r = 0; r < 3; r++) out[3 + r] = m[r][3];
}

// [l]_x, the matrix of the cross product l x
static inline sn_mat3 rig_cross_matrix(const double l[3]) {
  return (sn_mat3){{{0, -l[2], l[1]}, {l[2], 0, -l[0]}, {-l[1], l[0], 0}}};
}

bool sn_rig_cg_new(sn_context *ctx, sn_arena *memory, int bones, rig_cg *out);
// Solves (H + damping) step = gradient, where `gradient` is that of free bones. False: H is not positive definite.
bool sn_rig_cg_solve(const rig_cg *s, double damping, const double *gradient, double *step);

#endif
