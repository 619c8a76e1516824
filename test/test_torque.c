// SPDX-License-Identifier: MIT
// Torques: blending functions, pairs of predictors, the runtime's drive, and the method's accuracy.
#include "train_fixture.h"
#include "palette_fixture.h"
#include "runtime/format.h"
#include "sinew/examples.h"
#include "train/rotreg/reduced.h"

static double blend_at(const double c[sn_torque_most_degree], double x) {
  sn_torque_functions functions = {{c[0], c[1], c[2]}, {0}, {0}};
  double f[2];
  sn_torque_blend(&functions, x, f);
  return f[0];
}

// ---- examples -----------------------------------------------------------------------------------------------------------

static sn_status try_train(sn_context *ctx, const char *text, const sn_examples *e, const char *keys_text,
                           sn_model *model) {
  sn_method_spec spec;
  sn_keys keys;
  *model = (sn_model){0};
  sn_status status = sn_method_parse(ctx, text, &spec);
  if (status != SN_OK) return status;
  status = sn_keys_parse(ctx, keys_text, e->frames.frame_count, 1, &keys, NULL);
  if (status != SN_OK) return status;
  status = sn_train(ctx, &spec, e, &keys, model, NULL);
  sn_keys_free(&keys);
  return status;
}

static void train_model(sn_context *ctx, const char *text, const sn_examples *e, const char *keys, sn_model *model,
                        sn_rt_model *rt) {
  assert_ok(ctx, try_train(ctx, text, e, keys, model));
  assert_ok(ctx, sn_model_open(ctx, text, model->bytes, model->size, rt));
}

// Vertices at the pose of frame f, every joint with the torque `torque`.
static void evaluate(const sn_rt_model *rt, sn_rt_path path, const sn_examples *e, int f, float torque,
                     float (*positions)[3]) {
  sn_rt_model copy = *rt;
  assert_true(sn_rt_use_path(&copy, path));
  int joints = (int)rt->info.joint_count;
  float(*matrices)[12] = malloc((size_t)joints * sizeof *matrices),
  *torques = malloc((size_t)joints * sizeof *torques);
  void *scratch = malloc(sn_rt_scratch_size(rt));
  sn_model_joints(sn_pose(&e->poses, f), joints, matrices);
  for (int j = 0; j < joints; j++) torques[j] = torque;
  sn_rt_input input = {.joints = (const float(*)[12])matrices, .torques = torques};
  sn_rt_output output = {.positions = &positions[0][0]};
  assert_int_equal(sn_rt_evaluate(&copy, &input, scratch, &output, NULL), SN_RT_OK);
  free(matrices), free(torques), free(scratch);
}

static double largest_difference(const float (*a)[3], const float (*b)[3], int count) {
  double largest = 0;
  for (int i = 0; i < count; i++) largest = fmax(largest, sn_vec3_distance(sn_vec3_from(a[i]), sn_vec3_from(b[i])));
  return largest;
}

// ---- blending functions ---------------------------------------------------------------------------------------------------

static void test_functions_meet_their_ends(void **state) {
  sn_random rng = sn_random_new(5);
  for (int trial = 0; trial < 200; trial++) {
    double x[20], aa[20], ab[20], c[sn_torque_most_degree];
    for (int i = 0; i < 20; i++) {
      x[i] = sn_random_uniform(&rng), aa[i] = sn_random_uniform(&rng), ab[i] = sn_random_normal(&rng);
    }
    sn_torque_fit_function(20, x, aa, ab, 1 + trial % 3, c);
    assert_near(blend_at(c, 0), 0, 0);
    assert_near(blend_at(c, 1), 1, 1e-12);
    for (int k = 0; k <= 10; k++) {
      double f = blend_at(c, 0.1 * k);
      assert_true(f >= 0 && f <= 1);
    }
    if (trial % 3 == 0) assert_near(blend_at(c, 0.3), 0.3, 1e-12);
  }
}

// w_i = ab / aa on a polynomial of the degree: found again.
static void test_functions_are_found_again(void **state) {
  sn_random rng = sn_random_new(6);
  for (int degree = 1; degree <= 3; degree++)
    for (int trial = 0; trial < 50; trial++) {
      double g0 = degree > 1 ? 1.6 * sn_random_uniform(&rng) - 0.8 : 0,
             g1 = degree > 2 ? 0.2 * sn_random_normal(&rng) : 0;
      double x[30], aa[30], ab[30], c[sn_torque_most_degree];
      for (int i = 0; i < 30; i++) {
        x[i] = i / 29.0, aa[i] = 0.1 + sn_random_uniform(&rng);
        ab[i] = aa[i] * (x[i] + x[i] * (1 - x[i]) * (g0 + g1 * x[i]));
      }
      sn_torque_fit_function(30, x, aa, ab, degree, c);
      for (int k = 0; k <= 20; k++) {
        double t = 0.05 * k, f = t + t * (1 - t) * (g0 + g1 * t);
        assert_near(blend_at(c, t), fmin(1, fmax(0, f)), 0.01); // the fit is held back a little
      }
    }
}

