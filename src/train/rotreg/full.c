// SPDX-License-Identifier: MIT
// The unreduced form (4.1, 4.2): a predictor per triangle, a sparse system per mesh. The reference for accuracy.
#include <string.h>

#include "sinew/rig.h"
#include "train/rotreg/centre.h"
#include "train/rotreg/floor.h"
#include "train/rotreg/rotreg.h"
#include "train/rotreg/anchor.h"
#include "train/rotreg/poisson.h"
#include "train/rotreg/published.h"
#include "train/rotreg/torque.h"

// Everything learned, and held-out residuals: the weights of the least-squares problem are the inverse mean squares of each
// term's residual.
typedef struct full_form {
  sn_context *ctx;
  const sn_examples *examples;
  const sn_keys *keys;
  sn_rotreg_fit_options options;
  sn_rotreg_rotations rotations;
  sn_skin skin;
  sn_rotreg_predictor *predictors; // per triangle
  const sn_torque_loads *loads;    // NULL: without torques
  sn_torque_model torque;          // pairs per triangle instead, where there are
  sn_folds folds;
  sn_rotreg_anchors anchors;
  sn_topology topology;
  double (*edge_residual)[2], *blend_residual;
  double (*edges)[2], *anchor_weight;
  char *work;
  size_t work_size;
} full_form;

static size_t triangles_of(const full_form *f) { return (size_t)f->examples->rest.triangle_count; }

// A triangle without area moves as the linear blend of its first corner.
static sn_mat3 blend_gradient(const sn_skin *skin, const sn_affine *pose, int i) {
  sn_mat3 sum = {0};
  for (int k = 0; k < skin->influences; k++) {
    size_t at = (size_t)i * (size_t)skin->influences + (size_t)k;
    sum = sn_mat3_add(sum, sn_mat3_scale(sn_affine_linear(pose[skin->joints[at]]), (double)skin->weights[at]));
  }
  return sum;
}

static void triangle_sequence(const full_form *f, int t, sn_mat3 *out) {
  const sn_mesh *rest = &f->examples->rest;
  for (int k = 0; k < f->keys->count; k++) {
    int frame = f->keys->frames[k];
    if (sn_rotreg_gradient(rest, sn_frame(&f->examples->frames, frame), t, &out[k])) continue;
    out[k] = blend_gradient(&f->skin, sn_pose(&f->examples->poses, frame), rest->triangles[t][0]);
  }
}

static sn_mat3 predict_at(const full_form *f, const sn_rotreg_predictor *p, int pose) {
  size_t at = (size_t)pose * (size_t)f->rotations.joint_count;
  return sn_rotreg_predict(p, f->rotations.rotation + at, f->rotations.theta + at);
}

static sn_vec3 edge_of(const sn_mesh *mesh, const float (*positions)[3], int t, int j) {
  const int *corners = mesh->triangles[t];
  return sn_vec3_sub(sn_vec3_from(positions[corners[j + 1]]), sn_vec3_from(positions[corners[0]]));
}

static void add_residual(const full_form *f, int t, int pose, sn_mat3 predicted) {
  const sn_mesh *rest = &f->examples->rest;
  const float(*frame)[3] = sn_frame(&f->examples->frames, f->keys->frames[pose]);
  for (int j = 0; j < 2; j++) {
    sn_vec3 rest_edge = edge_of(rest, (const float(*)[3])rest->positions, t, j);
    sn_vec3 d = sn_vec3_sub(sn_mat3_apply(predicted, rest_edge), edge_of(rest, frame, t, j));
    f->edge_residual[t][j] += sn_vec3_dot(d, d) / f->keys->count;
  }
}

static void fit_triangle(const full_form *f, int t, char *memory) {
  sn_mat3 *sequence = (sn_mat3 *)(void *)memory;
  sn_rotreg_work *work = (sn_rotreg_work *)(void *)(memory + (size_t)f->keys->count * sizeof *sequence);
  int poses = f->keys->count;
  triangle_sequence(f, t, sequence);
  sn_rotreg_sample sample = {&f->rotations, sequence, f->folds.folds[0].poses, poses, &f->options};
  sn_rotreg_fit(&sample, work, &f->predictors[t]);
  for (int n = 0; n < f->folds.fold_count; n++) {
    const sn_fold *fold = &f->folds.folds[n];
    sn_rotreg_predictor p;
    sample.pick = fold->poses, sample.count = fold->outside_count;
    sn_rotreg_refit(&sample, work, &f->predictors[t], &p);
    for (int m = fold->outside_count; m < fold->count; m++)
      add_residual(f, t, fold->poses[m], predict_at(f, &p, fold->poses[m]));
  }
}

static void fit_triangles(void *user, int64_t begin, int64_t end, int worker) {
  const full_form *f = user;
  for (int64_t t = begin; t < end; t++) fit_triangle(f, (int)t, f->work + (size_t)worker * f->work_size);
}

