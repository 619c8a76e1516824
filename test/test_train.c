// SPDX-License-Identifier: MIT
// rigid, lbs and dqs on generated sets, and on the real ones where they are.
#include "train_fixture.h"

#include "sinew/examples.h"
#include "train/train.h"

// Replaces the frames by a linear or dual-quaternion blend of the set's own skin: data that lbs or dqs can fit exactly.
static void replace_frames(sn_context *ctx, sn_examples *examples, sn_rt_blend blend) {
  sn_model_desc desc = sn_model_desc_default();
  desc.rest = &examples->rest, desc.skeleton = &examples->skeleton, desc.skin = &examples->skin, desc.blend = blend;
  sn_model bytes;
  sn_rt_model model;
  sn_keys all;
  sn_frames frames;
  assert_ok(ctx, sn_model_build(ctx, &desc, &bytes));
  assert_ok(ctx, sn_model_open(ctx, "exact", bytes.bytes, bytes.size, &model));
  assert_ok(ctx, sn_keys_parse(ctx, "all", examples->frames.frame_count, 1, &all, NULL));
  assert_ok(ctx, sn_assess_evaluate(ctx, &model, examples, &all, &frames, NULL));
  sn_frames_free(&examples->frames);
  examples->frames = frames;
  sn_keys_free(&all);
  sn_model_free(&bytes);
}

static void exact_linear_data_is_recovered(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "arm", 16, 1000);
  replace_frames(&ctx, &examples, SN_RT_BLEND_LINEAR);
  trained t = train(&ctx, &examples, "lbs", "every:2");
  assert_below(t.scores.train.rms_pct_diag, 1e-3);
  assert_below(t.scores.test.rms_pct_diag, 2e-2);
  release(&t);
  sn_examples_free(&examples);
}

static void exact_dual_quaternion_data_is_recovered(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "arm", 16, 1000);
  replace_frames(&ctx, &examples, SN_RT_BLEND_DUALQUAT);
  trained fit = train(&ctx, &examples, "dqs:weights=fit", "every:2");
  trained lbs = train(&ctx, &examples, "dqs:weights=lbs", "every:2");
  trained given = train(&ctx, &examples, "dqs:weights=given", "every:2");
  assert_below(given.scores.all.rms_pct_diag, 1e-4);
  assert_below(fit.scores.train.rms_pct_diag, 0.25 * lbs.scores.train.rms_pct_diag);
  assert_below(fit.scores.test.rms_pct_diag, lbs.scores.test.rms_pct_diag);
  release(&fit);
  release(&lbs);
  release(&given);
  sn_examples_free(&examples);
}

static void drop_skin(sn_examples *examples) {
  sn_skin_free(&examples->skin);
  examples->skin = (sn_skin){0};
}

// The enveloping error that weights on any joints leave on the training frames.
static double free_error(sn_context *ctx, const sn_examples *examples, int influences, const char *spec) {
  const sn_skin_options options = {.influences = influences};
  sn_keys keys;
  sn_skin skin;
  sn_model bytes;
  sn_rt_model model;
  sn_scores scores;
  sn_model_desc desc = sn_model_desc_default();
  desc.rest = &examples->rest, desc.skeleton = &examples->skeleton, desc.skin = &skin;
  assert_ok(ctx, sn_keys_parse(ctx, spec, examples->frames.frame_count, 1, &keys, NULL));
  assert_ok(ctx, sn_free_weights(ctx, &options, examples, &examples->poses, &keys, &skin));
  assert_ok(ctx, sn_model_build(ctx, &desc, &bytes));
  assert_ok(ctx, sn_model_open(ctx, "free", bytes.bytes, bytes.size, &model));
  assert_ok(ctx, sn_assess(ctx, &model, examples, &(sn_scored_frames){&keys, &(sn_keys){0}, NULL}, &scores));
  sn_skin_free(&skin), sn_model_free(&bytes), sn_keys_free(&keys);
  return scores.train.ee;
}