// As published: weights on any polynomial of the degree are met, ends and all; examples without a weight do not count.
static void test_polynomials_are_found_again(void **state) {
  sn_random rng = sn_random_new(16);
  for (int degree = 1; degree <= 3; degree++)
    for (int trial = 0; trial < 50; trial++) {
      double truth[4] = {0}, x[12], aa[12], ab[12], offset, c[sn_torque_most_degree];
      for (int k = 0; k <= degree; k++) truth[k] = sn_random_normal(&rng);
      for (int i = 0; i < 12; i++) {
        x[i] = i / 11.0, aa[i] = 0.01 + sn_random_uniform(&rng);
        ab[i] = aa[i] * (truth[0] + x[i] * (truth[1] + x[i] * (truth[2] + x[i] * truth[3])));
      }
      aa[3] = 0, ab[3] = 5;
      offset = sn_torque_fit_polynomial(12, x, aa, ab, degree, c);
      assert_near(offset, truth[0], 1e-8);
      for (int k = 0; k < 3; k++) assert_near(c[k], truth[1 + k], 1e-7);
      sn_torque_functions f = {.offset = {offset, 0}};
      memcpy(f.rotation, c, sizeof c);
      double blend[2];
      sn_torque_blend(&f, 0.25, blend);
      double at = truth[0] + 0.25 * (truth[1] + 0.25 * (truth[2] + 0.25 * truth[3]));
      assert_near(blend[0], fmin(1, fmax(0, at)), 1e-7);
    }
  // y = x^2 at 0, 1/2, 1: mean of x 1/2, of y 5/12; slope = sum (x - 1/2)(y - 5/12) / sum (x - 1/2)^2 = 1.
  const double x[3] = {0, 0.5, 1}, aa[3] = {1, 4, 9}, ab[3] = {0, 1, 9};
  double c[sn_torque_most_degree], offset = sn_torque_fit_polynomial(3, x, aa, ab, 1, c);
  assert_near(c[0], 1, 1e-12);
  assert_near(offset, 5.0 / 12 - 0.5, 1e-12);
}

// ---- pairs on gradients that are made of them -----------------------------------------------------------------------------

enum { made_poses = 40, made_gradients = 6 };

typedef struct made {
  sn_context ctx;
  sn_arena memory;
  sn_random rng;
  sn_examples e;
  sn_keys keys;
  sn_rotreg_rotations rotations;
  sn_folds folds;
  double x[made_poses][2], range[2][2];
  sn_mat3 sequences[made_gradients][made_poses], held_out[made_poses][made_gradients];
  sn_rotreg_predictor whole[made_gradients];
  sn_rotreg_work *work;
} made;

// Two joints, the second of which rotates about random axes.
static made *make(uint64_t seed) {
  made *m = calloc(1, sizeof *m);
  sn_context *ctx = &m->ctx;
  *ctx = sn_context_default(), m->memory = sn_arena_new(ctx), m->rng = sn_random_new(seed);
  assert_ok(ctx, sn_skeleton_new(ctx, 2, &m->e.skeleton));
  m->e.skeleton.parents[0] = -1, m->e.skeleton.parents[1] = 0;
  assert_ok(ctx, sn_poses_new(ctx, 2, made_poses, &m->e.poses));
  for (int k = 0; k < made_poses; k++) {
    sn_pose(&m->e.poses, k)[1] =
      sn_affine_make(sn_rotation_exp(sn_vec3_scale(random_vec3(&m->rng), 0.5)), (sn_vec3){0, 0, 0});
  }
  assert_ok(ctx, sn_keys_parse(ctx, "all", made_poses, 1, &m->keys, NULL));
  assert_ok(ctx, sn_rotreg_rotations_build(ctx, &m->memory, &m->e, &m->keys, &m->rotations));
  int fold_of[made_poses];
  for (int k = 0; k < made_poses; k++) fold_of[k] = k % sn_usual_folds;
  assert_ok(ctx, sn_folds_make(ctx, &m->memory, made_poses, fold_of, sn_usual_folds, &m->folds));
  m->range[1][1] = 50;
  m->work = malloc(sn_rotreg_work_size(made_poses));
  return m;
}

static sn_mat3 made_gradient(const made *m, const sn_torque_pair *pair, const sn_torque_functions *functions, int k) {
  return sn_torque_predict(pair, functions, m->rotations.rotation + 2 * k, m->rotations.theta + 2 * k, m->x[k]);
}

static void fit_whole(made *m, int l, const sn_rotreg_fit_options *options) {
  sn_rotreg_sample sample = {&m->rotations, m->sequences[l], m->folds.folds[0].poses, made_poses, options};
  sn_rotreg_fit(&sample, m->work, &m->whole[l]);
}

