// SPDX-License-Identifier: MIT
// Time of one evaluation. Medians, and ratios within one run, because machines may be shared.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/format.h"
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

// Joints in the rest pose, no torques, control points of the first training frame.
static sn_rt_input rest_input(const sn_rt_model *model, float *values) {
  const sn_rt_info *info = &model->info;
  float(*joints)[12] = (float(*)[12])values;
  sn_affine identity = sn_affine_identity();
  for (uint32_t j = 0; j < info->joint_count; j++) sn_model_joints(&identity, 1, &joints[j]);
  float *controls = values + 12 * (size_t)info->joint_count, *torques = controls + 3 * (size_t)info->control_count;
  size_t numbers = 3 * (size_t)info->control_count;
  if (numbers > 0 && sn_rt_size(model, SN_SECTION_CONTROL_FRAMES) > 0)
    memcpy(controls, sn_rt_data(model, SN_SECTION_CONTROL_FRAMES), numbers * sizeof *controls);
  memset(torques, 0, ((size_t)info->torque_count + info->value_count) * sizeof *torques);
  return (sn_rt_input){.joints = (const float(*)[12])joints,
                       .controls = (const float(*)[3])(void *)controls,
                       .torques = torques,
                       .values = torques + info->torque_count};
}

sn_status sn_assess_time(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples, bool normals,
                         double seconds, sn_timing *out) {
  *out = (sn_timing){0};
  sn_arena scratch = sn_arena_new(ctx);
  bool posed = examples && sn_model_frame_count(model, examples) > 0;
  sn_model_input input;
  sn_status status = posed ? sn_model_input_new(ctx, model, examples, &scratch, &input) : SN_OK;
  size_t numbers = 3 * (size_t)model->info.vertex_count;
  evaluation e = {.model = model, .input = posed ? &input : NULL};
  e.values = SN_NEW(ctx, &scratch, float,
                    (size_t)model->info.joint_count * 12 + (size_t)model->info.control_count * 3 +
                      model->info.torque_count + model->info.value_count);
  e.scratch = sn_arena_alloc(ctx, &scratch, sn_rt_scratch_size(model), 1);
  e.output.positions = SN_NEW(ctx, &scratch, float, numbers);
  float *directions = SN_NEW(ctx, &scratch, float, numbers);
  e.output.normals = normals ? directions : NULL;
  double *samples = SN_NEW(ctx, &scratch, double, most_samples);
  if (!e.values || !e.scratch || !e.output.positions || !directions || !samples) status = ctx->error.status;
  if (status == SN_OK) {
    e.now = rest_input(model, e.values);
    *out = time_calls(evaluate_once, next_pose, &e, seconds, samples);
  }
  sn_arena_free(&scratch);
  return status;
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
  sn_arena scratch = sn_arena_new(ctx);
  copy c = {SN_NEW(ctx, &scratch, char, bytes), SN_NEW(ctx, &scratch, char, bytes), bytes};
  double *samples = SN_NEW(ctx, &scratch, double, most_samples);
  sn_status status = c.from && c.to && samples ? SN_OK : ctx->error.status;
  *out = (sn_timing){0};
  if (status == SN_OK) *out = time_calls(copy_once, NULL, &c, seconds, samples);
  sn_arena_free(&scratch);
  return status;
}

// The joint of a palette entry: itself, the child of an extra joint, the base of a proxy bone, the parent of a helper.
static uint16_t joint_of_entry(const sn_rt_model *model, uint16_t entry) {
  uint32_t joint_count = model->info.joint_count;
  if (entry < joint_count || joint_count == 0) return entry;
  uint32_t bone = entry - joint_count, block = bone / SN_RT_LANES, lane = bone % SN_RT_LANES;
  switch (model->info.drive) {
  case SN_RT_DRIVE_ROTREG:
    return ((const sn_rt_rotreg_block *)sn_rt_data(model, SN_SECTION_DRIVE_KEYS))[block].base[lane];
  case SN_RT_DRIVE_TORQUE:
    return ((const sn_rt_torque_block *)sn_rt_data(model, SN_SECTION_DRIVE_PAIRS))[block].ends[0].base[lane];
  case SN_RT_DRIVE_HELPERS:
    return ((const sn_rt_helper *)sn_rt_data(model, SN_SECTION_DRIVE_HELPERS))[bone].parent;
  default:
    return ((const sn_rt_extra *)sn_rt_data(model, SN_SECTION_DRIVE_EXTRA))[bone].child;
  }
}

