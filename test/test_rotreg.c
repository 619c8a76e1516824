// SPDX-License-Identifier: MIT
// Rotational regression: predictors and the full form.
#include <lapacke.h>

#include "tube_fixture.h"
#include "train/rotreg/reduced.h"

// ---- predictors ----------------------------------------------------------------------------------------------------------

static sn_vec3 random_axis(sn_random *rng) { return sn_vec3_normalize(random_vec3(rng), sn_vec3_make(0, 0, 1)); }

static void test_factor_recovers_u_and_w(void **state) {
  sn_random rng = sn_random_new(3);
  for (int trial = 0; trial < 500; trial++) {
    sn_vec3 theta[6], rho[6];
    double u = 0.05 + 2 * sn_random_uniform(&rng), found;
    sn_mat3 w = random_rotation(&rng), w_found;
    for (int i = 0; i < 6; i++) {
      theta[i] = sn_vec3_scale(random_axis(&rng), SN_PI * (i == 0 ? 1 : sn_random_uniform(&rng)));
      rho[i] = sn_vec3_scale(sn_mat3_apply(w, theta[i]), u);
    }
    double left = sn_rotreg_fit_u_w(6, theta, rho, &found, &w_found);
    assert_near(found, u, 1e-5 * fabs(u));
    assert_below(sn_rotation_angle(w, w_found), 1e-3);
    assert_below(left, 1e-5 * u * u * 6);
  }
}

// The rotation nearest to the matrix m, V diag(1, 1, det) U^T by LAPACK's decomposition (Procrustes).
static sn_mat3 nearest_rotation(sn_mat3 m) {
  double a[9], s[3], u[9], vt[9], spare[2];
  for (int n = 0; n < 9; n++) a[n] = m.m[n / 3][n % 3];
  assert_int_equal(LAPACKE_dgesvd(LAPACK_ROW_MAJOR, 'A', 'A', 3, 3, a, 3, s, u, 3, vt, 3, spare), 0);
  sn_mat3 left, right;
  for (int n = 0; n < 9; n++) left.m[n / 3][n % 3] = u[n], right.m[n / 3][n % 3] = vt[n];
  double det = sn_mat3_determinant(sn_mat3_mul(left, right));
  return sn_mat3_mul(sn_mat3_mul(left, sn_mat3_diagonal(1, 1, det)), right);
}

// 3.2.2 as printed, on noisy rotations: u begins at argmin sum (u |theta| - |rho|)^2, then W and u in turn. The closed form ends there
// (but for the part of the identity in W), after the first round of the descent as the paper says.
static void test_factor_is_where_the_descent_ends(void **state) {
  enum { poses = 8 };
  sn_random rng = sn_random_new(11);
  for (int trial = 0; trial < 100; trial++) {
    sn_vec3 theta[poses], rho[poses];
    sn_mat3 w = random_rotation(&rng), w_found, m = {0};
    double u, u_found, theta2 = 0, lengths = 0, first = 0;
    for (int i = 0; i < poses; i++) {
      theta[i] = sn_vec3_scale(random_axis(&rng), 2 * sn_random_uniform(&rng));
      rho[i] = sn_vec3_mad(sn_vec3_scale(sn_mat3_apply(w, theta[i]), 0.7), random_vec3(&rng), 0.1);
      theta2 += sn_vec3_dot(theta[i], theta[i]), lengths += sn_vec3_length(theta[i]) * sn_vec3_length(rho[i]);
      m = sn_mat3_add(m, sn_mat3_outer(rho[i], theta[i]));
    }
    u = lengths / theta2;
    for (int round = 0; round < 20; round++) {
      w = nearest_rotation(sn_mat3_scale(m, u)), u = 0;
      for (int i = 0; i < poses; i++) u += sn_vec3_dot(rho[i], sn_mat3_apply(w, theta[i])) / theta2;
      if (round == 0) first = u;
    }
    double left = sn_rotreg_fit_u_w(poses, theta, rho, &u_found, &w_found), cost = 0;
    for (int i = 0; i < poses; i++) {
      double d = sn_vec3_distance(sn_vec3_scale(sn_mat3_apply(w, theta[i]), u), rho[i]);
      cost += d * d;
    }
    assert_near(first, u, 1e-9);
    assert_near(u_found, u, 1e-4);
    assert_below(sn_rotation_angle(w, w_found), 0.01);
    assert_near(left, cost, 1e-3 * cost);
  }
}

