// SPDX-License-Identifier: MIT
// Weighted pose-space deformation (Kurihara and Miyata 2004; Murtagh 2008, 2.3.3): a vertex measures the distance of
// poses by the joints it hangs on, d_v^2 = sum_j w_jv |x_j - y_j|^2, and has a system of its own. w_jv is its
// weight on joint j, and a little of that on j's parent (a muscle on the upper arm knows the elbow), divided by their sum.
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "runtime/format.h"
#include "solve/solve.h"
#include "train/correct/correct.h"

enum { steps = 25, sample = 1500 };

// Poses that a vertex cannot tell apart (closer than this part of its largest distance) are averaged.
static const double merge_distance = 1e-2;

// Kernel weights are stored in 16 bits: more times than this larger than the displacements, and it shows.
static const double most_amplified = 400;

typedef struct weighted_job {
  const sn_misses *m;
  const sn_pose_field *field;
  const double *joint_distances; // joint_count * poses * poses, squared
  const double *shares;          // joint_count: how much a weight on the joint counts
  double width;
  float (*deltas)[6]; // out: kernel weights, poses * vertex_count
  double *work;       // per worker
  size_t work_size;
  int stride; // every stride-th vertex (choosing the width)
  double *errors;
} weighted_job;

// Squared distances between the poses as vertex i sees them.
static void vertex_distances(const weighted_job *job, int i, double *d2) {
  const sn_skin *skin = &job->m->skin;
  size_t p = (size_t)job->field->centre_count, row = (size_t)i * (size_t)skin->influences;
  double shares = 1e-12;
  memset(d2, 0, p * p * sizeof *d2);
  for (size_t k = 0; k < (size_t)skin->influences; k++) {
    const double *own = job->joint_distances + (size_t)skin->joints[row + k] * p * p;
    if (!(skin->weights[row + k] > 0)) continue;
    for (size_t n = 0; n < p * p; n++) d2[n] += skin->weights[row + k] * own[n];
    shares += skin->weights[row + k] * job->shares[skin->joints[row + k]];
  }
  for (size_t n = 0; n < p * p; n++) d2[n] /= shares;
}

// The poses that vertex i can tell apart: `first` of each group, and which group every pose is in.
static int group_poses(int p, const double *d2, int *first, int *group) {
  double largest = 0;
  int count = 0;
  for (int n = 0; n < p * p; n++)
    if (d2[n] > largest) largest = d2[n];
  for (int a = 0; a < p; a++) {
    int g = 0;
    while (g < count && d2[a * p + first[g]] > merge_distance * merge_distance * largest) g++;
    if (g == count) first[count++] = a;
    group[a] = g;
  }
  return count;
}

// Inverse of the kernel matrix of the groups plus a ridge; false where that is not positive definite.
static bool invert_groups(const weighted_job *job, int count, const int *first, const double *d2, double ridge,
                          double *inverse) {
  int p = job->field->centre_count;
  for (int a = 0; a < count; a++)
    for (int b = 0; b < count; b++) {
      double d = sqrt(d2[first[a] * p + first[b]]);
      inverse[a * count + b] = sn_rbf_kernel_value(job->field->kernel, d, job->width) + (a == b ? ridge : 0);
    }
  if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', count, inverse, count) != 0 ||
      LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'L', count, inverse, count) != 0)
    return false;
  for (int a = 0; a < count; a++)
    for (int b = 0; b < a; b++) inverse[a * count + b] = inverse[b * count + a];
  return true;
}

// weights = inverse * mean, six columns. How many times larger than the data they are.
static double apply_inverse(int count, const double *inverse, const double *mean, double *weights) {
  double data[2] = {0, 0}, result[2] = {0, 0}; // of positions, of normals
  for (int a = 0; a < count; a++)
    for (int c = 0; c < 6; c++) {
      double sum = 0;
      for (int b = 0; b < count; b++) sum += inverse[a * count + b] * mean[6 * b + c];
      weights[6 * a + c] = sum;
      data[c / 3] = fmax(data[c / 3], fabs(mean[6 * a + c])), result[c / 3] = fmax(result[c / 3], fabs(sum));
    }
  return fmax(data[0] > 0 ? result[0] / data[0] : 0, data[1] > 0 ? result[1] / data[1] : 0);
}

// Kernel weights of vertex i; returns its leave-one-out error. Poses that are too close together for the
// width get a ridge, as small as will do.
static double solve_vertex(const weighted_job *job, int i, double *work) {
  int p = job->field->centre_count;
  size_t n = (size_t)job->m->vertex_count;
  double *d2 = work, *inverse = d2 + p * p, *mean = inverse + p * p, *weights = mean + 6 * p, error = 0;
  int *first = (int *)(void *)(weights + 6 * p), *group = first + p, *members = group + p;
  vertex_distances(job, i, d2);
  int count = group_poses(p, d2, first, group);
  memset(mean, 0, (size_t)(6 * count) * sizeof *mean), memset(members, 0, (size_t)count * sizeof *members);
  for (int a = 0; a < p; a++) members[group[a]]++;
  for (int a = 0; a < p; a++)
    for (int c = 0; c < 6; c++)
      mean[6 * group[a] + c] += (double)job->m->deltas[(size_t)a * n + (size_t)i][c] / members[group[a]];
  for (double ridge = 1e-9; ridge < 1e3; ridge *= 10) {
    if (invert_groups(job, count, first, d2, ridge, inverse) &&
        apply_inverse(count, inverse, mean, weights) <= most_amplified)
      break;
  }
  for (int a = 0; a < count; a++) {
    double diagonal = inverse[a * count + a];
    for (int c = 0; c < 3; c++) error += weights[6 * a + c] * weights[6 * a + c] / (diagonal * diagonal);
    for (int c = 0; job->deltas && c < 6; c++)
      job->deltas[(size_t)first[a] * n + (size_t)i][c] = (float)weights[6 * a + c];
  }
  return count > 1 ? error : 0;
}