static void fit_made(made *m, const sn_rotreg_fit_options *options, const sn_torque_loads *loads,
                     sn_torque_model *found) {
  sn_rotreg_training t = {.ctx = &m->ctx, .fit = *options, .loads = *loads, .rotations = m->rotations};
  t.gradients = (sn_rotreg_key_gradients){made_gradients, made_poses, m->sequences[0], NULL, NULL};
  t.folds = m->folds, t.predictors = m->whole, t.held_out = m->held_out[0];
  assert_ok(&m->ctx, sn_torque_fit(&t));
  *found = t.torque;
  sn_arena_join(&m->memory, &t.memory);
}

static void made_free(made *m) {
  free(m->work), sn_keys_free(&m->keys), sn_examples_free(&m->e), sn_arena_free(&m->memory), free(m);
}

static void random_pair(sn_random *rng, sn_torque_pair *out) {
  *out = (sn_torque_pair){.load = 1};
  for (int end = 0; end < 2; end++) {
    sn_rotreg_predictor *p = &out->ends[end];
    p->factor_count = 1, p->shear_joints[0] = p->shear_joints[1] = 1;
    p->factors[0] = (sn_rotreg_factor){.joint = 1, .u = 0.5, .w = sn_mat3_identity()};
    p->factors[0].map = sn_mat3_scale(sn_mat3_identity(), 0.5);
    for (int c = 0; c < 6; c++) {
      p->h[c][6] = (c < 3) + end * 0.2 * sn_random_normal(rng);
      for (int n = 0; n < 3; n++) p->h[c][n] = 0.05 * sn_random_normal(rng);
    }
    for (int c = 0; c < 3; c++) p->tilt[c][6] = end * 0.2 * sn_random_normal(rng);
  }
}

static void test_pairs_are_found_again(void **state) {
  made *m = make(9);
  for (int k = 0; k < made_poses; k++) m->x[k][1] = k == 0 ? 0 : k == 1 ? 1 : sn_random_uniform(&m->rng);
  sn_torque_loads loads = {2, made_poses, m->range, m->x[0], 2, 3};
  // f_r = x - 0.8 x (1 - x), f_s = x + x (1 - x) (0.9 - 1.2 x)
  sn_torque_functions truth[2] = {{{1, 0, 0}, {1, 0, 0}, {0}}, {{0.2, 0.8, 0}, {1.9, -2.1, 1.2}, {0}}};
  sn_rotreg_fit_options options = sn_rotreg_fit_options_default();
  options.shear_ridge = 1e-4 * made_poses;
  for (int l = 0; l < made_gradients; l++) {
    sn_torque_pair pair;
    random_pair(&m->rng, &pair);
    for (int k = 0; k < made_poses; k++) m->sequences[l][k] = made_gradient(m, &pair, truth, k);
    fit_whole(m, l, &options);
  }
  sn_torque_model found;
  fit_made(m, &options, &loads, &found);
  assert_below(found.gain, 0.02);
  for (int k = 0; k <= 10; k++) {
    double t = 0.1 * k;
    assert_near(blend_at(found.functions[1].rotation, t), blend_at(truth[1].rotation, t), 0.03);
    assert_near(blend_at(found.functions[1].shear, t), blend_at(truth[1].shear, t), 0.03);
  }
  double error = 0, size = 0;
  for (int l = 0; l < made_gradients; l++) {
    assert_int_equal(found.pairs[l].load, 1);
    for (int k = 0; k < made_poses; k++) {
      double d = sn_mat3_norm(sn_mat3_sub(m->held_out[k][l], m->sequences[l][k]));
      double s = sn_mat3_norm(sn_mat3_sub(m->sequences[l][k], sn_mat3_identity()));
      error += d * d, size += s * s;
    }
  }
  assert_below(sqrt(error / size), 0.05); // on held-out poses
  made_free(m);
}

