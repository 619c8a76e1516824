// SPDX-License-Identifier: MIT
// Blend shapes to bones: clusters of similar residuals; weights and transforms in turn.
#include "train/helpers/faces.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "solve/lapack.h"

enum { most_sample = 30000, most_tried = 256, rounds = 28, rounds_of_choice = 4 };

static const double ridge = 1e-6;     // of the weights on bones that move, relative to the mean vertex's energy
static const double min_gain = 0.01;  // of an influence: what it takes off the mean vertex's squared error
static const double no_motion = 1e-7; // of all vertices, a part of the diagonal

// ---- the shapes -----------------------------------------------------------------------------------------------------------------

static double value_at(const sn_face_solve *s, int frame, int v) {
  const sn_values *values = &s->examples->values;
  return values->values[(size_t)frame * (size_t)values->count + (size_t)v] - values->rest[v];
}

// v of value a: its distance from that of the rest mesh over the length of its range.
static double scaled(const sn_face_solve *s, int a, double distance) {
  return distance / ((double)s->ranges[a][1] - (double)s->ranges[a][0]);
}

// v_s of a value or a product of two.
static double feature_at(const sn_face_solve *s, int frame, int a, int b) {
  double v = scaled(s, a, value_at(s, frame, s->values[a]));
  return b < 0 ? v : v * feature_at(s, frame, b, -1);
}

// The mean of v in its range.
static double mean_of(const sn_face_solve *s, int a) {
  double middle = ((double)s->ranges[a][0] + (double)s->ranges[a][1]) / 2;
  return scaled(s, a, middle - s->examples->values.rest[s->values[a]]);
}

// The values that change and their ranges; of the others a note.
static sn_status find_values(sn_face_solve *s, sn_train_report *report) {
  const sn_values *values = &s->examples->values;
  int idle = 0;
  const char *name = "";
  s->values = SN_NEW(s->ctx, s->memory, int, values->count);
  s->ranges = sn_arena_alloc(s->ctx, s->memory, (size_t)values->count, sizeof *s->ranges);
  if (!s->values || !s->ranges) return s->ctx->error.status;
  for (int v = 0; v < values->count; v++) {
    double low = 0, high = 0;
    for (int k = 0; k < s->keys->count; k++) {
      double value = value_at(s, s->keys->frames[k], v);
      low = fmin(low, value), high = fmax(high, value);
    }
    float *range = s->ranges[s->value_count];
    range[0] = (float)(values->rest[v] + low), range[1] = (float)(values->rest[v] + high);
    if (range[1] > range[0])
      s->values[s->value_count++] = v;
    else if (idle++ == 0)
      name = values->names[v];
  }
  if (s->value_count == 0)
    return sn_fail(
      s->ctx, SN_BAD_INPUT,
      "none of the %d values ('%s', ...) changes in the training frames: train on frames that change them "
      "(`keys`)",
      values->count, name);
  char text[256];
  snprintf(text, sizeof text, "%d of %d values ('%.80s'%s) never change in training: the model does not have them",
           idle, values->count, name, idle > 1 ? ", ..." : "");
  if (idle > 0) sn_helper_note(report, text);
  return SN_OK;
}

// From where vertex i rests to where it is at key k, without the joint's motion.
static sn_vec3 displacement(const sn_face_solve *s, int k, int i) {
  sn_vec3 x = sn_vec3_from(sn_frame(&s->examples->frames, s->keys->frames[k])[i]);
  return sn_vec3_sub(s->unpose ? sn_affine_apply(s->unpose[k], x) : x, sn_vec3_from(s->examples->rest.positions[i]));
}

// Features and displacements of some vertices at some frames, for the choice of products.
typedef struct products {
  sn_face_solve *s;
  int frame_count, column_count, count; // count: of the orthonormal features so far
  int *frames;                          // of the keys
  double *left, *basis, *sums, squared; // left: of the displacements, frame_count * column_count
} products;

