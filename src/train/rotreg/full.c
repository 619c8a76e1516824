// SPDX-License-Identifier: MIT
// The unreduced form (4.1, 4.2): a predictor per triangle, a sparse system per mesh. Reference for accuracy.
#include "train/rotreg/rotreg.h"

// The trained form: every triangle is a separate key gradient.
typedef struct full_form {
  sn_context *ctx;
  const sn_examples *examples;
  const sn_keys *keys;
  sn_rotreg_training t;
} full_form;

static size_t triangles_of(const full_form *f) { return (size_t)f->examples->rest.triangle_count; }

// The gradient of a degenerate triangle: the linear blend at its first corner.
static sn_mat3 blend_gradient(const sn_skin *skin, const sn_affine *pose, int i) {
  sn_mat3 sum = {0};
  for (int k = 0; k < skin->influences; k++) {
    size_t at = (size_t)i * (size_t)skin->influences + (size_t)k;
    sum = sn_mat3_add(sum, sn_mat3_scale(sn_affine_linear(pose[skin->joints[at]]), (double)skin->weights[at]));
  }
  return sum;
}

static void fill_sequences(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const full_form *f = user;
  const sn_mesh *rest = &f->examples->rest;
  const sn_rotreg_key_gradients *g = &f->t.gradients;
  for (int64_t t = begin; t < end; t++) {
    for (int m = 0; m < sn_rotreg_most_gradients; m++) g->index[t][m] = m ? -1 : (int)t;
    g->beta[t][0] = 1;
    for (int k = 0; k < f->keys->count; k++) {
      int frame = f->keys->frames[k];
      sn_mat3 *out = &g->sequence[(size_t)t * (size_t)f->keys->count + (size_t)k];
      if (!sn_rotreg_gradient(rest, sn_frame(&f->examples->frames, frame), (int)t, out))
        *out = blend_gradient(&f->t.skin, sn_pose(&f->examples->poses, frame), rest->triangles[t][0]);
    }
  }
}

typedef struct solve_job {
  const full_form *f;
  const sn_rotreg_poisson *poisson;
  const sn_keys *wanted;
  sn_frames *out;
  double *work;
  size_t work_size; // numbers per worker
} solve_job;

// As published: fixed vertices (F) get a weight far above that of the edges, all others none.
static sn_status set_published_weights(full_form *f) {
  const double hard = 1e7;
  size_t n = (size_t)f->examples->rest.vertex_count;
  sn_arena scratch = sn_arena_new(f->ctx);
  bool *fixed = SN_NEW(f->ctx, &scratch, bool, n);
  sn_status status = fixed ? sn_rotreg_hard_set(f->ctx, &f->t.data, &f->t.anchors, fixed) : f->ctx->error.status;
  for (size_t i = 0; status == SN_OK && i < n; i++) f->t.anchor_weight[i] = fixed[i] ? hard : 0;
  sn_arena_free(&scratch);
  return status;
}

// ---- training and evaluation ----------------------------------------------------------------------------------------

static sn_status train_full(full_form *f, sn_arena *memory) {
  sn_context *ctx = f->ctx;
  size_t triangles = triangles_of(f);
  sn_rotreg_key_gradients *g = &f->t.gradients;
  *g = (sn_rotreg_key_gradients){.gradient_count = (int)triangles, .pose_count = f->keys->count};
  g->sequence = SN_NEW(ctx, memory, sn_mat3, triangles * (size_t)f->keys->count);
  g->index = sn_arena_alloc(ctx, memory, triangles, sizeof *g->index);
  g->beta = sn_arena_alloc(ctx, memory, triangles, sizeof *g->beta);
  if (!g->sequence || !g->index || !g->beta) return ctx->error.status;
  sn_status status = sn_rotreg_training_start(ctx, memory, f->examples, f->keys, &f->t);
  if (status == SN_OK) sn_parallel_for(ctx, (int64_t)triangles, 64, fill_sequences, f);
  if (status == SN_OK) status = sn_rotreg_training_finish(ctx, &f->t);
  return status == SN_OK && f->t.fit.published ? set_published_weights(f) : status;
}

