// SPDX-License-Identifier: MIT
// Corrections as sums of functions of single joints: new motion, bounds beyond the clip, few poses, the runtime's paths.
#include "train_fixture.h"

#include "runtime/format.h"
#include "train/pose_space.h"

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

// Every joint rotated against its parent by up to `most` radians about any axis.
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
  sn_context ctx = sn_context_default();
  sn_examples rom = athlete(&ctx, SN_MOTION_ROM, 80), mixed = athlete(&ctx, SN_MOTION_MIXED, 20);
  sn_keys all, none;
  assert_ok(&ctx, sn_keys_parse(&ctx, "all", 20, 1, &all, &none));
  double ee[2];
  static const char *const specs[] = {"dqs:weights=given", "psd:blend=dualquat,weights=given"};
  for (int n = 0; n < 2; n++) {
    trained t = train(&ctx, &rom, specs[n], "all");
    sn_scores scores;
    assert_ok(&ctx, sn_assess(&ctx, &t.model, &mixed, &(sn_scored_frames){&all, &none, NULL}, &scores));
    ee[n] = scores.train.ee;
    if (n == 1) assert_true(t.report.cross_validated > 0);
    release(&t);
  }
  assert_below(ee[1], 0.5 * ee[0]);
  sn_keys_free(&all), sn_keys_free(&none);
  sn_examples_free(&rom), sn_examples_free(&mixed);
}

// Of every blend.
static void corrections_are_bounded(void **state) {
  static const char *const specs[][2] = {{"dqs:weights=given", "psd:blend=dualquat,weights=given"},
                                         {"lbs:weights=given", "eigenskin:weights=given"},
                                         {"cor:weights=given", "psd:blend=centres,weights=given"}};
  enum { pairs = sizeof specs / sizeof *specs };
  sn_context ctx = sn_context_default();
  sn_examples examples = athlete(&ctx, SN_MOTION_ROM, 60);
  size_t n = (size_t)examples.rest.vertex_count;
  sn_affine *pose = malloc((size_t)examples.skeleton.joint_count * sizeof *pose);
  double *farthest = malloc(n * sizeof *farthest);
  for (int s = 0; s < pairs; s++) {
    trained base = train(&ctx, &examples, specs[s][0], "all"), t = train(&ctx, &examples, specs[s][1], "all");
    sn_random rng = sn_random_new(16);
    double most = 0;
    for (size_t i = 0; i < n; i++) farthest[i] = 0;
    for (int k = 0; k < 60 + 1000; k++) {
      if (k >= 60) random_pose(&examples.skeleton, 2.0943951, &rng, pose);
      const sn_affine *joints = k < 60 ? sn_pose(&examples.poses, k) : pose;
      float(*a)[3] = evaluate(&base.model, joints), (*b)[3] = evaluate(&t.model, joints);
      for (size_t i = 0; i < n; i++) {
        double d = distance(a[i], b[i]);
        if (k < 60) farthest[i] = fmax(farthest[i], d), most = fmax(most, d);
        // As far as any vertex in training, or three times as far as itself; and what is rounded.
        if (k >= 60) assert_below(d, fmax(3.1 * farthest[i], 1.05 * most));
      }
      free(a), free(b);
    }
    release(&base), release(&t);
  }
  free(pose), free(farthest);
  sn_examples_free(&examples);
}

// Too few to hold any out: the usual ridge, and nothing is dropped. Poses are met to a thousandth of the diagonal.
static void few_poses_are_met(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "elbow", 41, 600);
  assert_below(scores_of(&ctx, &examples, "psd:weights=given", "10,30").train.max_pct_diag, 0.1);
  assert_below(scores_of(&ctx, &examples, "psd:weights=given,blend=dualquat", "10,30").train.max_pct_diag, 0.1);
  sn_examples_free(&examples);
}