// Pairs of predictors that follow the torques, in the place of those that do not.
static sn_status fit_torques(full_form *f, sn_arena *memory) {
  size_t triangles = triangles_of(f), poses = (size_t)f->keys->count;
  sn_arena scratch = sn_arena_new(f->ctx);
  sn_mat3 *sequences = SN_NEW(f->ctx, &scratch, sn_mat3, triangles * poses);
  sn_mat3 *left_out = SN_NEW(f->ctx, &scratch, sn_mat3, triangles * poses);
  sn_status status = sequences && left_out ? SN_OK : f->ctx->error.status;
  for (size_t t = 0; status == SN_OK && t < triangles; t++) triangle_sequence(f, (int)t, sequences + t * poses);
  if (status == SN_OK) {
    const sn_torque_data data = {&f->rotations, &f->folds,   sequences, (int)triangles,
                                 f->predictors, &f->options, NULL,      f->loads};
    status = sn_torque_fit(f->ctx, memory, &data, &f->torque, left_out);
  }
  bool weigh = status == SN_OK && !f->options.published;
  if (weigh) memset(f->edge_residual, 0, triangles * sizeof *f->edge_residual);
  for (size_t t = 0; weigh && t < triangles; t++)
    for (size_t k = 0; k < poses; k++) add_residual(f, (int)t, (int)k, left_out[k * triangles + t]);
  sn_arena_free(&scratch);
  return status;
}

// ---- weights of the least-squares problem ---------------------------------------------------------------------------

// Inverse mean squares, with a floor so that no term counts for everything.
static void set_weights(full_form *f) {
  size_t triangles = triangles_of(f), n = (size_t)f->examples->rest.vertex_count;
  double diagonal = sn_points_diagonal((const float(*)[3])f->examples->rest.positions, (int)n);
  double edge_floor = sn_rotreg_floor(&f->edge_residual[0][0], 2 * triangles, SN_ROTREG_EDGE_FLOOR, diagonal);
  double blend_floor = sn_rotreg_floor(f->blend_residual, n, SN_ROTREG_ANCHOR_FLOOR, diagonal);
  for (size_t t = 0; t < triangles; t++)
    for (int j = 0; j < 2; j++) f->edges[t][j] = 1 / (f->edge_residual[t][j] + edge_floor);
  for (size_t i = 0; i < n; i++) f->anchor_weight[i] = 1 / (f->blend_residual[i] + blend_floor);
}

typedef struct solve_job {
  const full_form *f;
  const sn_rotreg_poisson *poisson;
  const sn_keys *wanted;
  sn_frames *out;
  double *work;
  size_t work_size; // numbers per worker
} solve_job;

// F is held by weights next to which the edges' are nothing, the others not at all.
static sn_status set_published_weights(full_form *f) {
  const double hard = 1e6;
  size_t n = (size_t)f->examples->rest.vertex_count;
  sn_arena scratch = sn_arena_new(f->ctx);
  bool *fixed = SN_NEW(f->ctx, &scratch, bool, n);
  sn_status status =
    fixed ? sn_rotreg_hard_set(f->ctx, f->examples, &f->topology, f->keys, &f->anchors, fixed) : f->ctx->error.status;
  for (size_t i = 0; status == SN_OK && i < n; i++) f->anchor_weight[i] = fixed[i] ? hard : 0;
  for (size_t t = 0; t < triangles_of(f); t++) f->edges[t][0] = f->edges[t][1] = 1;
  sn_arena_free(&scratch);
  return status;
}

// ---- training and evaluation ----------------------------------------------------------------------------------------

static sn_status allocate(full_form *f, sn_arena *memory) {
  sn_context *ctx = f->ctx;
  size_t triangles = triangles_of(f), n = (size_t)f->examples->rest.vertex_count, poses = (size_t)f->keys->count;
  f->predictors = SN_NEW(ctx, memory, sn_rotreg_predictor, triangles);
  f->edge_residual = sn_arena_alloc(ctx, memory, triangles, sizeof *f->edge_residual);
  f->edges = sn_arena_alloc(ctx, memory, triangles, sizeof *f->edges);
  f->blend_residual = SN_NEW(ctx, memory, double, n);
  f->anchor_weight = SN_NEW(ctx, memory, double, n);
  f->work_size = poses * sizeof(sn_mat3) + sn_rotreg_work_size((int)poses);
  f->work = sn_arena_alloc(ctx, memory, (size_t)sn_threads(ctx), f->work_size);
  bool all = f->predictors && f->edge_residual && f->edges && f->blend_residual && f->anchor_weight && f->work;
  return all ? sn_folds_of_keys(ctx, memory, f->examples, f->keys, &f->folds) : ctx->error.status;
}

