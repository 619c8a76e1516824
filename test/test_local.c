// SPDX-License-Identifier: MIT
// Local pose spaces: motion never seen, bounds beyond the clip, few sculpted poses, the runtime's paths.
#include "train_fixture.h"

static sn_examples athlete(sn_context *ctx, sn_gen_motion motion, int frames) {
  sn_gen_options options = sn_gen_options_default();
  options.set = "athlete", options.frames = frames, options.vertices = 2000, options.motion = motion;
  sn_examples examples;
  assert_ok(ctx, sn_gen(ctx, &options, &examples));
  return examples;
}

static float (*evaluate(const sn_rt_model *model, const sn_affine *joints))[3] {
  float(*positions)[3] = malloc(model->info.vertex_count * sizeof *positions);
  float(*input)[12] = malloc(model->info.joint_count * sizeof *input);
  void *scratch = malloc(sn_rt_scratch_size(model));
  sn_model_joints(joints, (int)model->info.joint_count, input);
  sn_rt_input in = {.joints = (const float(*)[12])input};
  sn_rt_output out = {.positions = positions[0]};
  assert_int_equal(sn_rt_evaluate(model, &in, scratch, &out, NULL), SN_RT_OK);
  free(input), free(scratch);
  return positions;
}

// Every joint turned against its parent by up to `most` radians about any axis.
static void random_pose(const sn_skeleton *skeleton, double most, sn_random *rng, sn_affine *pose) {
  for (int n = 0; n < skeleton->joint_count; n++) {
    int j = skeleton->order[n], parent = skeleton->parents[j];
    sn_vec3 axis = {sn_random_normal(rng), sn_random_normal(rng), sn_random_normal(rng)};
    axis = sn_vec3_scale(sn_vec3_normalize(axis, (sn_vec3){1, 0, 0}), most * sn_random_uniform(rng));
    pose[j] = sn_affine_about(sn_rotation_exp(axis), sn_affine_translation(skeleton->rest[j]));
    if (parent >= 0) pose[j] = sn_affine_mul(pose[parent], pose[j]);
  }
}

static double distance(const float a[3], const float b[3]) {
  return sn_vec3_distance(sn_vec3_from(a), sn_vec3_from(b));
}

static void new_motion_gains(void **state) {
  (void)state;
  sn_context ctx = sn_context_default();
  sn_examples rom = athlete(&ctx, SN_MOTION_ROM, 80), mixed = athlete(&ctx, SN_MOTION_MIXED, 20);
  sn_keys all, none;
  assert_ok(&ctx, sn_keys_parse(&ctx, "all", 20, 1, &all, &none));
  double ee[2];
  static const char *const specs[] = {"dqs:weights=given", "psd:blend=dualquat,weights=given"};
  for (int n = 0; n < 2; n++) {
    trained t = train(&ctx, &rom, specs[n], "all");
    sn_scores scores;
    assert_ok(&ctx, sn_assess(&ctx, &t.model, &mixed, &all, &none, &scores, NULL));
    ee[n] = scores.train.ee;
    if (n == 1) {
      assert_below(t.report.cross_validated, 2 * ee[1]);
      assert_below(ee[1], 2 * t.report.cross_validated);
    }
    release(&t);
  }
  assert_below(ee[1], 0.5 * ee[0]);
  sn_keys_free(&all), sn_keys_free(&none);
  sn_examples_free(&rom), sn_examples_free(&mixed);
}

// The frames of a set as a model of its joints has them.
static void replace_frames(const sn_rt_model *model, sn_examples *e) {
  for (int f = 0; f < e->frames.frame_count; f++) {
    float(*positions)[3] = evaluate(model, sn_pose(&e->poses, f));
    memcpy(sn_frame_mutable(&e->frames, f), positions, (size_t)e->rest.vertex_count * sizeof *positions);
    free(positions);
  }
}

