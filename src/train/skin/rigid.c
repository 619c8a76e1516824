// SPDX-License-Identifier: MIT
// `rigid`: every vertex follows one joint, the best over the training frames. It is also the denominator of the
// enveloping error (Wang 2007, 7.1).
#include "train/train.h"

typedef struct rigid_job {
  const sn_mesh *rest;
  const sn_frames *frames;
  const sn_poses *poses;
  const sn_keys *keys;
  double *errors;
} rigid_job;

static void add_errors(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const rigid_job *job = user;
  int joints = job->poses->joint_count;
  for (int k = 0; k < job->keys->count; k++) {
    const float(*frame)[3] = sn_frame(job->frames, job->keys->frames[k]);
    const sn_affine *pose = sn_pose(job->poses, job->keys->frames[k]);
    for (int64_t i = begin; i < end; i++) {
      sn_vec3 rest = sn_vec3_from(job->rest->positions[i]), target = sn_vec3_from(frame[i]);
      double *errors = job->errors + (size_t)i * (size_t)joints;
      for (int j = 0; j < joints; j++) {
        sn_vec3 d = sn_vec3_sub(sn_affine_apply(pose[j], rest), target);
        errors[j] += sn_vec3_dot(d, d);
      }
    }
  }
  sn_frames_used(job->frames, end - begin, job->keys->count);
}

void sn_rigid_errors(const sn_context *ctx, const sn_examples *examples, const sn_keys *keys, double *errors) {
  rigid_job job = {&examples->rest, &examples->frames, &examples->poses, keys, errors};
  sn_parallel_for(ctx, examples->rest.vertex_count, 256, add_errors, &job);
}

static sn_status best_joints(sn_context *ctx, const sn_examples *examples, const sn_keys *keys, sn_skin *out) {
  int n = examples->rest.vertex_count, joints = examples->skeleton.joint_count;
  sn_arena scratch = sn_arena_new(ctx);
  double *errors = SN_NEW(ctx, &scratch, double, (size_t)n *(size_t)joints);
  sn_status status = errors ? sn_skin_new(ctx, n, 1, out) : ctx->error.status;
  if (status == SN_OK) {
    sn_rigid_errors(ctx, examples, keys, errors);
    for (int i = 0; i < n; i++) {
      const double *row = errors + (size_t)i * (size_t)joints;
      int best = 0;
      for (int j = 1; j < joints; j++)
        if (row[j] < row[best]) best = j;
      out->joints[i] = (uint16_t)best, out->weights[i] = 1;
    }
  }
  sn_arena_free(&scratch);
  return status;
}

static sn_status train_rigid(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                             sn_model *out, sn_train_report *report) {
  (void)options, (void)report;
  sn_skin skin = {0};
  sn_status status = best_joints(ctx, examples, keys, &skin);
  if (status == SN_OK) {
    sn_model_desc desc = sn_model_desc_default();
    desc.rest = &examples->rest, desc.skeleton = &examples->skeleton, desc.skin = &skin;
    status = sn_train_build(ctx, examples, desc, out);
  }
  sn_skin_free(&skin);
  return status;
}

static const sn_option_group groups[] = {SN_METHOD_COMMON, {0}};

const sn_method sn_method_rigid = {
  .name = "rigid",
  .summary = "one joint per vertex: the baseline of the enveloping error",
  .options = groups,
  .needs_skeleton = true,
  .train = train_rigid,
};
