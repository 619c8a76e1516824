// SPDX-License-Identifier: MIT
// The normal equations of affine bones.
#include "solve/bones.h"

#include "solve/lapack.h"

sn_status sn_bone_system_new(sn_context *ctx, sn_arena *memory, int bones, int columns, sn_bone_system *out) {
  size_t rows = 4 * (size_t)bones;
  *out = (sn_bone_system){bones, columns, SN_NEW(ctx, memory, double, rows *rows),
                          SN_NEW(ctx, memory, double, rows *(size_t)columns)};
  return out->a && out->right ? SN_OK : ctx->error.status;
}

void sn_bone_system_add(const sn_bone_system *s, const sn_bone_row *row) {
  size_t rows = 4 * (size_t)s->bones;
  for (int p = 0; p < row->count; p++)
    for (int q = 0; q < row->count; q++) {
      double *block = s->a + 4 * (size_t)row->bone[p] * rows + 4 * (size_t)row->bone[q];
      for (size_t r = 0; r < 4; r++)
        for (size_t c = 0; c < 4; c++) block[r * rows + c] += row->weight * row->u[p][r] * row->u[q][c];
    }
}

void sn_bone_system_target(const sn_bone_system *s, const sn_bone_row *row, int column, const double y[3]) {
  for (int p = 0; p < row->count; p++)
    for (int r = 0; r < 4; r++) {
      double *to = s->right + (size_t)(4 * row->bone[p] + r) * (size_t)s->columns + (size_t)column;
      for (int c = 0; c < 3; c++) to[c] += row->weight * row->u[p][r] * y[c];
    }
}

sn_status sn_bone_system_solve(sn_context *ctx, const sn_bone_system *s, double linear, double translation) {
  size_t rows = 4 * (size_t)s->bones;
  double trace[2] = {0, 0};
  for (size_t r = 0; r < rows; r++) trace[r % 4 == 3] += s->a[r * rows + r];
  const double ridge[2] = {linear * trace[0] / (3.0 * s->bones) + 1e-300, translation * trace[1] / s->bones + 1e-300};
  for (size_t r = 0; r < rows; r++) s->a[r * rows + r] += ridge[r % 4 == 3];
  sn_status status = sn_lapack_posv(ctx, 'L', (int)rows, s->columns, s->a, s->right);
  if (status != SN_NOT_CONVERGED) return status;
  return sn_fail(ctx, SN_NOT_CONVERGED, "the matrices of %d bones are not determined", s->bones);
}
