// SPDX-License-Identifier: MIT
// Fits pairs of predictors and the functions that blend them.
#include <string.h>

#include "base/scope.h"
#include "solve/solve.h"
#include "train/rotreg/reduced.h"

enum {
  terms = sn_rotreg_shear_terms,
  rounds = 16,         // of pairs and functions in alternation
  published_enough = 3 // examples at each end of the range: the fewest poses of the examples in Wang 2007
};

typedef struct fit_job {
  sn_rotreg_training *t;
  sn_rotreg_predictor *bases; // [gradient][1 + fold]: without torques, of all poses and without each fold
  sn_mat3 *rotation, *shear;  // [gradient][pose]: polar parts of the gradients
  double *residual;           // per gradient: squared held-out error
  char *work;
  size_t work_size;
} fit_job;

// Scratch memory of one worker.
typedef struct fit_work {
  double *blend[2];   // f_r and f_s of every pose
  double unloaded[2]; // the same at torque 0; NAN if that is outside the range
  int *pick;
  sn_rotreg_work *fit;
} fit_work;

static fit_work work_of(const fit_job *job, int worker) {
  size_t poses = (size_t)job->t->rotations.pose_count;
  double *at = (double *)(void *)(job->work + (size_t)worker * job->work_size);
  return (fit_work){
    .blend = {at, at + poses}, .pick = (int *)(void *)(at + 2 * poses), .fit = (void *)(at + 3 * poses)};
}

static size_t joint_row(const fit_job *job, int pose) { return (size_t)pose * (size_t)job->t->rotations.joint_count; }
static size_t pose_row(const fit_job *job, int l) { return (size_t)l * (size_t)job->t->rotations.pose_count; }

// ---- prediction -----------------------------------------------------------------------------------------------------

static sn_mat3 slerp(sn_mat3 from, sn_mat3 to, double t) {
  return sn_quat_to_mat3(sn_quat_slerp(sn_quat_from_mat3(from), sn_quat_from_mat3(to), t));
}

// D(q, tau) of section III.
sn_mat3 sn_torque_predict(const sn_torque_pair *pair, const sn_torque_functions *functions, const sn_mat3 *rotation,
                          const sn_vec3 *theta, const double *x) {
  double f[2] = {0, 0};
  if (pair->load >= 0) sn_torque_blend(&functions[pair->load], x[pair->load], f);
  sn_mat3 r = slerp(sn_rotreg_predict_rotation(&pair->ends[0], rotation, theta),
                    sn_rotreg_predict_rotation(&pair->ends[1], rotation, theta), f[0]);
  sn_mat3 from = sn_rotreg_predict_shear(&pair->ends[0], theta), to = sn_rotreg_predict_shear(&pair->ends[1], theta);
  return sn_mat3_mul(r, sn_mat3_add(sn_mat3_scale(from, 1 - f[1]), sn_mat3_scale(to, f[1])));
}

static sn_mat3 predict_pose(const fit_job *job, const sn_torque_pair *pair, int pose) {
  size_t at = joint_row(job, pose);
  return sn_torque_predict(pair, job->t->torque.functions, job->t->rotations.rotation + at,
                           job->t->rotations.theta + at, job->t->loads.x + at);
}

// ---- the fit of a pair for given blending values --------------------------------------------------------------------

// Poses pick[0 .. count) of key gradient l.
typedef struct part {
  const fit_job *job;
  int l, count;
  const int *pick;
  fit_work *w;
} part;

static void add_row(sn_rotreg_regression *r, const double *phi, double f, const double *y) {
  double row[2 * terms];
  for (int k = 0; k < terms; k++) row[k] = phi[k], row[terms + k] = f * phi[k];
  sn_rotreg_regression_add(r, row, y);
}

// y = (H_0 + f (H_1 - H_0)) phi. If torque 0 is in the range, the rest pose is one more example with y = 0.
static void solve_ends(sn_rotreg_regression *r, double unloaded, double (*h0)[terms], double (*h1)[terms]) {
  const double rest[terms] = {0, 0, 0, 0, 0, 0, 1}, none[6] = {0};
  if (!isnan(unloaded)) add_row(r, rest, unloaded, none);
  sn_rotreg_regression_solve(r, sn_torque_ridge, sn_rotreg_rounding);
  for (int c = 0; c < r->columns; c++)
    for (int k = 0; k < terms; k++) h0[c][k] = r->b[k][c], h1[c][k] = r->b[k][c] + r->b[terms + k][c];
}

