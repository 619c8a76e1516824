// SPDX-License-Identifier: MIT
// A visible defect that the mean error hides: the roughness of the surface in new poses.
#include <math.h>

#include "base/scope.h"
#include "sinew/eval.h"

typedef struct rotated {
  sn_examples examples; // three poses: one joint rotated by 30 degrees about each axis
  sn_topology topology;
  sn_vec3 *x; // positions of the examples' vertices
  double *bumps;
} rotated;

static void free_rotated(rotated *t) {
  sn_poses_free(&t->examples.poses);
  sn_topology_free(&t->topology);
}

static void rotate_joint(const sn_skeleton *s, int j, sn_poses *poses, bool *below) {
  for (int axis = 0; axis < 3; axis++) {
    double angle = SN_PI / 6;
    sn_vec3 rotation = {axis == 0 ? angle : 0, axis == 1 ? angle : 0, axis == 2 ? angle : 0};
    sn_affine about = sn_affine_about(sn_rotation_exp(rotation), sn_affine_translation(s->rest[j]));
    for (int q = 0; q < s->joint_count; q++) {
      int k = s->order[q];
      below[k] = k == j || (s->parents[k] >= 0 && below[s->parents[k]]);
      sn_pose(poses, axis)[k] = below[k] ? about : sn_affine_identity();
    }
  }
}

static double squared_change(const rotated *t, const float (*file)[3]) {
  double sum = 0;
  for (int s = 0; s < sn_examples_file_vertices(&t->examples); s++)
    t->x[sn_examples_vertex(&t->examples, s)] = sn_vec3_from(file[s]);
  for (int i = 0; i < t->topology.vertex_count; i++) {
    double change = sn_topology_bump(&t->topology, t->x, i) - t->bumps[i];
    sum += change * change;
  }
  return sum;
}

static sn_status rotate_all(sn_context *ctx, const sn_rt_model *model, rotated *t, bool *below, double *sum) {
  int numbers[3] = {0, 1, 2};
  sn_keys keys = {.count = 3, .frames = numbers};
  for (int j = 0; j < t->examples.skeleton.joint_count; j++) {
    SN_FREED_BY(sn_frames_free) sn_frames positions = {0};
    rotate_joint(&t->examples.skeleton, j, &t->examples.poses, below);
    SN_TRY(sn_assess_evaluate(ctx, model, &t->examples, &keys, &positions, NULL));
    for (int axis = 0; axis < 3; axis++) *sum += squared_change(t, sn_frame(&positions, axis));
  }
  return SN_OK;
}

sn_status sn_assess_roughness(sn_context *ctx, const sn_rt_model *model, const sn_examples *e, double *out) {
  const sn_rt_info *info = &model->info;
  int n = e->rest.vertex_count, joint_count = e->skeleton.joint_count;
  *out = NAN;
  if (info->joint_count == 0 || info->control_count + info->torque_count + info->value_count > 0) return SN_OK;
  if (joint_count == 0 || n == 0) return SN_OK;
  SN_SCRATCH(scratch, ctx);
  SN_FREED_BY(free_rotated)
  rotated t = {.examples = *e, .x = SN_NEW(ctx, &scratch, sn_vec3, n), .bumps = SN_NEW(ctx, &scratch, double, n)};
  bool *below = SN_NEW(ctx, &scratch, bool, joint_count);
  t.examples.frames = (sn_frames){0}, t.examples.poses = (sn_poses){0}, t.examples.motion = false;
  if (!t.x || !t.bumps || !below) return ctx->error.status;
  SN_TRY(sn_poses_new(ctx, joint_count, 3, &t.examples.poses));
  SN_TRY(sn_topology_build(ctx, &e->rest, &t.topology));
  double sum = 0;
  for (int i = 0; i < n; i++) t.x[i] = sn_vec3_from(e->rest.positions[i]);
  double edge = sn_topology_mean_edge(&t.topology, t.x);
  for (int i = 0; i < n; i++) t.bumps[i] = sn_topology_bump(&t.topology, t.x, i);
  SN_TRY(rotate_all(ctx, model, &t, below, &sum));
  *out = edge > 0 ? 100 * sqrt(sum / (3.0 * n * joint_count)) / edge : 0;
  return SN_OK;
}
