// SPDX-License-Identifier: MIT
// How the surface looks in poses that nobody gave: every joint turned alone, and the bumps that this makes.
#include "base/team.h"
#include "rig/internal.h"

#include <math.h>
#include <string.h>

typedef struct turn_job {
  const sn_mesh *rest;
  const sn_rig_result *result;
  const sn_topology *topology;
  const double *bumps; // n: |Laplacian| of the rest pose
  double *sums;        // one per joint
  sn_vec3 *space;      // n per worker
} turn_job;

static bool hangs_on(const sn_skeleton *skeleton, int k, int j) {
  for (; k >= 0; k = skeleton->parents[k])
    if (k == j) return true;
  return false;
}

// The rest pose with joint j and all below it turned.
static void turn_joint(const turn_job *job, int j, sn_mat3 turn, sn_vec3 *out) {
  const sn_skeleton *skeleton = &job->result->skeleton;
  const sn_skin *skin = &job->result->skin;
  sn_vec3 c = sn_affine_translation(skeleton->rest[j]);
  size_t k = (size_t)skin->influences;
  for (int i = 0; i < job->rest->vertex_count; i++) {
    sn_vec3 u = sn_vec3_from(job->rest->positions[i]);
    double weight = 0;
    for (size_t q = 0; q < k; q++) {
      double w = (double)skin->weights[(size_t)i * k + q];
      if (w > 0 && hangs_on(skeleton, skin->joints[(size_t)i * k + q], j)) weight += w;
    }
    sn_vec3 turned = sn_vec3_add(c, sn_mat3_apply(turn, sn_vec3_sub(u, c)));
    out[i] = sn_vec3_mad(u, sn_vec3_sub(turned, u), weight);
  }
}

// |x_i - mean of its neighbours|
static double bump(const sn_topology *t, const sn_vec3 *x, int i) {
  int begin = t->ring_start[i], end = t->ring_start[i + 1];
  sn_vec3 mean = {0, 0, 0};
  if (begin == end) return 0;
  for (int e = begin; e < end; e++) mean = sn_vec3_mad(mean, x[t->ring[e]], 1.0 / (end - begin));
  return sn_vec3_length(sn_vec3_sub(x[i], mean));
}

static void turn_joints(void *user, int64_t begin, int64_t end, int worker) {
  turn_job *job = user;
  int n = job->rest->vertex_count;
  sn_vec3 *x = job->space + (size_t)worker * (size_t)n;
  static const double angle = SN_PI / 6;
  for (int64_t j = begin; j < end; j++)
    for (int axis = 0; axis < 3; axis++) {
      sn_vec3 turn = {axis == 0 ? angle : 0, axis == 1 ? angle : 0, axis == 2 ? angle : 0};
      turn_joint(job, (int)j, sn_rotation_exp(turn), x);
      for (int i = 0; i < n; i++) {
        double change = bump(job->topology, x, i) - job->bumps[i];
        job->sums[j] += change * change;
      }
    }
}

static double mean_edge(const sn_topology *t, const sn_vec3 *x, int n) {
  double sum = 0;
  int count = t->ring_start[n];
  for (int i = 0; i < n; i++)
    for (int e = t->ring_start[i]; e < t->ring_start[i + 1]; e++) sum += sn_vec3_distance(x[i], x[t->ring[e]]);
  return count > 0 ? sum / count : 0;
}

sn_status sn_rig_roughness(sn_context *ctx, const sn_mesh *rest, sn_rig_result *out) {
  sn_arena scratch = sn_arena_new(ctx);
  sn_topology topology;
  int n = rest->vertex_count, joint_count = out->skeleton.joint_count;
  sn_status status = sn_topology_build(ctx, rest, &topology);
  if (status != SN_OK) return status;
  double *bumps = SN_NEW(ctx, &scratch, double, n), *sums = SN_NEW(ctx, &scratch, double, joint_count), total = 0;
  sn_vec3 *space = SN_NEW(ctx, &scratch, sn_vec3, (size_t)n * (size_t)sn_threads(ctx));
  if (bumps && sums && space) {
    for (int i = 0; i < n; i++) space[i] = sn_vec3_from(rest->positions[i]);
    double edge = mean_edge(&topology, space, n);
    for (int i = 0; i < n; i++) bumps[i] = bump(&topology, space, i);
    turn_job job = {rest, out, &topology, bumps, sums, space};
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
