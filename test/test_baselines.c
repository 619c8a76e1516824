// SPDX-License-Identifier: MIT
// Rows of compare that are no models: mwe, animspace, mohr, sbs, hejl, alexa, wpsd; against their formulas, written out here.
#include "lab/baselines/baselines.h"
#include "train_fixture.h"

#include <math.h>
#include <string.h>

#include "lab/baselines/linear.h"
#include "lab/baselines/mohr.h"
#include "lab/baselines/sphere.h"

// ---- sets that a method can meet exactly -------------------------------------------------------------------------------------

static double frame_miss(const sn_frames *a, int f, const sn_frames *b, int g) {
  double largest = 0;
  for (int i = 0; i < a->vertex_count; i++) {
    double d = sn_vec3_distance(sn_vec3_from(sn_frame(a, f)[i]), sn_vec3_from(sn_frame(b, g)[i]));
    largest = fmax(largest, d);
  }
  return largest;
}

enum { made_frames = 60, made_vertices = 30 };

// A strip of triangles on two joints that rotate at random about two places; every vertex follows both.
static sn_examples made(sn_context *ctx, uint64_t seed) {
  sn_random rng = sn_random_new(seed);
  sn_examples e = {0};
  assert_ok(ctx, sn_mesh_new(ctx, made_vertices, made_vertices - 2, &e.rest));
  for (int i = 0; i < made_vertices; i++) sn_vec3_store(random_vec3(&rng), e.rest.positions[i]);
  for (int t = 0; t < made_vertices - 2; t++)
    for (int c = 0; c < 3; c++) e.rest.triangles[t][c] = t + c;
  assert_ok(ctx, sn_skeleton_new(ctx, 2, &e.skeleton));
  e.skeleton.parents[0] = -1, e.skeleton.parents[1] = 0;
  for (int j = 0; j < 2; j++) e.skeleton.rest[j] = sn_affine_make(sn_mat3_identity(), (sn_vec3){j, 0, 0});
  assert_ok(ctx, sn_skeleton_sort(ctx, &e.skeleton));
  assert_ok(ctx, sn_poses_new(ctx, 2, made_frames, &e.poses));
  for (int f = 0; f < made_frames; f++)
    for (int j = 0; j < 2; j++) {
      sn_pose(&e.poses, f)[j] =
        sn_affine_make(sn_rotation_exp(sn_vec3_scale(random_vec3(&rng), 0.4)), sn_vec3_scale(random_vec3(&rng), 0.3));
    }
  assert_ok(ctx, sn_skin_new(ctx, made_vertices, 2, &e.skin));
  for (int i = 0; i < made_vertices; i++) {
    e.skin.joints[2 * i + 1] = 1;
    e.skin.weights[2 * i] = 0.3f, e.skin.weights[2 * i + 1] = 0.7f;
  }
  assert_ok(ctx, sn_frames_new(ctx, made_vertices, made_frames, &e.frames));
  return e;
}

// Training on the first 40 frames: the largest distance in the other 20.
static double new_pose_error(sn_context *ctx, const char *spec_text, const sn_examples *e) {
  sn_method_spec spec;
  sn_keys keys, others;
  sn_frames out;
  assert_ok(ctx, sn_method_parse(ctx, spec_text, &spec));
  assert_true(sn_method_has_no_model(&spec));
  assert_ok(ctx, sn_keys_parse(ctx, "0-39", made_frames, 1, &keys, &others));
  assert_ok(ctx, sn_train_predict(ctx, &spec, e, &keys, &others, &out));
  double largest = 0;
  for (int k = 0; k < others.count; k++) largest = fmax(largest, frame_miss(&out, k, &e->frames, others.frames[k]));
  sn_frames_free(&out), sn_keys_free(&keys), sn_keys_free(&others);
  return largest;
}