static void test_factor_of_a_joint_that_never_moves(void **state) {
  sn_vec3 theta[3] = {{0, 0, 0}}, rho[3] = {{0.1, 0.2, 0.3}, {1, 0, 0}, {0, 0, 0}};
  double u;
  sn_mat3 w;
  assert_near(sn_rotreg_fit_u_w(3, theta, rho, &u, &w), 1.14, 1e-12);
  assert_near(u, 0, 0);
  assert_near(sn_mat3_norm(sn_mat3_sub(w, sn_mat3_identity())), 0, 0);
}

// Triangles (here bare rotations) with known parts of two joints, at angles up to 180 degrees.
static void test_predictor_on_known_triangles(void **state) {
  sn_context ctx = sn_context_default();
  enum { poses = 12, joints = 4 };
  for (int trial = 0; trial < 40; trial++) {
    sn_random rng = sn_random_new((uint64_t)trial + 1);
    int base[joints] = {0, 0, 1, 2}, pick[poses];
    sn_vec3 reference[joints] = {{0, 0, 0}}, theta[poses * joints] = {{0, 0, 0}};
    sn_mat3 rotation[poses * joints], sequence[poses];
    sn_rotreg_rotations j = {joints, poses, base, reference, rotation, theta};
    double u = trial % 2 ? 0.6 : 0.4, limit = trial % 4 < 2 ? SN_PI : 1;
    for (int p = 0; p < poses; p++) {
      pick[p] = p;
      sn_affine pose[joints];
      for (int b = 0; b < joints; b++) {
        sn_vec3 turn = sn_vec3_scale(random_axis(&rng), limit * (p == 0 ? 1 - 1e-9 : sn_random_uniform(&rng)));
        sn_mat3 local = sn_rotation_exp(turn);
        sn_mat3 world = b ? sn_mat3_mul(sn_affine_linear(pose[base[b]]), local) : local;
        pose[b] = sn_affine_make(world, sn_vec3_make(0, 0, 0));
      }
      sn_rotreg_rotations_pose(&j, pose, rotation + p * joints, theta + p * joints);
      sn_mat3 part = sn_rotation_exp(sn_vec3_scale(theta[p * joints + 2], u));
      sequence[p] = sn_mat3_mul(rotation[p * joints + 1], part);
    }
    sn_rotreg_fit_options options = sn_rotreg_fit_options_default();
    sn_rotreg_work *work = malloc(sn_rotreg_work_size(poses));
    sn_rotreg_predictor predictor;
    sn_rotreg_fit(&(sn_rotreg_sample){&j, sequence, pick, poses, &options}, work, &predictor);
    assert_int_equal(predictor.factors[0].joint, 2);
    assert_near(predictor.factors[0].u, u, 0.02);
    assert_below(sn_rotation_angle(predictor.factors[0].w, sn_mat3_identity()), 0.05);
    for (int p = 0; p < poses; p++) {
      sn_mat3 d = sn_rotreg_predict(&predictor, rotation + p * joints, theta + p * joints);
      assert_below(sn_mat3_norm(sn_mat3_sub(d, sequence[p])), 0.05);
    }
    free(work);
  }
  (void)ctx;
}

