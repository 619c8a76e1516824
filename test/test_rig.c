// SPDX-License-Identifier: MIT
// Rigging: known rigs are found again, bones are decided, and nothing breaks on degenerate data.
#include "rig_fixture.h"

#include "sinew/formats.h"

// The root is the middle of the tree: no branch has more than half of the bones.
static void check_root(const sn_skeleton *s) {
  int below[8] = {0};
  for (int j = s->joint_count - 1; j >= 0; j--) { // parents come before their children
    below[j]++;
    if (s->parents[j] < 0) continue;
    below[s->parents[j]] += below[j];
    if (s->parents[s->parents[j]] < 0) assert_true(below[j] <= s->joint_count / 2);
  }
}

static void known_rig_is_found(void **state) {
  sn_context ctx = serial();
  for (int bones = 2; bones <= 5; bones++) {
    tube t = make_tube(&ctx, bones, 12, (uint64_t)bones);
    double diagonal = sn_points_diagonal(t.rest.positions, t.rest.vertex_count);
    sn_rig_options o = options_for(bones, SN_RIG_TREE);
    sn_rig_result r;
    assert_ok(&ctx, sn_rig(&ctx, &t.rest, &t.frames, &o, &r));
    check_result(&t.rest, &t.frames, &o, &r);
    assert_int_equal(r.report.bones, bones);
    assert_below(r.report.rms_pct_diag, 0.05);
    // Every true joint but the root's is the joint of some bone.
    for (int j = 1; j < bones; j++) {
      double nearest = INFINITY;
      for (int k = 0; k < bones; k++) {
        if (r.skeleton.parents[k] < 0) continue;
        sn_vec3 c = sn_affine_translation(r.skeleton.rest[k]);
        nearest = fmin(nearest, sn_vec3_distance(c, sn_vec3_make(1.2 * j, 0, 0)));
      }
      assert_below(nearest, 0.02 * diagonal);
    }
    check_root(&r.skeleton);
    sn_rig_result_free(&r);
    free_tube(&t);
  }
}

static void free_and_affine_bones(void **state) {
  sn_context ctx = serial();
  tube t = make_tube(&ctx, 6, 15, 7);
  double last = INFINITY;
  for (int bones = 2; bones <= 6; bones++) {
    sn_rig_options o = options_for(bones, SN_RIG_FREE);
    sn_rig_result rigid, affine;
    assert_ok(&ctx, sn_rig(&ctx, &t.rest, &t.frames, &o, &rigid));
    check_result(&t.rest, &t.frames, &o, &rigid);
    assert_below(rigid.report.rms, 1.02 * last);
    last = rigid.report.rms;
    o.bone_type = SN_RIG_AFFINE;
    assert_ok(&ctx, sn_rig(&ctx, &t.rest, &t.frames, &o, &affine));
    check_result(&t.rest, &t.frames, &o, &affine);
    assert_below(affine.report.rms, 1.1 * rigid.report.rms + 1e-5);
    sn_rig_result_free(&rigid);
    sn_rig_result_free(&affine);
  }
  assert_below(last, 1e-3);
  free_tube(&t);
}

// Many bones are fitted by conjugate gradients. From poses that are rotated as a whole, and bone by bone, they come back.
static void many_bones_find_back(void **state) {
  sn_context ctx = serial();
  sn_random rng = sn_random_new(24);
  enum { bones = 70, frames = 2 };
  tube t = make_tube(&ctx, bones, frames, 25);
  sn_rig_options o = options_for(0, SN_RIG_TREE);
  o.given = SN_RIG_WEIGHTS, o.skeleton = &t.skeleton, o.skin = &t.skin, o.poses = &t.poses;
  assert_ok(&ctx, sn_skeleton_sort(&ctx, &t.skeleton));
  for (int f = 0; f < frames; f++)
    for (int j = 0; j < bones; j++) {
      sn_affine *pose = &sn_pose(&t.poses, f)[j];
      sn_mat3 turn = sn_rotation_exp(sn_vec3_scale(random_vec3(&rng), 0.05));
      *pose = sn_affine_mul(sn_affine_make(sn_rotation_exp(sn_vec3_make(0.2, 0.1, 0)), sn_vec3_make(1, 0, 0)), *pose);
      *pose = sn_affine_mul(*pose, sn_affine_about(turn, sn_vec3_make(1.2 * j, 0, 0)));
    }
  sn_rig_result r;
  assert_ok(&ctx, sn_rig(&ctx, &t.rest, &t.frames, &o, &r));
  assert_below(r.report.rms_pct_diag, 0.1); // of several percent; rounding decides how far a long chain comes
  assert_below(100 * sn_joint_gap(&r.skeleton, &r.poses) / sn_points_diagonal(t.rest.positions, t.rest.vertex_count),
               0.01);
  sn_rig_result_free(&r);
  free_tube(&t);
}

