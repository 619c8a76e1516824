// SPDX-License-Identifier: MIT
// Proxy bones from groups of triangles: weights and matrices in alternation (5.1).
#include "train/rotreg/reduced.h"

#include <string.h>

#include "base/scope.h"
#include "base/team.h"
#include "solve/bones.h"
#include "solve/solve.h"

enum { most_candidates = sn_rotreg_most_candidates };

typedef struct bones_job {
  const sn_rotreg_training *t;
  sn_rotreg_bones *b; // of t
  int influences;
  double *work; // per worker: positions by the candidates in every pose
  size_t work_size;
} bones_job;

static sn_affine *matrices_at(const sn_rotreg_bones *b, int pose) {
  return b->matrix + (size_t)pose * (size_t)b->bone_count;
}

static sn_vec3 place(const sn_rotreg_bones *b, int pose, int bone, sn_vec3 rest) {
  return sn_affine_apply(matrices_at(b, pose)[bone], sn_vec3_sub(rest, b->centre[bone]));
}

static sn_vec3 target_of(const bones_job *job, int pose, int i) {
  return sn_vec3_from(sn_frame(&job->t->examples->frames, job->t->keys->frames[pose])[i]);
}

static sn_vec3 rest_of(const bones_job *job, int i) { return sn_vec3_from(job->t->examples->rest.positions[i]); }

// ---- the start: groups, their adjacency, and a rigid motion for each ------------------------------------------------

static void find_adjacent(const bones_job *job) {
  const sn_mesh *rest = &job->t->examples->rest;
  const sn_topology *top = &job->t->topology;
  const sn_rotreg_bones *b = job->b;
  size_t n = (size_t)b->bone_count;
  for (size_t g = 0; g < n; g++) b->adjacent[g * n + g] = true;
  for (int t = 0; t < rest->triangle_count; t++)
    for (int j = 0; j < 3; j++) {
      int a = rest->triangles[t][j], c = rest->triangles[t][(j + 1) % 3];
      for (int m = top->face_start[a]; m < top->face_start[a + 1]; m++) {
        const int *o = rest->triangles[top->faces[m]];
        if (o[0] != c && o[1] != c && o[2] != c) continue;
        size_t p = (size_t)b->group_of[t], q = (size_t)b->group_of[top->faces[m]];
        b->adjacent[p * n + q] = b->adjacent[q * n + p] = true;
      }
    }
}

// The best rigid motion of the corners of each group's triangles.
static sn_status start_matrices(const bones_job *job) {
  sn_context *ctx = job->t->ctx;
  SN_SCRATCH(scratch, ctx);
  const sn_mesh *rest = &job->t->examples->rest;
  const sn_rotreg_bones *b = job->b;
  int *corners = SN_NEW(ctx, &scratch, int, 3 * (size_t)rest->triangle_count);
  sn_vec3 *x = SN_NEW(ctx, &scratch, sn_vec3, 3 * (size_t)rest->triangle_count);
  sn_vec3 *y = SN_NEW(ctx, &scratch, sn_vec3, 3 * (size_t)rest->triangle_count);
  if (!corners || !x || !y) return ctx->error.status;
  for (int g = 0; g < b->bone_count; g++) {
    int count = 0;
    sn_vec3 sum = {0, 0, 0};
    for (int n = 0; n < 3 * rest->triangle_count; n++)
      if (b->group_of[n / 3] == g) corners[count++] = rest->triangles[n / 3][n % 3];
    for (int m = 0; m < count; m++) sum = sn_vec3_add(sum, rest_of(job, corners[m]));
    b->centre[g] = sn_vec3_scale(sum, 1.0 / count);
    for (int m = 0; m < count; m++) x[m] = sn_vec3_sub(rest_of(job, corners[m]), b->centre[g]);
    for (int k = 0; k < b->pose_count; k++) {
      for (int m = 0; m < count; m++) y[m] = target_of(job, k, corners[m]);
      matrices_at(b, k)[g] = sn_procrustes(count, x, y, NULL);
    }
  }
  return SN_OK;
}

// ---- weights --------------------------------------------------------------------------------------------------------

static double alone_error(const bones_job *job, int i, int bone) {
  double sum = 0;
  sn_vec3 rest = rest_of(job, i);
  for (int k = 0; k < job->b->pose_count; k++) {
    sn_vec3 d = sn_vec3_sub(place(job->b, k, bone, rest), target_of(job, k, i));
    sum += sn_vec3_dot(d, d);
  }
  return sum;
}

