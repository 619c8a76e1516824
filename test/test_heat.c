// SPDX-License-Identifier: MIT
// Weights from the skeleton and the surface alone: lbs:weights=skeleton, dqs:weights=skeleton.
#include "train_fixture.h"

#include <math.h>
#include <string.h>

#include "train/skin/heat.h"

enum { rings = 41, around = 12 };

// A tube from x = -1 to 1 about the axis, with the joints at these places.
static void make_tube(sn_context *ctx, bool inside_out, sn_mesh *out) {
  assert_ok(ctx, sn_mesh_new(ctx, rings * around, 2 * (rings - 1) * around, out));
  for (int r = 0; r < rings; r++)
    for (int k = 0; k < around; k++) {
      double angle = 2 * 3.14159265358979 * k / around;
      float *p = out->positions[r * around + k];
      p[0] = (float)(2.0 * r / (rings - 1) - 1), p[1] = (float)(0.1 * cos(angle)), p[2] = (float)(0.1 * sin(angle));
    }
  int t = 0;
  for (int r = 0; r + 1 < rings; r++)
    for (int k = 0; k < around; k++) {
      int a = r * around + k, b = r * around + (k + 1) % around, c = a + around, d = b + around;
      int two[2][3] = {{a, b, c}, {b, d, c}};
      for (int n = 0; n < 2; n++, t++)
        for (int m = 0; m < 3; m++) out->triangles[t][m] = two[n][inside_out ? 2 - m : m];
    }
}

static void make_skeleton(sn_context *ctx, int count, const int *parents, const double *x, sn_skeleton *out) {
  assert_ok(ctx, sn_skeleton_new(ctx, count, out));
  for (int j = 0; j < count; j++) {
    out->parents[j] = parents[j];
    out->rest[j] = sn_affine_make(sn_mat3_identity(), sn_vec3_make(x[j], 0, 0));
  }
  assert_ok(ctx, sn_skeleton_sort(ctx, out));
}

static double weight_of(const sn_skin *skin, int i, int joint) {
  double sum = 0;
  for (int k = 0; k < skin->influences; k++)
    if (skin->joints[i * skin->influences + k] == joint) sum += skin->weights[i * skin->influences + k];
  return sum;
}

static void check_sums(const sn_skin *skin) {
  for (int i = 0; i < skin->vertex_count; i++) {
    double sum = 0;
    for (int k = 0; k < skin->influences; k++) {
      float w = skin->weights[i * skin->influences + k];
      assert_true(w >= 0 && w <= 1);
      sum += w;
    }
    assert_below(fabs(sum - 1), 1e-5);
  }
}

// Root in the middle with a joint on either side.
static const int forked[] = {-1, 0, 0};
static const double places[] = {0, -0.4, 0.4};

static void a_symmetric_mesh_has_symmetric_weights(void **state) {
  sn_context ctx = sn_context_default();
  sn_mesh mesh;
  sn_skeleton skeleton;
  sn_skin skin;
  make_tube(&ctx, false, &mesh);
  make_skeleton(&ctx, 3, forked, places, &skeleton);
  assert_ok(&ctx, sn_heat_skin(&ctx, &mesh, &skeleton, 4, &skin));
  check_sums(&skin);
  for (int r = 0; r < rings; r++)
    for (int k = 0; k < around; k++) {
      int i = r * around + k, mirrored = (rings - 1 - r) * around + k;
      assert_below(fabs(weight_of(&skin, i, 1) - weight_of(&skin, mirrored, 2)), 1e-5);
      assert_below(fabs(weight_of(&skin, i, 0) - weight_of(&skin, mirrored, 0)), 1e-5);
    }
  sn_skin_free(&skin);
  sn_skeleton_free(&skeleton);
  sn_mesh_free(&mesh);
}

// Beyond a joint its own weight is large, at it two bones have weight, and no weight grows again farther on.
static void a_bone_rules_its_own_part(void **state) {
  sn_context ctx = sn_context_default();
  for (int inside_out = 0; inside_out < 2; inside_out++) {
    sn_mesh mesh;
    sn_skeleton skeleton;
    sn_skin skin;
    make_tube(&ctx, inside_out, &mesh);
    make_skeleton(&ctx, 3, forked, places, &skeleton);
    assert_ok(&ctx, sn_heat_skin(&ctx, &mesh, &skeleton, 4, &skin));
    for (int r = 0; r < rings; r++) {
      int i = r * around;
      double x = mesh.positions[i][0];
      if (x > 0.65) assert_true(weight_of(&skin, i, 2) > 0.9);
      if (fabs(x) < 0.15) assert_true(weight_of(&skin, i, 0) > 0.9);
      if (fabs(x - 0.4) < 1e-3) assert_true(fabs(weight_of(&skin, i, 2) - 0.5) < 0.1);
      if (r > 0) assert_true(weight_of(&skin, i, 2) >= weight_of(&skin, i - around, 2) - 1e-5);
    }
    sn_skin_free(&skin);
    sn_skeleton_free(&skeleton);
    sn_mesh_free(&mesh);
  }
}

