// SPDX-License-Identifier: MIT
// Chooses training frames. --keys auto:N adds frames greedily, each time the one that minimises the error of kernel ridge
// regression over all frames, then exchanges frames while the error falls. Adding frame a with noise r (removing: -r) and
// v = K_.a / (K_aa + r) updates the residuals e, with E_fg = e_f . e_g, and the kernel's posterior covariance K:
//
//     e <- e - v e_a,   K <- K - v v^T (K_aa + r).
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/scope.h"
#include "solve/lapack.h"
#include "train/pose_space.h"
#include "train/train.h"

// Most frames per kernel matrix: of a longer clip that many, evenly spread, or twice the number to choose, in parts. Most
// vertices for the residuals; most sweeps of exchanges.
enum { most_frames = 200, most_samples = 1000, most_sweeps = 8 };

typedef struct chooser {
  sn_context *ctx;
  sn_arena *memory;
  const sn_examples *examples;
  const sn_keys *among;
  double *kernel, *error, *v, *own; // K and E, frames * frames; work, frames
  bool *chosen;
} chooser;

static double *new_numbers(const chooser *c, size_t count) { return SN_NEW(c->ctx, c->memory, double, count); }

// The blended matrix of a vertex in a frame: by its weights, or of its best single joint; identity without joints.
static sn_affine blend_of(const sn_examples *e, const uint16_t *carrier, int frame, int i) {
  const sn_skin *skin = &e->skin;
  if (e->skeleton.joint_count == 0) return sn_affine_identity();
  const sn_affine *pose = sn_pose(&e->poses, frame);
  if (skin->influences == 0) return pose[carrier[i]];
  sn_affine sum = {0};
  for (int k = 0; k < skin->influences; k++) {
    size_t at = (size_t)i * (size_t)skin->influences + (size_t)k;
    const sn_affine *joint = &pose[skin->joints[at]];
    for (int n = 0; n < 12; n++) sum.m[n / 4][n % 4] += (double)skin->weights[at] * joint->m[n / 4][n % 4];
  }
  return sum;
}

// E: inner products of the skin's residuals, mapped to the rest pose.
static sn_status find_error(const chooser *c) {
  const sn_examples *e = c->examples;
  int frames = c->among->count, n = e->rest.vertex_count, samples = n < most_samples ? n : most_samples;
  size_t row = 3 * (size_t)samples;
  double *residuals = new_numbers(c, (size_t)frames * row), *to = residuals;
  uint16_t *carrier = SN_NEW(c->ctx, c->memory, uint16_t, n);
  if (!residuals || !carrier) return c->ctx->error.status;
  if (e->skeleton.joint_count > 0 && e->skin.influences == 0)
    SN_TRY(sn_best_joints(c->ctx, e, c->among, carrier, NULL));
  for (int f = 0; f < frames; f++) {
    if (sn_stopped(c->ctx)) return sn_fail(c->ctx, SN_STOPPED, "stopped");
    for (int s = 0; s < samples; s++, to += 3) {
      int i = (int)((int64_t)s * n / samples);
      sn_vec3 at = sn_vec3_from(sn_frame(&e->frames, c->among->frames[f])[i]);
      sn_affine back;
      if (sn_affine_invert(blend_of(e, carrier, c->among->frames[f], i), &back)) at = sn_affine_apply(back, at);
      at = sn_vec3_sub(at, sn_vec3_from(e->rest.positions[i]));
      to[0] = at.x, to[1] = at.y, to[2] = at.z;
    }
  }
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, frames, frames, (int)row, 1, residuals, (int)row, residuals,
              (int)row, 0, c->error, frames);
  return SN_OK;
}

// Adds a Gaussian kernel on `dims` numbers of every frame's row, zero in the rest pose (the last row).
static void add_gaussian(const chooser *c, const double *rows, int stride, int dims) {
  int frames = c->among->count;
  const double wide = 2 * sn_usual_width * sn_usual_width;
  const double *rest = rows + (size_t)frames * (size_t)stride;
  for (int f = 0; f < frames; f++)
    for (int g = 0; g < frames; g++) {
      double d2 = 0, x2 = 0, y2 = 0;
      for (int n = 0; n < dims; n++) {
        double x = rows[f * stride + n] - rest[n], y = rows[g * stride + n] - rest[n];
        d2 += (x - y) * (x - y), x2 += x * x, y2 += y * y;
      }
      c->kernel[f * frames + g] += exp(-d2 / wide) - exp(-(x2 + y2) / wide);
    }
}

