// SPDX-License-Identifier: MIT
// How far joints are outside their range of motion in training, where a model extrapolates.
#include <math.h>

#include "base/scope.h"
#include "runtime/format.h"
#include "sinew/eval.h"
#include "train/pose_space.h"

// Reads the references of the ranges, with joints of the examples; fails on a malformed section.
static sn_status read_rotations(sn_context *ctx, const sn_model_input *input, const sn_rt_range *ranges,
                                sn_local_rotation *rotations) {
  uint32_t joint_count = input->model->info.joint_count;
  for (uint32_t n = 0; n < joint_count; n++) {
    const sn_rt_reference *r = &ranges[n].reference;
    bool root = r->parent == SN_RT_NO_JOINT;
    if (r->joint >= joint_count || (!root && r->parent >= joint_count))
      return sn_fail(ctx, SN_BAD_INPUT, "the model's section %s names joints that it does not have",
                     SN_RT_RANGE_NAME);
    for (int c = 0; c < 3; c++)
      if (!isfinite(ranges[n].low[c]) || !isfinite(ranges[n].high[c]))
        return sn_fail(ctx, SN_BAD_INPUT, "the model's section %s has numbers that are not finite", SN_RT_RANGE_NAME);
    const float *q = r->rotation;
    rotations[n] = (sn_local_rotation){input->joint_of[r->joint], root ? -1 : input->joint_of[r->parent],
                                       sn_quat_normalize((sn_quat){q[0], q[1], q[2], q[3]}), false};
  }
  return SN_OK;
}

static double degrees_outside(const sn_rt_range *range, const double *vector) {
  double sum = 0;
  for (int c = 0; c < 3; c++) {
    double d = fmax(fmax((double)range->low[c] - vector[c], vector[c] - (double)range->high[c]), 0);
    sum += d * d;
  }
  return sqrt(sum) * 180 / SN_PI;
}

sn_status sn_assess_outside(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples, sn_arena *memory,
                            double **out) {
  uint64_t size = 0;
  const sn_rt_range *ranges = sn_rt_find_section(model, SN_RT_RANGE_NAME, &size);
  int joint_count = (int)model->info.joint_count, frames = examples->poses.frame_count;
  *out = NULL;
  if (!ranges || joint_count == 0 || frames == 0) return SN_OK;
  if (size != (uint64_t)joint_count * sizeof *ranges)
    return sn_fail(ctx, SN_BAD_INPUT, "the model's section %s is not of %d joints", SN_RT_RANGE_NAME, joint_count);
  sn_model_input input;
  SN_TRY(sn_model_input_new(ctx, model, examples, memory, &input));
  sn_local_rotation *rotations = SN_NEW(ctx, memory, sn_local_rotation, joint_count);
  double *vector = SN_NEW(ctx, memory, double, 3 * examples->skeleton.joint_count);
  double *degrees = SN_NEW(ctx, memory, double, (size_t)frames *(size_t)joint_count);
  if (!rotations || !vector || !degrees) return ctx->error.status;
  SN_TRY(read_rotations(ctx, &input, ranges, rotations));
  for (int f = 0; f < frames; f++) {
    sn_pose_vector(rotations, joint_count, sn_pose(&examples->poses, f), vector);
    for (int n = 0; n < joint_count; n++) // not the first root: it rotates the whole character
      if (rotations[n].parent >= 0)
        degrees[(size_t)f * (size_t)joint_count + ranges[n].reference.joint] =
          degrees_outside(ranges + n, vector + 3 * (size_t)rotations[n].joint);
  }
  *out = degrees;
  return SN_OK;
}
