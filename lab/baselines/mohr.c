// SPDX-License-Identifier: MIT
#include "lab/baselines/mohr.h"

#include <math.h>
#include <string.h>

#include "sinew/fit.h"

// Pull to the rest position where the poses leave a direction open, relative to as many poses that do not.
static const double open_ridge = 1e-6;

typedef struct mohr_job {
  const sn_examples *examples;
  const sn_keys *keys;
  const sn_skin *skin;
  float (*rest)[3];
  double *miss; // per vertex
} mohr_job;

static void blend_of(const sn_skin *skin, int i, const sn_affine *pose, sn_mat3 *linear, sn_vec3 *move) {
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
      blend_of(job->skin, (int)i, sn_pose(&job->examples->poses, f), &linear, &move);
      sn_vec3 to = sn_vec3_sub(sn_vec3_from(sn_frame(&job->examples->frames, f)[i]), move);
      sn_mat3 back = sn_mat3_transpose(linear);
      normal = sn_mat3_add(normal, sn_mat3_mul(back, linear));
      right = sn_vec3_add(right, sn_mat3_apply(back, to));
    }
    if (sn_mat3_invert(normal, &inverse)) sn_vec3_store(sn_mat3_apply(inverse, right), job->rest[i]);
  }
}

static void miss_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const mohr_job *job = user;
  for (int64_t i = begin; i < end; i++) {
    job->miss[i] = 0;
    for (int k = 0; k < job->keys->count; k++) {
      int f = job->keys->frames[k];
      sn_vec3 at = sn_skin_blend(job->skin, (int)i, sn_pose(&job->examples->poses, f), sn_vec3_from(job->rest[i]));
      double d = sn_vec3_distance(at, sn_vec3_from(sn_frame(&job->examples->frames, f)[i]));
      job->miss[i] += d * d;
    }
  }
}

static double missed(sn_context *ctx, const mohr_job *job) {
  int n = job->examples->rest.vertex_count;
  double sum = 0;
  sn_parallel_for(ctx, n, 64, miss_range, (void *)job);
  for (int i = 0; i < n; i++) sum += job->miss[i];
  return sum / n / job->keys->count;
}

// One round: weights for the positions, positions for the weights. Kept where the error falls.
static sn_status improve(sn_context *ctx, mohr_job *job, int influences, sn_mohr_fit *out, bool *better) {
  const sn_examples *e = job->examples;
  sn_mesh moved = e->rest;
  sn_weights_options options = sn_weights_options_default();
  sn_skin skin = {0};
  options.influences = influences;
  memcpy(job->rest, out->rest, (size_t)e->rest.vertex_count * sizeof *job->rest);
  moved.positions = job->rest;
  sn_status status = sn_solve_weights(ctx, &moved, &e->frames, &e->poses, job->keys, &options, &skin);
  *better = false;
  if (status != SN_OK) return status;
  job->skin = &skin;
  sn_parallel_for(ctx, e->rest.vertex_count, 64, place_range, job);
  double error = missed(ctx, job);
  *better = error < 0.999 * out->error;
  if (!*better) {
    sn_skin_free(&skin);
    return SN_OK;
  }
  sn_skin_free(&out->skin);
  out->skin = skin, out->error = error;
  memcpy(out->rest, job->rest, (size_t)e->rest.vertex_count * sizeof *job->rest);
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
  job.miss = SN_NEW(ctx, &scratch, double, n);
  sn_status status = out->rest && job.rest && job.miss ? SN_OK : ctx->error.status;
  if (status == SN_OK) memcpy(out->rest, examples->rest.positions, n * sizeof *out->rest);
  bool better = true;
  for (int round = 0; status == SN_OK && better && round < rounds; round++) {
    status = improve(ctx, &job, influences, out, &better);
  }
  sn_arena_free(&scratch);
  return status;
}