// K: a sum of kernels of single joints and values; without either, the inner products of shapes (E).
static sn_status find_kernel(const chooser *c) {
  const sn_examples *e = c->examples;
  const sn_values *values = &e->values;
  int frames = c->among->count, joints = e->skeleton.joint_count, stride = 3 * joints + values->count;
  double *rows = new_numbers(c, (size_t)(frames + 1) * (size_t)stride);
  sn_local_rotation *rotations = NULL;
  if (!rows) return c->ctx->error.status;
  if (joints > 0) SN_TRY(sn_local_rotations_make(c->ctx, c->memory, e, c->among, &rotations));
  for (int f = 0; f <= frames; f++) {
    double *row = rows + (size_t)f * (size_t)stride;
    int frame = f < frames ? c->among->frames[f] : 0;
    if (joints > 0) sn_pose_vector(rotations, joints, f < frames ? sn_pose(&e->poses, frame) : NULL, row);
    for (int v = 0; v < values->count; v++)
      row[3 * joints + v] = f < frames ? values->values[frame * values->count + v] : values->rest[v];
  }
  for (int n = 0; n < joints; n++) // without the root
    if (rotations[n].parent >= 0) add_gaussian(c, rows + 3 * rotations[n].joint, stride, 3);
  for (int v = 0; v < values->count; v++) add_gaussian(c, rows + 3 * joints + v, stride, 1);
  size_t square = (size_t)frames * (size_t)frames * sizeof *c->kernel;
  if (stride == 0) memcpy(c->kernel, c->error, square);
  if (e->frames.frame_count == 0) memcpy(c->error, c->kernel, square); // prior covariance
  return SN_OK;
}

// Decrease of the squared error by adding frame f: sum_g 2 v_g E_gf - v_g^2 E_ff.
static double gain_of(const chooser *c, int f, double r) {
  int n = c->among->count;
  const double *k = c->kernel + (size_t)f * (size_t)n, *e = c->error + (size_t)f * (size_t)n;
  double pivot = k[f] + r;
  return pivot > 0 ? (2 * cblas_ddot(n, k, 1, e, 1) - cblas_ddot(n, k, 1, k, 1) * e[f] / pivot) / pivot : 0;
}

// Adds frame a; with -r removes it.
static void move(const chooser *c, int a, double r) {
  int n = c->among->count;
  double pivot = c->kernel[a * n + a] + r;
  c->chosen[a] = r > 0;
  memcpy(c->own, c->error + (size_t)a * (size_t)n, (size_t)n * sizeof *c->own);
  for (int f = 0; f < n; f++) c->v[f] = pivot != 0 ? c->kernel[a * n + f] / pivot : 0;
  for (int f = 0; f < n; f++)
    for (int g = 0; g < n; g++) {
      c->kernel[f * n + g] -= c->v[f] * pivot * c->v[g];
      c->error[f * n + g] += c->v[f] * c->v[g] * c->own[a] - c->v[f] * c->own[g] - c->own[f] * c->v[g];
    }
}

static int best_frame(const chooser *c, double r) {
  int best = -1;
  double most = 0;
  for (int f = 0; f < c->among->count; f++) {
    double gain = c->chosen[f] ? 0 : gain_of(c, f, r);
    if (!c->chosen[f] && (best < 0 || gain > most)) most = gain, best = f;
  }
  return best;
}

// Greedy choice, then exchanges of single frames while one lowers the error.
static sn_status choose(const chooser *c, int target, int *out) {
  int n = c->among->count;
  double r = 1e-300;
  for (int f = 0; f < n; f++) r += sn_usual_ridge * c->kernel[f * n + f] / n;
  for (int k = 0; k < target; k++) move(c, best_frame(c, r), r);
  bool better = target < n;
  for (int sweep = 0; better && sweep < most_sweeps; sweep++) {
    better = false;
    if (!sn_progress(c->ctx, "keys", (double)sweep / most_sweeps)) return sn_fail(c->ctx, SN_STOPPED, "stopped");
    for (int f = 0; f < n; f++) {
      if (!c->chosen[f]) continue;
      move(c, f, -r);
      int best = best_frame(c, r);
      move(c, best, r);
      better |= best != f;
    }
  }
  for (int f = 0; f < n; f++)
    if (c->chosen[f]) *out++ = c->among->frames[f];
  return SN_OK;
}

