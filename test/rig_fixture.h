// SPDX-License-Identifier: MIT
// For tests of rigging: a tube whose rig is known, and what any result has to be.
#ifndef SINEW_TEST_RIG_FIXTURE_H
#define SINEW_TEST_RIG_FIXTURE_H

#include "check.h"

#include "rig/solve.h"
#include "sinew/fit.h"
#include "sinew/rig.h"

// ---- a rig with a known answer: a tube along x, bent at evenly spaced joints --------------------------------------

enum { rings = 48, around = 12 };

typedef struct tube {
  sn_mesh rest;
  sn_frames frames;
  sn_skeleton skeleton;
  sn_poses poses;
  sn_skin skin;
} tube;

static inline double tube_length(int bones) { return 1.2 * bones; }

static inline void tube_mesh(sn_context *ctx, int bones, sn_mesh *out) {
  assert_ok(ctx, sn_mesh_new(ctx, rings * around, (rings - 1) * around * 2, out));
  for (int r = 0; r < rings; r++)
    for (int a = 0; a < around; a++) {
      double angle = 2 * SN_PI * a / around;
      float *p = out->positions[r * around + a];
      p[0] = (float)(tube_length(bones) * r / (rings - 1)), p[1] = (float)(0.4 * cos(angle));
      p[2] = (float)(0.3 * sin(angle));
    }
  int t = 0;
  for (int r = 0; r + 1 < rings; r++)
    for (int a = 0; a < around; a++) {
      int b = (a + 1) % around, i = r * around;
      int quad[4] = {i + a, i + b, i + around + b, i + around + a};
      for (int half = 0; half < 2; half++, t++) {
        out->triangles[t][0] = quad[0], out->triangles[t][1] = quad[1 + half], out->triangles[t][2] = quad[2 + half];
      }
    }
}

// Bone j spans x from 1.2 j to 1.2 (j + 1); neighbouring bones blend over 0.5 about their joint.
static inline void tube_skin(sn_context *ctx, const sn_mesh *mesh, int bones, sn_skin *out) {
  assert_ok(ctx, sn_skin_new(ctx, mesh->vertex_count, 2, out));
  for (int i = 0; i < mesh->vertex_count; i++) {
    double x = (double)mesh->positions[i][0] / 1.2;
    int near = (int)lround(x);
    double along = (x - near) / 0.42, w = 0.5 + 0.5 * fmax(-1, fmin(1, along));
    if (near <= 0) near = 1, w = 0;
    if (near >= bones) near = bones - 1, w = 1;
    if (bones == 1) near = 0, w = 1;
    out->joints[2 * i] = (uint16_t)near, out->weights[2 * i] = (float)w;
    if (near > 0) out->joints[2 * i + 1] = (uint16_t)(near - 1), out->weights[2 * i + 1] = (float)(1 - w);
  }
  sn_skin_normalize(out);
}

static inline void deform(const tube *t, const sn_affine *pose, float (*out)[3]) {
  for (int i = 0; i < t->rest.vertex_count; i++) {
    sn_vec3 sum = {0, 0, 0}, u = sn_vec3_from(t->rest.positions[i]);
    for (int q = 0; q < t->skin.influences; q++) {
      int e = i * t->skin.influences + q;
      sum = sn_vec3_mad(sum, sn_affine_apply(pose[t->skin.joints[e]], u), (double)t->skin.weights[e]);
    }
    sn_vec3_store(sum, out[i]);
  }
}

static inline tube make_tube(sn_context *ctx, int bones, int frames, uint64_t seed) {
  tube t = {0};
  sn_random rng = sn_random_new(seed);
  tube_mesh(ctx, bones, &t.rest);
  tube_skin(ctx, &t.rest, bones, &t.skin);
  assert_ok(ctx, sn_skeleton_new(ctx, bones, &t.skeleton));
  assert_ok(ctx, sn_poses_new(ctx, bones, frames, &t.poses));
  assert_ok(ctx, sn_frames_new(ctx, t.rest.vertex_count, frames, &t.frames));
  for (int j = 0; j < bones; j++) {
    t.skeleton.parents[j] = j - 1;
    t.skeleton.rest[j] = sn_affine_make(sn_mat3_identity(), sn_vec3_make(1.2 * j, 0, 0));
  }
  for (int f = 0; f < frames; f++) {
    sn_affine *pose = sn_pose(&t.poses, f);
    for (int j = 0; j < bones; j++) {
      sn_mat3 turn = sn_rotation_exp(sn_vec3_scale(random_vec3(&rng), 0.45));
      sn_affine local = sn_affine_about(turn, sn_vec3_make(1.2 * j, 0, 0));
      if (j == 0) local = sn_affine_make(turn, random_vec3(&rng));
      pose[j] = j > 0 ? sn_affine_mul(pose[j - 1], local) : local;
    }
    deform(&t, pose, sn_frame_mutable(&t.frames, f));
  }
  return t;
}

