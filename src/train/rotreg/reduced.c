// SPDX-License-Identifier: MIT
// Trains the reduced form: clusters, proxy bones, key gradients, their predictors, C1 and C2. The weights of the final
// least-squares problem are the inverse mean squares of each term's residual on held-out poses.
#include "train/rotreg/reduced.h"

#include <math.h>
#include <string.h>

#include "base/team.h"
#include "train/folds.h"
#include "train/near.h"
#include "train/train.h"

typedef struct reduced_job {
  sn_context *ctx;
  sn_arena *memory;
  const sn_examples *examples;
  const sn_keys *keys;
  const sn_rotreg_reduced_options *options;
  sn_rotreg_reduced *out;
  sn_rotreg_training t;
  double diagonal;
  bool *fixed;
} reduced_job;

static int bone_count(const reduced_job *job) { return job->out->bones.bone_count; }

// ---- proxy bones (5.1) ----------------------------------------------------------------------------------------------

// Fits proxy bones to the groups of a cut of the tree, or of mean shift.
static sn_status fit_bones(reduced_job *job, const sn_cluster_tree *tree, int count) {
  sn_context *ctx = job->ctx;
  sn_rotreg_bones *b = &job->out->bones;
  sn_skin_free(&b->skin);
  *b = (sn_rotreg_bones){.group_of = SN_NEW(ctx, job->memory, int, job->examples->rest.triangle_count)};
  if (!b->group_of) return ctx->error.status;
  sn_status status = tree ? sn_cluster_cut(ctx, tree, count, b->group_of, &b->bone_count)
                          : sn_rotreg_mean_shift(ctx, &job->t.data, count, b->group_of, &b->bone_count);
  if (status != SN_OK) return status;
  return sn_rotreg_bones_fit(ctx, job->memory, &job->t.data, job->options->influences, b);
}

