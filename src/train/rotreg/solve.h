// SPDX-License-Identifier: MIT
// Reduced mesh reconstruction (4.3): the proxy bones' matrices as a linear function of the key gradients and the joints.
// The three coordinates have the same matrices, so T' = C1 D' + C2 Q' with C1 4P x 3P and C2 4P x 4J.
#ifndef SINEW_TRAIN_ROTREG_SOLVE_H
#define SINEW_TRAIN_ROTREG_SOLVE_H

#include "train/rotreg/anchor.h"
#include "train/rotreg/bones.h"
#include "train/rotreg/key_gradients.h"

// The least-squares problem (5), with weights, and anchors for the vertices that are not fixed.
typedef struct sn_rotreg_reduction {
  const sn_examples *examples;
  const sn_rotreg_bones *bones;
  const sn_rotreg_key_gradients *gradients;
  const sn_rotreg_anchors *anchors;
  const bool *fixed;           // vertices that follow `skin` exactly
  const sn_skin *skin;         // of the joints
  const double (*edge)[2];     // e, two per triangle
  const double *anchor_weight; // c, per vertex
  double ridge;                // of the bones' linear parts, relative to the mean diagonal
} sn_rotreg_reduction;

// C = [C1 C2], row-major, 4P x (3P + 4J): row 4b + c is column c of proxy bone b's matrix, column 3l + c is column c of
// key gradient l, column 3P + 4j + c is column c of joint j's matrix.
sn_status sn_rotreg_solve_c(sn_context *ctx, sn_arena *memory, const sn_rotreg_reduction *r, double **c);

#endif
