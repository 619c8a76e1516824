// SPDX-License-Identifier: MIT
// Time of one evaluation. Medians, and ratios within one run, because machines may be shared.
#include <math.h>
#include <string.h>

#include "base/scope.h"
#include "sinew/eval.h"

enum { most_samples = 100000 };

typedef void (*timed_fn)(void *user);

// Microseconds per call. `repeats` makes a sample last about 0.1 ms, so that the time of reading the clock is negligible.
static double time_sample(timed_fn call, void *user, int repeats) {
  double start = sn_seconds();
  for (int r = 0; r < repeats; r++) call(user);
  return 1e6 * (sn_seconds() - start) / repeats;
}

// `next` (may be NULL) prepares a sample and is not timed.
static sn_timing time_calls(timed_fn call, void (*next)(void *user, int sample), void *user, double seconds,
                            double *samples) {
  int count = 0, repeats = 1;
  if (next) next(user, 0);
  time_sample(call, user, 1);
  double once = time_sample(call, user, 1), end = sn_seconds() + seconds;
  if (once < 100) repeats = (int)(100 / (once > 0.1 ? once : 0.1)) + 1;
  while (count < 5 || (count < most_samples && sn_seconds() < end)) {
    if (next) next(user, count);
    samples[count++] = time_sample(call, user, repeats);
  }
  sn_sort_doubles(samples, (size_t)count);
  return (sn_timing){samples[count / 2], samples[count / 10], samples[count - 1 - count / 10], count * repeats};
}

typedef struct evaluation {
  const sn_rt_model *model;
  const sn_model_input *input; // NULL: the rest pose
  void *values, *scratch;
  sn_rt_input now;
  sn_rt_output output;
} evaluation;

static void evaluate_once(void *user) {
  evaluation *e = user;
  sn_rt_evaluate(e->model, &e->now, e->scratch, &e->output, NULL);
}

static void next_pose(void *user, int sample) {
  evaluation *e = user;
  if (!e->input) return;
  e->now = sn_model_input_at(e->input, sample % sn_model_frame_count(e->model, e->input->examples), e->values);
}

sn_status sn_assess_time(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples, bool normals,
                         double seconds, sn_timing *out) {
  *out = (sn_timing){0};
  SN_SCRATCH(scratch, ctx);
  bool posed = examples && sn_model_frame_count(model, examples) > 0;
  sn_model_input input;
  if (posed) SN_TRY(sn_model_input_new(ctx, model, examples, &scratch, &input));
  size_t numbers = 3 * (size_t)model->info.vertex_count;
  evaluation e = {.model = model, .input = posed ? &input : NULL};
  e.values = sn_arena_alloc(ctx, &scratch, sn_model_input_size(model), 1);
  e.scratch = sn_arena_alloc(ctx, &scratch, sn_rt_scratch_size(model), 1);
  e.output.positions = SN_NEW(ctx, &scratch, float, numbers);
  float *directions = SN_NEW(ctx, &scratch, float, numbers);
  e.output.normals = normals ? directions : NULL;
  double *samples = SN_NEW(ctx, &scratch, double, most_samples);
  if (!e.values || !e.scratch || !e.output.positions || !directions || !samples) return ctx->error.status;
  e.now = sn_model_rest_input(model, e.values);
  *out = time_calls(evaluate_once, next_pose, &e, seconds, samples);
  return SN_OK;
}

typedef struct copy {
  const char *from;
  char *to;
  size_t bytes;
} copy;

static void copy_once(void *user) {
  copy *c = user;
  memcpy(c->to, c->from, c->bytes);
  __asm__ volatile("" : : "r"(c->to) : "memory");
}

sn_status sn_assess_copy_time(sn_context *ctx, size_t bytes, double seconds, sn_timing *out) {
  SN_SCRATCH(scratch, ctx);
  copy c = {SN_NEW(ctx, &scratch, char, bytes), SN_NEW(ctx, &scratch, char, bytes), bytes};
  double *samples = SN_NEW(ctx, &scratch, double, most_samples);
  *out = (sn_timing){0};
  if (!c.from || !c.to || !samples) return ctx->error.status;
  *out = time_calls(copy_once, NULL, &c, seconds, samples);
  return SN_OK;
}