// What feature (a, b) adds to those so far, as the next row of the basis; false: less than a hundredth of it.
static bool add_direction(products *p, int a, int b) {
  int n = p->frame_count;
  double *r = p->basis + (size_t)p->count * (size_t)n, whole = 0, part = 0;
  for (int k = 0; k < n; k++) r[k] = feature_at(p->s, p->s->keys->frames[p->frames[k]], a, b), whole += r[k] * r[k];
  for (int pass = 0; pass < 2 * p->count; pass++) { // twice, for its digits
    const double *q = p->basis + (size_t)(pass % p->count) * (size_t)n;
    double along = 0;
    for (int k = 0; k < n; k++) along += q[k] * r[k];
    for (int k = 0; k < n; k++) r[k] -= along * q[k];
  }
  for (int k = 0; k < n; k++) part += r[k] * r[k];
  for (int k = 0; k < n; k++) r[k] /= sqrt(part > 0 ? part : 1);
  return part > (SN_WORTH_IT - 1) * whole && p->count + 1 < n;
}

// A product has to lower the error of generalised cross-validation, |residual|^2 / (frames - features)^2.
static void try_shape(products *p, int a, int b) {
  size_t columns = (size_t)p->column_count;
  const double *r = p->basis + (size_t)p->count * (size_t)p->frame_count;
  double gain = 0, count = p->frame_count - p->count;
  bool is_new = add_direction(p, a, b);
  memset(p->sums, 0, columns * sizeof *p->sums);
  for (int k = 0; is_new && k < p->frame_count; k++)
    for (size_t c = 0; c < columns; c++) p->sums[c] += r[k] * p->left[(size_t)k * columns + c];
  for (size_t c = 0; c < columns; c++) gain += p->sums[c] * p->sums[c];
  double before = p->squared / (count * count), after = (p->squared - gain) / ((count - 1) * (count - 1));
  if (b >= 0 && (!is_new || !(after * SN_WORTH_IT < before))) return;
  p->s->factors[p->s->shape_count] = sqrt(6) * mean_of(p->s, a) * (b < 0 ? 1 : mean_of(p->s, b));
  p->s->shapes[p->s->shape_count][0] = a, p->s->shapes[p->s->shape_count++][1] = b;
  if (!is_new) return;
  p->squared -= gain, p->count++;
  for (int k = 0; k < p->frame_count; k++)
    for (size_t c = 0; c < columns; c++) p->left[(size_t)k * columns + c] -= r[k] * p->sums[c];
}

// The values, then those of their squares and products that the frames show.
static sn_status find_shapes(sn_face_solve *s) {
  SN_SCRATCH(scratch, s->ctx);
  products p = {.s = s};
  int vertex_count, n = s->value_count, most;
  int *vertices = sn_spread(s->ctx, &scratch, s->examples->rest.vertex_count, most_tried, &vertex_count);
  p.frames = sn_spread(s->ctx, &scratch, s->keys->count, most_tried, &p.frame_count);
  p.column_count = 3 * vertex_count, most = n + p.frame_count;
  s->shapes = sn_arena_alloc(s->ctx, s->memory, (size_t)most, sizeof *s->shapes);
  s->factors = SN_NEW(s->ctx, s->memory, double, most);
  p.left = SN_NEW(s->ctx, &scratch, double, (size_t)p.frame_count *(size_t)p.column_count);
  p.basis = SN_NEW(s->ctx, &scratch, double, (size_t)p.frame_count *(size_t)p.frame_count);
  p.sums = SN_NEW(s->ctx, &scratch, double, p.column_count);
  if (!vertices || !p.frames || !s->shapes || !s->factors || !p.left || !p.basis || !p.sums)
    return s->ctx->error.status;
  for (int k = 0; k < p.frame_count * vertex_count; k++) {
    sn_vec3 d = displacement(s, p.frames[k / vertex_count], vertices[k % vertex_count]);
    p.left[3 * k] = d.x, p.left[3 * k + 1] = d.y, p.left[3 * k + 2] = d.z, p.squared += sn_vec3_dot(d, d);
  }
  for (int a = 0; a < n; a++) try_shape(&p, a, -1);
  for (int apart = 0; apart < n; apart++)
    for (int a = 0; a + apart < n; a++) try_shape(&p, a, a + apart);
  return SN_OK;
}

