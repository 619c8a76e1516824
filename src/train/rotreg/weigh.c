// SPDX-License-Identifier: MIT
// Fits predictors of deformation gradients to all poses and without each fold; residuals of edges become weights.
#include "train/rotreg/reduced.h"

#include <string.h>

#include "base/scope.h"
#include "base/team.h"
#include "train/train.h"

typedef struct fit_job {
  const sn_rotreg_training *t;
  char *work;
  size_t work_size;
} fit_job;

// Fits on all poses, then without each fold to predict its held-out poses.
static void fit_predictor(const sn_rotreg_training *t, int n, sn_rotreg_work *work) {
  sn_rotreg_predictor *whole = &t->predictors[n], part;
  sn_rotreg_fit_options fit = sn_rotreg_fit_options_near(t, n);
  size_t joints = (size_t)t->rotations.joint_count, poses = (size_t)t->rotations.pose_count;
  sn_rotreg_sample sample = {&t->rotations, t->gradients.sequence + (size_t)n * poses, t->folds.folds[0].poses,
                             (int)poses, &fit};
  sn_rotreg_fit(&sample, work, whole);
  for (int f = 0; f < t->folds.fold_count; f++) {
    const sn_fold *fold = &t->folds.folds[f];
    sample.pick = fold->poses, sample.count = fold->outside_count;
    sn_rotreg_refit(&sample, work, whole, &part);
    for (int m = fold->outside_count; m < fold->count; m++) {
      size_t pose = (size_t)fold->poses[m];
      t->held_out[pose * (size_t)t->gradients.gradient_count + (size_t)n] =
        sn_rotreg_predict(&part, t->rotations.rotation + pose * joints, t->rotations.theta + pose * joints);
    }
  }
}

static void fit_range(void *user, int64_t begin, int64_t end, int worker) {
  const fit_job *job = user;
  for (int64_t n = begin; n < end; n++)
    fit_predictor(job->t, (int)n, (sn_rotreg_work *)(void *)(job->work + (size_t)worker * job->work_size));
}

sn_rotreg_fit_options sn_rotreg_fit_options_near(const sn_rotreg_training *t, int gradient) {
  sn_rotreg_fit_options out = t->fit;
  if (t->local) out.local = t->local + (size_t)gradient * (size_t)t->rotations.joint_count;
  return out;
}

sn_status sn_rotreg_predictors_fit(sn_rotreg_training *t) {
  sn_context *ctx = t->ctx;
  size_t count = (size_t)t->gradients.gradient_count, poses = (size_t)t->rotations.pose_count;
  fit_job job = {.t = t, .work_size = sn_rotreg_work_size((int)poses)};
  t->predictors = SN_NEW(ctx, &t->memory, sn_rotreg_predictor, count);
  t->held_out = SN_NEW(ctx, &t->memory, sn_mat3, count * poses);
  job.work = sn_arena_alloc(ctx, &t->memory, (size_t)sn_threads(ctx), job.work_size);
  if (!t->predictors || !t->held_out || !job.work) return ctx->error.status;
  sn_parallel_for(ctx, (int64_t)count, 1, fit_range, &job);
  return t->loads.joint_count > 0 ? sn_torque_fit(t) : SN_OK;
}

static void edge_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const sn_rotreg_training *t = user;
  const sn_mesh *rest = &t->examples->rest;
  for (int64_t n = begin; n < end; n++)
    for (int k = 0; k < t->rotations.pose_count; k++) {
      const float(*frame)[3] = sn_frame(&t->examples->frames, t->keys->frames[k]);
      sn_mat3 d = sn_rotreg_key_gradients_blend(&t->gradients, (int)n,
                                                t->held_out + (size_t)k * (size_t)t->gradients.gradient_count);
      for (int j = 0; j < 2; j++) {
        sn_vec3 v = sn_rotreg_edge(rest, (const float(*)[3])rest->positions, (int)n, j + 1);
        sn_vec3 residual = sn_vec3_sub(sn_mat3_apply(d, v), sn_rotreg_edge(rest, frame, (int)n, j + 1));
        t->edge[n][j] += sn_vec3_dot(residual, residual) / t->rotations.pose_count;
      }
    }
}

