// SPDX-License-Identifier: MIT
// Lessons: poses that the clip does not have, with the vertices where the skin of the skeleton file takes them.
#include "train_fixture.h"

#include "train/rotreg/teach.h"

enum { frames = 24 };

static sn_examples athlete(sn_context *ctx, sn_gen_motion motion) {
  sn_gen_options options = sn_gen_options_default();
  options.set = "athlete", options.frames = frames, options.vertices = 2000, options.motion = motion;
  sn_examples examples;
  assert_ok(ctx, sn_gen(ctx, &options, &examples));
  return examples;
}

static void evaluate(const sn_rt_model *model, const sn_affine *pose, float (*out)[3]) {
  float(*joints)[12] = malloc(model->info.joint_count * sizeof *joints);
  void *scratch = malloc(sn_rt_scratch_size(model));
  sn_model_joints(pose, (int)model->info.joint_count, joints);
  sn_rt_input in = {.joints = (const float(*)[12])joints};
  sn_rt_output to = {.positions = out[0]};
  assert_int_equal(sn_rt_evaluate(model, &in, scratch, &to, NULL), SN_RT_OK);
  free(joints), free(scratch);
}

// The frames become what the skin of the file does by this method.
static void skin_frames(sn_context *ctx, sn_examples *e, const char *spec) {
  trained t = train(ctx, e, spec, "all");
  for (int f = 0; f < frames; f++) evaluate(&t.model, sn_pose(&e->poses, f), sn_frame_mutable(&e->frames, f));
  release(&t);
}

static int lesson_count(sn_context *ctx, const sn_examples *e, bool wanted) {
  sn_keys all, none;
  sn_rotreg_lessons lessons;
  assert_ok(ctx, sn_keys_parse(ctx, "all", frames, 1, &all, &none));
  assert_ok(ctx, sn_rotreg_teach(ctx, e, &all, NULL, wanted, &lessons));
  int count = lessons.count;
  sn_rotreg_lessons_free(&lessons), sn_keys_free(&all), sn_keys_free(&none);
  return count;
}

// By the blend that the frames show.
static void test_lessons_are_the_skins(void **state) {
  (void)state;
  static const char *const specs[] = {"dqs:weights=given", "lbs:weights=given"};
  for (int s = 0; s < 2; s++) {
    sn_context ctx = sn_context_default();
    sn_examples e = athlete(&ctx, SN_MOTION_OWN);
    skin_frames(&ctx, &e, specs[s]);
    trained t = train(&ctx, &e, specs[s], "all");
    sn_keys keys, others;
    sn_rotreg_lessons lessons;
    assert_ok(&ctx, sn_keys_parse(&ctx, "every:2", frames, 1, &keys, &others));
    assert_ok(&ctx, sn_rotreg_teach(&ctx, &e, &keys, NULL, true, &lessons));
    size_t n = (size_t)e.rest.vertex_count;
    assert_true(lessons.count > 0);
    assert_int_equal(lessons.keys.count, keys.count + lessons.count);
    assert_memory_equal(lessons.examples.frames.positions, e.frames.positions, frames * n * sizeof(float[3]));
    float(*skinned)[3] = malloc(n * sizeof *skinned);
    double moved = 0;
    for (int k = 0; k < lessons.count; k++) {
      int f = lessons.keys.frames[keys.count + k];
      assert_int_equal(f, frames + k);
      evaluate(&t.model, sn_pose(&lessons.examples.poses, f), skinned);
      for (size_t i = 0; i < n; i++) {
        sn_vec3 place = sn_vec3_from(sn_frame(&lessons.examples.frames, f)[i]);
        assert_below(sn_vec3_distance(place, sn_vec3_from(skinned[i])), 1e-4);
        moved = fmax(moved, sn_vec3_distance(place, sn_vec3_from(e.rest.positions[i])));
      }
    }
    assert_below(0.1, moved);
    free(skinned);
    sn_rotreg_lessons_free(&lessons), sn_keys_free(&keys), sn_keys_free(&others), release(&t);
    sn_examples_free(&e);
  }
}

// Not by a skin that is far from the frames, nor where few joints turn; by one that made the frames always.
static void test_who_is_taught(void **state) {
  (void)state;
  sn_context ctx = sn_context_default();
  sn_examples own = athlete(&ctx, SN_MOTION_OWN), rom = athlete(&ctx, SN_MOTION_ROM);
  assert_int_equal(lesson_count(&ctx, &own, true), 0);
  skin_frames(&ctx, &own, "lbs:weights=given"), skin_frames(&ctx, &rom, "lbs:weights=given");
  assert_true(lesson_count(&ctx, &own, true) > 0);
  assert_int_equal(lesson_count(&ctx, &own, false), 0);
  assert_true(lesson_count(&ctx, &rom, true) > 0);
  sn_examples_free(&own), sn_examples_free(&rom);
  sn_examples arm = generate(&ctx, "arm", frames, 600);
  skin_frames(&ctx, &arm, "lbs:weights=given");
  assert_int_equal(lesson_count(&ctx, &arm, true), 0);
  sn_examples_free(&arm);
}

static double error_on(sn_context *ctx, const sn_examples *e, const char *spec, const sn_examples *other) {
  trained t = train(ctx, e, spec, "all");
  float(*out)[3] = malloc((size_t)e->rest.vertex_count * sizeof *out);
  double sum = 0;
  for (int f = 0; f < frames; f++) {
    evaluate(&t.model, sn_pose(&other->poses, f), out);
    for (int i = 0; i < e->rest.vertex_count; i++)
      sum += pow(sn_vec3_distance(sn_vec3_from(out[i]), sn_vec3_from(sn_frame(&other->frames, f)[i])), 2);
  }
  free(out), release(&t);
  return sqrt(sum);
}