// Least squares: the shapes whose sums, with the features as factors, are the frames.
static sn_status find_regression(sn_face_solve *s) {
  size_t shapes = (size_t)s->shape_count, frames = (size_t)s->keys->count;
  double *gram = SN_NEW(s->ctx, s->memory, double, shapes *shapes), mean = 0;
  s->regression = SN_NEW(s->ctx, s->memory, double, shapes *frames);
  if (!gram || !s->regression) return s->ctx->error.status;
  for (size_t a = 0; a < shapes; a++) {
    double *own = s->regression + a * frames, *row = gram + a * shapes;
    for (size_t k = 0; k < frames; k++) own[k] = feature_at(s, s->keys->frames[k], s->shapes[a][0], s->shapes[a][1]);
    for (size_t b = 0; b <= a; b++)
      for (size_t k = 0; k < frames; k++) row[b] += own[k] * s->regression[b * frames + k];
    mean += row[a] / (double)shapes;
  }
  for (size_t a = 0; a < shapes; a++) gram[a * shapes + a] += 1e-10 * mean;
  return sn_lapack_posv(s->ctx, 'L', s->shape_count, s->keys->count, gram, s->regression);
}

// How far the shapes move vertex i.
static void fill_target(const sn_face_solve *s, int i, float *out) {
  size_t frames = (size_t)s->keys->count;
  memset(out, 0, sn_face_dims(s) * sizeof *out);
  for (size_t k = 0; k < frames; k++) {
    sn_vec3 d = displacement(s, (int)k, i);
    for (int a = 0; a < s->shape_count; a++) {
      double factor = s->regression[(size_t)a * frames + k];
      if (factor == 0) continue;
      out[3 * a] += (float)(factor * d.x);
      out[3 * a + 1] += (float)(factor * d.y);
      out[3 * a + 2] += (float)(factor * d.z);
    }
  }
  for (int d = 0; d < 3 * s->shape_count; d++) out[3 * s->shape_count + d % 3] += (float)s->factors[d / 3] * out[d];
}

static void fill_targets(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const sn_face_solve *s = user;
  size_t dims = sn_face_dims(s);
  for (int64_t n = begin; n < end; n++) {
    float *target = s->targets + (size_t)n * dims;
    fill_target(s, s->sample[n], target);
    for (size_t d = 0; d < dims; d++) s->energies[n] += (double)target[d] * (double)target[d];
  }
}

// The motion of the joint, undone in every training frame.
static sn_status find_unposed(sn_face_solve *s) {
  if (s->examples->skeleton.joint_count == 0) return SN_OK;
  s->unpose = SN_NEW(s->ctx, s->memory, sn_affine, s->keys->count);
  if (!s->unpose) return s->ctx->error.status;
  for (int k = 0; k < s->keys->count; k++)
    if (!sn_affine_invert(sn_pose(&s->examples->poses, s->keys->frames[k])[0], &s->unpose[k]))
      return sn_fail(s->ctx, SN_BAD_INPUT, "joint '%s' is scaled to nothing in frame %d",
                     s->examples->skeleton.names[0], s->keys->frames[k]);
  return SN_OK;
}

static sn_status prepare(sn_face_solve *s, sn_train_report *report) {
  sn_context *ctx = s->ctx;
  const sn_mesh *rest = &s->examples->rest;
  SN_TRY(find_values(s, report));
  SN_TRY(find_unposed(s));
  SN_TRY(find_shapes(s));
  SN_TRY(find_regression(s));
  s->sample = sn_spread(ctx, s->memory, rest->vertex_count, most_sample, &s->sample_count);
  if (!s->sample) return ctx->error.status;
  SN_TRY(sn_skin_new(ctx, s->sample_count, s->options->skin.influences, &s->skin));
  s->bone_count = 1;
  size_t bones = (size_t)s->options->helpers + 1, shapes = (size_t)s->shape_count;
  s->targets = SN_NEW(ctx, s->memory, float, sn_face_dims(s) * (size_t)s->sample_count);
  s->energies = SN_NEW(ctx, s->memory, double, s->sample_count);
  s->centres = sn_arena_alloc(ctx, s->memory, bones, sizeof *s->centres);
  s->x = SN_NEW(ctx, s->memory, double, bones *shapes *SN_FACE_CHANNELS);
  s->moves = SN_NEW(ctx, s->memory, float, 12 * bones * (shapes + 1));
  if (!s->targets || !s->energies || !s->centres || !s->x || !s->moves) return ctx->error.status;
  s->diagonal = sn_points_diagonal((const float(*)[3])rest->positions, rest->vertex_count);
  sn_parallel_for(ctx, s->sample_count, 64, fill_targets, s);
  for (int n = 0; n < s->sample_count; n++) s->mean_energy += s->energies[n] / s->sample_count;
  return SN_OK;
}

// ---- weights ------------------------------------------------------------------------------------------------------------------