double sn_rotreg_mean(const double *values, size_t count) {
  double sum = 0;
  for (size_t k = 0; k < count; k++) sum += values[k];
  return count ? sum / (double)count : 0;
}

// Mean squared residuals become weights; a part of their mean keeps terms with hardly any residual from outweighing all.
static void invert(double *values, size_t count, double diagonal) {
  double floor = sn_bone_ridge * sn_rotreg_mean(values, count) + 1e-24 * diagonal * diagonal + 1e-300;
  for (size_t k = 0; k < count; k++) values[k] = 1 / (values[k] + floor);
}

sn_status sn_rotreg_weigh(sn_rotreg_training *t) {
  const sn_mesh *rest = &t->examples->rest;
  for (int n = 0; n < rest->triangle_count; n++) t->edge[n][0] = t->edge[n][1] = t->fit.published;
  if (t->fit.published) return SN_OK;
  sn_team_for(t->ctx, rest->triangle_count, 64, edge_range, t);
  SN_TRY(sn_team_gather(t->ctx, rest->triangle_count, 64, t->edge, sizeof *t->edge));
  invert(&t->edge[0][0], 2 * (size_t)rest->triangle_count, t->diagonal);
  invert(t->anchor_weight, (size_t)rest->vertex_count, t->diagonal);
  return SN_OK;
}

// ---- shared by both forms -------------------------------------------------------------------------------------------

// As published, free weights on any joints (4.2); otherwise the base of `lbs`, which starts from the file's weights.
static sn_status make_skin(sn_rotreg_training *t) {
  const sn_examples *e = t->examples;
  const sn_skin_options skin = {.influences = 4};
  if (t->fit.published) return sn_free_weights(t->ctx, &skin, e, &e->poses, t->keys, &t->skin);
  return sn_train_skin(t->ctx, &(sn_skin_task){&skin, e, SN_RT_BLEND_LINEAR, t->keys}, &t->skin);
}

sn_status sn_rotreg_training_start(sn_rotreg_training *t) {
  sn_context *ctx = t->ctx;
  const sn_examples *e = t->examples;
  if (t->torques) SN_TRY(sn_torque_loads_read(ctx, &t->memory, e, t->keys, t->torques, &t->loads));
  if (t->options->published && t->options->psd)
    return sn_fail(ctx, SN_BAD_INPUT, "published=1 has no corrections on top; leave out psd=1");
  t->fit = t->options->published ? sn_rotreg_published_options() : sn_rotreg_fit_options_default();
  t->fit.most_factors = t->options->most_joints;
  t->diagonal = sn_mesh_diagonal(&e->rest);
  t->anchor_weight = SN_NEW(ctx, &t->memory, double, e->rest.vertex_count);
  t->edge = sn_arena_alloc(ctx, &t->memory, (size_t)e->rest.triangle_count, sizeof *t->edge);
  if (!t->anchor_weight || !t->edge) return ctx->error.status;
  SN_TRY(sn_topology_build(ctx, &e->rest, &t->topology));
  SN_TRY(sn_rotreg_rotations_build(ctx, &t->memory, e, t->keys, &t->rotations));
  SN_TRY(make_skin(t));
  return sn_folds_of_keys(ctx, &t->memory, e, t->keys, &t->folds);
}

sn_status sn_rotreg_training_finish(sn_rotreg_training *t) {
  SN_TRY(sn_rotreg_predictors_fit(t));
  SN_TRY((t->fit.published ? sn_rotreg_anchors_blend : sn_rotreg_anchors_fit)(t));
  return sn_rotreg_weigh(t);
}

void sn_rotreg_training_free(sn_rotreg_training *t) {
  sn_topology_free(&t->topology);
  sn_skin_free(&t->skin), sn_skin_free(&t->bones.skin), sn_skin_free(&t->palette_skin);
  sn_arena_free(&t->memory);
}
