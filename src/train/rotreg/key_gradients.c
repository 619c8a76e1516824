// SPDX-License-Identifier: MIT
// Key gradients and the blend weights beta of every triangle, by coordinate descent.
#include "train/rotreg/reduced.h"

#include "base/team.h"
#include "solve/bones.h"
#include "solve/solve.h"

enum { most = sn_rotreg_most_gradients, rounds = sn_rotreg_rounds };

typedef struct gradients_job {
  sn_context *ctx;
  const sn_examples *examples;
  const sn_keys *keys;
  const sn_rotreg_bones *bones;
  sn_rotreg_key_gradients *k;
  bool published;
} gradients_job;

sn_mat3 sn_rotreg_key_gradients_blend(const sn_rotreg_key_gradients *gradients, int t, const sn_mat3 *values) {
  sn_mat3 sum = {0};
  for (int m = 0; m < most && gradients->index[t][m] >= 0; m++) {
    sum = sn_mat3_add(sum, sn_mat3_scale(values[gradients->index[t][m]], gradients->beta[t][m]));
  }
  return sum;
}

static sn_mat3 *gradient_at(const gradients_job *job, int l, int pose) {
  return &job->k->sequence[(size_t)l * (size_t)job->k->pose_count + (size_t)pose];
}

// ---- beta for given sequences ---------------------------------------------------------------------------------------

static double alone_error(const gradients_job *job, int t, int l) {
  const sn_mesh *rest = &job->examples->rest;
  double sum = 0;
  for (int p = 0; p < job->k->pose_count; p++) {
    const float(*frame)[3] = sn_frame(&job->examples->frames, job->keys->frames[p]);
    for (int j = 1; j < 3; j++) {
      sn_vec3 v = sn_rotreg_edge(rest, (const float(*)[3])rest->positions, t, j);
      sn_vec3 d = sn_vec3_sub(sn_mat3_apply(*gradient_at(job, l, p), v), sn_rotreg_edge(rest, frame, t, j));
      sum += sn_vec3_dot(d, d);
    }
  }
  return sum;
}

// The gradient of the triangle's group first, then those of adjacent groups with the least error.
static void choose_gradients(const gradients_job *job, int t) {
  const sn_rotreg_bones *bones = job->bones;
  int own = bones->group_of[t], *index = job->k->index[t], count = 0;
  double errors[most];
  for (int m = 0; m < most; m++) index[m] = -1;
  index[0] = own;
  for (int other = 0; other < bones->bone_count; other++) {
    if (other == own || !bones->adjacent[(size_t)own * (size_t)bones->bone_count + (size_t)other]) continue;
    count = sn_least_enter(most - 1, count, alone_error(job, t, other), other, errors, index + 1);
  }
}

// The betas of triangle k (5.2): minimise sum |sum_l beta_kl D_l v^ - v|^2. As published they are free; otherwise they
// sum to one, and a ridge regularises those of other groups towards zero.
static void solve_beta(const gradients_job *job, int t) {
  const sn_mesh *rest = &job->examples->rest;
  const int *index = job->k->index[t];
  double a[most][most] = {{0}}, b[most] = {0}, *beta = job->k->beta[t], squares = 0;
  int n = 0, first = job->published ? 0 : 1;
  while (n + first < most && index[n + first] >= 0) n++;
  for (int p = 0; p < job->k->pose_count; p++) {
    const float(*frame)[3] = sn_frame(&job->examples->frames, job->keys->frames[p]);
    for (int j = 1; j < 3; j++) {
      sn_vec3 v = sn_rotreg_edge(rest, (const float(*)[3])rest->positions, t, j), x[most];
      sn_vec3 own = {0, 0, 0};
      if (first) own = sn_mat3_apply(*gradient_at(job, index[0], p), v);
      sn_vec3 residual = sn_vec3_sub(sn_rotreg_edge(rest, frame, t, j), own);
      for (int m = 0; m < n; m++) x[m] = sn_vec3_sub(sn_mat3_apply(*gradient_at(job, index[m + first], p), v), own);
      for (int m = 0; m < n; m++) {
        for (int l = 0; l <= m; l++) a[m][l] += sn_vec3_dot(x[m], x[l]);
        b[m] += sn_vec3_dot(x[m], residual);
      }
      squares += sn_vec3_dot(v, v);
    }
  }
  for (int m = 0; m < n; m++) a[m][m] += (job->published ? 1e-9 : sn_bone_ridge) * squares + 1e-300;
  sn_spd_solve(n, most, a[0], 1, b);
  beta[0] = 1;
  for (int m = 0; m < n; m++) beta[m + first] = b[m], beta[0] -= first * b[m];
}

static void choose_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  for (int64_t t = begin; t < end; t++) choose_gradients(user, (int)t);
}

static void beta_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  for (int64_t t = begin; t < end; t++) solve_beta(user, (int)t);
}

// ---- sequences for given beta ---------------------------------------------------------------------------------------