// Fits both ends to all examples: factors are those of `base`, tilts and scale/shear are linear in [phi, f phi].
static void fit_together(const part *p, const sn_rotreg_predictor *base, sn_torque_pair *out) {
  const fit_job *job = p->job;
  sn_rotreg_predictor upright = *base;
  sn_rotreg_regression tilt = {.terms = 2 * terms, .columns = 3}, shear = {.terms = 2 * terms, .columns = 6};
  memset(upright.tilt, 0, sizeof upright.tilt);
  out->ends[0] = out->ends[1] = upright;
  for (int i = 0; i < p->count; i++) {
    int pose = p->pick[i];
    size_t at = joint_row(job, pose), truth = pose_row(job, p->l) + (size_t)pose;
    const sn_vec3 *theta = job->t->rotations.theta + at;
    sn_mat3 rotated = sn_rotreg_predict_rotation(&upright, job->t->rotations.rotation + at, theta);
    sn_vec3 left = sn_rotation_log(sn_mat3_mul(sn_mat3_transpose(rotated), job->rotation[truth]));
    double phi[terms], y[6];
    sn_rotreg_terms(base->shear_joints, theta, phi);
    add_row(&tilt, phi, p->w->blend[0][pose], (const double[3]){left.x, left.y, left.z});
    sn_rotreg_vec(job->shear[truth], y);
    add_row(&shear, phi, p->w->blend[1][pose], y);
  }
  solve_ends(&tilt, p->w->unloaded[0], out->ends[0].tilt, out->ends[1].tilt);
  solve_ends(&shear, p->w->unloaded[1], out->ends[0].h, out->ends[1].h);
  for (int n = 0; n < 6; n++) out->ends[n / 3].h[n % 3][terms - 1] += 1;
}

// The poses at one end of the torque range, to w->pick: fewer than `published_enough` other poses are more extreme.
static int at_end(const part *p, int load, int end) {
  const double *x = p->job->t->loads.x;
  int found = 0, sign = end ? -1 : 1;
  for (int i = 0; load >= 0 && i < p->count; i++) {
    int beyond = 0;
    double at = sign * x[joint_row(p->job, p->pick[i]) + (size_t)load] - sn_rotreg_rounding;
    for (int k = 0; k < p->count; k++) beyond += sign * x[joint_row(p->job, p->pick[k]) + (size_t)load] < at;
    if (beyond < published_enough) p->w->pick[found++] = p->pick[i];
  }
  return found;
}

// published=1: fits one end to the examples there, as in the paper.
static void fit_end(const part *p, int end, sn_torque_pair *out) {
  const fit_job *job = p->job;
  int there = at_end(p, out->load, end);
  sn_rotreg_fit_options options = sn_rotreg_fit_options_near(job->t, p->l);
  sn_rotreg_sample sample = {&job->t->rotations, job->t->gradients.sequence + pose_row(job, p->l), p->w->pick, there,
                             &options};
  sn_rotreg_fit(&sample, p->w->fit, &out->ends[end]);
}

static void set_blends(const fit_job *job, int load, fit_work *w) {
  double unloaded = load < 0 ? 0 : sn_torque_unloaded(&job->t->loads, load), f[2] = {0, 0};
  if (load >= 0 && !isnan(unloaded)) sn_torque_blend(&job->t->torque.functions[load], unloaded, f);
  for (int n = 0; n < 2; n++) w->unloaded[n] = isnan(unloaded) ? unloaded : f[n];
  for (int k = 0; k < job->t->rotations.pose_count; k++) {
    if (load >= 0)
      sn_torque_blend(&job->t->torque.functions[load], job->t->loads.x[joint_row(job, k) + (size_t)load], f);
    w->blend[0][k] = f[0], w->blend[1][k] = f[1];
  }
}

// Fits the pair of a key gradient that follows the torque of `load`. `base`: 0 for all poses, 1 + f without fold f.
static void fit_pair(const part *p, int base, int load, sn_torque_pair *out) {
  const fit_job *job = p->job;
  *out = (sn_torque_pair){.load = load};
  if (job->t->fit.published) {
    for (int end = 0; end < 2; end++) fit_end(p, end, out);
    return;
  }
  set_blends(job, load, p->w);
  fit_together(p, &job->bases[p->l * (1 + job->t->folds.fold_count) + base], out);
}

