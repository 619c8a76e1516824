// SPDX-License-Identifier: MIT
// The data in the solver's units: centred, scaled to unit size, the rigid motion of the whole mesh taken out.
#include "rig/internal.h"

#include <stdlib.h>
#include <string.h>

// Mean and the RMS distance to it. A mesh without extent gets scale 1.
static void rest_frame(const sn_mesh *rest, sn_vec3 *centre, double *scale) {
  sn_vec3 sum = {0, 0, 0};
  double spread = 0;
  int n = rest->vertex_count;
  for (int i = 0; i < n; i++) sum = sn_vec3_add(sum, sn_vec3_from(rest->positions[i]));
  *centre = sn_vec3_scale(sum, 1.0 / n);
  for (int i = 0; i < n; i++) {
    sn_vec3 d = sn_vec3_sub(sn_vec3_from(rest->positions[i]), *centre);
    spread += sn_vec3_dot(d, d);
  }
  *scale = spread > 0 ? sqrt(spread / n) : 1;
}

typedef struct align_job {
  const sn_mesh *rest;
  const sn_frames *frames;
  const int *chosen;
  rig_units *units;
} align_job;

// The rigid motion that takes the rest pose to frame f best.
static void align_frames(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  align_job *job = user;
  int n = job->rest->vertex_count;
  for (int64_t f = begin; f < end; f++) {
    const float(*position)[3] = sn_frame(job->frames, job->chosen[f]);
    sn_vec3 mean = {0, 0, 0};
    sn_mat3 h = {0};
    for (int i = 0; i < n; i++) mean = sn_vec3_add(mean, sn_vec3_from(position[i]));
    mean = sn_vec3_scale(mean, 1.0 / n);
    for (int i = 0; i < n; i++) {
      sn_vec3 a = sn_vec3_sub(sn_vec3_from(job->rest->positions[i]), job->units->centre);
      sn_vec3 b = sn_vec3_sub(sn_vec3_from(position[i]), mean);
      h.m[0][0] += a.x * b.x, h.m[0][1] += a.x * b.y, h.m[0][2] += a.x * b.z;
      h.m[1][0] += a.y * b.x, h.m[1][1] += a.y * b.y, h.m[1][2] += a.y * b.z;
      h.m[2][0] += a.z * b.x, h.m[2][1] += a.z * b.y, h.m[2][2] += a.z * b.z;
    }
    sn_mat3 r = sn_mat3_kabsch(h);
    job->units->motion[f] = sn_affine_make(r, sn_vec3_sub(mean, sn_mat3_apply(r, job->units->centre)));
  }
}

typedef struct fill_job {
  const sn_frames *frames;
  const int *chosen;
  const rig_units *units;
  rig_problem *p;
} fill_job;

static void fill_rows(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  fill_job *job = user;
  rig_problem *p = job->p;
  for (int f = 0; f < p->f; f++) {
    sn_affine to_rest;
    sn_affine_invert(job->units->motion[f], &to_rest);
    const float(*position)[3] = sn_frame(job->frames, job->chosen[f]);
    for (int64_t i = begin; i < end; i++) {
      sn_vec3 v = sn_affine_apply(to_rest, sn_vec3_from(position[i]));
      v = sn_vec3_scale(sn_vec3_sub(v, job->units->centre), 1 / job->units->scale);
      sn_vec3_store(v, p->x + (size_t)i * 3 * (size_t)p->f + 3 * (size_t)f);
    }
  }
}

typedef struct curve_key {
  uint32_t code;
  int vertex;
} curve_key;

static int by_code(const void *a, const void *b) {
  const curve_key *x = a, *y = b;
  if (x->code != y->code) return x->code < y->code ? -1 : 1;
  return (x->vertex > y->vertex) - (x->vertex < y->vertex);
}

// Spreads the ten bits of v to every third place.
static uint32_t spread_bits(uint32_t v) {
  v = (v | (v << 16)) & 0x030000FF;
  v = (v | (v << 8)) & 0x0300F00F;
  v = (v | (v << 4)) & 0x030C30C3;
  return (v | (v << 2)) & 0x09249249;
}

sn_status sn_rig_problem_order(sn_context *ctx, sn_arena *memory, rig_problem *p) {
  sn_arena scratch = sn_arena_new(ctx);
  curve_key *keys = SN_NEW(ctx, &scratch, curve_key, p->n);
  p->order = SN_NEW(ctx, memory, int, p->n);
  bool good = keys && p->order;
  if (good) {
    double low[3], high[3];
    for (int c = 0; c < 3; c++) low[c] = high[c] = p->u[0][c];
    for (int i = 0; i < p->n; i++)
      for (int c = 0; c < 3; c++) low[c] = fmin(low[c], p->u[i][c]), high[c] = fmax(high[c], p->u[i][c]);
    double size = fmax(high[0] - low[0], fmax(high[1] - low[1], high[2] - low[2]));
    for (int i = 0; i < p->n; i++) {
      uint32_t code = 0;
      for (int c = 0; c < 3 && size > 0; c++) {
        code |= spread_bits((uint32_t)(1023 * (p->u[i][c] - low[c]) / size)) << c;
      }
      keys[i] = (curve_key){code, i};
    }
    qsort(keys, (size_t)p->n, sizeof *keys, by_code);
    for (int i = 0; i < p->n; i++) p->order[i] = keys[i].vertex;
  }
  sn_arena_free(&scratch);
  return good ? SN_OK : ctx->error.status;
}

