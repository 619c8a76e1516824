// SPDX-License-Identifier: MIT
// Anchors: per-vertex ridge regression of homogeneous points on the nearby joints.
#include "train/rotreg/reduced.h"

#include <math.h>
#include <string.h>

#include "base/scope.h"
#include "base/team.h"
#include "solve/solve.h"
#include "train/near.h"

enum { slots = sn_rotreg_anchor_slots, most_unknowns = 4 * (slots - 1) };

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
static void start_from_blend(const sn_rotreg_training *t, int i) {
  const sn_skin *skin = &t->skin;
  int *joints = t->anchors.joints[i];
  double(*points)[4] = t->anchors.points[i];
  sn_vec3 rest = sn_vec3_from(t->examples->rest.positions[i]);
  for (int s = 0; s < slots; s++) joints[s] = -1;
  for (int k = 0; k < skin->influences; k++) {
    size_t at = (size_t)i * (size_t)skin->influences + (size_t)k;
    double w = (double)skin->weights[at];
    if (!(w > 0) || k >= slots) break;
    joints[k] = skin->joints[at];
    points[k][0] = w * rest.x, points[k][1] = w * rest.y, points[k][2] = w * rest.z, points[k][3] = w;
  }
  for (int n = t->topology.ring_start[i]; n < t->topology.ring_start[i + 1]; n++) {
    size_t at = (size_t)t->topology.ring[n] * (size_t)skin->influences;
    for (int k = 0; k < skin->influences && k < 2; k++)
      if (skin->weights[at + (size_t)k] > 0) sn_joints_add(joints, slots, skin->joints[at + (size_t)k]);
  }
  int own = sn_joints_count(joints, slots);
  for (int s = 0; s < own; s++) {
    int parent = t->examples->skeleton.parents[joints[s]];
    if (parent >= 0) sn_joints_add(joints, slots, parent);
  }
}

// Derivatives of the vertex by the unknowns of a joint (relative to joint `last`): three of its point, one of its weight.
static void columns_of(double unit, const sn_affine *joint, const sn_affine *last, sn_vec3 rest, double out[3][4]) {
  for (int r = 0; r < 3; r++) {
    double a[4];
    for (int c = 0; c < 4; c++) a[c] = joint->m[r][c] - last->m[r][c];
    for (int c = 0; c < 3; c++) out[r][c] = unit * a[c];
    out[r][3] = a[0] * rest.x + a[1] * rest.y + a[2] * rest.z + a[3];
  }
}

static int unknowns_of(const sn_rotreg_training *t, int i) {
  return 4 * (sn_joints_count(t->anchors.joints[i], slots) - 1);
}

static void add_pose(const sn_rotreg_training *t, int i, int frame, sn_moments *m) {
  const int *joints = t->anchors.joints[i];
  int count = sn_joints_count(joints, slots), n = unknowns_of(t, i);
  const sn_affine *pose = sn_pose(&t->examples->poses, frame);
  sn_vec3 rest = sn_vec3_from(t->examples->rest.positions[i]);
  sn_vec3 left =
    sn_vec3_sub(sn_vec3_from(sn_frame(&t->examples->frames, frame)[i]), sn_rotreg_anchor_at(&t->anchors, i, pose));
  const double residual[3] = {left.x, left.y, left.z};
  double row[3][most_unknowns], columns[3][4];
  for (int s = 1; s < count; s++) {
    columns_of(t->diagonal, &pose[joints[s]], &pose[joints[0]], rest, columns);
    for (int r = 0; r < 3; r++)
      for (int c = 0; c < 4; c++) row[r][4 * (s - 1) + c] = columns[r][c];
  }
  for (int r = 0; r < 3; r++) sn_moments_row(m, n, row[r], residual[r]);
}

static int poses_in(const sn_moments *m) { return m->rows / 3; }

static void solve_ridge(const sn_rotreg_training *t, int n, const sn_moments *m, double *x) {
  sn_moments_solve(m, n, sn_bone_ridge * t->diagonal * t->diagonal * poses_in(m), x);
}

// The corrections of all joints sum to zero: joint 0 takes minus the sum of the others.
static void correct_points(const sn_rotreg_training *t, int i, const double *x) {
  int count = sn_joints_count(t->anchors.joints[i], slots);
  sn_vec3 rest = sn_vec3_from(t->examples->rest.positions[i]);
  double(*points)[4] = t->anchors.points[i];
  for (int s = 1; s < count; s++, x += 4) {
    const double step[4] = {t->diagonal * x[0] + x[3] * rest.x, t->diagonal * x[1] + x[3] * rest.y,
                            t->diagonal * x[2] + x[3] * rest.z, x[3]};
    for (int c = 0; c < 4; c++) points[s][c] += step[c], points[0][c] -= step[c];
  }
}

