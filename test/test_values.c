// SPDX-License-Identifier: MIT
// Named values span pose spaces: tables of them, interpolation against the formula, ranges, joints beside them, morph targets.
#include "train_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/tables/values.h"
#include "runtime/format.h"
#include "sinew/examples.h"

// ---- tables -------------------------------------------------------------------------------------------------------------

static sn_status parse(sn_context *ctx, const char *text, sn_values *out) {
  return sn_values_parse(ctx, "v.csv", text, strlen(text), out);
}

static void a_table_has_names_rows_and_perhaps_a_rest(void **state) {
  sn_context ctx = sn_context_default();
  sn_values v;
  assert_ok(&ctx, parse(&ctx, "frame,smile,\"age of\"\n1, 0.5,20\nrest,0,30\n\n0,1,40\n", &v));
  assert_int_equal(v.count, 2);
  assert_int_equal(v.frame_count, 2);
  assert_string_equal(v.names[1], "age of");
  const double expected[4] = {1, 40, 0.5, 20};
  for (int k = 0; k < 4; k++) assert_near(v.values[k], expected[k], 0);
  assert_near(v.rest[1], 30, 0);
  sn_values_free(&v);
}

static void bad_tables_are_refused(void **state) {
  sn_context ctx = sn_context_default();
  static const struct {
    const char *text, *said;
  } bad[] = {{"", "must be called frame"},
             {"smile\n0\n", "must be called frame"},
             {"frame\n0\n", "no columns"},
             {"frame,a,a\n0,1,2\n", "two columns are called 'a'"},
             {"frame,a,\n0,1,2\n", "needs a name"},
             {"frame,a\n", "no rows"},
             {"frame,a\nrest,1\n", "no rows"},
             {"frame,a\n0,1\n0,2\n", "each once"},
             {"frame,a\n0,1\n2,2\n", "frames 0 to 1"},
             {"frame,a\n0,1,2\n", "2 values where the first line has 1"},
             {"frame,a\n0\n", "0 values where"},
             {"frame,a\n0,nan\n", "v.csv:2"},
             {"frame,a\n0,x\n", "v.csv:2"}};
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    sn_values v;
    assert_int_not_equal(parse(&ctx, bad[k].text, &v), SN_OK);
    if (!strstr(ctx.error.message, bad[k].said)) fail_msg("'%s': %s", bad[k].text, ctx.error.message);
  }
}

// ---- examples of one number -------------------------------------------------------------------------------------------------

enum { side = 5, corners = side * side };

// A flat grid that goes up by `heights` at the values `at` (in the units of the table), one frame each.
static sn_examples new_sheet(sn_context *ctx, int frames, const double *at, const double *heights) {
  sn_examples e = {0};
  assert_ok(ctx, sn_mesh_new(ctx, corners, 2 * (side - 1) * (side - 1), &e.rest));
  for (int i = 0; i < corners; i++)
    e.rest.positions[i][0] = (float)(i % side), e.rest.positions[i][1] = (float)(i / side);
  for (int q = 0, t = 0; q < (side - 1) * (side - 1); q++) {
    int a = q / (side - 1) * side + q % (side - 1);
    int two[2][3] = {{a, a + 1, a + side}, {a + 1, a + side + 1, a + side}};
    for (int k = 0; k < 2; k++) memcpy(e.rest.triangles[t++], two[k], sizeof two[k]);
  }
  assert_ok(ctx, sn_frames_new(ctx, corners, frames, &e.frames));
  assert_ok(ctx, sn_values_new(ctx, 1, frames, &e.values));
  e.values.names[0] = sn_arena_text(ctx, &e.values.memory, "lift");
  for (int f = 0; f < frames; f++) {
    float(*p)[3] = sn_frame_mutable(&e.frames, f);
    memcpy(p, e.rest.positions, corners * sizeof *p);
    for (int i = 0; i < corners; i++) p[i][2] = (float)heights[f];
    e.values.values[f] = at[f];
  }
  return e;
}

static trained train_only(sn_context *ctx, const sn_examples *e, const char *text) {
  trained t = {0};
  sn_method_spec spec;
  assert_ok(ctx, sn_method_parse(ctx, text, &spec));
  assert_ok(ctx, sn_keys_parse(ctx, "all", e->frames.frame_count, 1, &t.keys, NULL));
  assert_ok(ctx, sn_train(ctx, &spec, e, &t.keys, &t.bytes, &t.report));
  assert_ok(ctx, sn_model_open(ctx, text, t.bytes.bytes, t.bytes.size, &t.model));
  return t;
}

