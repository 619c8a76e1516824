// SPDX-License-Identifier: MIT
// The unreduced form (4.1, 4.2): a predictor per triangle, a sparse system per mesh. Reference for accuracy.
#include "train/rotreg/rotreg.h"

#include "base/scope.h"

// The gradient of a degenerate triangle: the linear blend at its first corner.
static sn_mat3 blend_gradient(const sn_skin *skin, const sn_affine *pose, int i) {
  sn_mat3 sum = {0};
  for (int k = 0; k < skin->influences; k++) {
    size_t at = (size_t)i * (size_t)skin->influences + (size_t)k;
    sum = sn_mat3_add(sum, sn_mat3_scale(sn_affine_linear(pose[skin->joints[at]]), (double)skin->weights[at]));
  }
  return sum;
}

// Every triangle is a separate key gradient.
static void fill_sequences(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const sn_rotreg_training *t = user;
  const sn_mesh *rest = &t->examples->rest;
  const sn_rotreg_key_gradients *g = &t->gradients;
  for (int64_t n = begin; n < end; n++) {
    for (int m = 0; m < sn_rotreg_most_gradients; m++) g->index[n][m] = m ? -1 : (int)n;
    g->beta[n][0] = 1;
    for (int k = 0; k < t->keys->count; k++) {
      int frame = t->keys->frames[k];
      sn_mat3 *out = &g->sequence[(size_t)n * (size_t)t->keys->count + (size_t)k];
      if (!sn_rotreg_gradient(rest, sn_frame(&t->examples->frames, frame), (int)n, out))
        *out = blend_gradient(&t->skin, sn_pose(&t->examples->poses, frame), rest->triangles[n][0]);
    }
  }
}

static sn_status train_full(sn_rotreg_training *t) {
  sn_context *ctx = t->ctx;
  size_t triangles = (size_t)t->examples->rest.triangle_count;
  sn_rotreg_key_gradients *g = &t->gradients;
  *g = (sn_rotreg_key_gradients){.gradient_count = (int)triangles, .pose_count = t->keys->count};
  g->sequence = SN_NEW(ctx, &t->memory, sn_mat3, triangles * (size_t)t->keys->count);
  g->index = sn_arena_alloc(ctx, &t->memory, triangles, sizeof *g->index);
  g->beta = sn_arena_alloc(ctx, &t->memory, triangles, sizeof *g->beta);
  if (!g->sequence || !g->index || !g->beta) return ctx->error.status;
  SN_TRY(sn_rotreg_training_start(t));
  sn_parallel_for(ctx, (int64_t)triangles, 64, fill_sequences, t);
  SN_TRY(sn_rotreg_training_finish(t));
  if (!t->fit.published) return SN_OK;
  const double hard = 1e7; // as published, F gets a weight far above that of the edges, all other vertices none
  SN_TRY(sn_rotreg_hard_set(t));
  for (int i = 0; i < t->examples->rest.vertex_count; i++) t->anchor_weight[i] = t->fixed[i] ? hard : 0;
  return SN_OK;
}

// ---- evaluation -----------------------------------------------------------------------------------------------------

typedef struct solve_job {
  const sn_rotreg_training *t;
  const sn_rotreg_poisson *poisson;
  const sn_keys *targets;
  sn_frames *out;
  double *work;
  size_t work_size; // numbers per worker
} solve_job;

static void evaluate_frames(void *user, int64_t begin, int64_t end, int worker) {
  const solve_job *job = user;
  const sn_rotreg_training *t = job->t;
  const sn_examples *e = t->examples;
  double *work = job->work + (size_t)worker * job->work_size;
  sn_mat3 *gradients = (sn_mat3 *)(void *)(work + sn_rotreg_poisson_work(&e->rest));
  sn_vec3 *blend = (sn_vec3 *)(void *)(gradients + e->rest.triangle_count);
  sn_mat3 *rotation = (sn_mat3 *)(void *)(blend + e->rest.vertex_count);
  sn_vec3 *theta = (sn_vec3 *)(void *)(rotation + t->rotations.joint_count);
  double *x = (double *)(void *)(theta + t->rotations.joint_count);
  for (int64_t k = begin; k < end; k++) {
    const sn_affine *pose = sn_pose(&e->poses, job->targets->frames[k]);
    sn_rotreg_rotations_pose(&t->rotations, pose, rotation, theta);
    if (t->torques) sn_torque_loads_at(&t->loads, &e->torques, job->targets->frames[k], x);
    for (int n = 0; n < e->rest.triangle_count; n++)
      gradients[n] = t->torques ? sn_torque_predict(&t->torque.pairs[n], t->torque.functions, rotation, theta, x)
                                : sn_rotreg_predict(&t->predictors[n], rotation, theta);
    for (int i = 0; i < e->rest.vertex_count; i++) blend[i] = sn_rotreg_anchor_at(&t->anchors, i, pose);
    sn_rotreg_poisson_solve(job->poisson, gradients, blend, work, sn_frame_mutable(job->out, (int)k));
  }
}

static sn_status evaluate_full(sn_rotreg_training *t, const sn_keys *targets, sn_frames *out) {
  const sn_mesh *rest = &t->examples->rest;
  SN_FREED_BY(sn_rotreg_poisson_free) sn_rotreg_poisson poisson = {0};
  solve_job job = {t, &poisson, targets, out, NULL, 0};
  job.work_size = sn_rotreg_poisson_work(rest) + 9 * (size_t)rest->triangle_count + 3 * (size_t)rest->vertex_count +
                  (9 + 3 + 1) * (size_t)t->rotations.joint_count;
  job.work = SN_NEW(t->ctx, &t->memory, double, (size_t)sn_threads(t->ctx) * job.work_size);
  if (!job.work) return t->ctx->error.status;
  SN_TRY(sn_frames_new(t->ctx, rest->vertex_count, targets->count, out));
  SN_TRY(sn_rotreg_poisson_factor(t->ctx, rest, (const double(*)[2])t->edge, t->anchor_weight, &poisson));
  sn_parallel_for(t->ctx, targets->count, 1, evaluate_frames, &job);
  return SN_OK;
}

sn_status sn_rotreg_full(sn_rotreg_training *t, const sn_keys *targets, sn_frames *out) {
  *out = (sn_frames){0};
  sn_status status = train_full(t);
  if (status == SN_OK) status = evaluate_full(t, targets, out);
  if (status != SN_OK) sn_frames_free(out);
  sn_rotreg_training_free(t);
  return status;
}