static float dot(const float *a, const float *b, size_t count) {
  float sum[8] = {0}, rest = 0;
  size_t n = 0;
  for (; n + 8 <= count; n += 8)
    for (int l = 0; l < 8; l++) sum[l] += a[n + (size_t)l] * b[n + (size_t)l];
  for (; n < count; n++) rest += a[n] * b[n];
  return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7])) + rest;
}

// How far the shapes of a bone move a point.
static void move_point(const sn_face_solve *s, int bone, const float p[3], float *out) {
  const float *m = s->moves + 12 * (size_t)bone * (size_t)(s->shape_count + 1);
  for (int f = 0; f <= s->shape_count; f++, m += 12)
    for (int r = 0; r < 3; r++) *out++ = m[4 * r] * p[0] + m[4 * r + 1] * p[1] + m[4 * r + 2] * p[2] + m[4 * r + 3];
}

typedef struct vertex {
  const float *rest, *target;
  float *motions, *residual; // of all bones; with the present weights
  uint16_t *bones;           // the row of the skin
  float *weights;
} vertex;

// The target minus the motion of the present weights.
static void find_residual(const sn_face_solve *s, const vertex *v) {
  size_t dims = sn_face_dims(s);
  memcpy(v->residual, v->target, dims * sizeof *v->residual);
  for (int k = 0; k < s->skin.influences; k++) {
    if (!(v->weights[k] > 0)) continue;
    const float *motion = v->motions + (size_t)v->bones[k] * dims;
    for (size_t d = 0; d < dims; d++) v->residual[d] -= v->weights[k] * motion[d];
  }
}

// The bones of the present weights, then those that promise the most.
static int find_candidates(const sn_face_solve *s, const vertex *v, sn_simplex *q, int *bones) {
  size_t dims = sn_face_dims(s);
  int first = 0, count = 0;
  double mean = 0, costs[SN_SIMPLEX_MAX];
  find_residual(s, v);
  for (int k = 0; k < s->skin.influences; k++) {
    if (!(v->weights[k] > 0)) continue;
    q->w[first] = (double)v->weights[k], bones[first++] = v->bones[k];
    mean += (double)v->weights[k] * (double)dot(v->residual, v->motions + (size_t)v->bones[k] * dims, dims);
  }
  for (int h = 0; h < s->bone_count; h++) {
    int k = 0;
    while (k < first && bones[k] != h) k++;
    if (k < first) continue;
    const float *motion = v->motions + (size_t)h * dims;
    double slope = (double)dot(v->residual, motion, dims) - mean;
    double gain = slope > 0 ? slope * slope / ((double)dot(motion, motion, dims) + ridge * s->mean_energy) : slope;
    count = sn_least_enter(SN_SIMPLEX_MAX - first, count, -gain, h, costs, bones + first);
  }
  return first + count;
}

static void weigh_vertex(const sn_face_solve *s, const vertex *v, double least) {
  size_t dims = sn_face_dims(s);
  sn_simplex q = {0};
  int bones[SN_SIMPLEX_MAX];
  for (int h = 0; h < s->bone_count; h++) move_point(s, h, v->rest, v->motions + (size_t)h * dims);
  q.n = find_candidates(s, v, &q, bones);
  for (int k = 0; k < q.n; k++) {
    const float *motion = v->motions + (size_t)bones[k] * dims;
    q.b[k] = (double)dot(motion, v->target, dims);
    for (int l = 0; l <= k; l++)
      q.a[k][l] = q.a[l][k] = (double)dot(motion, v->motions + (size_t)bones[l] * dims, dims);
    if (bones[k] > 0) q.a[k][k] += ridge * s->mean_energy;
  }
  sn_helper_solve_row(&q, bones, least, s->skin.influences, v->bones, v->weights);
}

typedef struct pass {
  sn_face_solve *s;
  sn_skin *all;        // NULL: the sample's
  float *space;        // of every worker: motions, residual, target
  double least, *sums; // squared error of every vertex of the sample
  float *residuals;    // of these, then the place; NULL: not computed
} pass;

static size_t space_size(const sn_face_solve *s) { return sn_face_dims(s) * (size_t)(s->bone_count + 2); }

