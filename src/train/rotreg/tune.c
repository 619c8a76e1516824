// SPDX-License-Identifier: MIT
// The ridges of the predictors, by cross-validation.
#include "train/rotreg/tune.h"
#include "base/team.h"

#include <string.h>

enum { choices = 7, usual_choices = 5 };

// Without a prior, simplest first.
static const double map_ridges[usual_choices] = {INFINITY, 1, 1e-1, 1e-2, 1e-3};
static const double shear_ridges[usual_choices] = {1e-5, 1e-4, 1e-3, 1e-2, 1e-1}; // per pose
static const double tilt_ridges[usual_choices] = {10, 1, 1e-1, 1e-2, 1e-3};       // likewise

// With a prior: relative ridges, strongest first. Within one clip weaker ones cross-validate better than they are on new motion, so they
// must be clearly better.
static const double local_map_ridges[choices] = {10, 3, 1, 0.3, 0.1, 0.01, 1e-3};
static const double local_shear_ridges[choices] = {3, 1, 0.3, 0.1, 0.03, 0.01, 1e-3};
static const double local_tilt_ridges[choices] = {30, 10, 3, 1, 0.3, 0.1, 0.01};
static const double clearly = 1.3;

typedef struct tune_job {
  const sn_rotreg_rotations *rotations;
  const sn_folds *folds;
  const sn_mat3 *sequences;
  sn_rotreg_fit_options options;
  const sn_rotreg_local *local; // [sequence][joint]; NULL: no prior
  bool tilting;                 // with every choice of tilt
  double (*miss)[choices][2];   // per sequence and choice of tilt: squared angles, squared scale/shear
  char *work;
  size_t work_size;
} tune_job;

sn_rotreg_work *sn_rotreg_work_of(char *work, size_t size, int worker) {
  return (sn_rotreg_work *)(void *)(work + (size_t)worker * size);
}

static void add_miss(const tune_job *job, const sn_rotreg_predictor *p, const sn_mat3 *truth, int pose,
                     double miss[2]) {
  size_t at = (size_t)pose * (size_t)job->rotations->joint_count;
  sn_mat3 rotation, shear;
  sn_mat3_polar(*truth, &rotation, &shear);
  double angle = sn_rotation_angle(
    sn_rotreg_predict_rotation(p, job->rotations->rotation + at, job->rotations->theta + at), rotation);
  double stretch = sn_mat3_norm(sn_mat3_sub(sn_rotreg_predict_shear(p, job->rotations->theta + at), shear));
  miss[0] += angle * angle, miss[1] += stretch * stretch;
}

static double tilt_ridge(const tune_job *job, int c) {
  return job->local ? local_tilt_ridges[c] : tilt_ridges[c] * job->rotations->pose_count;
}

static int choice_count(const tune_job *job) { return job->local ? choices : usual_choices; }

static double worth_it(const tune_job *job) { return job->local ? clearly : SN_WORTH_IT; }

// Leaves out each fold in turn; with tilts, the same factors with every choice of them.
static void try_range(void *user, int64_t begin, int64_t end, int worker) {
  const tune_job *job = user;
  sn_rotreg_work *work = sn_rotreg_work_of(job->work, job->work_size, worker);
  int poses = job->rotations->pose_count;
  for (int64_t n = begin; n < end; n++) {
    const sn_mat3 *sequence = job->sequences + (size_t)n * (size_t)poses;
    sn_rotreg_predictor whole, part;
    sn_rotreg_fit_options options = job->options;
    if (job->local) options.local = job->local + (size_t)n * (size_t)job->rotations->joint_count;
    memset(job->miss[n], 0, sizeof job->miss[n]);
    sn_rotreg_fit(job->rotations, sequence, job->folds->folds[0].poses, poses, &options, work, &whole);
    for (int f = 0; f < job->folds->fold_count; f++) {
      const sn_fold *fold = &job->folds->folds[f];
      sn_rotreg_refit(job->rotations, sequence, fold->poses, fold->outside_count, &options, work, &whole, &part);
      for (int c = 0; c < (job->tilting ? choice_count(job) : 1); c++) {
        double ridge = job->tilting ? tilt_ridge(job, c) : 0; // 0 leaves the tilt as it is
        if (job->tilting)
          sn_rotreg_refit_tilt(job->rotations, sequence, fold->poses, fold->outside_count, ridge, work, &part);
        for (int m = fold->outside_count; m < fold->count; m++) {
          add_miss(job, &part, &sequence[fold->poses[m]], fold->poses[m], job->miss[n][c]);
        }
      }
    }
  }
}

static sn_status try_all(sn_context *ctx, tune_job *job, int count) {
  sn_team_for(ctx, count, 1, try_range, job);
  return sn_team_gather(ctx, count, 1, job->miss, sizeof *job->miss);
}

// What predictors with job->options, and choice c of the tilt, miss in all.
static double total_miss(const tune_job *job, int count, int c, int what) {
  double sum = 0;
  for (int n = 0; n < count; n++) sum += job->miss[n][c][what];
  return sum;
}

// `without`: squared angles that predictors without tilt miss.
static sn_status choose_tilt(sn_context *ctx, tune_job *job, int count, double without,
                             sn_rotreg_fit_options *options) {
  job->options = *options, job->tilting = true;
  if (try_all(ctx, job, count) != SN_OK) return ctx->error.status;
  double miss[1 + choices] = {without};
  for (int c = 0; c < choice_count(job); c++) miss[1 + c] = total_miss(job, count, c, 0);
  int best = sn_simplest(miss, 1 + choice_count(job), worth_it(job));
  if (best > 0) options->tilt_ridge = tilt_ridge(job, best - 1);
  return SN_OK;
}

sn_status sn_rotreg_tune(sn_context *ctx, const sn_rotreg_rotations *rotations, const sn_folds *folds,
                         const sn_mat3 *sequences, int count, const sn_rotreg_local *local,
                         sn_rotreg_fit_options *options) {
  sn_arena scratch = sn_arena_new(ctx);
  tune_job job = {
    .rotations = rotations, .folds = folds, .sequences = sequences, .options = *options, .local = local};
  job.work_size = sn_rotreg_work_size(rotations->pose_count);
  job.work = sn_arena_alloc(ctx, &scratch, (size_t)sn_threads(ctx), job.work_size);
  job.miss = sn_arena_alloc(ctx, &scratch, (size_t)count, sizeof *job.miss);
  sn_status status = job.work && job.miss ? SN_OK : ctx->error.status;
  double angles[choices], shears[choices];
  for (int c = 0; status == SN_OK && c < choice_count(&job); c++) {
    job.options.map_ridge = local ? local_map_ridges[c] : map_ridges[c];
    job.options.shear_ridge = local ? local_shear_ridges[c] : shear_ridges[c] * rotations->pose_count;
    status = try_all(ctx, &job, count);
    angles[c] = total_miss(&job, count, 0, 0), shears[c] = total_miss(&job, count, 0, 1);
  }
  if (status == SN_OK) {
    int free = sn_simplest(angles, choice_count(&job), worth_it(&job)),
        shear = sn_simplest(shears, choice_count(&job), local ? clearly : 1);
    options->map_ridge = local ? local_map_ridges[free] : map_ridges[free];
    options->shear_ridge = local ? local_shear_ridges[shear] : shear_ridges[shear] * rotations->pose_count;
    status = choose_tilt(ctx, &job, count, angles[free], options);
  }
  sn_arena_free(&scratch);
  return status;
}
