// SPDX-License-Identifier: MIT
// One vertex: minimise sum_f |x_f(w) - x_f|^2 + mu F s |w - w0|^2 over the simplex of the joints near it, w0 the prior, s the mean
// squared distance at which single near joints leave the vertices. mu is chosen for the whole mesh on poses left out, and
// what is left out is decided vertex by vertex, by what its joints do to it: poses that look alike to a vertex go together.
#include "train/skin/prior.h"

#include <math.h>
#include <string.h>

#include "base/team.h"
#include "solve/solve.h"
#include "train/folds.h"
#include "train/near.h"

// The usual strength. What the given skin leaves of what single joints leave, with the better of the two blends, says how far its weights may be
// wrong: usual / left^2, as a prior's variance has it, between these bounds. What is left of an error that the other blend does not have is
// the blend's, and weights that make up for it in one clip are wrong in the next: characters whose frames are dual quaternions of their own weights
// (glTF's Fox, Soldier, CesiumMan and others, clip to clip) leave with lbs 0.92 to 3.24 of the given skin with 0.25 and 0.69 to 1.00 with 10, and dqs of
// linear frames the same. 0.25 was read off cheburashka's pairs of clips (rom, pose, pose-b, halves; left: 0.22 to 0.26) and agreed with the generated athlete.
// Weaker ones are not asked: where a character only breathes, poses left out like them, and its walk does not.
static const double usual = 0.25 * 0.22 * 0.22, least_usual = 0.25, most_usual = 10;

// Of that, strengths to choose from: stronger, and the prior itself. Left-out errors are flat around the best
// and their minimum is not where that of new motion is, so another strength than the usual one has to be clearly better
// (`clearly`, in squared errors).
static const double strengths[] = {1, 4, 12, INFINITY};
enum { strength_count = sizeof strengths / sizeof *strengths };
static const double clearly = 1.1 * 1.1;

// Squared errors of a vertex that is the same with every strength, and of its best single joint.
enum { fixed_error = strength_count, rigid_error, sample_numbers };

// Vertices that choose: more changed the choice on no set (athlete, arm, shoulder; cheburashka as a check). Dual
// quaternions cost twenty times as much each.
enum { linear_samples = 150, dual_samples = 60, dual_rounds = 8 };

// Of the diagonal: near joints that in a pose put a vertex nearer to each other than this tell nothing about weights, and the prior decides. Without
// it rounding did, where a clip moves no joint near a vertex (glTF's robot, dance to walk: 25 times the error of the given skin).
static const double no_motion = 1e-3;

// Poses are alike to a vertex when they put its near joints' predictions nearer to each other than this part of the
// largest such distance.
static const double alike = 0.25;

typedef struct prior_job {
  const sn_blend *blend;
  const sn_skin *prior;
  sn_near near;
  int influences;
  double scale;    // s: the square of no_motion
  double usual;    // strength
  double strength; // mu
  sn_skin *out;
  int sample_count, sample_step;
  double *errors;    // sample_count * sample_numbers: of every strength, then `fixed` and `rigid`
  sn_status *status; // per sample
  sn_context *ctx;
} prior_job;

// One vertex with its near joints and prior weights.
typedef struct near_vertex {
  int i, count;
  uint16_t joints[SN_SIMPLEX_MAX];
  double prior[SN_SIMPLEX_MAX];
  double metric[SN_SIMPLEX_MAX][SN_SIMPLEX_MAX]; // squared distance between what two sets of weights do to the vertex
} near_vertex;

static bool is_below(const sn_skeleton *skeleton, int joint, int top) {
  for (int depth = 0; joint >= 0 && depth <= skeleton->joint_count; joint = skeleton->parents[joint], depth++)
    if (joint == top) return true;
  return false;
}

// Each near joint in turn, turned by any small angle about any axis, carries the vertex with all joints below it: where two
// sets of weights then differ by e_k, the vertex differs by sum e_k over those joints, times its distance from the centre.
static void measure(const sn_skeleton *skeleton, sn_vec3 rest, double least, near_vertex *v) {
  for (int c = 0; c < v->count; c++) {
    int top = v->joints[c];
    sn_vec3 arm = sn_vec3_sub(rest, sn_affine_translation(skeleton->rest[top]));
    double size = sn_vec3_dot(arm, arm) + least;
    bool carried[SN_SIMPLEX_MAX] = {false};
    for (int k = 0; k < v->count; k++) carried[k] = is_below(skeleton, v->joints[k], top);
    for (int k = 0; k < v->count; k++)
      for (int l = 0; l < v->count; l++) v->metric[k][l] += carried[k] && carried[l] ? size : 0;
  }
}