// x_r = sum_j sum_c w_jrc M_j[r][c] v_c with any twelve weights per joint and vertex is recovered, and animation space, which
// has four numbers, cannot follow.
static void test_mwe_is_found_again(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e = made(&ctx, 1);
  sn_random rng = sn_random_new(2);
  for (int i = 0; i < made_vertices; i++) {
    double w[2][3][4];
    const float *v = e.rest.positions[i];
    const double point[4] = {(double)v[0], (double)v[1], (double)v[2], 1};
    for (int n = 0; n < 24; n++) w[n / 12][n / 4 % 3][n % 4] = 0.5 + 0.3 * sn_random_normal(&rng);
    for (int f = 0; f < made_frames; f++) {
      double x[3] = {0, 0, 0};
      for (int n = 0; n < 24; n++)
        x[n / 4 % 3] += w[n / 12][n / 4 % 3][n % 4] * sn_pose(&e.poses, f)[n / 12].m[n / 4 % 3][n % 4] * point[n % 4];
      for (int r = 0; r < 3; r++) sn_frame_mutable(&e.frames, f)[i][r] = (float)x[r];
    }
  }
  double mwe = new_pose_error(&ctx, "mwe:weights=given", &e),
         other = new_pose_error(&ctx, "animspace:weights=given", &e);
  print_message("a set of multi-weight enveloping: errors of mwe %.2g, of animspace %.2g\n", mwe, other);
  assert_below(mwe, 1e-3);
  assert_below(0.1, other);
  sn_examples_free(&e);
}

// x = sum_j M_j p_j, the last numbers of p_j summing to one: recovered by both, since mwe has it as a special case.
static void test_animation_space_is_found_again(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e = made(&ctx, 3);
  sn_random rng = sn_random_new(4);
  for (int i = 0; i < made_vertices; i++) {
    sn_vec3 p[2] = {random_vec3(&rng), random_vec3(&rng)};
    double share = sn_random_uniform(&rng);
    for (int f = 0; f < made_frames; f++) {
      const sn_affine *pose = sn_pose(&e.poses, f);
      sn_vec3 x = sn_mat3_apply(sn_affine_linear(pose[0]), p[0]);
      x = sn_vec3_add(x, sn_mat3_apply(sn_affine_linear(pose[1]), p[1]));
      for (int j = 0; j < 2; j++) {
        double w = j ? share : 1 - share;
        x = sn_vec3_mad(x, (sn_vec3){pose[j].m[0][3], pose[j].m[1][3], pose[j].m[2][3]}, w);
      }
      sn_vec3_store(x, sn_frame_mutable(&e.frames, f)[i]);
    }
  }
  double error = new_pose_error(&ctx, "animspace:weights=given", &e);
  assert_below(error, 1e-3);
  // The whole set moved rigidly is reproduced as well: weights sum to one.
  sn_affine move = sn_affine_make(sn_rotation_exp((sn_vec3){0.5, -0.7, 1}), (sn_vec3){3, -2, 1});
  for (int f = 0; f < made_frames; f++) {
    for (int j = 0; j < 2; j++) sn_pose(&e.poses, f)[j] = sn_affine_mul(move, sn_pose(&e.poses, f)[j]);
    for (int i = 0; i < made_vertices; i++) {
      float *at = sn_frame_mutable(&e.frames, f)[i];
      sn_vec3_store(sn_affine_apply(move, sn_vec3_from(at)), at);
    }
  }
  assert_below(new_pose_error(&ctx, "animspace:weights=given", &e), 1e-3);
  sn_examples_free(&e);
}

// Noise without any structure: cross-validation finds nothing to learn, and the result is linear blend skinning.
static void test_noise_is_not_learned(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e = made(&ctx, 5);
  sn_random rng = sn_random_new(6);
  for (int f = 0; f < made_frames; f++)
    for (int i = 0; i < made_vertices; i++) {
      sn_vec3 at = sn_skin_blend(&e.skin, i, sn_pose(&e.poses, f), sn_vec3_from(e.rest.positions[i]));
      sn_vec3_store(sn_vec3_mad(at, random_vec3(&rng), 0.05), sn_frame_mutable(&e.frames, f)[i]);
    }
  const sn_skin_options options = {.influences = 2, .weights = SN_WEIGHTS_GIVEN};
  const sn_linear_kind *const kinds[2] = {&sn_linear_mwe, &sn_linear_animspace};
  sn_keys keys;
  assert_ok(&ctx, sn_keys_parse(&ctx, "0-19", made_frames, 1, &keys, NULL));
  for (int k = 0; k < 2; k++) {
    sn_arena memory = sn_arena_new(&ctx);
    sn_linear_fit fit;
    assert_ok(&ctx, sn_linear_train(&ctx, &memory, kinds[k], &options, &e, &keys, &fit));
    assert_true(fit.ridge >= 1);
    sn_skin_free(&fit.skin), sn_arena_free(&memory);
  }
  sn_keys_free(&keys), sn_examples_free(&e);
}

