// SPDX-License-Identifier: MIT
// The runtime's input at a frame of the examples, and the resulting palette.
#include <string.h>

#include "base/scope.h"
#include "runtime/format.h"
#include "sinew/model.h"

int sn_model_frame_count(const sn_rt_model *model, const sn_examples *examples) {
  if (model->info.control_count > 0) return examples->frames.frame_count;
  return model->info.joint_count > 0 ? examples->poses.frame_count : examples->values.frame_count;
}

// Control points are vertices: their positions come from the examples' frames, or from frames of control points only.
static sn_status find_controls(sn_context *ctx, sn_arena *memory, sn_model_input *out) {
  const sn_examples *examples = out->examples;
  const sn_rt_info *info = &out->model->info;
  const uint32_t *points = sn_rt_data(out->model, SN_SECTION_CONTROL_POINTS);
  out->control_of = SN_NEW(ctx, memory, int, info->control_count);
  if (!out->control_of) return ctx->error.status;
  if (info->control_count == 0) return SN_OK;
  if (examples->frames.frame_count == 0)
    return sn_fail(ctx, SN_BAD_INPUT, "the model is driven by %u control points: give `controls` FILE.pc2",
                   info->control_count);
  bool alone = examples->rest.vertex_count == 0;
  int vertices = examples->source ? examples->source_count : examples->frames.vertex_count;
  if (vertices != (int)(alone ? info->control_count : info->vertex_count))
    return sn_fail(ctx, SN_BAD_INPUT, "the model has %u %s, the frames have %d",
                   alone ? info->control_count : info->vertex_count, alone ? "control points" : "vertices", vertices);
  for (uint32_t c = 0; c < info->control_count; c++)
    out->control_of[c] = alone ? (int)c : sn_examples_vertex(examples, (int)points[c]);
  return SN_OK;
}

static sn_status find_values(sn_context *ctx, sn_arena *memory, sn_model_input *out) {
  const sn_values *values = &out->examples->values;
  uint32_t count = out->model->info.value_count;
  out->value_of = SN_NEW(ctx, memory, int, count);
  if (!out->value_of) return ctx->error.status;
  for (uint32_t v = 0; v < count; v++) {
    const char *name = sn_rt_value_name(out->model, v);
    if (values->count == 0)
      return sn_fail(ctx, SN_BAD_INPUT, "the model is driven by named values ('%s', ...): give `values` FILE.csv",
                     name);
    out->value_of[v] = sn_values_find(values, name);
    if (out->value_of[v] < 0)
      return sn_fail(ctx, SN_BAD_INPUT, "there is no value called '%s', which the model needs", name);
  }
  int poses = out->examples->poses.frame_count;
  if (count > 0 && out->model->info.joint_count > 0 && poses != values->frame_count)
    return sn_fail(ctx, SN_BAD_INPUT, "there are named values of %d frames, and %d poses", values->frame_count,
                   poses);
  return SN_OK;
}

static bool begins_clip(const sn_examples *examples, int f) {
  for (int k = 0; k < examples->clip_count; k++)
    if (examples->clip_start[k] == f) return true;
  return f == 0;
}

// Runs through all frames of a motion and stores the state before each, so that they can be evaluated in any order.
static sn_status follow(sn_context *ctx, sn_arena *memory, sn_model_input *out) {
  size_t size = sn_rt_state_size(out->model), frames = (size_t)sn_model_frame_count(out->model, out->examples);
  SN_SCRATCH(scratch, ctx);
  char *states = sn_arena_alloc(ctx, memory, frames, size), *now = sn_arena_alloc(ctx, &scratch, 1, size);
  void *values = sn_arena_alloc(ctx, &scratch, sn_model_input_size(out->model), 1);
  void *palette = sn_arena_alloc(ctx, &scratch, sn_rt_scratch_size(out->model), 1);
  if (!states || !now || !values || !palette) return ctx->error.status;
  for (size_t f = 0; f < frames; f++) {
    if (begins_clip(out->examples, (int)f)) memset(now, 0, size);
    memcpy(states + f * size, now, size);
    sn_rt_input frame = sn_model_input_at(out, (int)f, values);
    frame.state = now;
    sn_rt_palette(out->model, &frame, palette, NULL);
  }
  out->states = states;
  return SN_OK;
}

