// SPDX-License-Identifier: MIT
// The data in the solver's units: centred, scaled to unit size, without the rigid motion of the whole mesh.
#include "base/team.h"
#include "fit/weights.h"

#include <stdlib.h>
#include <string.h>

// Centroid and rms distance to it. A mesh without extent gets scale 1.
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

// Vertex i of the problem in a frame. `vertex`: see fit_data.
static const float *vertex_at(const float (*position)[3], const int *vertex, int i) {
  return position[vertex ? vertex[i] : i];
}

// The best rigid motion from the rest pose to a frame (Kabsch).
static sn_affine align_frame(const sn_mesh *rest, sn_vec3 centre, const float (*position)[3], const int *vertex) {
  int n = rest->vertex_count;
  sn_vec3 mean = {0, 0, 0};
  sn_mat3 h = {0};
  for (int i = 0; i < n; i++) mean = sn_vec3_add(mean, sn_vec3_from(vertex_at(position, vertex, i)));
  mean = sn_vec3_scale(mean, 1.0 / n);
  for (int i = 0; i < n; i++) {
    sn_vec3 a = sn_vec3_sub(sn_vec3_from(rest->positions[i]), centre);
    sn_vec3 b = sn_vec3_sub(sn_vec3_from(vertex_at(position, vertex, i)), mean);
    h.m[0][0] += a.x * b.x, h.m[0][1] += a.x * b.y, h.m[0][2] += a.x * b.z;
    h.m[1][0] += a.y * b.x, h.m[1][1] += a.y * b.y, h.m[1][2] += a.y * b.z;
    h.m[2][0] += a.z * b.x, h.m[2][1] += a.z * b.y, h.m[2][2] += a.z * b.z;
  }
  sn_mat3 r = sn_mat3_kabsch(h);
  return sn_affine_make(r, sn_vec3_sub(mean, sn_mat3_apply(r, centre)));
}

// A frame has all vertices of one time, a row all times of one vertex. The transposition works in blocks of rows: first every
// frame is read once and written into all blocks, frame after frame; then every block is transposed in memory.
typedef struct fit_source {
  fit_data data;
  sn_affine *to_rest; // per frame
  sn_vec3 centre;
  double unit;
  int changed; // a frame with values that are not finite; -1: none
} fit_source;

typedef struct fill_job {
  sn_context *ctx;
  fit_units *units;
  fit_problem *p;
  fit_source *source;
  bool aligned;  // units->motion is already filled
  int block;     // rows
  float *buffer; // a block per worker
} fill_job;

// Another process may write to a mapped file of frames: values that are not finite become 0, and s->changed names the frame.
static void convert(fit_source *s, const float position[3], int f, float *out) {
  sn_vec3 v = sn_affine_apply(s->to_rest[f], sn_vec3_from(position));
  sn_vec3_store(sn_vec3_scale(sn_vec3_sub(v, s->centre), s->unit), out);
  float difference = (out[0] - out[0]) + (out[1] - out[1]) + (out[2] - out[2]);
  if (difference == 0) return;
  out[0] = out[1] = out[2] = 0;
  __atomic_store_n(&s->changed, s->data.chosen[f], __ATOMIC_RELAXED);
}

void sn_fit_convert(const fit_problem *p, int i, int f, float out[3]) {
  fit_source *s = p->source;
  convert(s, vertex_at(sn_frame(s->data.frames, s->data.chosen[f]), s->data.vertex, i), f, out);
}

enum { block_bytes = 4 << 20 };

static int rows_per_block(const fit_problem *p) {
  size_t rows = block_bytes / (3 * (size_t)p->f * sizeof *p->x);
  return rows < 16 ? 16 : rows > (size_t)p->n ? p->n : (int)rows;
}

static void align_one(fill_job *job, int f) {
  const fit_data *data = &job->source->data;
  const float(*position)[3] = sn_frame(data->frames, data->chosen[f]);
  job->units->motion[f] = align_frame(data->rest, job->units->centre, position, data->vertex);
}

static void align_frames(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  fill_job *job = user;
  for (int64_t f = begin; f < end; f++) {
    align_one(job, (int)f);
    sn_frames_used(job->source->data.frames, job->p->n, 1);
  }
}

static void fill_frames(void *user, int64_t begin, int64_t end, int worker) {
  fill_job *job = user;
  const fit_problem *p = job->p;
  fit_source *s = job->source;
  int rows = p->last - p->first;
  for (int64_t f = begin; f < end; f++) {
    const float(*position)[3] = sn_frame(s->data.frames, s->data.chosen[f]);
    if (worker == 0 && p->file.map)
      sn_progress(job->ctx, "turning over frames", (double)f / p->f); // the caller's thread
    if (!job->aligned) align_one(job, (int)f);
    sn_affine_invert(job->units->motion[f], &s->to_rest[f]);
    for (int first = 0; first < rows; first += job->block) {
      int count = rows - first < job->block ? rows - first : job->block;
      float *to = p->x + 3 * ((size_t)first * (size_t)p->f + (size_t)f * (size_t)count);
      for (int q = 0; q < count; q++)
        convert(s, vertex_at(position, s->data.vertex, p->order[p->first + first + q]), (int)f, to + 3 * q);
    }
    sn_frames_used(s->data.frames, p->n, 1);
    if (p->file.map) sn_file_used(&p->file, (size_t)rows * 3 * sizeof *p->x);
  }
}