// One joint at a time about one axis: to and fro.
static void single_pose(const sn_skeleton *skeleton, int f, sn_affine *pose) {
  int moving = 1 + f % (skeleton->joint_count - 1), axis = f / 2 % 3;
  double angle = 1.3 * sin(0.7 * f);
  for (int n = 0; n < skeleton->joint_count; n++) {
    int j = skeleton->order[n], parent = skeleton->parents[j];
    sn_vec3 turn = {axis == 0 ? angle : 0, axis == 1 ? angle : 0, axis == 2 ? angle : 0};
    pose[j] = j == moving ? sn_affine_about(sn_rotation_exp(turn), sn_affine_translation(skeleton->rest[j]))
                          : sn_affine_identity();
    if (parent >= 0) pose[j] = sn_affine_mul(pose[parent], pose[j]);
  }
}

// From a clip that moves one joint at a time nobody can see what a linear blend does where several turn: the cross-validated error knows it.
static void what_joints_do_together_is_seen(void **state) {
  (void)state;
  sn_context ctx = sn_context_default();
  sn_examples rom = generate(&ctx, "arm", 120, 800), mixed = generate(&ctx, "arm", 30, 800);
  sn_random rng = sn_random_new(5);
  for (int f = 0; f < 120; f++) single_pose(&rom.skeleton, f, sn_pose(&rom.poses, f));
  for (int f = 0; f < 30; f++) random_pose(&mixed.skeleton, 1.3, &rng, sn_pose(&mixed.poses, f));
  trained dqs = train(&ctx, &rom, "dqs:weights=given", "all");
  replace_frames(&dqs.model, &rom), replace_frames(&dqs.model, &mixed);
  trained t = train(&ctx, &rom, "psd:weights=given", "all");
  sn_keys all, none;
  sn_scores scores;
  assert_ok(&ctx, sn_keys_parse(&ctx, "all", 30, 1, &all, &none));
  assert_ok(&ctx, sn_assess(&ctx, &t.model, &mixed, &all, &none, &scores, NULL));
  assert_below(t.report.cross_validated, 1.5 * scores.train.ee);
  assert_below(scores.train.ee, 1.5 * t.report.cross_validated);
  sn_keys_free(&all), sn_keys_free(&none);
  release(&dqs), release(&t);
  sn_examples_free(&rom), sn_examples_free(&mixed);
}

// Of every method with corrections, those of proxy bones above all: their matrices may stretch anything.
static void corrections_are_bounded(void **state) {
  (void)state;
  static const char *const specs[][2] = {{"dqs:weights=given", "psd:blend=dualquat,weights=given"},
                                         {"lbs:weights=given", "eigenskin:weights=given"},
                                         {"lbs", "psd"},
                                         {"dqs", "psd:blend=dualquat,ridge=0"},
                                         {"cor", "psd:blend=centres"},
                                         {"rotreg:bones=40,remainder=none", "rotreg:bones=40"}};
  enum { pairs = sizeof specs / sizeof *specs };
  sn_context ctx = sn_context_default();
  sn_examples examples = athlete(&ctx, SN_MOTION_ROM, 60);
  size_t n = (size_t)examples.rest.vertex_count;
  double diagonal = sn_points_diagonal((const float(*)[3])examples.rest.positions, (int)n);
  sn_affine *pose = malloc((size_t)examples.skeleton.joint_count * sizeof *pose);
  double *farthest = malloc(n * sizeof *farthest);
  for (int s = 0; s < pairs; s++) {
    trained base = train(&ctx, &examples, specs[s][0], "all"), t = train(&ctx, &examples, specs[s][1], "all");
    sn_random rng = sn_random_new(16);
    for (size_t i = 0; i < n; i++) farthest[i] = 0;
    for (int k = 0; k < 60 + 1000; k++) {
      if (k >= 60) random_pose(&examples.skeleton, 2.0943951, &rng, pose);
      const sn_affine *joints = k < 60 ? sn_pose(&examples.poses, k) : pose;
      float(*a)[3] = evaluate(&base.model, joints), (*b)[3] = evaluate(&t.model, joints);
      for (size_t i = 0; i < n; i++) {
        double d = distance(a[i], b[i]);
        if (k < 60) farthest[i] = fmax(farthest[i], d);
        if (k >= 60) assert_below(d, fmax(1.5 * farthest[i], 0.001 * diagonal));
      }
      free(a), free(b);
    }
    release(&base), release(&t);
  }
  free(pose), free(farthest);
  sn_examples_free(&examples);
}

