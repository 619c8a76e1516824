// SPDX-License-Identifier: MIT
// Bone transformations for fixed weights (Le and Deng 2012, without joints). The moments sum over the vertices, so that
// an update costs O(overlapping bones), not O(vertices).
#include "rig/solve.h"
#include "solve/bones.h"

#include <string.h>

sn_mat3 sn_rig_rotation_near(sn_mat3 h, sn_mat3 start) {
  sn_mat3 r = start;
  double scale = sn_mat3_norm(h);
  if (!(scale > 0)) return start;
  for (int step = 0; step < 8; step++) {
    // Maximise tr(R H): with P = R H, the gradient is its axial part and the Hessian -(tr P I - sym P).
    sn_mat3 p = sn_mat3_mul(r, h);
    sn_vec3 g = {p.m[1][2] - p.m[2][1], p.m[2][0] - p.m[0][2], p.m[0][1] - p.m[1][0]};
    double a = p.m[1][1] + p.m[2][2], b = p.m[0][0] + p.m[2][2], c = p.m[0][0] + p.m[1][1];
    double d = -0.5 * (p.m[0][1] + p.m[1][0]), e = -0.5 * (p.m[0][2] + p.m[2][0]), f = -0.5 * (p.m[1][2] + p.m[2][1]);
    double minor = a * b - d * d, floor = 1e-9 * scale;
    double det = c * minor - a * f * f + 2 * d * e * f - b * e * e;
    if (!(a > floor) || !(minor > floor * scale) || !(det > floor * scale * scale)) return sn_mat3_kabsch(h);
    double x = (g.x * (b * c - f * f) + g.y * (e * f - d * c) + g.z * (d * f - b * e)) / det;
    double y = (g.x * (e * f - d * c) + g.y * (a * c - e * e) + g.z * (d * e - a * f)) / det;
    double z = (g.x * (d * f - b * e) + g.y * (d * e - a * f) + g.z * minor) / det;
    double size = x * x + y * y + z * z;
    if (size > 4) return sn_mat3_kabsch(h);
    r = sn_mat3_mul(sn_quat_to_mat3((sn_quat){0.5 * x, 0.5 * y, 0.5 * z, 1}), r);
    if (size < 1e-14) break;
  }
  return sn_quat_to_mat3(sn_quat_from_mat3(r));
}

typedef struct bones_job {
  fit_model *m;
  int sweeps;
  const bool *locked;
  double *scratch; // 12 * bones per worker
  const int *start, *overlap;
} bones_job;

// M_k -= D S_jk for every bone k that shares vertices with j.
static void move_bone(const bones_job *job, int j, const double d[3][4], double (*moment)[3][4]) {
  for (int e = job->start[j]; e < job->start[j + 1]; e++) {
    int k = job->overlap[e];
    double s[4][4];
    fit_unpack(fit_pair(job->m, j, k), s);
    for (int r = 0; r < 3; r++)
      for (int c = 0; c < 4; c++) {
        moment[k][r][c] -= d[r][0] * s[0][c] + d[r][1] * s[1][c] + d[r][2] * s[2][c] + d[r][3] * s[3][c];
      }
  }
}

// Centres of rotation p*, q* and Kabsch: the best rigid motion of bone j with the others fixed.
static sn_affine fit_rigid(const double s[4][4], const double moment[3][4], sn_affine t) {
  double total = s[3][3];
  sn_vec3 p = {s[0][3] / total, s[1][3] / total, s[2][3] / total};
  double q[3][4];
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 4; c++) {
      q[r][c] = moment[r][c] + t.m[r][0] * s[0][c] + t.m[r][1] * s[1][c] + t.m[r][2] * s[2][c] + t.m[r][3] * s[3][c];
    }
  sn_vec3 centre = {q[0][3] / total, q[1][3] / total, q[2][3] / total};
  sn_mat3 h, old = sn_affine_linear(t);
  double pc[3] = {p.x, p.y, p.z}, qc[3] = {centre.x, centre.y, centre.z}, spread = 0;
  for (int c = 0; c < 3; c++) spread += s[c][c] - total * pc[c] * pc[c];
  // Regularises towards the present rotation: thin or tiny bones do not determine all of it.
  double hold = 1e-6 * spread + 1e-9 * total;
  for (int c = 0; c < 3; c++)
    for (int r = 0; r < 3; r++) h.m[c][r] = q[r][c] - total * pc[c] * qc[r] + hold * old.m[r][c];
  sn_mat3 rotation = sn_rig_rotation_near(h, old);
  return sn_affine_make(rotation, sn_vec3_sub(centre, sn_mat3_apply(rotation, p)));
}