// Height of the first vertex for a value, on every path.
static double height_at(const sn_rt_model *model, float value) {
  float positions[corners][3], first = 0;
  void *scratch = malloc(sn_rt_scratch_size(model));
  for (int path = SN_RT_PATH_SCALAR; path < SN_RT_PATH_COUNT; path++) {
    sn_rt_model copy = *model;
    if (!sn_rt_use_path(&copy, (sn_rt_path)path)) continue;
    sn_rt_input input = {.values = &value};
    sn_rt_output output = {.positions = positions[0]};
    assert_int_equal(sn_rt_evaluate(&copy, &input, scratch, &output, NULL), SN_RT_OK);
    if (path == SN_RT_PATH_SCALAR) first = positions[0][2];
    assert_near(positions[0][2], first, 1e-5);
  }
  free(scratch);
  return first;
}

// Gaussian elimination without pivoting: the matrix of a Gaussian kernel is positive definite.
static void solve3(double a[3][3], double b[3]) {
  for (int k = 0; k < 3; k++)
    for (int r = k + 1; r < 3; r++) {
      double factor = a[r][k] / a[k][k];
      for (int c = k; c < 3; c++) a[r][c] -= factor * a[k][c];
      b[r] -= factor * b[k];
    }
  for (int k = 2; k >= 0; k--) {
    for (int c = k + 1; c < 3; c++) b[k] -= a[k][c] * b[c];
    b[k] /= a[k][k];
  }
}

// Murtagh 2008, 2.3.2: d(x) = sum_k c_k exp(-(x - x_k)^2 / (2 sigma^2)) through the rest and the two frames, x the value over
// its range times SN_RT_VALUE_SPAN.
static void one_value_interpolates_as_the_formula_says(void **state) {
  sn_context ctx = sn_context_default();
  const double at[2] = {20, 50}, heights[2] = {1, -0.5}, sigma = 0.08, span = (double)SN_RT_VALUE_SPAN;
  sn_examples e = new_sheet(&ctx, 2, at, heights);
  e.values.rest[0] = 10; // so the range is 10 to 50
  trained t = train_only(&ctx, &e, "psd:space=whole,sigma=0.08,threshold=0");
  const double x[3] = {0, span * 0.25, span};
  double a[3][3], c[3] = {0, 1, -0.5};
  for (int r = 0; r < 3; r++)
    for (int k = 0; k < 3; k++) a[r][k] = exp(-(x[r] - x[k]) * (x[r] - x[k]) / (2 * sigma * sigma));
  solve3(a, c);
  for (int n = 0; n <= 20; n++) {
    double value = 10 + 2 * n, own = span * (value - 10) / 40, expected = 0;
    for (int k = 0; k < 3; k++) expected += c[k] * exp(-(own - x[k]) * (own - x[k]) / (2 * sigma * sigma));
    assert_near(height_at(&t.model, (float)value), expected, 2e-4);
  }
  float range[2];
  assert_int_equal(t.model.info.value_count, 1);
  assert_int_equal(t.model.info.joint_count, 0);
  assert_string_equal(sn_rt_value_name(&t.model, 0), "lift");
  assert_int_equal(sn_rt_find_value(&t.model, "lift"), 0);
  assert_int_equal(sn_rt_find_value(&t.model, "drop"), -1);
  assert_true(sn_rt_value_range(&t.model, 0, range) && range[0] == 10 && range[1] == 50);
  assert_null(sn_rt_value_name(&t.model, 1));
  assert_false(sn_rt_value_range(&t.model, 1, range));
  assert_near(height_at(&t.model, 99), height_at(&t.model, 50), 0); // beyond the range its end counts
  assert_near(height_at(&t.model, -1e30f), height_at(&t.model, 10), 0);
  assert_near(height_at(&t.model, NAN), height_at(&t.model, 10), 0);
  release(&t), sn_examples_free(&e);
}