static int enter_candidate(const bones_job *job, int i, int bone, int count, int *bones, double *errors) {
  for (int k = 0; k < count; k++)
    if (bones[k] == bone) return count;
  return sn_least_enter(most_candidates, count, alone_error(job, i, bone), bone, errors, bones);
}

// The groups of the vertex's triangles and their neighbours; if there are too many, those with the least error alone.
static int candidates_of(const bones_job *job, int i, int *bones) {
  const sn_rotreg_bones *b = job->b;
  const sn_topology *top = &job->t->topology;
  double errors[most_candidates];
  int count = 0;
  for (int m = top->face_start[i]; m < top->face_start[i + 1]; m++) {
    size_t own = (size_t)b->group_of[top->faces[m]];
    bool seen = false; // an earlier triangle has the same group
    for (int l = top->face_start[i]; l < m && !seen; l++) seen = (size_t)b->group_of[top->faces[l]] == own;
    for (int other = 0; !seen && other < b->bone_count; other++)
      if (b->adjacent[own * (size_t)b->bone_count + (size_t)other]) {
        count = enter_candidate(job, i, other, count, bones, errors);
      }
  }
  return count;
}

static void solve_vertex(const bones_job *job, int i, sn_vec3 *places) {
  const sn_rotreg_bones *b = job->b;
  int bones[most_candidates], n = candidates_of(job, i, bones), poses = b->pose_count;
  size_t row = (size_t)i * (size_t)job->influences;
  for (int k = 0; k < job->influences; k++) b->skin.joints[row + (size_t)k] = 0, b->skin.weights[row + (size_t)k] = 0;
  b->skin.weights[row] = 1;
  if (n == 0) return; // the vertex is in no triangle
  sn_simplex q = {.n = n, .w = {1}};
  double squares = 0;
  sn_vec3 rest = rest_of(job, i);
  for (int c = 0; c < n; c++)
    for (int k = 0; k < poses; k++) {
      // Positions relative to the target: weights sum to one, so residuals stay the same and numbers are small.
      places[c * poses + k] = sn_vec3_sub(place(b, k, bones[c], rest), target_of(job, k, i));
    }
  for (int p = 0; p < n; p++)
    for (int r = 0; r <= p; r++) {
      double sum = 0;
      for (int k = 0; k < poses; k++) sum += sn_vec3_dot(places[p * poses + k], places[r * poses + k]);
      q.a[p][r] = q.a[r][p] = sum;
    }
  for (int p = 0; p < n; p++) squares += q.a[p][p];
  for (int p = 0; p < n; p++) q.a[p][p] += sn_rotreg_rounding * squares / n; // ties: equal weights
  sn_simplex_solve_sparse(&q, job->influences);
  int at = 0;
  for (int c = 0; c < n; c++) {
    if (!(q.w[c] > 0) || at == job->influences) continue;
    b->skin.joints[row + (size_t)at] = (uint16_t)bones[c], b->skin.weights[row + (size_t)at++] = (float)q.w[c];
  }
}

static void solve_range(void *user, int64_t begin, int64_t end, int worker) {
  const bones_job *job = user;
  sn_vec3 *places = (sn_vec3 *)(void *)(job->work + (size_t)worker * job->work_size);
  for (int64_t i = begin; i < end; i++) solve_vertex(job, (int)i, places);
}

static sn_status solve_weights(const bones_job *job) {
  sn_context *ctx = job->t->ctx;
  sn_skin *skin = &job->b->skin;
  size_t row = (size_t)job->influences;
  sn_team_for(ctx, skin->vertex_count, 64, solve_range, (void *)job);
  SN_TRY(sn_team_gather(ctx, skin->vertex_count, 64, skin->joints, row * sizeof *skin->joints));
  SN_TRY(sn_team_gather(ctx, skin->vertex_count, 64, skin->weights, row * sizeof *skin->weights));
  sn_skin_normalize(skin);
  return SN_OK;
}

// ---- matrices for given weights -------------------------------------------------------------------------------------

