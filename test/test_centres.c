// SPDX-License-Identifier: MIT
// Optimised centres of rotation (Le and Hodgins 2016): the centres against the formula, term by term; what the method gains.
#include "train_fixture.h"

#include <math.h>
#include <string.h>

#include "sinew/formats.h"
#include "train/skin/centres.h"

// ---- the formula ----------------------------------------------------------------------------------------------------------

enum { most_joints = 16 };

static void dense_row(const sn_skin *skin, int i, double part, double *row) {
  for (int k = 0; k < skin->influences; k++) {
    size_t at = (size_t)i * (size_t)skin->influences + (size_t)k;
    row[skin->joints[at]] += part * (double)skin->weights[at];
  }
}

// s(w, v) = sum_{j != k} w_j w_k v_j v_k exp(-(w_j v_k - w_k v_j)^2 / sigma^2)
static double similarity(const double *w, const double *v) {
  double sum = 0;
  for (int j = 0; j < most_joints; j++)
    for (int k = 0; k < most_joints; k++) {
      if (w[j] * w[k] * v[j] * v[k] == 0) continue;
      double across = w[j] * v[k] - w[k] * v[j];
      if (j != k) sum += w[j] * w[k] * v[j] * v[k] * exp(-across * across / (0.1 * 0.1));
    }
  return sum;
}

// Every vertex against every triangle. False where no triangle is like the vertex.
static bool brute_centre(const sn_mesh *mesh, const sn_skin *skin, int i, sn_vec3 *out) {
  double own[most_joints] = {0}, total = 0;
  sn_vec3 sum = {0, 0, 0};
  dense_row(skin, i, 1, own);
  for (int t = 0; t < mesh->triangle_count; t++) {
    double row[most_joints] = {0};
    sn_vec3 p[3], middle = {0, 0, 0};
    for (int c = 0; c < 3; c++) {
      p[c] = sn_vec3_from(mesh->positions[mesh->triangles[t][c]]), middle = sn_vec3_mad(middle, p[c], 1.0 / 3);
      dense_row(skin, mesh->triangles[t][c], 1.0 / 3, row);
    }
    double area = 0.5 * sn_vec3_length(sn_vec3_cross(sn_vec3_sub(p[1], p[0]), sn_vec3_sub(p[2], p[0])));
    double weight = area * similarity(own, row);
    sum = sn_vec3_mad(sum, middle, weight), total += weight;
  }
  *out = sn_vec3_scale(sum, total > 0 ? 1 / total : 0);
  return total > 0;
}

static void check_against_brute_force(const char *set, int vertices, double tolerance) {
  sn_context ctx = sn_context_default();
  sn_examples e = generate(&ctx, set, 4, vertices);
  int n = e.rest.vertex_count, about = 0;
  float(*centres)[3] = calloc((size_t)n, sizeof *centres);
  assert_true(e.skeleton.joint_count <= most_joints);
  assert_ok(&ctx, sn_centres(&ctx, &e.rest, &e.skin, centres));
  double diagonal = sn_points_diagonal((const float(*)[3])e.rest.positions, n);
  for (int i = 0; i < n; i += 3) {
    sn_vec3 expected, own = sn_vec3_from(centres[i]);
    bool there = brute_centre(&e.rest, &e.skin, i, &expected);
    about += there;
    if (!there) expected = sn_vec3_from(e.rest.positions[i]);
    assert_below(sn_vec3_distance(own, expected), tolerance * diagonal);
  }
  assert_true(about > n / 30 && about < n / 3); // some rotate about a centre, some have one joint
  free(centres);
  sn_examples_free(&e);
}

static void centres_are_those_of_the_formula(void **state) {
  check_against_brute_force("arm", 700, 4e-4);
  check_against_brute_force("elbow", 700, 4e-4);
  check_against_brute_force("body", 2000, 4e-4);
}

