// SPDX-License-Identifier: MIT
// Anchors: per-vertex ridge regression of homogeneous points on the nearby joints.
#include "train/rotreg/reduced.h"

#include <math.h>
#include <string.h>

#include "base/team.h"
#include "solve/solve.h"
#include "train/near.h"

enum { slots = sn_rotreg_anchor_slots, most_unknowns = 4 * (slots - 1) };

typedef struct anchor_job {
  const sn_rotreg_data *data;
  double unit; // the diagonal: gives points and weights the same prior variance
  sn_rotreg_anchors *out;
  double *residual; // per vertex
} anchor_job;

sn_vec3 sn_rotreg_anchor_at(const sn_rotreg_anchors *anchors, int i, const sn_affine *pose) {
  sn_vec3 sum = {0, 0, 0};
  for (int s = 0; s < slots && anchors->joints[i][s] >= 0; s++) {
    const sn_affine *t = &pose[anchors->joints[i][s]];
    const double *p = anchors->points[i][s];
    sum.x += t->m[0][0] * p[0] + t->m[0][1] * p[1] + t->m[0][2] * p[2] + t->m[0][3] * p[3];
    sum.y += t->m[1][0] * p[0] + t->m[1][1] * p[1] + t->m[1][2] * p[2] + t->m[1][3] * p[3];
    sum.z += t->m[2][0] * p[0] + t->m[2][1] * p[1] + t->m[2][2] * p[2] + t->m[2][3] * p[3];
  }
  return sum;
}

// Joints of the vertex first, with their weights, then those of its neighbours and the parents, with zero weight.
static void start_from_blend(const anchor_job *job, int i) {
  const sn_skin *skin = job->data->skin;
  int *joints = job->out->joints[i];
  double(*points)[4] = job->out->points[i];
  sn_vec3 rest = sn_vec3_from(job->data->examples->rest.positions[i]);
  for (int s = 0; s < slots; s++) joints[s] = -1;
  for (int k = 0; k < skin->influences; k++) {
    size_t at = (size_t)i * (size_t)skin->influences + (size_t)k;
    double w = (double)skin->weights[at];
    if (!(w > 0) || k >= slots) break;
    joints[k] = skin->joints[at];
    points[k][0] = w * rest.x, points[k][1] = w * rest.y, points[k][2] = w * rest.z, points[k][3] = w;
  }
  for (int n = job->data->topology->ring_start[i]; n < job->data->topology->ring_start[i + 1]; n++) {
    size_t at = (size_t)job->data->topology->ring[n] * (size_t)skin->influences;
    for (int k = 0; k < skin->influences && k < 2; k++)
      if (skin->weights[at + (size_t)k] > 0) sn_joints_add(joints, slots, skin->joints[at + (size_t)k]);
  }
  int own = sn_joints_count(joints, slots);
  for (int s = 0; s < own; s++) {
    int parent = job->data->examples->skeleton.parents[joints[s]];
    if (parent >= 0) sn_joints_add(joints, slots, parent);
  }
}

// Derivatives of the vertex by the unknowns of joint `t` (relative to joint `last`): three of its point, one of its weight.
static void columns_of(const anchor_job *job, const sn_affine *t, const sn_affine *last, sn_vec3 rest,
                       double out[3][4]) {
  for (int r = 0; r < 3; r++) {
    double a[4];
    for (int c = 0; c < 4; c++) a[c] = t->m[r][c] - last->m[r][c];
    for (int c = 0; c < 3; c++) out[r][c] = job->unit * a[c];
    out[r][3] = a[0] * rest.x + a[1] * rest.y + a[2] * rest.z + a[3];
  }
}

static int unknowns_of(const anchor_job *job, int i) { return 4 * (sn_joints_count(job->out->joints[i], slots) - 1); }

static void add_pose(const anchor_job *job, int i, int frame, sn_moments *m) {
  const int *joints = job->out->joints[i];
  int count = sn_joints_count(joints, slots), n = unknowns_of(job, i);
  const sn_affine *pose = sn_pose(&job->data->examples->poses, frame);
  sn_vec3 rest = sn_vec3_from(job->data->examples->rest.positions[i]);
  sn_vec3 left = sn_vec3_sub(sn_vec3_from(sn_frame(&job->data->examples->frames, frame)[i]),
                             sn_rotreg_anchor_at(job->out, i, pose));
  const double residual[3] = {left.x, left.y, left.z};
  double row[3][most_unknowns], columns[3][4];
  for (int s = 1; s < count; s++) {
    columns_of(job, &pose[joints[s]], &pose[joints[0]], rest, columns);
    for (int r = 0; r < 3; r++)
      for (int c = 0; c < 4; c++) row[r][4 * (s - 1) + c] = columns[r][c];
  }
  for (int r = 0; r < 3; r++) sn_moments_row(m, n, row[r], residual[r]);
}

// Moments of every fold's poses, of the poses outside each fold, and of the poses that are in no fold.
static void gather_moments(const anchor_job *job, int i, sn_moments in[sn_usual_folds],
                           sn_moments outside[sn_usual_folds], sn_moments *always) {
  int folds = job->data->folds->fold_count, n = unknowns_of(job, i);
  for (int f = 0; f < folds; f++) {
    const sn_fold *fold = &job->data->folds->folds[f];
    in[f] = outside[f] = (sn_moments){0};
    for (int m = fold->outside_count; m < fold->count; m++)
      add_pose(job, i, job->data->keys->frames[fold->poses[m]], &in[f]);
  }
  *always = (sn_moments){0};
  for (int k = 0; k < job->data->keys->count; k++)
    if (job->data->folds->fold_of[k] < 0) add_pose(job, i, job->data->keys->frames[k], always);
  for (int f = 0; f < folds; f++) {
    for (int g = 0; g < folds; g++)
      if (g != f || folds == 1) sn_moments_add(&outside[f], n, &in[g]);
    sn_moments_add(&outside[f], n, always);
  }
}