// The equation of vertex i: alpha_b (p - centre_b, 1) for its bones.
static void row_of(const void *user, int i, sn_bone_row *out) {
  const bones_job *job = user;
  const sn_rotreg_bones *b = job->b;
  if (job->t->topology.face_start[i] == job->t->topology.face_start[i + 1]) return; // in no triangle
  for (int k = 0; k < job->influences; k++) {
    size_t at = (size_t)i * (size_t)job->influences + (size_t)k;
    double w = (double)b->skin.weights[at], *u = out->u[out->count];
    if (!(w > 0)) break;
    sn_vec3 p = sn_vec3_sub(rest_of(job, i), b->centre[b->skin.joints[at]]);
    out->bone[out->count++] = b->skin.joints[at];
    u[0] = w * p.x, u[1] = w * p.y, u[2] = w * p.z, u[3] = w;
  }
}

// What the present matrices leave of vertex i.
static sn_vec3 residual_of(const bones_job *job, int pose, int i) {
  sn_vec3 sum = {0, 0, 0}, rest = rest_of(job, i);
  const sn_rotreg_bones *b = job->b;
  for (int k = 0; k < job->influences; k++) {
    size_t at = (size_t)i * (size_t)job->influences + (size_t)k;
    if (!(b->skin.weights[at] > 0)) break;
    sum = sn_vec3_mad(sum, place(b, pose, b->skin.joints[at], rest), (double)b->skin.weights[at]);
  }
  return sn_vec3_sub(target_of(job, pose, i), sum);
}

static void store_residual(const void *user, int i, const sn_bone_row *row, int pose, double y[3]) {
  (void)row;
  sn_vec3 d = residual_of(user, pose, i);
  y[0] = d.x, y[1] = d.y, y[2] = d.z;
}

// Solves for T_b at given alpha (5.1), as a step from the present matrices.
static sn_status solve_matrices(const bones_job *job) {
  const sn_rotreg_bones *b = job->b;
  SN_SCRATCH(scratch, job->t->ctx);
  sn_bone_system s;
  const sn_bone_equations equations = {b->bone_count,  b->pose_count, b->skin.vertex_count, row_of,
                                       store_residual, job,           sn_bone_ridge,        sn_rotreg_rounding};
  SN_TRY(sn_bone_equations_solve(job->t->ctx, &scratch, &equations, &s));
  for (int k = 0; k < b->pose_count; k++)
    for (int n = 0; n < 12 * b->bone_count; n++)
      matrices_at(b, k)[n / 12].m[n % 12 / 4][n % 4] += sn_bone_step(&s, n / 12, k, n % 12 / 4, n % 4);
  return SN_OK;
}

static void measure_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const bones_job *job = user;
  for (int64_t i = begin; i < end; i++) {
    job->b->error[i] = 0;
    for (int k = 0; k < job->b->pose_count; k++) {
      sn_vec3 d = residual_of(job, k, (int)i);
      job->b->error[i] += sn_vec3_dot(d, d) / job->b->pose_count;
    }
  }
}

sn_status sn_rotreg_bones_fit(sn_rotreg_training *t) {
  sn_context *ctx = t->ctx;
  sn_rotreg_bones *b = &t->bones;
  int n = t->examples->rest.vertex_count;
  size_t bones = (size_t)b->bone_count;
  b->adjacent = SN_NEW(ctx, &t->memory, bool, bones *bones);
  b->centre = SN_NEW(ctx, &t->memory, sn_vec3, bones);
  b->matrix = SN_NEW(ctx, &t->memory, sn_affine, bones * (size_t)t->keys->count);
  b->error = SN_NEW(ctx, &t->memory, double, n);
  bones_job job = {t, b, t->options->influences, .work_size = most_candidates * 3 * (size_t)t->keys->count};
  job.work = SN_NEW(ctx, &t->memory, double, (size_t)sn_threads(ctx) * job.work_size);
  if (!b->adjacent || !b->centre || !b->matrix || !b->error || !job.work) return ctx->error.status;
  b->pose_count = t->keys->count;
  SN_TRY(sn_skin_new(ctx, n, job.influences, &b->skin));
  find_adjacent(&job);
  SN_TRY(start_matrices(&job));
  for (int round = 0; round < sn_rotreg_rounds; round++) {
    SN_TRY(solve_weights(&job));
    SN_TRY(solve_matrices(&job));
  }
  sn_team_for(ctx, n, 64, measure_range, &job);
  return sn_team_gather(ctx, n, 64, b->error, sizeof *b->error);
}
