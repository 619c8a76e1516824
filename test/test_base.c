// SPDX-License-Identifier: MIT
// The base of a model: which weights it starts from, their fits, and their error on held-out poses.
#include "train_fixture.h"

#include "train/skin/base.h"
#include "train/skin/blend.h"

static const sn_skin_options usual = {.influences = 4};

// All vertices on one joint: what exporters write for unpainted meshes.
static void bind_to_one_joint(sn_examples *e) {
  for (size_t k = 0; k < (size_t)e->skin.vertex_count * (size_t)e->skin.influences; k++)
    e->skin.joints[k] = 0, e->skin.weights[k] = k % (size_t)e->skin.influences == 0;
}

static void drop_skin(sn_examples *e) {
  sn_skin_free(&e->skin);
  e->skin = (sn_skin){0};
}

// The file's weights, or else those of bone heat, or else none.
static void weights_are_fitted_near_the_best_prior(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e = generate(&ctx, "athlete", 8, 2000);
  static const struct {
    const char *spec, *says;
  } known[] = {{"lbs", "Base: the file's weights refitted."},
               {"cor:weights=given", "Base: the file's weights."},
               {"dqs:weights=skeleton", "Base: bone heat."},
               {"lbs:smooth=0.01", "Base: weights without a prior."}};
  for (int k = 0; k < 4; k++) {
    trained t = train(&ctx, &e, known[k].spec, "all");
    assert_string_equal(t.report.learned, known[k].says);
    release(&t);
  }
  for (int outside = 0; outside < 2; outside++) {
    drop_skin(&e);
    if (outside) e.skeleton.rest[0].m[0][3] += 1000;
    trained t = train(&ctx, &e, "dqs", "all");
    assert_string_equal(t.report.learned, outside ? "Base: weights without a prior." : "Base: bone heat refitted.");
    release(&t);
  }
  sn_examples_free(&e);
}

// Frames that are held out may hold anything.
static void a_fit_learns_from_its_keys_alone(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e = generate(&ctx, "athlete", 12, 2000);
  sn_keys keys, others;
  sn_skin before, after;
  assert_ok(&ctx, sn_keys_parse(&ctx, "0-8", 12, 1, &keys, &others));
  for (int prior = 0; prior < 3; prior++) { // the file's, bone heat's, none
    if (prior > 0) drop_skin(&e), e.skin_made = false;
    if (prior == 1) assert_ok(&ctx, sn_skin_make(&ctx, &e));
    assert_int_equal(e.skin_made, prior == 1);
    for (int blend = SN_RT_BLEND_LINEAR; blend <= SN_RT_BLEND_DUALQUAT; blend++) {
      const sn_skin_task task = {&usual, &e, (sn_rt_blend)blend, &keys};
      assert_ok(&ctx, sn_train_skin(&ctx, &task, &before));
      for (int f = 9; f < 12; f++)
        for (int i = 0; i < e.rest.vertex_count; i++) sn_frame_mutable(&e.frames, f)[i][i % 3] += 10;
      assert_ok(&ctx, sn_train_skin(&ctx, &task, &after));
      size_t count = (size_t)before.vertex_count * (size_t)before.influences;
      assert_int_equal(before.influences, after.influences);
      assert_memory_equal(before.weights, after.weights, count * sizeof *before.weights);
      assert_memory_equal(before.joints, after.joints, count * sizeof *before.joints);
      sn_skin_free(&before), sn_skin_free(&after);
    }
  }
  sn_keys_free(&keys), sn_keys_free(&others);
  sn_examples_free(&e);
}

// The derivatives of dual-quaternion blending, with and without stretch, against differences.
static void derivatives_are_those_of_the_blend(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e = generate(&ctx, "arm", 5, 600);
  sn_arena memory = sn_arena_new(&ctx);
  sn_keys keys, others;
  assert_ok(&ctx, sn_keys_parse(&ctx, "all", 5, 1, &keys, &others));
  for (int stretched = 0; stretched < 2; stretched++) {
    if (stretched) {
      sn_mat3 wide = {{{1.2, 0.1, 0}, {0.1, 1, 0}, {0, 0, 0.8}}};
      sn_affine *m = &sn_pose(&e.poses, 3)[1];
      *m = sn_affine_mul(*m, sn_affine_about(wide, sn_affine_translation(e.skeleton.rest[1])));
    }
    sn_blend blend = {.examples = &e, .keys = &keys};
    assert_ok(&ctx, sn_blend_make(&ctx, &memory, SN_RT_BLEND_DUALQUAT, &keys, &blend));
    const uint16_t joints[3] = {0, 1, 2};
    for (int i = 0; i < 300; i += 37)
      for (int k = 0; k < 3; k++) {
        double low[3] = {0.5, 0.3, 0.2}, high[3] = {0.5, 0.3, 0.2}, middle[3] = {0.5, 0.3, 0.2};
        sn_vec3 columns[3];
        low[k] -= 1e-5, high[k] += 1e-5;
        sn_blend_residual(&blend, 3, i, &(sn_blend_row){3, joints, middle}, columns);
        sn_vec3 difference = sn_vec3_sub(sn_blend_residual(&blend, 3, i, &(sn_blend_row){3, joints, high}, NULL),
                                         sn_blend_residual(&blend, 3, i, &(sn_blend_row){3, joints, low}, NULL));
        assert_below(sn_vec3_distance(sn_vec3_scale(difference, 5e4), columns[k]),
                     1e-5 * (1 + sn_vec3_length(columns[k])));
      }
  }
  sn_keys_free(&keys), sn_keys_free(&others);
  sn_arena_free(&memory);
  sn_examples_free(&e);
}

