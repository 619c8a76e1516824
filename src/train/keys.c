// SPDX-License-Identifier: MIT
// Frames to train on; of --keys auto:N the frames that say most about the others, were they known.
#include "train/keys.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Shapes are compared at so many vertices, with the motion of the skin that came with the skeleton taken out.
enum { most_samples = 500 };

// What frames tell about each other falls off with their distance, over half of the middle one between two frames (tried on
// cheburashka-pose only); `noise` keeps near-copies from counting twice.
static const double reach = 0.5, noise = 1e-3;

// The skin's blend of vertex i in frame f; without a skin nothing moves.
static sn_affine blend_of(const sn_examples *examples, int f, int i) {
  const sn_skin *skin = &examples->skin;
  if (skin->influences == 0 || examples->poses.joint_count == 0) return sn_affine_identity();
  sn_affine sum = {0};
  for (int k = 0; k < skin->influences; k++) {
    size_t at = (size_t)i * (size_t)skin->influences + (size_t)k;
    const sn_affine *joint = &sn_pose(&examples->poses, f)[skin->joints[at]];
    for (int n = 0; n < 12; n++) sum.m[n / 4][n % 4] += (double)skin->weights[at] * joint->m[n / 4][n % 4];
  }
  return sum;
}

// Where the sampled vertices are in frame f, with the motion of the skin taken out.
static void shape_of(const sn_examples *examples, int f, int step, int samples, sn_vec3 *out) {
  for (int s = 0; s < samples; s++) {
    sn_affine back;
    out[s] = sn_vec3_from(sn_frame(&examples->frames, f)[s * step]);
    if (sn_affine_invert(blend_of(examples, f, s * step), &back)) out[s] = sn_affine_apply(back, out[s]);
  }
}