// A skin whose rest positions are not those of the mesh: found, where linear blend skinning alone cannot.
static void test_mohr_finds_rest_positions(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e = made(&ctx, 7);
  sn_random rng = sn_random_new(8);
  sn_vec3 place[made_vertices];
  for (int i = 0; i < made_vertices; i++) {
    place[i] = sn_vec3_mad(sn_vec3_from(e.rest.positions[i]), random_vec3(&rng), 0.1);
    float w = (float)(0.1 + 0.8 * sn_random_uniform(&rng));
    e.skin.weights[2 * i] = w, e.skin.weights[2 * i + 1] = 1 - w;
  }
  for (int f = 0; f < made_frames; f++)
    for (int i = 0; i < made_vertices; i++)
      sn_vec3_store(sn_skin_blend(&e.skin, i, sn_pose(&e.poses, f), place[i]), sn_frame_mutable(&e.frames, f)[i]);
  sn_keys keys;
  assert_ok(&ctx, sn_keys_parse(&ctx, "0-39", made_frames, 1, &keys, NULL));
  sn_arena memory = sn_arena_new(&ctx);
  sn_mohr_fit one, many;
  assert_ok(&ctx, sn_mohr_train(&ctx, &memory, &e, &keys, 2, 1, &one));
  assert_ok(&ctx, sn_mohr_train(&ctx, &memory, &e, &keys, 2, 100, &many));
  print_message("mean squared distance after one round %.2g, in the end %.2g\n", one.error, many.error);
  assert_below(many.error, 0.1 * one.error);
  for (int i = 0; i < made_vertices; i++) assert_below(sn_vec3_distance(sn_vec3_from(many.rest[i]), place[i]), 0.02);
  sn_skin_free(&one.skin), sn_skin_free(&many.skin);
  sn_arena_free(&memory), sn_keys_free(&keys), sn_examples_free(&e);
}

// 3.2 with twelve joints and three poses: the eight in whose frames the vertex's places are nearest to their mean, nearest first.
static void test_influence_sets(void **state) {
  enum { joints = 12, poses = 3 };
  sn_context ctx = sn_context_default();
  sn_examples e = {0};
  sn_random rng = sn_random_new(14);
  double spread[joints] = {0};
  int found[sn_mohr_set];
  sn_keys keys;
  assert_ok(&ctx, sn_frames_new(&ctx, 1, poses, &e.frames));
  assert_ok(&ctx, sn_poses_new(&ctx, joints, poses, &e.poses));
  assert_ok(&ctx, sn_keys_parse(&ctx, "all", poses, 1, &keys, NULL));
  for (int f = 0; f < poses; f++) {
    sn_vec3_store(random_vec3(&rng), sn_frame_mutable(&e.frames, f)[0]);
    for (int j = 0; j < joints; j++)
      sn_pose(&e.poses, f)[j] = sn_affine_make(sn_rotation_exp(random_vec3(&rng)), random_vec3(&rng));
  }
  for (int j = 0; j < joints; j++) {
    sn_vec3 at[poses], mean = {0, 0, 0};
    for (int f = 0; f < poses; f++) { // M^-1 x = R^T (x - t)
      const sn_affine *m = &sn_pose(&e.poses, f)[j];
      sn_vec3 x = sn_vec3_from(sn_frame(&e.frames, f)[0]), t = {m->m[0][3], m->m[1][3], m->m[2][3]};
      at[f] = sn_mat3_apply(sn_mat3_transpose(sn_affine_linear(*m)), sn_vec3_sub(x, t));
      mean = sn_vec3_mad(mean, at[f], 1.0 / poses);
    }
    for (int f = 0; f < poses; f++) spread[j] += pow(sn_vec3_distance(at[f], mean), 2);
  }
  assert_int_equal(sn_mohr_influences(&e, &keys, 0, found), sn_mohr_set);
  for (int k = 0; k < sn_mohr_set; k++) {
    int nearer = 0;
    for (int j = 0; j < joints; j++) nearer += spread[j] < spread[found[k]];
    assert_int_equal(nearer, k);
  }
  sn_keys_free(&keys), sn_poses_free(&e.poses), sn_frames_free(&e.frames);
}

// ---- spherical blending ------------------------------------------------------------------------------------------------------

static double centre_cost(int count, const sn_affine *m, sn_vec3 r) {
  double sum = 0;
  for (int a = 0; a < count; a++)
    for (int b = 0; b < a; b++) {
      double d = sn_vec3_distance(sn_affine_apply(m[a], r), sn_affine_apply(m[b], r));
      sum += d * d;
    }
  return sum;
}

