// SPDX-License-Identifier: MIT
// Proxy bones from groups of triangles: weights and matrices in alternation (5.1).
#include "train/rotreg/reduced.h"

#include <string.h>

#include "base/team.h"
#include "solve/bones.h"
#include "solve/solve.h"

enum { most_candidates = sn_rotreg_most_candidates };

typedef struct bones_job {
  sn_context *ctx;
  const sn_examples *examples;
  const sn_topology *topology;
  const sn_keys *keys;
  sn_rotreg_bones *b;
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
  return sn_vec3_from(sn_frame(&job->examples->frames, job->keys->frames[pose])[i]);
}

static sn_vec3 rest_of(const bones_job *job, int i) { return sn_vec3_from(job->examples->rest.positions[i]); }

// ---- the start: groups, their adjacency, and a rigid motion for each ------------------------------------------------

static void find_adjacent(const bones_job *job) {
  const sn_mesh *rest = &job->examples->rest;
  const sn_topology *top = job->topology;
  sn_rotreg_bones *b = job->b;
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
  sn_arena scratch = sn_arena_new(job->ctx);
  const sn_mesh *rest = &job->examples->rest;
  sn_rotreg_bones *b = job->b;
  int *corners = SN_NEW(job->ctx, &scratch, int, 3 * (size_t)rest->triangle_count);
  sn_vec3 *x = SN_NEW(job->ctx, &scratch, sn_vec3, 3 * (size_t)rest->triangle_count);
  sn_vec3 *y = SN_NEW(job->ctx, &scratch, sn_vec3, 3 * (size_t)rest->triangle_count);
  bool ready = corners && x && y;
  for (int g = 0; ready && g < b->bone_count; g++) {
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
  sn_arena_free(&scratch);
  return ready ? SN_OK : job->ctx->error.status;
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
  const sn_topology *top = job->topology;
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
  sn_rotreg_bones *b = job->b;
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
  sn_skin *skin = &job->b->skin;
  int n = job->examples->rest.vertex_count;
  size_t row = (size_t)job->influences;
  sn_team_for(job->ctx, n, 64, solve_range, (void *)job);
  sn_status status = sn_team_gather(job->ctx, n, 64, skin->joints, row * sizeof *skin->joints);
  if (status == SN_OK) status = sn_team_gather(job->ctx, n, 64, skin->weights, row * sizeof *skin->weights);
  sn_skin_normalize(skin);
  return status;
}

// ---- matrices for given weights -------------------------------------------------------------------------------------

// The equation of vertex i: alpha_b (p - centre_b, 1) for its bones.
static int row_of(const bones_job *job, int i, int bones[SN_SIMPLEX_MAX], double row[SN_SIMPLEX_MAX][4]) {
  const sn_rotreg_bones *b = job->b;
  int count = 0;
  if (job->topology->face_start[i] == job->topology->face_start[i + 1]) return 0; // in no triangle
  for (int k = 0; k < job->influences; k++) {
    size_t at = (size_t)i * (size_t)job->influences + (size_t)k;
    double w = (double)b->skin.weights[at];
    if (!(w > 0)) break;
    sn_vec3 p = sn_vec3_sub(rest_of(job, i), b->centre[b->skin.joints[at]]);
    bones[count] = b->skin.joints[at];
    row[count][0] = w * p.x, row[count][1] = w * p.y, row[count][2] = w * p.z, row[count++][3] = w;
  }
  return count;
}

static sn_vec3 blended(const bones_job *job, int pose, int i) {
  sn_vec3 sum = {0, 0, 0}, rest = rest_of(job, i);
  const sn_rotreg_bones *b = job->b;
  for (int k = 0; k < job->influences; k++) {
    size_t at = (size_t)i * (size_t)job->influences + (size_t)k;
    if (!(b->skin.weights[at] > 0)) break;
    sum = sn_vec3_mad(sum, place(b, pose, b->skin.joints[at], rest), (double)b->skin.weights[at]);
  }
  return sum;
}

typedef struct refit_job {
  const bones_job *job;
  sn_bone_system system;
} refit_job;

static void add_residuals(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const refit_job *r = user;
  for (int i = 0; i < r->job->examples->rest.vertex_count; i++) {
    int bones[SN_SIMPLEX_MAX];
    double row[SN_SIMPLEX_MAX][4];
    const sn_bone_row equation = {row_of(r->job, i, bones, row), bones, row, 1};
    if (begin == 0) sn_bone_system_add(&r->system, &equation); // once, for all frames
    for (int64_t k = begin; k < end; k++) {
      sn_vec3 d = sn_vec3_sub(target_of(r->job, (int)k, i), blended(r->job, (int)k, i));
      sn_bone_system_target(&r->system, &equation, 3 * (int)k, (const double[3]){d.x, d.y, d.z});
    }
  }
}

// Solves for T_b at given alpha (5.1), as a step from the present matrices.
static sn_status solve_matrices(const bones_job *job) {
  sn_rotreg_bones *b = job->b;
  sn_arena scratch = sn_arena_new(job->ctx);
  refit_job refit = {.job = job};
  sn_status status = sn_bone_system_new(job->ctx, &scratch, b->bone_count, 3 * b->pose_count, &refit.system);
  if (status == SN_OK) {
    sn_parallel_for(job->ctx, b->pose_count, 8, add_residuals, &refit);
    status = sn_bone_system_solve(job->ctx, &refit.system, sn_bone_ridge, sn_rotreg_rounding);
  }
  for (int k = 0; status == SN_OK && k < b->pose_count; k++)
    for (int n = 0; n < 12 * b->bone_count; n++) {
      int g = n / 12, r = n % 12 / 4, c = n % 4;
      matrices_at(b, k)[g].m[r][c] +=
        refit.system.right[(size_t)(4 * g + c) * (size_t)refit.system.columns + (size_t)(3 * k + r)];
    }
  sn_arena_free(&scratch);
  return status;
}

static void measure_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const bones_job *job = user;
  for (int64_t i = begin; i < end; i++) {
    job->b->error[i] = 0;
    for (int k = 0; k < job->b->pose_count; k++) {
      sn_vec3 d = sn_vec3_sub(blended(job, k, (int)i), target_of(job, k, (int)i));
      job->b->error[i] += sn_vec3_dot(d, d) / job->b->pose_count;
    }
  }
}

