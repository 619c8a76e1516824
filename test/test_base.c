// SPDX-License-Identifier: MIT
// The base of a model: its candidates, their fits, and the choice by cross-validation.
#include "train_fixture.h"

#include "train/skin/base.h"
#include "train/skin/blend.h"

static const sn_skin_options usual = {.influences = 4};

// All vertices on one joint: what exporters write where nobody has painted weights.
static void bind_to_one_joint(sn_examples *e) {
  for (size_t k = 0; k < (size_t)e->skin.vertex_count * (size_t)e->skin.influences; k++)
    e->skin.joints[k] = 0, e->skin.weights[k] = k % (size_t)e->skin.influences == 0;
}

static void drop_skin(sn_examples *e) {
  sn_skin_free(&e->skin);
  e->skin = (sn_skin){0};
}

static double score_of(const sn_train_report *report, sn_base_kind kind) {
  for (int k = 0; k < report->candidate_count; k++)
    if (strcmp(report->candidates[k].name, sn_base_name(kind)) == 0) return report->candidates[k].cross_validated;
  return INFINITY;
}

static void candidates_are_those_possible(void **state) {
  (void)state;
  sn_context ctx = sn_context_default();
  sn_examples e = generate(&ctx, "athlete", 4, 2000);
  sn_base_kind kinds[SN_BASE_KINDS];
  assert_ok(&ctx, sn_skin_make(&ctx, &e));
  static const sn_base_kind both[] = {SN_BASE_FILE, SN_BASE_SKELETON, SN_BASE_LARGEST, SN_BASE_REFIT};
  assert_int_equal(sn_base_candidates(&usual, &e, kinds), 4);
  assert_memory_equal(kinds, both, sizeof both);
  sn_skin_options o = {.influences = 4, .weights = SN_WEIGHTS_GIVEN};
  assert_int_equal(sn_base_candidates(&o, &e, kinds), 1);
  assert_int_equal(kinds[0], SN_BASE_FILE);
  o.weights = SN_WEIGHTS_SKELETON;
  assert_int_equal(sn_base_candidates(&o, &e, kinds), 1);
  assert_int_equal(kinds[0], SN_BASE_SKELETON);
  sn_skin_free(&e.made), e.made = (sn_skin){0};
  drop_skin(&e);
  static const sn_base_kind none[] = {SN_BASE_RIGID, SN_BASE_FREE};
  assert_int_equal(sn_base_candidates(&usual, &e, kinds), 2);
  assert_memory_equal(kinds, none, sizeof none);
  sn_examples_free(&e);
}

// Frames that are held out may hold anything.
static void a_fit_learns_from_its_keys_alone(void **state) {
  (void)state;
  sn_context ctx = sn_context_default();
  sn_examples e = generate(&ctx, "athlete", 12, 2000);
  sn_keys keys, others;
  sn_skin before, after;
  assert_ok(&ctx, sn_skin_make(&ctx, &e));
  assert_ok(&ctx, sn_keys_parse(&ctx, "0-8", 12, 1, &keys, &others));
  for (int kind = 0; kind < SN_BASE_KINDS; kind++)
    for (int blend = SN_RT_BLEND_LINEAR; blend <= SN_RT_BLEND_DUALQUAT; blend++) {
      const sn_skin_task task = {&usual, &e, (sn_rt_blend)blend, &keys};
      assert_ok(&ctx, sn_base_fit(&ctx, &task, (sn_base_kind)kind, &before));
      for (int f = 9; f < 12; f++)
        for (int i = 0; i < e.rest.vertex_count; i++) sn_frame_mutable(&e.frames, f)[i][i % 3] += 10;
      assert_ok(&ctx, sn_base_fit(&ctx, &task, (sn_base_kind)kind, &after));
      size_t count = (size_t)before.vertex_count * (size_t)before.influences;
      assert_int_equal(before.influences, after.influences);
      assert_memory_equal(before.weights, after.weights, count * sizeof *before.weights);
      assert_memory_equal(before.joints, after.joints, count * sizeof *before.joints);
      sn_skin_free(&before), sn_skin_free(&after);
    }
  sn_keys_free(&keys), sn_keys_free(&others);
  sn_skin_free(&e.made);
  sn_examples_free(&e);
}