static int poses_in(const sn_moments *m) { return m->rows / 3; }

static void solve_ridge(const anchor_job *job, int n, const sn_moments *m, double *x) {
  sn_moments_solve(m, n, sn_bone_ridge * job->unit * job->unit * poses_in(m), x);
}

// The corrections of all joints sum to zero: joint 0 takes minus the sum of the others.
static void correct_points(const anchor_job *job, int i, const double *x) {
  int count = sn_joints_count(job->out->joints[i], slots);
  sn_vec3 rest = sn_vec3_from(job->data->examples->rest.positions[i]);
  double(*points)[4] = job->out->points[i];
  for (int s = 1; s < count; s++, x += 4) {
    const double step[4] = {job->unit * x[0] + x[3] * rest.x, job->unit * x[1] + x[3] * rest.y,
                            job->unit * x[2] + x[3] * rest.z, x[3]};
    for (int c = 0; c < 4; c++) points[s][c] += step[c], points[0][c] -= step[c];
  }
}

static void fit_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const anchor_job *job = user;
  sn_moments in[sn_usual_folds], outside[sn_usual_folds], always;
  for (int64_t i = begin; i < end; i++) {
    int n = unknowns_of(job, (int)i);
    sn_moments all = {0};
    double x[most_unknowns], residual = 0;
    gather_moments(job, (int)i, in, outside, &always);
    for (int f = 0; f < job->data->folds->fold_count; f++) {
      sn_moments_add(&all, n, &in[f]);
      solve_ridge(job, n, &outside[f], x);
      residual += sn_moments_left(&in[f], n, x);
    }
    job->residual[i] = residual / poses_in(&all);
    sn_moments_add(&all, n, &always);
    solve_ridge(job, n, &all, x);
    correct_points(job, (int)i, x);
  }
}

static void blend_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  for (int64_t i = begin; i < end; i++) start_from_blend(user, (int)i);
}

sn_status sn_rotreg_anchors_blend(sn_context *ctx, sn_arena *memory, const sn_rotreg_data *data,
                                  sn_rotreg_anchors *out) {
  int n = data->examples->rest.vertex_count;
  anchor_job job = {.data = data, .out = out};
  *out = (sn_rotreg_anchors){.vertex_count = n};
  out->joints = sn_arena_alloc(ctx, memory, (size_t)n, sizeof *out->joints);
  out->points = sn_arena_alloc(ctx, memory, (size_t)n, sizeof *out->points);
  if (!out->joints || !out->points) return ctx->error.status;
  sn_parallel_for(ctx, n, 64, blend_range, &job);
  return SN_OK;
}

sn_status sn_rotreg_anchors_fit(sn_context *ctx, sn_arena *memory, const sn_rotreg_data *data, sn_rotreg_anchors *out,
                                double *residual) {
  int n = data->examples->rest.vertex_count;
  double diagonal = sn_points_diagonal((const float(*)[3])data->examples->rest.positions, n);
  anchor_job job = {data, diagonal, out, residual};
  sn_status status = sn_rotreg_anchors_blend(ctx, memory, data, out);
  if (status != SN_OK) return status;
  sn_team_for(ctx, n, 16, fit_range, &job);
  status = sn_team_gather(ctx, n, 16, residual, sizeof *residual);
  if (status == SN_OK) status = sn_team_gather(ctx, n, 16, out->joints, sizeof *out->joints);
  return status == SN_OK ? sn_team_gather(ctx, n, 16, out->points, sizeof *out->points) : status;
}

// ---- F (4.2) ---------------------------------------------------------------------------------------------------------

// As published: largest error of a vertex in F, relative to the rms over all vertices. Section 4.2 gives no number.
static const double threshold = 0.5;

sn_status sn_rotreg_hard_set(sn_context *ctx, const sn_rotreg_data *data, const sn_rotreg_anchors *blend,
                             bool *fixed) {
  const sn_examples *examples = data->examples;
  const sn_topology *topology = data->topology;
  const sn_keys *keys = data->keys;
  int n = examples->rest.vertex_count;
  double near = sn_rotreg_near_rigid * sn_points_diagonal((const float(*)[3])examples->rest.positions, n);
  sn_arena scratch = sn_arena_new(ctx);
  double *error = SN_NEW(ctx, &scratch, double, n), mean = 0;
  int *best = SN_NEW(ctx, &scratch, int, n); // 1 + the vertex with the least error of every component
  bool ready = error && best;
  for (int i = 0; ready && i < n; i++) {
    for (int k = 0; k < keys->count; k++) {
      int f = keys->frames[k];
      sn_vec3 at = sn_rotreg_anchor_at(blend, i, sn_pose(&examples->poses, f));
      sn_vec3 d = sn_vec3_sub(at, sn_vec3_from(sn_frame(&examples->frames, f)[i]));
      error[i] += sn_vec3_dot(d, d);
    }
    mean += error[i] / n;
    int *first = &best[topology->component[i]];
    if (*first == 0 || error[i] < error[*first - 1]) *first = i + 1;
  }
  for (int i = 0; ready && i < n; i++)
    fixed[i] = data->published
                 ? sqrt(error[i]) <= threshold * sqrt(mean) || best[topology->component[i]] == i + 1
                 : error[i] < near * near * keys->count || topology->face_start[i] == topology->face_start[i + 1];
  sn_arena_free(&scratch);
  return ready ? SN_OK : ctx->error.status;
}