// As published: gradients made of a pair whose functions have a constant and do not reach 1. With examples at both ends of the
// range both ends are found, and with them the polynomials, unforced.
static void test_published_pairs_are_found_again(void **state) {
  made *m = make(19);
  for (int k = 0; k < made_poses; k++) m->x[k][1] = k < 14 ? 0 : k < 28 ? 1 : sn_random_uniform(&m->rng);
  sn_torque_loads loads = {2, made_poses, m->range, m->x[0], 1, 2};
  // Between the ends f_r and f_s are these; at the ends they are 0 and 1, as what the predictors there are trained on.
  sn_torque_functions inner[2] = {{{0}, {0}, {0}}, {{0.6, 0, 0}, {0.2, 0.5, 0}, {0.2, 0.1}}};
  sn_torque_functions ends[2] = {{{0}, {0}, {0}}, {{1, 0, 0}, {1, 0, 0}, {0}}};
  sn_rotreg_fit_options options = sn_rotreg_published_options();
  options.shear_ridge = 1e-9;
  for (int l = 0; l < made_gradients; l++) {
    sn_torque_pair pair;
    random_pair(&m->rng, &pair);
    for (int end = 0; end < 2; end++) {
      memset(pair.ends[end].tilt, 0, sizeof pair.ends[end].tilt);
      pair.ends[end].factors[0].map = sn_mat3_scale(sn_mat3_identity(), end ? 0.9 : 0.3);
    }
    for (int k = 0; k < made_poses; k++) m->sequences[l][k] = made_gradient(m, &pair, k < 28 ? ends : inner, k);
    fit_whole(m, l, &options);
  }
  sn_torque_model found;
  fit_made(m, &options, &loads, &found);
  for (int l = 0; l < made_gradients; l++) {
    assert_near(found.pairs[l].ends[0].factors[0].u, 0.3, 1e-3);
    assert_near(found.pairs[l].ends[1].factors[0].u, 0.9, 1e-3);
  }
  // The line of least squares through 14 points (0, 0), 14 points (1, 1) and the 12 between, in its closed form.
  double n = made_poses, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (int k = 0; k < made_poses; k++) {
    double y = k < 14 ? 0 : k < 28 ? 1 : 0.2 + 0.6 * m->x[k][1];
    sx += m->x[k][1], sy += y, sxx += m->x[k][1] * m->x[k][1], sxy += m->x[k][1] * y;
  }
  double slope = (n * sxy - sx * sy) / (n * sxx - sx * sx);
  assert_near(found.functions[1].rotation[0], slope, 2e-3);
  assert_near(found.functions[1].offset[0], (sy - slope * sx) / n, 2e-3);
  assert_true(found.functions[1].shear[1] != 0 && found.functions[1].shear[2] == 0);
  made_free(m);
}

// A torque that has nothing to do with the mesh is not followed.
static void test_idle_torques_are_left_alone(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e;
  sn_model model;
  sn_rt_model rt;
  e = generate(&ctx, "arm", 24, 700);
  sn_random rng = sn_random_new(2);
  e.torques.has[2] = true; // the hand's: noise
  for (int f = 0; f < 24; f++) e.torques.values[3 * f + 2] = sn_random_uniform(&rng);
  train_model(&ctx, "torque:bones=20", &e, "all", &model, &rt);
  const sn_rt_torque_block *blocks = sn_rt_find_section(&rt, "drive.pairs", NULL);
  int follow[4] = {0, 0, 0, 0};
  for (int b = 0; b < 20; b++) {
    int load = blocks[b / 8].load[b % 8];
    follow[load < 3 ? load : 3]++;
  }
  print_message("bones that follow the forearm's torque: %d, noise: %d, none: %d\n", follow[1], follow[2], follow[3]);
  assert_true(follow[1] >= 8 && follow[2] <= 2 && follow[0] == 0);
  sn_model_free(&model), sn_examples_free(&e);
}

// ---- the runtime's drive ------------------------------------------------------------------------------------------------------

// Torques at the ends give the two predictors exactly, beyond them the same, and every path agrees with the formulas.
static void test_ends_are_the_predictors(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e;
  sn_model model;
  sn_rt_model rt;
  e = generate(&ctx, "arm", 20, 600);
  train_model(&ctx, "torque:bones=13", &e, "all", &model, &rt);
  float range[2], unused[2];
  assert_true(sn_rt_torque_range(&rt, 1, range));
  assert_false(sn_rt_torque_range(&rt, 0, unused));
  assert_false(sn_rt_torque_range(&rt, 99, unused));
  assert_near((double)range[0], 0, 0);
  assert_near((double)range[1], 60, 0);
  int n = e.rest.vertex_count;
  float(*ends[2])[3] = {malloc((size_t)n * sizeof(float[3])), malloc((size_t)n * sizeof(float[3]))};
  float(*other)[3] = malloc((size_t)n * sizeof *other);
  sn_rt_torque_block *blocks = (sn_rt_torque_block *)(uintptr_t)sn_rt_find_section(&rt, "drive.pairs", NULL);
  for (int f = 0; f < 20; f += 3) {
    for (int end = 0; end < 2; end++) {
      evaluate(&rt, SN_RT_PATH_BEST, &e, f, range[end], ends[end]);
      evaluate(&rt, SN_RT_PATH_BEST, &e, f, end ? 1e9f : -1e9f, other);
      assert_memory_equal(other, ends[end], (size_t)n * sizeof *other);
      evaluate(&rt, SN_RT_PATH_SCALAR, &e, f, range[end], other);
      assert_below(largest_difference((const float(*)[3])other, (const float(*)[3])ends[end], n), 1e-5);
    }
    assert_true(largest_difference((const float(*)[3])ends[0], (const float(*)[3])ends[1], n) > 1e-3);
  }
  // The predictor of one end in both places: no torque changes anything any more.
  for (int end = 0; end < 2; end++) {
    sn_rt_torque_block keep[2];
    memcpy(keep, blocks, sizeof keep);
    evaluate(&rt, SN_RT_PATH_BEST, &e, 7, range[end], ends[end]);
    for (int b = 0; b < 2; b++) {
      blocks[b].ends[1 - end] = blocks[b].ends[end];
    }
    for (int k = 0; k <= 4; k++) {
      evaluate(&rt, SN_RT_PATH_BEST, &e, 7, range[0] + 0.25f * (float)k * (range[1] - range[0]), other);
      assert_below(largest_difference((const float(*)[3])other, (const float(*)[3])ends[end], n), 2e-6);
    }
    memcpy(blocks, keep, sizeof keep);
  }
  free(ends[0]), free(ends[1]), free(other);
  sn_model_free(&model), sn_examples_free(&e);
}