static void moving_everything_changes_nothing(void **state) {
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
  sn_context ctx = sn_context_default();
  sn_examples examples = athlete(&ctx, SN_MOTION_ROM, 80);
  static const char *const specs[] = {"psd:weights=given", "psd:weights=given,blend=dualquat",
                                      "psd:space=whole,weighted=1"};
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

// Terms of a group written out, from pose vectors relative to the references.
static int terms_of(const sn_rt_terms *t, const sn_rt_reference *references, const double *vectors, const float *mix,
                    double *out) {
  double x[2][3];
  for (int k = 0; k < 6; k++) {
    int joint = references[k < 3 ? t->a : t->b].joint;
    x[k / 3][k % 3] = vectors[3 * joint + k % 3] - (double)t->rest[k / 3][k % 3];
  }
  int count = 0;
  if (t->kind == SN_RT_TERMS_GAUSS) {
    for (; count < t->count; count++) {
      double d2 = 0;
      for (int c = 0; c < 3; c++) d2 += pow(x[0][c] - (double)mix[t->first + (uint32_t)(3 * count + c)], 2);
      out[count] = exp(-d2 / (2 * (double)t->width * (double)t->width));
    }
  } else if (t->kind == SN_RT_TERMS_PAIR) {
    for (; count < 9; count++) out[count] = x[0][count / 3] * x[1][count % 3];
  } else {
    for (int a = 0; a < 3; a++) out[count++] = x[0][a];
    for (int a = 0; a < 3; a++)
      for (int b = a; b < 3; b++) out[count++] = x[0][a] * x[0][b];
  }
  return count;
}

// A foot is a child of the root and has vertices in common with the shin only: it is relative to the shin, whatever the order of
// the joints, if it moves away from the root. Where it goes with the shin, it has no translation; where it goes its own way, it
// has. A foot that stays with the root remains relative to it: the shin moves then, not the foot.
static void feet_follow_the_leg(void **state) {
  sn_context ctx = sn_context_default();
  enum { root, foot, shin, joint_count, frame_count = 3 };
  float positions[][3] = {{0, 0, 0}, {0, 2, 0}};
  sn_examples e = {.rest = {.vertex_count = 2, .positions = positions}};
  sn_keys all, none;
  assert_ok(&ctx, sn_skeleton_new(&ctx, joint_count, &e.skeleton));
  e.skeleton.parents[root] = -1, e.skeleton.parents[foot] = e.skeleton.parents[shin] = root;
  for (int j = 0; j < joint_count; j++)
    e.skeleton.rest[j] = sn_affine_make(sn_mat3_identity(), (sn_vec3){0, 2 - j, 0});
  assert_ok(&ctx, sn_skeleton_sort(&ctx, &e.skeleton));
  assert_ok(&ctx, sn_skin_new(&ctx, 2, 2, &e.skin));
  for (int i = 0; i < 2; i++) {
    e.skin.joints[2 * i] = shin, e.skin.joints[2 * i + 1] = i ? root : foot;
    e.skin.weights[2 * i] = e.skin.weights[2 * i + 1] = 0.5f;
  }
  assert_ok(&ctx, sn_poses_new(&ctx, joint_count, frame_count, &e.poses));
  assert_ok(&ctx, sn_keys_parse(&ctx, "all", frame_count, 1, &all, &none));
  enum { stays, along, own };
  for (int way = stays; way <= own; way++) {
    sn_arena memory = sn_arena_new(&ctx);
    sn_local_rotation *rotations;
    for (int f = 0; f < frame_count; f++) {
      sn_affine moved = sn_affine_make(sn_rotation_exp((sn_vec3){0.3 * f, 0, 0}), (sn_vec3){0, 0, 0});
      sn_pose(&e.poses, f)[shin] = moved;
      if (way == along) sn_pose(&e.poses, f)[foot] = moved;
      if (way == own) sn_pose(&e.poses, f)[foot] = sn_affine_make(sn_mat3_identity(), (sn_vec3){0, 0, 0.5 * f});
    }
    assert_ok(&ctx, sn_local_rotations_make(&ctx, &memory, &e, &all, &rotations));
    for (int n = 0, seen = 0; n < joint_count; n++) {
      if (rotations[n].joint == foot) assert_int_equal(rotations[n].parent, way == stays ? root : shin);
      assert_true(rotations[n].parent < 0 || (seen >> rotations[n].parent & 1)); // parents first
      seen |= 1 << rotations[n].joint;
    }
    double offsets[3 * joint_count];
    sn_pose_offsets(rotations, &e.skeleton, sn_pose(&e.poses, 2), offsets);
    const double *of_foot = offsets + 3 * foot;
    double length = sqrt(of_foot[0] * of_foot[0] + of_foot[1] * of_foot[1] + of_foot[2] * of_foot[2]);
    assert_near(length, way == own ? hypot(1 - cos(0.6), 1 - sin(0.6)) : 0,
                1e-9); // shin by 0.6 rad, one unit from the centre
    sn_arena_free(&memory);
  }
  sn_keys_free(&all), sn_keys_free(&none), sn_poses_free(&e.poses), sn_skin_free(&e.skin);
  sn_skeleton_free(&e.skeleton);
}

// Coefficients of displacement fields: sums of functions, which are sums of terms, as docs/reference/model-file.md has them.
static void coefficients_are_the_formula(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e = athlete(&ctx, SN_MOTION_ROM, 60);
  trained t = train(&ctx, &e, "psd:weights=given", "all");
  sn_arena memory = sn_arena_new(&ctx);
  sn_keys all, none;
  sn_local_rotation *rotations;
  assert_ok(&ctx, sn_keys_parse(&ctx, "all", 60, 1, &all, &none));
  assert_ok(&ctx, sn_local_rotations_make(&ctx, &memory, &e, &all, &rotations));
  const sn_rt_terms *terms = sn_rt_data(&t.model, SN_SECTION_CORRECT_TERMS);
  const sn_rt_field *fields = sn_rt_data(&t.model, SN_SECTION_CORRECT_FIELDS);
  const uint16_t *groups = sn_rt_data(&t.model, SN_SECTION_CORRECT_JOINTS);
  const float *mix = sn_rt_data(&t.model, SN_SECTION_CORRECT_MIX);
  size_t group_count = sn_rt_size(&t.model, SN_SECTION_CORRECT_TERMS) / sizeof *terms;
  size_t field_count = sn_rt_size(&t.model, SN_SECTION_CORRECT_FIELDS) / sizeof *fields;
  int joints = e.skeleton.joint_count, functions = 0;
  double(*value)[64] = calloc(group_count, sizeof *value), (*most)[64] = calloc(group_count, sizeof *most);
  double *vectors = calloc(3 * (size_t)joints, sizeof *vectors);
  sn_affine *pose = malloc((size_t)joints * sizeof *pose);
  float(*input)[12] = malloc((size_t)joints * sizeof *input);
  void *scratch = malloc(sn_rt_scratch_size(&t.model));
  sn_random rng = sn_random_new(8);
  for (int trial = 0; trial < 5; trial++) {
    random_pose(&e.skeleton, 0.8, &rng, pose);
    sn_pose_vector(rotations, joints, pose, vectors);
    sn_model_joints(pose, joints, input);
    assert_int_equal(sn_rt_palette(&t.model, &(sn_rt_input){.joints = (const float(*)[12])input}, scratch, NULL),
                     SN_RT_OK);
    const float *values;
    sn_rt_correct_values(&t.model, scratch, &values);
    for (size_t g = 0; g < group_count; g++) {
      if (terms[g].kind != SN_RT_TERMS_FUNCTIONS) {
        terms_of(terms + g, sn_rt_data(&t.model, SN_SECTION_JOINT_REFERENCE), vectors, mix, value[g]);
        for (int k = 0; k < terms[g].count; k++) most[g][k] = fabs(value[g][k]);
        continue;
      }
      functions++;
      const float *row = mix + terms[g].first;
      for (int k = 0; k < terms[g].count; k++) {
        value[g][k] = most[g][k] = 0;
        for (int s = terms[g].a; s < terms[g].a + terms[g].b; s++)
          for (int m = 0; m < terms[s].count; m++, row++)
            value[g][k] += (double)*row * value[s][m], most[g][k] += fabs((double)*row) * most[s][m];
      }
    }
    for (size_t n = 0; n < field_count; n++) {
      const float *row = mix + fields[n].first_number;
      for (uint32_t b = 0; b < fields[n].basis_count; b++) {
        double sum = 0, size = 1;
        for (uint32_t k = 0; k < fields[n].joint_count; k++) {
          uint16_t g = groups[fields[n].first_joint + k];
          for (int m = 0; m < terms[g].count; m++, row++)
            sum += (double)*row * value[g][m],
              size += fabs((double)*row) * most[g][m]; // what single precision adds up
        }
        assert_near((double)values[fields[n].first_basis + b], sum, 1e-5 * size);
      }
    }
  }
  assert_true(functions > 0);
  free(value), free(most), free(vectors), free(pose), free(input), free(scratch);
  sn_keys_free(&all), sn_keys_free(&none), sn_arena_free(&memory);
  release(&t), sn_examples_free(&e);
}

static void forms_of_the_whole_space_are_refused(void **state) {
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
    cmocka_unit_test(new_motion_gains),    cmocka_unit_test(corrections_are_bounded),
    cmocka_unit_test(few_poses_are_met),   cmocka_unit_test(moving_everything_changes_nothing),
    cmocka_unit_test(feet_follow_the_leg), cmocka_unit_test(coefficients_are_the_formula),
    cmocka_unit_test(paths_agree),         cmocka_unit_test(forms_of_the_whole_space_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
