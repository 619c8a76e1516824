// SPDX-License-Identifier: MIT
// The sculpting loop: widths of single poses, poses added to finished models, mirrored poses.
#include "train_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/format.h"

// ---- mirrored poses ------------------------------------------------------------------------------------------------------

enum { side = 5, corners = side * side };

// A sheet about the origin, joints root, and arms at x = 1 and -1; in its only frame the arm at 1 is rotated and its side lifted.
static sn_examples new_arms(sn_context *ctx, const char *left, const char *right) {
  sn_examples e = {.memory = sn_arena_new(ctx)};
  assert_ok(ctx, sn_mesh_new(ctx, corners, 2 * (side - 1) * (side - 1), &e.rest));
  for (int i = 0; i < corners; i++)
    e.rest.positions[i][0] = (float)(i % side - 2), e.rest.positions[i][1] = (float)(i / side);
  for (int q = 0, t = 0; q < (side - 1) * (side - 1); q++) {
    int a = q / (side - 1) * side + q % (side - 1);
    int two[2][3] = {{a, a + 1, a + side}, {a + 1, a + side + 1, a + side}};
    for (int k = 0; k < 2; k++) memcpy(e.rest.triangles[t++], two[k], sizeof two[k]);
  }
  const char *names[3] = {"root", left, right};
  assert_ok(ctx, sn_skeleton_new(ctx, 3, &e.skeleton));
  for (int j = 0; j < 3; j++) {
    e.skeleton.names[j] = sn_arena_text(ctx, &e.skeleton.memory, names[j]);
    e.skeleton.parents[j] = j ? 0 : -1;
    e.skeleton.rest[j] = sn_affine_make(sn_mat3_identity(), sn_vec3_make(j == 0 ? 0 : j == 1 ? 1 : -1, 2, 0));
  }
  assert_ok(ctx, sn_skeleton_sort(ctx, &e.skeleton));
  assert_ok(ctx, sn_frames_new(ctx, corners, 1, &e.frames));
  assert_ok(ctx, sn_poses_new(ctx, 3, 1, &e.poses));
  sn_pose(&e.poses, 0)[1] =
    sn_affine_about(sn_rotation_exp(sn_vec3_make(0.2, 0.5, -0.3)), sn_affine_translation(e.skeleton.rest[1]));
  float(*p)[3] = sn_frame_mutable(&e.frames, 0);
  memcpy(p, e.rest.positions, corners * sizeof *p);
  for (int i = 0; i < corners; i++) p[i][0] += p[i][0] > 0 ? 0.25f : 0, p[i][2] = p[i][0] > 0 ? 1 : 0;
  assert_ok(ctx, sn_values_new(ctx, 2, 1, &e.values));
  e.values.names[0] = sn_arena_text(ctx, &e.values.memory, "wink_L");
  e.values.names[1] = sn_arena_text(ctx, &e.values.memory, "wink_R");
  e.values.values[0] = 0.7, e.values.values[1] = 0.1;
  return e;
}

static void check_mirror(const char *left, const char *right) {
  sn_context ctx = sn_context_default();
  sn_examples e = new_arms(&ctx, left, right);
  sn_affine turned = sn_pose(&e.poses, 0)[1];
  assert_ok(&ctx, sn_examples_mirror(&ctx, 0, &e));
  assert_ok(&ctx, sn_examples_check(&ctx, &e));
  assert_int_equal(e.frames.frame_count, 2);
  for (int i = 0; i < corners; i++) {
    int other = i / side * side + side - 1 - i % side;
    const float *a = sn_frame(&e.frames, 0)[other], *b = sn_frame(&e.frames, 1)[i];
    assert_near(b[0], -a[0], 0);
    assert_near(b[1], a[1], 0);
    assert_near(b[2], a[2], 0);
  }
  // M P M with M = diag(-1, 1, 1): entries with one index 0 change their sign.
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 4; c++) {
      double sign = ((r == 0) != (c == 0)) ? -1 : 1;
      assert_near(sn_pose(&e.poses, 1)[2].m[r][c], sign * turned.m[r][c], 1e-12);
      assert_near(sn_pose(&e.poses, 1)[1].m[r][c], r == c, 1e-12);
    }
  assert_near(e.values.values[2], 0.1, 0);
  assert_near(e.values.values[3], 0.7, 0);
  sn_examples_free(&e);
}

static void frames_are_mirrored(void **state) {
  check_mirror("arm.L", "arm.R");
  check_mirror("LeftArm", "RightArm");
  check_mirror("mixamorig:left_arm", "mixamorig:right_arm");
  check_mirror("l_arm", "r_arm");
}