static void centres_are_the_same_at_any_thread_count(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e = generate(&ctx, "body", 2, 2000);
  size_t size = (size_t)e.rest.vertex_count * sizeof(float[3]);
  float(*one)[3] = malloc(size), (*four)[3] = malloc(size);
  ctx.threads = 1;
  assert_ok(&ctx, sn_centres(&ctx, &e.rest, &e.skin, one));
  ctx.threads = 4;
  assert_ok(&ctx, sn_centres(&ctx, &e.rest, &e.skin, four));
  assert_memory_equal(one, four, size);
  free(one), free(four);
  sn_examples_free(&e);
}

// ---- an elbow ---------------------------------------------------------------------------------------------------------------

enum { rings = 81, around = 24 };
static const double radius = 0.1, reach = 0.1; // weights go from one bone to the other between x = -reach and reach

// A tube along x from -1 to 1, a joint at its middle, bent by `angle` about z in its only frame.
static sn_examples new_tube(sn_context *ctx, double angle) {
  sn_examples e = {0};
  assert_ok(ctx, sn_mesh_new(ctx, rings * around, 2 * (rings - 1) * around, &e.rest));
  assert_ok(ctx, sn_skin_new(ctx, rings * around, 2, &e.skin));
  for (int i = 0; i < rings * around; i++) {
    double x = 2.0 * (i / around) / (rings - 1) - 1, turn = 2 * SN_PI * (i % around) / around;
    sn_vec3_store(sn_vec3_make(x, radius * cos(turn), radius * sin(turn)), e.rest.positions[i]);
    double w = 0.5 + 0.5 * fmin(1, fmax(-1, x / reach));
    e.skin.joints[2 * i + 1] = 1;
    e.skin.weights[2 * i] = (float)(1 - w), e.skin.weights[2 * i + 1] = (float)w;
  }
  for (int q = 0; q < (rings - 1) * around; q++) {
    int a = q, b = q / around * around + (q + 1) % around;
    int two[2][3] = {{a, b, a + around}, {b, b + around, a + around}};
    memcpy(e.rest.triangles[2 * q], two, sizeof two);
  }
  assert_ok(ctx, sn_skeleton_new(ctx, 2, &e.skeleton));
  e.skeleton.parents[0] = -1, e.skeleton.parents[1] = 0;
  e.skeleton.rest[0] = sn_affine_make(sn_mat3_identity(), sn_vec3_make(-1, 0, 0));
  e.skeleton.rest[1] = sn_affine_identity();
  assert_ok(ctx, sn_skeleton_sort(ctx, &e.skeleton));
  assert_ok(ctx, sn_frames_new(ctx, rings * around, 1, &e.frames));
  memcpy(sn_frame_mutable(&e.frames, 0), e.rest.positions, (size_t)(rings * around) * sizeof(float[3]));
  assert_ok(ctx, sn_poses_new(ctx, 2, 1, &e.poses));
  sn_pose(&e.poses, 0)[0] = sn_affine_identity();
  sn_pose(&e.poses, 0)[1] = sn_affine_make(sn_rotation_exp(sn_vec3_make(0, 0, angle)), sn_vec3_make(0, 0, 0));
  return e;
}

// How far from the joint's axis the outside of the bent tube is, in radii: the farthest vertex between the two bones' ends,
// where a tube bent about the axis has the distance 1.
static double outside_distance(sn_context *ctx, const sn_examples *e, double angle, const char *spec) {
  trained t = train(ctx, e, spec, "all");
  sn_frames frames;
  sn_keys all;
  assert_ok(ctx, sn_keys_parse(ctx, "all", 1, 1, &all, NULL));
  assert_ok(ctx, sn_assess_evaluate(ctx, &t.model, e, &all, &frames, NULL));
  double farthest = 0;
  for (int i = 0; i < rings * around; i++) {
    const float *p = sn_frame(&frames, 0)[i];
    double at = atan2(p[1], p[0]); // bent to +y: outside is between -90 degrees and -90 degrees + angle
    if (at > -SN_PI / 2 && at < -SN_PI / 2 + angle) farthest = fmax(farthest, hypot(p[0], p[1]) / radius);
  }
  sn_keys_free(&all), sn_frames_free(&frames), release(&t);
  return farthest;
}

