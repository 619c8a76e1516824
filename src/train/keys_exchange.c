// SPDX-License-Identifier: MIT
// Frames to train on, improved: what a function of the joints' turns, fitted to the chosen frames, says about the shapes of the others is
// compared with them, and frames are exchanged as long as that helps.
#include "train/keys.h"

#include <math.h>
#include <string.h>

#include "solve/solve.h"

// The kernel of a joint's turn, in radians, and what the function of all turns counts beside those of single joints: as the middle
// ones of local pose spaces (train/correct/local.h). `ridge` is a part of the kernel's trace. On cheburashka-pose widths from 1 to 2, 0.01 to 0.1
// and 1e-6 choose about as well, a ridge of 1e-5 worse.
static const double width = 1.5, whole = 0.03, ridge = 1e-6;

// Enough for any clip to settle; the frames tried in place of a chosen one are at most so many, spread over the clip.
enum { most_sweeps = 8, most_tried = 96 };
// Multiplications after which the exchange ends, whatever could still be gained: a second or two.
static const double most_work = 2e9;

typedef struct exchange {
  int frames, wanted;
  const double *kernel, *gram; // frames * frames, between turns and between shapes
  double *corner, *row;        // of the chosen ones
  int *chosen;
  double work; // done
} exchange;

static double joint_kernel(const sn_vec3 *x, const sn_vec3 *y, int count) {
  double d2 = 0, x2 = 0, y2 = 0, s = 2 * width * width;
  for (int j = 0; j < count; j++) {
    sn_vec3 d = sn_vec3_sub(x[j], y[j]);
    d2 += sn_vec3_dot(d, d), x2 += sn_vec3_dot(x[j], x[j]), y2 += sn_vec3_dot(y[j], y[j]);
  }
  return exp(-d2 / s) - exp(-(x2 + y2) / s);
}

// Between two frames' turns; zero in the rest pose.
static double turn_kernel(const sn_vec3 *x, const sn_vec3 *y, int joint_count) {
  double sum = whole * joint_kernel(x, y, joint_count);
  for (int j = 0; j < joint_count; j++) sum += joint_kernel(x + j, y + j, 1);
  return sum;
}

// Squared error of all frames' shapes, predicted from the chosen ones.
static double error_of(exchange *e) {
  int n = e->wanted, frames = e->frames;
  e->work += 2.0 * n * n * frames;
  double trace = 0, sum = 0;
  for (int f = 0; f < frames; f++) trace += e->kernel[f * frames + f];
  for (int a = 0; a < n; a++)
    for (int b = 0; b < n; b++)
      e->corner[a * n + b] = e->kernel[e->chosen[a] * frames + e->chosen[b]] + (a == b ? ridge * trace + 1e-300 : 0);
  for (int f = 0; f < frames; f++)
    for (int a = 0; a < n; a++) e->row[a * frames + f] = e->kernel[e->chosen[a] * frames + f];
  sn_spd_solve(n, n, e->corner, frames, e->row);
  for (int f = 0; f < frames; f++) {
    double error = e->gram[f * frames + f];
    for (int a = 0; a < n; a++) {
      double part = -2 * e->gram[e->chosen[a] * frames + f];
      for (int b = 0; b < n; b++) part += e->row[b * frames + f] * e->gram[e->chosen[a] * frames + e->chosen[b]];
      error += e->row[a * frames + f] * part;
    }
    sum += fmax(error, 0);
  }
  return sum;
}

static bool is_chosen(const exchange *e, int f) {
  for (int a = 0; a < e->wanted; a++)
    if (e->chosen[a] == f) return true;
  return false;
}