static near_vertex look_at(const prior_job *job, int i) {
  near_vertex v = {.i = i};
  const sn_skin *skin = job->prior;
  v.count = sn_near_joints(&job->near, i, SN_SIMPLEX_MAX, v.joints);
  double sum = 0;
  for (int c = 0; c < v.count; c++)
    for (int k = 0; k < skin->influences; k++) {
      size_t at = (size_t)i * (size_t)skin->influences + (size_t)k;
      if (skin->joints[at] == v.joints[c]) v.prior[c] += skin->weights[at], sum += skin->weights[at];
    }
  for (int c = 0; c < v.count; c++) v.prior[c] /= sum;
  measure(&job->blend->examples->skeleton, sn_vec3_from(job->blend->examples->rest.positions[i]), job->scale, &v);
  return v;
}

// The normal equations of a step over `count` poses, and the squared error there.
static double linearise(const prior_job *job, const near_vertex *v, const int *poses, int count,
                        const double *weights, sn_simplex *q) {
  double error = 0, gradient[SN_SIMPLEX_MAX] = {0};
  sn_vec3 column[SN_SIMPLEX_MAX];
  if (q) *q = (sn_simplex){.n = v->count};
  for (int n = 0; n < count; n++) {
    sn_vec3 residual =
      sn_blend_residual(job->blend, poses ? poses[n] : n, v->i, v->joints, weights, v->count, q ? column : NULL);
    error += sn_vec3_dot(residual, residual);
    for (int k = 0; q && k < v->count; k++) {
      gradient[k] += sn_vec3_dot(column[k], residual);
      for (int l = 0; l <= k; l++) q->a[k][l] += sn_vec3_dot(column[k], column[l]);
    }
  }
  for (int k = 0; q && k < v->count; k++)
    for (int l = 0; l < k; l++) q->a[l][k] = q->a[k][l];
  for (int k = 0; q && k < v->count; k++) {
    q->b[k] = -gradient[k];
    for (int l = 0; l < v->count; l++) q->b[k] += q->a[k][l] * weights[l];
  }
  return error;
}

static void add_ridge(sn_simplex *q, const double *to, double amount) {
  for (int k = 0; k < q->n; k++) q->a[k][k] += amount, q->b[k] += amount * to[k];
}

static void pull_to_prior(sn_simplex *q, const near_vertex *v, double amount) {
  for (int k = 0; k < q->n; k++)
    for (int l = 0; l < q->n; l++) {
      q->a[k][l] += amount * v->metric[k][l];
      q->b[k] += amount * v->metric[k][l] * v->prior[l];
    }
}

static double from_prior(const near_vertex *v, const double *weights) {
  double sum = 0;
  for (int k = 0; k < v->count; k++)
    for (int l = 0; l < v->count; l++) {
      sum += (weights[k] - v->prior[k]) * v->metric[k][l] * (weights[l] - v->prior[l]);
    }
  return sum;
}

static void solve(const prior_job *job, sn_simplex *q, double *weights) {
  memcpy(q->w, weights, sizeof q->w);
  sn_simplex_solve_sparse(q, job->influences);
  memcpy(weights, q->w, sizeof q->w);
}

// Size of a matrix on vectors that sum to zero, which is what weights can change by.
static double size_of(int n, const double (*a)[SN_SIMPLEX_MAX]) {
  double trace = 0, sum = 0;
  for (int k = 0; k < n; k++) {
    trace += a[k][k];
    for (int l = 0; l < n; l++) sum += a[k][l];
  }
  return trace - sum / n;
}