// The equation of an edge: beta_l v^ for the triangle's gradients. A gradient is a bone without translation.
static sn_bone_row row_of(const gradients_job *job, int t, int j, double row[most][4]) {
  const sn_mesh *rest = &job->examples->rest;
  sn_vec3 v = sn_rotreg_edge(rest, (const float(*)[3])rest->positions, t, j);
  int n = 0;
  for (; n < most && job->k->index[t][n] >= 0; n++) {
    double beta = job->k->beta[t][n];
    row[n][0] = beta * v.x, row[n][1] = beta * v.y, row[n][2] = beta * v.z, row[n][3] = 0;
  }
  return (sn_bone_row){n, job->k->index[t], row, 1};
}

typedef struct solve_job {
  const gradients_job *job;
  sn_bone_system system;
} solve_job;

// Adds the residual of the present sequences as targets.
static void add_residuals(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const solve_job *s = user;
  const gradients_job *job = s->job;
  for (int n = 0; n < 2 * job->examples->rest.triangle_count; n++) {
    double row[most][4];
    const sn_bone_row equation = row_of(job, n / 2, 1 + n % 2, row);
    if (begin == 0) sn_bone_system_add(&s->system, &equation); // once, for all frames
    for (int64_t p = begin; p < end; p++) {
      sn_vec3 left = sn_rotreg_edge(&job->examples->rest, sn_frame(&job->examples->frames, job->keys->frames[p]),
                                    n / 2, 1 + n % 2);
      for (int m = 0; m < equation.count; m++) {
        left = sn_vec3_sub(left, sn_mat3_apply(*gradient_at(job, equation.bone[m], (int)p),
                                               sn_vec3_make(row[m][0], row[m][1], row[m][2])));
      }
      sn_bone_system_target(&s->system, &equation, 3 * (int)p, (const double[3]){left.x, left.y, left.z});
    }
  }
}

// Solves for D_l at given beta (5.2), as a step from the present sequences.
static sn_status solve_sequences(const gradients_job *job) {
  sn_rotreg_key_gradients *k = job->k;
  sn_arena scratch = sn_arena_new(job->ctx);
  solve_job s = {.job = job};
  sn_status status = sn_bone_system_new(job->ctx, &scratch, k->gradient_count, 3 * k->pose_count, &s.system);
  if (status == SN_OK) {
    sn_parallel_for(job->ctx, k->pose_count, 8, add_residuals, &s);
    status = sn_bone_system_solve(job->ctx, &s.system, job->published ? 1e-9 : sn_bone_ridge, 0);
  }
  for (int n = 0; status == SN_OK && n < k->gradient_count * k->pose_count * 9; n++) {
    int l = n / 9 / k->pose_count, p = n / 9 % k->pose_count, r = n / 3 % 3, c = n % 3;
    gradient_at(job, l, p)->m[r][c] +=
      s.system.right[(size_t)(4 * l + c) * (size_t)s.system.columns + (size_t)(3 * p + r)];
  }
  sn_arena_free(&scratch);
  return status;
}

static sn_status solve_betas(const gradients_job *job) {
  int triangles = job->examples->rest.triangle_count;
  sn_team_for(job->ctx, triangles, 64, beta_range, (void *)job);
  return sn_team_gather(job->ctx, triangles, 64, job->k->beta, sizeof *job->k->beta);
}

sn_status sn_rotreg_key_gradients_fit(sn_context *ctx, sn_arena *memory, const sn_rotreg_data *data,
                                      const sn_rotreg_bones *bones, sn_rotreg_key_gradients *out) {
  const sn_examples *examples = data->examples;
  const sn_keys *keys = data->keys;
  size_t triangles = (size_t)examples->rest.triangle_count;
  *out = (sn_rotreg_key_gradients){.gradient_count = bones->bone_count, .pose_count = keys->count};
  out->sequence = SN_NEW(ctx, memory, sn_mat3, (size_t)out->gradient_count * (size_t)out->pose_count);
  out->index = sn_arena_alloc(ctx, memory, triangles, sizeof *out->index);
  out->beta = sn_arena_alloc(ctx, memory, triangles, sizeof *out->beta);
  if (!out->sequence || !out->index || !out->beta) return ctx->error.status;
  gradients_job job = {
    .ctx = ctx, .examples = examples, .keys = keys, .bones = bones, .k = out, .published = data->published};
  for (int n = 0; n < out->gradient_count * out->pose_count; n++) {
    int l = n / out->pose_count, pose = n % out->pose_count;
    out->sequence[n] = sn_affine_linear(bones->matrix[(size_t)pose * (size_t)out->gradient_count + (size_t)l]);
  }
  for (size_t t = 0; t < triangles; t++) {
    for (int m = 0; m < most; m++) out->index[t][m] = m ? -1 : bones->group_of[t];
    out->beta[t][0] = 1;
  }
  // Proxy bones are fitted to be blended and rotate further than the surface: unless published, begin with D_l.
  sn_status status = SN_OK;
  for (int round = 0; status == SN_OK && round < rounds + job.published; round++) {
    if (round > 0 || !job.published) status = solve_sequences(&job);
    if (round == 0) sn_parallel_for(ctx, examples->rest.triangle_count, 64, choose_range, &job);
    if (status == SN_OK) status = solve_betas(&job);
  }
  return status;
}
