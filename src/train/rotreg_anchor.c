// SPDX-License-Identifier: MIT
#include "train/rotreg_anchor.h"

#include <math.h>

enum { slots = rotreg_anchor_slots, most_unknowns = 4 * (slots - 1) };

typedef struct anchor_job {
  const sn_examples *examples;
  const sn_topology *topology;
  const sn_keys *keys;
  const sn_skin *skin;
  double ridge, unit; // unit: a length in which linear parts and translations weigh alike
  rotreg_anchors *out;
} anchor_job;

sn_vec3 rotreg_anchor_at(const rotreg_anchors *anchors, int i, const sn_affine *pose) {
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

static int count_joints(const int joints[slots]) {
  int count = 0;
  while (count < slots && joints[count] >= 0) count++;
  return count;
}

static void add_joint(int joints[slots], int joint) {
  for (int s = 0; s < slots; s++) {
    if (joints[s] == joint) return;
    if (joints[s] >= 0) continue;
    joints[s] = joint;
    return;
  }
}

// The vertex's own joints first (they keep their weights), then those of its neighbours and the parents.
static void start_from_blend(const anchor_job *job, int i) {
  const sn_skin *skin = job->skin;
  int *joints = job->out->joints[i];
  double(*points)[4] = job->out->points[i];
  sn_vec3 rest = sn_vec3_from(job->examples->rest.positions[i]);
  for (int s = 0; s < slots; s++) joints[s] = -1;
  for (int k = 0; k < skin->influences; k++) {
    size_t at = (size_t)i * (size_t)skin->influences + (size_t)k;
    double w = (double)skin->weights[at];
    if (!(w > 0) || k >= slots) break;
    joints[k] = skin->joints[at];
    points[k][0] = w * rest.x, points[k][1] = w * rest.y, points[k][2] = w * rest.z, points[k][3] = w;
  }
  for (int n = job->topology->ring_start[i]; n < job->topology->ring_start[i + 1]; n++) {
    size_t at = (size_t)job->topology->ring[n] * (size_t)skin->influences;
    for (int k = 0; k < skin->influences && k < 2; k++)
      if (skin->weights[at + (size_t)k] > 0) add_joint(joints, skin->joints[at + (size_t)k]);
  }
  int own = count_joints(joints);
  for (int s = 0; s < own; s++) {
    int parent = job->examples->skeleton.parents[joints[s]];
    if (parent >= 0) add_joint(joints, parent);
  }
}

// What the unknowns of joint `t` (against joint `last`) do to the vertex: three columns of turning, one of moving.
static void columns_of(const anchor_job *job, const sn_affine *t, const sn_affine *last, sn_vec3 rest,
                       double out[3][4]) {
  for (int r = 0; r < 3; r++) {
    double a[4];
    for (int c = 0; c < 4; c++) a[c] = t->m[r][c] - last->m[r][c];
    for (int c = 0; c < 3; c++) out[r][c] = job->unit * a[c];
    out[r][3] = a[0] * rest.x + a[1] * rest.y + a[2] * rest.z + a[3];
  }
}

static void solve_spd(int n, double a[most_unknowns][most_unknowns], double *b) {
  for (int j = 0; j < n; j++) {
    for (int k = 0; k < j; k++) a[j][j] -= a[j][k] * a[j][k];
    a[j][j] = sqrt(fmax(a[j][j], 1e-300));
    for (int i = j + 1; i < n; i++) {
      for (int k = 0; k < j; k++) a[i][j] -= a[i][k] * a[j][k];
      a[i][j] /= a[j][j];
    }
  }
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < i; k++) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  for (int i = n - 1; i >= 0; i--) {
    for (int k = i + 1; k < n; k++) b[i] -= a[k][i] * b[k];
    b[i] /= a[i][i];
  }
}

// The corrections sum to zero: joint 0 takes what the others get.
static void correct_points(const anchor_job *job, int i) {
  int *joints = job->out->joints[i], count = count_joints(joints), n = 4 * (count - 1);
  double(*points)[4] = job->out->points[i];
  if (n <= 0) return;
  double a[most_unknowns][most_unknowns] = {{0}}, b[most_unknowns] = {0};
  sn_vec3 rest = sn_vec3_from(job->examples->rest.positions[i]);
  for (int k = 0; k < job->keys->count; k++) {
    int f = job->keys->frames[k];
    const sn_affine *pose = sn_pose(&job->examples->poses, f);
    sn_vec3 left = sn_vec3_sub(sn_vec3_from(sn_frame(&job->examples->frames, f)[i]), rotreg_anchor_at(job->out, i, pose));
    const double residual[3] = {left.x, left.y, left.z};
    double row[3][most_unknowns], columns[3][4];
    for (int s = 1; s < count; s++) {
      columns_of(job, &pose[joints[s]], &pose[joints[0]], rest, columns);
      for (int r = 0; r < 3; r++)
        for (int c = 0; c < 4; c++) row[r][4 * (s - 1) + c] = columns[r][c];
    }
    for (int r = 0; r < 3; r++)
      for (int m = 0; m < n; m++) {
        for (int l = 0; l <= m; l++) a[m][l] += row[r][m] * row[r][l];
        b[m] += row[r][m] * residual[r];
      }
  }
  for (int m = 0; m < n; m++) a[m][m] += job->ridge * job->unit * job->unit * job->keys->count;
  solve_spd(n, a, b);
  for (int s = 1; s < count; s++) {
    const double *x = b + 4 * (s - 1);
    const double step[4] = {job->unit * x[0] + x[3] * rest.x, job->unit * x[1] + x[3] * rest.y,
                            job->unit * x[2] + x[3] * rest.z, x[3]};
    for (int c = 0; c < 4; c++) points[s][c] += step[c], points[0][c] -= step[c];
  }
}

static void fit_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const anchor_job *job = user;
  for (int64_t i = begin; i < end; i++) {
    start_from_blend(job, (int)i);
    if (job->ridge < INFINITY) correct_points(job, (int)i);
  }
}

sn_status rotreg_anchors_fit(sn_context *ctx, sn_arena *memory, const sn_examples *examples,
                             const sn_topology *topology, const sn_keys *keys, const sn_skin *skin, double ridge,
                             rotreg_anchors *out) {
  int n = examples->rest.vertex_count;
  double diagonal = sn_points_diagonal((const float(*)[3])examples->rest.positions, n);
  *out = (rotreg_anchors){.vertex_count = n};
  out->joints = sn_arena_alloc(ctx, memory, (size_t)n, sizeof *out->joints);
  out->points = sn_arena_alloc(ctx, memory, (size_t)n, sizeof *out->points);
  if (!out->joints || !out->points) return ctx->error.status;
  anchor_job job = {examples, topology, keys, skin, ridge, 0.1 * diagonal, out};
  if (!(job.unit > 0)) job.ridge = INFINITY;
  sn_parallel_for(ctx, n, 64, fit_range, &job);
  return SN_OK;
}