// Whatever the data is, the result is finite, the weights sum to 1 and the rotations are rotations.
static void degenerate_data(void **state) {
  sn_context ctx = serial();
  enum { still, duplicate, reflected, collapsed, collinear, one_frame, no_triangles, kinds };
  for (int kind = 0; kind < kinds; kind++) {
    tube t = make_tube(&ctx, 3, kind == one_frame ? 1 : 5, 13);
    for (int f = 0; f < t.frames.frame_count; f++)
      for (int i = 0; i < t.rest.vertex_count; i++) {
        float *x = sn_frame_mutable(&t.frames, f)[i], *u = t.rest.positions[i];
        if (kind == still) memcpy(x, u, sizeof(float[3]));
        if (kind == duplicate) memcpy(x, sn_frame(&t.frames, 0)[i], sizeof(float[3]));
        if (kind == reflected) x[0] = -x[0];
        if (kind == collapsed) memset(x, 0, sizeof(float[3])), memset(u, 0, sizeof(float[3]));
        if (kind == collinear) x[1] = x[2] = u[1] = u[2] = 0;
      }
    if (kind == no_triangles) t.rest.triangle_count = 0;
    for (int way = 0; way < 3; way++) {
      sn_rig_options o = options_for(6, way == 0 ? SN_RIG_TREE : SN_RIG_FREE);
      o.bone_type = way == 2 ? SN_RIG_AFFINE : SN_RIG_RIGID, o.omega = way == 0 ? 1e-4 : 0;
      sn_rig_result r;
      assert_ok(&ctx, sn_rig(&ctx, &t.rest, &t.frames, &o, &r));
      check_result(&t.rest, &t.frames, &o, &r);
      if (kind == still) assert_below(r.report.rms, 1e-5);
      sn_rig_result_free(&r);
    }
    free_tube(&t);
  }
}

static void few_vertices(void **state) {
  sn_context ctx = serial();
  sn_random rng = sn_random_new(14);
  for (int n = 1; n <= 9; n++) {
    sn_mesh rest;
    sn_frames frames;
    assert_ok(&ctx, sn_mesh_new(&ctx, n, n >= 3, &rest));
    assert_ok(&ctx, sn_frames_new(&ctx, n, 4, &frames));
    if (n >= 3) rest.triangles[0][1] = 1, rest.triangles[0][2] = 2;
    for (int i = 0; i < n; i++) {
      sn_vec3_store(random_vec3(&rng), rest.positions[i]);
      for (int f = 0; f < 4; f++) sn_vec3_store(random_vec3(&rng), sn_frame_mutable(&frames, f)[i]);
    }
    for (int bones = 1; bones <= 12; bones += 11)
      for (int way = 0; way < 3; way++) {
        sn_rig_options o = options_for(bones, way == 0 ? SN_RIG_TREE : SN_RIG_FREE);
        o.bone_type = way == 2 ? SN_RIG_AFFINE : SN_RIG_RIGID;
        sn_rig_result r;
        assert_ok(&ctx, sn_rig(&ctx, &rest, &frames, &o, &r));
        check_result(&rest, &frames, &o, &r);
        sn_rig_result_free(&r);
      }
    sn_mesh_free(&rest);
    sn_frames_free(&frames);
  }
}