// More influences never increase the training error, and one influence is what `rigid` chooses.
static void errors_are_ordered(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "arm", 20, 1000);
  static const int influences[] = {1, 2, 4, 8};
  double ee[4];
  for (int k = 0; k < 4; k++) ee[k] = free_error(&ctx, &examples, influences[k], "every:4");
  assert_near(scores_of(&ctx, &examples, "rigid", "every:4").train.ee, 1, 1e-5);
  assert_near(ee[0], 1, 1e-5);
  for (int k = 1; k < 4; k++) assert_below(ee[k], ee[k - 1] + 1e-6);
  assert_below(ee[2], 0.9); // four joints follow what one cannot
  assert_below(scores_of(&ctx, &examples, "lbs:extra=halfway", "every:4").train.ee, ee[2]);
  sn_examples_free(&examples);
}

// Many joints that move at once: fitted weights that may depend on any joint are worse on the second half of the motion than
// the file's weights; those that are refitted are better than both.
static void the_given_skin_is_a_prior(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "athlete", 60, 2000), bare = generate(&ctx, "athlete", 60, 2000);
  drop_skin(&bare);
  static const char *const blends[] = {"lbs", "dqs"};
  for (int b = 0; b < 2; b++) {
    char given[40];
    snprintf(given, sizeof given, "%s:weights=given", blends[b]);
    double near = scores_of(&ctx, &examples, blends[b], "0-29").test.ee;
    assert_below(near, 0.95 * scores_of(&ctx, &examples, given, "0-29").test.ee);
    assert_below(near, scores_of(&ctx, &bare, blends[b], "0-29").test.ee);
  }
  sn_examples_free(&examples), sn_examples_free(&bare);
}

// Frames that are the file's weights, blended the other way: weights fitted to a sixth of the poses are better on the others.
static void weights_are_fitted_to_frames_of_the_other_blend(void **state) {
  figures_only();
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "athlete", 60, 2000);
  static const struct {
    const char *given, *fitted;
    sn_rt_blend other;
  } cases[] = {{"lbs:weights=given", "lbs", SN_RT_BLEND_DUALQUAT}, {"dqs:weights=given", "dqs", SN_RT_BLEND_LINEAR}};
  for (int c = 0; c < 2; c++) {
    replace_frames(&ctx, &examples, cases[c].other);
    double given = scores_of(&ctx, &examples, cases[c].given, "every:6").test.ee;
    double fitted = scores_of(&ctx, &examples, cases[c].fitted, "every:6").test.ee;
    print_message("%s %.3f, file's weights %.3f\n", cases[c].fitted, fitted, given);
    assert_below(fitted, 0.95 * given);
  }
  sn_examples_free(&examples);
}

// Without a skin in the skeleton file bone heat says which joints are relevant.
static void a_made_skin_is_a_prior(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "athlete", 60, 2000), flat = generate(&ctx, "athlete", 60, 2000);
  drop_skin(&examples), drop_skin(&flat);
  flat.rest.triangle_count = 0; // no surface, no bone heat
  static const char *const specs[] = {"lbs", "dqs"};
  for (int k = 0; k < 2; k++) {
    double ee = scores_of(&ctx, &examples, specs[k], "0-29").test.ee;
    double without = scores_of(&ctx, &flat, specs[k], "0-29").test.ee;
    print_message("no skin in the file: %s %.3f, without a made one %.3f\n", specs[k], ee, without);
    assert_below(ee, 0.95 * without);
  }
  sn_method_spec given;
  sn_keys keys;
  sn_model model;
  assert_ok(&ctx, sn_method_parse(&ctx, "lbs:weights=given", &given));
  assert_ok(&ctx, sn_keys_parse(&ctx, "all", 60, 1, &keys, NULL));
  assert_int_equal(sn_train(&ctx, &given, &examples, &keys, &model, NULL), SN_BAD_INPUT);
  sn_keys_free(&keys);
  sn_examples_free(&examples), sn_examples_free(&flat);
}