// From `weights`: one solve for linear blending, damped Gauss-Newton steps for dual quaternions.
static void fit_vertex(const prior_job *job, const near_vertex *v, const int *poses, int count, double strength,
                       double *weights) {
  if (v->count < 2) return;
  sn_simplex base;
  double error = linearise(job, v, poses, count, weights, &base), damping = 1e-4;
  double mu = strength * (size_of(v->count, (const double(*)[SN_SIMPLEX_MAX])base.a) + count * job->scale) /
              size_of(v->count, (const double(*)[SN_SIMPLEX_MAX])v->metric);
  error += mu * from_prior(v, weights);
  if (!job->blend->motions) {
    pull_to_prior(&base, v, mu);
    solve(job, &base, weights);
    return;
  }
  for (int round = 0; round < dual_rounds && damping < 1e3; round++) {
    sn_simplex step = base;
    double size = 1e-300, trial[SN_SIMPLEX_MAX];
    for (int k = 0; k < v->count; k++) size += base.a[k][k];
    pull_to_prior(&step, v, mu);
    add_ridge(&step, weights, damping * size);
    memcpy(trial, weights, sizeof trial);
    solve(job, &step, trial);
    sn_simplex next;
    double found = linearise(job, v, poses, count, trial, &next) + mu * from_prior(v, trial);
    if (!(found < error)) {
      damping *= 10;
      continue;
    }
    bool settled = found > error * (1 - 1e-3);
    memcpy(weights, trial, sizeof trial);
    if (settled) break;
    base = next, error = found;
    damping *= 0.3;
  }
}

// ---- the strength ----------------------------------------------------------------------------------------------------

// Poses by which the strength is chosen: every pair of them is compared, so of long clips they are spread evenly.
enum { most_poses = 512 };

static int chosen_poses(const sn_blend *blend) {
  return blend->keys->count < most_poses ? blend->keys->count : most_poses;
}

static int chosen_pose(const sn_blend *blend, int k) {
  return (int)((int64_t)k * blend->keys->count / chosen_poses(blend));
}

// How near joints move the vertex against its first: what weights can tell poses apart by.
static sn_status pose_distances(sn_context *ctx, sn_arena *memory, const prior_job *job, const near_vertex *v,
                                double **out, double *largest) {
  const sn_blend *blend = job->blend;
  int count = chosen_poses(blend), dims = v->count - 1;
  sn_vec3 *seen = SN_NEW(ctx, memory, sn_vec3, (size_t)count * (size_t)dims);
  *out = SN_NEW(ctx, memory, double, (size_t)count *(size_t)count);
  if (!seen || !*out) return ctx->error.status;
  sn_vec3 rest = sn_vec3_from(blend->examples->rest.positions[v->i]);
  for (int k = 0; k < count; k++) {
    const sn_affine *pose = sn_pose(&blend->examples->poses, blend->keys->frames[chosen_pose(blend, k)]);
    sn_affine back;
    if (!sn_affine_invert(pose[v->joints[0]], &back)) back = sn_affine_identity();
    for (int c = 0; c < dims; c++) {
      seen[k * dims + c] = sn_affine_apply(back, sn_affine_apply(pose[v->joints[c + 1]], rest));
    }
  }
  *largest = 0;
  for (int a = 0; a < count; a++)
    for (int b = 0; b < count; b++) {
      double sum = 0;
      for (int c = 0; c < dims; c++) {
        sn_vec3 d = sn_vec3_sub(seen[a * dims + c], seen[b * dims + c]);
        sum += sn_vec3_dot(d, d);
      }
      (*out)[(size_t)a * (size_t)count + (size_t)b] = sqrt(sum);
      *largest = fmax(*largest, sqrt(sum));
    }
  return SN_OK;
}

// Squared error over the poses by which the strength is chosen.
static double error_with(const prior_job *job, const near_vertex *v, const double *weights) {
  double sum = 0;
  for (int k = 0; k < chosen_poses(job->blend); k++) {
    int pose = chosen_pose(job->blend, k);
    sum += linearise(job, v, &pose, 1, weights, NULL);
  }
  return sum;
}

// That of the best single joint, whatever the blend.
static double least_rigid(const prior_job *job, int i) {
  const sn_examples *examples = job->blend->examples;
  double least = INFINITY;
  for (int j = 0; j < examples->skeleton.joint_count; j++) {
    near_vertex v = {.i = i, .count = 1, .joints = {(uint16_t)j}};
    least = fmin(least, error_with(job, &v, (double[SN_SIMPLEX_MAX]){1}));
  }
  return least;
}