// The derivatives of dual-quaternion blending, with and without stretch, against differences.
static void derivatives_are_those_of_the_blend(void **state) {
  (void)state;
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
    assert_int_equal(blend.stretched, stretched);
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
  (void)state;
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
      assert_below(t.report.cross_validated, SN_WORTH_IT * score_of(&t.report, SN_BASE_RIGID));
      release(&t);
    }
  }
  sn_examples_free(&e);
}

// The report's score is that of the candidate chosen, and no candidate is better by more than a hundredth.
static void check_report(const sn_train_report *report) {
  int chosen = 0;
  assert_true(report->candidate_count > 1 && report->cross_validated > 0);
  for (int k = 0; k < report->candidate_count; k++) {
    const sn_scored *c = &report->candidates[k];
    assert_true(isfinite(c->cross_validated));
    assert_below(report->cross_validated, SN_WORTH_IT * c->cross_validated + 1e-12);
    if (!c->is_chosen) continue;
    assert_near(c->cross_validated, report->cross_validated, 0);
    chosen++;
  }
  assert_int_equal(chosen, 1);
}

static void no_blend_is_worse_than_the_file_or_rigid(void **state) {
  (void)state;
  sn_context ctx = sn_context_default();
  static const char *const sets[] = {"arm", "athlete"}, *const specs[] = {"lbs", "dqs", "cor"};
  for (int s = 0; s < 2; s++) {
    sn_examples e = generate(&ctx, sets[s], 20, 2000);
    for (int k = 0; k < 3; k++) {
      char given[40];
      trained t = train(&ctx, &e, specs[k], "all");
      check_report(&t.report);
      snprintf(given, sizeof given, "%s:weights=given", specs[k]);
      trained file = train(&ctx, &e, given, "all");
      assert_near(file.report.cross_validated, score_of(&t.report, SN_BASE_FILE), 1e-9);
      release(&t), release(&file);
    }
    sn_examples_free(&e);
  }
}

// Few poses, poses that contradict each other, and poses of other frames.
static void bad_examples_give_a_model(void **state) {
  (void)state;
  sn_context ctx = sn_context_default();
  sn_examples e = generate(&ctx, "athlete", 16, 2000);
  static const char *const specs[] = {"lbs", "dqs"}, *const few[] = {"3", "2,9"};
  size_t frame = (size_t)e.rest.vertex_count * sizeof(float[3]);
  for (int k = 0; k < 2; k++) {
    trained one = train(&ctx, &e, specs[k], few[0]), two = train(&ctx, &e, specs[k], few[1]);
    assert_true(one.scores.all.rms_pct_diag < 5 && two.scores.all.rms_pct_diag < 5);
    assert_int_equal(two.report.candidate_count, 4);
    assert_int_equal(one.report.candidate_count, 3); // no pose can be held out: nothing may be learned from it
    release(&one), release(&two);
  }
  sn_frames wrong; // every frame with the pose of another
  assert_ok(&ctx, sn_frames_new(&ctx, e.rest.vertex_count, 16, &wrong));
  for (int f = 0; f < 16; f++) memcpy(sn_frame_mutable(&wrong, f), sn_frame(&e.frames, (f + 7) % 16), frame);
  sn_frames_free(&e.frames), e.frames = wrong;
  for (int k = 0; k < 2; k++) {
    trained t = train(&ctx, &e, specs[k], "all");
    check_report(&t.report);
    release(&t);
  }
  for (int f = 1; f < 16; f += 2) // one pose, two shapes
    memcpy(sn_pose(&e.poses, f), sn_pose(&e.poses, f - 1), (size_t)e.skeleton.joint_count * sizeof(sn_affine));
  for (int k = 0; k < 2; k++) {
    trained t = train(&ctx, &e, specs[k], "all");
    check_report(&t.report);
    release(&t);
  }
  sn_examples_free(&e);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(candidates_are_those_possible),
    cmocka_unit_test(a_fit_learns_from_its_keys_alone),
    cmocka_unit_test(derivatives_are_those_of_the_blend),
    cmocka_unit_test(a_placeholder_skin_is_seen_through),
    cmocka_unit_test(no_blend_is_worse_than_the_file_or_rigid),
    cmocka_unit_test(bad_examples_give_a_model),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