// Where the whole character moves as one, frames say nothing about weights, and what rounding says does not count.
static void still_joints_leave_the_given_skin(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "athlete", 8, 2000);
  sn_random rng = sn_random_new(3);
  for (int f = 1; f < 8; f++) {
    sn_vec3 axis = {sn_random_normal(&rng), sn_random_normal(&rng), sn_random_normal(&rng)};
    sn_affine all = sn_affine_make(sn_rotation_exp(axis), sn_vec3_scale(axis, 2));
    for (int j = 0; j < examples.skeleton.joint_count; j++) {
      sn_pose(&examples.poses, f)[j] = all;
      for (int e = 0; e < 12; e++)
        sn_pose(&examples.poses, f)[j].m[e / 4][e % 4] *= 1 + 1e-6 * sn_random_normal(&rng);
    }
  }
  for (int j = 0; j < examples.skeleton.joint_count; j++) sn_pose(&examples.poses, 0)[j] = sn_affine_identity();
  replace_frames(&ctx, &examples, SN_RT_BLEND_LINEAR);
  trained given = train(&ctx, &examples, "lbs:weights=given,influences=4", "all"),
          fitted = train(&ctx, &examples, "lbs", "all");
  sn_skin skins[2];
  assert_ok(&ctx, sn_model_skin(&ctx, &given.model, &skins[0]));
  assert_ok(&ctx, sn_model_skin(&ctx, &fitted.model, &skins[1]));
  for (int i = 0; i < examples.rest.vertex_count; i++)
    for (int j = 0; j < examples.skeleton.joint_count; j++) {
      double sums[2] = {0, 0};
      for (int s = 0; s < 2; s++)
        for (int k = 0; k < skins[s].influences; k++) {
          size_t at = (size_t)i * (size_t)skins[s].influences + (size_t)k;
          if (skins[s].joints[at] == j) sums[s] += (double)skins[s].weights[at];
        }
      assert_near(sums[0], sums[1], 1e-3);
    }
  sn_skin_free(&skins[0]), sn_skin_free(&skins[1]);
  release(&given), release(&fitted);
  sn_examples_free(&examples);
}

// A body of rigid parts in a painted skin, whose last joints follow their parents in all training frames: the joints that move
// alike there explain a vertex equally well, and only the file says which of them it belongs to.
static void still_joints_keep_their_vertices(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "athlete", 60, 2000);
  int joints = examples.skeleton.joint_count;
  for (int f = 0; f < 30; f++)
    for (int j = joints / 2; j < joints; j++)
      sn_pose(&examples.poses, f)[j] = sn_pose(&examples.poses, f)[examples.skeleton.parents[j]];
  sn_skin painted = examples.skin, largest;
  assert_ok(&ctx, sn_skin_new(&ctx, painted.vertex_count, 1, &largest));
  for (int i = 0; i < painted.vertex_count; i++)
    largest.joints[i] = painted.joints[(size_t)i * (size_t)painted.influences], largest.weights[i] = 1;
  examples.skin = largest;
  replace_frames(&ctx, &examples, SN_RT_BLEND_LINEAR);
  examples.skin = painted;
  sn_random rng = sn_random_new(5);
  float *numbers = (float *)(uintptr_t)examples.frames.positions;
  for (int64_t k = 0; k < (int64_t)3 * 60 * painted.vertex_count; k++)
    numbers[k] += 1e-3F * (float)sn_random_normal(&rng);
  double given = scores_of(&ctx, &examples, "lbs:weights=given", "0-29").test.rms;
  assert_below(scores_of(&ctx, &examples, "lbs", "0-29").test.rms, given);
  assert_below(scores_of(&ctx, &examples, "dqs", "0-29").test.rms, given);
  sn_skin_free(&largest);
  sn_examples_free(&examples);
}

// Rows sum to one and have at most the influences requested, in floats as stored.
static void weights_are_a_partition_of_unity(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "shoulder", 12, 600);
  const char *const specs[] = {"lbs:influences=3", "lbs:influences=3,pack=1", "lbs:influences=3,smooth=0.01"};
  for (int k = 0; k < 3; k++) {
    trained t = train(&ctx, &examples, specs[k], "all");
    sn_skin skin;
    assert_ok(&ctx, sn_model_skin(&ctx, &t.model, &skin));
    for (int i = 0; i < skin.vertex_count; i++) {
      double sum = 0;
      int positive = 0;
      for (int e = 0; e < skin.influences; e++) {
        float w = skin.weights[(size_t)i * (size_t)skin.influences + (size_t)e];
        assert_true(w >= 0);
        sum += w, positive += w > 0;
      }
      assert_near(sum, 1, 1e-6);
      assert_true(positive <= 3);
    }
    sn_skin_free(&skin);
    release(&t);
  }
  sn_examples_free(&examples);
}

