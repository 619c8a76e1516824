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

// The ridges determine what the equations leave undetermined; relative to the mean of the diagonal over linear parts and
// over translations.
sn_status sn_bone_system_solve(sn_context *ctx, const sn_bone_system *s, double linear, double translation);

// One equation, sum_p u_p . x_p = y over `count` bones, with u = w (p - centre, 1).
enum { SN_BONE_ROW_MAX = 8 };
typedef struct sn_bone_row {
  int count, bone[SN_BONE_ROW_MAX];
  double u[SN_BONE_ROW_MAX][4], weight;
} sn_bone_row;

// Equations that are the same in all frames but for y: residuals at the present matrices, so that the solution is a step from
// them. `row` and `residual` are called from several threads.
typedef struct sn_bone_equations {
  int bones, frames, rows;
  void (*row)(const void *user, int n, sn_bone_row *out); // `out` is zeroed, with weight 1
  void (*residual)(const void *user, int n, const sn_bone_row *row, int frame, double y[3]);
  const void *user;
  double linear, translation; // ridges, as above
} sn_bone_equations;

sn_status sn_bone_equations_solve(sn_context *ctx, sn_arena *memory, const sn_bone_equations *e, sn_bone_system *out);

// The solution for column `column` (3: translation) and coordinate r of a bone's matrix in a frame.
static inline double sn_bone_step(const sn_bone_system *s, int bone, int frame, int r, int column) {
  return s->right[(size_t)(4 * bone + column) * (size_t)s->columns + (size_t)(3 * frame + r)];
}

#endif
