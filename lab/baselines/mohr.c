// SPDX-License-Identifier: MIT
// Mohr and Gleicher 2003: influence sets, then weights and rest positions in turn (sections 3.2 and 3.3).
#include "lab/baselines/mohr.h"

#include <math.h>
#include <string.h>

#include "solve/solve.h"

// Ridge towards the rest position for directions that the poses do not determine, relative to the number of poses.
static const double open_ridge = 1e-6;

typedef struct mohr_job {
  const sn_examples *examples;
  const sn_keys *keys;
  sn_skin *skin;
  float (*rest)[3];
  double *residual; // per vertex: squared error
} mohr_job;

void sn_mohr_blend(const sn_skin *skin, int i, const sn_affine *pose, sn_mat3 *linear, sn_vec3 *move) {
  *linear = (sn_mat3){0}, *move = (sn_vec3){0, 0, 0};
  for (int k = 0; k < skin->influences; k++) {
    size_t at = (size_t)i * (size_t)skin->influences + (size_t)k;
    const sn_affine *m = &pose[skin->joints[at]];
    double w = (double)skin->weights[at];
    *linear = sn_mat3_add(*linear, sn_mat3_scale(sn_affine_linear(*m), w));
    *move = sn_vec3_mad(*move, (sn_vec3){m->m[0][3], m->m[1][3], m->m[2][3]}, w);
  }
}

// The u that minimises sum_f |B_f u + b_f - x_f|^2 with B_f, b_f the blended matrix.
static void place_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const mohr_job *job = user;
  for (int64_t i = begin; i < end; i++) {
    sn_vec3 rest = sn_vec3_from(job->examples->rest.positions[i]), right, move;
    double ridge = open_ridge * job->keys->count;
    sn_mat3 normal = sn_mat3_diagonal(ridge, ridge, ridge), linear, inverse;
    right = sn_vec3_scale(rest, ridge);
    for (int k = 0; k < job->keys->count; k++) {
      int f = job->keys->frames[k];
      sn_mohr_blend(job->skin, (int)i, sn_pose(&job->examples->poses, f), &linear, &move);
      sn_vec3 to = sn_vec3_sub(sn_vec3_from(sn_frame(&job->examples->frames, f)[i]), move);
      sn_mat3 back = sn_mat3_transpose(linear);
      normal = sn_mat3_add(normal, sn_mat3_mul(back, linear));
      right = sn_vec3_add(right, sn_mat3_apply(back, to));
    }
    if (sn_mat3_invert(normal, &inverse)) sn_vec3_store(sn_mat3_apply(inverse, right), job->rest[i]);
  }
}

static void residual_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const mohr_job *job = user;
  for (int64_t i = begin; i < end; i++) {
    job->residual[i] = 0;
    for (int k = 0; k < job->keys->count; k++) {
      int f = job->keys->frames[k];
      sn_vec3 at = sn_skin_blend(job->skin, (int)i, sn_pose(&job->examples->poses, f), sn_vec3_from(job->rest[i]));
      double d = sn_vec3_distance(at, sn_vec3_from(sn_frame(&job->examples->frames, f)[i]));
      job->residual[i] += d * d;
    }
  }
}

static double residual_of(sn_context *ctx, const mohr_job *job) {
  int n = job->examples->rest.vertex_count;
  double sum = 0;
  sn_parallel_for(ctx, n, 64, residual_range, (void *)job);
  for (int i = 0; i < n; i++) sum += job->residual[i];
  return sum / n / job->keys->count;
}