static void a_packed_model_costs_little(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "arm", 12, 1000);
  trained full = train(&ctx, &examples, "lbs", "all"), packed = train(&ctx, &examples, "lbs:pack=1", "all");
  assert_near(packed.scores.all.rms_pct_diag, full.scores.all.rms_pct_diag, 1e-3);
  assert_true(packed.bytes.size < 0.55 * (double)full.bytes.size);
  release(&full);
  release(&packed);
  sn_examples_free(&examples);
}

static void same_bytes_at_any_thread_count(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "arm", 12, 1000);
  const char *const specs[] = {"rigid", "lbs", "lbs:smooth=0.01", "lbs:extra=halfway", "dqs"};
  for (int k = 0; k < 5; k++) {
    trained first = {0};
    for (int threads = 1; threads <= 3; threads++) {
      ctx.threads = threads;
      trained t = train(&ctx, &examples, specs[k], "every:3");
      if (threads == 1) {
        first = t;
        continue;
      }
      assert_int_equal(t.bytes.size, first.bytes.size);
      assert_memory_equal(t.bytes.bytes, first.bytes.bytes, t.bytes.size);
      assert_memory_equal(&t.scores, &first.scores, sizeof t.scores);
      release(&t);
    }
    release(&first);
  }
  sn_examples_free(&examples);
}

// The order of the frames carries no meaning.
static void permuting_frames_changes_nothing(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "elbow", 9, 600);
  trained before = train(&ctx, &examples, "lbs", "all");
  int n = examples.frames.vertex_count, last = examples.frames.frame_count - 1;
  sn_frames mirrored;
  assert_ok(&ctx, sn_frames_new(&ctx, n, last + 1, &mirrored));
  for (int f = 0; f <= last; f++) {
    memcpy(sn_frame_mutable(&mirrored, f), sn_frame(&examples.frames, last - f), (size_t)n * sizeof(float[3]));
  }
  sn_frames_free(&examples.frames);
  examples.frames = mirrored;
  for (int f = 0; f < last - f; f++)
    for (int j = 0; j < examples.poses.joint_count; j++) {
      sn_affine keep = sn_pose(&examples.poses, f)[j];
      sn_pose(&examples.poses, f)[j] = sn_pose(&examples.poses, last - f)[j];
      sn_pose(&examples.poses, last - f)[j] = keep;
    }
  trained after = train(&ctx, &examples, "lbs", "all");
  assert_near(after.scores.all.rms_pct_diag, before.scores.all.rms_pct_diag, 1e-4);
  release(&before);
  release(&after);
  sn_examples_free(&examples);
}

// A rigid motion of the whole skeleton moves the result rigidly; the rest pose gives the rest mesh.
static void evaluation_is_equivariant(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "arm", 8, 800);
  sn_random rng = sn_random_new(3);
  sn_affine motion = sn_affine_make(random_rotation(&rng), random_vec3(&rng));
  const char *const specs[] = {"rigid", "lbs", "lbs:extra=halfway", "dqs"};
  double diagonal = sn_points_diagonal((const float(*)[3])examples.rest.positions, examples.rest.vertex_count);
  for (int k = 0; k < 4; k++) {
    trained t = train(&ctx, &examples, specs[k], "all");
    sn_frames before, after;
    assert_ok(&ctx, sn_assess_evaluate(&ctx, &t.model, &examples, &t.keys, &before, NULL));
    for (int f = 0; f < examples.poses.frame_count; f++)
      for (int j = 0; j < examples.poses.joint_count; j++) {
        sn_affine *pose = &sn_pose(&examples.poses, f)[j];
        *pose = sn_affine_mul(motion, *pose);
      }
    assert_ok(&ctx, sn_assess_evaluate(&ctx, &t.model, &examples, &t.keys, &after, NULL));
    for (int i = 0; i < before.vertex_count; i++) {
      assert_below(sn_vec3_distance(sn_vec3_from(sn_frame(&before, 0)[i]), sn_vec3_from(examples.rest.positions[i])),
                   2e-5 * diagonal);
    }
    for (int i = 0; i < before.vertex_count * before.frame_count; i++) {
      sn_vec3 expected = sn_affine_apply(motion, sn_vec3_from(before.positions[i]));
      assert_below(sn_vec3_distance(expected, sn_vec3_from(after.positions[i])), 1e-4 * diagonal);
    }
    sn_affine back;
    assert_true(sn_affine_invert(motion, &back));
    for (int f = 0; f < examples.poses.frame_count; f++)
      for (int j = 0; j < examples.poses.joint_count; j++) {
        sn_affine *pose = &sn_pose(&examples.poses, f)[j];
        *pose = sn_affine_mul(back, *pose);
      }
    sn_frames_free(&before);
    sn_frames_free(&after);
    release(&t);
  }
  sn_examples_free(&examples);
}

