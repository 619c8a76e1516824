// SPDX-License-Identifier: MIT
// Where helpers are: vertices near each other whose residuals have similar lengths in every frame (k-means), in any direction.
#include "train/helpers/helpers.h"

#include <math.h>
#include <string.h>

// A part of the diagonal: vertices this far apart are as different as the mean residual is large.
static const double reach = 0.15;
enum { most_rounds = 12 };

static void fill_points(const sn_helper_solve *s, sn_helper_clusters *c) {
  for (int n = 0; n < s->sample_count; n++) {
    float *to = c->points + (size_t)n * (size_t)c->dims;
    for (int f = 0; f < s->frame_count; f++)
      *to++ = (float)sn_vec3_length(sn_vec3_from(s->residuals[(size_t)f * (size_t)s->sample_count + (size_t)n]));
    memcpy(to, s->examples->rest.positions[s->sample[n]], sizeof(float[3]));
  }
}

static double distance(const sn_helper_clusters *c, int n, int k) {
  const float *p = c->points + (size_t)n * (size_t)c->dims;
  const double *q = c->means + (size_t)k * (size_t)c->dims;
  double sum = 0;
  for (int d = 0; d < c->dims; d++) sum += ((double)p[d] - q[d]) * ((double)p[d] - q[d]);
  return sum;
}

// The energies, and the places scaled.
static void measure_points(sn_helper_clusters *c, double diagonal) {
  double total = 0;
  for (int n = 0; n < c->point_count; n++) {
    const float *p = c->points + (size_t)n * (size_t)c->dims;
    for (int d = 0; d < c->dims - 3; d++) c->energies[n] += (double)p[d] * (double)p[d];
    total += c->energies[n];
  }
  double unit = sqrt(total / c->point_count) / (reach * diagonal);
  for (int n = 0; n < c->point_count; n++)
    for (int k = 1; k <= 3; k++) c->points[(size_t)(n + 1) * (size_t)c->dims - (size_t)k] *= (float)unit;
}

// The next mean is the vertex whose distance to the means so far, times its energy, is largest.
static void first_means(sn_helper_clusters *c, double *nearest) {
  for (int n = 0; n < c->point_count; n++) nearest[n] = 1;
  for (int k = 0; k < c->count; k++) {
    int best = 0;
    double most = -1;
    for (int n = 0; n < c->point_count; n++) {
      double value = nearest[n] * c->energies[n];
      if (value > most) most = value, best = n;
    }
    for (size_t d = 0; d < (size_t)c->dims; d++)
      c->means[(size_t)k * (size_t)c->dims + d] = c->points[(size_t)best * (size_t)c->dims + d];
    for (int n = 0; n < c->point_count; n++) {
      double d = distance(c, n, k);
      nearest[n] = k == 0 || d < nearest[n] ? d : nearest[n];
    }
  }
}

static void assign(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const sn_helper_clusters *c = user;
  for (int n = (int)begin; n < (int)end; n++) {
    double least = INFINITY;
    for (int k = 0; k < c->count; k++) {
      double d = distance(c, n, k);
      if (d < least) least = d, c->owner[n] = k;
    }
  }
}

static void update_means(sn_helper_clusters *c, double *sums) {
  memset(c->means, 0, (size_t)c->count * (size_t)c->dims * sizeof *c->means);
  memset(sums, 0, (size_t)c->count * sizeof *sums);
  for (int n = 0; n < c->point_count; n++) {
    double energy = c->energies[n] + 1e-30, *mean = c->means + (size_t)c->owner[n] * (size_t)c->dims;
    sums[c->owner[n]] += energy;
    for (int d = 0; d < c->dims; d++) mean[d] += energy * (double)c->points[(size_t)n * (size_t)c->dims + (size_t)d];
  }
  for (int k = 0; k < c->count; k++)
    for (int d = 0; d < c->dims; d++) c->means[(size_t)k * (size_t)c->dims + (size_t)d] /= sums[k] > 0 ? sums[k] : 1;
}

sn_status sn_helper_cluster(sn_context *ctx, sn_arena *memory, sn_helper_clusters *c, double diagonal) {
  double *numbers = SN_NEW(ctx, memory, double, c->point_count + c->count);
  c->means = SN_NEW(ctx, memory, double, (size_t)c->count *(size_t)c->dims);
  c->owner = SN_NEW(ctx, memory, int, c->point_count);
  c->energies = SN_NEW(ctx, memory, double, c->point_count);
  if (!numbers || !c->means || !c->owner || !c->energies) return ctx->error.status;
  measure_points(c, diagonal);
  first_means(c, numbers);
  for (int round = 0; round < most_rounds; round++) {
    sn_parallel_for(ctx, c->point_count, 64, assign, c);
    update_means(c, numbers);
  }
  return SN_OK;
}

// The joint with the largest weight on the cluster, and the cluster's middle, both by energy.
static void place_helper(const sn_helper_solve *s, const sn_helper_clusters *c, int k, double *weights) {
  sn_helper *h = s->helpers + s->placed_count + k;
  double total = 0, centre[3] = {0};
  memset(weights, 0, (size_t)s->joint_count * sizeof *weights);
  for (int n = 0; n < s->sample_count; n++) {
    if (c->owner[n] != k) continue;
    size_t row = (size_t)s->sample[n] * (size_t)s->base.influences;
    double energy = c->energies[n] + 1e-30;
    total += energy;
    for (int d = 0; d < 3; d++) centre[d] += energy * (double)s->examples->rest.positions[s->sample[n]][d];
    for (int q = 0; q < s->base.influences; q++)
      weights[s->base.joints[row + (size_t)q]] += energy * (double)s->base.weights[row + (size_t)q];
  }
  for (int d = 0; d < 3; d++) h->centre[d] = (float)(centre[d] / (total > 0 ? total : 1));
  h->parent = 0;
  for (int j = 1; j < s->joint_count; j++)
    if (weights[j] > weights[h->parent]) h->parent = j;
}

sn_status sn_helpers_seed(sn_helper_solve *s, int count) {
  SN_SCRATCH(scratch, s->ctx);
  sn_helper_clusters c = {.dims = s->frame_count + 3, .count = count, .point_count = s->sample_count};
  c.points = SN_NEW(s->ctx, &scratch, float, (size_t)s->sample_count *(size_t)c.dims);
  double *weights = SN_NEW(s->ctx, &scratch, double, s->joint_count);
  if (!c.points || !weights) return s->ctx->error.status;
  fill_points(s, &c);
  SN_TRY(sn_helper_cluster(s->ctx, &scratch, &c, s->diagonal));
  for (int k = 0; k < c.count; k++) place_helper(s, &c, k, weights);
  for (int k = 0; k < c.count; k++) SN_TRY(sn_helper_move(s, s->placed_count + k, c.owner));
  s->placed_count += count;
  return SN_OK;
}