// The best exchange of each chosen frame in turn; false where none helps.
static bool sweep(exchange *e, double *error) {
  bool better = false;
  int step = (e->frames + most_tried - 1) / most_tried;
  for (int a = 0; a < e->wanted; a++) {
    int best = e->chosen[a], was = best;
    for (int f = a % step; f < e->frames && e->work < most_work; f += step) {
      e->chosen[a] = was;
      if (is_chosen(e, f)) continue;
      e->chosen[a] = f;
      double found = error_of(e);
      if (found < *error * (1 - 1e-6)) *error = found, best = f, better = true;
    }
    e->chosen[a] = best;
  }
  return better;
}

// Turns against the parents, as rotation vectors.
static void turns_of(const sn_examples *examples, int f, sn_vec3 *out) {
  const sn_affine *pose = sn_pose(&examples->poses, f);
  for (int j = 0; j < examples->skeleton.joint_count; j++) {
    int parent = examples->skeleton.parents[j];
    sn_mat3 own, base = sn_mat3_identity();
    sn_mat3_polar(sn_affine_linear(pose[j]), &own, NULL);
    if (parent >= 0) sn_mat3_polar(sn_affine_linear(pose[parent]), &base, NULL);
    out[j] = parent >= 0 ? sn_rotation_log(sn_mat3_mul(sn_mat3_transpose(base), own)) : (sn_vec3){0, 0, 0};
  }
}

static sn_status make_kernel(sn_context *ctx, sn_arena *memory, const sn_examples *examples, int frames,
                             double **out) {
  int joint_count = examples->skeleton.joint_count;
  sn_vec3 *turns = SN_NEW(ctx, memory, sn_vec3, (size_t)frames * (size_t)joint_count);
  double *kernel = *out = SN_NEW(ctx, memory, double, (size_t)frames *(size_t)frames);
  if (!turns || !kernel) return ctx->error.status;
  for (int f = 0; f < frames; f++) turns_of(examples, f, turns + (size_t)f * (size_t)joint_count);
  for (int f = 0; f < frames; f++)
    for (int g = 0; g <= f; g++)
      kernel[f * frames + g] = kernel[g * frames + f] =
        turn_kernel(turns + (size_t)f * (size_t)joint_count, turns + (size_t)g * (size_t)joint_count, joint_count);
  return SN_OK;
}

// Exchanges from one start, kept where they end below `least`.
static void try_start(exchange *e, const int *start, double *least, int *kept) {
  e->work = 0;
  memcpy(e->chosen, start, (size_t)e->wanted * sizeof *start);
  double error = error_of(e);
  for (int n = 0; n < most_sweeps && sweep(e, &error); n++) continue;
  if (error < *least) *least = error, memcpy(kept, e->chosen, (size_t)e->wanted * sizeof *kept);
}

sn_status sn_keys_exchange(sn_context *ctx, const sn_examples *examples, int frames, const double *gram, int wanted,
                           int *chosen) {
  if (examples->skeleton.joint_count == 0 || wanted >= frames) return SN_OK;
  sn_arena memory = sn_arena_new(ctx);
  double *kernel = NULL, least = INFINITY;
  size_t n = (size_t)wanted;
  sn_status status = make_kernel(ctx, &memory, examples, frames, &kernel);
  exchange e = {.frames = frames, .wanted = wanted, .kernel = kernel, .gram = gram};
  e.corner = SN_NEW(ctx, &memory, double, n *n), e.row = SN_NEW(ctx, &memory, double, n *(size_t)frames);
  e.chosen = SN_NEW(ctx, &memory, int, n);
  int *start = SN_NEW(ctx, &memory, int, n), *even = SN_NEW(ctx, &memory, int, n);
  if (status == SN_OK && (!e.corner || !e.row || !e.chosen || !start || !even)) status = ctx->error.status;
  if (status == SN_OK) {
    memcpy(start, chosen, n * sizeof *start);
    for (int a = 0; a < wanted; a++)
      even[a] = wanted > 1 ? (int)((int64_t)a * (frames - 1) / (wanted - 1)) : frames / 2;
    try_start(&e, start, &least, chosen);
    try_start(&e, even, &least, chosen);
  }
  sn_arena_free(&memory);
  return status;
}