// Too few to leave any out.
static void few_poses_are_met(void **state) {
  (void)state;
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "elbow", 41, 600);
  assert_below(scores_of(&ctx, &examples, "psd:weights=given", "10,30").train.max_pct_diag, 0.01);
  assert_below(scores_of(&ctx, &examples, "psd:weights=given,blend=dualquat", "10,30").train.max_pct_diag, 0.01);
  sn_examples_free(&examples);
}

// ---- ridge=0 --------------------------------------------------------------------------------------------------------------------

// The turn of joint j against its parent between two frames, as an angle.
static double turn_between(const sn_examples *e, int j, int p, int q) {
  int parent = e->skeleton.parents[j];
  if (parent < 0) return 0;
  sn_mat3 turns[2];
  for (int k = 0; k < 2; k++) {
    const sn_affine *pose = sn_pose(&e->poses, k ? q : p);
    turns[k] = sn_mat3_mul(sn_mat3_transpose(sn_affine_linear(pose[parent])), sn_affine_linear(pose[j]));
  }
  return sn_vec3_length(sn_rotation_log(sn_mat3_mul(sn_mat3_transpose(turns[0]), turns[1])));
}

// Joints that have weight on a vertex, their parents and children.
static void find_near(const sn_examples *e, int i, bool *near) {
  for (int j = 0; j < e->skeleton.joint_count; j++) near[j] = false;
  for (int n = 0; n < e->skin.influences; n++) {
    size_t at = (size_t)i * (size_t)e->skin.influences + (size_t)n;
    int on = e->skin.joints[at];
    if (!(e->skin.weights[at] > 0.02f)) continue;
    near[on] = true;
    for (int j = 0; j < e->skeleton.joint_count; j++)
      if (e->skeleton.parents[j] == on || e->skeleton.parents[on] == j) near[j] = true;
  }
}

enum { met_frames = 60 };

// Turns of all joints between all frames; then how far frames are apart at the joints near a vertex.
typedef struct met {
  double *turns; // joint_count * frames * frames
  bool *near;
  double apart[met_frames][met_frames];
} met;

static void find_apart(const sn_examples *e, met *t) {
  for (int p = 0; p < met_frames; p++)
    for (int q = 0; q < met_frames; q++) {
      t->apart[p][q] = 0;
      for (int j = 0; j < e->skeleton.joint_count; j++)
        if (t->near[j]) t->apart[p][q] = fmax(t->apart[p][q], t->turns[(j * met_frames + p) * met_frames + q]);
    }
}