static void several_components(void **state) {
  sn_context ctx = serial();
  sn_random rng = sn_random_new(15);
  tube t = make_tube(&ctx, 2, 6, 16);
  int n = t.rest.vertex_count;
  sn_mesh rest;
  sn_frames frames;
  assert_ok(&ctx, sn_mesh_new(&ctx, 2 * n + 3, t.rest.triangle_count, &rest));
  assert_ok(&ctx, sn_frames_new(&ctx, 2 * n + 3, 6, &frames));
  memcpy(rest.triangles, t.rest.triangles, (size_t)t.rest.triangle_count * sizeof *rest.triangles);
  for (int i = 0; i < 2 * n + 3; i++) {
    memcpy(rest.positions[i], t.rest.positions[i % n], sizeof(float[3]));
    if (i >= n) rest.positions[i][2] += 5;
    for (int f = 0; f < 6; f++) {
      memcpy(sn_frame_mutable(&frames, f)[i], sn_frame(&t.frames, f)[i % n], sizeof(float[3]));
      if (i >= n) sn_frame_mutable(&frames, f)[i][1] += (float)sn_random_uniform(&rng) * 0.01f + (float)f;
    }
  }
  sn_rig_options o = options_for(4, SN_RIG_TREE);
  o.omega = 1e-4;
  sn_rig_result r;
  assert_ok(&ctx, sn_rig(&ctx, &rest, &frames, &o, &r));
  check_result(&rest, &frames, &o, &r);
  sn_rig_result_free(&r);
  sn_mesh_free(&rest), sn_frames_free(&frames);
  free_tube(&t);
}

static void bones_by_error(void **state) {
  sn_context ctx = serial();
  tube t = make_tube(&ctx, 5, 8, 17);
  sn_rig_options o = options_for(0, SN_RIG_FREE);
  o.error_pct = 0.3, o.most_bones = 20;
  sn_rig_result r;
  assert_ok(&ctx, sn_rig(&ctx, &t.rest, &t.frames, &o, &r));
  assert_below(r.report.rms_pct_diag, 0.3);
  sn_rig_result_free(&r);
  free_tube(&t);
}

// In exact data the bones are the true ones, whether their number is left open or too many are requested; neighbours'
// weights change little, and few influences are used where few will do.
static void bones_are_decided(void **state) {
  sn_context ctx = serial();
  for (int bones = 3; bones <= 5; bones += 2) {
    tube t = make_tube(&ctx, bones, 12, 30 + (uint64_t)bones);
    sn_rig_options o = options_for(0, SN_RIG_TREE);
    o.keep_bones = false, o.most_bones = 12;
    for (int asked = 0; asked <= 12; asked += 12) {
      sn_rig_result r;
      o.bones = asked;
      assert_ok(&ctx, sn_rig(&ctx, &t.rest, &t.frames, &o, &r));
      check_result(&t.rest, &t.frames, &o, &r);
      assert_int_equal(r.report.bones, bones);
      assert_int_equal(r.report.pruned, asked ? asked - bones : 0);
      assert_below(r.report.rms_pct_diag, 0.01);
      double inside, outside;
      assert_ok(&ctx, sn_rig_joints_inside(&ctx, &t.rest, &r.skeleton, &inside, &outside, NULL));
      assert_true(inside == 100);
      int few = 0, k = r.skin.influences;
      for (int i = 0; i < t.rest.vertex_count; i++) few += k < 3 || r.skin.weights[i * k + 2] == 0; // largest first
      assert_true(few > 0.9 * t.rest.vertex_count);
      sn_rig_result_free(&r);
    }
    free_tube(&t);
  }
}

// ---- with a skeleton ---------------------------------------------------------------------------------------------------

static sn_rig_options given(const tube *t, sn_rig_given what) {
  sn_rig_options o = sn_rig_options_default();
  o.given = what, o.skeleton = &t->skeleton, o.poses = &t->poses, o.skin = &t->skin;
  return o;
}