sn_status sn_model_input_new(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples, sn_arena *memory,
                             sn_model_input *out) {
  *out = (sn_model_input){.model = model, .examples = examples};
  int joint_count = (int)model->info.joint_count;
  out->joint_of = SN_NEW(ctx, memory, int, joint_count);
  if (!out->joint_of) return ctx->error.status;
  if (joint_count > 0 && examples->poses.joint_count == 0)
    return sn_fail(ctx, SN_BAD_INPUT, "the model is driven by joints: give `skeleton` FILE");
  for (int j = 0; j < joint_count; j++) {
    const char *name = sn_rt_joint_name(model, (uint32_t)j);
    out->joint_of[j] = sn_skeleton_find_near(&examples->skeleton, name, j);
    if (out->joint_of[j] < 0)
      return sn_fail(ctx, SN_BAD_INPUT, "the skeleton has no joint called '%s', which the model needs", name);
  }
  if (model->info.torque_count > 0 && !examples->torques.values)
    return sn_fail(ctx, SN_BAD_INPUT, "the model is driven by joint torques: give `torque` FILE.csv");
  SN_TRY(find_values(ctx, memory, out));
  SN_TRY(find_controls(ctx, memory, out));
  return examples->motion && sn_rt_state_size(model) > 0 ? follow(ctx, memory, out) : SN_OK;
}

size_t sn_model_input_size(const sn_rt_model *model) {
  const sn_rt_info *info = &model->info;
  size_t numbers =
    (size_t)info->joint_count * 12 + (size_t)info->control_count * 3 + info->torque_count + info->value_count;
  return numbers * sizeof(float) + sn_rt_state_size(model);
}

// The arrays of an input in its buffer.
typedef struct input_arrays {
  float (*joints)[12], (*controls)[3], *torques, *values;
} input_arrays;

static input_arrays arrays_in(const sn_rt_info *info, void *buffer) {
  input_arrays a = {.joints = buffer};
  a.controls = (float(*)[3])(a.joints + info->joint_count);
  a.torques = (float *)(a.controls + info->control_count), a.values = a.torques + info->torque_count;
  return a;
}

static sn_rt_input input_of(const input_arrays *a) {
  return (sn_rt_input){.joints = (const float(*)[12])a->joints,
                       .controls = (const float(*)[3])a->controls,
                       .torques = a->torques,
                       .values = a->values};
}

sn_rt_input sn_model_input_at(const sn_model_input *input, int f, void *buffer) {
  const sn_rt_info *info = &input->model->info;
  const sn_examples *from = input->examples;
  input_arrays a = arrays_in(info, buffer);
  for (uint32_t c = 0; c < info->control_count; c++)
    memcpy(a.controls[c], sn_frame(&from->frames, f)[input->control_of[c]], sizeof *a.controls);
  for (uint32_t v = 0; v < info->value_count; v++)
    a.values[v] = (float)from->values.values[(size_t)f * (size_t)from->values.count + (size_t)input->value_of[v]];
  for (uint32_t j = 0; j < info->torque_count; j++)
    a.torques[j] = (float)sn_torque(&from->torques, f, input->joint_of[j]);
  for (uint32_t j = 0; j < info->joint_count; j++)
    sn_model_joints(&sn_pose(&from->poses, f)[input->joint_of[j]], 1, &a.joints[j]);
  sn_rt_input out = input_of(&a);
  size_t size = sn_rt_state_size(input->model);
  if (input->states) out.state = memcpy(a.values + info->value_count, input->states + (size_t)f * size, size);
  return out;
}

sn_rt_input sn_model_rest_input(const sn_rt_model *model, void *buffer) {
  const sn_rt_info *info = &model->info;
  const float *controls = sn_rt_data(model, SN_SECTION_CONTROL_FRAMES);
  sn_affine identity = sn_affine_identity();
  input_arrays a = arrays_in(info, memset(buffer, 0, sn_model_input_size(model)));
  for (uint32_t j = 0; j < info->joint_count; j++) sn_model_joints(&identity, 1, &a.joints[j]);
  if (controls) memcpy(a.controls, controls, info->control_count * sizeof *a.controls);
  return input_of(&a);
}

sn_status sn_model_palettes(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples, sn_poses *poses,
                            sn_arena *memory, float **fields) {
  int frames = sn_model_frame_count(model, examples);
  size_t count = fields ? sn_rt_displacement_count(model) : 0;
  if (poses) *poses = (sn_poses){0};
  SN_SCRATCH(scratch, ctx);
  sn_model_input input;
  SN_TRY(sn_model_input_new(ctx, model, examples, &scratch, &input));
  void *values = sn_arena_alloc(ctx, &scratch, sn_model_input_size(model), 1);
  void *palette = sn_arena_alloc(ctx, &scratch, sn_rt_scratch_size(model), 1);
  if (fields) *fields = SN_NEW(ctx, memory, float, (size_t)frames *count);
  if (!values || !palette || (fields && !*fields)) return ctx->error.status;
  if (poses) SN_TRY(sn_poses_new(ctx, (int)model->info.palette_count, frames, poses));
  for (int f = 0; f < frames; f++) {
    const float *now;
    sn_rt_input frame = sn_model_input_at(&input, f, values);
    sn_rt_palette(model, &frame, palette, NULL);
    if (poses) sn_model_read_palette(model, palette, sn_pose(poses, f));
    if (count > 0 && sn_rt_correct_values(model, palette, &now))
      memcpy(*fields + (size_t)f * count, now, count * sizeof *now);
  }
  return SN_OK;
}
