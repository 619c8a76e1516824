// SPDX-License-Identifier: MIT
// Key gradients and the blend weights beta of every triangle, by coordinate descent.
#include "train/rotreg/reduced.h"

#include "base/scope.h"
#include "base/team.h"
#include "solve/bones.h"
#include "solve/solve.h"

enum { most = sn_rotreg_most_gradients, rounds = sn_rotreg_rounds };

sn_mat3 sn_rotreg_key_gradients_blend(const sn_rotreg_key_gradients *gradients, int t, const sn_mat3 *values) {
  sn_mat3 sum = {0};
  for (int m = 0; m < most && gradients->index[t][m] >= 0; m++) {
    sum = sn_mat3_add(sum, sn_mat3_scale(values[gradients->index[t][m]], gradients->beta[t][m]));
  }
  return sum;
}

static sn_mat3 *gradient_at(const sn_rotreg_key_gradients *k, int l, int pose) {
  return &k->sequence[(size_t)l * (size_t)k->pose_count + (size_t)pose];
}

// v^_kj, and v_kj in a pose of the training.
static sn_vec3 rest_edge(const sn_rotreg_training *t, int triangle, int j) {
  const sn_mesh *rest = &t->examples->rest;
  return sn_rotreg_edge(rest, (const float(*)[3])rest->positions, triangle, j);
}
static sn_vec3 posed_edge(const sn_rotreg_training *t, int pose, int triangle, int j) {
  return sn_rotreg_edge(&t->examples->rest, sn_frame(&t->examples->frames, t->keys->frames[pose]), triangle, j);
}

static double ridge_of(const sn_rotreg_training *t) { return t->fit.published ? 1e-9 : sn_bone_ridge; }

// ---- beta for given sequences ---------------------------------------------------------------------------------------

static double alone_error(const sn_rotreg_training *t, int triangle, int l) {
  double sum = 0;
  for (int n = 0; n < 2 * t->gradients.pose_count; n++) {
    sn_vec3 v = rest_edge(t, triangle, 1 + n % 2);
    sn_vec3 d =
      sn_vec3_sub(sn_mat3_apply(*gradient_at(&t->gradients, l, n / 2), v), posed_edge(t, n / 2, triangle, 1 + n % 2));
    sum += sn_vec3_dot(d, d);
  }
  return sum;
}

// The gradient of the triangle's group first, then those of adjacent groups with the least error.
static void choose_gradients(const sn_rotreg_training *t, int triangle) {
  const sn_proxy_bones *bones = &t->bones;
  int own = bones->group_of[triangle], *index = t->gradients.index[triangle], count = 0;
  double errors[most];
  for (int m = 0; m < most; m++) index[m] = -1;
  index[0] = own;
  for (int other = 0; other < bones->bone_count; other++) {
    if (other == own || !t->adjacent[(size_t)own * (size_t)bones->bone_count + (size_t)other]) continue;
    count = sn_least_enter(most - 1, count, alone_error(t, triangle, other), other, errors, index + 1);
  }
}

// The betas of triangle k (5.2): minimise sum |sum_l beta_kl D_l v^ - v|^2. As published they are free; otherwise they
// sum to one, and a ridge regularises those of other groups towards zero.
static void solve_beta(const sn_rotreg_training *t, int triangle) {
  const sn_rotreg_key_gradients *k = &t->gradients;
  const int *index = k->index[triangle];
  double a[most][most] = {{0}}, b[most] = {0}, *beta = k->beta[triangle], squares = 0;
  int n = 0, first = t->fit.published ? 0 : 1;
  while (n + first < most && index[n + first] >= 0) n++;
  for (int e = 0; e < 2 * k->pose_count; e++) {
    int p = e / 2, j = 1 + e % 2;
    sn_vec3 v = rest_edge(t, triangle, j), x[most], own = {0, 0, 0};
    if (first) own = sn_mat3_apply(*gradient_at(k, index[0], p), v);
    sn_vec3 residual = sn_vec3_sub(posed_edge(t, p, triangle, j), own);
    for (int m = 0; m < n; m++) x[m] = sn_vec3_sub(sn_mat3_apply(*gradient_at(k, index[m + first], p), v), own);
    for (int m = 0; m < n; m++) {
      for (int l = 0; l <= m; l++) a[m][l] += sn_vec3_dot(x[m], x[l]);
      b[m] += sn_vec3_dot(x[m], residual);
    }
    squares += sn_vec3_dot(v, v);
  }
  for (int m = 0; m < n; m++) a[m][m] += ridge_of(t) * squares + 1e-300;
  sn_spd_solve(n, most, a[0], 1, b);
  beta[0] = 1;
  for (int m = 0; m < n; m++) beta[m + first] = b[m], beta[0] -= first * b[m];
}

