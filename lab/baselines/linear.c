// SPDX-License-Identifier: MIT
#include "lab/baselines/linear.h"

#include <math.h>
#include <string.h>

#include "solve/solve.h"
#include "train/folds.h"
#include "train/near.h"

enum { slots = sn_linear_slots, most = sn_linear_most, ridge_choices = 9 };

// Simplest first: linear blend skinning. Relative to unit^2 and to the number of poses.
static const double ridges[ridge_choices] = {INFINITY, 1, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7};
static const double unit_of_diagonal = 0.1; // like the anchors of rotreg

// ---- the two kinds ----------------------------------------------------------------------------------------------------

static int mwe_columns(int count) { return 4 * count; }

static void mwe_rows(sn_vec3 v, const sn_affine *pose, const int *joints, int count, double unit,
                     double out[3][most]) {
  const double point[4] = {v.x, v.y, v.z, 1};
  (void)unit;
  for (int s = 0; s < count; s++)
    for (int r = 0; r < 3; r++)
      for (int c = 0; c < 4; c++) out[r][4 * s + c] = pose[joints[s]].m[r][c] * point[c];
}

// Three coefficients per joint rotate with it. Weights move from the first joint to the others, so that their sum stays one.
static int animspace_columns(int count) { return 4 * count - 1; }

static void animspace_rows(sn_vec3 v, const sn_affine *pose, const int *joints, int count, double unit,
                           double out[3][most]) {
  const double point[4] = {v.x, v.y, v.z, 1};
  for (int s = 0; s < count; s++)
    for (int r = 0; r < 3; r++) {
      const double *row = pose[joints[s]].m[r], *first = pose[joints[0]].m[r];
      for (int c = 0; c < 3; c++) out[r][3 * s + c] = unit * row[c];
      if (s == 0) continue;
      double share = 0;
      for (int c = 0; c < 4; c++) share += (row[c] - first[c]) * point[c];
      out[r][3 * count + s - 1] = share;
    }
}

const sn_linear_kind sn_linear_mwe = {true, mwe_columns, mwe_rows};
const sn_linear_kind sn_linear_animspace = {false, animspace_columns, animspace_rows};

// ---- moments of one vertex ----------------------------------------------------------------------------------------------

_Static_assert((int)most <= (int)SN_MOMENTS_MAX, "room for the unknowns");

typedef struct linear_job {
  const sn_examples *examples;
  const sn_keys *keys;
  const sn_topology *topology;
  const sn_folds *folds;
  sn_linear_fit *fit;
  double (*errors)[ridge_choices]; // per vertex: squared error on held-out poses
  sn_moments *room;                // per worker: [systems][1 + 2 folds]
} linear_job;

static int systems_of(const linear_job *job) { return job->fit->kind->per_axis ? 3 : 1; }
static size_t sets_of(const linear_job *job) { return 1 + 2 * (size_t)job->folds->fold_count; }

// The joints of the vertex, then those of its neighbours.
static void choose_joints(const linear_job *job, int i) {
  const sn_skin *skin = &job->fit->skin;
  const sn_topology *topology = job->topology;
  int *joints = job->fit->joints[i];
  for (int s = 0; s < slots; s++) joints[s] = -1;
  for (int n = topology->ring_start[i] - 1; n < topology->ring_start[i + 1]; n++) {
    int of = n < topology->ring_start[i] ? i : topology->ring[n];
    for (int k = 0; k < skin->influences; k++) {
      size_t at = (size_t)of * (size_t)skin->influences + (size_t)k;
      if (skin->weights[at] > 0) sn_joints_add(joints, slots, skin->joints[at]);
    }
  }
}

static void add_pose(const linear_job *job, int i, int frame, sn_moments *first, size_t stride) {
  const sn_linear_fit *fit = job->fit;
  const sn_affine *pose = sn_pose(&job->examples->poses, frame);
  sn_vec3 v = sn_vec3_from(job->examples->rest.positions[i]);
  sn_vec3 left =
    sn_vec3_sub(sn_vec3_from(sn_frame(&job->examples->frames, frame)[i]), sn_skin_blend(&fit->skin, i, pose, v));
  const double residual[3] = {left.x, left.y, left.z};
  int count = sn_joints_count(fit->joints[i], slots), n = fit->kind->columns(count);
  double row[3][most];
  fit->kind->rows(v, pose, fit->joints[i], count, fit->unit, row);
  for (int r = 0; r < 3; r++) {
    sn_moments *m = first + (fit->kind->per_axis ? (size_t)r * stride : 0);
    sn_moments_row(m, n, row[r], residual[r]);
  }
}

// Moments of every system: all poses, then those of each fold, then those outside each fold.
static void gather(const linear_job *job, int i, sn_moments *sets) {
  size_t stride = sets_of(job), folds = (size_t)job->folds->fold_count;
  int n = job->fit->kind->columns(sn_joints_count(job->fit->joints[i], slots));
  memset(sets, 0, (size_t)systems_of(job) * stride * sizeof *sets);
  for (size_t f = 0; f < folds; f++) {
    const sn_fold *fold = &job->folds->folds[f];
    for (int m = fold->outside_count; m < fold->count; m++)
      add_pose(job, i, job->keys->frames[fold->poses[m]], sets + 1 + f, stride);
  }
  for (int s = 0; s < systems_of(job); s++) {
    sn_moments *of = sets + (size_t)s * stride;
    for (size_t f = 0; f < folds; f++) {
      sn_moments_add(of, n, of + 1 + f);
      for (size_t g = 0; g < folds; g++)
        if (g != f) sn_moments_add(of + 1 + folds + f, n, of + 1 + g);
    }
  }
}