// ---- cross-validation -----------------------------------------------------------------------------------------------

// The squared error of the pair on held-out poses; `held_out` (may be NULL) receives its predicted gradients.
static double hold_out(const fit_job *job, int l, int load, fit_work *w, sn_mat3 *held_out) {
  double residual = 0;
  for (int f = 0; f < job->t->folds.fold_count; f++) {
    const sn_fold *fold = &job->t->folds.folds[f];
    sn_torque_pair pair;
    fit_pair(&(part){job, l, fold->outside_count, fold->poses, w}, 1 + f, load, &pair);
    for (int m = fold->outside_count; m < fold->count; m++) {
      int pose = fold->poses[m];
      sn_mat3 gradient = predict_pose(job, &pair, pose);
      double norm = sn_mat3_norm(sn_mat3_sub(gradient, job->t->gradients.sequence[pose_row(job, l) + (size_t)pose]));
      residual += norm * norm;
      if (held_out) held_out[(size_t)pose * (size_t)job->t->gradients.gradient_count + (size_t)l] = gradient;
    }
  }
  return residual;
}

static void hold_out_range(void *user, int64_t begin, int64_t end, int worker) {
  const fit_job *job = user;
  fit_work w = work_of(job, worker);
  for (int64_t l = begin; l < end; l++)
    job->residual[l] = hold_out(job, (int)l, job->t->torque.pairs[l].load, &w, job->t->held_out);
}

static double held_out_error(const fit_job *job) {
  double sum = 0;
  sn_parallel_for(job->t->ctx, job->t->gradients.gradient_count, 1, hold_out_range, (void *)job);
  for (int l = 0; l < job->t->gradients.gradient_count; l++) sum += job->residual[l];
  return sum;
}

// ---- choices --------------------------------------------------------------------------------------------------------

static bool moves(const fit_job *job, int j) { return job->t->loads.range[j][1] > job->t->loads.range[j][0]; }

// True if the torque changes and, with a prior, the joint is near the key gradient.
static bool may_follow(const fit_job *job, int l, int load) {
  return moves(job, load) &&
         (!job->t->local || job->t->local[(size_t)l * (size_t)job->t->rotations.joint_count + (size_t)load].near);
}

// Chooses the joint whose torque gives the least cross-validated error, or none (-1) if no torque lowers it.
static void choose_load_range(void *user, int64_t begin, int64_t end, int worker) {
  const fit_job *job = user;
  fit_work w = work_of(job, worker);
  for (int64_t l = begin; l < end; l++) {
    double least = INFINITY;
    for (int load = -1; load < job->t->rotations.joint_count; load++) {
      if (load >= 0 && !may_follow(job, (int)l, load)) continue;
      double residual = hold_out(job, (int)l, load, &w, NULL);
      if (residual < least) least = residual, job->t->torque.pairs[l].load = load;
    }
  }
}

// ---- pairs and functions in alternation -----------------------------------------------------------------------------

static void fit_pair_range(void *user, int64_t begin, int64_t end, int worker) {
  const fit_job *job = user;
  fit_work w = work_of(job, worker);
  for (int64_t l = begin; l < end; l++) {
    const part all = {job, (int)l, job->t->rotations.pose_count, job->t->folds.folds[0].poses, &w};
    fit_pair(&all, 0, job->t->torque.pairs[l].load, &job->t->torque.pairs[l]);
  }
}

// a.a and a.b of every pose, summed over the gradients that follow joint j: for rotations of logarithms relative to the
// first end, for scale/shear of matrix differences.
static void sum_weights(const fit_job *job, int j, double *aa[2], double *ab[2]) {
  for (int l = 0; l < job->t->gradients.gradient_count; l++) {
    const sn_torque_pair *pair = &job->t->torque.pairs[l];
    if (pair->load != j) continue;
    for (int k = 0; k < job->t->rotations.pose_count; k++) {
      size_t at = joint_row(job, k), truth = pose_row(job, l) + (size_t)k;
      const sn_mat3 *rotation = job->t->rotations.rotation + at;
      const sn_vec3 *theta = job->t->rotations.theta + at;
      sn_mat3 back = sn_mat3_transpose(sn_rotreg_predict_rotation(&pair->ends[0], rotation, theta));
      sn_vec3 a = sn_rotation_log(sn_mat3_mul(back, sn_rotreg_predict_rotation(&pair->ends[1], rotation, theta)));
      sn_vec3 b = sn_rotation_log(sn_mat3_mul(back, job->rotation[truth]));
      aa[0][k] += sn_vec3_dot(a, a), ab[0][k] += sn_vec3_dot(a, b);
      sn_mat3 s = sn_rotreg_predict_shear(&pair->ends[0], theta);
      sn_mat3 to = sn_mat3_sub(sn_rotreg_predict_shear(&pair->ends[1], theta), s),
              is = sn_mat3_sub(job->shear[truth], s);
      for (int n = 0; n < 9; n++) {
        aa[1][k] += to.m[n / 3][n % 3] * to.m[n / 3][n % 3], ab[1][k] += to.m[n / 3][n % 3] * is.m[n / 3][n % 3];
      }
    }
  }
}