static void choose_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  for (int64_t n = begin; n < end; n++) choose_gradients(user, (int)n);
}

static void beta_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  for (int64_t n = begin; n < end; n++) solve_beta(user, (int)n);
}

// ---- sequences for given beta ---------------------------------------------------------------------------------------

// Equation n is edge n % 2 of triangle n / 2: beta_l v^ for the triangle's gradients, bones without translation.
static void row_of(const void *user, int n, sn_bone_row *out) {
  const sn_rotreg_training *t = user;
  const int *index = t->gradients.index[n / 2];
  sn_vec3 v = rest_edge(t, n / 2, 1 + n % 2);
  for (; out->count < most && index[out->count] >= 0; out->count++) {
    double beta = t->gradients.beta[n / 2][out->count], *u = out->u[out->count];
    out->bone[out->count] = index[out->count];
    u[0] = beta * v.x, u[1] = beta * v.y, u[2] = beta * v.z;
  }
}

static void residual_of(const void *user, int n, const sn_bone_row *row, int pose, double y[3]) {
  const sn_rotreg_training *t = user;
  sn_vec3 left = posed_edge(t, pose, n / 2, 1 + n % 2);
  for (int m = 0; m < row->count; m++) {
    sn_vec3 v = {row->u[m][0], row->u[m][1], row->u[m][2]};
    left = sn_vec3_sub(left, sn_mat3_apply(*gradient_at(&t->gradients, row->bone[m], pose), v));
  }
  y[0] = left.x, y[1] = left.y, y[2] = left.z;
}

// Solves for D_l at given beta (5.2), as a step from the present sequences.
static sn_status solve_sequences(const sn_rotreg_training *t) {
  const sn_rotreg_key_gradients *k = &t->gradients;
  SN_SCRATCH(scratch, t->ctx);
  sn_bone_system s;
  const sn_bone_equations equations = {
    k->gradient_count, k->pose_count, 2 * t->examples->rest.triangle_count, row_of, residual_of, t, ridge_of(t), 0};
  SN_TRY(sn_bone_equations_solve(t->ctx, &scratch, &equations, &s));
  for (int n = 0; n < k->gradient_count * k->pose_count * 9; n++) {
    int l = n / 9 / k->pose_count, p = n / 9 % k->pose_count, r = n / 3 % 3, c = n % 3;
    gradient_at(k, l, p)->m[r][c] += sn_bone_step(&s, l, p, r, c);
  }
  return SN_OK;
}

sn_status sn_rotreg_key_gradients_fit(sn_rotreg_training *t) {
  sn_context *ctx = t->ctx;
  sn_rotreg_key_gradients *k = &t->gradients;
  const sn_proxy_bones *bones = &t->bones;
  int triangles = t->examples->rest.triangle_count;
  *k = (sn_rotreg_key_gradients){.gradient_count = bones->bone_count, .pose_count = t->keys->count};
  k->sequence = SN_NEW(ctx, &t->memory, sn_mat3, (size_t)k->gradient_count * (size_t)k->pose_count);
  k->index = sn_arena_alloc(ctx, &t->memory, (size_t)triangles, sizeof *k->index);
  k->beta = sn_arena_alloc(ctx, &t->memory, (size_t)triangles, sizeof *k->beta);
  if (!k->sequence || !k->index || !k->beta) return ctx->error.status;
  for (int n = 0; n < k->gradient_count * k->pose_count; n++)
    k->sequence[n] = sn_affine_linear(bones->motion[n % k->pose_count * k->gradient_count + n / k->pose_count]);
  for (int n = 0; n < triangles; n++) {
    for (int m = 0; m < most; m++) k->index[n][m] = m ? -1 : bones->group_of[n];
    k->beta[n][0] = 1;
  }
  // Proxy bones are fitted to be blended and rotate further than the surface: unless published, begin with D_l.
  for (int round = 0; round < rounds + t->fit.published; round++) {
    if (round > 0 || !t->fit.published) SN_TRY(solve_sequences(t));
    if (round == 0) sn_parallel_for(ctx, triangles, 64, choose_range, t);
    sn_team_for(ctx, triangles, 64, beta_range, t);
    SN_TRY(sn_team_gather(ctx, triangles, 64, k->beta, sizeof *k->beta));
  }
  return SN_OK;
}