static void turn_blocks(void *user, int64_t begin, int64_t end, int worker) {
  fill_job *job = user;
  const fit_problem *p = job->p;
  float *copy = job->buffer + (size_t)worker * (size_t)job->block * 3 * (size_t)p->f;
  for (int64_t first = begin; first < end; first += job->block) {
    int count = (int)(end - first < job->block ? end - first : job->block);
    float *block = p->x + 3 * (size_t)first * (size_t)p->f;
    memcpy(copy, block, (size_t)count * 3 * (size_t)p->f * sizeof *copy);
    for (int q = 0; q < count; q++)
      for (int f = 0; f < p->f; f++)
        memcpy(block + 3 * ((size_t)q * (size_t)p->f + (size_t)f), copy + 3 * ((size_t)f * (size_t)count + (size_t)q),
               3 * sizeof *copy);
    fit_used(p, count);
  }
}

static sn_status fill_rows(sn_context *ctx, fit_source *source, fit_units *units, fit_problem *p) {
  sn_arena scratch = sn_arena_new(ctx);
  fill_job job = {
    .ctx = ctx, .units = units, .p = p, .source = source, .aligned = ctx->team, .block = rows_per_block(p)};
  job.buffer = SN_NEW(ctx, &scratch, float, (size_t)sn_threads(ctx) * (size_t)job.block * 3 * (size_t)p->f);
  sn_status status = job.buffer ? SN_OK : ctx->error.status;
  if (status == SN_OK && job.aligned) {
    sn_team_for(ctx, p->f, 1, align_frames, &job);
    status = sn_team_gather(ctx, p->f, 1, units->motion, sizeof *units->motion);
  }
  if (status == SN_OK) {
    sn_parallel_for(ctx, p->f, 1, fill_frames, &job);
    sn_parallel_for(ctx, p->last - p->first, job.block, turn_blocks, &job);
    if (source->changed >= 0) status = sn_frame_changed(ctx, source->changed);
  }
  sn_arena_free(&scratch);
  return status;
}

// A total order of points along an axis.
static bool is_before(const double (*u)[4], int axis, int a, int b) {
  return u[a][axis] != u[b][axis] ? u[a][axis] < u[b][axis] : a < b;
}

// Partitions v at the median along the axis (Hoare's selection).
static void halve(const double (*u)[4], int axis, int *v, int count) {
  for (int low = 0, high = count - 1, middle = count / 2; low < high;) {
    int pivot = v[(low + high) / 2], i = low, j = high;
    while (i <= j) {
      while (is_before(u, axis, v[i], pivot)) i++;
      while (is_before(u, axis, pivot, v[j])) j--;
      if (i > j) break;
      int other = v[i];
      v[i++] = v[j], v[j--] = other;
    }
    if (middle > j && middle < i) return;
    if (middle <= j) high = j;
    if (middle >= i) low = i;
  }
}

void sn_fit_order(const double (*u)[4], int *v, int count) {
  if (count < 2) return;
  double size[3];
  for (int c = 0; c < 3; c++) {
    double low = u[v[0]][c], high = low;
    for (int q = 1; q < count; q++) low = fmin(low, u[v[q]][c]), high = fmax(high, u[v[q]][c]);
    size[c] = high - low;
  }
  int longest = size[1] > size[0];
  if (size[2] > size[longest]) longest = 2;
  halve(u, longest, v, count);
  sn_fit_order(u, v, count / 2);
  sn_fit_order(u, v + count / 2, count - count / 2);
}

sn_status sn_fit_problem_order(sn_context *ctx, sn_arena *memory, fit_problem *p) {
  sn_status status = sn_fit_problem_sorted(ctx, memory, p);
  if (status == SN_OK) sn_fit_order((const double(*)[4])p->u, p->order, p->n);
  return status;
}

sn_status sn_fit_problem_sorted(sn_context *ctx, sn_arena *memory, fit_problem *p) {
  p->order = SN_NEW(ctx, memory, int, p->n);
  for (int q = 0; p->order && q < p->n; q++) p->order[q] = q;
  return p->order ? SN_OK : ctx->error.status;
}

sn_status sn_fit_groups(sn_context *ctx, const fit_problem *p, sn_range_fn body, fit_share_fn share, void *user) {
  if (!p->place || !ctx->team) {
    sn_parallel_for(ctx, fit_groups(p), 1, body, user);
    return SN_OK;
  }
  sn_team_for(ctx, fit_groups(p), 1, body, user);
  sn_status status = SN_OK;
  for (int rank = 0; rank < sn_team_size(ctx); rank++)
    for (int g = (int)sn_team_first(ctx, fit_groups(p), rank);
         g < (int)sn_team_first(ctx, fit_groups(p), rank + 1) && status == SN_OK; g++)
      status = share(ctx, user, g, rank);
  return status;
}