// A joint at 0 and 1 radians in training, 1/2 in the test, a vertex with weights 0.3 and 0.7: with k = exp(-0.7 / 2 sigma^2) between the
// poses and m = exp(-0.7 / 8 sigma^2) from each to the test, the kernel weights are (-k, 1) delta / (1 - k^2), and the correction is
// m delta / (1 + k) in the rest pose.
static void test_wpsd_is_its_formula(void **state) {
  const double sigma = 0.8, angle[3] = {0, 1, 0.5};
  sn_context ctx = sn_context_default();
  sn_examples e = made(&ctx, 12);
  sn_random rng = sn_random_new(13);
  sn_vec3 delta[made_vertices];
  for (int f = 0; f < 3; f++) {
    sn_pose(&e.poses, f)[0] = sn_affine_identity();
    sn_pose(&e.poses, f)[1] = sn_affine_make(sn_rotation_exp((sn_vec3){0, 0, angle[f]}), (sn_vec3){0.1 * f, 0, 0});
    for (int i = 0; i < made_vertices; i++) {
      if (f == 1) delta[i] = sn_vec3_scale(random_vec3(&rng), 0.1);
      sn_vec3 v = sn_vec3_from(e.rest.positions[i]);
      double k = exp(-0.7 / (2 * sigma * sigma)), m = exp(-0.7 / (8 * sigma * sigma));
      if (f > 0) v = sn_vec3_mad(v, delta[i], f == 1 ? 1 : m / (1 + k));
      sn_vec3 at =
        sn_vec3_add(sn_vec3_scale(v, 0.3), sn_vec3_scale(sn_affine_apply(sn_pose(&e.poses, f)[1], v), 0.7));
      sn_vec3_store(at, sn_frame_mutable(&e.frames, f)[i]);
    }
  }
  sn_method_spec spec;
  sn_keys keys, wanted;
  sn_frames out;
  assert_ok(&ctx, sn_method_parse(&ctx, "wpsd:sigma=0.8,weights=given", &spec));
  assert_ok(&ctx, sn_keys_parse(&ctx, "0,1", made_frames, 1, &keys, NULL));
  assert_ok(&ctx, sn_keys_parse(&ctx, "0,1,2", made_frames, 1, &wanted, NULL));
  assert_ok(&ctx, sn_train_predict(&ctx, &spec, &e, &keys, &wanted, &out));
  for (int f = 0; f < 3; f++) assert_below(frame_miss(&out, f, &e.frames, f), 2e-6);
  sn_frames_free(&out), sn_keys_free(&keys), sn_keys_free(&wanted), sn_examples_free(&e);
}

// By brute force: a compass search from the start finds nothing better than the centre.
static void test_centre_is_the_best(void **state) {
  sn_random rng = sn_random_new(9);
  for (int trial = 0; trial < 40; trial++) {
    sn_affine m[4];
    int count = 2 + trial % 3;
    for (int k = 0; k < count; k++) m[k] = sn_affine_make(sn_rotation_exp(random_vec3(&rng)), random_vec3(&rng));
    sn_vec3 found = sn_sphere_centre(count, m, random_vec3(&rng)), r = {0, 0, 0};
    for (double step = 1; step > 1e-7;) {
      sn_vec3 best = r;
      for (int k = 0; k < 6; k++) {
        sn_vec3 at = r;
        *(k / 2 == 0 ? &at.x : k / 2 == 1 ? &at.y : &at.z) += k % 2 ? step : -step;
        if (centre_cost(count, m, at) < centre_cost(count, m, best)) best = at;
      }
      if (sn_vec3_distance(best, r) > 0) {
        r = best;
      } else {
        step /= 2;
      }
    }
    assert_true(centre_cost(count, m, found) <= centre_cost(count, m, r) * (1 + 1e-6) + 1e-12);
  }
}