// The model's weights for plain lbs: palette entries replaced by their joints, at most four influences.
static sn_status joint_weights(sn_context *ctx, const sn_rt_model *model, sn_skin *out) {
  enum { most = 4 };
  sn_skin own = {0};
  sn_status status = sn_model_skin(ctx, model, &own);
  int kept = own.influences < most ? own.influences : most;
  if (status == SN_OK) status = sn_skin_new(ctx, own.vertex_count, kept, out);
  for (int i = 0; status == SN_OK && i < own.vertex_count; i++) {
    size_t from = (size_t)i * (size_t)own.influences, to = (size_t)i * (size_t)kept;
    for (int k = 0; k < own.influences; k++)
      own.joints[from + (size_t)k] = joint_of_entry(model, own.joints[from + (size_t)k]);
    for (int k = 0, n = 0; k < own.influences && own.weights[from + (size_t)k] > 0; k++) {
      int same = 0;
      while (same < n && out->joints[to + (size_t)same] != own.joints[from + (size_t)k]) same++;
      if (same == kept) continue;
      if (same == n) out->joints[to + (size_t)n++] = own.joints[from + (size_t)k];
      out->weights[to + (size_t)same] += own.weights[from + (size_t)k];
    }
  }
  sn_skin_free(&own);
  if (status == SN_OK) sn_skin_normalize(out);
  return status;
}

sn_status sn_assess_plain_lbs(sn_context *ctx, const sn_rt_model *model, sn_model *out) {
  sn_mesh mesh = {0};
  sn_skin skin = {0};
  sn_skeleton palette = {0};
  *out = (sn_model){0};
  sn_status status = sn_model_mesh(ctx, model, &mesh);
  int joint_count = (int)(model->info.joint_count ? model->info.joint_count : model->info.palette_count);
  if (status == SN_OK) status = joint_weights(ctx, model, &skin);
  if (status == SN_OK) status = sn_skeleton_new(ctx, joint_count, &palette);
  if (status == SN_OK) {
    sn_model_desc desc = sn_model_desc_default();
    desc.rest = &mesh, desc.skin = &skin, desc.skeleton = &palette;
    desc.weight_bits = (int)model->info.weight_bits;
    if (sn_rt_get_order(model, NULL)) desc.order = SN_VERTEX_ORDER_BLOCKS;
    status = sn_model_build(ctx, &desc, out);
  }
  sn_mesh_free(&mesh);
  sn_skin_free(&skin);
  sn_skeleton_free(&palette);
  return status;
}

static double middle(double a, double b, double c) { return fmax(fmin(a, b), fmin(fmax(a, b), c)); }

sn_status sn_assess_time_beside(sn_context *ctx, const sn_rt_model *model, const sn_rt_model *other,
                                const sn_examples *examples, double *us, double *ratio) {
  enum { rounds = 3 };
  static const double seconds = 0.05;
  double own[rounds] = {0}, ratios[rounds] = {NAN, NAN, NAN};
  sn_timing timing;
  sn_status status = SN_OK;
  for (int r = 0; status == SN_OK && r < rounds; r++) {
    status = sn_assess_time(ctx, model, examples, true, seconds, &timing);
    if (status == SN_OK) own[r] = timing.median;
    if (status != SN_OK || !other) continue;
    status = sn_assess_time(ctx, other, NULL, true, seconds, &timing);
    ratios[r] = own[r] / timing.median;
  }
  *us = middle(own[0], own[1], own[2]);
  *ratio = other ? middle(ratios[0], ratios[1], ratios[2]) : NAN;
  return status;
}

sn_status sn_assess_ratio(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples, double *out) {
  sn_model plain = {0};
  sn_rt_model lbs;
  double us;
  sn_status status = sn_assess_plain_lbs(ctx, model, &plain);
  if (status == SN_OK) status = sn_model_open(ctx, "lbs", plain.bytes, plain.size, &lbs);
  if (status == SN_OK) status = sn_assess_time_beside(ctx, model, &lbs, examples, &us, out);
  sn_model_free(&plain);
  return status;
}