static void weights_for_known_poses(void **state) {
  sn_context ctx = serial();
  tube t = make_tube(&ctx, 4, 10, 18);
  sn_skin skin;
  assert_ok(&ctx, sn_solve_weights(&ctx, &t.rest, &t.frames, &t.poses, NULL, &skin));
  for (int i = 0; i < t.rest.vertex_count; i++)
    for (int q = 0; q < 2; q++) {
      double found = 0;
      for (int e = 0; e < 4; e++)
        if (skin.joints[4 * i + e] == t.skin.joints[2 * i + q]) found += (double)skin.weights[4 * i + e];
      if (t.skin.weights[2 * i + q] > 0) assert_near(found, (double)t.skin.weights[2 * i + q], 2e-3);
    }
  sn_skin_free(&skin);
  int few[3] = {1, 4, 8};
  sn_keys keys = {.count = 3, .frames = few};
  sn_weights_options wo = sn_weights_options_default();
  wo.influences = 2, wo.omega = 1e-5, wo.keys = &keys;
  assert_ok(&ctx, sn_solve_weights(&ctx, &t.rest, &t.frames, &t.poses, &wo, &skin));
  assert_int_equal(skin.influences, 2);
  sn_skin_free(&skin);
  few[2] = 10;
  assert_fails(&ctx, sn_solve_weights(&ctx, &t.rest, &t.frames, &t.poses, &wo, &skin), "key frame 10");
  sn_rig_options o = given(&t, SN_RIG_MOTION);
  sn_rig_result r;
  assert_ok(&ctx, sn_rig(&ctx, &t.rest, &t.frames, &o, &r));
  check_result(&t.rest, &t.frames, &o, &r);
  assert_below(r.report.rms_pct_diag, 1e-3);
  assert_memory_equal(r.poses.matrices, t.poses.matrices, 40 * sizeof(sn_affine));
  sn_rig_result_free(&r);
  free_tube(&t);
}

static void motion_for_known_weights(void **state) {
  sn_context ctx = serial();
  tube t = make_tube(&ctx, 4, 10, 19);
  for (int way = 0; way < 2; way++) {
    sn_rig_options o = given(&t, SN_RIG_WEIGHTS);
    o.poses = NULL, o.structure = way == 0 ? SN_RIG_TREE : SN_RIG_FREE;
    sn_rig_result r;
    assert_ok(&ctx, sn_rig(&ctx, &t.rest, &t.frames, &o, &r));
    check_result(&t.rest, &t.frames, &o, &r);
    assert_below(r.report.rms_pct_diag, way == 0 ? 1e-4 : 0.2);
    assert_string_equal(r.skeleton.names[2], t.skeleton.names[2]);
    for (int f = 0; f < 10 && way == 0; f++)
      for (int j = 0; j < 4; j++) {
        sn_mat3 a = sn_affine_linear(sn_pose(&r.poses, f)[j]), b = sn_affine_linear(sn_pose(&t.poses, f)[j]);
        assert_below(sn_rotation_angle(a, b), 1e-3);
      }
    sn_rig_result_free(&r);
  }
  free_tube(&t);
}

static void locked_joints_keep_their_motion(void **state) {
  sn_context ctx = serial();
  tube t = make_tube(&ctx, 4, 8, 20);
  sn_random rng = sn_random_new(21);
  bool locked[4] = {true, false, false, true};
  for (int f = 0; f < 8; f++)
    for (int j = 1; j < 3; j++) { // spoilt starts for the joints that are to be found
      sn_affine *pose = &sn_pose(&t.poses, f)[j];
      *pose = sn_affine_mul(
        *pose, sn_affine_about(sn_rotation_exp(sn_vec3_scale(random_vec3(&rng), 0.1)), sn_vec3_make(1.2 * j, 0, 0)));
    }
  sn_rig_options o = given(&t, SN_RIG_WEIGHTS);
  o.locked = locked;
  sn_rig_result r;
  assert_ok(&ctx, sn_rig(&ctx, &t.rest, &t.frames, &o, &r));
  for (int f = 0; f < 8; f++)
    for (int j = 0; j < 4; j += 3) {
      assert_memory_equal(&sn_pose(&r.poses, f)[j], &sn_pose(&t.poses, f)[j], sizeof(sn_affine));
    }
  assert_below(r.report.rms_pct_diag, 1e-3);
  sn_rig_result_free(&r);
  o = given(&t, SN_RIG_SKELETON);
  assert_ok(&ctx, sn_rig(&ctx, &t.rest, &t.frames, &o, &r));
  check_result(&t.rest, &t.frames, &o, &r);
  assert_below(r.report.rms_pct_diag, 0.1);
  sn_rig_result_free(&r);
  free_tube(&t);
}