// The fewest bones whose rms error is within the limit, by bisection of the logarithm of their number.
static sn_status bones_for_error(reduced_job *job, const sn_cluster_tree *tree, int most) {
  int low = 1, high = most;
  double limit = job->options->error / 100 * job->diagonal;
  sn_status status = SN_OK;
  while (status == SN_OK && low < high) {
    int middle = (int)sqrt((double)low * high);
    status = fit_bones(job, tree, middle);
    if (status != SN_OK) break;
    double rms = sqrt(sn_rotreg_mean(job->out->bones.error, (size_t)job->examples->rest.vertex_count));
    if (rms <= limit) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return status == SN_OK ? fit_bones(job, tree, low) : status;
}

static sn_status make_bones(reduced_job *job) {
  const sn_examples *e = job->examples;
  sn_cluster_tree all, *tree = job->options->mean_shift ? NULL : &all;
  int room = SN_RT_MAX_JOINTS - e->skeleton.joint_count;
  int most = e->rest.triangle_count < room ? e->rest.triangle_count : room, count = job->options->bones;
  sn_status status = tree ? sn_cluster_triangles(job->ctx, job->memory, e, job->keys, tree) : SN_OK;
  if (status != SN_OK) return status;
  if (job->options->error > 0) return bones_for_error(job, tree, most);
  if (count == 0) count = sn_rotreg_default_bones;
  return fit_bones(job, tree, count < most ? count : most);
}

// ---- the prior ------------------------------------------------------------------------------------------------------

// Finds the relevant joints of one key gradient and their shares, from its summed weights on each joint.
static void look_around(const sn_skeleton *skeleton, const sn_near *near, const double *own, sn_rotreg_local *out) {
  int joint_count = skeleton->joint_count;
  double sum = 0;
  for (int j = 0; j < joint_count; j++) sum += own[j];
  for (int j = 0; j < joint_count; j++)
    for (int k = 0; k < joint_count && own[j] >= (double)SN_NEAR_WEIGHT * sum; k++) {
      if (k == j || sn_near_beside(near, j, k)) out[k].near = true;
    }
  for (int n = joint_count - 1; n >= 0; n--) { // children before parents
    int j = skeleton->order[n], parent = skeleton->parents[j];
    out[j].share += own[j] / sum;
    if (parent >= 0) out[parent].share += out[j].share;
  }
}

// A key gradient depends on the joints that have weight on its triangles, and on their neighbours.
static sn_status find_near(reduced_job *job) {
  const sn_mesh *rest = &job->examples->rest;
  const sn_skin *prior = &job->examples->skin;
  size_t gradients = (size_t)bone_count(job), joints = (size_t)job->examples->skeleton.joint_count;
  sn_near near;
  sn_rotreg_local *local;
  if (prior->influences == 0 || job->t.fit.published) return SN_OK;
  double *own = SN_NEW(job->ctx, job->memory, double, gradients *joints);
  local = SN_NEW(job->ctx, job->memory, sn_rotreg_local, gradients * joints);
  sn_status status = own && local ? sn_near_new(job->ctx, job->memory, &job->examples->skeleton, prior, &near)
                                  : job->ctx->error.status;
  for (int n = 0; status == SN_OK && n < 3 * rest->triangle_count; n++) {
    size_t at = (size_t)rest->triangles[n / 3][n % 3] * (size_t)prior->influences;
    double *row = own + (size_t)job->out->bones.group_of[n / 3] * joints;
    for (size_t k = at; k < at + (size_t)prior->influences; k++) row[prior->joints[k]] += (double)prior->weights[k];
  }
  for (size_t l = 0; status == SN_OK && l < gradients; l++)
    look_around(&job->examples->skeleton, &near, own + l * joints, local + l * joints);
  job->t.learned.local = local;
  return status;
}

// ---- the least-squares problem (4.3) --------------------------------------------------------------------------------

// Fixed vertices keep the joints' weights. The others have the proxy bones', which come after the joints in the palette.
static sn_status palette_skin(reduced_job *job) {
  const sn_skin *bones = &job->out->bones.skin, *joints = &job->t.skin;
  int n = bones->vertex_count, most = bones->influences > joints->influences ? bones->influences : joints->influences;
  sn_status status = sn_skin_new(job->ctx, n, most, &job->out->skin);
  for (int i = 0; status == SN_OK && i < n; i++) {
    const sn_skin *from = job->fixed[i] ? joints : bones;
    int shift = job->fixed[i] ? 0 : job->examples->skeleton.joint_count;
    for (int k = 0; k < from->influences; k++) {
      size_t at = (size_t)i * (size_t)from->influences + (size_t)k, to = (size_t)i * (size_t)most + (size_t)k;
      job->out->skin.weights[to] = from->weights[at];
      job->out->skin.joints[to] = (uint16_t)(from->weights[at] > 0 ? from->joints[at] + shift : 0);
    }
  }
  return status;
}

// F: the vertices that linear blend skinning reproduces nearly exactly (4.2).
static sn_status choose_fixed(reduced_job *job) {
  sn_rotreg_anchors blend;
  job->fixed = SN_NEW(job->ctx, job->memory, bool, job->examples->rest.vertex_count);
  sn_status status =
    job->fixed ? sn_rotreg_anchors_blend(job->ctx, job->memory, &job->t.data, &blend) : job->ctx->error.status;
  return status == SN_OK ? sn_rotreg_hard_set(job->ctx, &job->t.data, &blend, job->fixed) : status;
}

// The runtime's drive is in single precision: for a scene far from 0, C is about the centre of the mesh.
static void find_origin(reduced_job *job) {
  const sn_poses *poses = &job->examples->poses;
  sn_vec3 low, high;
  sn_points_bounds((const float(*)[3])job->examples->rest.positions, job->examples->rest.vertex_count, &low, &high);
  float stored[3]; // as in the model
  sn_vec3_store(sn_vec3_scale(sn_vec3_add(low, high), 0.5), stored);
  sn_vec3 centre = sn_vec3_from(stored);
  double farthest = sn_vec3_length(centre);
  for (int f = 0; f < poses->frame_count; f++)
    farthest = fmax(farthest, sn_vec3_length(sn_affine_apply(sn_pose(poses, f)[0], centre)));
  job->out->is_far = farthest > sn_rotreg_far_diagonals * job->diagonal && job->diagonal > 0;
  if (job->out->is_far) job->out->origin = centre;
}

static sn_status solve(reduced_job *job) {
  sn_rotreg_reduction r = {.examples = job->examples,
                           .bones = &job->out->bones,
                           .gradients = &job->t.gradients,
                           .anchors = &job->t.anchors,
                           .fixed = job->fixed,
                           .skin = &job->t.skin,
                           .edge = (const double(*)[2])job->t.edge,
                           .anchor_weight = job->t.anchor_weight,
                           .ridge = job->t.fit.published ? sn_rotreg_rounding : sn_bone_ridge,
                           .origin = job->out->origin};
  return sn_rotreg_solve_c(job->ctx, job->memory, &r, &job->out->c);
}

static sn_status advance(const reduced_job *job, sn_status status, double done) {
  if (status != SN_OK || sn_progress(job->ctx, "rotreg", done)) return status;
  return sn_fail(job->ctx, SN_STOPPED, "rotreg: stopped");
}

static sn_status train_reduced(reduced_job *job) {
  sn_context *ctx = job->ctx;
  sn_status status = sn_rotreg_training_start(ctx, job->memory, job->examples, job->keys, &job->t);
  if (status == SN_OK) status = make_bones(job);
  if (status == SN_OK) status = find_near(job);
  status = advance(job, status, 0.5);
  if (status == SN_OK) {
    status = sn_rotreg_key_gradients_fit(ctx, job->memory, &job->t.data, &job->out->bones, &job->t.gradients);
  }
  if (status == SN_OK) status = sn_rotreg_training_finish(ctx, &job->t);
  job->out->rotations = job->t.rotations;
  job->out->predictors = job->t.learned.predictors, job->out->torque = job->t.learned.torque;
  find_origin(job);
  if (status == SN_OK) status = choose_fixed(job);
  if (status == SN_OK) status = solve(job);
  status = advance(job, status, 1);
  return status == SN_OK ? palette_skin(job) : status;
}

sn_status sn_rotreg_reduced_train(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                                  const sn_rotreg_reduced_options *options, sn_rotreg_reduced *out) {
  *out = (sn_rotreg_reduced){0};
  reduced_job job = {
    .ctx = ctx, .memory = memory, .examples = examples, .keys = keys, .options = options, .out = out};
  job.t.fit = options->fit, job.t.learned.loads = options->loads;
  job.diagonal = sn_points_diagonal((const float(*)[3])examples->rest.positions, examples->rest.vertex_count);
  sn_status status = train_reduced(&job);
  sn_rotreg_training_free(&job.t);
  return status;
}