static void joints_at_one_place_and_single_joints_work(void **state) {
  sn_context ctx = sn_context_default();
  const int chain[] = {-1, 0, 1, 2};
  const double doubled[] = {-1, -1, 0, 0};
  sn_mesh mesh;
  sn_skeleton skeleton;
  sn_skin skin;
  make_tube(&ctx, false, &mesh);
  make_skeleton(&ctx, 4, chain, doubled, &skeleton);
  assert_ok(&ctx, sn_heat_skin(&ctx, &mesh, &skeleton, 2, &skin));
  check_sums(&skin);
  assert_true(weight_of(&skin, 0, 1) > 0.9);
  assert_true(weight_of(&skin, rings * around - 1, 3) > 0.9);
  sn_skin_free(&skin);
  sn_skeleton_free(&skeleton);
  make_skeleton(&ctx, 1, chain, doubled, &skeleton);
  assert_ok(&ctx, sn_heat_skin(&ctx, &mesh, &skeleton, 4, &skin));
  for (int i = 0; i < mesh.vertex_count; i++) assert_below(fabs(weight_of(&skin, i, 0) - 1), 1e-6);
  sn_skin_free(&skin);
  sn_skeleton_free(&skeleton);
  sn_mesh_free(&mesh);
}

static void a_skeleton_elsewhere_is_refused(void **state) {
  sn_context ctx = sn_context_default();
  const double wrong[][3] = {{30, 31, 32}, {0, -0.004, 0.004}, {0, -40, 40}};
  sn_mesh mesh;
  sn_skin skin;
  make_tube(&ctx, false, &mesh);
  for (int k = 0; k < 3; k++) {
    sn_skeleton skeleton;
    make_skeleton(&ctx, 3, forked, wrong[k], &skeleton);
    assert_int_equal(sn_heat_skin(&ctx, &mesh, &skeleton, 4, &skin), SN_BAD_INPUT);
    assert_non_null(strstr(ctx.error.message, "bind pose"));
    sn_skeleton_free(&skeleton);
  }
  sn_mesh_free(&mesh);
}

static void it_is_near_what_is_fitted(void **state) {
  sn_context ctx = sn_context_default();
  const char *const sets[] = {"arm", "athlete"};
  for (int k = 0; k < 2; k++) {
    sn_examples examples = generate(&ctx, sets[k], 20, 2000);
    double fitted = scores_of(&ctx, &examples, "lbs", "all").all.ee;
    double made = scores_of(&ctx, &examples, "lbs:weights=skeleton", "all").all.ee;
    double dual = scores_of(&ctx, &examples, "dqs:weights=skeleton", "all").all.ee;
    print_message("%s: fitted %.3f, from the skeleton %.3f, dual quaternions %.3f\n", sets[k], fitted, made, dual);
    assert_below(made, 2.6 * fitted);
    assert_below(dual, 2.6 * fitted);
    sn_examples_free(&examples);
  }
}

static void threads_and_frames_do_not_matter(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "athlete", 4, 2000);
  const char *const specs[] = {"lbs:weights=skeleton", "dqs:weights=skeleton", "lbs:weights=given"};
  for (int k = 0; k < 3; k++) {
    sn_method_spec spec;
    sn_model models[3];
    sn_keys none = {0}, all;
    assert_ok(&ctx, sn_keys_parse(&ctx, "all", 4, 1, &all, NULL));
    assert_ok(&ctx, sn_method_parse(&ctx, specs[k], &spec));
    for (int n = 0; n < 3; n++) {
      ctx.threads = n == 1 ? 1 : 3;
      bool known = n < 2 || k == 1; // the references of dual quaternions are the clip's
      assert_ok(&ctx, sn_train(&ctx, &spec, &examples, known ? &none : &all, &models[n], NULL));
    }
    for (int n = 1; n < 3; n++) {
      assert_int_equal(models[n].size, models[0].size);
      assert_memory_equal(models[n].bytes, models[0].bytes, models[0].size);
    }
    for (int n = 0; n < 3; n++) sn_model_free(&models[n]);
    sn_keys_free(&all);
  }
  sn_method_spec fitted;
  sn_keys none = {0};
  sn_model model;
  assert_ok(&ctx, sn_method_parse(&ctx, "lbs", &fitted));
  assert_int_equal(sn_train(&ctx, &fitted, &examples, &none, &model, NULL), SN_BAD_INPUT);
  sn_examples_free(&examples);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_symmetric_mesh_has_symmetric_weights),
    cmocka_unit_test(a_bone_rules_its_own_part),
    cmocka_unit_test(joints_at_one_place_and_single_joints_work),
    cmocka_unit_test(a_skeleton_elsewhere_is_refused),
    cmocka_unit_test(it_is_near_what_is_fitted),
    cmocka_unit_test(threads_and_frames_do_not_matter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