// As published: u >= 0, shear from the best joint and its parent, no tilt. What rotates against its joint is not found.
static void test_published_predictors(void **state) {
  enum { poses = 12, joints = 3 };
  sn_random rng = sn_random_new(29);
  int base[joints] = {0, 0, 1}, pick[poses];
  sn_vec3 reference[joints] = {{0, 0, 0}}, theta[poses * joints];
  sn_mat3 rotation[poses * joints], sequence[poses];
  sn_rotreg_rotations j = {.joint_count = joints, .pose_count = poses, .base = base, .reference = reference};
  j.rotation = rotation, j.theta = theta;
  sn_rotreg_work *work = malloc(sn_rotreg_work_size(poses));
  for (int trial = 0; trial < 2; trial++) {
    double u = trial ? -0.4 : 0.6;
    sn_mat3 w = random_rotation(&rng);
    for (int p = 0; p < poses; p++) {
      sn_affine pose[joints];
      sn_vec3 turn[joints];
      for (int b = 0; b < joints; b++) {
        turn[b] = sn_vec3_scale(random_axis(&rng), sn_random_uniform(&rng));
        sn_mat3 local = sn_rotation_exp(turn[b]);
        sn_mat3 world = b ? sn_mat3_mul(sn_affine_linear(pose[base[b]]), local) : local;
        pose[b] = sn_affine_make(world, sn_vec3_make(0, 0, 0));
      }
      pick[p] = p;
      sn_rotreg_rotations_pose(&j, pose, rotation + p * joints, theta + p * joints);
      for (int b = 1; b < joints; b++) { // 3.2.1: seen from the parent
        assert_below(sn_vec3_distance(theta[p * joints + b], turn[b]), 1e-9);
        assert_below(sn_mat3_norm(sn_mat3_sub(rotation[p * joints + b], sn_affine_linear(pose[b]))), 1e-12);
      }
      // S_xx = 1 + 0.2 theta_2.x - 0.1 theta_1.y: the best joint is 2, its parent 1
      sn_mat3 s = sn_mat3_diagonal(1 + 0.2 * theta[p * joints + 2].x - 0.1 * theta[p * joints + 1].y, 1, 1);
      sn_mat3 part = sn_rotation_exp(sn_vec3_scale(sn_mat3_apply(w, theta[p * joints + 2]), u));
      sequence[p] = sn_mat3_mul(sn_mat3_mul(rotation[p * joints + 1], part), s);
    }
    sn_rotreg_fit_options options = sn_rotreg_published_options();
    options.shear_ridge = 1e-9;
    sn_rotreg_predictor predictor = {0};
    sn_rotreg_fit(&(sn_rotreg_sample){&j, sequence, pick, poses, &options}, work, &predictor);
    for (int k = 0; k < predictor.factor_count; k++) assert_true(predictor.factors[k].u >= 0);
    for (int k = 0; k < 3 * sn_rotreg_shear_terms; k++)
      assert_true(predictor.tilt[k / sn_rotreg_shear_terms][k % sn_rotreg_shear_terms] == 0);
    if (trial == 1) continue;
    assert_int_equal(predictor.factors[0].joint, 2);
    assert_near(predictor.factors[0].u, u, 1e-3);
    assert_below(sn_rotation_angle(predictor.factors[0].w, w), 1e-2);
    assert_int_equal(predictor.shear_joints[0], 2);
    assert_int_equal(predictor.shear_joints[1], 1);
    assert_near(predictor.h[0][0], 0.2, 1e-5);
    assert_near(predictor.h[0][4], -0.1, 1e-5);
  }
  free(work);
}

// Better than linear blend skinning where it twists, and not as good as with what Sinew adds. Corrections are not its.
static void test_published_form(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e;
  double amounts[13];
  for (int k = 0; k < 13; k++) amounts[k] = 0.2 * k;
  make_tube(&ctx, (tube){17, 12, false}, twist, amounts, 13, &e);
  double blend = test_error(&ctx, "lbs", &e, "every:3"), own = test_error(&ctx, "rotreg:bones=12", &e, "every:3");
  double reduced = test_error(&ctx, "rotreg:bones=12,published=1", &e, "every:3");
  double full = test_error(&ctx, "rotreg:full=1,published=1", &e, "every:3");
  print_message("a twisted tube: lbs %.4f, published %.4f, full %.4f, rotreg %.4f\n", blend, reduced, full, own);
  assert_below(reduced, 0.6 * blend);
  assert_below(full, 0.6 * blend);
  assert_below(own, reduced);
  sn_method_spec spec;
  assert_fails(&ctx, sn_method_parse(&ctx, "rotreg:publish=1", &spec), "did you mean published?");
  sn_keys keys = keys_of(&ctx, "every:3", 13, NULL);
  const char *const refused[] = {"rotreg:published=1,psd=1", "rotreg:published=1,psd=1,full=1"};
  for (int k = 0; k < 2; k++) {
    sn_model model = {0};
    sn_frames frames = {0};
    sn_train_report report;
    assert_ok(&ctx, sn_method_parse(&ctx, refused[k], &spec));
    assert_fails(&ctx,
                 k == 0 ? sn_train(&ctx, &spec, &e, &keys, &model, &report)
                        : sn_train_predict(&ctx, &spec, &e, &keys, &keys, &frames),
                 "leave out psd=1");
  }
  sn_keys_free(&keys);
  sn_examples_free(&e);
}