static vertex vertex_at(const pass *p, int64_t n, int worker) {
  const sn_face_solve *s = p->s;
  size_t dims = sn_face_dims(s), row = (size_t)n * (size_t)s->skin.influences;
  float *space = p->space + (size_t)worker * space_size(s), *target = space + dims * (size_t)(s->bone_count + 1);
  const sn_skin *skin = p->all ? p->all : &s->skin;
  int i = p->all ? (int)n : s->sample[n];
  if (p->all) fill_target(s, i, target);
  return (vertex){.rest = s->examples->rest.positions[i],
                  .target = p->all ? target : s->targets + (size_t)n * dims,
                  .motions = space,
                  .residual = space + dims * (size_t)s->bone_count,
                  .bones = skin->joints + row,
                  .weights = skin->weights + row};
}

static void weigh_range(void *user, int64_t begin, int64_t end, int worker) {
  const pass *p = user;
  for (int64_t n = begin; n < end; n++) {
    vertex v = vertex_at(p, n, worker);
    weigh_vertex(p->s, &v, p->least);
  }
}

static void measure_range(void *user, int64_t begin, int64_t end, int worker) {
  const pass *p = user;
  size_t dims = sn_face_dims(p->s);
  for (int64_t n = begin; n < end; n++) {
    vertex v = vertex_at(p, n, worker);
    for (int k = 0; k < p->s->skin.influences; k++)
      move_point(p->s, v.bones[k], v.rest, v.motions + (size_t)v.bones[k] * dims);
    find_residual(p->s, &v);
    p->sums[n] = 0;
    for (size_t d = 0; d < dims; d++) p->sums[n] += (double)v.residual[d] * (double)v.residual[d];
    if (!p->residuals) continue;
    memcpy(p->residuals + (size_t)n * (dims + 3), v.residual, dims * sizeof *v.residual);
    memcpy(p->residuals + (size_t)n * (dims + 3) + dims, v.rest, sizeof(float[3]));
  }
}

static sn_status run_pass(pass *p, sn_range_fn body) {
  sn_context *ctx = p->s->ctx;
  SN_SCRATCH(scratch, ctx);
  p->space = SN_NEW(ctx, &scratch, float, space_size(p->s) * (size_t)sn_threads(ctx));
  if (p->space) sn_parallel_for(ctx, p->all ? p->all->vertex_count : p->s->sample_count, 32, body, p);
  return p->space && !sn_stopped(ctx) ? SN_OK : ctx->error.status;
}

// ---- bones --------------------------------------------------------------------------------------------------------------------

static void set_moves(sn_face_solve *s) {
  memset(s->moves, 0, 12 * (size_t)s->bone_count * (size_t)(s->shape_count + 1) * sizeof *s->moves);
  for (int h = 0; h < s->bone_count; h++) {
    float *m = s->moves + 12 * (size_t)h * (size_t)(s->shape_count + 1), *mixture = m + 12 * s->shape_count;
    for (int f = 0; f < s->shape_count; f++, m += 12) {
      float channels[SN_RT_LINEAR_PLACES] = {0};
      for (int c = 0; c < SN_FACE_CHANNELS; c++) channels[c] = (float)sn_face_x(s, h, f)[c];
      sn_rt_helper_add(s->centres[h], channels, m);
      for (int n = 0; n < 12; n++) mixture[n] += (float)s->factors[f] * m[n];
    }
  }
}

// The middle of what a bone moves.
static void place_bones(sn_face_solve *s) {
  double *sums = s->x; // about to be solved again; of every bone: places, weight
  memset(sums, 0, 4 * (size_t)s->bone_count * sizeof *sums);
  for (size_t at = 0; at < (size_t)s->sample_count * (size_t)s->skin.influences; at++) {
    size_t n = at / (size_t)s->skin.influences;
    double weight = (double)s->skin.weights[at] * (s->energies[n] + 1e-9 * s->mean_energy);
    double *sum = sums + 4 * (size_t)s->skin.joints[at];
    for (int c = 0; c < 3; c++) sum[c] += weight * (double)s->examples->rest.positions[s->sample[n]][c];
    sum[3] += weight;
  }
  for (int h = 0; h < s->bone_count; h++)
    for (int c = 0; c < 3; c++)
      s->centres[h][c] = sums[4 * h + 3] > 0 ? (float)(sums[4 * h + c] / sums[4 * h + 3]) : 0;
  memset(sums, 0, 4 * (size_t)s->bone_count * sizeof *sums);
}

