// SPDX-License-Identifier: MIT
// Evaluates a model with the runtime on frames of the examples.
#include "sinew/eval.h"

#include <string.h>

#include "runtime/format.h"

// Number of frames whose value in column k of rows of `width` is outside the range.
static int count_outside(const double *rows, int frames, int width, int k, const float range[2]) {
  int count = 0;
  for (int f = 0; k >= 0 && f < frames; f++) {
    float number = (float)rows[(size_t)f * (size_t)width + (size_t)k];
    count += number < range[0] || number > range[1];
  }
  return count;
}

sn_clamped sn_assess_clamped(const sn_rt_model *model, const sn_examples *examples, uint32_t k) {
  const sn_torques *t = &examples->torques;
  const sn_values *v = &examples->values;
  if (k >= model->info.torque_count) {
    k -= model->info.torque_count;
    sn_clamped out = {"value ", sn_rt_value_name(model, k), .frames = v->frame_count};
    if (sn_rt_value_range(model, k, out.range))
      out.outside = count_outside(v->values, v->frame_count, v->count, sn_values_find(v, out.name), out.range);
    return out;
  }
  sn_clamped out = {"torque of ", sn_rt_joint_name(model, k), .frames = t->frame_count};
  int j = t->values ? sn_skeleton_find(&examples->skeleton, out.name) : -1;
  if (sn_rt_torque_range(model, k, out.range))
    out.outside = count_outside(t->values, t->frame_count, t->joint_count, j, out.range);
  return out;
}

static size_t align64(size_t size) { return (size + 63) / 64 * 64; }

typedef struct evaluate_job {
  const sn_model_input *input;
  const sn_keys *keys;
  sn_frames *positions, *normals;
  char *buffers; // one per worker
  size_t input_size, buffer_size;
} evaluate_job;

static void evaluate_range(void *user, int64_t begin, int64_t end, int worker) {
  const evaluate_job *job = user;
  char *buffer = job->buffers + (size_t)worker * job->buffer_size;
  for (int64_t k = begin; k < end; k++) {
    sn_rt_input input = sn_model_input_at(job->input, job->keys->frames[k], buffer);
    sn_rt_output output = {.positions = sn_frame_mutable(job->positions, (int)k)[0]};
    if (job->normals) output.normals = sn_frame_mutable(job->normals, (int)k)[0];
    sn_rt_evaluate(job->input->model, &input, buffer + job->input_size, &output, NULL);
  }
}

static sn_status to_file(sn_context *ctx, const sn_rt_model *model, sn_frames *frames) {
  if (frames->frame_count == 0) return SN_OK;
  return sn_model_to_file(ctx, model, sn_frame_mutable(frames, 0), sizeof(float[3]), (size_t)frames->frame_count);
}

sn_status sn_assess_evaluate(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples,
                             const sn_keys *keys, sn_frames *positions, sn_frames *normals) {
  *positions = (sn_frames){0};
  if (normals) *normals = (sn_frames){0};
  sn_arena scratch = sn_arena_new(ctx);
  sn_model_input input;
  sn_status status = sn_model_input_new(ctx, model, examples, &scratch, &input);
  evaluate_job job = {&input, keys, positions, normals, NULL, 0, 0};
  if (status == SN_OK) {
    job.input_size = align64(sn_model_input_size(&input));
    job.buffer_size = job.input_size + align64(sn_rt_scratch_size(model));
    job.buffers = sn_arena_alloc(ctx, &scratch, (size_t)sn_threads(ctx), job.buffer_size);
    if (!job.buffers) status = ctx->error.status;
  }
  int n = (int)model->info.vertex_count;
  if (status == SN_OK) status = sn_frames_new(ctx, n, keys->count, positions);
  if (status == SN_OK && normals) status = sn_frames_new(ctx, n, keys->count, normals);
  if (status == SN_OK) {
    sn_parallel_for(ctx, keys->count, 1, evaluate_range, &job);
    status = to_file(ctx, model, positions);
  }
  if (status == SN_OK && normals) status = to_file(ctx, model, normals);
  if (status != SN_OK) {
    sn_frames_free(positions);
    if (normals) sn_frames_free(normals);
  }
  sn_arena_free(&scratch);
  return status;
}