// Of every vertex and frame the model gives the mean of what frames that agree at the near joints ask for; all alone it is met. What
// neither agrees (below 1e-5) nor differs (above 0.01) is not asked. `met_alone` counts.
static void poses_are_met_or_averaged(void **state) {
  (void)state;
  sn_context ctx = sn_context_default();
  sn_examples e = athlete(&ctx, SN_MOTION_ROM, met_frames);
  trained base = train(&ctx, &e, "dqs:weights=given", "all");
  trained t = train(&ctx, &e, "psd:weights=given,blend=dualquat,ridge=0,threshold=0,order=forward", "all");
  int joints = e.skeleton.joint_count, n = e.rest.vertex_count, met_alone = 0, averaged = 0;
  double diagonal = sn_points_diagonal((const float(*)[3])e.rest.positions, n), largest = 0;
  float(*skinned[met_frames])[3], (*given[met_frames])[3];
  static met m;
  m.turns = malloc((size_t)joints * met_frames * met_frames * sizeof *m.turns);
  m.near = malloc((size_t)joints * sizeof *m.near);
  for (int p = 0; p < met_frames; p++) {
    skinned[p] = evaluate(&base.model, sn_pose(&e.poses, p)), given[p] = evaluate(&t.model, sn_pose(&e.poses, p));
    for (int j = 0; j < joints; j++)
      for (int q = 0; q < met_frames; q++) m.turns[(j * met_frames + p) * met_frames + q] = turn_between(&e, j, p, q);
  }
  for (int i = 0; i < n; i++) {
    find_near(&e, i, m.near);
    find_apart(&e, &m);
    for (int p = 0; p < met_frames; p++) {
      double asked[3] = {0, 0, 0}, squared = 0;
      int agree = 0;
      bool clear = true;
      for (int q = 0; q < met_frames; q++) {
        clear &= m.apart[p][q] < 1e-5 || m.apart[p][q] > 0.01;
        if (m.apart[p][q] > 1e-5) continue;
        agree++;
        for (int c = 0; c < 3; c++) asked[c] += (double)sn_frame(&e.frames, q)[i][c] - (double)skinned[q][i][c];
      }
      if (!clear) continue;
      agree > 1 ? averaged++ : met_alone++;
      for (int c = 0; c < 3; c++) {
        double d = (double)given[p][i][c] - (double)skinned[p][i][c] - asked[c] / agree;
        squared += d * d;
      }
      largest = fmax(largest, sqrt(squared));
    }
  }
  assert_below(largest, 2e-5 * diagonal);
  assert_true(met_alone > 10 * n && averaged > 10 * n);
  for (int p = 0; p < met_frames; p++) free(skinned[p]), free(given[p]);
  free(m.turns), free(m.near);
  release(&base), release(&t);
  sn_examples_free(&e);
}

// Between the poses it does not swing, and where all poses differ for everybody all are met, in the rest pose too.
static void met_poses_do_not_swing(void **state) {
  (void)state;
  sn_context ctx = sn_context_default();
  sn_examples e = athlete(&ctx, SN_MOTION_MIXED, 60);
  for (int k = 0; k < 2; k++) {
    sn_scores usual = scores_of(&ctx, &e, k ? "psd:blend=dualquat" : "psd", "every:2");
    sn_scores exact = scores_of(&ctx, &e, k ? "psd:blend=dualquat,ridge=0" : "psd:ridge=0", "every:2");
    assert_below(exact.train.max_pct_diag, 0.05);
    assert_below(exact.test.ee, 3 * usual.test.ee); // it does not hear joints far away
  }
  sn_examples_free(&e);
}

static void moving_everything_changes_nothing(void **state) {
  (void)state;
  sn_context ctx = sn_context_default();
  sn_examples examples = athlete(&ctx, SN_MOTION_ROM, 80);
  trained t = train(&ctx, &examples, "psd:weights=given", "all");
  int joints = examples.skeleton.joint_count;
  sn_affine *moved = malloc((size_t)joints * sizeof *moved);
  sn_affine by = sn_affine_about(sn_rotation_exp((sn_vec3){0.4, -1.1, 0.7}), (sn_vec3){0.3, 0.2, -0.5});
  for (int f = 0; f < 40; f += 9) {
    const sn_affine *pose = sn_pose(&examples.poses, f);
    for (int j = 0; j < joints; j++) moved[j] = sn_affine_mul(by, pose[j]);
    float(*a)[3] = evaluate(&t.model, pose), (*b)[3] = evaluate(&t.model, moved);
    for (size_t i = 0; i < t.model.info.vertex_count; i++)
      assert_below(sn_vec3_distance(sn_affine_apply(by, sn_vec3_from(a[i])), sn_vec3_from(b[i])), 1e-4);
    free(a), free(b);
  }
  free(moved);
  release(&t);
  sn_examples_free(&examples);
}