// Mean over the middle third of the bar of the distance from the axis, relative to the rest pose.
static double thickness(const sn_mesh *rest, const float (*positions)[3]) {
  sn_vec3 low, high;
  sn_points_bounds((const float(*)[3])rest->positions, rest->vertex_count, &low, &high);
  sn_vec3 size = sn_vec3_sub(high, low);
  int axis = size.x > size.y && size.x > size.z ? 0 : size.y > size.z ? 1 : 2;
  double from = (&low.x)[axis], length = (&size.x)[axis], before = 0, after = 0;
  for (int i = 0; i < rest->vertex_count; i++) {
    double along = (rest->positions[i][axis] - from) / length;
    if (along < 0.4 || along > 0.6) continue;
    for (int c = 0; c < 3; c++) {
      double middle = 0.5 * ((&low.x)[c] + (&high.x)[c]);
      if (c == axis) continue;
      before += pow(rest->positions[i][c] - middle, 2), after += pow(positions[i][c] - middle, 2);
    }
  }
  return sqrt(after / before);
}

// At 180 degrees a linear blend of a smooth skin collapses in the middle; dual quaternions keep the thickness.
static void candy_wrapper(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "bar", 0, 0);
  // A skin that goes evenly from one joint to the other along the bar, as painted weights would.
  sn_vec3 low, high;
  sn_points_bounds((const float(*)[3])examples.rest.positions, examples.rest.vertex_count, &low, &high);
  sn_vec3 size = sn_vec3_sub(high, low);
  int axis = size.x > size.y && size.x > size.z ? 0 : size.y > size.z ? 1 : 2;
  sn_skin_free(&examples.skin);
  assert_ok(&ctx, sn_skin_new(&ctx, examples.rest.vertex_count, 2, &examples.skin));
  for (int i = 0; i < examples.rest.vertex_count; i++) {
    double t = (examples.rest.positions[i][axis] - (&low.x)[axis]) / (&size.x)[axis];
    examples.skin.joints[2 * i] = 0, examples.skin.joints[2 * i + 1] = 1;
    examples.skin.weights[2 * i] = (float)(1 - t), examples.skin.weights[2 * i + 1] = (float)t;
  }
  sn_skin_normalize(&examples.skin);
  int last = examples.frames.frame_count - 1;
  sn_keys end = {.count = 1, .frames = &last};
  trained lbs = train(&ctx, &examples, "lbs:weights=given", "all"),
          dqs = train(&ctx, &examples, "dqs:weights=given", "all");
  sn_frames linear, dual;
  assert_ok(&ctx, sn_assess_evaluate(&ctx, &lbs.model, &examples, &end, &linear, NULL));
  assert_ok(&ctx, sn_assess_evaluate(&ctx, &dqs.model, &examples, &end, &dual, NULL));
  double wrapped = thickness(&examples.rest, sn_frame(&linear, 0)),
         kept = thickness(&examples.rest, sn_frame(&dual, 0));
  print_message("thickness at 180 degrees: lbs %.3f, dqs %.3f\n", wrapped, kept);
  assert_below(wrapped, 0.2);
  assert_near(kept, 1, 0.02);
  sn_frames_free(&linear);
  sn_frames_free(&dual);
  release(&lbs);
  release(&dqs);
  sn_examples_free(&examples);
}