// Squared errors of the left-out poses for every strength, each fit starting from the one before.
static sn_status try_strengths(sn_context *ctx, const prior_job *job, const near_vertex *v, double *errors) {
  sn_arena scratch = sn_arena_new(ctx);
  sn_folds folds;
  double *distances, largest = 0;
  sn_status status = pose_distances(ctx, &scratch, job, v, &distances, &largest);
  if (status == SN_OK && largest > 0) {
    status =
      sn_folds_similar(ctx, &scratch, chosen_poses(job->blend), distances, alike * largest, sn_usual_folds, &folds);
    for (int n = 0; status == SN_OK && n < folds.fold_count; n++) {
      const sn_fold *fold = &folds.folds[n];
      for (int k = 0; k < fold->count; k++) fold->poses[k] = chosen_pose(job->blend, fold->poses[k]);
      double weights[SN_SIMPLEX_MAX];
      memcpy(weights, v->prior, sizeof weights);
      for (int s = 0; s < strength_count; s++) {
        if (isfinite(strengths[s]))
          fit_vertex(job, v, fold->poses, fold->outside_count, job->usual * strengths[s], weights);
        else
          memcpy(weights, v->prior, sizeof weights);
        errors[s] +=
          linearise(job, v, fold->poses + fold->outside_count, fold->count - fold->outside_count, weights, NULL);
      }
    }
  }
  if (!(largest > 0)) errors[fixed_error] = error_with(job, v, v->prior);
  sn_arena_free(&scratch);
  return status;
}

static void sample_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const prior_job *job = user;
  for (int64_t n = begin; n < end; n++) {
    near_vertex v = look_at(job, (int)n * job->sample_step);
    sn_context ctx = {.allocator = job->ctx->allocator, .threads = 1};
    double *errors = job->errors + n * sample_numbers;
    if (v.count > 1) {
      job->status[n] = try_strengths(&ctx, job, &v, errors);
    } else {
      errors[fixed_error] = error_with(job, &v, v.prior);
    }
    errors[rigid_error] = least_rigid(job, v.i);
    // One vertex of every frame: a window of 64 KB each.
    sn_frames_used(&job->blend->examples->frames, 5461, job->blend->keys->count);
  }
}

// `expected`: the enveloping error that the chosen strength leaves on poses left out.
static sn_status choose_strength(sn_context *ctx, sn_arena *memory, prior_job *job, double *expected) {
  int n = job->sample_count;
  job->errors = SN_NEW(ctx, memory, double, (size_t)n *sample_numbers);
  job->status = SN_NEW(ctx, memory, sn_status, n);
  if (!job->errors || !job->status) return ctx->error.status;
  sn_team_for(ctx, n, 4, sample_range, job);
  sn_status status = sn_team_gather(ctx, n, 4, job->errors, sample_numbers * sizeof *job->errors);
  if (status == SN_OK) status = sn_team_gather(ctx, n, 4, job->status, sizeof *job->status);
  if (status != SN_OK) return status;
  double errors[sample_numbers] = {0};
  for (int k = 0; k < n; k++) {
    if (job->status[k] != SN_OK) return sn_fail(ctx, job->status[k], "not enough memory to choose the weights");
    for (int s = 0; s < sample_numbers; s++) errors[s] += job->errors[k * sample_numbers + s];
  }
  int best = sn_simplest(errors, strength_count, clearly);
  job->strength = job->usual * strengths[best];
  if (errors[rigid_error] > 0) *expected = sqrt((errors[best] + errors[fixed_error]) / errors[rigid_error]);
  return SN_OK;
}

void sn_prior_expected(const sn_blend *blend, const sn_skin *skin, double *expected) {
  const prior_job job = {.blend = blend, .prior = skin};
  int n = skin->vertex_count, step = (n + linear_samples - 1) / linear_samples;
  double left = 0, rigid = 0;
  for (int i = 0; i < n; i += step) {
    near_vertex v = {.i = i, .count = sn_skin_row_influences(skin, i)};
    double weights[SN_SIMPLEX_MAX] = {0};
    for (int k = 0; k < v.count; k++) {
      v.joints[k] = skin->joints[(size_t)i * (size_t)skin->influences + (size_t)k];
      weights[k] = skin->weights[(size_t)i * (size_t)skin->influences + (size_t)k];
    }
    left += error_with(&job, &v, weights), rigid += least_rigid(&job, i);
  }
  *expected = rigid > 0 ? sqrt(left / rigid) : 0;
}