static void the_elbow_does_not_bulge(void **state) {
  sn_context ctx = sn_context_default();
  double angle = 2 * SN_PI / 3;
  sn_examples e = new_tube(&ctx, angle);
  double dqs = outside_distance(&ctx, &e, angle, "dqs:weights=given");
  double cor = outside_distance(&ctx, &e, angle, "cor:weights=given");
  double lbs = outside_distance(&ctx, &e, angle, "lbs:weights=given");
  print_message("distance from the axis in radii: lbs %.3f, dqs %.3f, cor %.3f\n", lbs, dqs, cor);
  assert_true(dqs > 1.1);
  assert_below(cor, 1.02);
  assert_below(lbs, 0.7); // it collapses
  sn_examples_free(&e);
}

static void given_weights_beat_linear_blending(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e = generate(&ctx, "elbow", 0, 0);
  sn_scores lbs = scores_of(&ctx, &e, "lbs:weights=given", "every:4"),
            cor = scores_of(&ctx, &e, "cor:weights=given", "every:4");
  print_message("elbow: lbs %.4f, cor %.4f\n", lbs.test.ee, cor.test.ee);
  assert_below(cor.test.ee, lbs.test.ee);
  sn_examples_free(&e);
}

// ---- the method -------------------------------------------------------------------------------------------------------------

// Corrections stand on the blend they were measured against: without limits or thresholds they bring the poses back.
static void corrections_stand_on_centres(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e = generate(&ctx, "arm", 12, 600);
  sn_scores plain = scores_of(&ctx, &e, "cor", "every:3"),
            psd = scores_of(&ctx, &e, "psd:blend=centres,space=whole,threshold=0", "every:3");
  assert_below(psd.train.rms_pct_diag, 0.01);
  assert_below(psd.test.rms_pct_diag, plain.test.rms_pct_diag);
  sn_examples_free(&e);
}

static void no_triangles_are_refused(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e = generate(&ctx, "elbow", 4, 700);
  e.rest.triangle_count = 0;
  float centre[3];
  assert_int_equal(sn_centres(&ctx, &e.rest, &e.skin, &centre), SN_BAD_INPUT);
  assert_non_null(strstr(ctx.error.message, "no triangles"));
  sn_examples_free(&e);
}

static void a_model_without_its_centres_is_refused(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e = generate(&ctx, "elbow", 4, 700);
  trained t = train(&ctx, &e, "cor:weights=given", "all");
  sn_model_desc desc = sn_model_desc_default();
  sn_model out;
  desc.rest = &e.rest, desc.skeleton = &e.skeleton, desc.skin = &e.skin, desc.blend = SN_RT_BLEND_CENTRES;
  assert_fails(&ctx, sn_model_build(&ctx, &desc, &out), "needs centres");
  uint64_t size;
  const void *section = sn_rt_find_section(&t.model, "skin.centres", &size);
  assert_non_null(section);
  assert_int_equal(size, t.model.info.block_count * 3 * 8 * sizeof(float));
  size_t at = (size_t)((const uint8_t *)section - t.bytes.bytes);
  memset(t.bytes.bytes + at, 0xff, 4);
  assert_true(sn_model_seal(t.bytes.bytes, t.bytes.size));
  sn_rt_model model;
  sn_rt_error error;
  assert_int_equal(sn_rt_open(t.bytes.bytes, t.bytes.size, &model, &error), SN_RT_BAD_MODEL);
  assert_non_null(strstr(error.message, "skin.centres"));
  release(&t);
  sn_examples_free(&e);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(centres_are_those_of_the_formula),
                                     cmocka_unit_test(centres_are_the_same_at_any_thread_count),
                                     cmocka_unit_test(the_elbow_does_not_bulge),
                                     cmocka_unit_test(given_weights_beat_linear_blending),
                                     cmocka_unit_test(corrections_stand_on_centres),
                                     cmocka_unit_test(no_triangles_are_refused),
                                     cmocka_unit_test(a_model_without_its_centres_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