static sn_status new_rows(sn_context *ctx, sn_arena *memory, fit_problem *p) {
  size_t count = (size_t)(p->last - p->first) * 3 * (size_t)p->f;
  if (!sn_is_large(ctx, count * sizeof *p->x)) {
    p->x = SN_NEW(ctx, memory, float, count);
    return p->x ? SN_OK : ctx->error.status;
  }
  sn_status status = sn_file_scratch(ctx, count * sizeof *p->x, "the frames, vertex by vertex", &p->file);
  if (status == SN_OK) p->x = sn_file_scratch_bytes(&p->file);
  return status;
}

static sn_status build(sn_context *ctx, sn_arena *memory, const fit_data *data, fit_units *units, fit_problem *p) {
  const sn_mesh *rest = data->rest;
  p->u = sn_arena_alloc(ctx, memory, (size_t)p->n, sizeof *p->u);
  p->place = SN_NEW(ctx, memory, int, p->n);
  units->motion = SN_NEW(ctx, memory, sn_affine, p->f);
  fit_source *source = SN_NEW(ctx, memory, fit_source, 1);
  if (!p->place || !p->u || !units->motion || !source) return ctx->error.status;
  *source = (fit_source){.data = *data, .changed = -1, .to_rest = SN_NEW(ctx, memory, sn_affine, p->f)};
  if (!source->to_rest) return ctx->error.status;
  rest_frame(rest, &units->centre, &units->scale);
  for (int i = 0; i < p->n; i++) {
    sn_vec3 u = sn_vec3_scale(sn_vec3_sub(sn_vec3_from(rest->positions[i]), units->centre), 1 / units->scale);
    p->u[i][0] = u.x, p->u[i][1] = u.y, p->u[i][2] = u.z, p->u[i][3] = 1;
  }
  sn_status status = data->vertex ? sn_fit_problem_sorted(ctx, memory, p) : sn_fit_problem_order(ctx, memory, p);
  for (int q = 0; status == SN_OK && q < p->n; q++) p->place[p->order[q]] = q;
  int none;
  fit_group(p, (int)sn_team_first(ctx, fit_groups(p), sn_team_rank(ctx)), &p->first, &none);
  fit_group(p, (int)sn_team_first(ctx, fit_groups(p), sn_team_rank(ctx) + 1), &p->last, &none);
  source->centre = units->centre, source->unit = 1 / units->scale;
  p->source = source;
  if (status == SN_OK) status = new_rows(ctx, memory, p);
  return status == SN_OK ? fill_rows(ctx, source, units, p) : status;
}

sn_status sn_fit_problem_build(sn_context *ctx, sn_arena *memory, const fit_data *data, fit_units *units,
                               fit_problem *p) {
  *units = (fit_units){0};
  *p = (fit_problem){.n = data->rest->vertex_count, .f = data->count};
  sn_status status = build(ctx, memory, data, units, p);
  if (status != SN_OK) sn_fit_problem_free(p);
  return status;
}

void sn_fit_problem_free(fit_problem *p) { sn_file_close(&p->file); }

sn_affine sn_fit_to_units(const fit_units *units, int f, sn_affine t) {
  sn_affine to_rest;
  sn_affine_invert(units->motion[f], &to_rest);
  t = sn_affine_mul(to_rest, t);
  sn_mat3 a = sn_affine_linear(t);
  sn_vec3 shift = sn_vec3_sub(sn_affine_apply(t, units->centre), units->centre);
  return sn_affine_make(a, sn_vec3_scale(shift, 1 / units->scale));
}

sn_affine sn_fit_from_units(const fit_units *units, int f, sn_affine t) {
  sn_mat3 a = sn_affine_linear(t);
  sn_vec3 shift = sn_vec3_add(sn_vec3_scale(sn_affine_translation(t), units->scale), units->centre);
  shift = sn_vec3_sub(shift, sn_mat3_apply(a, units->centre));
  return sn_affine_mul(units->motion[f], sn_affine_make(a, shift));
}

sn_affine sn_fit_bone(const fit_model *m, int j, int f) {
  size_t columns = 3 * (size_t)m->p->f;
  const double *t = m->t + 4 * (size_t)j * columns + 3 * (size_t)f;
  sn_affine out;
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 4; c++) out.m[r][c] = t[(size_t)c * columns + (size_t)r];
  return out;
}

void sn_fit_set_bone(fit_model *m, int j, int f, sn_affine a) {
  size_t columns = 3 * (size_t)m->p->f;
  double *t = m->t + 4 * (size_t)j * columns + 3 * (size_t)f;
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 4; c++) t[(size_t)c * columns + (size_t)r] = a.m[r][c];
}
