// SPDX-License-Identifier: MIT
// Least-squares affine bones for given weights: one normal matrix for all targets; four unknowns (linear part and translation)
// per bone and target.
#ifndef SINEW_SOLVE_BONES_H
#define SINEW_SOLVE_BONES_H

#include "sinew/base.h"

typedef struct sn_bone_system {
  int bones, columns;
  double *a;     // 4 bones squared: the normal matrix
  double *right; // 4 bones rows of `columns` targets; replaced by the solution
} sn_bone_system;

sn_status sn_bone_system_new(sn_context *ctx, sn_arena *memory, int bones, int columns, sn_bone_system *out);

// One equation, sum_p u_p . x_p = y over `count` bones, with u = w (p - centre, 1).
typedef struct sn_bone_row {
  int count;
  const int *bone;
  double (*u)[4], weight;
} sn_bone_row;

// a += weight u u^T.
void sn_bone_system_add(const sn_bone_system *s, const sn_bone_row *row);
// The row's three targets from `column` on: right += weight u y^T.
void sn_bone_system_target(const sn_bone_system *s, const sn_bone_row *row, int column, const double y[3]);

// The ridges determine what the equations leave undetermined; relative to the mean of the diagonal over linear parts and
// over translations.
sn_status sn_bone_system_solve(sn_context *ctx, const sn_bone_system *s, double linear, double translation);

#endif