static void helpers_lower_the_error(void **state) {
  sn_context ctx = serial();
  tube t = make_tube(&ctx, 4, 8, 22), half = make_tube(&ctx, 4, 8, 22);
  half.skeleton.joint_count = half.poses.joint_count = 3; // the last bone is not in the skeleton
  for (int f = 0; f < 8; f++) memcpy(half.poses.matrices + 3 * f, sn_pose(&t.poses, f), 3 * sizeof(sn_affine));
  double last = INFINITY;
  for (int helpers = 0; helpers <= 1; helpers++) {
    sn_rig_options o = given(&half, SN_RIG_MOTION);
    o.helpers = helpers;
    sn_rig_result r;
    assert_ok(&ctx, sn_rig(&ctx, &t.rest, &t.frames, &o, &r));
    check_result(&t.rest, &t.frames, &o, &r);
    assert_int_equal(r.skeleton.joint_count, 3 + helpers);
    assert_true(r.report.rms < 0.5 * last);
    last = r.report.rms;
    if (helpers > 0) assert_string_equal(r.skeleton.names[3], "helper0");
    sn_rig_result_free(&r);
  }
  free_tube(&t), free_tube(&half);
}

// A cube of side 2: winding numbers, distances and points put inside; inside out it has the same inside.
static void inside_of_a_mesh(void **state) {
  sn_context ctx = serial();
  static const int faces[12][3] = {{0, 2, 1}, {1, 2, 3}, {4, 5, 6}, {5, 7, 6}, {0, 1, 4}, {1, 5, 4},
                                   {2, 6, 3}, {3, 6, 7}, {0, 4, 2}, {2, 4, 6}, {1, 3, 5}, {3, 7, 5}};
  for (int turned = 0; turned < 2; turned++) {
    sn_mesh cube;
    sn_arena scratch = sn_arena_new(&ctx);
    fit_problem p = {.n = 8, .u = sn_arena_alloc(&ctx, &scratch, 8, sizeof *p.u)};
    rig_body body;
    assert_ok(&ctx, sn_mesh_new(&ctx, 8, 12, &cube));
    for (int i = 0; i < 8; i++)
      for (int c = 0; c < 3; c++) p.u[i][c] = cube.positions[i][c] = (i >> c & 1) ? 1 : -1;
    for (int t = 0; t < 12; t++)
      for (int c = 0; c < 3; c++) cube.triangles[t][c] = faces[t][turned ? 2 - c : c];
    assert_ok(&ctx, sn_fit_problem_order(&ctx, &scratch, &p));
    assert_ok(&ctx, sn_rig_body_build(&ctx, &scratch, &cube, &p, &body));
    double middle[3] = {0.2, -0.3, 0.1}, beside[3] = {1.5, 0.1, 0.2}, far[3] = {0, 30, 0};
    assert_near(sn_rig_winding(&body, middle), 1, 1e-9);
    assert_near(sn_rig_winding(&body, beside), 0, 1e-9);
    assert_near(sn_rig_winding(&body, far), 0, 1e-3);
    assert_near(sn_rig_surface_distance(&body, beside), 0.5, 1e-12);
    assert_near(sn_rig_surface_distance(&body, middle), 0.7, 1e-12);
    assert_near(sn_rig_surface_distance(&body, far), 29, 1e-12);
    sn_rig_put_inside(&body, beside);
    assert_true(sn_rig_inside(&body, beside) && fabs(beside[0]) < 1);
    double kept = middle[0];
    sn_rig_put_inside(&body, middle);
    assert_true(middle[0] == kept);
    sn_arena_free(&scratch);
    sn_mesh_free(&cube);
  }
}