// The palette against C [D; Q] in double precision, with the slerp of src/math.
static void check_against_formulas(bool published) {
  sn_context ctx = sn_context_default();
  sn_examples e;
  sn_keys keys;
  e = generate(&ctx, "leg", 24, 500);
  assert_ok(&ctx, sn_keys_parse(&ctx, "all", 24, 1, &keys, NULL));
  sn_torque_options options = sn_torque_options_default();
  options.degree_r = 2, options.degree_s = 3, options.rotreg.bones = 11, options.rotreg.published = published;
  sn_rotreg_training r = {
    .ctx = &ctx, .examples = &e, .keys = &keys, .options = &options.rotreg, .torques = &options};
  assert_ok(&ctx, sn_rotreg_reduced_train(&r));
  sn_model model;
  sn_rt_model rt;
  train_model(&ctx, published ? "torque:published=1,bones=11,degree_r=2,degree_s=3" : "torque:bones=11,degree_s=3",
              &e, "all", &model, &rt);
  assert_int_equal(sn_rt_find_section(&rt, "drive.offsets", NULL) != NULL, published);
  int bones = r.bones.bone_count;
  assert_int_equal(rt.info.palette_count, 3 + bones);
  for (int f = 0; f < 24; f++) {
    const sn_affine *pose = sn_pose(&e.poses, f);
    sn_mat3 rotation[3];
    sn_vec3 theta[3];
    double x[3], column[3 * 64 + 12][3];
    float joints[3][12], torques[3];
    sn_rotreg_rotations_pose(&r.rotations, pose, rotation, theta);
    sn_torque_loads_at(&r.loads, &e.torques, f, x);
    for (int l = 0; l < bones; l++) {
      sn_mat3 d = sn_torque_predict(&r.torque.pairs[l], r.torque.functions, rotation, theta, x);
      for (int c = 0; c < 9; c++) column[3 * l + c % 3][c / 3] = d.m[c / 3][c % 3];
    }
    for (int c = 0; c < 36; c++)
      column[3 * bones + 4 * (c / 12) + c % 4][c / 4 % 3] = pose[c / 12].m[c / 4 % 3][c % 4];
    sn_model_joints(pose, 3, joints);
    sn_model_torques(&e.torques, f, 3, torques);
    sn_rt_input input = {.joints = (const float(*)[12])joints, .torques = torques};
    check_palettes(&rt, &input, &r, (const double(*)[3])column);
  }
  sn_rt_error error;
  void *scratch = malloc(sn_rt_scratch_size(&rt));
  float joints[3][12] = {{0}};
  sn_rt_input input = {.joints = (const float(*)[12])joints};
  assert_int_equal(sn_rt_palette(&rt, &input, scratch, &error), SN_RT_BAD_ARGUMENT);
  assert_non_null(strstr(error.message, "torques"));
  free(scratch);
  sn_rotreg_training_free(&r), sn_keys_free(&keys);
  sn_model_free(&model), sn_examples_free(&e);
}

static void test_runtime_against_formulas(void **state) {
  check_against_formulas(false);
  check_against_formulas(true);
}

// The bulge grows with the torque at every pose: the biceps moves away from the bone.
static void test_bulge_is_monotone(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e;
  sn_model model;
  sn_rt_model rt;
  e = generate(&ctx, "arm", 30, 900);
  train_model(&ctx, "torque:bones=40", &e, "all", &model, &rt);
  int n = e.rest.vertex_count, biceps = 0;
  double nearest = INFINITY;
  for (int i = 0; i < n; i++) { // above the upper arm, at the belly of the muscle
    double d = sn_vec3_distance(sn_vec3_from(e.rest.positions[i]), sn_vec3_make(0.165, 0.06, 0));
    if (d < nearest) nearest = d, biceps = i;
  }
  float(*positions)[3] = malloc((size_t)n * sizeof *positions);
  for (int f = 0; f < 30; f += 5) {
    double last = -INFINITY, first = 0;
    sn_affine back;
    assert_true(sn_affine_invert(sn_pose(&e.poses, f)[0], &back));
    for (int k = 0; k <= 10; k++) {
      evaluate(&rt, SN_RT_PATH_BEST, &e, f, 6.0f * (float)k, positions);
      double height = sn_affine_apply(back, sn_vec3_from(positions[biceps])).y;
      assert_true(height > last);
      if (k == 0) first = height;
      last = height;
    }
    assert_true(last - first > 0.004); // of the 0.013 that the muscle itself swells
  }
  free(positions), sn_model_free(&model), sn_examples_free(&e);
}