static inline void free_tube(tube *t) {
  sn_mesh_free(&t->rest), sn_frames_free(&t->frames), sn_skeleton_free(&t->skeleton);
  sn_poses_free(&t->poses), sn_skin_free(&t->skin);
}

// One thread: the small loops here would only wait for each other. same_bytes_at_any_thread_count uses more.
static inline sn_context serial(void) {
  sn_context ctx = sn_context_default();
  ctx.threads = 1;
  return ctx;
}

static inline sn_rig_options options_for(int bones, sn_rig_structure structure) {
  sn_rig_options o = sn_rig_options_default();
  o.bones = bones, o.structure = structure, o.keep_bones = true;
  return o;
}

// ---- what every result must satisfy ------------------------------------------------------------------------------------

static inline bool has_children(const sn_skeleton *skeleton, int joint) {
  for (int j = 0; j < skeleton->joint_count; j++)
    if (skeleton->parents[j] == joint) return true;
  return false;
}

// The least sum of squared weights of a bone without children; the others are links of the skeleton, however few vertices
// they have.
static inline double thinnest_bone(const sn_rig_result *r) {
  double least = INFINITY;
  for (int j = 0; j < r->skeleton.joint_count; j++) {
    if (has_children(&r->skeleton, j)) continue;
    double sum = 0;
    for (int e = 0; e < r->skin.vertex_count * r->skin.influences; e++)
      if (r->skin.joints[e] == j) sum += (double)r->skin.weights[e] * (double)r->skin.weights[e];
    least = fmin(least, sum);
  }
  return least;
}

static inline void check_result(const sn_mesh *rest, const sn_frames *frames, const sn_rig_options *o,
                                const sn_rig_result *r) {
  int n = rest->vertex_count, k = r->skin.influences, roots = 0;
  assert_int_equal(r->skin.vertex_count, n);
  assert_int_equal(r->poses.frame_count, frames->frame_count);
  assert_int_equal(r->poses.joint_count, r->skeleton.joint_count);
  assert_true(k <= o->influences);
  double square = 0, diagonal = sn_points_diagonal(rest->positions, n);
  for (int i = 0; i < n; i++) {
    double sum = 0;
    for (int q = 0; q < k; q++) {
      assert_true(r->skin.weights[i * k + q] >= 0);
      assert_true(r->skin.joints[i * k + q] < r->skeleton.joint_count);
      sum += (double)r->skin.weights[i * k + q];
    }
    assert_near(sum, 1, 1e-6);
  }
  for (int f = 0; f < frames->frame_count; f++)
    for (int i = 0; i < n; i++) {
      sn_vec3 sum = {0, 0, 0}, u = sn_vec3_from(rest->positions[i]);
      for (int q = 0; q < k; q++) {
        sn_affine t = sn_pose(&r->poses, f)[r->skin.joints[i * k + q]];
        sum = sn_vec3_mad(sum, sn_affine_apply(t, u), (double)r->skin.weights[i * k + q]);
      }
      sn_vec3 d = sn_vec3_sub(sum, sn_vec3_from(sn_frame(frames, f)[i]));
      square += sn_vec3_dot(d, d);
    }
  assert_true(isfinite(square));
  // The solver works in single precision; positions are of unit size.
  assert_near(r->report.rms, sqrt(square / n / frames->frame_count), 1e-6 * (1 + diagonal) + 1e-4 * r->report.rms);
  for (int j = 0; j < r->skeleton.joint_count; j++) {
    roots += r->skeleton.parents[j] < 0;
    for (int f = 0; f < frames->frame_count && o->bone_type == SN_RIG_RIGID; f++) {
      sn_mat3 a = sn_affine_linear(sn_pose(&r->poses, f)[j]);
      sn_mat3 defect = sn_mat3_sub(sn_mat3_mul(sn_mat3_transpose(a), a), sn_mat3_identity());
      assert_below(sn_mat3_norm(defect), 1e-9);
      assert_true(sn_mat3_determinant(a) > 0);
    }
  }
  if (o->given == SN_RIG_NOTHING && o->structure == SN_RIG_TREE) {
    assert_int_equal(roots, 1);
    assert_below(100 * sn_joint_gap(&r->skeleton, &r->poses), 0.01 * diagonal);
  }
  if (o->given == SN_RIG_NOTHING && r->skeleton.joint_count > 1) assert_true(thinnest_bone(r) >= 1);
  assert_true((r->report.reason[0] != 0) == (r->report.bones < r->report.bones_wanted));
}

#endif
