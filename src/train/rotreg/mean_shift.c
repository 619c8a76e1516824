// SPDX-License-Identifier: MIT
// Mean shift (James and Twigg 2005), which section 5 mentions as another start for proxy bones: triangles with similar
// rotations in all poses form a group, wherever they are.
#include <string.h>

#include "base/scope.h"
#include "train/rotreg/reduced.h"

enum { steps = 100, halvings = 8, seeds_per_bone = 4 };

// The squared distance; stops early once it exceeds `most`.
static double squared_gap(int numbers, const double *a, const double *b, double most) {
  double sum = 0;
  for (int n = 0; n < numbers && sum <= most; n++) sum += (a[n] - b[n]) * (a[n] - b[n]);
  return sum;
}

void sn_rotreg_shift(const sn_rotreg_points *z, double h, double *x, double *mean) {
  for (int step = 0; step < steps; step++) {
    int inside = 0;
    memset(mean, 0, (size_t)z->numbers * sizeof *mean);
    for (int k = 0; k < z->count; k++) {
      const double *point = z->points + (size_t)k * (size_t)z->numbers;
      if (squared_gap(z->numbers, x, point, h * h) > h * h) continue;
      for (int n = 0; n < z->numbers; n++) mean[n] += point[n];
      inside++;
    }
    for (int n = 0; n < z->numbers; n++) mean[n] /= inside;
    bool stays = squared_gap(z->numbers, x, mean, INFINITY) <= sn_rotreg_rounding * h * h;
    memcpy(x, mean, (size_t)z->numbers * sizeof *x);
    if (stays) return;
  }
}

typedef struct shift_job {
  const sn_rotreg_points *z;
  int seeds, mode_count;
  double h, *modes, *means; // [seed][numbers]
  int *group_of;
} shift_job;

static void shift_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const shift_job *job = user;
  size_t numbers = (size_t)job->z->numbers;
  for (int64_t s = begin; s < end; s++) {
    const double *from = job->z->points + (size_t)(s * job->z->count / job->seeds) * numbers;
    double *x = job->modes + (size_t)s * numbers;
    memcpy(x, from, numbers * sizeof *x);
    sn_rotreg_shift(job->z, job->h, x, job->means + (size_t)s * numbers);
  }
}

// Finds the modes of all seeds; a mode within h of an earlier one is a duplicate.
static void find_modes(sn_context *ctx, shift_job *job) {
  int numbers = job->z->numbers;
  job->mode_count = 0;
  sn_parallel_for(ctx, job->seeds, 1, shift_range, job);
  for (int s = 0; s < job->seeds; s++) {
    const double *x = job->modes + (size_t)s * (size_t)numbers;
    bool known = false;
    for (int m = 0; m < job->mode_count && !known; m++)
      known = squared_gap(numbers, x, job->modes + (size_t)m * (size_t)numbers, job->h * job->h) <= job->h * job->h;
    if (!known) memmove(job->modes + (size_t)job->mode_count++ * (size_t)numbers, x, (size_t)numbers * sizeof *x);
  }
}

static void assign_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const shift_job *job = user;
  size_t numbers = (size_t)job->z->numbers;
  for (int64_t t = begin; t < end; t++) {
    double least = INFINITY;
    for (int m = 0; m < job->mode_count; m++) {
      double d =
        squared_gap(job->z->numbers, job->z->points + (size_t)t * numbers, job->modes + (size_t)m * numbers, least);
      if (d < least) least = d, job->group_of[t] = m;
    }
  }
}

// The smallest h that gives at most `most` modes, by bisection of its logarithm.
static void find_groups(sn_context *ctx, shift_job *job, int most) {
  double high = 3 * sqrt(job->z->numbers / 9.0), low = high / 1000; // two rotations differ by at most sqrt(8)
  for (int n = 0; n < halvings; n++) {
    job->h = sqrt(low * high);
    find_modes(ctx, job);
    *(job->mode_count <= most ? &high : &low) = job->h;
  }
  job->h = high;
  find_modes(ctx, job);
  sn_parallel_for(ctx, job->z->count, 16, assign_range, job);
}

// Numbers groups by first appearance, like sn_cluster_cut; modes without triangles are dropped.
static int number_groups(int count, int *number, int *group_of) {
  int groups = 0;
  for (int t = 0; t < count; t++) {
    if (number[group_of[t]] == 0) number[group_of[t]] = ++groups;
    group_of[t] = number[group_of[t]] - 1;
  }
  return groups;
}

sn_status sn_rotreg_mean_shift(const sn_rotreg_training *t, int most, int *group_of, int *groups) {
  sn_context *ctx = t->ctx;
  const sn_mesh *rest = &t->examples->rest;
  SN_SCRATCH(scratch, ctx);
  int count = rest->triangle_count, poses = t->keys->count, seeds = seeds_per_bone * most;
  size_t numbers = 9 * (size_t)poses;
  double *points = SN_NEW(ctx, &scratch, double, (size_t)count *numbers);
  sn_rotreg_points z = {count, (int)numbers, points};
  shift_job job = {.z = &z, .seeds = seeds < count ? seeds : count, .group_of = group_of};
  job.modes = SN_NEW(ctx, &scratch, double, (size_t)job.seeds *numbers);
  job.means = SN_NEW(ctx, &scratch, double, (size_t)job.seeds *numbers);
  int *number = SN_NEW(ctx, &scratch, int, job.seeds);
  if (!points || !job.modes || !job.means || !number) return ctx->error.status;
  for (int n = 0; n < count * poses; n++) {
    sn_mat3 d, r;
    sn_rotreg_gradient(rest, sn_frame(&t->examples->frames, t->keys->frames[n % poses]), n / poses, &d);
    sn_mat3_polar(d, &r, NULL);
    memcpy(points + 9 * (size_t)n, r.m, sizeof r.m);
  }
  find_groups(ctx, &job, most);
  *groups = number_groups(count, number, group_of);
  return SN_OK;
}
