// SPDX-License-Identifier: MIT
// Metrics against their definitions, computed another way.
#include "check.h"

#include "sinew/eval.h"
#include "lab/gen/gen.h"

static sn_examples generate(sn_context *ctx) {
  sn_gen_options options = sn_gen_options_default();
  options.set = "elbow", options.frames = 6, options.vertices = 600;
  sn_examples examples;
  assert_ok(ctx, sn_gen(ctx, &options, &examples));
  return examples;
}

static void figures_follow_their_definitions(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx);
  int n = examples.rest.vertex_count, listed[] = {1, 3, 4};
  sn_keys keys = {.count = 3, .frames = listed};
  sn_frames wrong;
  sn_errors errors;
  sn_random rng = sn_random_new(5);
  assert_ok(&ctx, sn_frames_new(&ctx, n, 3, &wrong));
  double total = 0, largest = 0, *distances = calloc(3 * (size_t)n, sizeof *distances);
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < n; i++) {
      sn_vec3 moved = sn_vec3_mad(sn_vec3_from(sn_frame(&examples.frames, listed[k])[i]), random_vec3(&rng), 0.01);
      sn_vec3_store(moved, sn_frame_mutable(&wrong, k)[i]);
      double d = sn_vec3_distance(sn_vec3_from(sn_frame(&wrong, k)[i]),
                                  sn_vec3_from(sn_frame(&examples.frames, listed[k])[i]));
      total += d * d, largest = fmax(largest, d), distances[k * n + i] = d;
    }
  assert_ok(&ctx, sn_errors_measure(&ctx, &examples, &keys, &wrong, NULL, &errors));
  double diagonal = sn_points_diagonal((const float(*)[3])examples.rest.positions, n);
  sn_metrics m;
  assert_ok(&ctx, sn_metrics_of(&ctx, &errors, &m));
  assert_near(m.rms, sqrt(total / (3 * n)), 1e-12);
  assert_near(m.rms_pct_diag, 100 * m.rms / diagonal, 1e-12);
  assert_near(m.max_pct_diag, 100 * largest / diagonal, 1e-12);
  assert_near(m.e_rms, 1000 * sqrt(total / (3.0 * 3 * n)), 1e-9);
  sn_sort_doubles(distances, 3 * (size_t)n);
  assert_near(m.p99_pct_diag, 100 * distances[(int)ceil(0.99 * 3 * n) - 1] / diagonal, 0.01 * m.p99_pct_diag);
  free(distances);

  // Enveloping error: for every vertex the joint with the smallest squared error over these frames.
  double rigid = 0, mean = 0, variance = 0;
  for (int i = 0; i < n; i++) {
    double best = INFINITY, own = 0;
    for (int j = 0; j < examples.poses.joint_count; j++) {
      double sum = 0;
      for (int k = 0; k < 3; k++) {
        sn_vec3 r = sn_affine_apply(sn_pose(&examples.poses, listed[k])[j], sn_vec3_from(examples.rest.positions[i]));
        sum += pow(sn_vec3_distance(r, sn_vec3_from(sn_frame(&examples.frames, listed[k])[i])), 2);
      }
      best = fmin(best, sum);
    }
    rigid += best;
    for (int k = 0; k < 3; k++) {
      own += pow(sn_vec3_distance(sn_vec3_from(sn_frame(&wrong, k)[i]),
                                  sn_vec3_from(sn_frame(&examples.frames, listed[k])[i])),
                 2);
    }
    mean += sqrt(own / 3) / n, variance += own / 3 / n;
  }
  assert_near(m.ee, sqrt(total / rigid), 1e-9);
  assert_near(m.std_pct_diag, 100 / diagonal * sqrt(variance - mean * mean), 1e-9);
  assert_true(isnan(m.normal_deg));
  sn_errors_free(&errors);
  sn_frames_free(&wrong);
  sn_examples_free(&examples);
}

// The true frames have no error, and normals rotated by 10 degrees are off by 10 degrees.
static void truth_has_no_error(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx);
  sn_keys all;
  sn_errors errors;
  sn_frames normals;
  assert_ok(&ctx, sn_keys_parse(&ctx, "all", 6, 1, &all, NULL));
  assert_ok(&ctx, sn_frames_new(&ctx, examples.rest.vertex_count, 6, &normals));
  for (int f = 0; f < 6; f++) {
    sn_mesh_normals(&examples.rest, sn_frame(&examples.frames, f), sn_frame_mutable(&normals, f));
    for (int i = 0; i < examples.rest.vertex_count; i++) {
      float *normal = sn_frame_mutable(&normals, f)[i];
      sn_vec3 v = sn_vec3_from(normal), axis = sn_vec3_perpendicular(v);
      sn_vec3_store(sn_mat3_apply(sn_rotation_exp(sn_vec3_scale(axis, SN_PI / 18)), v), normal);
    }
  }
  assert_ok(&ctx, sn_errors_measure(&ctx, &examples, &all, &examples.frames, &normals, &errors));
  sn_metrics m;
  assert_ok(&ctx, sn_metrics_of(&ctx, &errors, &m));
  assert_near(m.rms, 0, 0);
  assert_near(m.ee, 0, 0);
  assert_near(m.normal_deg, 10, 1e-3);
  sn_errors_free(&errors);
  sn_frames_free(&normals);
  sn_keys_free(&all);
  sn_examples_free(&examples);
}