// `count` more bones: clusters of similar residuals, whose vertices follow the new bone as much as all others.
static sn_status seed(sn_face_solve *s, pass *p, int count) {
  SN_SCRATCH(scratch, s->ctx);
  sn_helper_clusters c = {.dims = (int)sn_face_dims(s) + 3, .count = count, .point_count = s->sample_count};
  c.points = p->residuals = SN_NEW(s->ctx, &scratch, float, (size_t)c.dims *(size_t)s->sample_count);
  if (!c.points) return s->ctx->error.status;
  SN_TRY(run_pass(p, measure_range));
  SN_TRY(sn_helper_cluster(s->ctx, &scratch, &c, s->diagonal));
  for (int n = 0; n < s->sample_count; n++) {
    size_t row = (size_t)n * (size_t)s->skin.influences, least = row;
    for (size_t at = row; at < row + (size_t)s->skin.influences; at++) {
      s->skin.weights[at] *= s->bone_count > 1 ? 0.5f : 0;
      if (s->skin.weights[at] < s->skin.weights[least]) least = at;
    }
    s->skin.joints[least] = (uint16_t)(s->bone_count + c.owner[n]);
    s->skin.weights[least] = s->bone_count > 1 ? 0.5f : 1;
  }
  s->bone_count += count, p->residuals = NULL;
  return SN_OK;
}

// `least`: what an influence must take off the squared error.
static sn_status alternate(sn_face_solve *s, double *least) {
  pass p = {.s = s, .sums = SN_NEW(s->ctx, s->memory, double, s->sample_count)};
  if (!p.sums) return s->ctx->error.status;
  for (int round = 0; round < rounds; round++) {
    if (!sn_progress(s->ctx, "moving bones", (double)round / rounds)) return sn_fail(s->ctx, SN_STOPPED, "stopped");
    int left = s->options->helpers + 1 - s->bone_count;
    if (left > 0) SN_TRY(seed(s, &p, round < SN_HELPER_HALVINGS ? (left + 1) / 2 : left));
    if (left > 0) place_bones(s);
    SN_TRY(sn_face_transforms(s, left == 0 && s->options->numbers > 0 && round % rounds_of_choice == 0));
    set_moves(s);
    SN_TRY(run_pass(&p, weigh_range));
  }
  SN_TRY(run_pass(&p, measure_range));
  for (int n = 0; n < s->sample_count; n++) *least += min_gain * p.sums[n] / s->sample_count;
  return SN_OK;
}

// ---- the model ----------------------------------------------------------------------------------------------------------------

typedef struct written {
  sn_rt_helper *helpers;
  sn_rt_linear *numbers;
  double *alone; // of a channel: the numbers of the values
  size_t helper_count, number_count;
} written;

static void write_number(written *w, int value, int channel, double number) {
  int place = SN_RT_LINEAR_PLACES * (int)w->helper_count + channel;
  if (number != 0) w->numbers[w->number_count++] = (sn_rt_linear){(uint16_t)value, (uint16_t)place, (float)number};
}

// x v_a v_b with v = u / SN_RT_VALUE_SPAN + c, u the value as the runtime has it.
static void write_channel(const sn_face_solve *s, int bone, int channel, written *w) {
  double still = 0, slope = 1 / (double)SN_RT_VALUE_SPAN;
  memset(w->alone, 0, (size_t)s->value_count * sizeof *w->alone);
  for (int f = 0; f < s->shape_count; f++) {
    double x = sn_face_x(s, bone, f)[channel], c[2] = {0, 1};
    int a = s->shapes[f][0], b = s->shapes[f][1];
    for (int k = 0; k < (b < 0 ? 1 : 2); k++) {
      int v = s->shapes[f][k];
      c[k] = scaled(s, v, (double)s->ranges[v][0] - (double)(float)s->examples->values.rest[s->values[v]]);
    }
    still += x * c[0] * c[1], w->alone[a] += x * slope * c[1];
    if (b < 0 || x == 0) continue;
    w->alone[b] += x * slope * c[0];
    write_number(w, a, SN_RT_LINEAR_FACTOR, slope);
    write_number(w, b, channel, x * slope);
  }
  for (int v = 0; v < s->value_count; v++) write_number(w, v, channel, w->alone[v]);
  write_number(w, SN_RT_NO_JOINT, channel, still);
}