static void what_is_not_symmetric_is_refused(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e = new_arms(&ctx, "arm.L", "arm.R");
  e.rest.positions[8][1] += 0.3f;
  assert_int_equal(sn_examples_mirror(&ctx, 0, &e), SN_BAD_INPUT);
  assert_non_null(strstr(ctx.error.message, "not symmetric"));
  sn_examples_free(&e);
  e = new_arms(&ctx, "arm.L", "leg.R");
  assert_int_equal(sn_examples_mirror(&ctx, 0, &e), SN_BAD_INPUT);
  assert_non_null(strstr(ctx.error.message, "'arm.L' has no partner 'arm.R'"));
  sn_examples_free(&e);
  e = new_arms(&ctx, "one", "two");
  assert_int_equal(sn_examples_mirror(&ctx, 0, &e), SN_BAD_INPUT);
  assert_non_null(strstr(ctx.error.message, ".L and .R"));
  sn_examples_free(&e);
}

// ---- widths and added poses, on one value -----------------------------------------------------------------------------------

// A strip that goes up by `heights` at the values `at`.
static sn_examples new_strip(sn_context *ctx, int frames, const double *at, const double *heights) {
  sn_examples e = {.memory = sn_arena_new(ctx)};
  assert_ok(ctx, sn_mesh_new(ctx, 16, 14, &e.rest));
  for (int i = 0; i < 16; i++) e.rest.positions[i][0] = (float)(i / 2), e.rest.positions[i][1] = (float)(i % 2);
  for (int t = 0; t < 14; t++)
    for (int c = 0; c < 3; c++) e.rest.triangles[t][c] = t + (t % 2 && c ? 3 - c : c);
  assert_ok(ctx, sn_frames_new(ctx, 16, frames, &e.frames));
  assert_ok(ctx, sn_values_new(ctx, 1, frames, &e.values));
  e.values.names[0] = sn_arena_text(ctx, &e.values.memory, "lift");
  for (int f = 0; f < frames; f++) {
    memcpy(sn_frame_mutable(&e.frames, f), e.rest.positions, 16 * sizeof(float[3]));
    for (int i = 0; i < 16; i++) sn_frame_mutable(&e.frames, f)[i][2] = (float)heights[f];
    e.values.values[f] = at[f];
  }
  return e;
}

static void train_strip(sn_context *ctx, const sn_examples *e, const char *text, sn_model *bytes,
                        sn_rt_model *model) {
  sn_method_spec spec;
  sn_keys keys;
  assert_ok(ctx, sn_method_parse(ctx, text, &spec));
  assert_ok(ctx, sn_keys_parse(ctx, "all", e->frames.frame_count, 1, &keys, NULL));
  assert_ok(ctx, sn_train(ctx, &spec, e, &keys, bytes, NULL));
  assert_ok(ctx, sn_model_open(ctx, text, bytes->bytes, bytes->size, model));
  sn_keys_free(&keys);
}

static double height_at(const sn_rt_model *model, float value) {
  float positions[16][3];
  void *scratch = malloc(sn_rt_scratch_size(model));
  sn_rt_output output = {.positions = positions[0]};
  assert_int_equal(sn_rt_evaluate(model, &(sn_rt_input){.values = &value}, scratch, &output, NULL), SN_RT_OK);
  free(scratch);
  return (double)positions[3][2];
}

// d(x) = sum_k c_k exp(-(x - x_k)^2 / (2 sigma_k^2)) through the rest (0) and two poses, the last with another sigma.
static void a_pose_has_the_width_it_was_given(void **state) {
  sn_context ctx = sn_context_default();
  const double at[2] = {0.5, 1}, heights[2] = {1, -0.5}, span = (double)SN_RT_VALUE_SPAN;
  double sigmas[2] = {0, 0.05};
  sn_examples e = new_strip(&ctx, 2, at, heights);
  sn_model bytes;
  sn_rt_model model;
  e.sigmas = sigmas;
  train_strip(&ctx, &e, "psd:space=whole,sigma=0.08,threshold=0", &bytes, &model);
  const double x[3] = {0, 0.5 * span, span}, width[3] = {0.08, 0.08, 0.05};
  double a[3][4];
  for (int r = 0; r < 3; r++) {
    for (int k = 0; k < 3; k++) a[r][k] = exp(-(x[r] - x[k]) * (x[r] - x[k]) / (2 * width[k] * width[k]));
    a[r][3] = r ? heights[r - 1] : 0;
  }
  for (int k = 0; k < 3; k++)
    for (int r = 0; r < 3; r++)
      for (int c = 3; r != k && c >= k; c--) a[r][c] -= a[r][k] / a[k][k] * a[k][c];
  for (int n = 0; n <= 20; n++) {
    double own = span * 0.05 * n, expected = 0;
    for (int k = 0; k < 3; k++)
      expected += a[k][3] / a[k][k] * exp(-(own - x[k]) * (own - x[k]) / (2 * width[k] * width[k]));
    assert_near(height_at(&model, 0.05f * (float)n), expected, 3e-4);
  }
  sn_method_spec local;
  sn_keys keys;
  sn_model refused;
  assert_ok(&ctx, sn_method_parse(&ctx, "psd", &local));
  assert_ok(&ctx, sn_keys_parse(&ctx, "all", 2, 1, &keys, NULL));
  assert_int_equal(sn_train(&ctx, &local, &e, &keys, &refused, NULL), SN_BAD_INPUT);
  assert_non_null(strstr(ctx.error.message, "space=whole"));
  sn_keys_free(&keys), sn_model_free(&bytes), sn_examples_free(&e);
}

