// SPDX-License-Identifier: MIT
// How the surface looks in poses that nobody gave: every joint turned alone, and the bumps that this makes.
#include "base/team.h"
#include "rig/solve.h"

#include <math.h>
#include <string.h>

typedef struct turn_job {
  const sn_mesh *rest;
  const sn_rig_result *result;
  const sn_topology *topology;
  const double *bumps; // n: |Laplacian| of the rest pose
  double *sums;        // one per joint
  sn_vec3 *space;      // n per worker
  double *weights;     // n per worker: of the joint that is turned and all below it
  bool *below;         // joints per worker
} turn_job;

// How much every vertex goes along when joint j turns, with all below it.
static void sum_weights(const turn_job *job, int j, bool *below, double *out) {
  const sn_skeleton *skeleton = &job->result->skeleton;
  const sn_skin *skin = &job->result->skin;
  for (int q = 0; q < skeleton->joint_count; q++) {
    int k = skeleton->order[q], parent = skeleton->parents[k];
    below[k] = k == j || (parent >= 0 && below[parent]);
  }
  size_t k = (size_t)skin->influences;
  for (int i = 0; i < job->rest->vertex_count; i++) {
    out[i] = 0;
    for (size_t q = (size_t)i * k; q < (size_t)(i + 1) * k; q++)
      if (skin->weights[q] > 0 && below[skin->joints[q]]) out[i] += (double)skin->weights[q];
  }
}

// The rest pose with joint j turned.
static void turn_joint(const turn_job *job, int j, sn_mat3 turn, const double *weights, sn_vec3 *out) {
  sn_vec3 c = sn_affine_translation(job->result->skeleton.rest[j]);
  for (int i = 0; i < job->rest->vertex_count; i++) {
    sn_vec3 u = sn_vec3_from(job->rest->positions[i]);
    sn_vec3 turned = sn_vec3_add(c, sn_mat3_apply(turn, sn_vec3_sub(u, c)));
    out[i] = sn_vec3_mad(u, sn_vec3_sub(turned, u), weights[i]);
  }
}

// A vertex and its neighbours that all turn, or all rest, keep their shape.
static bool changes(const sn_topology *t, const double *weights, int i) {
  bool turns = weights[i] > 0.5;
  double most = 0;
  for (int e = t->ring_start[i] - 1; e < t->ring_start[i + 1]; e++) {
    double w = weights[e < t->ring_start[i] ? i : t->ring[e]];
    most = fmax(most, turns ? 1 - w : w);
  }
  return most > 1e-6;
}

static void turn_joints(void *user, int64_t begin, int64_t end, int worker) {
  turn_job *job = user;
  int n = job->rest->vertex_count;
  sn_vec3 *x = job->space + (size_t)worker * (size_t)n;
  double *weights = job->weights + (size_t)worker * (size_t)n;
  bool *below = job->below + (size_t)worker * (size_t)job->result->skeleton.joint_count;
  static const double angle = SN_PI / 6;
  for (int64_t j = begin; j < end; j++) {
    sum_weights(job, (int)j, below, weights);
    for (int axis = 0; axis < 3; axis++) {
      sn_vec3 turn = {axis == 0 ? angle : 0, axis == 1 ? angle : 0, axis == 2 ? angle : 0};
      turn_joint(job, (int)j, sn_rotation_exp(turn), weights, x);
      for (int i = 0; i < n; i++) {
        if (!changes(job->topology, weights, i)) continue;
        double change = sn_topology_bump(job->topology, x, i) - job->bumps[i];
        job->sums[j] += change * change;
      }
    }
  }
}

sn_status sn_rig_roughness(sn_context *ctx, const sn_mesh *rest, sn_rig_result *out) {
  sn_arena scratch = sn_arena_new(ctx);
  sn_topology topology;
  int n = rest->vertex_count, joint_count = out->skeleton.joint_count;
  sn_status status = sn_topology_build(ctx, rest, &topology);
  if (status != SN_OK) return status;
  double *bumps = SN_NEW(ctx, &scratch, double, n), *sums = SN_NEW(ctx, &scratch, double, joint_count), total = 0;
  size_t workers = (size_t)sn_threads(ctx);
  sn_vec3 *space = SN_NEW(ctx, &scratch, sn_vec3, (size_t)n * workers);
  double *weights = SN_NEW(ctx, &scratch, double, (size_t)n *workers);
  bool *below = SN_NEW(ctx, &scratch, bool, (size_t)joint_count *workers);
  if (bumps && sums && space && weights && below) {
    for (int i = 0; i < n; i++) space[i] = sn_vec3_from(rest->positions[i]);
    double edge = sn_topology_mean_edge(&topology, space);
    for (int i = 0; i < n; i++) bumps[i] = sn_topology_bump(&topology, space, i);
    turn_job job = {rest, out, &topology, bumps, sums, space, weights, below};
    sn_team_for(ctx, joint_count, 1, turn_joints, &job);
    status = sn_team_gather(ctx, joint_count, 1, sums, sizeof *sums);
    for (int j = 0; j < joint_count; j++) total += sums[j];
    out->report.roughness = edge > 0 ? 100 * sqrt(total / (3.0 * n * joint_count)) / edge : 0;
  } else {
    status = ctx->error.status;
  }
  sn_topology_free(&topology);
  sn_arena_free(&scratch);
  return status;
}