// Two bones that share a joint: the joint is the centre, a vertex keeps its distance to it at any weights, and at equal weights
// rotates by half. Bones with the same motion: the vertex moves with them.
static void test_sphere_keeps_distances(void **state) {
  sn_random rng = sn_random_new(10);
  for (int trial = 0; trial < 50; trial++) {
    sn_vec3 joint = random_vec3(&rng), v = random_vec3(&rng);
    sn_affine root = sn_affine_make(sn_rotation_exp(random_vec3(&rng)), random_vec3(&rng));
    sn_mat3 bend = sn_rotation_exp(sn_vec3_scale(random_vec3(&rng), 0.8));
    sn_affine child = sn_affine_mul(root, sn_affine_make(bend, sn_vec3_sub(joint, sn_mat3_apply(bend, joint))));
    const sn_affine m[2] = {root, child};
    double w = sn_random_uniform(&rng);
    sn_vec3 at = sn_sphere_at(2, m, (const double[2]){1 - w, w}, joint, v);
    assert_near(sn_vec3_distance(at, sn_affine_apply(root, joint)), sn_vec3_distance(v, joint), 1e-9);
    sn_vec3 half = sn_sphere_at(2, m, (const double[2]){0.5, 0.5}, joint, v);
    sn_vec3 turned = sn_mat3_apply(sn_rotation_exp(sn_vec3_scale(sn_rotation_log(bend), 0.5)), sn_vec3_sub(v, joint));
    assert_below(sn_vec3_distance(half, sn_affine_apply(root, sn_vec3_add(joint, turned))), 1e-6);
    const sn_affine same[2] = {root, root};
    assert_below(
      sn_vec3_distance(sn_sphere_at(2, same, (const double[2]){0.2, 0.8}, joint, v), sn_affine_apply(root, v)), 1e-9);
  }
}

// x of (x, y, z, w) rotated by the quaternion q, by its product q x q*, written out.
static sn_vec3 turned_by(const double q[4], sn_vec3 v) {
  sn_vec3 u = {q[0], q[1], q[2]};
  sn_vec3 t = sn_vec3_scale(sn_vec3_cross(u, v), 2);
  return sn_vec3_add(sn_vec3_mad(v, t, q[3]), sn_vec3_cross(u, t));
}

// v' = q v q* + sum_j w_j t_j with q the normalised sum of w_j (sin(a_j / 2) n_j, cos(a_j / 2)).
static void test_hejl_is_its_formula(void **state) {
  sn_random rng = sn_random_new(11);
  for (int trial = 0; trial < 50; trial++) {
    sn_affine m[3];
    double w[3], q[4] = {0, 0, 0, 0}, sum = 0, length = 0;
    sn_vec3 v = random_vec3(&rng), shift = {0, 0, 0};
    for (int k = 0; k < 3; k++) sum += w[k] = 0.1 + sn_random_uniform(&rng);
    for (int k = 0; k < 3; k++) {
      sn_vec3 n = sn_vec3_normalize(random_vec3(&rng), (sn_vec3){1, 0, 0}), t = random_vec3(&rng);
      double a = 0.7 * sn_random_uniform(&rng), s = sin(a / 2) * (w[k] /= sum);
      m[k] = sn_affine_make(sn_rotation_exp(sn_vec3_scale(n, a)), t);
      q[0] += s * n.x, q[1] += s * n.y, q[2] += s * n.z, q[3] += w[k] * cos(a / 2);
      shift = sn_vec3_mad(shift, t, w[k]);
    }
    for (int c = 0; c < 4; c++) length += q[c] * q[c];
    for (int c = 0; c < 4; c++) q[c] /= sqrt(length);
    sn_vec3 wanted = sn_vec3_add(turned_by(q, v), shift);
    assert_below(sn_vec3_distance(sn_hejl_at(3, m, w, random_vec3(&rng), v), wanted), 1e-9);
  }
}

// exp(L) as its series, of a 4 x 4 matrix.
static void series_exp(const double l[4][4], double out[4][4]) {
  double term[4][4] = {{0}}, next[4][4];
  for (int r = 0; r < 4; r++) term[r][r] = 1;
  memcpy(out, term, sizeof term);
  for (int n = 1; n < 60; n++) {
    for (int k = 0; k < 16; k++) {
      next[k / 4][k % 4] = 0;
      for (int c = 0; c < 4; c++) next[k / 4][k % 4] += term[k / 4][c] * l[c][k % 4] / n;
    }
    memcpy(term, next, sizeof term);
    for (int k = 0; k < 16; k++) out[k / 4][k % 4] += term[k / 4][k % 4];
  }
}