// Two cubes, one of them inside out, above a wide floor that is seen from below: both have their inside.
static void inside_of_a_scene(void **state) {
  sn_context ctx = serial();
  static const int faces[12][3] = {{0, 2, 1}, {1, 2, 3}, {4, 5, 6}, {5, 7, 6}, {0, 1, 4}, {1, 5, 4},
                                   {2, 6, 3}, {3, 6, 7}, {0, 4, 2}, {2, 4, 6}, {1, 3, 5}, {3, 7, 5}};
  sn_mesh scene;
  sn_arena scratch = sn_arena_new(&ctx);
  rig_body body;
  assert_ok(&ctx, sn_mesh_new(&ctx, 19, 25, &scene));
  for (int i = 0; i < 16; i++)
    for (int c = 0; c < 3; c++)
      scene.positions[i][c] = (float)((i >> c & 1) ? 1 : -1) + (c == 0 && i >= 8 ? 4.0f : 0.0f);
  for (int t = 0; t < 24; t++)
    for (int c = 0; c < 3; c++) scene.triangles[t][c] = faces[t % 12][t < 12 ? c : 2 - c] + (t < 12 ? 0 : 8);
  for (int i = 16; i < 19; i++) {
    scene.positions[i][0] = i == 17 ? 50 : -30, scene.positions[i][1] = i == 18 ? 50 : -30;
    scene.positions[i][2] = -9, scene.triangles[24][i - 16] = i;
  }
  assert_ok(&ctx, sn_rig_mesh_body(&ctx, &scratch, &scene, &body));
  const double first[3] = {0.2, -0.3, 0.1}, second[3] = {4.1, 0.2, 0.3}, between[3] = {2, 0, 0};
  assert_int_equal(body.pieces, 3);
  assert_true(sn_rig_inside(&body, first) && sn_rig_inside(&body, second) && !sn_rig_inside(&body, between));
  sn_arena_free(&scratch);
  sn_mesh_free(&scene);
}

static void wrong_input_is_named(void **state) {
  sn_context ctx = serial();
  tube t = make_tube(&ctx, 2, 3, 23);
  sn_rig_result r;
  sn_rig_options o = options_for(-1, SN_RIG_TREE);
  assert_fails(&ctx, sn_rig(&ctx, &t.rest, &t.frames, &o, &r), "bones: -1");
  o = options_for(2, SN_RIG_TREE), o.influences = 9;
  assert_fails(&ctx, sn_rig(&ctx, &t.rest, &t.frames, &o, &r), "influences: 9");
  o = options_for(2, SN_RIG_TREE), o.bone_type = SN_RIG_AFFINE;
  assert_fails(&ctx, sn_rig(&ctx, &t.rest, &t.frames, &o, &r), "affine");
  o = options_for(2, SN_RIG_TREE), t.rest.vertex_count--;
  assert_fails(&ctx, sn_rig(&ctx, &t.rest, &t.frames, &o, &r), "vertices");
  t.rest.vertex_count++;
  sn_frame_mutable(&t.frames, 1)[5][0] = NAN;
  assert_fails(&ctx, sn_rig(&ctx, &t.rest, &t.frames, &o, &r), "frame 1");
  o = given(&t, SN_RIG_MOTION), o.poses = NULL;
  sn_frame_mutable(&t.frames, 1)[5][0] = 0;
  assert_fails(&ctx, sn_rig(&ctx, &t.rest, &t.frames, &o, &r), "motion is needed");
  free_tube(&t);
}

static void failing_allocations(void **state) {
  sn_context plain = sn_context_default();
  tube t = make_tube(&plain, 3, 4, 24);
  for (int way = 0; way < 2; way++)
    for (starvation s = {.every = 3}; starve(&s);) {
      sn_rig_options o = way == 0 ? options_for(3, SN_RIG_TREE) : given(&t, SN_RIG_SKELETON);
      o.omega = 1e-4;
      sn_rig_result r;
      s.status = sn_rig(&s.ctx, &t.rest, &t.frames, &o, &r);
      if (s.status == SN_OK) sn_rig_result_free(&r);
    }
  free_tube(&t);
}

// The rotation by Newton steps is that of the singular value decomposition.
static void rotations_by_newton(void **state) {
  sn_random rng = sn_random_new(25);
  for (int trial = 0; trial < 20000; trial++) {
    sn_mat3 h;
    double size = pow(10, 8 * sn_random_uniform(&rng) - 4);
    for (int r = 0; r < 3; r++)
      for (int c = 0; c < 3; c++) h.m[r][c] = size * sn_random_normal(&rng);
    sn_mat3 best = sn_mat3_kabsch(h);
    sn_mat3 start = sn_mat3_mul(sn_rotation_exp(sn_vec3_scale(random_vec3(&rng), trial % 2 ? 0.2 : 3)), best);
    sn_mat3 found = sn_rig_rotation_near(h, start);
    double reached = sn_mat3_trace(sn_mat3_mul(found, h)), most = sn_mat3_trace(sn_mat3_mul(best, h));
    assert_near(reached, most, 1e-9 * sn_mat3_norm(h));
  }
}

