// SPDX-License-Identifier: MIT
// How far a vertex may go beyond the poses of the clip.
#include <math.h>

#include "runtime/format.h"
#include "train/correct/correct.h"

static double square3(const float *d) { return (double)d[0] * d[0] + (double)d[1] * d[1] + (double)d[2] * d[2]; }

// Times what the clip does, or this part of the diagonal.
static const double most_of_farthest = 3, always_free = 0.0009;
// What the clip itself needs in the rest pose is free: SN_RT_FREE_PART of this.
static const double free_room = 1.3;

double sn_longest_correction(const sn_residuals *m, double farthest) {
  return fmax(most_of_farthest * farthest, always_free * m->diagonal);
}

void sn_corrections_at(const sn_corrections *c, int pose_count, int pose, int vertex, float out[6]) {
  for (int k = 0; k < 6; k++) out[k] = 0;
  for (int n = 0; n < sn_basis_number(&c->groups, c->basis_count, vertex); n++) {
    const float *d = c->deltas[(size_t)n * (size_t)c->vertex_count + (size_t)vertex];
    float value = (float)c->curves[(size_t)sn_basis_of(&c->groups, vertex, n) * (size_t)pose_count + (size_t)pose];
    for (int k = 0; k < 6; k++) out[k] += value * d[k];
  }
}

typedef struct limit_job {
  const sn_residuals *m;
  const sn_corrections *c;
} limit_job;

// The longest displacement of vertex i at the poses of the clip.
static double longest_of(const limit_job *job, int i) {
  double longest = 0;
  for (int p = 0; p < job->m->pose_count; p++) {
    float sum[6];
    sn_corrections_at(job->c, job->m->pose_count, p, i, sum);
    longest = fmax(longest, square3(sum));
  }
  return sqrt(longest);
}

static void limit_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const limit_job *job = user;
  size_t n = (size_t)job->m->vertex_count;
  for (size_t i = (size_t)begin; i < (size_t)end; i++) {
    double before = 0, longest = longest_of(job, (int)i); // what is missing, in the rest pose; what is given
    for (size_t p = 0; p < (size_t)job->m->pose_count; p++)
      before = fmax(before, sqrt(square3(job->m->deltas[p * n + i])));
    double squashed = before > 0 ? fmin(job->m->farthest[i] / before, 1) : 1;
    job->c->limits[i] = (float)fmax(sn_longest_correction(job->m, squashed * longest), free_room * longest);
  }
}

sn_status sn_corrections_limit(sn_context *ctx, sn_arena *memory, const sn_residuals *m, sn_corrections *out) {
  out->limits = SN_NEW(ctx, memory, float, m->vertex_count);
  if (!out->limits) return ctx->error.status;
  limit_job job = {m, out};
  sn_parallel_for(ctx, m->vertex_count, 64, limit_range, &job);
  return SN_OK;
}