static void fit_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const sn_rotreg_training *t = user;
  int folds = t->folds.fold_count;
  for (int64_t i = begin; i < end; i++) {
    int n = unknowns_of(t, (int)i);
    sn_moments in[sn_usual_folds + 1] = {0}, all = {0}; // in: of every fold's poses, then of those in no fold
    double x[most_unknowns], residual = 0;
    for (int k = 0; k < t->keys->count; k++) {
      int f = t->folds.fold_of[k];
      add_pose(t, (int)i, t->keys->frames[k], &in[f < 0 ? folds : f]);
    }
    for (int f = 0; f < folds; f++) {
      sn_moments outside = {0};
      for (int g = 0; g <= folds; g++)
        if (g != f || folds == 1) sn_moments_add(&outside, n, &in[g]);
      solve_ridge(t, n, &outside, x);
      residual += sn_moments_left(&in[f], n, x);
      sn_moments_add(&all, n, &in[f]);
    }
    t->anchor_weight[i] = residual / poses_in(&all);
    sn_moments_add(&all, n, &in[folds]);
    solve_ridge(t, n, &all, x);
    correct_points(t, (int)i, x);
  }
}

static void blend_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  for (int64_t i = begin; i < end; i++) start_from_blend(user, (int)i);
}

sn_status sn_rotreg_anchors_blend(sn_rotreg_training *t) {
  int n = t->examples->rest.vertex_count;
  t->anchors.joints = sn_arena_alloc(t->ctx, &t->memory, (size_t)n, sizeof *t->anchors.joints);
  t->anchors.points = sn_arena_alloc(t->ctx, &t->memory, (size_t)n, sizeof *t->anchors.points);
  if (!t->anchors.joints || !t->anchors.points) return t->ctx->error.status;
  sn_parallel_for(t->ctx, n, 64, blend_range, t);
  return SN_OK;
}

sn_status sn_rotreg_anchors_fit(sn_rotreg_training *t) {
  sn_context *ctx = t->ctx;
  int n = t->examples->rest.vertex_count;
  SN_TRY(sn_rotreg_anchors_blend(t));
  sn_team_for(ctx, n, 16, fit_range, t);
  SN_TRY(sn_team_gather(ctx, n, 16, t->anchor_weight, sizeof *t->anchor_weight));
  SN_TRY(sn_team_gather(ctx, n, 16, t->anchors.joints, sizeof *t->anchors.joints));
  return sn_team_gather(ctx, n, 16, t->anchors.points, sizeof *t->anchors.points);
}

// ---- F (4.2) ---------------------------------------------------------------------------------------------------------

// As published: largest error of a vertex in F, relative to the rms over all vertices. Section 4.2 gives no number.
static const double threshold = 0.5;

sn_status sn_rotreg_hard_set(sn_rotreg_training *t) {
  sn_context *ctx = t->ctx;
  const sn_examples *e = t->examples;
  const sn_topology *topology = &t->topology;
  int n = e->rest.vertex_count;
  double near = sn_rotreg_near_rigid * t->diagonal, mean = 0;
  SN_SCRATCH(scratch, ctx);
  double *error = SN_NEW(ctx, &scratch, double, n);
  int *best = SN_NEW(ctx, &scratch, int, n); // 1 + the vertex with the least error of every component
  t->fixed = SN_NEW(ctx, &t->memory, bool, n);
  if (!error || !best || !t->fixed) return ctx->error.status;
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < t->keys->count; k++) {
      int f = t->keys->frames[k];
      sn_vec3 at = sn_skin_blend(&t->skin, i, sn_pose(&e->poses, f), sn_vec3_from(e->rest.positions[i]));
      sn_vec3 d = sn_vec3_sub(at, sn_vec3_from(sn_frame(&e->frames, f)[i]));
      error[i] += sn_vec3_dot(d, d);
    }
    mean += error[i] / n;
    int *first = &best[topology->component[i]];
    if (*first == 0 || error[i] < error[*first - 1]) *first = i + 1;
  }
  for (int i = 0; i < n; i++)
    t->fixed[i] = t->fit.published ? sqrt(error[i]) <= threshold * sqrt(mean) || best[topology->component[i]] == i + 1
                                   : error[i] < near * near * t->keys->count ||
                                       topology->face_start[i] == topology->face_start[i + 1];
  return SN_OK;
}