static int compare_numbers(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// Distances between all shapes into `matrix`, then what they tell about each other. `gram`: products of their differences from the rest
// shape.
static sn_status relate(sn_context *ctx, sn_arena *memory, const sn_examples *examples, int count, double *matrix,
                        double *gram) {
  int n = examples->rest.vertex_count, step = (n + most_samples - 1) / most_samples, samples = (n + step - 1) / step;
  size_t frames = (size_t)count, pairs = 0;
  sn_vec3 *shapes = SN_NEW(ctx, memory, sn_vec3, frames * (size_t)samples);
  double *sorted = SN_NEW(ctx, memory, double, frames *frames);
  if (!shapes || !sorted) return ctx->error.status;
  for (int f = 0; f < count; f++) shape_of(examples, f, step, samples, shapes + (size_t)f * (size_t)samples);
  for (size_t a = 0; a < frames; a++)
    for (size_t b = 0; b <= a; b++) {
      double sum = 0;
      for (size_t s = 0; s < (size_t)samples; s++) {
        sn_vec3 rest = sn_vec3_from(examples->rest.positions[s * (size_t)step]);
        sum += sn_vec3_dot(sn_vec3_sub(shapes[a * (size_t)samples + s], rest),
                           sn_vec3_sub(shapes[b * (size_t)samples + s], rest));
      }
      gram[a * frames + b] = gram[b * frames + a] = sum;
    }
  for (size_t a = 0; a < frames; a++)
    for (size_t b = 0; b < a; b++) {
      double sum = 0;
      for (size_t s = 0; s < (size_t)samples; s++) {
        double d = sn_vec3_distance(shapes[a * (size_t)samples + s], shapes[b * (size_t)samples + s]);
        sum += d * d;
      }
      matrix[a * frames + b] = matrix[b * frames + a] = sum, sorted[pairs++] = sum;
    }
  qsort(sorted, pairs, sizeof *sorted, compare_numbers);
  double scale = pairs > 0 ? 2 * reach * reach * sorted[pairs / 2] : 0;
  for (size_t k = 0; k < frames * frames; k++) matrix[k] = scale > 0 ? exp(-matrix[k] / scale) : 1;
  return SN_OK;
}

// One frame after the other: the one that leaves least variance in all others, which is then known and taken out.
static void choose(double *k, int count, int wanted, bool *chosen) {
  size_t n = (size_t)count;
  for (int round = 0; round < wanted; round++) {
    size_t best = 0;
    double most = -1;
    for (size_t f = 0; f < n; f++) {
      double gain = 0;
      for (size_t g = 0; g < n; g++) gain += k[f * n + g] * k[f * n + g];
      gain /= k[f * n + f] + noise;
      if (!chosen[f] && gain > most) most = gain, best = f;
    }
    chosen[best] = true;
    double pivot = k[best * n + best] + noise;
    for (size_t f = 0; f < n; f++) {
      double part = f == best ? 0 : k[f * n + best] / pivot; // the best one's own row is needed until the end
      for (size_t g = 0; part != 0 && g < n; g++) k[f * n + g] -= part * k[best * n + g];
    }
    double own = k[best * n + best] / pivot;
    for (size_t g = 0; g < n; g++) k[best * n + g] *= 1 - own;
  }
}

// The chosen frames as a list for sn_keys_parse.
static char *list_text(sn_context *ctx, sn_arena *memory, const bool *chosen, int frame_count) {
  size_t size = 12 * (size_t)frame_count + 1, used = 0;
  char *text = SN_NEW(ctx, memory, char, size);
  for (int f = 0; text && f < frame_count; f++) {
    if (chosen[f]) used += (size_t)snprintf(text + used, size - used, "%s%d", used > 0 ? "," : "", f);
  }
  return text;
}

static sn_status exchange_chosen(sn_context *ctx, sn_arena *memory, const sn_examples *examples, int frame_count,
                                 int count, const double *gram, bool *chosen) {
  int *list = SN_NEW(ctx, memory, int, count), n = 0;
  if (!list) return ctx->error.status;
  for (int f = 0; f < frame_count; f++)
    if (chosen[f]) list[n++] = f;
  sn_status status = sn_keys_exchange(ctx, examples, frame_count, gram, count, list);
  for (int f = 0; status == SN_OK && f < frame_count; f++) chosen[f] = false;
  for (int k = 0; status == SN_OK && k < count; k++) chosen[list[k]] = true;
  return status;
}

static sn_status choose_keys(sn_context *ctx, const sn_examples *examples, int frame_count, const char *wanted,
                             sn_keys *out, sn_keys *others) {
  char *end;
  long count = strtol(wanted, &end, 10);
  if (*wanted < '0' || *wanted > '9' || *end || count < 1 || count > frame_count) {
    return sn_fail(ctx, SN_BAD_INPUT, "`keys` auto:%s: auto:N chooses 1 to %d frames", wanted, frame_count);
  }
  sn_arena scratch = sn_arena_new(ctx);
  size_t square = (size_t)frame_count * (size_t)frame_count;
  double *matrix = SN_NEW(ctx, &scratch, double, square), *gram = SN_NEW(ctx, &scratch, double, square);
  bool *chosen = SN_NEW(ctx, &scratch, bool, frame_count);
  sn_status status =
    matrix && gram && chosen ? relate(ctx, &scratch, examples, frame_count, matrix, gram) : ctx->error.status;
  if (status == SN_OK) choose(matrix, frame_count, (int)count, chosen);
  if (status == SN_OK) status = exchange_chosen(ctx, &scratch, examples, frame_count, (int)count, gram, chosen);
  const char *text = status == SN_OK ? list_text(ctx, &scratch, chosen, frame_count) : NULL;
  if (status == SN_OK) status = text ? sn_keys_parse(ctx, text, frame_count, 0, out, others) : ctx->error.status;
  sn_arena_free(&scratch);
  return status;
}

sn_status sn_train_keys(sn_context *ctx, const sn_examples *examples, const char *spec, uint64_t seed, sn_keys *keys,
                        sn_keys *others) {
  int test = examples->test_frame_count, count = examples->frames.frame_count - test;
  sn_keys between = {0};
  *others = (sn_keys){.memory = sn_arena_new(ctx)};
  sn_status status = strncmp(spec, "auto:", 5) == 0 ? choose_keys(ctx, examples, count, spec + 5, keys, &between)
                                                    : sn_keys_parse(ctx, spec, count, seed, keys, &between);
  if (status != SN_OK) return status;
  others->frames = SN_NEW(ctx, &others->memory, int, between.count + test);
  if (!others->frames) status = ctx->error.status;
  for (int k = 0; status == SN_OK && k < between.count; k++) others->frames[others->count++] = between.frames[k];
  for (int f = 0; status == SN_OK && f < test; f++) others->frames[others->count++] = count + f;
  sn_keys_free(&between);
  return status;
}