// Errors of two halves added are the errors of the whole.
static void errors_add_up(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx);
  sn_keys low, high, all;
  sn_frames rest, half;
  assert_ok(&ctx, sn_keys_parse(&ctx, "0-2", 6, 1, &low, &high));
  assert_ok(&ctx, sn_keys_parse(&ctx, "all", 6, 1, &all, NULL));
  assert_ok(&ctx, sn_frames_new(&ctx, examples.rest.vertex_count, 6, &rest));
  for (int f = 0; f < 6; f++) {
    memcpy(sn_frame_mutable(&rest, f), examples.rest.positions,
           (size_t)examples.rest.vertex_count * sizeof(float[3]));
  }
  half = rest, half.frame_count = 3;
  sn_errors a, b, whole;
  assert_ok(&ctx, sn_errors_measure(&ctx, &examples, &low, &half, NULL, &a));
  assert_ok(&ctx, sn_errors_measure(&ctx, &examples, &high, &half, NULL, &b));
  assert_ok(&ctx, sn_errors_measure(&ctx, &examples, &all, &rest, NULL, &whole));
  assert_ok(&ctx, sn_errors_add(&ctx, &a, &b));
  sn_metrics sum, direct;
  assert_ok(&ctx, sn_metrics_of(&ctx, &a, &sum));
  assert_ok(&ctx, sn_metrics_of(&ctx, &whole, &direct));
  assert_near(sum.rms, direct.rms, 1e-12);
  assert_near(sum.ee, direct.ee, 1e-12);
  assert_near(sum.max_pct_diag, direct.max_pct_diag, 0);
  assert_near(sum.std_pct_diag, direct.std_pct_diag, 1e-12);
  sn_errors_free(&a);
  sn_errors_free(&b);
  sn_errors_free(&whole);
  sn_frames_free(&rest);
  sn_keys_free(&low);
  sn_keys_free(&high);
  sn_keys_free(&all);
  sn_examples_free(&examples);
}

// Many joints, most of them far off and some of them twice: the first of the best, as by trying all.
static void best_joints_are_those_of_trying_all(void **state) {
  enum { joints = 60, frames = 11, vertices = 300 };
  sn_context ctx = sn_context_default();
  sn_examples e = {0};
  sn_random rng = sn_random_new(3);
  sn_keys keys;
  assert_ok(&ctx, sn_mesh_new(&ctx, vertices, 0, &e.rest));
  assert_ok(&ctx, sn_frames_new(&ctx, vertices, frames, &e.frames));
  assert_ok(&ctx, sn_poses_new(&ctx, joints, frames, &e.poses));
  assert_ok(&ctx, sn_keys_parse(&ctx, "all", frames, 1, &keys, NULL));
  for (int f = 0; f < frames; f++)
    for (int j = 0; j < joints; j++) {
      sn_vec3 shift = random_vec3(&rng);
      sn_pose(&e.poses, f)[j] =
        j % 7 == 6 ? sn_pose(&e.poses, f)[j - 3] : sn_affine_make(sn_rotation_exp(random_vec3(&rng)), shift);
    }
  for (int i = 0; i < vertices; i++) {
    sn_vec3_store(random_vec3(&rng), e.rest.positions[i]);
    for (int f = 0; f < frames; f++) {
      sn_vec3 p = sn_affine_apply(sn_pose(&e.poses, f)[i % joints], sn_vec3_from(e.rest.positions[i]));
      sn_vec3_store(sn_vec3_mad(p, random_vec3(&rng), 0.3 * (i % 5)), sn_frame_mutable(&e.frames, f)[i]);
    }
  }
  uint16_t best[vertices];
  double errors[vertices];
  assert_ok(&ctx, sn_best_joints(&ctx, &e, &keys, best, errors));
  for (int i = 0; i < vertices; i++) {
    double least = INFINITY;
    int first = -1;
    for (int j = 0; j < joints; j++) {
      double sum = 0;
      for (int f = 0; f < frames; f++) {
        sn_vec3 p = sn_affine_apply(sn_pose(&e.poses, f)[j], sn_vec3_from(e.rest.positions[i]));
        sn_vec3 d = sn_vec3_sub(p, sn_vec3_from(sn_frame(&e.frames, f)[i]));
        sum += sn_vec3_dot(d, d);
      }
      if (sum < least) least = sum, first = j;
    }
    assert_int_equal(best[i], first);
    assert_near(errors[i], least, 1e-12 * least); // another order of adding
  }
  sn_keys_free(&keys);
  sn_examples_free(&e);
}

static void no_frames_give_no_figures(void **state) {
  sn_context ctx = sn_context_default();
  sn_errors none = {0};
  sn_metrics m;
  assert_ok(&ctx, sn_metrics_of(&ctx, &none, &m));
  assert_int_equal(m.frame_count, 0);
  assert_true(isnan(m.rms) && isnan(m.ee));
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(figures_follow_their_definitions),
    cmocka_unit_test(truth_has_no_error),
    cmocka_unit_test(errors_add_up),
    cmocka_unit_test(best_joints_are_those_of_trying_all),
    cmocka_unit_test(no_frames_give_no_figures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