// Blend shapes are straight: half the value is half the way, to a hundredth, from one sculpted shape alone.
static void one_shape_is_nearly_straight(void **state) {
  sn_context ctx = sn_context_default();
  const double at = 1, height = 2;
  sn_examples e = new_sheet(&ctx, 1, &at, &height);
  trained t = train_only(&ctx, &e, "psd");
  assert_near(height_at(&t.model, 0), 0, 1e-5);
  assert_near(height_at(&t.model, 1), 2, 1e-3);
  for (int n = 1; n < 10; n++) assert_near(height_at(&t.model, 0.1f * (float)n), 0.2 * n, 0.02);
  release(&t), sn_examples_free(&e);
}

static void the_runtime_asks_for_its_values(void **state) {
  sn_context ctx = sn_context_default();
  const double at = 1, height = 2;
  sn_examples e = new_sheet(&ctx, 1, &at, &height);
  trained t = train_only(&ctx, &e, "psd");
  void *scratch = malloc(sn_rt_scratch_size(&t.model));
  sn_rt_error error;
  assert_int_equal(sn_rt_palette(&t.model, &(sn_rt_input){0}, scratch, &error), SN_RT_BAD_ARGUMENT);
  assert_non_null(strstr(error.message, "named values"));
  free(scratch);
  // A range that is none, a value that does not exist, a name that does not end.
  static const char *const sections[] = {"value.ranges", "correct.joints", "value.names"};
  for (size_t k = 0; k < 3; k++) {
    uint64_t size;
    uint8_t *bytes = aligned_alloc(64, (t.bytes.size + 63) / 64 * 64);
    memcpy(bytes, t.bytes.bytes, t.bytes.size);
    const uint8_t *at_section = sn_rt_find_section(&t.model, sections[k], &size);
    uint8_t *broken = bytes + (at_section - t.bytes.bytes);
    if (k == 0) memset(broken, 0, size);
    if (k == 1) memset(broken, 0xff, 2);
    if (k == 2) broken[size - 1] = 'x';
    assert_true(sn_model_seal(bytes, t.bytes.size));
    sn_rt_model model;
    assert_int_equal(sn_rt_open(bytes, t.bytes.size, &model, &error), SN_RT_BAD_MODEL);
    assert_non_null(strstr(error.message, k == 1 ? "terms that do not exist" : "value"));
    free(bytes);
  }
  release(&t), sn_examples_free(&e);
}

static void a_constant_value_is_refused(void **state) {
  sn_context ctx = sn_context_default();
  const double at[2] = {0, 0}, heights[2] = {1, 2};
  sn_examples e = new_sheet(&ctx, 2, at, heights);
  sn_method_spec spec;
  sn_keys keys;
  sn_model out;
  assert_ok(&ctx, sn_method_parse(&ctx, "psd", &spec));
  assert_ok(&ctx, sn_keys_parse(&ctx, "all", 2, 1, &keys, NULL));
  assert_int_equal(sn_train(&ctx, &spec, &e, &keys, &out, NULL), SN_BAD_INPUT);
  assert_non_null(strstr(ctx.error.message, "value 'lift' is 0"));
  e.values.count = 0; // and without any, a skeleton is requested
  assert_int_equal(sn_train(&ctx, &spec, &e, &keys, &out, NULL), SN_BAD_INPUT);
  assert_non_null(strstr(ctx.error.message, "`values`"));
  e.values.count = 1;
  sn_keys_free(&keys), sn_examples_free(&e);
}

// ---- faces --------------------------------------------------------------------------------------------------------------

static sn_examples new_face(sn_context *ctx, int vertices, int frames, int targets) {
  sn_gen_options options = sn_gen_options_default();
  sn_examples e;
  options.set = "face", options.vertices = vertices, options.frames = frames, options.targets = targets;
  assert_ok(ctx, sn_gen(ctx, &options, &e));
  return e;
}

static void drop_skeleton(sn_examples *e) {
  sn_skeleton_free(&e->skeleton), sn_poses_free(&e->poses), sn_skin_free(&e->skin), sn_torques_free(&e->torques);
}

// Expressions that were seen alone, and some mixtures, tell others.
static void expressions_combine(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e = new_face(&ctx, 1500, 80, 6);
  drop_skeleton(&e);
  trained t = train(&ctx, &e, "psd", "0-40");
  assert_below(t.scores.train.rms_pct_diag, 0.01);
  assert_below(t.scores.test.rms_pct_diag, 0.02);
  release(&t), sn_examples_free(&e);
}