static void test_half_angle_bend(void **state) {
  sn_context ctx = sn_context_default();
  const double amounts[] = {0, 0.5, 1, 1.5};
  sn_examples e;
  make_tube(&ctx, (tube){8, 8, true}, bend_half, amounts, 4, &e);
  sn_arena memory = sn_arena_new(&ctx);
  sn_keys keys = keys_of(&ctx, "all", 4, NULL);
  sn_rotreg_rotations joints;
  assert_ok(&ctx, sn_rotreg_rotations_build(&ctx, &memory, &e, &keys, &joints));
  sn_rotreg_work *work = malloc(sn_rotreg_work_size(4));
  sn_rotreg_fit_options options = sn_rotreg_fit_options_default();
  for (int t = 0; t < e.rest.triangle_count; t++) {
    sn_mat3 sequence[4];
    int pick[4] = {0, 1, 2, 3};
    for (int f = 0; f < 4; f++) assert_true(sn_rotreg_gradient(&e.rest, sn_frame(&e.frames, f), t, &sequence[f]));
    sn_rotreg_predictor p;
    sn_rotreg_fit(&(sn_rotreg_sample){&joints, sequence, pick, 4, &options}, work, &p);
    bool first = e.rest.positions[e.rest.triangles[t][0]][0] < 0;
    assert_int_equal(p.factors[0].joint, 1);
    assert_near(p.factors[0].u, first ? 0.5 : 1, 1e-5);
    assert_below(sn_rotation_angle(p.factors[0].w, sn_mat3_identity()), 1e-4);
  }
  free(work);
  sn_keys_free(&keys), sn_arena_free(&memory), sn_examples_free(&e);
}

// ---- the full form ----------------------------------------------------------------------------------------------------------

// Section 3: D maps both edges of the rest triangle to those of the posed one, and its unit normal to the other.
static void test_gradient_maps_the_triangle(void **state) {
  sn_random rng = sn_random_new(31);
  for (int trial = 0; trial < 50; trial++) {
    float points[2][3][3];
    sn_vec3 sides[2][3];
    for (int n = 0; n < 6; n++) sn_vec3_store(random_vec3(&rng), points[n / 3][n % 3]);
    for (int k = 0; k < 2; k++) {
      for (int j = 0; j < 2; j++)
        sides[k][j] = sn_vec3_sub(sn_vec3_from(points[k][j + 1]), sn_vec3_from(points[k][0]));
      sides[k][2] = sn_vec3_normalize(sn_vec3_cross(sides[k][0], sides[k][1]), sn_vec3_make(0, 0, 0));
    }
    int corners[1][3] = {{0, 1, 2}};
    const sn_mesh rest = {.vertex_count = 3, .triangle_count = 1, .positions = points[0], .triangles = corners};
    sn_mat3 d;
    assert_true(sn_rotreg_gradient(&rest, (const float(*)[3])points[1], 0, &d));
    for (int j = 0; j < 3; j++)
      assert_below(sn_vec3_distance(sn_mat3_apply(d, sides[0][j]), sides[1][j]), 1e-9 * (1 + sn_mat3_norm(d)));
  }
}

// Equation 2 on a pyramid: |D_k v^_kj - v_kj|^2 over both edges of every triangle, the vertices of F (1 << i in `fixed`)
// substituted, by a dense least-squares solve. With one vertex in F it is equation 1.
static void check_poisson(unsigned fixed) {
  enum { n = 5, triangles = 6 };
  static int corners[triangles][3] = {{0, 1, 4}, {1, 2, 4}, {2, 3, 4}, {3, 0, 4}, {0, 2, 1}, {0, 3, 2}};
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(37);
  float rest[n][3], out[n][3];
  sn_vec3 blend[n];
  sn_mat3 gradients[triangles];
  double edges[triangles][2], hold[n], a[2 * triangles * n] = {0}, b[2 * triangles * 3] = {0}, work[4 * n];
  for (int i = 0; i < n; i++) {
    sn_vec3_store(random_vec3(&rng), rest[i]);
    blend[i] = random_vec3(&rng), hold[i] = fixed >> i & 1 ? 1e9 : 0;
  }
  for (int k = 0; k < triangles; k++) {
    for (int c = 0; c < 9; c++) gradients[k].m[c / 3][c % 3] = sn_random_normal(&rng);
    for (int j = 1; j < 3; j++) {
      int row = 2 * k + j - 1, ends[2] = {corners[k][j], corners[k][0]};
      edges[k][j - 1] = 1;
      if (fixed >> ends[0] & fixed >> ends[1] & 1) continue;
      sn_vec3 v = sn_vec3_sub(sn_vec3_from(rest[ends[0]]), sn_vec3_from(rest[ends[1]]));
      sn_vec3 right = sn_mat3_apply(gradients[k], v);
      for (int end = 0; end < 2; end++) {
        if (!(fixed >> ends[end] & 1))
          a[row * n + ends[end]] = end ? -1 : 1;
        else
          right = sn_vec3_add(right, sn_vec3_scale(blend[ends[end]], end ? 1 : -1));
      }
      b[3 * row] = right.x, b[3 * row + 1] = right.y, b[3 * row + 2] = right.z;
    }
  }
  double singular[n];
  int rank;
  assert_int_equal(LAPACKE_dgelsd(LAPACK_ROW_MAJOR, 2 * triangles, n, 3, a, n, b, 3, singular, 1e-12, &rank), 0);
  assert_int_equal(rank, n - __builtin_popcount(fixed));
  const sn_mesh mesh = {.vertex_count = n, .triangle_count = triangles, .positions = rest, .triangles = corners};
  sn_rotreg_poisson poisson;
  assert_ok(&ctx, sn_rotreg_poisson_factor(&ctx, &mesh, (const double(*)[2])edges, hold, &poisson));
  sn_rotreg_poisson_solve(&poisson, gradients, blend, work, out);
  for (int i = 0; i < n; i++) {
    sn_vec3 wanted = fixed >> i & 1 ? blend[i] : sn_vec3_make(b[3 * i], b[3 * i + 1], b[3 * i + 2]);
    assert_below(sn_vec3_distance(sn_vec3_from(out[i]), wanted), 1e-5);
  }
  sn_rotreg_poisson_free(&poisson);
}