static double absolute(const linear_job *job, double ridge, int poses) {
  return ridge * job->fit->unit * job->fit->unit * poses;
}

static void try_vertex(const linear_job *job, int i, sn_moments *sets) {
  size_t stride = sets_of(job), folds = (size_t)job->folds->fold_count;
  int n = job->fit->kind->columns(sn_joints_count(job->fit->joints[i], slots));
  double x[most];
  gather(job, i, sets);
  for (int c = 0; c < ridge_choices; c++)
    for (size_t f = 0; f < folds; f++)
      for (int s = 0; s < systems_of(job); s++) {
        const sn_moments *of = sets + (size_t)s * stride;
        sn_moments_solve(of + 1 + folds + f, n, absolute(job, ridges[c], job->folds->folds[f].outside_count), x);
        job->errors[i][c] += sn_moments_left(of + 1 + f, n, x);
      }
}

static void try_range(void *user, int64_t begin, int64_t end, int worker) {
  const linear_job *job = user;
  sn_moments *sets = job->room + (size_t)worker * (size_t)systems_of(job) * sets_of(job);
  for (int64_t i = begin; i < end; i++) choose_joints(job, (int)i), try_vertex(job, (int)i, sets);
}

static void fit_range(void *user, int64_t begin, int64_t end, int worker) {
  const linear_job *job = user;
  sn_moments *sets = job->room + (size_t)worker * (size_t)systems_of(job) * sets_of(job);
  for (int64_t i = begin; i < end; i++) {
    int n = job->fit->kind->columns(sn_joints_count(job->fit->joints[i], slots));
    gather(job, (int)i, sets);
    for (int s = 0; s < systems_of(job); s++) {
      sn_moments_solve(sets + (size_t)s * sets_of(job), n, absolute(job, job->fit->ridge, job->keys->count),
                       job->fit->numbers[i] + s * most);
    }
  }
}

static double best_ridge(const linear_job *job, int n) {
  double sums[ridge_choices] = {0};
  for (int c = 0; c < ridge_choices; c++)
    for (int i = 0; i < n; i++) sums[c] += job->errors[i][c];
  return ridges[sn_simplest(sums, ridge_choices, SN_WORTH_IT)];
}

sn_status sn_linear_train(sn_context *ctx, sn_arena *memory, const sn_linear_kind *kind,
                          const sn_skin_options *options, const sn_examples *examples, const sn_keys *keys,
                          sn_linear_fit *out) {
  int n = examples->rest.vertex_count;
  sn_arena scratch = sn_arena_new(ctx);
  sn_topology topology = {0};
  sn_folds folds;
  *out = (sn_linear_fit){.kind = kind, .ridge = INFINITY};
  out->unit = unit_of_diagonal * sn_points_diagonal((const float(*)[3])examples->rest.positions, n);
  out->joints = sn_arena_alloc(ctx, memory, (size_t)n, sizeof *out->joints);
  out->numbers = sn_arena_alloc(ctx, memory, (size_t)n, sizeof *out->numbers);
  linear_job job = {examples, keys, &topology, &folds, out, NULL, NULL};
  job.errors = sn_arena_alloc(ctx, &scratch, (size_t)n, sizeof *job.errors);
  sn_status status = out->joints && out->numbers && job.errors ? SN_OK : ctx->error.status;
  if (status == SN_OK) status = sn_topology_build(ctx, &examples->rest, &topology);
  if (status == SN_OK)
    status = sn_train_skin(ctx, &(sn_skin_task){options, examples, SN_RT_BLEND_LINEAR, keys}, &out->skin);
  if (status == SN_OK) status = sn_folds_of_keys(ctx, &scratch, examples, keys, &folds);
  if (status == SN_OK) {
    job.room = SN_NEW(ctx, &scratch, sn_moments, (size_t)sn_threads(ctx) * (size_t)systems_of(&job) * sets_of(&job));
    if (!job.room) status = ctx->error.status;
  }
  if (status == SN_OK) {
    sn_parallel_for(ctx, n, 16, try_range, &job);
    if (folds.fold_count > 1 && out->unit > 0) out->ridge = best_ridge(&job, n);
    sn_parallel_for(ctx, n, 16, fit_range, &job);
  }
  sn_topology_free(&topology);
  sn_arena_free(&scratch);
  return status;
}

sn_vec3 sn_linear_at(const sn_linear_fit *fit, int i, sn_vec3 rest, const sn_affine *pose) {
  int count = sn_joints_count(fit->joints[i], slots), n = fit->kind->columns(count);
  double row[3][most], add[3] = {0, 0, 0};
  fit->kind->rows(rest, pose, fit->joints[i], count, fit->unit, row);
  for (int r = 0; r < 3; r++)
    for (int k = 0; k < n; k++) add[r] += row[r][k] * fit->numbers[i][(fit->kind->per_axis ? r * most : 0) + k];
  return sn_vec3_add(sn_skin_blend(&fit->skin, i, pose, rest), (sn_vec3){add[0], add[1], add[2]});
}