// ---- the real sets -------------------------------------------------------------------------------------------------

static void real_set(const char *name, int bones, sn_rig_structure structure, double bound) {
  sn_context ctx = serial();
  char path[256];
  sn_mesh rest;
  sn_frames frames;
  snprintf(path, sizeof path, "%s/rest.obj", name);
  need_data(rest_path, path);
  snprintf(path, sizeof path, "%s/frames.pc2", name);
  need_data(frames_path, path);
  assert_ok(&ctx, sn_obj_read(&ctx, rest_path, &rest, NULL));
  assert_ok(&ctx, sn_frames_read(&ctx, frames_path, NULL, &frames));
  sn_rig_options o = options_for(bones, structure);
  sn_rig_result r;
  assert_ok(&ctx, sn_rig(&ctx, &rest, &frames, &o, &r));
  check_result(&rest, &frames, &o, &r);
  double e_rms = 1000 * r.report.rms / sqrt(3), inside, outside;
  assert_ok(&ctx, sn_rig_joints_inside(&ctx, &rest, &r.skeleton, &inside, &outside, NULL));
  print_message("%s, %d bones, %s: e_rms %.3f\n", name, r.report.bones, structure == SN_RIG_TREE ? "tree" : "free",
                e_rms);
  assert_int_equal(r.report.bones, bones);
  assert_below(e_rms, bound);
  if (structure == SN_RIG_TREE) assert_true(inside >= 92 && outside <= 1);
  sn_rig_result_free(&r);
  sn_mesh_free(&rest), sn_frames_free(&frames);
}

// Le and Deng's own figure for this tree.
static void horse_poses_tree(void **state) { real_set("horse-poses", 27, SN_RIG_TREE, 2.83); }

// The figure of a quick solver of rigid bones; the published one of rigid bones is above.
static void cat_poses_free(void **state) { real_set("cat-poses", 25, SN_RIG_FREE, 3.04); }

static void cylinder_joints(void **state) {
  sn_context ctx = serial();
  need_data(rest_path, "cylinder/rest.obj");
  need_data(frames_path, "cylinder/frames.pc2");
  sn_mesh rest;
  sn_frames frames;
  sn_rig_result r;
  sn_rig_options o = options_for(4, SN_RIG_TREE);
  assert_ok(&ctx, sn_obj_read(&ctx, rest_path, &rest, NULL));
  assert_ok(&ctx, sn_frames_read(&ctx, frames_path, NULL, &frames));
  assert_ok(&ctx, sn_rig(&ctx, &rest, &frames, &o, &r));
  double diagonal = sn_points_diagonal(rest.positions, rest.vertex_count);
  for (int j = 0; j < 4; j++) {
    if (r.skeleton.parents[j] < 0) continue;
    sn_vec3 c = sn_affine_translation(r.skeleton.rest[j]);
    double x = fabs(c.x) > 0.45 ? 0.9 : 0, off = sn_vec3_length(sn_vec3_make(fabs(c.x) - x, c.y, c.z));
    assert_below(off, 0.02 * diagonal);
  }
  sn_rig_result_free(&r);
  sn_mesh_free(&rest), sn_frames_free(&frames);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(known_rig_is_found),
    cmocka_unit_test(free_and_affine_bones),
    cmocka_unit_test(many_bones_find_back),
    cmocka_unit_test(degenerate_data),
    cmocka_unit_test(few_vertices),
    cmocka_unit_test(several_components),
    cmocka_unit_test(bones_by_error),
    cmocka_unit_test(bones_are_decided),
    cmocka_unit_test(weights_for_known_poses),
    cmocka_unit_test(motion_for_known_weights),
    cmocka_unit_test(locked_joints_keep_their_motion),
    cmocka_unit_test(helpers_lower_the_error),
    cmocka_unit_test(inside_of_a_mesh),
    cmocka_unit_test(inside_of_a_scene),
    cmocka_unit_test(wrong_input_is_named),
    cmocka_unit_test(failing_allocations),
    cmocka_unit_test(rotations_by_newton),
    cmocka_unit_test(horse_poses_tree),
    cmocka_unit_test(cat_poses_free),
    cmocka_unit_test(cylinder_joints),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