static void test_poisson_against_dense_least_squares(void **state) {
  check_poisson(1U << 2);
  check_poisson(1U << 0 | 1U << 1 | 1U << 4);
}

static void test_rigid_body_is_exact(void **state) {
  sn_context ctx = sn_context_default();
  const double amounts[] = {0, 0.4, 0.9, 1.3, 1.8, 2.2, -0.7};
  sn_examples e;
  make_tube(&ctx, (tube){10, 8, true}, rigid_halves, amounts, 7, &e);
  assert_below(test_error(&ctx, "rotreg:full=1", &e, "every:2"), 1e-4);
  assert_below(test_error(&ctx, "rotreg:bones=8", &e, "every:2"), 1e-4);
  sn_examples_free(&e);
}

static void test_full_has_no_model(void **state) {
  sn_context ctx = sn_context_default();
  const double amounts[] = {0, 1};
  sn_examples e;
  make_tube(&ctx, (tube){4, 6, false}, twist, amounts, 2, &e);
  sn_method_spec spec;
  sn_model model;
  sn_keys keys = keys_of(&ctx, "all", 2, NULL);
  assert_ok(&ctx, sn_method_parse(&ctx, "rotreg:full=1", &spec));
  assert_fails(&ctx, sn_train(&ctx, &spec, &e, &keys, &model, NULL), "only `compare` evaluates it");
  sn_keys_free(&keys), sn_examples_free(&e);
}

// Figure 13: three poses of a twist are enough, where a linear blend collapses.
static void test_twist_from_three_poses(void **state) {
  sn_context ctx = sn_context_default();
  double amounts[13];
  for (int f = 0; f < 13; f++) amounts[f] = SN_PI * f / 12;
  sn_examples e;
  make_tube(&ctx, (tube){17, 12, false}, twist, amounts, 13, &e);
  double lbs = test_error(&ctx, "lbs", &e, "every:6"), full = test_error(&ctx, "rotreg:full=1", &e, "every:6");
  double reduced = test_error(&ctx, "rotreg:bones=32", &e, "every:6");
  print_message("twist: lbs %.3f %%, full %.3f %%, 32 bones %.3f %%\n", lbs, full, reduced);
  assert_below(full, 0.05 * lbs);
  assert_below(reduced, 0.05 * lbs);
  sn_examples_free(&e);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_factor_recovers_u_and_w),
    cmocka_unit_test(test_factor_is_where_the_descent_ends),
    cmocka_unit_test(test_factor_of_a_joint_that_never_moves),
    cmocka_unit_test(test_predictor_on_known_triangles),
    cmocka_unit_test(test_published_predictors),
    cmocka_unit_test(test_published_form),
    cmocka_unit_test(test_half_angle_bend),
    cmocka_unit_test(test_rigid_body_is_exact),
    cmocka_unit_test(test_gradient_maps_the_triangle),
    cmocka_unit_test(test_poisson_against_dense_least_squares),
    cmocka_unit_test(test_full_has_no_model),
    cmocka_unit_test(test_twist_from_three_poses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
