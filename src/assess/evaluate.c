// SPDX-License-Identifier: MIT
// A model on frames of the examples, by the runtime.
#include "sinew/assess.h"

#include <stdlib.h>

#include "assess/input.h"

sn_status sn_assess_input_new(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples,
                              sn_arena *memory, assess_input *out) {
  *out = (assess_input){.model = model, .examples = examples};
  int joints = (int)model->info.joint_count;
  out->joint_of = SN_NEW(ctx, memory, int, joints);
  if (!out->joint_of) return ctx->error.status;
  if (joints > 0 && examples->poses.joint_count == 0) {
    return sn_fail(ctx, SN_BAD_INPUT, "the model is driven by joints: give --skeleton FILE");
  }
  for (int j = 0; j < joints; j++) {
    const char *name = sn_rt_joint_name(model, (uint32_t)j);
    out->joint_of[j] = sn_skeleton_find(&examples->skeleton, name);
    if (out->joint_of[j] < 0) {
      return sn_fail(ctx, SN_BAD_INPUT, "the skeleton has no joint called '%s', which the model needs", name);
    }
  }
  return SN_OK;
}

size_t sn_assess_input_size(const assess_input *input) {
  return (size_t)input->model->info.joint_count * 12 * sizeof(float);
}

sn_rt_input sn_assess_input(const assess_input *input, int f, void *buffer) {
  float(*joints)[12] = buffer;
  const sn_affine *pose = sn_pose(&input->examples->poses, f);
  for (uint32_t j = 0; j < input->model->info.joint_count; j++) {
    sn_model_joints(&pose[input->joint_of[j]], 1, &joints[j]);
  }
  return (sn_rt_input){.joints = (const float(*)[12])joints};
}

typedef struct evaluate_job {
  const assess_input *input;
  const sn_keys *keys;
  sn_frames *positions, *normals;
  char *buffers; // one per worker
  size_t input_size, buffer_size;
} evaluate_job;

static void evaluate_range(void *user, int64_t begin, int64_t end, int worker) {
  const evaluate_job *job = user;
  char *buffer = job->buffers + (size_t)worker * job->buffer_size;
  for (int64_t k = begin; k < end; k++) {
    sn_rt_input input = sn_assess_input(job->input, job->keys->frames[k], buffer);
    sn_rt_output output = {.positions = sn_frame_mutable(job->positions, (int)k)[0]};
    if (job->normals) output.normals = sn_frame_mutable(job->normals, (int)k)[0];
    sn_rt_evaluate(job->input->model, &input, buffer + job->input_size, &output, NULL);
  }
}

static size_t align64(size_t size) { return (size + 63) / 64 * 64; }

sn_status sn_assess_evaluate(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples,
                             const sn_keys *keys, sn_frames *positions, sn_frames *normals) {
  *positions = (sn_frames){0};
  if (normals) *normals = (sn_frames){0};
  sn_arena scratch = sn_arena_new(ctx);
  assess_input input;
  sn_status status = sn_assess_input_new(ctx, model, examples, &scratch, &input);
  evaluate_job job = {&input, keys, positions, normals, NULL, 0, 0};
  if (status == SN_OK) {
    job.input_size = align64(sn_assess_input_size(&input));
    job.buffer_size = job.input_size + align64(sn_rt_scratch_size(model));
    job.buffers = sn_arena_alloc(ctx, &scratch, (size_t)sn_threads(ctx), job.buffer_size);
    if (!job.buffers) status = ctx->error.status;
  }
  int n = (int)model->info.vertex_count;
  if (status == SN_OK) status = sn_frames_new(ctx, n, keys->count, positions);
  if (status == SN_OK && normals) status = sn_frames_new(ctx, n, keys->count, normals);
  if (status == SN_OK) sn_parallel_for(ctx, keys->count, 1, evaluate_range, &job);
  if (status != SN_OK) {
    sn_frames_free(positions);
    if (normals) sn_frames_free(normals);
  }
  sn_arena_free(&scratch);
  return status;
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// One sample is as many evaluations as take a tenth of a millisecond, so that the clock's own time does not count.
static double time_sample(const assess_input *input, const sn_rt_output *output, char *buffer, size_t input_size,
                          int repeats) {
  static const sn_rt_input none = {0};
  double start = sn_seconds();
  for (int r = 0; r < repeats; r++) {
    sn_rt_input values =
      input->model->info.joint_count > 0 ? (sn_rt_input){.joints = (const float(*)[12])(void *)buffer} : none;
    sn_rt_evaluate(input->model, &values, buffer + input_size, output, NULL);
  }
  return 1e6 * (sn_seconds() - start) / repeats;
}

sn_status sn_assess_time(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples, bool normals,
                         double seconds, sn_timing *out) {
  enum { most = 100000 };
  *out = (sn_timing){0};
  sn_arena scratch = sn_arena_new(ctx);
  assess_input input;
  sn_status status = sn_assess_input_new(ctx, model, examples, &scratch, &input);
  size_t n = model->info.vertex_count, input_size = status == SN_OK ? align64(sn_assess_input_size(&input)) : 0;
  char *buffer = SN_NEW(ctx, &scratch, char, input_size + sn_rt_scratch_size(model));
  float *positions = SN_NEW(ctx, &scratch, float, 3 * n), *directions = SN_NEW(ctx, &scratch, float, 3 * n);
  double *samples = SN_NEW(ctx, &scratch, double, most);
  if (status == SN_OK && (!buffer || !positions || !directions || !samples)) status = ctx->error.status;
  if (status == SN_OK) {
    sn_rt_output output = {.positions = positions, .normals = normals ? directions : NULL};
    int frames = examples->poses.frame_count, count = 0, repeats = 1;
    if (frames > 0) sn_assess_input(&input, frames / 2, buffer);
    time_sample(&input, &output, buffer, input_size, 1);
    double once = time_sample(&input, &output, buffer, input_size, 1), end = sn_seconds() + seconds;
    if (once < 100) repeats = (int)(100 / (once > 0.1 ? once : 0.1)) + 1;
    while (count < 5 || (count < most && sn_seconds() < end)) {
      if (frames > 0) sn_assess_input(&input, count % frames, buffer);
      samples[count++] = time_sample(&input, &output, buffer, input_size, repeats);
    }
    qsort(samples, (size_t)count, sizeof *samples, compare_doubles);
    *out = (sn_timing){samples[count / 2], samples[count / 10], samples[count - 1 - count / 10], count * repeats};
  }
  sn_arena_free(&scratch);
  return status;
}
