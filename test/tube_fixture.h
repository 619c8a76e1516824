// SPDX-License-Identifier: MIT
// Tubes of two joints that bend and twist, and models trained on them.
#ifndef SINEW_TUBE_FIXTURE_H
#define SINEW_TUBE_FIXTURE_H

#include "check.h"
#include "sinew/eval.h"
#include "sinew/train.h"

// A tube of `rings` rings along x from -1 to 1, two joints of which the second is at the middle.
typedef sn_affine (*motion_fn)(double x, double amount); // of a point at x; the second joint's is that of x = 1

static inline sn_affine about_x(double angle) {
  return sn_affine_make(sn_rotation_exp(sn_vec3_make(angle, 0, 0)), sn_vec3_make(0, 0, 0));
}
static inline sn_affine about_z(double angle) {
  return sn_affine_make(sn_rotation_exp(sn_vec3_make(0, 0, angle)), sn_vec3_make(0, 0, 0));
}

static inline double clamp01(double x) { return x < 0 ? 0 : x > 1 ? 1 : x; }
static inline sn_affine twist(double x, double amount) { return about_x(amount * clamp01(0.5 + 0.5 * x)); }
static inline sn_affine bend_half(double x, double amount) { return about_z(x < 0 ? 0.5 * amount : amount); }
static inline sn_affine rigid_halves(double x, double amount) { return about_z(x < 0 ? 0 : amount); }

typedef struct tube {
  int rings, around;
  bool split; // two components, one on either side of the middle
} tube;

static inline void tube_mesh(sn_context *ctx, tube shape, sn_mesh *mesh) {
  int strips = shape.rings - 1 - shape.split, triangles = 2 * strips * shape.around, t = 0;
  assert_ok(ctx, sn_mesh_new(ctx, shape.rings * shape.around, triangles, mesh));
  for (int r = 0; r < shape.rings; r++)
    for (int a = 0; a < shape.around; a++) {
      double angle = 2 * SN_PI * a / shape.around, x = -1 + 2.0 * r / (shape.rings - 1);
      sn_vec3_store(sn_vec3_make(x, 0.3 * cos(angle), 0.3 * sin(angle)), mesh->positions[r * shape.around + a]);
    }
  for (int r = 0; r + 1 < shape.rings; r++)
    for (int a = 0; a < shape.around && (!shape.split || r + 1 != shape.rings / 2); a++) {
      int p = r * shape.around + a, q = r * shape.around + (a + 1) % shape.around;
      int quad[2][3] = {{p, q, q + shape.around}, {p, q + shape.around, p + shape.around}};
      memcpy(mesh->triangles[t++], quad[0], sizeof quad[0]);
      memcpy(mesh->triangles[t++], quad[1], sizeof quad[1]);
    }
  assert_int_equal(t, triangles);
}

static inline void two_joints(sn_context *ctx, sn_skeleton *skeleton) {
  assert_ok(ctx, sn_skeleton_new(ctx, 2, skeleton));
  skeleton->parents[0] = -1, skeleton->parents[1] = 0;
  skeleton->rest[0] = sn_affine_make(sn_mat3_identity(), sn_vec3_make(-1, 0, 0));
  skeleton->rest[1] = sn_affine_identity();
  assert_ok(ctx, sn_skeleton_sort(ctx, skeleton));
}

static inline void make_tube(sn_context *ctx, tube shape, motion_fn motion, const double *amounts, int frames,
                             sn_examples *out) {
  *out = (sn_examples){0};
  tube_mesh(ctx, shape, &out->rest);
  two_joints(ctx, &out->skeleton);
  int n = out->rest.vertex_count;
  assert_ok(ctx, sn_frames_new(ctx, n, frames, &out->frames));
  assert_ok(ctx, sn_poses_new(ctx, 2, frames, &out->poses));
  for (int f = 0; f < frames; f++) {
    sn_pose(&out->poses, f)[1] = motion(1, amounts[f]);
    for (int i = 0; i < n; i++) {
      sn_vec3 p = sn_vec3_from(out->rest.positions[i]);
      sn_vec3_store(sn_affine_apply(motion(p.x, amounts[f]), p), sn_frame_mutable(&out->frames, f)[i]);
    }
  }
}

static inline sn_keys keys_of(sn_context *ctx, const char *spec, int frames, sn_keys *others) {
  sn_keys keys;
  assert_ok(ctx, sn_keys_parse(ctx, spec, frames, 1, &keys, others));
  return keys;
}

static inline void train_model(sn_context *ctx, const char *spec_text, const sn_examples *e, const char *keys_text,
                               sn_model *model, sn_rt_model *rt) {
  sn_method_spec spec;
  assert_ok(ctx, sn_method_parse(ctx, spec_text, &spec));
  sn_keys keys = keys_of(ctx, keys_text, e->frames.frame_count, NULL);
  assert_ok(ctx, sn_train(ctx, &spec, e, &keys, model, NULL));
  assert_ok(ctx, sn_model_open(ctx, spec_text, model->bytes, model->size, rt));
  sn_keys_free(&keys);
}

static inline void evaluate_pose(const sn_rt_model *rt, sn_rt_path path, const sn_affine *pose,
                                 float (*positions)[3]) {
  sn_rt_model copy = *rt;
  assert_true(sn_rt_use_path(&copy, path));
  float(*joints)[12] = malloc(rt->info.joint_count * sizeof *joints);
  void *scratch = malloc(sn_rt_scratch_size(rt));
  sn_model_joints(pose, (int)rt->info.joint_count, joints);
  sn_rt_input input = {.joints = (const float(*)[12])joints};
  sn_rt_output output = {.positions = &positions[0][0]};
  assert_int_equal(sn_rt_evaluate(&copy, &input, scratch, &output, NULL), SN_RT_OK);
  free(joints), free(scratch);
}

// Test error against lbs of the same spec-less kind.
static inline double test_error(sn_context *ctx, const char *spec_text, const sn_examples *e, const char *keys_text) {
  sn_method_spec spec;
  sn_scores scores;
  sn_keys others = {0}, keys = keys_of(ctx, keys_text, e->frames.frame_count, &others);
  assert_ok(ctx, sn_method_parse(ctx, spec_text, &spec));
  if (sn_method_has_no_model(&spec)) {
    sn_train_report report;
    assert_ok(ctx, sn_assess_predict(ctx, &spec, e, &(sn_scored_frames){&keys, &others, NULL}, &scores, &report));
  } else {
    sn_model model;
    sn_rt_model rt;
    train_model(ctx, spec_text, e, keys_text, &model, &rt);
    assert_ok(ctx, sn_assess(ctx, &rt, e, &(sn_scored_frames){&keys, &others, NULL}, &scores));
    sn_model_free(&model);
  }
  sn_keys_free(&keys), sn_keys_free(&others);
  return scores.test.rms_pct_diag;
}

#endif
