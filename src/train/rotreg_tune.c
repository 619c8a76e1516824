// SPDX-License-Identifier: MIT
// How free the predictors may be, by what they say about poses left out of their fit.
#include "train/rotreg_tune.h"

#include <string.h>

enum { choices = 5 };

static const double freedoms[choices] = {0, 1, 10, 100, 1000};
static const double pulls[choices] = {1e-5, 1e-4, 1e-3, 1e-2, 1e-1}; // per pose
static const double tilts[choices] = {10, 1, 1e-1, 1e-2, 1e-3};      // likewise

typedef struct tune_job {
  const rotreg_joints *joints;
  const rotreg_folds *folds;
  const sn_mat3 *sequences;
  rotreg_fit_options options;
  double (*miss)[2];            // per sequence: squared angles, squared scale/shear
  double (*tilt_miss)[choices]; // per sequence: squared angles with each choice of tilt
  char *work;
  size_t work_size;
} tune_job;

rotreg_work *rotreg_work_of(char *work, size_t size, int worker) {
  return (rotreg_work *)(void *)(work + (size_t)worker * size);
}

static void add_miss(const tune_job *job, const rotreg_predictor *p, const sn_mat3 *truth, int pose, double miss[2]) {
  size_t at = (size_t)pose * (size_t)job->joints->joint_count;
  sn_mat3 rotation, shear;
  sn_mat3_polar(*truth, &rotation, &shear);
  double angle =
    sn_rotation_angle(rotreg_predict_rotation(p, job->joints->rotation + at, job->joints->theta + at), rotation);
  double stretch = sn_mat3_norm(sn_mat3_sub(rotreg_predict_shear(p, job->joints->theta + at), shear));
  miss[0] += angle * angle, miss[1] += stretch * stretch;
}

static void try_range(void *user, int64_t begin, int64_t end, int worker) {
  const tune_job *job = user;
  rotreg_work *work = rotreg_work_of(job->work, job->work_size, worker);
  int poses = job->joints->pose_count;
  for (int64_t n = begin; n < end; n++) {
    const sn_mat3 *sequence = job->sequences + (size_t)n * (size_t)poses;
    rotreg_predictor whole, part;
    job->miss[n][0] = job->miss[n][1] = 0;
    rotreg_fit(job->joints, sequence, job->folds->folds[0].poses, poses, &job->options, work, &whole);
    for (int f = 0; f < job->folds->fold_count; f++) {
      const rotreg_fold *fold = &job->folds->folds[f];
      rotreg_refit(job->joints, sequence, fold->poses, fold->outside_count, &job->options, work, &whole, &part);
      for (int m = fold->outside_count; m < fold->count; m++) {
        add_miss(job, &part, &sequence[fold->poses[m]], fold->poses[m], job->miss[n]);
      }
    }
  }
}

// The same turns with every choice of tilt.
static void try_tilts_range(void *user, int64_t begin, int64_t end, int worker) {
  const tune_job *job = user;
  rotreg_work *work = rotreg_work_of(job->work, job->work_size, worker);
  int poses = job->joints->pose_count;
  for (int64_t n = begin; n < end; n++) {
    const sn_mat3 *sequence = job->sequences + (size_t)n * (size_t)poses;
    rotreg_predictor whole, part;
    memset(job->tilt_miss[n], 0, sizeof job->tilt_miss[n]);
    rotreg_fit(job->joints, sequence, job->folds->folds[0].poses, poses, &job->options, work, &whole);
    for (int f = 0; f < job->folds->fold_count; f++) {
      const rotreg_fold *fold = &job->folds->folds[f];
      rotreg_refit(job->joints, sequence, fold->poses, fold->outside_count, &job->options, work, &whole, &part);
      for (int c = 0; c < choices; c++) {
        double miss[2] = {0, 0};
        rotreg_refit_tilt(job->joints, sequence, fold->poses, fold->outside_count, tilts[c] * poses, work, &part);
        for (int m = fold->outside_count; m < fold->count; m++) {
          add_miss(job, &part, &sequence[fold->poses[m]], fold->poses[m], miss);
        }
        job->tilt_miss[n][c] += miss[0];
      }
    }
  }
}

// `least`: squared angles that predictors without tilt miss.
static void choose_tilt(sn_context *ctx, tune_job *job, int count, double least, rotreg_fit_options *options) {
  job->options = *options;
  sn_parallel_for(ctx, count, 1, try_tilts_range, job);
  for (int c = 0; c < choices; c++) {
    double sum = 0;
    for (int n = 0; n < count; n++) sum += job->tilt_miss[n][c];
    if (sum < 0.99 * least) least = sum, options->tilt_pull = tilts[c] * job->joints->pose_count;
  }
}

sn_status rotreg_tune(sn_context *ctx, const rotreg_joints *joints, const rotreg_folds *folds,
                      const sn_mat3 *sequences, int count, rotreg_fit_options *options) {
  sn_arena scratch = sn_arena_new(ctx);
  tune_job job = {.joints = joints, .folds = folds, .sequences = sequences, .options = *options};
  job.work_size = rotreg_work_size(joints->pose_count);
  job.work = sn_arena_alloc(ctx, &scratch, (size_t)sn_threads(ctx), job.work_size);
  job.miss = sn_arena_alloc(ctx, &scratch, (size_t)count, sizeof *job.miss);
  job.tilt_miss = sn_arena_alloc(ctx, &scratch, (size_t)count, sizeof *job.tilt_miss);
  sn_status status = job.work && job.miss && job.tilt_miss ? SN_OK : ctx->error.status;
  double least[2] = {INFINITY, INFINITY};
  for (int c = 0; status == SN_OK && c < choices; c++) {
    job.options.freedom = freedoms[c], job.options.shear_pull = pulls[c] * joints->pose_count;
    sn_parallel_for(ctx, count, 1, try_range, &job);
    double sum[2] = {0, 0};
    for (int n = 0; n < count; n++) sum[0] += job.miss[n][0], sum[1] += job.miss[n][1];
    // A freer map has to be worth it.
    if (sum[0] < 0.99 * least[0]) least[0] = sum[0], options->freedom = job.options.freedom;
    if (sum[1] < least[1]) least[1] = sum[1], options->shear_pull = job.options.shear_pull;
  }
  if (status == SN_OK) choose_tilt(ctx, &job, count, least[0], options);
  sn_arena_free(&scratch);
  return status;
}
