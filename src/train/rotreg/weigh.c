// SPDX-License-Identifier: MIT
// Fits predictors of deformation gradients to all poses and without each fold; residuals of edges become weights.
#include "train/rotreg/reduced.h"

#include <string.h>

#include "base/team.h"
#include "train/train.h"

typedef struct fit_job {
  sn_rotreg_learned *l;
  char *work;
  size_t work_size;
} fit_job;

// Fits on all poses, then without each fold to predict its held-out poses.
static void fit_predictor(const sn_rotreg_learned *l, int n, sn_rotreg_work *work) {
  const sn_rotreg_rotations *rotations = l->rotations;
  const sn_folds *folds = l->data->folds;
  sn_rotreg_predictor *whole = &l->predictors[n], part;
  sn_rotreg_fit_options fit = *l->fit;
  size_t joints = (size_t)rotations->joint_count, poses = (size_t)rotations->pose_count;
  if (l->local) fit.local = l->local + (size_t)n * joints;
  sn_rotreg_sample sample = {rotations, l->gradients->sequence + (size_t)n * poses, folds->folds[0].poses, (int)poses,
                             &fit};
  sn_rotreg_fit(&sample, work, whole);
  for (int f = 0; f < folds->fold_count; f++) {
    const sn_fold *fold = &folds->folds[f];
    sample.pick = fold->poses, sample.count = fold->outside_count;
    sn_rotreg_refit(&sample, work, whole, &part);
    for (int m = fold->outside_count; m < fold->count; m++) {
      size_t pose = (size_t)fold->poses[m];
      l->held_out[pose * (size_t)l->gradients->gradient_count + (size_t)n] =
        sn_rotreg_predict(&part, rotations->rotation + pose * joints, rotations->theta + pose * joints);
    }
  }
}

static void fit_range(void *user, int64_t begin, int64_t end, int worker) {
  const fit_job *job = user;
  for (int64_t n = begin; n < end; n++)
    fit_predictor(job->l, (int)n, (sn_rotreg_work *)(void *)(job->work + (size_t)worker * job->work_size));
}

sn_status sn_rotreg_predictors_fit(sn_context *ctx, sn_arena *memory, sn_rotreg_learned *l) {
  size_t count = (size_t)l->gradients->gradient_count, poses = (size_t)l->rotations->pose_count;
  fit_job job = {.l = l, .work_size = sn_rotreg_work_size((int)poses)};
  l->predictors = SN_NEW(ctx, memory, sn_rotreg_predictor, count);
  l->held_out = SN_NEW(ctx, memory, sn_mat3, count * poses);
  job.work = sn_arena_alloc(ctx, memory, (size_t)sn_threads(ctx), job.work_size);
  if (!l->predictors || !l->held_out || !job.work) return ctx->error.status;
  sn_parallel_for(ctx, (int64_t)count, 1, fit_range, &job);
  return l->loads ? sn_torque_fit(ctx, memory, l) : SN_OK;
}

typedef struct edge_job {
  const sn_rotreg_learned *l;
  double (*edge)[2];
} edge_job;

static void edge_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const edge_job *job = user;
  const sn_rotreg_learned *l = job->l;
  const sn_mesh *rest = &l->data->examples->rest;
  for (int64_t t = begin; t < end; t++)
    for (int k = 0; k < l->rotations->pose_count; k++) {
      const float(*frame)[3] = sn_frame(&l->data->examples->frames, l->data->keys->frames[k]);
      sn_mat3 d = sn_rotreg_key_gradients_blend(l->gradients, (int)t,
                                                l->held_out + (size_t)k * (size_t)l->gradients->gradient_count);
      for (int j = 0; j < 2; j++) {
        sn_vec3 v = sn_rotreg_edge(rest, (const float(*)[3])rest->positions, (int)t, j + 1);
        sn_vec3 residual = sn_vec3_sub(sn_mat3_apply(d, v), sn_rotreg_edge(rest, frame, (int)t, j + 1));
        job->edge[t][j] += sn_vec3_dot(residual, residual) / l->rotations->pose_count;
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

sn_status sn_rotreg_weigh(sn_context *ctx, const sn_rotreg_learned *l, double (*edge)[2], double *anchor) {
  const sn_mesh *rest = &l->data->examples->rest;
  int64_t triangles = rest->triangle_count;
  double diagonal = sn_points_diagonal((const float(*)[3])rest->positions, rest->vertex_count);
  for (int64_t t = 0; t < triangles; t++) edge[t][0] = edge[t][1] = l->fit->published;
  if (l->fit->published) return SN_OK;
  sn_team_for(ctx, triangles, 64, edge_range, &(edge_job){l, edge});
  sn_status status = sn_team_gather(ctx, triangles, 64, edge, sizeof *edge);
  invert(&edge[0][0], 2 * (size_t)triangles, diagonal);
  invert(anchor, (size_t)rest->vertex_count, diagonal);
  return status;
}

// ---- shared by both forms -------------------------------------------------------------------------------------------

// As published, free weights on any joints (4.2); otherwise the base of `lbs`, which starts from the file's weights.
static sn_status make_skin(sn_context *ctx, sn_rotreg_training *t) {
  const sn_examples *e = t->data.examples;
  const sn_skin_options skin = {.influences = 4};
  if (t->fit.published) return sn_free_weights(ctx, &skin, e, &e->poses, t->data.keys, &t->skin);
  return sn_train_skin(ctx, &(sn_skin_task){&skin, e, SN_RT_BLEND_LINEAR, t->data.keys}, &t->skin);
}

sn_status sn_rotreg_training_start(sn_context *ctx, sn_arena *memory, const sn_examples *examples,
                                   const sn_keys *keys, sn_rotreg_training *t) {
  t->memory = memory;
  t->data = (sn_rotreg_data){examples, &t->topology, keys, &t->folds, &t->skin, t->fit.published};
  t->learned.data = &t->data, t->learned.rotations = &t->rotations;
  t->learned.fit = &t->fit, t->learned.gradients = &t->gradients;
  t->anchor_weight = SN_NEW(ctx, memory, double, examples->rest.vertex_count);
  t->edge = sn_arena_alloc(ctx, memory, (size_t)examples->rest.triangle_count, sizeof *t->edge);
  sn_status status = t->anchor_weight && t->edge ? SN_OK : ctx->error.status;
  if (status == SN_OK) status = sn_topology_build(ctx, &examples->rest, &t->topology);
  if (status == SN_OK) status = sn_rotreg_rotations_build(ctx, memory, examples, keys, &t->rotations);
  if (status == SN_OK) status = make_skin(ctx, t);
  return status == SN_OK ? sn_folds_of_keys(ctx, memory, examples, keys, &t->folds) : status;
}

sn_status sn_rotreg_training_finish(sn_context *ctx, sn_rotreg_training *t) {
  sn_status status = sn_rotreg_predictors_fit(ctx, t->memory, &t->learned);
  if (status != SN_OK) return status;
  status = t->fit.published ? sn_rotreg_anchors_blend(ctx, t->memory, &t->data, &t->anchors)
                            : sn_rotreg_anchors_fit(ctx, t->memory, &t->data, &t->anchors, t->anchor_weight);
  return status == SN_OK ? sn_rotreg_weigh(ctx, &t->learned, t->edge, t->anchor_weight) : status;
}

void sn_rotreg_training_free(sn_rotreg_training *t) {
  sn_topology_free(&t->topology);
  sn_skin_free(&t->skin);
}