sn_status sn_rotreg_bones_fit(sn_context *ctx, sn_arena *memory, const sn_rotreg_data *data, int influences,
                              sn_rotreg_bones *out) {
  int n = data->examples->rest.vertex_count;
  size_t bones = (size_t)out->bone_count;
  out->adjacent = SN_NEW(ctx, memory, bool, bones *bones);
  out->centre = SN_NEW(ctx, memory, sn_vec3, bones);
  out->matrix = SN_NEW(ctx, memory, sn_affine, bones * (size_t)data->keys->count);
  out->error = SN_NEW(ctx, memory, double, n);
  bones_job job = {ctx, data->examples, data->topology, data->keys, out, influences, .work = NULL};
  job.work_size = most_candidates * 3 * (size_t)data->keys->count;
  job.work = SN_NEW(ctx, memory, double, (size_t)sn_threads(ctx) * job.work_size);
  if (!out->adjacent || !out->centre || !out->matrix || !out->error || !job.work) return ctx->error.status;
  out->pose_count = data->keys->count;
  sn_status status = sn_skin_new(ctx, n, influences, &out->skin);
  if (status == SN_OK) find_adjacent(&job), status = start_matrices(&job);
  for (int round = 0; status == SN_OK && round < sn_rotreg_rounds; round++) {
    status = solve_weights(&job);
    if (status == SN_OK) status = solve_matrices(&job);
  }
  if (status != SN_OK) return status;
  sn_team_for(ctx, n, 64, measure_range, &job);
  return sn_team_gather(ctx, n, 64, out->error, sizeof *out->error);
}