// The new pose is met; the poses the model was trained on, and the rest pose, stay as they were.
static void a_pose_is_added_to_a_finished_model(void **state) {
  sn_context ctx = sn_context_default();
  const double at[2] = {0.5, 1}, heights[2] = {1, 0.4}, new_at = 0.75, new_height = 2;
  sn_examples e = new_strip(&ctx, 2, at, heights), sculpted = new_strip(&ctx, 1, &new_at, &new_height);
  static const char *const specs[] = {"psd:space=whole", "psd", "eigenskin:space=whole"};
  for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
    sn_model bytes, more, again;
    sn_rt_model model, grown, twice;
    sn_keys keys;
    train_strip(&ctx, &e, specs[s], &bytes, &model);
    assert_ok(&ctx, sn_keys_parse(&ctx, "all", 1, 1, &keys, NULL));
    assert_ok(&ctx, sn_correct_add(&ctx, &model, &sculpted, &keys, &more));
    assert_ok(&ctx, sn_model_open(&ctx, "more", more.bytes, more.size, &grown));
    assert_near(height_at(&grown, 0.75f), 2, 2e-3);
    assert_near(height_at(&grown, 0), 0, 1e-4);
    if (s != 1) {
      assert_near(height_at(&grown, 0.5f), height_at(&model, 0.5f), 2e-3);
      assert_near(height_at(&grown, 1), height_at(&model, 1), 2e-3);
    }
    // A second one does not undo the first.
    sculpted.values.values[0] = 0.25;
    assert_ok(&ctx, sn_correct_add(&ctx, &grown, &sculpted, &keys, &again));
    assert_ok(&ctx, sn_model_open(&ctx, "again", again.bytes, again.size, &twice));
    assert_near(height_at(&twice, 0.25f), 2, 2e-3);
    assert_near(height_at(&twice, 0.75f), 2, 4e-3);
    sculpted.values.values[0] = 0.75;
    sn_keys_free(&keys), sn_model_free(&bytes), sn_model_free(&more), sn_model_free(&again);
  }
  sn_examples_free(&e), sn_examples_free(&sculpted);
}

// On joints: a plain skin gets the true shape at one pose, and keeps its rest pose.
static void a_pose_is_added_to_a_plain_skin(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e = generate(&ctx, "arm", 12, 700);
  static const char *const specs[] = {"lbs:weights=given", "dqs:weights=given", "cor:weights=given",
                                      "psd:weights=given"};
  for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
    trained t = train(&ctx, &e, specs[s], "0-5");
    sn_keys one, still;
    sn_model more;
    sn_rt_model grown;
    sn_scores scores;
    assert_ok(&ctx, sn_keys_parse(&ctx, "9", 12, 1, &one, NULL));
    assert_ok(&ctx, sn_keys_parse(&ctx, "0", 12, 1, &still, NULL));
    assert_ok(&ctx, sn_correct_add(&ctx, &t.model, &e, &one, &more));
    assert_ok(&ctx, sn_model_open(&ctx, "more", more.bytes, more.size, &grown));
    assert_ok(&ctx, sn_assess(&ctx, &grown, &e, &(sn_scored_frames){&one, &still, NULL}, &scores));
    assert_below(scores.train.rms_pct_diag, 0.02);
    assert_below(scores.test.rms_pct_diag, 0.02);
    sn_keys_free(&one), sn_keys_free(&still), sn_model_free(&more), release(&t);
  }
  sn_examples_free(&e);
}

static void what_cannot_take_a_pose_says_so(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e = generate(&ctx, "arm", 12, 700);
  static const char *const specs[] = {"rotreg:bones=4", "psd:order=forward"};
  sn_keys one, rest;
  sn_model more;
  assert_ok(&ctx, sn_keys_parse(&ctx, "9", 12, 1, &one, NULL));
  assert_ok(&ctx, sn_keys_parse(&ctx, "0", 12, 1, &rest, NULL));
  for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
    trained t = train(&ctx, &e, specs[s], "every:3");
    assert_int_equal(sn_correct_add(&ctx, &t.model, &e, &one, &more), SN_UNSUPPORTED);
    release(&t);
  }
  trained t = train(&ctx, &e, "lbs:weights=given", "every:3");
  assert_int_equal(sn_correct_add(&ctx, &t.model, &e, &rest, &more), SN_BAD_INPUT);
  assert_non_null(strstr(ctx.error.message, "rest pose"));
  release(&t), sn_keys_free(&one), sn_keys_free(&rest), sn_examples_free(&e);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(frames_are_mirrored),
                                     cmocka_unit_test(what_is_not_symmetric_is_refused),
                                     cmocka_unit_test(a_pose_has_the_width_it_was_given),
                                     cmocka_unit_test(a_pose_is_added_to_a_finished_model),
                                     cmocka_unit_test(a_pose_is_added_to_a_plain_skin),
                                     cmocka_unit_test(what_cannot_take_a_pose_says_so)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
