// SPDX-License-Identifier: MIT
// Limits how far corrections displace a vertex beyond the training poses.
#include <math.h>

#include "runtime/vertex.h"
#include "train/correct/corrector.h"

static double square3(const float *d) { return (double)d[0] * d[0] + (double)d[1] * d[1] + (double)d[2] * d[2]; }

void sn_corrections_at(const sn_corrections *c, int pose_count, int pose, int vertex, float out[6]) {
  for (int k = 0; k < 6; k++) out[k] = 0;
  for (int n = 0; n < sn_basis_number(&c->groups, c->basis_count, vertex); n++) {
    const float *d = c->deltas[(size_t)n * (size_t)c->vertex_count + (size_t)vertex];
    float value = (float)c->curves[(size_t)sn_basis_of(&c->groups, vertex, n) * (size_t)pose_count + (size_t)pose];
    for (int k = 0; k < 6; k++) out[k] += value * d[k];
  }
}

typedef struct limit_job {
  const sn_corrector *c;
  const sn_corrections *out;
  const sn_poser *at; // limits after the blend: the palette of a pose
  int pose;
  double *longest; // largest displacement of every vertex in training
} limit_job;

static void before_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const limit_job *job = user;
  const sn_residuals *m = &job->c->residuals;
  for (int64_t i = begin; i < end; i++) {
    double longest = 0;
    for (int p = 0; p < m->pose_count; p++) {
      float sum[6];
      sn_corrections_at(job->out, m->pose_count, p, (int)i, sum);
      longest = fmax(longest, square3(sum));
    }
    job->longest[i] = sqrt(longest);
    job->out->limits[i] = (float)(job->longest[i] / (double)SN_RT_FREE_PART);
  }
}

static void after_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const limit_job *job = user;
  const sn_residuals *m = &job->c->residuals;
  for (int64_t i = begin; i < end; i++) {
    float sum[6];
    sn_corrections_at(job->out, m->pose_count, job->pose, (int)i, sum);
    sn_mat3 a = sn_affine_linear(sn_blend_of(&job->c->model, job->at->scratch, &m->skin, NULL, (int)i));
    job->longest[i] = fmax(job->longest[i], sn_vec3_length(sn_mat3_apply(a, sn_vec3_from(sum))));
  }
}

// Measures displacements after the blend: proxy bones may stretch them to any length, so limits before it are useless.
static sn_status measure_after_blend(sn_corrector *c, sn_arena *memory, limit_job *job) {
  sn_poser at = {0};
  sn_status status = sn_poser_new(c, memory, &at);
  job->at = &at;
  for (int k = 0; status == SN_OK && k < c->keys->count; k++) {
    job->pose = c->pose_of[k];
    sn_poser_set(c, &at, c->keys->frames[k]);
    sn_parallel_for(c->ctx, c->residuals.vertex_count, 64, after_range, job);
  }
  return status;
}

static bool has_proxy_bones(const sn_rt_model *model) {
  return model->info.blend == SN_RT_BLEND_LINEAR && model->info.palette_count != model->info.joint_count;
}

// The limit of a vertex is the largest displacement of any vertex in training, or three times its largest displacement if
// that is more.
sn_status sn_corrections_limit(sn_corrector *c, sn_corrections *out) {
  int count = c->residuals.vertex_count;
  double farthest = c->options->threshold / 100 * c->residuals.diagonal;
  if (c->residuals.joint_count == 0)
    return SN_OK; // values are clamped to their range, which bounds polynomials in them
  sn_arena scratch = sn_arena_new(c->ctx);
  limit_job job = {.c = c, .out = out, .longest = SN_NEW(c->ctx, &scratch, double, count)};
  out->limits = SN_NEW(c->ctx, &c->memory, float, count);
  out->limit_after = c->options->order == SN_ORDER_INVERSE && has_proxy_bones(&c->model);
  sn_status status = out->limits && job.longest ? SN_OK : c->ctx->error.status;
  if (status == SN_OK && out->limit_after) status = measure_after_blend(c, &scratch, &job);
  if (status == SN_OK && !out->limit_after) sn_parallel_for(c->ctx, count, 64, before_range, &job);
  for (int i = 0; status == SN_OK && i < count; i++) farthest = fmax(farthest, job.longest[i]);
  for (int i = 0; status == SN_OK && i < count; i++)
    out->limits[i] = fmaxf(out->limits[i], (float)fmax(farthest, 3 * job.longest[i]));
  sn_arena_free(&scratch);
  return status;
}
