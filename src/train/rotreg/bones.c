// SPDX-License-Identifier: MIT
// Proxy bones from groups of triangles: weights and motions in alternation (5.1).
#include "train/rotreg/reduced.h"

#include <string.h>

#include "base/scope.h"
#include "base/team.h"
#include "solve/solve.h"

enum { most_candidates = sn_rotreg_most_candidates };

typedef struct weights_job {
  sn_rotreg_training *t;
  double *work; // per worker: residuals of the candidates in every pose
  size_t work_size;
} weights_job;

// Groups with a common edge.
static void find_adjacent(const sn_rotreg_training *t) {
  const sn_mesh *rest = &t->examples->rest;
  const sn_topology *top = &t->topology;
  const int *group_of = t->bones.group_of;
  size_t n = (size_t)t->bones.bone_count;
  for (size_t g = 0; g < n; g++) t->adjacent[g * n + g] = true;
  for (int corner = 0; corner < 3 * rest->triangle_count; corner++) {
    const int *own = rest->triangles[corner / 3];
    int a = own[corner % 3], c = own[(corner + 1) % 3];
    for (int m = top->face_start[a]; m < top->face_start[a + 1]; m++) {
      const int *o = rest->triangles[top->faces[m]];
      if (o[0] != c && o[1] != c && o[2] != c) continue;
      size_t p = (size_t)group_of[corner / 3], q = (size_t)group_of[top->faces[m]];
      t->adjacent[p * n + q] = t->adjacent[q * n + p] = true;
    }
  }
}

// ---- weights --------------------------------------------------------------------------------------------------------

// Vertex i by one bone, relative to where it is in the pose.
static sn_vec3 alone(const sn_rotreg_training *t, int pose, int bone, int i) {
  sn_vec3 at = sn_affine_apply(sn_proxy_motions(&t->bones, pose)[bone], sn_vec3_from(t->examples->rest.positions[i]));
  return sn_vec3_sub(at, sn_proxy_target(&t->bones, pose, i));
}

static int enter_candidate(const sn_rotreg_training *t, int i, int bone, int count, int *bones, double *errors) {
  double error = 0;
  for (int k = 0; k < count; k++)
    if (bones[k] == bone) return count;
  for (int k = 0; k < t->keys->count; k++) {
    sn_vec3 d = alone(t, k, bone, i);
    error += sn_vec3_dot(d, d);
  }
  return sn_least_enter(most_candidates, count, error, bone, errors, bones);
}

// The groups of the vertex's triangles and their neighbours; if there are too many, those with the least error alone.
static int candidates_of(const sn_rotreg_training *t, int i, int *bones) {
  const sn_topology *top = &t->topology;
  size_t n = (size_t)t->bones.bone_count;
  double errors[most_candidates];
  int count = 0;
  for (int m = top->face_start[i]; m < top->face_start[i + 1]; m++) {
    size_t own = (size_t)t->bones.group_of[top->faces[m]];
    bool seen = false; // an earlier triangle has the same group
    for (int l = top->face_start[i]; l < m && !seen; l++) seen = (size_t)t->bones.group_of[top->faces[l]] == own;
    for (size_t other = 0; !seen && other < n; other++)
      if (t->adjacent[own * n + other]) count = enter_candidate(t, i, (int)other, count, bones, errors);
  }
  return count;
}