static void test_rigid_motion_moves_the_result(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e;
  sn_model model;
  sn_rt_model rt;
  e = generate(&ctx, "leg", 20, 500);
  train_model(&ctx, "torque:bones=15", &e, "all", &model, &rt);
  sn_random rng = sn_random_new(8);
  int n = e.rest.vertex_count;
  float(*plain)[3] = malloc((size_t)n * sizeof *plain), (*moved)[3] = malloc((size_t)n * sizeof *moved);
  for (int f = 0; f < 20; f += 4) {
    sn_affine motion = sn_affine_make(random_rotation(&rng), random_vec3(&rng));
    evaluate(&rt, SN_RT_PATH_BEST, &e, f, 70, plain);
    for (int j = 0; j < 3; j++) sn_pose(&e.poses, f)[j] = sn_affine_mul(motion, sn_pose(&e.poses, f)[j]);
    evaluate(&rt, SN_RT_PATH_BEST, &e, f, 70, moved);
    for (int i = 0; i < n; i++) {
      sn_vec3 expected = sn_affine_apply(motion, sn_vec3_from(plain[i]));
      assert_below(sn_vec3_distance(expected, sn_vec3_from(moved[i])), 2e-5);
    }
  }
  free(plain), free(moved), sn_model_free(&model), sn_examples_free(&e);
}

// ---- accuracy ---------------------------------------------------------------------------------------------------------

// At most half the error of rotreg on the same frames (30 examples as in the document); on the leg, which answers torques
// with their square, quadratic functions are better than linear ones.
static void test_against_rotreg(void **state) {
  figures_only();
  sn_context ctx = sn_context_default();
  const char *sets[] = {"arm", "leg"};
  for (int s = 0; s < 2; s++) {
    sn_examples e;
    e = generate(&ctx, sets[s], 60, 1000);
    double rotreg = scores_of(&ctx, &e, "rotreg:bones=40", "every:2").test.rms_pct_diag;
    double linear = scores_of(&ctx, &e, "torque:bones=40,degree_r=1,degree_s=1", "every:2").test.rms_pct_diag;
    double quadratic = scores_of(&ctx, &e, "torque:bones=40", "every:2").test.rms_pct_diag;
    print_message("%s: rotreg %.4f, torque linear %.4f, quadratic %.4f %% of the diagonal\n", sets[s], rotreg, linear,
                  quadratic);
    assert_below(quadratic, 0.5 * rotreg);
    if (s == 1) assert_below(quadratic, 0.9 * linear);
    if (s == 0) assert_below(fabs(quadratic - linear), 0.05 * linear);
    sn_examples_free(&e);
  }
}

// Several joints with separate torques, and a correction on top that reproduces the training poses.
static void test_body_and_corrections(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e;
  e = generate(&ctx, "body", 24, 2000);
  double torque = scores_of(&ctx, &e, "torque:bones=40", "all").train.rms_pct_diag;
  double corrected = scores_of(&ctx, &e, "torque:bones=40,psd=1", "all").train.rms_pct_diag;
  print_message("body, training: torque %.4f, torque:psd=1 %.4f %% of the diagonal\n", torque, corrected);
  assert_below(corrected, 0.2 * torque);
  sn_examples_free(&e);
}

static void test_full_form(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e;
  sn_method_spec spec;
  sn_keys keys, others;
  sn_scores full, without;
  sn_train_report report;
  e = generate(&ctx, "arm", 16, 600);
  assert_ok(&ctx, sn_keys_parse(&ctx, "every:2", 16, 1, &keys, &others));
  assert_ok(&ctx, sn_method_parse(&ctx, "torque:full=1", &spec));
  assert_ok(&ctx, sn_assess_predict(&ctx, &spec, &e, &(sn_scored_frames){&keys, &others, NULL}, &full, &report));
  assert_ok(&ctx, sn_method_parse(&ctx, "rotreg:full=1", &spec));
  assert_ok(&ctx, sn_assess_predict(&ctx, &spec, &e, &(sn_scored_frames){&keys, &others, NULL}, &without, &report));
  assert_below(full.test.rms_pct_diag, 0.7 * without.test.rms_pct_diag); // torques explain half of the squared error
  sn_keys_free(&keys), sn_keys_free(&others), sn_examples_free(&e);
}