static void a_placeholder_skin_is_seen_through(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e = generate(&ctx, "athlete", 40, 2000);
  static const char *const specs[] = {"lbs", "dqs", "cor"};
  for (int has_triangles = 1; has_triangles >= 0; has_triangles--) {
    double rigid = scores_of(&ctx, &e, "rigid", "0-19").all.rms_pct_diag;
    bind_to_one_joint(&e);
    if (!has_triangles) e.skeleton.rest[0].m[0][3] += 1000; // no bone heat: the skeleton is not inside the mesh
    for (int k = 0; k < 3; k++) {
      trained t = train(&ctx, &e, specs[k], "0-19");
      assert_below(t.scores.all.rms_pct_diag, rigid);
      release(&t);
    }
  }
  sn_examples_free(&e);
}

// Fitted weights move poses that they were not trained on better than the file's weights and one joint per vertex.
static void no_blend_is_worse_than_the_file_or_rigid(void **state) {
  sn_context ctx = sn_context_default();
  static const char *const sets[] = {"arm", "athlete"}, *const specs[] = {"lbs", "dqs", "cor"};
  for (int s = 0; s < 2; s++) {
    sn_examples e = generate(&ctx, sets[s], 40, 2000);
    double rigid = scores_of(&ctx, &e, "rigid", "every:2").test.rms;
    for (int k = 0; k < 3; k++) {
      char given[40];
      snprintf(given, sizeof given, "%s:weights=given", specs[k]);
      trained t = train(&ctx, &e, specs[k], "every:2"), file = train(&ctx, &e, given, "every:2");
      assert_below(t.scores.test.rms, fmin(rigid, file.scores.test.rms));
      assert_true(t.report.cross_validated > 0 && file.report.cross_validated > 0);
      release(&t), release(&file);
    }
    sn_examples_free(&e);
  }
}

// Few poses, poses that contradict each other, and poses of other frames.
static void bad_examples_give_a_model(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e = generate(&ctx, "athlete", 16, 2000);
  static const char *const specs[] = {"lbs", "dqs"}, *const few[] = {"3", "2,9"};
  size_t frame = (size_t)e.rest.vertex_count * sizeof(float[3]);
  for (int k = 0; k < 2; k++) {
    trained one = train(&ctx, &e, specs[k], few[0]), two = train(&ctx, &e, specs[k], few[1]);
    assert_true(one.scores.all.rms_pct_diag < 5 && two.scores.all.rms_pct_diag < 5);
    assert_true(two.report.cross_validated > 0);
    assert_near(one.report.cross_validated, 0, 0); // no pose can be held out
    release(&one), release(&two);
  }
  sn_frames wrong; // every frame with the pose of another
  assert_ok(&ctx, sn_frames_new(&ctx, e.rest.vertex_count, 16, &wrong));
  for (int f = 0; f < 16; f++) memcpy(sn_frame_mutable(&wrong, f), sn_frame(&e.frames, (f + 7) % 16), frame);
  sn_frames_free(&e.frames), e.frames = wrong;
  for (int k = 0; k < 2; k++) {
    trained t = train(&ctx, &e, specs[k], "all");
    assert_true(isfinite(t.report.cross_validated) && t.report.cross_validated > 0);
    release(&t);
  }
  for (int f = 1; f < 16; f += 2) // one pose, two shapes
    memcpy(sn_pose(&e.poses, f), sn_pose(&e.poses, f - 1), (size_t)e.skeleton.joint_count * sizeof(sn_affine));
  for (int k = 0; k < 2; k++) {
    trained t = train(&ctx, &e, specs[k], "all");
    assert_true(isfinite(t.report.cross_validated) && t.report.cross_validated > 0);
    release(&t);
  }
  sn_examples_free(&e);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(weights_are_fitted_near_the_best_prior),   cmocka_unit_test(a_fit_learns_from_its_keys_alone),
    cmocka_unit_test(derivatives_are_those_of_the_blend),       cmocka_unit_test(a_placeholder_skin_is_seen_through),
    cmocka_unit_test(no_blend_is_worse_than_the_file_or_rigid), cmocka_unit_test(bad_examples_give_a_model),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