sn_status sn_rig_problem_moments(sn_context *ctx, sn_arena *memory, rig_problem *p) {
  size_t columns = 3 * (size_t)p->f;
  p->moment = SN_NEW(ctx, memory, double, 4 * columns);
  if (!p->moment) return ctx->error.status;
  for (int i = 0; i < p->n; i++) {
    const float *x = p->x + (size_t)i * columns;
    double mono[RIG_MONOMIALS];
    rig_monomials(p->u[i], mono);
    for (int q = 0; q < RIG_MONOMIALS; q++) p->rest_cov[q] += mono[q];
    for (int c = 0; c < 4; c++)
      for (size_t e = 0; e < columns; e++) p->moment[(size_t)c * columns + e] += p->u[i][c] * (double)x[e];
  }
  return SN_OK;
}

sn_status sn_rig_problem_build(sn_context *ctx, sn_arena *memory, const sn_mesh *rest, const sn_frames *frames,
                               const int *chosen, int count, rig_units *units, rig_problem *p) {
  int n = rest->vertex_count;
  *units = (rig_units){0};
  *p = (rig_problem){.n = n, .f = count};
  p->x = SN_NEW(ctx, memory, float, (size_t)n * 3 * (size_t)count);
  p->u = sn_arena_alloc(ctx, memory, (size_t)n, sizeof *p->u);
  units->motion = SN_NEW(ctx, memory, sn_affine, count);
  if (!p->x || !p->u || !units->motion) return ctx->error.status;
  rest_frame(rest, &units->centre, &units->scale);
  for (int i = 0; i < n; i++) {
    sn_vec3 u = sn_vec3_scale(sn_vec3_sub(sn_vec3_from(rest->positions[i]), units->centre), 1 / units->scale);
    p->u[i][0] = u.x, p->u[i][1] = u.y, p->u[i][2] = u.z, p->u[i][3] = 1;
  }
  align_job align = {rest, frames, chosen, units};
  sn_parallel_for(ctx, count, 1, align_frames, &align);
  fill_job fill = {frames, chosen, units, p};
  sn_parallel_for(ctx, n, 512, fill_rows, &fill);
  sn_status status = sn_rig_problem_order(ctx, memory, p);
  return status == SN_OK ? sn_rig_problem_moments(ctx, memory, p) : status;
}

sn_affine sn_rig_to_units(const rig_units *units, int f, sn_affine t) {
  sn_affine to_rest;
  sn_affine_invert(units->motion[f], &to_rest);
  t = sn_affine_mul(to_rest, t);
  sn_mat3 a = sn_affine_linear(t);
  sn_vec3 shift = sn_vec3_sub(sn_affine_apply(t, units->centre), units->centre);
  return sn_affine_make(a, sn_vec3_scale(shift, 1 / units->scale));
}

sn_affine sn_rig_from_units(const rig_units *units, int f, sn_affine t) {
  sn_mat3 a = sn_affine_linear(t);
  sn_vec3 shift = sn_vec3_add(sn_vec3_scale(sn_affine_translation(t), units->scale), units->centre);
  shift = sn_vec3_sub(shift, sn_mat3_apply(a, units->centre));
  return sn_affine_mul(units->motion[f], sn_affine_make(a, shift));
}

sn_affine sn_rig_bone(const rig_model *m, int j, int f) {
  size_t columns = 3 * (size_t)m->p->f;
  const double *t = m->t + 4 * (size_t)j * columns + 3 * (size_t)f;
  sn_affine out;
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 4; c++) out.m[r][c] = t[(size_t)c * columns + (size_t)r];
  return out;
}

void sn_rig_set_bone(rig_model *m, int j, int f, sn_affine a) {
  size_t columns = 3 * (size_t)m->p->f;
  double *t = m->t + 4 * (size_t)j * columns + 3 * (size_t)f;
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 4; c++) t[(size_t)c * columns + (size_t)r] = a.m[r][c];
}

static int by_key(const void *a, const void *b) {
  const rig_sort_key *x = a, *y = b;
  int order = memcmp(x->bytes, y->bytes, x->size);
  return order ? order : (x->frame > y->frame) - (x->frame < y->frame);
}

sn_status sn_rig_sort_frames(sn_context *ctx, const sn_frames *frames, int *order) {
  sn_arena scratch = sn_arena_new(ctx);
  rig_sort_key *keys = SN_NEW(ctx, &scratch, rig_sort_key, frames->frame_count);
  if (keys) {
    for (int f = 0; f < frames->frame_count; f++) {
      keys[f] = (rig_sort_key){(const void *)sn_frame(frames, f), (size_t)frames->vertex_count * sizeof(float[3]), f};
    }
    qsort(keys, (size_t)frames->frame_count, sizeof *keys, by_key);
    for (int f = 0; f < frames->frame_count; f++) order[f] = keys[f].frame;
  }
  sn_arena_free(&scratch);
  return keys ? SN_OK : ctx->error.status;
}