static void solve_vertex(const sn_rotreg_training *t, int i, sn_vec3 *places) {
  const sn_skin *skin = &t->bones.skin;
  int bones[most_candidates], n = candidates_of(t, i, bones), poses = t->keys->count;
  size_t row = (size_t)i * (size_t)skin->influences;
  for (int k = 0; k < skin->influences; k++) skin->joints[row + (size_t)k] = 0, skin->weights[row + (size_t)k] = 0;
  skin->weights[row] = 1;
  if (n == 0) return; // the vertex is in no triangle
  sn_simplex q = {.n = n, .w = {1}};
  double squares = 0;
  // Relative to the target: weights sum to one, so residuals stay the same and numbers are small.
  for (int c = 0; c < n; c++)
    for (int k = 0; k < poses; k++) places[c * poses + k] = alone(t, k, bones[c], i);
  for (int p = 0; p < n; p++)
    for (int r = 0; r <= p; r++) {
      double sum = 0;
      for (int k = 0; k < poses; k++) sum += sn_vec3_dot(places[p * poses + k], places[r * poses + k]);
      q.a[p][r] = q.a[r][p] = sum;
    }
  for (int p = 0; p < n; p++) squares += q.a[p][p];
  for (int p = 0; p < n; p++) q.a[p][p] += sn_rotreg_rounding * squares / n; // ties: equal weights
  sn_simplex_solve_sparse(&q, skin->influences);
  int at = 0;
  for (int c = 0; c < n; c++) {
    if (!(q.w[c] > 0) || at == skin->influences) continue;
    skin->joints[row + (size_t)at] = (uint16_t)bones[c], skin->weights[row + (size_t)at++] = (float)q.w[c];
  }
}

static void solve_range(void *user, int64_t begin, int64_t end, int worker) {
  const weights_job *job = user;
  sn_vec3 *places = (sn_vec3 *)(void *)(job->work + (size_t)worker * job->work_size);
  for (int64_t i = begin; i < end; i++) solve_vertex(job->t, (int)i, places);
}

static sn_status solve_weights(weights_job *job) {
  sn_context *ctx = job->t->ctx;
  sn_skin *skin = &job->t->bones.skin;
  size_t row = (size_t)skin->influences;
  sn_team_for(ctx, skin->vertex_count, 64, solve_range, job);
  SN_TRY(sn_team_gather(ctx, skin->vertex_count, 64, skin->joints, row * sizeof *skin->joints));
  SN_TRY(sn_team_gather(ctx, skin->vertex_count, 64, skin->weights, row * sizeof *skin->weights));
  sn_skin_normalize(skin);
  return SN_OK;
}

// ---- all of it ------------------------------------------------------------------------------------------------------

static void measure_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const sn_rotreg_training *t = user;
  for (int64_t i = begin; i < end; i++)
    for (int k = 0; k < t->keys->count; k++) {
      sn_vec3 d = sn_proxy_residual(&t->bones, k, (int)i);
      t->bone_error[i] += sn_vec3_dot(d, d) / t->keys->count;
    }
}

sn_status sn_rotreg_bones_fit(sn_rotreg_training *t) {
  sn_context *ctx = t->ctx;
  int n = t->examples->rest.vertex_count;
  size_t bones = (size_t)t->bones.bone_count;
  weights_job job = {.t = t, .work_size = most_candidates * 3 * (size_t)t->keys->count};
  t->bones.examples = t->examples, t->bones.keys = t->keys, t->bones.topology = &t->topology;
  t->adjacent = SN_NEW(ctx, &t->memory, bool, bones *bones);
  t->bone_error = SN_NEW(ctx, &t->memory, double, n);
  job.work = SN_NEW(ctx, &t->memory, double, (size_t)sn_threads(ctx) * job.work_size);
  if (!t->adjacent || !t->bone_error || !job.work) return ctx->error.status;
  SN_TRY(sn_skin_new(ctx, n, t->options->influences, &t->bones.skin));
  find_adjacent(t);
  SN_TRY(sn_proxy_start(ctx, &t->memory, &t->bones));
  for (int round = 0; round < sn_rotreg_rounds; round++) {
    SN_TRY(solve_weights(&job));
    SN_TRY(sn_proxy_refit(ctx, &t->bones, sn_bone_ridge));
  }
  sn_team_for(ctx, n, 64, measure_range, t);
  return sn_team_gather(ctx, n, 64, t->bone_error, sizeof *t->bone_error);
}