// Leave-one-out by hand, with the same figures.
static void loocv_is_what_it_says(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "elbow", 7, 600);
  sn_method_spec spec;
  sn_keys keys;
  sn_scores scores;
  double seconds, squared = 0;
  assert_ok(&ctx, sn_method_parse(&ctx, "lbs", &spec));
  assert_ok(&ctx, sn_keys_parse(&ctx, "all", 7, 1, &keys, NULL));
  assert_ok(&ctx, sn_assess_loocv(&ctx, &spec, &examples, &keys, &scores, &seconds));
  for (int f = 0; f < 7; f++) {
    char others[64] = "";
    for (int o = 0; o < 7; o++)
      if (o != f) snprintf(others + strlen(others), sizeof others - strlen(others), "%s%d", *others ? "," : "", o);
    trained t = train(&ctx, &examples, "lbs", others);
    squared += t.scores.test.rms * t.scores.test.rms / 7;
    release(&t);
  }
  assert_near(scores.test.rms, sqrt(squared), 1e-9);
  assert_int_equal(scores.test.frame_count, 7);
  sn_keys_free(&keys);
  sn_examples_free(&examples);
}

// Wang 2007, section 8: corrections on top of rotational regression meet the training poses.
static void rotreg_with_corrections(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "elbow", 13, 600);
  trained plain = train(&ctx, &examples, "rotreg:bones=12", "every:3");
  trained corrected = train(&ctx, &examples, "rotreg:bones=12,psd=1", "every:3");
  assert_below(corrected.scores.train.max_pct_diag, 0.01);
  assert_below(corrected.scores.test.rms_pct_diag, plain.scores.test.rms_pct_diag);
  release(&plain);
  release(&corrected);
  sn_examples_free(&examples);
}

static void bad_specs_are_named(void **state) {
  sn_context ctx = sn_context_default();
  sn_method_spec spec;
  assert_fails(&ctx, sn_method_parse(&ctx, "lsb", &spec), "did you mean lbs");
  assert_fails(&ctx, sn_method_parse(&ctx, "zzzzzzzz", &spec), "there are rigid, lbs");
  assert_fails(&ctx, sn_method_parse(&ctx, "lbs:influence=3", &spec), "did you mean influences");
  assert_fails(&ctx, sn_method_parse(&ctx, "lbs:influences=9", &spec), "from 1 to 8");
  assert_fails(&ctx, sn_method_parse(&ctx, "lbs:influences=2.5", &spec), "whole number");
  assert_fails(&ctx, sn_method_parse(&ctx, "lbs:weights=magic", &spec), "fit|given");
  assert_fails(&ctx, sn_method_parse(&ctx, "lbs:smooth", &spec), "key=value");
  assert_fails(&ctx, sn_method_parse(&ctx, "rigid:influences=2", &spec), "unknown option 'influences'");
  assert_ok(&ctx, sn_method_parse(&ctx, "lbs:smooth=0.5,influences=3", &spec));
  const sn_skin_options *skin = &spec.options.lbs.skin;
  assert_near(skin->rho, 0.5, 0);
  assert_int_equal(skin->influences, 3);
  assert_int_equal(skin->weights, SN_WEIGHTS_FIT);
}

// Typed options are those of the text, and checked like it.
static void options_are_typed(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "bar", 8, 0);
  sn_keys keys;
  sn_model model;
  sn_method_spec typed = {.method = &sn_method_psd, .options.psd = sn_psd_options_default()}, parsed;
  assert_ok(&ctx, sn_method_parse(&ctx, "psd", &parsed));
  assert_memory_equal(&typed.options, &parsed.options, sizeof typed.options);
  assert_ok(&ctx, sn_method_parse(&ctx, "psd:influences=2,pack=1,joints=a", &parsed));
  typed.options.psd.skin.influences = 2, typed.options.file.pack = true;
  strcpy(typed.options.psd.correct.joint_names, "a");
  assert_memory_equal(&typed.options, &parsed.options, sizeof typed.options);
  assert_ok(&ctx, sn_keys_parse(&ctx, "all", examples.frames.frame_count, 1, &keys, NULL));
  typed.options.psd.skin.influences = 99;
  assert_fails(&ctx, sn_train(&ctx, &typed, &examples, &keys, &model, NULL), "method psd: influences=99: must be");
  typed.options.psd.skin = (sn_skin_options){.influences = 4, .weights = (sn_weights_source)7};
  assert_fails(&ctx, sn_train(&ctx, &typed, &examples, &keys, &model, NULL), "weights=7: choose one of");
  // auto is 0; no other number at or below 0 is a word.
  typed = (sn_method_spec){.method = &sn_method_helpers, .options.helpers = sn_helpers_options_default()};
  typed.options.helpers.helpers = -1;
  assert_fails(&ctx, sn_train(&ctx, &typed, &examples, &keys, &model, NULL), "method helpers: helpers=-1: must be");
  sn_keys_free(&keys);
  sn_examples_free(&examples);
}

