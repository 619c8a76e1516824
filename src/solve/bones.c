// SPDX-License-Identifier: MIT
// The normal equations of affine bones.
#include "solve/bones.h"

#include "base/scope.h"
#include "solve/lapack.h"

sn_status sn_bone_system_new(sn_context *ctx, sn_arena *memory, int bones, int columns, sn_bone_system *out) {
  size_t rows = 4 * (size_t)bones;
  *out = (sn_bone_system){bones, columns, SN_NEW(ctx, memory, double, rows *rows),
                          SN_NEW(ctx, memory, double, rows *(size_t)columns)};
  return out->a && out->right ? SN_OK : ctx->error.status;
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

// a += weight u u^T.
static void add_row(const sn_bone_system *s, const sn_bone_row *row) {
  size_t rows = 4 * (size_t)s->bones;
  for (int p = 0; p < row->count; p++)
    for (int q = 0; q < row->count; q++) {
      double *block = s->a + 4 * (size_t)row->bone[p] * rows + 4 * (size_t)row->bone[q];
      for (size_t r = 0; r < 4; r++)
        for (size_t c = 0; c < 4; c++) block[r * rows + c] += row->weight * row->u[p][r] * row->u[q][c];
    }
}

// right += weight u y^T, for the three coordinates of a frame.
static void add_target(const sn_bone_system *s, const sn_bone_row *row, int frame, const double y[3]) {
  for (int p = 0; p < row->count; p++)
    for (int r = 0; r < 4; r++) {
      double *to = s->right + (size_t)(4 * row->bone[p] + r) * (size_t)s->columns + 3 * (size_t)frame;
      for (int c = 0; c < 3; c++) to[c] += row->weight * row->u[p][r] * y[c];
    }
}

typedef struct adding {
  const sn_bone_equations *e;
  const sn_bone_system *system;
} adding;

static void add_frames(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const adding *job = user;
  for (int n = 0; n < job->e->rows; n++) {
    sn_bone_row row = {.weight = 1};
    double y[3];
    job->e->row(job->e->user, n, &row);
    if (begin == 0) add_row(job->system, &row); // once, for all frames
    for (int64_t f = begin; f < end; f++) {
      job->e->residual(job->e->user, n, &row, (int)f, y);
      add_target(job->system, &row, (int)f, y);
    }
  }
}

sn_status sn_bone_equations_solve(sn_context *ctx, sn_arena *memory, const sn_bone_equations *e,
                                  sn_bone_system *out) {
  SN_TRY(sn_bone_system_new(ctx, memory, e->bones, 3 * e->frames, out));
  sn_parallel_for(ctx, e->frames, 8, add_frames, &(adding){e, out});
  return sn_bone_system_solve(ctx, out, e->linear, e->translation);
}