enum { columns = 4 + 1 }; // a.a and a.b of rotations and of scale/shear; x

typedef struct function_job {
  const fit_job *fit;
  double *numbers; // [joint][columns][pose]
} function_job;

static void fit_function_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const function_job *f = user;
  const fit_job *job = f->fit;
  int poses = job->t->rotations.pose_count;
  for (int64_t j = begin; j < end; j++) {
    double *at = f->numbers + (size_t)j * columns * (size_t)poses;
    double *aa[2] = {at, at + poses}, *ab[2] = {at + 2 * poses, at + 3 * poses}, *x = at + 4 * poses;
    memset(at, 0, 4 * (size_t)poses * sizeof *at);
    sum_weights(job, (int)j, aa, ab);
    for (int k = 0; k < poses; k++) x[k] = job->t->loads.x[joint_row(job, k) + (size_t)j];
    sn_torque_functions *to = &job->t->torque.functions[j];
    if (job->t->fit.published) {
      to->offset[0] = sn_torque_fit_polynomial(poses, x, aa[0], ab[0], job->t->loads.degree_r, to->rotation);
      to->offset[1] = sn_torque_fit_polynomial(poses, x, aa[1], ab[1], job->t->loads.degree_s, to->shear);
    } else {
      sn_torque_fit_function(poses, x, aa[0], ab[0], job->t->loads.degree_r, to->rotation);
      sn_torque_fit_function(poses, x, aa[1], ab[1], job->t->loads.degree_s, to->shear);
    }
  }
}

static sn_status alternate(const fit_job *job) {
  sn_context *ctx = job->t->ctx;
  SN_SCRATCH(scratch, ctx);
  int joints = job->t->rotations.joint_count, gradients = job->t->gradients.gradient_count;
  function_job functions = {
    job, SN_NEW(ctx, &scratch, double, (size_t)joints *columns *(size_t)job->t->rotations.pose_count)};
  if (!functions.numbers) return ctx->error.status;
  int round_count = job->t->fit.published ? 1 : rounds; // as published, the ends do not depend on the functions
  for (int round = 0; round < round_count; round++) {
    sn_parallel_for(ctx, gradients, 1, fit_pair_range, (void *)job);
    sn_parallel_for(ctx, joints, 1, fit_function_range, &functions);
  }
  sn_parallel_for(ctx, gradients, 1, fit_pair_range, (void *)job);
  return SN_OK;
}

// ---- all of it ------------------------------------------------------------------------------------------------------

static void start_range(void *user, int64_t begin, int64_t end, int worker) {
  const fit_job *job = user;
  fit_work w = work_of(job, worker);
  for (int64_t l = begin; l < end; l++) {
    sn_rotreg_predictor *bases = &job->bases[l * (1 + job->t->folds.fold_count)];
    sn_rotreg_fit_options options = sn_rotreg_fit_options_near(job->t, (int)l);
    for (int k = 0; k < job->t->rotations.pose_count; k++) {
      size_t at = pose_row(job, (int)l) + (size_t)k;
      sn_mat3_polar(job->t->gradients.sequence[at], &job->rotation[at], &job->shear[at]);
    }
    for (int f = 0; f < job->t->folds.fold_count; f++) {
      const sn_fold *fold = &job->t->folds.folds[f];
      sn_rotreg_sample sample = {&job->t->rotations, job->t->gradients.sequence + pose_row(job, (int)l), fold->poses,
                                 fold->outside_count, &options};
      sn_rotreg_refit(&sample, w.fit, &bases[0], &bases[1 + f]);
    }
    job->t->torque.pairs[l].load = -1;
  }
}