// Chooses `target` of the frames of `among`.
static sn_status choose_among(sn_context *ctx, const sn_examples *examples, const sn_keys *among, int target,
                              int *out) {
  SN_SCRATCH(memory, ctx);
  size_t n = (size_t)among->count;
  chooser c = {.ctx = ctx, .memory = &memory, .examples = examples, .among = among};
  c.kernel = new_numbers(&c, n * n), c.error = new_numbers(&c, n * n);
  c.v = new_numbers(&c, n), c.own = new_numbers(&c, n), c.chosen = SN_NEW(ctx, &memory, bool, n);
  if (!c.kernel || !c.error || !c.v || !c.own || !c.chosen) return ctx->error.status;
  if (examples->frames.frame_count > 0) SN_TRY(find_error(&c));
  SN_TRY(find_kernel(&c));
  return choose(&c, target, out);
}

static int part_of(int k, int parts, int count) { return (int)((int64_t)k * count / parts); }

static sn_status choose_keys(sn_context *ctx, const sn_examples *examples, int frame_count, const char *text,
                             sn_keys *out) {
  double target = 0;
  const char *stop = text + strlen(text);
  if (*text < '0' || *text > '9' || sn_parse_number(text, stop, &target) != stop || target < 1 ||
      target > frame_count || target != floor(target))
    return sn_fail(ctx, SN_BAD_INPUT, "`keys` auto:%s: auto:N chooses 1 to %d frames", text, frame_count);
  *out = (sn_keys){.count = (int)target, .memory = sn_arena_new(ctx)};
  int looked = (int)fmin(fmax(2 * target, most_frames), frame_count);
  int parts = (looked + most_frames - 1) / most_frames, *frames = SN_NEW(ctx, &out->memory, int, looked);
  out->frames = SN_NEW(ctx, &out->memory, int, out->count);
  if (!frames || !out->frames) return ctx->error.status;
  for (int k = 0; k < looked; k++) frames[k] = part_of(k, looked, frame_count);
  for (int p = 0; p < parts; p++) {
    int first = part_of(p, parts, looked), begin = part_of(p, parts, out->count);
    sn_keys among = {.count = part_of(p + 1, parts, looked) - first, .frames = frames + first};
    SN_TRY(choose_among(ctx, examples, &among, part_of(p + 1, parts, out->count) - begin, out->frames + begin));
  }
  return SN_OK;
}

// All frames below count + more that are not in `keys`.
static sn_status find_others(sn_context *ctx, const sn_keys *keys, int count, int more, sn_keys *out) {
  *out = (sn_keys){.memory = sn_arena_new(ctx)};
  out->frames = SN_NEW(ctx, &out->memory, int, count + more);
  if (!out->frames) return ctx->error.status;
  for (int f = 0, k = 0; f < count + more; f++) {
    while (k < keys->count && keys->frames[k] < f) k++;
    if (k == keys->count || keys->frames[k] != f) out->frames[out->count++] = f;
  }
  return SN_OK;
}

sn_status sn_train_keys(sn_context *ctx, const sn_examples *examples, const char *spec, uint64_t seed, sn_keys *keys,
                        sn_keys *others) {
  SN_BLAS_SCOPE;
  int frames = examples->frames.frame_count, test = examples->test_frame_count;
  int count = frames > 0 ? frames - test : examples->poses.frame_count;
  *keys = *others = (sn_keys){0};
  static const char choice[] = "auto:";
  size_t length = strlen(choice);
  sn_status status = strncmp(spec, choice, length) == 0 ? choose_keys(ctx, examples, count, spec + length, keys)
                                                        : sn_keys_parse(ctx, spec, count, seed, keys, NULL);
  if (status == SN_OK) status = find_others(ctx, keys, count, test, others);
  if (status != SN_OK) sn_keys_free(keys);
  return status;
}
