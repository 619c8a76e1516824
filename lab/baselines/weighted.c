// SPDX-License-Identifier: MIT
// `wpsd`: weighted pose-space deformation (Kurihara and Miyata 2004; Murtagh 2008, equations 2.5 and 2.6). Every vertex
// measures the distance between poses by its skinning weights, and has a separate linear system for its kernel weights.
#include <math.h>

#include "lab/baselines/baselines.h"
#include "lab/baselines/mohr.h"
#include "solve/solve.h"
#include "train/pose_space.h"

static const double rounding = 1e-6; // ridge on the kernel: averages poses that are equal to the vertex

typedef struct weighted_options {
  sn_skin_options skin;
  double sigma;
} weighted_options;

typedef struct weighted_job {
  const sn_examples *examples;
  const sn_keys *keys, *test;
  sn_skin skin;
  double sigma, *vectors; // [frame][3 joints]
  double *space;          // per worker: poses^2 + 3 poses
  sn_frames *out;
} weighted_job;

// exp(-d / 2 sigma^2) with d = sum_j w_jv |x_j - y_j|^2 between two frames.
static double kernel(const weighted_job *job, int i, int frame, int other) {
  const sn_skin *skin = &job->skin;
  size_t width = 3 * (size_t)job->examples->skeleton.joint_count;
  const double *x = job->vectors + (size_t)frame * width, *y = job->vectors + (size_t)other * width;
  double sum = 0;
  for (int k = 0; k < skin->influences; k++) {
    size_t at = (size_t)i * (size_t)skin->influences + (size_t)k;
    for (int c = 3 * skin->joints[at]; c < 3 * skin->joints[at] + 3; c++)
      sum += (double)skin->weights[at] * (x[c] - y[c]) * (x[c] - y[c]);
  }
  return exp(-sum / (2 * job->sigma * job->sigma));
}

// (2.5): the target moved back by the inverse blend, minus the rest position.
static sn_vec3 displacement(const weighted_job *job, int i, int frame) {
  sn_mat3 linear, inverse = {0};
  sn_vec3 move, posed = sn_vec3_from(sn_frame(&job->examples->frames, frame)[i]);
  sn_mohr_blend(&job->skin, i, sn_pose(&job->examples->poses, frame), &linear, &move);
  if (!sn_mat3_invert(linear, &inverse)) inverse = sn_mat3_identity();
  return sn_vec3_sub(sn_mat3_apply(inverse, sn_vec3_sub(posed, move)),
                     sn_vec3_from(job->examples->rest.positions[i]));
}

static void predict_range(void *user, int64_t begin, int64_t end, int worker) {
  const weighted_job *job = user;
  int count = job->keys->count, *frames = job->keys->frames;
  double *phi = job->space + (size_t)worker * (size_t)count * (size_t)(count + 3), *c = phi + count * count;
  for (int64_t i = begin; i < end; i++) {
    for (int p = 0; p < count; p++) {
      sn_vec3 delta = displacement(job, (int)i, frames[p]);
      c[3 * p] = delta.x, c[3 * p + 1] = delta.y, c[3 * p + 2] = delta.z;
      for (int q = 0; q <= p; q++)
        phi[p * count + q] = kernel(job, (int)i, frames[p], frames[q]) + (p == q ? rounding : 0);
    }
    sn_spd_solve(count, count, phi, 3, c);
    for (int k = 0; k < job->test->count; k++) {
      sn_vec3 v = sn_vec3_from(job->examples->rest.positions[i]);
      int f = job->test->frames[k];
      for (int p = 0; p < count; p++)
        v = sn_vec3_mad(v, sn_vec3_make(c[3 * p], c[3 * p + 1], c[3 * p + 2]), kernel(job, (int)i, f, frames[p]));
      v = sn_skin_blend(&job->skin, (int)i, sn_pose(&job->examples->poses, f), v);
      sn_vec3_store(v, sn_frame_mutable(job->out, k)[i]);
    }
  }
}

static sn_status predict(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                         const sn_keys *test, sn_frames *out) {
  const weighted_options *o = options;
  size_t joints = (size_t)examples->skeleton.joint_count, poses = (size_t)keys->count;
  sn_arena memory = sn_arena_new(ctx);
  sn_local_rotation *rotations;
  weighted_job job = {examples, keys, test, .sigma = o->sigma, .out = out};
  *out = (sn_frames){0};
  job.vectors = SN_NEW(ctx, &memory, double, 3 * joints * (size_t)examples->poses.frame_count);
  job.space = SN_NEW(ctx, &memory, double, poses *(poses + 3) * (size_t)sn_threads(ctx));
  sn_status status = job.vectors && job.space ? SN_OK : ctx->error.status;
  if (status == SN_OK)
    status = sn_train_skin(ctx, &(sn_skin_task){&o->skin, examples, SN_RT_BLEND_LINEAR, keys}, &job.skin);
  if (status == SN_OK) status = sn_local_rotations_make(ctx, &memory, examples, keys, &rotations);
  for (int f = 0; status == SN_OK && f < examples->poses.frame_count; f++)
    sn_pose_vector(rotations, (int)joints, sn_pose(&examples->poses, f), job.vectors + 3 * joints * (size_t)f);
  if (status == SN_OK) status = sn_frames_new(ctx, examples->rest.vertex_count, test->count, out);
  if (status == SN_OK) sn_parallel_for(ctx, examples->rest.vertex_count, 16, predict_range, &job);
  sn_skin_free(&job.skin);
  sn_arena_free(&memory);
  return status;
}

static const sn_option table[] = {
  {"sigma", SN_OPTION_REAL, offsetof(weighted_options, sigma), "1", 1e-6, 1e6, NULL, SN_OPTION_ADVANCED,
   "width of the kernel, radians"},
  {0},
};
static const sn_option_group groups[] = {{table, 0}, {sn_skin_option_table, offsetof(weighted_options, skin)}, {0}};
const sn_method sn_lab_wpsd = {
  "wpsd",
  "pose-space deformation weighted per vertex (Kurihara and Miyata 2004); only a row of compare",
  groups,
  .needs_skeleton = true,
  .has_no_model = sn_lab_has_no_model,
  .predict = predict,
  .pose_bytes = 24};