static sn_mat3 predict_triangle(const full_form *f, size_t t, const sn_mat3 *rotation, const sn_vec3 *theta,
                                const double *x) {
  const sn_rotreg_learned *l = &f->t.learned;
  return l->loads ? sn_torque_predict(&l->torque.pairs[t], l->torque.functions, rotation, theta, x)
                  : sn_rotreg_predict(&l->predictors[t], rotation, theta);
}

static void evaluate_frames(void *user, int64_t begin, int64_t end, int worker) {
  const solve_job *job = user;
  const full_form *f = job->f;
  const sn_examples *e = f->examples;
  double *work = job->work + (size_t)worker * job->work_size;
  sn_mat3 *gradients = (sn_mat3 *)(void *)(work + sn_rotreg_poisson_work(&e->rest));
  sn_vec3 *blend = (sn_vec3 *)(void *)(gradients + triangles_of(f));
  sn_mat3 *rotation = (sn_mat3 *)(void *)(blend + e->rest.vertex_count);
  sn_vec3 *theta = (sn_vec3 *)(void *)(rotation + f->t.rotations.joint_count);
  double *x = (double *)(void *)(theta + f->t.rotations.joint_count);
  for (int64_t k = begin; k < end; k++) {
    const sn_affine *pose = sn_pose(&e->poses, job->wanted->frames[k]);
    sn_rotreg_rotations_pose(&f->t.rotations, pose, rotation, theta);
    if (f->t.learned.loads) sn_torque_loads_at(f->t.learned.loads, &e->torques, job->wanted->frames[k], x);
    for (size_t t = 0; t < triangles_of(f); t++) gradients[t] = predict_triangle(f, t, rotation, theta, x);
    for (int i = 0; i < e->rest.vertex_count; i++) blend[i] = sn_rotreg_anchor_at(&f->t.anchors, i, pose);
    sn_rotreg_poisson_solve(job->poisson, gradients, blend, work, sn_frame_mutable(job->out, (int)k));
  }
}

static sn_status evaluate_full(full_form *f, const sn_keys *wanted, sn_frames *out, sn_arena *memory) {
  const sn_mesh *rest = &f->examples->rest;
  sn_rotreg_poisson poisson = {0};
  solve_job job = {f, &poisson, wanted, out, NULL, 0};
  job.work_size = sn_rotreg_poisson_work(rest) + 9 * triangles_of(f) + 3 * (size_t)rest->vertex_count +
                  (9 + 3 + 1) * (size_t)f->t.rotations.joint_count;
  job.work = SN_NEW(f->ctx, memory, double, (size_t)sn_threads(f->ctx) * job.work_size);
  sn_status status = job.work ? sn_frames_new(f->ctx, rest->vertex_count, wanted->count, out) : f->ctx->error.status;
  if (status == SN_OK) {
    status = sn_rotreg_poisson_factor(f->ctx, rest, (const double(*)[2])f->t.edge, f->t.anchor_weight, &poisson);
  }
  if (status == SN_OK) sn_parallel_for(f->ctx, wanted->count, 1, evaluate_frames, &job);
  sn_rotreg_poisson_free(&poisson);
  return status;
}

sn_status sn_rotreg_full(sn_context *ctx, const sn_rotreg_task *task, const sn_examples *examples,
                         const sn_keys *keys, const sn_keys *wanted, sn_frames *out) {
  *out = (sn_frames){0};
  sn_arena memory = sn_arena_new(ctx);
  sn_status status = sn_rotreg_check_published(ctx, task->options);
  full_form f = {.ctx = ctx, .examples = examples, .keys = keys};
  f.t.fit = sn_rotreg_fit_options_of(task->options), f.t.learned.loads = task->loads;
  if (status == SN_OK) status = train_full(&f, &memory);
  if (status == SN_OK) status = evaluate_full(&f, wanted, out, &memory);
  if (status != SN_OK) sn_frames_free(out);
  sn_rotreg_training_free(&f.t);
  sn_arena_free(&memory);
  return status;
}