static void test_cheburashka(void **state) {
  need_data(rest, "cheburashka-torque/rest.obj");
  need_data(frames, "cheburashka-torque/frames.pc2");
  need_data(skeleton, "cheburashka-torque/skeleton.glb");
  need_data(torques, "cheburashka-torque/torque.csv");
  sn_context ctx = sn_context_default();
  sn_load_options load = sn_load_options_default();
  const char *frame_files[] = {frames}, *skeleton_files[] = {skeleton};
  load.rest = rest, load.frames_count = load.skeleton_count = 1, load.torque = torques;
  load.frames = frame_files, load.skeletons = skeleton_files;
  sn_examples e;
  assert_ok(&ctx, sn_examples_load(&ctx, &load, &e));
  double lbs = scores_of(&ctx, &e, "lbs", "every:4").test.ee,
         torque = scores_of(&ctx, &e, "torque", "every:4").test.ee;
  print_message("cheburashka-torque: lbs %.4f, torque %.4f (enveloping error)\n", lbs, torque);
  assert_below(torque, 0.2 * lbs);
  sn_examples_free(&e);
}

// ---- wrong input, determinism ---------------------------------------------------------------------------------------------------

static void test_refusals(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e;
  sn_model model;
  e = generate(&ctx, "arm", 10, 620);
  assert_fails(&ctx, try_train(&ctx, "torque:joint=tail", &e, "all", &model), "no joint of that name");
  assert_fails(&ctx, try_train(&ctx, "torque:joint=hand", &e, "all", &model), "no column for that joint");
  assert_fails(&ctx, try_train(&ctx, "torque:degree_s=4", &e, "all", &model), "degree_s");
  assert_fails(&ctx, try_train(&ctx, "torque:published=1,psd=1", &e, "all", &model), "leave out psd=1");
  assert_fails(&ctx, try_train(&ctx, "torque:published=1", &e, "0-2", &model), "needs 3 training frames at both");
  assert_fails(&ctx, try_train(&ctx, "torque:published=2", &e, "all", &model), "must be 0 or 1");
  assert_fails(&ctx, try_train(&ctx, "torque", &e, "3", &model), "the same at all 1 training frames");
  for (int f = 0; f < 10; f++) e.torques.values[3 * f + 1] = f; // the ends are the three most extreme examples each
  assert_ok(&ctx, try_train(&ctx, "torque:published=1", &e, "all", &model));
  sn_model_free(&model);
  for (int f = 0; f < 10; f++) e.torques.values[3 * f + 1] = 7;
  assert_fails(&ctx, try_train(&ctx, "torque", &e, "all", &model), "the same at all 10 training frames");
  for (int f = 0; f < 10; f++) e.torques.values[3 * f + 1] = f < 5 ? 0 : 60;
  assert_fails(&ctx, try_train(&ctx, "torque:published=1", &e, "all", &model), "needs 3 different torques, not 2");
  e.torques.has[2] = true;
  for (int f = 0; f < 10; f++) e.torques.values[3 * f + 2] = f;
  assert_fails(&ctx, try_train(&ctx, "torque:published=1", &e, "all", &model), "choose with joint=NAME");
  e.torques.values[4] = NAN;
  assert_fails(&ctx, sn_examples_check(&ctx, &e), "frame 1, joint forearm: the torque is not finite");
  sn_torques_free(&e.torques);
  assert_fails(&ctx, try_train(&ctx, "torque", &e, "all", &model), "`torque` FILE.csv");
  sn_examples_free(&e);
}

// Two frames, torques at the ends only, more bones than triangles: it works.
static void test_few_examples(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e;
  sn_model model;
  sn_rt_model rt;
  e = generate(&ctx, "arm", 12, 620);
  train_model(&ctx, "torque", &e, "0,5", &model, &rt);
  sn_model_free(&model);
  train_model(&ctx, "torque:joint=forearm,degree_r=3,degree_s=3", &e, "0-2", &model, &rt);
  sn_model_free(&model), sn_examples_free(&e);
}

static void test_same_bytes_at_any_thread_count(void **state) {
  sn_model models[3];
  for (int k = 0; k < 3; k++) {
    sn_context ctx = sn_context_default();
    ctx.threads = k == 0 ? 1 : k == 1 ? 2 : 5;
    sn_examples e;
    sn_rt_model rt;
    e = generate(&ctx, "leg", 14, 400);
    train_model(&ctx, "torque:bones=20", &e, "all", &models[k], &rt);
    sn_examples_free(&e);
  }
  for (int k = 1; k < 3; k++) {
    assert_int_equal(models[k].size, models[0].size);
    assert_memory_equal(models[k].bytes, models[0].bytes, models[0].size);
  }
  for (int k = 0; k < 3; k++) sn_model_free(&models[k]);
}