// A range of vertices is the same bytes as in the whole, far beyond the limits too: every vertex has its own.
static void check_range(const sn_rt_model *model, const sn_affine *pose, float (*whole)[3]) {
  size_t vertices = model->info.vertex_count, first = vertices / 3, count = vertices / 2;
  float(*joints)[12] = malloc(model->info.joint_count * sizeof *joints), (*part)[3] = calloc(vertices, sizeof *part);
  void *scratch = malloc(sn_rt_scratch_size(model));
  sn_model_joints(pose, (int)model->info.joint_count, joints);
  sn_rt_input input = {.joints = (const float(*)[12])joints};
  sn_rt_output output = {.positions = part[0]};
  assert_int_equal(sn_rt_palette(model, &input, scratch, NULL), SN_RT_OK);
  assert_int_equal(sn_rt_skin(model, scratch, &output, (uint32_t)first, (uint32_t)count, NULL), SN_RT_OK);
  assert_memory_equal(part[first], whole[first], count * sizeof *part);
  free(joints), free(part), free(scratch);
}

// Within the limits and far beyond them.
static void paths_agree(void **state) {
  (void)state;
  sn_context ctx = sn_context_default();
  sn_examples examples = athlete(&ctx, SN_MOTION_ROM, 80);
  static const char *const specs[] = {"psd:weights=given", "psd:weights=given,blend=dualquat",
                                      "psd:weights=given,blend=dualquat,ridge=0", "psd:space=whole,weighted=1"};
  sn_affine *pose = malloc((size_t)examples.skeleton.joint_count * sizeof *pose);
  for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
    trained t = train(&ctx, &examples, specs[s], "all");
    sn_rt_model scalar = t.model;
    assert_true(sn_rt_use_path(&scalar, SN_RT_PATH_SCALAR));
    sn_random rng = sn_random_new(3);
    for (int k = 0; k < 20; k++) {
      random_pose(&examples.skeleton, 0.15 * k, &rng, pose);
      float(*a)[3] = evaluate(&scalar, pose), (*b)[3] = evaluate(&t.model, pose);
      for (size_t i = 0; i < t.model.info.vertex_count; i++)
        assert_below(distance(a[i], b[i]), 1e-4 * (1 + sn_vec3_length(sn_vec3_from(a[i]))));
      check_range(&scalar, pose, a), check_range(&t.model, pose, b);
      free(a), free(b);
    }
    release(&t);
  }
  free(pose);
  sn_examples_free(&examples);
}

static void forms_of_the_whole_space_are_refused(void **state) {
  (void)state;
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "elbow", 16, 600);
  static const char *const specs[] = {"psd:kernel=thinplate", "psd:weighted=1", "psd:cardinal=0", "psd:sigma=pose"};
  for (size_t n = 0; n < sizeof specs / sizeof *specs; n++) {
    sn_method_spec spec;
    sn_keys keys, others;
    sn_model model;
    sn_train_report report;
    assert_ok(&ctx, sn_method_parse(&ctx, specs[n], &spec));
    assert_ok(&ctx, sn_keys_parse(&ctx, "every:4", 16, 1, &keys, &others));
    assert_fails(&ctx, sn_train(&ctx, &spec, &examples, &keys, &model, &report), "add space=whole");
    sn_keys_free(&keys), sn_keys_free(&others);
  }
  sn_examples_free(&examples);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(new_motion_gains),
    cmocka_unit_test(corrections_are_bounded),
    cmocka_unit_test(what_joints_do_together_is_seen),
    cmocka_unit_test(poses_are_met_or_averaged),
    cmocka_unit_test(met_poses_do_not_swing),
    cmocka_unit_test(few_poses_are_met),
    cmocka_unit_test(moving_everything_changes_nothing),
    cmocka_unit_test(paths_agree),
    cmocka_unit_test(forms_of_the_whole_space_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