static int different_torques(const fit_job *job, int load) {
  int count = 0;
  for (int k = 0; k < job->t->rotations.pose_count; k++) {
    double x = job->t->loads.x[joint_row(job, k) + (size_t)load], nearest = INFINITY;
    for (int m = 0; m < k; m++) nearest = fmin(nearest, fabs(job->t->loads.x[joint_row(job, m) + (size_t)load] - x));
    count += nearest > sn_rotreg_rounding;
  }
  return count;
}

// As in the paper: one joint has a torque, each end is fitted to the extreme examples with separately chosen joints,
// and the polynomials are fitted to the blending weights once.
static sn_status fit_published(fit_job *job) {
  int load = -1, count = 0,
      degree = job->t->loads.degree_r > job->t->loads.degree_s ? job->t->loads.degree_r : job->t->loads.degree_s;
  for (int j = 0; j < job->t->rotations.joint_count; j++)
    if (moves(job, j)) load = j, count++;
  if (count != 1) {
    return sn_fail(job->t->ctx, SN_BAD_INPUT,
                   "published=1 knows the torque of one joint, %d change; choose with joint=NAME", count);
  }
  fit_work w = work_of(job, 0);
  const part all = {job, 0, job->t->rotations.pose_count, job->t->folds.folds[0].poses, &w};
  int least = at_end(&all, load, 0), largest = at_end(&all, load, 1);
  if (least < published_enough || largest < published_enough || least + largest > all.count) {
    return sn_fail(job->t->ctx, SN_BAD_INPUT,
                   "published=1 takes its predictors from the extreme examples, and needs %d training frames at both "
                   "ends of the torque range; train on more frames, or leave out published=1",
                   published_enough);
  }
  if (different_torques(job, load) <= degree) {
    return sn_fail(job->t->ctx, SN_BAD_INPUT,
                   "published=1: a polynomial of degree %d needs %d different torques, not %d", degree, degree + 1,
                   different_torques(job, load));
  }
  for (int l = 0; l < job->t->gradients.gradient_count; l++) job->t->torque.pairs[l].load = load;
  job->t->torque.gain = NAN;
  return alternate(job);
}

static sn_status fit_all(fit_job *job) {
  int folds = 1 + job->t->folds.fold_count;
  for (int l = 0; l < job->t->gradients.gradient_count; l++) job->bases[l * folds] = job->t->predictors[l];
  sn_parallel_for(job->t->ctx, job->t->gradients.gradient_count, 1, start_range, job);
  for (int j = 0; j < job->t->rotations.joint_count; j++)
    job->t->torque.functions[j] = (sn_torque_functions){{1, 0, 0}, {1, 0, 0}, {0, 0}};
  if (job->t->fit.published) return fit_published(job);
  double without = held_out_error(job);
  sn_parallel_for(job->t->ctx, job->t->gradients.gradient_count, 1, choose_load_range, job);
  sn_status status = alternate(job);
  job->t->torque.gain = without > 0 ? held_out_error(job) / without : 1;
  return status;
}

sn_status sn_torque_fit(sn_rotreg_training *t) {
  sn_context *ctx = t->ctx;
  SN_SCRATCH(scratch, ctx);
  size_t gradients = (size_t)t->gradients.gradient_count, poses = (size_t)t->rotations.pose_count;
  fit_job job = {.t = t, .work_size = 3 * poses * sizeof(double) + sn_rotreg_work_size((int)poses)};
  t->torque = (sn_torque_model){.pairs = SN_NEW(ctx, &t->memory, sn_torque_pair, gradients),
                                .functions = SN_NEW(ctx, &t->memory, sn_torque_functions, t->rotations.joint_count)};
  job.bases = SN_NEW(ctx, &scratch, sn_rotreg_predictor, gradients * (size_t)(1 + t->folds.fold_count));
  job.rotation = SN_NEW(ctx, &scratch, sn_mat3, gradients * poses);
  job.shear = SN_NEW(ctx, &scratch, sn_mat3, gradients * poses);
  job.residual = SN_NEW(ctx, &scratch, double, gradients);
  job.work =
    sn_arena_alloc(ctx, &scratch, (size_t)sn_threads(ctx), job.work_size); // indices use the space of doubles
  bool all = t->torque.pairs && t->torque.functions && job.bases && job.rotation && job.shear && job.residual;
  return all && job.work ? fit_all(&job) : ctx->error.status;
}