static void sweep_frames(void *user, int64_t begin, int64_t end, int worker) {
  bones_job *job = user;
  fit_model *m = job->m;
  size_t columns = 3 * (size_t)m->p->f;
  double(*moment)[3][4] = (double(*)[3][4])(job->scratch + (size_t)worker * 12 * (size_t)m->bones);
  for (int64_t f = begin; f < end; f++) {
    for (int j = 0; j < m->bones; j++)
      for (int r = 0; r < 3; r++)
        for (int c = 0; c < 4; c++)
          moment[j][r][c] = m->moment[(size_t)(4 * j + c) * columns + 3 * (size_t)f + (size_t)r];
    for (int sweep = 0; sweep < job->sweeps; sweep++)
      for (int j = 0; j < m->bones; j++) {
        double s[4][4], d[3][4];
        fit_unpack(fit_pair(m, j, j), s);
        if (!(s[3][3] > 1e-12) || (job->locked && job->locked[j])) continue;
        sn_affine old = sn_fit_bone(m, j, (int)f), t = fit_rigid(s, moment[j], old);
        for (int r = 0; r < 3; r++)
          for (int c = 0; c < 4; c++) d[r][c] = t.m[r][c] - old.m[r][c];
        sn_fit_set_bone(m, j, (int)f, t);
        move_bone(job, j, d, moment);
      }
    for (int j = 0; j < m->bones; j++)
      for (int r = 0; r < 3; r++)
        for (int c = 0; c < 4; c++)
          m->moment[(size_t)(4 * j + c) * columns + 3 * (size_t)f + (size_t)r] = moment[j][r][c];
  }
}

bool sn_rig_overlaps(sn_context *ctx, sn_arena *memory, const fit_model *m, const int **start, const int **overlap) {
  size_t bones = (size_t)m->bones;
  int *first = SN_NEW(ctx, memory, int, bones + 1), *others = SN_NEW(ctx, memory, int, bones *bones), count = 0;
  if (!first || !others) return false;
  for (int j = 0; j < m->bones; j++) {
    first[j] = count;
    for (int k = 0; k < m->bones; k++)
      if (fit_pair(m, j, k)[9] > 0) others[count++] = k;
  }
  first[m->bones] = count;
  *start = first, *overlap = others;
  return true;
}

sn_status sn_rig_bones_rigid(sn_context *ctx, fit_model *m, int sweeps, const bool *locked) {
  sn_arena scratch = sn_arena_new(ctx);
  bones_job job = {.m = m, .sweeps = sweeps, .locked = locked};
  job.scratch = SN_NEW(ctx, &scratch, double, 12 * (size_t)m->bones * (size_t)sn_threads(ctx));
  bool good = job.scratch && sn_rig_overlaps(ctx, &scratch, m, &job.start, &job.overlap);
  if (good) {
    fit_parallel(ctx, m->p->f, 2, 1e3 * sweeps * m->bones * m->p->f, sweep_frames, &job);
    sn_fit_model_refresh(ctx, m);
  }
  sn_arena_free(&scratch);
  return good ? SN_OK : ctx->error.status;
}

// X X^T: row 4 j + c, column 4 k + d is sum_i w_ij w_ik u~_c u~_d. The same for all frames.
static void normal_matrix(const fit_model *m, double *a) {
  size_t rows = 4 * (size_t)m->bones;
  for (int j = 0; j < m->bones; j++)
    for (int k = 0; k < m->bones; k++) {
      double s[4][4];
      fit_unpack(fit_pair(m, j, k), s);
      for (int c = 0; c < 4; c++)
        for (int d = 0; d < 4; d++) a[((size_t)(4 * j + c)) * rows + (size_t)(4 * k + d)] = s[c][d];
    }
}

sn_status sn_rig_bones_affine(sn_context *ctx, fit_model *m) {
  sn_arena scratch = sn_arena_new(ctx);
  size_t count = 12 * (size_t)m->bones * (size_t)m->p->f;
  sn_bone_system system;
  sn_status status = sn_bone_system_new(ctx, &scratch, m->bones, 3 * m->p->f, &system);
  if (status == SN_OK) {
    normal_matrix(m, system.a);
    memcpy(system.right, m->moment, count * sizeof *system.right);
    status = sn_bone_system_solve(ctx, &system, 1e-8, 1e-8);
    for (size_t e = 0; status == SN_OK && e < count; e++) m->t[e] += system.right[e];
    if (status == SN_OK) sn_fit_model_refresh(ctx, m);
  }
  sn_arena_free(&scratch);
  return status == SN_NOT_CONVERGED ? SN_OK : status; // not converged: the bones are unchanged
}