static void missing_parts_are_named(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "bar", 0, 0);
  sn_method_spec spec;
  sn_model model;
  sn_keys keys, none = {0};
  assert_ok(&ctx, sn_keys_parse(&ctx, "all", examples.frames.frame_count, 1, &keys, NULL));
  assert_ok(&ctx, sn_method_parse(&ctx, "lbs", &spec));
  assert_fails(&ctx, sn_train(&ctx, &spec, &examples, &none, &model, NULL), "no frames to train on");
  assert_ok(&ctx, sn_method_parse(&ctx, "lbs:weights=given", &spec));
  sn_skin_free(&examples.skin);
  assert_fails(&ctx, sn_train(&ctx, &spec, &examples, &keys, &model, NULL), "has no skin");
  sn_skeleton_free(&examples.skeleton);
  assert_fails(&ctx, sn_train(&ctx, &spec, &examples, &keys, &model, NULL), "needs `skeleton`");
  sn_keys_free(&keys);
  sn_examples_free(&examples);
}

// Every allocation fails once: a message, nothing leaked.
static void allocation_failures(void **state) {
  sn_context plain = sn_context_default();
  sn_examples examples = generate(&plain, "bar", 6, 200);
  const char *const specs[] = {"rigid", "lbs:extra=halfway", "dqs", "lbs:weights=skeleton"};
  for (int k = 0; k < 4; k++) {
    for (starvation s = {0}; starve(&s);) {
      sn_method_spec spec;
      sn_keys keys = {0};
      sn_model model = {0};
      assert_ok(&s.ctx, sn_method_parse(&s.ctx, specs[k], &spec));
      s.status = sn_keys_parse(&s.ctx, "every:2", examples.frames.frame_count, 1, &keys, NULL);
      if (s.status == SN_OK) s.status = sn_train(&s.ctx, &spec, &examples, &keys, &model, NULL);
      sn_model_free(&model);
      sn_keys_free(&keys);
    }
  }
  sn_examples_free(&examples);
}

// Issue 3's figures on the set from Blender: weights of the file to four digits, fitted weights at most 0.274.
static void cheburashka_pose(void **state) {
  need_data(rest, "cheburashka-pose/rest.obj");
  need_data(frames, "cheburashka-pose/frames.pc2");
  need_data(skeleton, "cheburashka-pose/skeleton.glb");
  sn_context ctx = sn_context_default();
  sn_load_options options = sn_load_options_default();
  const char *frame_files[] = {frames}, *skeleton_files[] = {skeleton};
  options.rest = rest, options.frames = frame_files, options.skeletons = skeleton_files;
  options.frames_count = options.skeleton_count = 1;
  sn_examples examples;
  assert_ok(&ctx, sn_examples_load(&ctx, &options, &examples));
  trained given = train(&ctx, &examples, "lbs:weights=given", "every:4"),
          fit = train(&ctx, &examples, "lbs", "every:4");
  assert_near(given.scores.train.ee, 0.3171, 5e-5);
  assert_near(given.scores.test.ee, 0.3160, 5e-5);
  assert_near(given.scores.all.ee, 0.3163, 5e-5);
  assert_below(fit.scores.train.ee, 0.274);
  assert_below(fit.scores.test.ee, 0.274);
  release(&given);
  release(&fit);
  sn_examples_free(&examples);
}