static void solve_range(void *user, int64_t begin, int64_t end, int worker) {
  const weighted_job *job = user;
  for (int64_t k = begin; k < end; k++) {
    double error = solve_vertex(job, (int)k * job->stride, job->work + (size_t)worker * job->work_size);
    if (job->errors) job->errors[k] = error;
  }
}

// Squared distances of the poses by joint, as a vertex on that joint's bone sees them.
static void joint_distances(const sn_misses *m, const sn_pose_field *field, double *out, double *shares) {
  size_t p = (size_t)field->centre_count, axes = (size_t)field->metric.axes;
  for (size_t j = 0; j < (size_t)field->joint_count; j++) {
    int parent = -1;
    for (int n = 0; n < m->joint_count; n++)
      if (m->turns[n].joint == field->joints[j]) parent = m->turns[n].parent;
    shares[field->joints[j]] += 1;
    if (parent >= 0) shares[parent] += SN_RT_PARENT_SHARE;
    for (size_t a = 0; a < p; a++)
      for (size_t b = 0; b < p; b++)
        for (size_t c = 3 * j; c < 3 * j + 3; c++) {
          double d = field->centres[a * axes + c] - field->centres[b * axes + c];
          out[(size_t)field->joints[j] * p * p + a * p + b] += d * d;
          if (parent >= 0) out[(size_t)parent * p * p + a * p + b] += SN_RT_PARENT_SHARE * d * d;
        }
  }
}

// The width with the least leave-one-out error over a sample of the vertices.
static sn_status choose_width(sn_context *ctx, sn_arena *memory, weighted_job *job, double start) {
  weighted_job trial = *job;
  int n = job->m->vertex_count;
  trial.deltas = NULL, trial.stride = (n + sample - 1) / sample;
  int count = (n + trial.stride - 1) / trial.stride;
  trial.errors = SN_NEW(ctx, memory, double, count);
  if (!trial.errors) return ctx->error.status;
  double least = INFINITY;
  for (int step = 0; step < steps; step++) {
    trial.width = 0.3 * start * pow(1.2, step);
    double error = 0;
    sn_parallel_for(ctx, count, 64, solve_range, &trial);
    for (int k = 0; k < count; k++) error += trial.errors[k];
    if (error < least) least = error, job->width = trial.width;
  }
  return SN_OK;
}

sn_status sn_weighted_fields(sn_context *ctx, sn_arena *memory, const sn_correct_options *o, const sn_misses *m,
                             const int *joints, int joint_count, sn_corrections *out) {
  size_t p = (size_t)m->pose_count;
  *out = (sn_corrections){.field_count = 1, .vertex_count = m->vertex_count, .basis_count = m->pose_count};
  sn_pose_field *field = out->fields = SN_NEW(ctx, memory, sn_pose_field, 1);
  int *poses = SN_NEW(ctx, memory, int, p);
  double *gram = SN_NEW(ctx, memory, double, p *p), *widths = SN_NEW(ctx, memory, double, p);
  double *distances = SN_NEW(ctx, memory, double, (size_t)m->joint_count *p *p);
  double *shares = SN_NEW(ctx, memory, double, m->joint_count);
  out->deltas = sn_arena_alloc(ctx, memory, p * (size_t)m->vertex_count, sizeof *out->deltas);
  size_t work_size = 2 * p * p + 12 * p + 2 * p;
  double *work = SN_NEW(ctx, memory, double, (size_t)sn_threads(ctx) * work_size);
  if (!field || !poses || !gram || !widths || !distances || !shares || !out->deltas || !work)
    return ctx->error.status;
  for (int a = 0; a < m->pose_count; a++) poses[a] = a;
  sn_misses_gram(ctx, (const float(*)[6])m->deltas, m->vertex_count, m->pose_count, gram);
  sn_rbf rbf; // only its centres are used: the functions are each vertex's own
  sn_status status = sn_field_make(ctx, memory, o, m, joints, joint_count, poses, m->pose_count, gram, field, &rbf);
  sn_rbf_free(&rbf);
  if (status != SN_OK) return status;
  joint_distances(m, field, distances, shares);
  weighted_job job = {.m = m,
                      .field = field,
                      .joint_distances = distances,
                      .shares = shares,
                      .width = o->sigma > 0 ? o->sigma : 0.3 * field->widths[0],
                      .deltas = out->deltas,
                      .work = work,
                      .work_size = work_size,
                      .stride = 1};
  if (!(o->sigma > 0)) status = choose_width(ctx, memory, &job, field->widths[0]);
  if (status != SN_OK) return status;
  sn_parallel_for(ctx, m->vertex_count, 64, solve_range, &job);
  for (size_t a = 0; a < p; a++) widths[a] = job.width;
  field->widths = widths, field->basis_count = m->pose_count, field->terms = m->pose_count;
  return SN_OK;
}