int sn_mohr_influences(const sn_examples *examples, const sn_keys *keys, int i, int *out) {
  double spreads[sn_mohr_set];
  int count = 0;
  for (int j = 0; j < examples->poses.joint_count; j++) {
    sn_vec3 sum = {0, 0, 0};
    double squares = 0;
    for (int k = 0; k < keys->count; k++) {
      int f = keys->frames[k];
      sn_affine back = sn_affine_identity();
      if (!sn_affine_invert(sn_pose(&examples->poses, f)[j], &back)) squares = INFINITY;
      sn_vec3 at = sn_affine_apply(back, sn_vec3_from(sn_frame(&examples->frames, f)[i]));
      sum = sn_vec3_add(sum, at), squares += sn_vec3_dot(at, at);
    }
    count = sn_least_enter(sn_mohr_set, count, squares - sn_vec3_dot(sum, sum) / keys->count, j, spreads, out);
  }
  return count;
}

// Weights on the influence set for the present rest position, at most skin->influences above zero.
static void weigh_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const mohr_job *job = user;
  sn_skin *skin = job->skin;
  for (int64_t i = begin; i < end; i++) {
    int joints[sn_mohr_set], slot = 0;
    sn_simplex q = {.n = sn_mohr_influences(job->examples, job->keys, (int)i, joints), .w = {1}};
    for (int k = 0; k < job->keys->count; k++) {
      int f = job->keys->frames[k];
      sn_vec3 to = sn_vec3_from(sn_frame(&job->examples->frames, f)[i]), at[sn_mohr_set];
      for (int n = 0; n < q.n; n++)
        at[n] = sn_affine_apply(sn_pose(&job->examples->poses, f)[joints[n]], sn_vec3_from(job->rest[i]));
      for (int n = 0; n < q.n; n++) {
        q.b[n] += sn_vec3_dot(at[n], to);
        for (int m = 0; m < q.n; m++) q.a[n][m] += sn_vec3_dot(at[n], at[m]);
      }
    }
    sn_simplex_solve_sparse(&q, skin->influences);
    for (int n = 0; n < q.n; n++) {
      if (!(q.w[n] > 0) || slot == skin->influences) continue;
      size_t at = (size_t)i * (size_t)skin->influences + (size_t)slot++;
      skin->joints[at] = (uint16_t)joints[n], skin->weights[at] = (float)q.w[n];
    }
  }
}

// One round: weights for given positions, then positions for given weights. Kept if the error falls.
static sn_status improve(sn_context *ctx, mohr_job *job, int influences, sn_mohr_fit *out, bool *better) {
  int n = job->examples->rest.vertex_count;
  sn_skin skin = {0};
  memcpy(job->rest, out->rest, (size_t)n * sizeof *job->rest);
  sn_status status = sn_skin_new(ctx, n, influences, &skin);
  *better = false;
  if (status != SN_OK) return status;
  job->skin = &skin;
  sn_parallel_for(ctx, n, 64, weigh_range, job);
  sn_parallel_for(ctx, n, 64, place_range, job);
  double error = residual_of(ctx, job);
  *better = error < 0.999 * out->error;
  if (!*better) {
    sn_skin_free(&skin);
    return SN_OK;
  }
  sn_skin_free(&out->skin);
  out->skin = skin, out->error = error;
  memcpy(out->rest, job->rest, (size_t)n * sizeof *job->rest);
  return SN_OK;
}

sn_status sn_mohr_train(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                        int influences, int rounds, sn_mohr_fit *out) {
  size_t n = (size_t)examples->rest.vertex_count;
  sn_arena scratch = sn_arena_new(ctx);
  mohr_job job = {.examples = examples, .keys = keys};
  *out = (sn_mohr_fit){.error = INFINITY};
  out->rest = sn_arena_alloc(ctx, memory, n, sizeof *out->rest);
  job.rest = sn_arena_alloc(ctx, &scratch, n, sizeof *job.rest);
  job.residual = SN_NEW(ctx, &scratch, double, n);
  sn_status status = out->rest && job.rest && job.residual ? SN_OK : ctx->error.status;
  if (status == SN_OK) memcpy(out->rest, examples->rest.positions, n * sizeof *out->rest);
  bool better = true;
  for (int round = 0; status == SN_OK && better && round < rounds; round++) {
    status = improve(ctx, &job, influences, out, &better);
  }
  sn_arena_free(&scratch);
  return status;
}