// The twin of the above on a generated set.
static void arm_figures(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "arm", 0, 1500);
  trained given = train(&ctx, &examples, "lbs:weights=given", "every:4"),
          fit = train(&ctx, &examples, "lbs", "every:4");
  print_message("arm: given %.4f, lbs %.4f (test enveloping error)\n", given.scores.test.ee, fit.scores.test.ee);
  assert_below(fit.scores.train.ee, given.scores.train.ee);
  assert_below(fit.scores.test.ee, given.scores.test.ee);
  release(&given);
  release(&fit);
  sn_examples_free(&examples);
}

// The whole scene moved by `diagonals` of its own diagonals, the same along every axis.
static void move_scene(sn_examples *e, double diagonals) {
  double by = diagonals / sqrt(3) * sn_points_diagonal((const float(*)[3])e->rest.positions, e->rest.vertex_count);
  sn_affine there = sn_affine_identity(), back = there;
  for (int r = 0; r < 3; r++) there.m[r][3] = by, back.m[r][3] = -by;
  for (int i = 0; i < e->rest.vertex_count; i++)
    for (int c = 0; c < 3; c++) {
      e->rest.positions[i][c] += (float)by;
      for (int f = 0; f < e->frames.frame_count; f++) sn_frame_mutable(&e->frames, f)[i][c] += (float)by;
    }
  for (int j = 0; j < e->skeleton.joint_count; j++) {
    e->skeleton.rest[j] = sn_affine_mul(there, e->skeleton.rest[j]);
    for (int f = 0; f < e->poses.frame_count; f++)
      sn_pose(&e->poses, f)[j] = sn_affine_mul(there, sn_affine_mul(sn_pose(&e->poses, f)[j], back));
  }
}

static double moved_rms(sn_context *ctx, const char *set, const char *spec, double diagonals) {
  sn_examples e = generate(ctx, set, 21, 600);
  move_scene(&e, diagonals);
  trained t = train(ctx, &e, spec, "every:2");
  double rms = t.scores.all.rms_pct_diag;
  release(&t);
  sn_examples_free(&e);
  return rms;
}

static void moving_the_scene_changes_little(void **state) {
  const struct {
    const char *set, *spec;
    double diagonals;
  } cases[] = {{"elbow", "lbs", 3000},           {"elbow", "dqs", 3000},
               {"elbow", "psd", 3000},           {"elbow", "affine:bones=20", 3000},
               {"elbow", "rotreg:bones=20", 15}, {"elbow", "rotreg:bones=20", 3000},
               {"arm", "torque:bones=20", 3000}};
  sn_context ctx = sn_context_default();
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    double here = moved_rms(&ctx, cases[k].set, cases[k].spec, 0),
           there = moved_rms(&ctx, cases[k].set, cases[k].spec, cases[k].diagonals);
    print_message("%s: rms %.4f %%, moved by %g diagonals %.4f %%\n", cases[k].spec, here, cases[k].diagonals, there);
    assert_below(fabs(there - here), 0.02);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(exact_linear_data_is_recovered),
    cmocka_unit_test(exact_dual_quaternion_data_is_recovered),
    cmocka_unit_test(errors_are_ordered),
    cmocka_unit_test(the_given_skin_is_a_prior),
    cmocka_unit_test(weights_are_fitted_to_frames_of_the_other_blend),
    cmocka_unit_test(a_made_skin_is_a_prior),
    cmocka_unit_test(still_joints_leave_the_given_skin),
    cmocka_unit_test(still_joints_keep_their_vertices),
    cmocka_unit_test(weights_are_a_partition_of_unity),
    cmocka_unit_test(a_packed_model_costs_little),
    cmocka_unit_test(same_bytes_at_any_thread_count),
    cmocka_unit_test(permuting_frames_changes_nothing),
    cmocka_unit_test(evaluation_is_equivariant),
    cmocka_unit_test(moving_the_scene_changes_little),
    cmocka_unit_test(candy_wrapper),
    cmocka_unit_test(loocv_is_what_it_says),
    cmocka_unit_test(rotreg_with_corrections),
    cmocka_unit_test(bad_specs_are_named),
    cmocka_unit_test(options_are_typed),
    cmocka_unit_test(missing_parts_are_named),
    cmocka_unit_test(allocation_failures),
    cmocka_unit_test(cheburashka_pose),
    cmocka_unit_test(arm_figures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