static void test_memory_runs_out(void **state) {
  sn_context plain = sn_context_default();
  sn_examples e;
  e = generate(&plain, "leg", 4, 300);
  for (starvation s = {.every = 12}; starve(&s);) {
    sn_model model;
    s.status = try_train(&s.ctx, "torque:bones=3", &e, "all", &model);
    sn_model_free(&model);
  }
  sn_examples_free(&e);
}

static void test_hostile_sections(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e;
  sn_model model;
  sn_rt_model rt;
  e = generate(&ctx, "leg", 6, 300);
  e.torques.values[3 * 1 + 1] = 0, e.torques.values[3 * 2 + 1] = 0; // and three frames at the other end
  for (int f = 3; f < 5; f++) e.torques.values[3 * f + 1] = e.torques.values[3 * 5 + 1];
  train_model(&ctx, "torque:published=1,degree_r=1,degree_s=1,bones=10", &e, "all", &model, &rt);
  size_t offsets = (size_t)((const uint8_t *)sn_rt_find_section(&rt, "drive.offsets", NULL) - model.bytes);
  size_t pairs = (size_t)((const uint8_t *)sn_rt_find_section(&rt, "drive.pairs", NULL) - model.bytes);
  size_t ranges = (size_t)((const uint8_t *)sn_rt_find_section(&rt, "drive.torques", NULL) - model.bytes);
  const struct {
    size_t place;
    int byte;
  } cases[] = {{ranges, 0xff},
               {offsets + 8, 0xff},
               {ranges + sizeof(sn_rt_torque) + 8, 0xff},
               {pairs, 0xff},
               {pairs + sizeof(sn_rt_rotreg_block), 0xff},
               {pairs + offsetof(sn_rt_rotreg_block, tilt), 0xff},
               {pairs + offsetof(sn_rt_torque_block, load), 0x7f}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    uint8_t keep[4];
    memcpy(keep, model.bytes + cases[k].place, 4);
    memset(model.bytes + cases[k].place, cases[k].byte, 4); // a large index, or a number that is none
    assert_true(sn_model_seal(model.bytes, model.size));
    assert_int_equal(sn_rt_open(model.bytes, model.size, &rt, NULL), SN_RT_BAD_MODEL);
    memcpy(model.bytes + cases[k].place, keep, 4);
  }
  assert_true(sn_model_seal(model.bytes, model.size));
  assert_int_equal(sn_rt_open(model.bytes, model.size, &rt, NULL), SN_RT_OK);
  sn_model_free(&model), sn_examples_free(&e);
}

// Ends that agree, or torques that are all below zero or all above it.
static void test_odd_torques(void **state) {
  sn_context ctx = sn_context_default();
  double x[5] = {0, 0.3, 0.5, 0.8, 1}, none[5] = {0}, c[sn_torque_most_degree];
  sn_torque_fit_function(5, x, none, none, 3, c);
  assert_near(blend_at(c, 0.4), 0.4, 1e-12);
  sn_examples e;
  sn_model model;
  sn_rt_model rt;
  e = generate(&ctx, "arm", 16, 620);
  const double shifts[] = {-30, -100, 50};
  double all[16];
  for (int f = 0; f < 16; f++) all[f] = e.torques.values[3 * f + 1];
  for (int s = 0; s < 3; s++) {
    for (int f = 0; f < 16; f++) e.torques.values[3 * f + 1] = all[f] + shifts[s];
    train_model(&ctx, "torque:bones=12,degree_r=3,degree_s=3", &e, "all", &model, &rt);
    float range[2];
    assert_true(sn_rt_torque_range(&rt, 1, range));
    assert_near((double)range[1], 60 + shifts[s], 1e-3);
    sn_model_free(&model);
  }
  e.torques.values[1] = 1e300;
  assert_fails(&ctx, sn_examples_check(&ctx, &e), "too large");
  sn_examples_free(&e);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_functions_meet_their_ends),
    cmocka_unit_test(test_functions_are_found_again),
    cmocka_unit_test(test_polynomials_are_found_again),
    cmocka_unit_test(test_pairs_are_found_again),
    cmocka_unit_test(test_published_pairs_are_found_again),
    cmocka_unit_test(test_idle_torques_are_left_alone),
    cmocka_unit_test(test_ends_are_the_predictors),
    cmocka_unit_test(test_runtime_against_formulas),
    cmocka_unit_test(test_bulge_is_monotone),
    cmocka_unit_test(test_rigid_motion_moves_the_result),
    cmocka_unit_test(test_against_rotreg),
    cmocka_unit_test(test_body_and_corrections),
    cmocka_unit_test(test_full_form),
    cmocka_unit_test(test_cheburashka),
    cmocka_unit_test(test_refusals),
    cmocka_unit_test(test_few_examples),
    cmocka_unit_test(test_same_bytes_at_any_thread_count),
    cmocka_unit_test(test_memory_runs_out),
    cmocka_unit_test(test_hostile_sections),
    cmocka_unit_test(test_odd_torques),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
