// SPDX-License-Identifier: MIT
// Visible defects that the mean error hides: the 99th percentile of the vertex errors, and the roughness of the surface in new
// poses.
#include <math.h>
#include <string.h>

#include "sinew/eval.h"

static sn_status far_vertices(sn_context *ctx, const sn_rt_model *model, const sn_examples *e, double *out) {
  enum { window = 16 };
  uint64_t bins[SN_PERCENTILE_BINS] = {0};
  int numbers[window], frames = e->frames.frame_count;
  double diagonal = sn_points_diagonal((const float(*)[3])e->rest.positions, e->rest.vertex_count);
  sn_status status = SN_OK;
  for (int first = 0; first < frames && status == SN_OK; first += window) {
    sn_keys keys = {.count = frames - first < window ? frames - first : window, .frames = numbers};
    sn_frames positions;
    for (int k = 0; k < keys.count; k++) numbers[k] = first + k;
    status = sn_assess_evaluate(ctx, model, e, &keys, &positions, NULL);
    for (int k = 0; status == SN_OK && k < keys.count; k++)
      for (int s = 0; s < positions.vertex_count; s++) {
        const float *truth = sn_frame(&e->frames, first + k)[e->source ? e->source[s] : s];
        double d = sn_vec3_distance(sn_vec3_from(sn_frame(&positions, k)[s]), sn_vec3_from(truth)) / diagonal;
        bins[sn_percentile_bin(d * d)]++;
      }
    if (status == SN_OK) sn_frames_free(&positions);
  }
  *out = 100 * sn_percentile(bins, 0.99);
  return status;
}

typedef struct rotated {
  sn_examples examples; // three poses: one joint rotated by 30 degrees about each axis
  sn_topology topology;
  sn_vec3 *x; // positions of the examples' vertices
  double *bumps;
} rotated;

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
    t->x[t->examples.source ? t->examples.source[s] : s] = sn_vec3_from(file[s]);
  for (int i = 0; i < t->topology.vertex_count; i++) {
    double change = sn_topology_bump(&t->topology, t->x, i) - t->bumps[i];
    sum += change * change;
  }
  return sum;
}

static sn_status rotate_all(sn_context *ctx, const sn_rt_model *model, rotated *t, bool *below, double *sum) {
  int numbers[3] = {0, 1, 2};
  sn_keys keys = {.count = 3, .frames = numbers};
  sn_status status = SN_OK;
  for (int j = 0; j < t->examples.skeleton.joint_count && status == SN_OK; j++) {
    sn_frames positions;
    rotate_joint(&t->examples.skeleton, j, &t->examples.poses, below);
    status = sn_assess_evaluate(ctx, model, &t->examples, &keys, &positions, NULL);
    for (int axis = 0; axis < 3 && status == SN_OK; axis++) *sum += squared_change(t, sn_frame(&positions, axis));
    if (status == SN_OK) sn_frames_free(&positions);
  }
  return status;
}

static sn_status roughness(sn_context *ctx, const sn_rt_model *model, const sn_examples *e, double *out) {
  sn_arena scratch = sn_arena_new(ctx);
  int n = e->rest.vertex_count, joint_count = e->skeleton.joint_count;
  rotated t = {.examples = *e, .x = SN_NEW(ctx, &scratch, sn_vec3, n), .bumps = SN_NEW(ctx, &scratch, double, n)};
  bool *below = SN_NEW(ctx, &scratch, bool, joint_count);
  t.examples.frames = (sn_frames){0}, t.examples.poses = (sn_poses){0}, t.examples.motion = false;
  sn_status status = t.x && t.bumps && below ? SN_OK : ctx->error.status;
  if (status == SN_OK) status = sn_poses_new(ctx, joint_count, 3, &t.examples.poses);
  if (status == SN_OK) status = sn_topology_build(ctx, &e->rest, &t.topology);
  if (status == SN_OK) {
    double sum = 0;
    for (int i = 0; i < n; i++) t.x[i] = sn_vec3_from(e->rest.positions[i]);
    double edge = sn_topology_mean_edge(&t.topology, t.x);
    for (int i = 0; i < n; i++) t.bumps[i] = sn_topology_bump(&t.topology, t.x, i);
    status = rotate_all(ctx, model, &t, below, &sum);
    *out = edge > 0 ? 100 * sqrt(sum / (3.0 * n * joint_count)) / edge : 0;
    sn_topology_free(&t.topology);
  }
  sn_poses_free(&t.examples.poses);
  sn_arena_free(&scratch);
  return status;
}

sn_status sn_assess_visible(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples, sn_visible *out) {
  const sn_rt_info *info = &model->info;
  *out = (sn_visible){NAN, NAN};
  bool posed = info->joint_count > 0 && info->control_count + info->torque_count + info->value_count == 0;
  sn_status status = SN_OK;
  if (examples->frames.frame_count > 0) status = far_vertices(ctx, model, examples, &out->p99_pct_diag);
  if (status == SN_OK && posed && examples->skeleton.joint_count > 0 && examples->rest.vertex_count > 0)
    status = roughness(ctx, model, examples, &out->roughness);
  return status;
}