// The model's weights for plain lbs: palette entries replaced by their joints, at most four influences.
static sn_status joint_weights(sn_context *ctx, const sn_rt_model *model, sn_skin *out) {
  enum { most = 4 };
  SN_FREED_BY(sn_skin_free) sn_skin own = {0};
  SN_TRY(sn_model_skin(ctx, model, &own));
  int kept = own.influences < most ? own.influences : most;
  SN_TRY(sn_skin_new(ctx, own.vertex_count, kept, out));
  for (int i = 0; i < own.vertex_count; i++) {
    size_t from = (size_t)i * (size_t)own.influences, to = (size_t)i * (size_t)kept;
    for (int k = 0; k < own.influences; k++)
      own.joints[from + (size_t)k] = sn_model_joint_of(model, own.joints[from + (size_t)k]);
    for (int k = 0, n = 0; k < own.influences && own.weights[from + (size_t)k] > 0; k++) {
      int same = 0;
      while (same < n && out->joints[to + (size_t)same] != own.joints[from + (size_t)k]) same++;
      if (same == kept) continue;
      if (same == n) out->joints[to + (size_t)n++] = own.joints[from + (size_t)k];
      out->weights[to + (size_t)same] += own.weights[from + (size_t)k];
    }
  }
  sn_skin_normalize(out);
  return SN_OK;
}

sn_status sn_assess_plain_lbs(sn_context *ctx, const sn_rt_model *model, sn_model *out) {
  SN_FREED_BY(sn_mesh_free) sn_mesh mesh = {0};
  SN_FREED_BY(sn_skin_free) sn_skin skin = {0};
  SN_FREED_BY(sn_skeleton_free) sn_skeleton palette = {0};
  *out = (sn_model){0};
  int joint_count = (int)(model->info.joint_count ? model->info.joint_count : model->info.palette_count);
  SN_TRY(sn_model_mesh(ctx, model, &mesh));
  SN_TRY(joint_weights(ctx, model, &skin));
  SN_TRY(sn_skeleton_new(ctx, joint_count, &palette));
  sn_model_desc desc = sn_model_desc_default();
  desc.rest = &mesh, desc.skin = &skin, desc.skeleton = &palette;
  desc.weight_bits = (int)model->info.weight_bits;
  if (sn_rt_get_order(model, NULL)) desc.order = SN_VERTEX_ORDER_BLOCKS;
  return sn_model_build(ctx, &desc, out);
}

static double middle(double a, double b, double c) { return fmax(fmin(a, b), fmin(fmax(a, b), c)); }

sn_status sn_assess_time_beside(sn_context *ctx, const sn_rt_model *model, const sn_rt_model *other,
                                const sn_examples *examples, double *us, double *ratio) {
  enum { rounds = 3 };
  static const double seconds = 0.05;
  double own[rounds] = {0}, ratios[rounds] = {NAN, NAN, NAN};
  sn_timing timing;
  for (int r = 0; r < rounds; r++) {
    SN_TRY(sn_assess_time(ctx, model, examples, true, seconds, &timing));
    own[r] = timing.median;
    if (!other) continue;
    SN_TRY(sn_assess_time(ctx, other, NULL, true, seconds, &timing));
    ratios[r] = own[r] / timing.median;
  }
  *us = middle(own[0], own[1], own[2]);
  *ratio = other ? middle(ratios[0], ratios[1], ratios[2]) : NAN;
  return SN_OK;
}

sn_status sn_assess_ratio(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples, double *out) {
  SN_FREED_BY(sn_model_free) sn_model plain = {0};
  sn_rt_model lbs;
  double us;
  SN_TRY(sn_assess_plain_lbs(ctx, model, &plain));
  SN_TRY(sn_model_open(ctx, "lbs", plain.bytes, plain.size, &lbs));
  return sn_assess_time_beside(ctx, model, &lbs, examples, &us, out);
}