// A character played by dual quaternions: on another clip no worse than its skin blended linearly, and better where its clip tells something.
static void test_another_clip(void **state) {
  (void)state;
  figures_only();
  sn_context ctx = sn_context_default();
  static const sn_gen_motion motions[] = {SN_MOTION_OWN, SN_MOTION_MIXED};
  sn_examples clips[2];
  for (int k = 0; k < 2; k++) {
    clips[k] = athlete(&ctx, motions[k]);
    skin_frames(&ctx, &clips[k], "dqs:weights=given");
  }
  double given = error_on(&ctx, &clips[0], "lbs:weights=given", &clips[1]),
         rotreg = error_on(&ctx, &clips[0], "rotreg:bones=40", &clips[1]);
  print_message("rotreg %.3f of the given skin\n", rotreg / given);
  assert_below(rotreg, 0.9 * given);
  sn_examples_free(&clips[0]), sn_examples_free(&clips[1]);
}

// A leg and a foot that the root moves: pose spaces of joints against their parents would do harm, and are left out.
static void test_stretched_skins(void **state) {
  (void)state;
  sn_context ctx = sn_context_default();
  sn_examples e = athlete(&ctx, SN_MOTION_OWN);
  sn_keys all, none;
  sn_rotreg_lessons lessons;
  skin_frames(&ctx, &e, "dqs:weights=given");
  assert_ok(&ctx, sn_keys_parse(&ctx, "all", frames, 1, &all, &none));
  assert_ok(&ctx, sn_rotreg_teach(&ctx, &e, &all, NULL, true, &lessons));
  assert_true(lessons.exact && !lessons.stretched);
  sn_rotreg_lessons_free(&lessons);
  for (int i = 0; i < e.rest.vertex_count / 10; i++) { // the first and the last joint: far from each other
    size_t at = (size_t)i * (size_t)e.skin.influences;
    e.skin.joints[at] = (uint16_t)e.skeleton.order[e.skeleton.joint_count - 1];
    e.skin.joints[at + 1] = (uint16_t)(e.skeleton.order[e.skeleton.joint_count - 1] - 8);
    for (int k = 0; k < e.skin.influences; k++) e.skin.weights[at + (size_t)k] = k < 2 ? 0.5F : 0;
  }
  skin_frames(&ctx, &e, "dqs:weights=given");
  assert_ok(&ctx, sn_rotreg_teach(&ctx, &e, &all, NULL, true, &lessons));
  assert_true(lessons.exact && lessons.stretched);
  sn_rotreg_lessons_free(&lessons), sn_keys_free(&all), sn_keys_free(&none);
  sn_examples_free(&e);
}

// Torques and named values have a row for every lesson, behind those of the frames.
static void test_what_frames_bring(void **state) {
  (void)state;
  sn_context ctx = sn_context_default();
  sn_examples e = athlete(&ctx, SN_MOTION_OWN);
  skin_frames(&ctx, &e, "lbs:weights=given");
  const sn_torques generated = e.torques;
  e.torques = (sn_torques){0};
  trained without = train(&ctx, &e, "rotreg:bones=20,remainder=auto", "all");
  int joint_count = e.skeleton.joint_count;
  sn_torques torques = {.joint_count = joint_count, .frame_count = frames};
  torques.values = calloc((size_t)frames * (size_t)joint_count, sizeof *torques.values);
  torques.has = calloc((size_t)joint_count, sizeof *torques.has);
  for (int j = 0; j < joint_count; j++) torques.has[j] = true;
  for (int n = 0; n < frames * joint_count; n++) torques.values[n] = n;
  e.torques = torques;
  sn_keys all, none;
  sn_rotreg_lessons lessons;
  assert_ok(&ctx, sn_values_new(&ctx, 1, frames, &e.values));
  e.values.rest[0] = 0.25;
  assert_ok(&ctx, sn_keys_parse(&ctx, "all", frames, 1, &all, &none));
  assert_ok(&ctx, sn_rotreg_teach(&ctx, &e, &all, NULL, true, &lessons));
  assert_true(lessons.count > 0);
  assert_int_equal(lessons.examples.torques.frame_count, frames + lessons.count);
  assert_int_equal(lessons.examples.values.frame_count, frames + lessons.count);
  for (int k = 0; k < lessons.count; k++) {
    assert_near(sn_torque(&lessons.examples.torques, frames + k, 1), 1 + joint_count * (frames - 1) / 2.0, 1e-9);
    assert_near(lessons.examples.values.values[frames + k], 0.25, 0);
  }
  sn_rotreg_lessons_free(&lessons), sn_keys_free(&all), sn_keys_free(&none), sn_values_free(&e.values);
  trained with = train(&ctx, &e, "rotreg:bones=20,remainder=auto", "all");
  assert_int_equal(with.bytes.size, without.bytes.size);
  assert_memory_equal(with.bytes.bytes, without.bytes.bytes, with.bytes.size);
  release(&with), release(&without);
  e.torques = generated;
  free(torques.values), free(torques.has);
  sn_examples_free(&e);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_lessons_are_the_skins),
                                     cmocka_unit_test(test_who_is_taught), cmocka_unit_test(test_another_clip),
                                     cmocka_unit_test(test_stretched_skins),
                                     cmocka_unit_test(test_what_frames_bring)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