static sn_status train_full(full_form *f, sn_arena *memory) {
  const sn_examples *e = f->examples;
  sn_weights_options options = sn_weights_options_default();
  sn_rotreg_data data = {e, &f->topology, f->keys, &f->folds, &f->skin};
  sn_status status = allocate(f, memory);
  if (status == SN_OK) status = sn_topology_build(f->ctx, &e->rest, &f->topology);
  if (status == SN_OK) status = sn_rotreg_rotations_build(f->ctx, memory, e, f->keys, &f->rotations);
  if (status == SN_OK)
    status = sn_solve_weights(f->ctx, &e->rest, &e->frames, &e->poses, f->keys, &options, &f->skin);
  if (status == SN_OK && f->options.published) {
    status = sn_rotreg_anchors_blend(f->ctx, memory, &data, &f->anchors);
  } else if (status == SN_OK) {
    status = sn_rotreg_anchors_fit(f->ctx, memory, &data, &f->anchors, f->blend_residual);
  }
  if (status != SN_OK) return status;
  sn_parallel_for(f->ctx, e->rest.triangle_count, 64, fit_triangles, f);
  if (f->loads) status = fit_torques(f, memory);
  if (status == SN_OK && f->options.published) return set_published_weights(f);
  set_weights(f);
  return status;
}

static sn_mat3 predict_triangle(const full_form *f, size_t t, const sn_mat3 *rotation, const sn_vec3 *theta,
                                const double *x) {
  return f->loads ? sn_torque_predict(&f->torque.pairs[t], f->torque.functions, rotation, theta, x)
                  : sn_rotreg_predict(&f->predictors[t], rotation, theta);
}

static void evaluate_frames(void *user, int64_t begin, int64_t end, int worker) {
  const solve_job *job = user;
  const full_form *f = job->f;
  const sn_examples *e = f->examples;
  double *work = job->work + (size_t)worker * job->work_size;
  sn_mat3 *gradients = (sn_mat3 *)(void *)(work + sn_rotreg_poisson_work(&e->rest));
  sn_vec3 *blend = (sn_vec3 *)(void *)(gradients + triangles_of(f));
  sn_mat3 *rotation = (sn_mat3 *)(void *)(blend + e->rest.vertex_count);
  sn_vec3 *theta = (sn_vec3 *)(void *)(rotation + f->rotations.joint_count);
  double *x = (double *)(void *)(theta + f->rotations.joint_count);
  for (int64_t k = begin; k < end; k++) {
    const sn_affine *pose = sn_pose(&e->poses, job->wanted->frames[k]);
    sn_rotreg_rotations_pose(&f->rotations, pose, rotation, theta);
    if (f->loads) sn_torque_loads_at(f->loads, &e->torques, job->wanted->frames[k], x);
    for (size_t t = 0; t < triangles_of(f); t++) gradients[t] = predict_triangle(f, t, rotation, theta, x);
    for (int i = 0; i < e->rest.vertex_count; i++) blend[i] = sn_rotreg_anchor_at(&f->anchors, i, pose);
    sn_rotreg_poisson_solve(job->poisson, gradients, blend, work, sn_frame_mutable(job->out, (int)k));
  }
}

static sn_status evaluate_full(full_form *f, const sn_keys *wanted, sn_frames *out, sn_arena *memory) {
  const sn_mesh *rest = &f->examples->rest;
  sn_rotreg_poisson poisson = {0};
  solve_job job = {f, &poisson, wanted, out, NULL, 0};
  job.work_size = sn_rotreg_poisson_work(rest) + 9 * triangles_of(f) + 3 * (size_t)rest->vertex_count +
                  13 * (size_t)f->rotations.joint_count;
  job.work = SN_NEW(f->ctx, memory, double, (size_t)sn_threads(f->ctx) * job.work_size);
  sn_status status = job.work ? sn_frames_new(f->ctx, rest->vertex_count, wanted->count, out) : f->ctx->error.status;
  if (status == SN_OK) {
    status = sn_rotreg_poisson_factor(f->ctx, rest, (const double(*)[2])f->edges, f->anchor_weight, &poisson);
  }
  if (status == SN_OK) sn_parallel_for(f->ctx, wanted->count, 1, evaluate_frames, &job);
  sn_rotreg_poisson_free(&poisson);
  return status;
}

sn_status sn_rotreg_full(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                         const sn_keys *wanted, sn_frames *out) {
  *out = (sn_frames){0};
  sn_arena memory = sn_arena_new(ctx);
  sn_rotreg_scene scene;
  sn_status status = sn_rotreg_scene_make(ctx, examples, &scene);
  if (status == SN_OK) status = sn_rotreg_check_published(ctx, options);
  full_form f = {.ctx = ctx,
                 .examples = sn_rotreg_scene_examples(&scene, examples),
                 .keys = keys,
                 .options = sn_rotreg_fit_options_of(options),
                 .loads = ((const sn_rotreg_options *)options)->loads};
  if (status == SN_OK) status = train_full(&f, &memory);
  if (status == SN_OK) status = evaluate_full(&f, wanted, out, &memory);
  if (status == SN_OK) sn_rotreg_scene_restore(&scene, examples, wanted->frames, out);
  if (status != SN_OK) sn_frames_free(out);
  sn_skin_free(&f.skin);
  sn_topology_free(&f.topology);
  sn_rotreg_scene_free(&scene);
  sn_arena_free(&memory);
  return status;
}