// Matrices made from logarithms L_j: the blend is exp(sum_j w_j L_j).
static void test_alexa_is_its_formula(void **state) {
  sn_random rng = sn_random_new(12);
  for (int trial = 0; trial < 50; trial++) {
    double blended[4][4] = {{0}}, made_of[4][4], w[2] = {0.3, 0.7};
    sn_affine m[2];
    for (int k = 0; k < 2; k++) {
      sn_vec3 r = sn_vec3_scale(sn_vec3_normalize(random_vec3(&rng), (sn_vec3){1, 0, 0}),
                                trial < 5 ? 1e-6 : 3 * sn_random_uniform(&rng)),
              u = random_vec3(&rng);
      const double l[4][4] = {{0, -r.z, r.y, u.x}, {r.z, 0, -r.x, u.y}, {-r.y, r.x, 0, u.z}};
      series_exp(l, made_of);
      for (int n = 0; n < 12; n++) m[k].m[n / 4][n % 4] = made_of[n / 4][n % 4];
      for (int n = 0; n < 16; n++) blended[n / 4][n % 4] += w[k] * l[n / 4][n % 4];
    }
    series_exp(blended, made_of);
    sn_affine whole;
    for (int n = 0; n < 12; n++) whole.m[n / 4][n % 4] = made_of[n / 4][n % 4];
    sn_vec3 v = random_vec3(&rng);
    assert_below(sn_vec3_distance(sn_alexa_at(2, m, w, v, v), sn_affine_apply(whole, v)), 1e-7);
  }
}

// ---- rows of compare ------------------------------------------------------------------------------------------------------------

// On the generated elbow: more numbers per joint are better than lbs, spheres hold a twist. No model can be made of them.
static void test_rows(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e = generate(&ctx, "elbow", 21, 600);
  const char *const specs[] = {"mwe", "animspace", "mohr", "sbs", "hejl", "alexa"};
  double lbs = scores_of(&ctx, &e, "lbs", "every:2").test.ee;
  sn_keys keys, others;
  assert_ok(&ctx, sn_keys_parse(&ctx, "every:2", 21, 1, &keys, &others));
  for (int k = 0; k < 6; k++) {
    sn_method_spec spec;
    sn_scores scores;
    sn_train_report report;
    sn_model model;
    assert_ok(&ctx, sn_method_parse(&ctx, specs[k], &spec));
    assert_fails(&ctx, sn_train(&ctx, &spec, &e, &keys, &model, &report), "only `compare` evaluates it");
    assert_ok(&ctx, sn_assess_predict(&ctx, &spec, &e, &(sn_scored_frames){&keys, &others, NULL}, &scores, &report));
    print_message("%s %.3f, lbs %.3f\n", specs[k], scores.test.ee, lbs);
    if (k == 4) {
      assert_below(lbs, scores.test.ee); // it rotates about the origin
    } else {
      assert_below(scores.test.ee, k == 2 ? 0.6 * lbs : lbs);
    }
  }
  sn_method_spec spec;
  assert_fails(&ctx, sn_method_parse(&ctx, "mohr:round=3", &spec), "did you mean rounds?");
  sn_keys_free(&keys), sn_keys_free(&others), sn_examples_free(&e);
}

static void test_memory_runs_out(void **state) {
  sn_context plain = sn_context_default();
  sn_examples e = generate(&plain, "bar", 4, 40);
  const char *const specs[] = {"mwe", "animspace", "mohr:rounds=2", "sbs", "hejl", "wpsd"};
  for (int k = 0; k < 6; k++) {
    for (starvation s = {.every = 12}; starve(&s);) {
      sn_method_spec spec;
      sn_keys keys = {0};
      sn_frames out = {0};
      s.status = sn_method_parse(&s.ctx, specs[k], &spec);
      if (s.status == SN_OK) s.status = sn_keys_parse(&s.ctx, "all", 4, 1, &keys, NULL);
      if (s.status == SN_OK) s.status = sn_train_predict(&s.ctx, &spec, &e, &keys, &keys, &out);
      sn_frames_free(&out), sn_keys_free(&keys);
    }
  }
  sn_examples_free(&e);
}

int main(void) {
  sn_lab_add_methods();
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_mwe_is_found_again),     cmocka_unit_test(test_animation_space_is_found_again),
    cmocka_unit_test(test_noise_is_not_learned),   cmocka_unit_test(test_mohr_finds_rest_positions),
    cmocka_unit_test(test_wpsd_is_its_formula),    cmocka_unit_test(test_centre_is_the_best),
    cmocka_unit_test(test_sphere_keeps_distances), cmocka_unit_test(test_hejl_is_its_formula),
    cmocka_unit_test(test_alexa_is_its_formula),   cmocka_unit_test(test_rows),
    cmocka_unit_test(test_memory_runs_out),        cmocka_unit_test(test_influence_sets),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