static sn_status write_bones(const sn_face_solve *s, const int *new_of, written *w) {
  size_t all = (size_t)s->bone_count * (size_t)(2 * s->shape_count + 1) * SN_FACE_CHANNELS;
  bool joint = s->examples->skeleton.joint_count > 0;
  w->helpers = SN_NEW(s->ctx, s->memory, sn_rt_helper, s->bone_count);
  w->numbers = SN_NEW(s->ctx, s->memory, sn_rt_linear, all);
  w->alone = SN_NEW(s->ctx, s->memory, double, s->value_count);
  if (!w->helpers || !w->numbers || !w->alone) return s->ctx->error.status;
  for (int h = joint; h < s->bone_count; h++) {
    if (new_of[h] < 0) continue;
    sn_rt_helper *to = w->helpers + w->helper_count;
    to->parent = joint ? 0 : SN_RT_NO_JOINT;
    memcpy(to->centre, s->centres[h], sizeof to->centre);
    for (int c = 0; c < SN_FACE_CHANNELS; c++) write_channel(s, h, c, w);
    w->helper_count++;
  }
  return SN_OK;
}

static sn_status describe(sn_face_solve *s, sn_plan *plan, sn_train_report *report) {
  const sn_examples *e = s->examples;
  int *new_of = SN_NEW(s->ctx, s->memory, int, s->bone_count), bones;
  const char **names = SN_NEW(s->ctx, s->memory, const char *, s->value_count);
  written w = {0};
  if (!new_of || !names) return s->ctx->error.status;
  bones = sn_helper_number(&plan->skin, 1, s->bone_count, new_of); // the still one is the joint, where there is one
  SN_TRY(write_bones(s, new_of, &w));
  for (int v = 0; v < s->value_count; v++) names[v] = e->values.names[s->values[v]];
  plan->desc.drive = SN_RT_DRIVE_HELPERS, plan->desc.palette_count = bones;
  plan->desc.value_count = s->value_count, plan->desc.value_names = names;
  plan->desc.value_ranges = (const float(*)[2])s->ranges;
  sn_plan_add(plan, SN_SECTION_DRIVE_HELPERS, w.helpers, w.helper_count * sizeof *w.helpers);
  sn_plan_add(plan, SN_SECTION_DRIVE_LINEAR, w.numbers, w.number_count * sizeof *w.numbers);
  snprintf(report->learned, sizeof report->learned,
           "%d shapes and %d products as %d bones with %zu numbers, and one that does not move", s->value_count,
           s->shape_count - s->value_count, bones - 1, w.number_count);
  if (e->skeleton.joint_count == 0) return SN_OK;
  return sn_plan_reference_joints(s->ctx, plan, e, s->keys);
}

static sn_status solve(sn_face_solve *s, sn_plan *plan, sn_train_report *report) {
  sn_skin *all = &plan->skin;
  pass p = {.s = s, .all = all};
  int count = s->examples->rest.vertex_count, *rows = SN_NEW(s->ctx, s->memory, int, count);
  if (!rows) return s->ctx->error.status;
  SN_TRY(prepare(s, report));
  bool moves = s->mean_energy > pow(no_motion * s->diagonal, 2) * s->shape_count;
  if (moves) SN_TRY(alternate(s, &p.least));
  for (int i = 0; i < count; i++) rows[i] = (int)((int64_t)i * s->sample_count / count);
  SN_TRY(sn_skin_copy_rows(s->ctx, &s->skin, rows, count, s->skin.influences, all)); // to begin with
  if (moves) SN_TRY(run_pass(&p, weigh_range));
  if (!moves) {
    sn_helper_note(report, "no helpers: the values move no vertex");
    sn_skin_normalize(all); // all on bone 0
  }
  return describe(s, plan, report);
}

sn_status sn_faces_train(sn_context *ctx, const sn_helpers_options *options, const sn_examples *examples,
                         const sn_keys *keys, sn_plan *plan, sn_train_report *report) {
  if (examples->skeleton.joint_count > 1)
    return sn_fail(
      ctx, SN_BAD_INPUT,
      "method helpers takes values without a skeleton or with one joint, and this skeleton has %d joints: "
      "leave out `values`, or `skeleton`",
      examples->skeleton.joint_count);
  sn_face_solve s = {.ctx = ctx, .memory = &plan->memory, .examples = examples, .keys = keys, .options = options};
  sn_status status = solve(&s, plan, report);
  sn_skin_free(&s.skin);
  return status;
}