// A head that turns, with expressions: displacements are in the rest pose, so they rotate with it.
static void values_go_together_with_joints(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e = new_face(&ctx, 1500, 20, 3);
  for (int f = 0; f < 20; f++) {
    sn_affine turn = sn_affine_about(sn_rotation_exp(sn_vec3_make(0, 0.05 * f, 0)), sn_vec3_make(0, -0.1, 0));
    sn_pose(&e.poses, f)[0] = turn;
    float(*p)[3] = sn_frame_mutable(&e.frames, f);
    for (int i = 0; i < 1500; i++) sn_vec3_store(sn_affine_apply(turn, sn_vec3_from(p[i])), p[i]);
  }
  trained t = train(&ctx, &e, "psd:weights=given", "every:2");
  assert_int_equal(t.model.info.joint_count, 1);
  assert_int_equal(t.model.info.value_count, 3);
  assert_below(t.scores.all.rms_pct_diag, 0.1);
  release(&t), sn_examples_free(&e);
}

// A face of 50 blend shapes in a fifth of their bytes, off by a thousandth of its size at most.
static void many_targets_are_small(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e = new_face(&ctx, 3000, 70, 50);
  drop_skeleton(&e);
  trained t = train(&ctx, &e, "eigenskin:components=2", "0-50");
  double targets = 50.0 * 3000 * 12;
  print_message("50 targets: %.3f of their bytes, rms %.4f %%\n", (double)t.bytes.size / targets,
                t.scores.test.rms_pct_diag);
  assert_below((double)t.bytes.size, targets / 5);
  assert_below(t.scores.test.rms_pct_diag, 0.1);
  release(&t), sn_examples_free(&e);
}

// A document of morph targets without animation: frame k is target k, and its weights are the values.
static void morph_targets_are_examples(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e = new_face(&ctx, 1500, 8, 6), loaded;
  const char *folder = scratch_folder();
  char path[4200];
  sn_gen_options options = sn_gen_options_default();
  options.set = "face";
  assert_ok(&ctx, sn_gen_write(&ctx, &options, &e, folder));
  snprintf(path, sizeof path, "%s/targets.glb", folder);
  const char *frames[] = {path};
  sn_load_options load = sn_load_options_default();
  load.rest = path, load.frames = frames, load.frames_count = 1;
  assert_ok(&ctx, sn_examples_load(&ctx, &load, &loaded));
  assert_int_equal(loaded.frames.frame_count, 6);
  assert_int_equal(loaded.values.count, 6);
  assert_string_equal(loaded.values.names[1], "smile");
  for (int f = 0; f < 6; f++)
    for (int v = 0; v < 6; v++) assert_near(loaded.values.values[6 * f + v], f == v, 0);
  for (int i = 0; i < 1500; i++)
    for (int c = 0; c < 3; c++) assert_near(sn_frame(&loaded.frames, 1)[i][c], sn_frame(&e.frames, 2)[i][c], 1e-6);
  trained t = train(&ctx, &loaded, "psd", "all");
  assert_below(t.scores.train.rms_pct_diag, 0.01);
  release(&t);
  sn_examples_free(&loaded), sn_examples_free(&e);
  static const char *const files[] = {"rest.obj",     "frames.pc2", "skeleton.glb", "torque.csv",
                                      "controls.txt", "values.csv", "targets.glb",  "README.txt"};
  for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
    snprintf(path, sizeof path, "%s/%s", folder, files[k]);
    assert_int_equal(unlink(path), 0);
  }
  assert_int_equal(rmdir(folder), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_table_has_names_rows_and_perhaps_a_rest),
                                     cmocka_unit_test(bad_tables_are_refused),
                                     cmocka_unit_test(one_value_interpolates_as_the_formula_says),
                                     cmocka_unit_test(one_shape_is_nearly_straight),
                                     cmocka_unit_test(the_runtime_asks_for_its_values),
                                     cmocka_unit_test(a_constant_value_is_refused),
                                     cmocka_unit_test(expressions_combine),
                                     cmocka_unit_test(values_go_together_with_joints),
                                     cmocka_unit_test(many_targets_are_small),
                                     cmocka_unit_test(morph_targets_are_examples)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