sn_status sn_prior_better_blend(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                                const sn_skin *skin, sn_turn **turns, double *left) {
  const sn_blend linear = {.examples = examples, .keys = keys};
  sn_blend dual;
  double of_dual = 0;
  sn_status status = sn_turns_make(ctx, memory, &examples->skeleton, &examples->poses, keys, turns);
  if (status == SN_OK) status = sn_blend_new(ctx, memory, examples, keys, *turns, &dual);
  if (status != SN_OK) return status;
  sn_prior_expected(&linear, skin, left);
  sn_prior_expected(&dual, skin, &of_dual);
  if (of_dual < *left) {
    *left = of_dual;
  } else {
    *turns = NULL;
  }
  return SN_OK;
}

static sn_status find_usual(sn_context *ctx, sn_arena *memory, prior_job *job) {
  sn_turn *turns;
  double left = 0;
  sn_status status =
    sn_prior_better_blend(ctx, memory, job->blend->examples, job->blend->keys, job->prior, &turns, &left);
  job->usual = fmin(fmax(usual / fmax(left * left, 1e-30), least_usual), most_usual);
  return status;
}

// ---- the skin --------------------------------------------------------------------------------------------------------

static void fit_range(void *user, int64_t begin, int64_t end, int worker) {
  const prior_job *job = user;
  if (worker == 0 && job->blend->examples->frames.file.map) // the caller's thread
    sn_progress(job->ctx, "fitting weights", (double)begin / job->out->vertex_count);
  for (int64_t i = begin; i < end; i++) {
    near_vertex v = look_at(job, (int)i);
    double weights[SN_SIMPLEX_MAX];
    memcpy(weights, v.prior, sizeof weights);
    if (isfinite(job->strength)) fit_vertex(job, &v, NULL, job->blend->keys->count, job->strength, weights);
    for (int k = 0; k < job->influences; k++) {
      int best = 0;
      for (int c = 1; c < v.count; c++)
        if (weights[c] > weights[best]) best = c;
      size_t at = (size_t)i * (size_t)job->influences + (size_t)k;
      job->out->joints[at] = v.joints[best], job->out->weights[at] = (float)fmax(weights[best], 0);
      weights[best] = -1;
    }
  }
  sn_frames_used(&job->blend->examples->frames, end - begin, job->blend->keys->count);
}

sn_status sn_prior_fit(sn_context *ctx, const sn_blend *blend, const sn_skin *prior, const sn_prior_options *options,
                       sn_skin *out, double *expected) {
  sn_arena scratch = sn_arena_new(ctx);
  int n = prior->vertex_count, most = blend->motions ? dual_samples : linear_samples;
  prior_job job = {.blend = blend, .prior = prior, .influences = options->influences, .out = out, .ctx = ctx};
  job.sample_step = (n + most - 1) / most;
  job.sample_count = (n + job.sample_step - 1) / job.sample_step;
  double diagonal = sn_points_diagonal((const float(*)[3])blend->examples->rest.positions, n);
  job.scale = no_motion * no_motion * diagonal * diagonal;
  job.strength = options->strength;
  *out = (sn_skin){0}, *expected = 0;
  sn_status status = sn_near_new(ctx, &scratch, &blend->examples->skeleton, prior, &job.near);
  if (status == SN_OK && options->strength == 0) status = find_usual(ctx, &scratch, &job);
  if (status == SN_OK && options->strength == 0) status = choose_strength(ctx, &scratch, &job, expected);
  if (status == SN_OK) status = sn_skin_new(ctx, n, options->influences, out);
  if (status == SN_OK) {
    size_t row = (size_t)options->influences;
    sn_team_for(ctx, n, 64, fit_range, &job);
    status = sn_team_gather(ctx, n, 64, out->joints, row * sizeof *out->joints);
    if (status == SN_OK) status = sn_team_gather(ctx, n, 64, out->weights, row * sizeof *out->weights);
    sn_skin_normalize(out);
  }
  sn_arena_free(&scratch);
  return status;
}
