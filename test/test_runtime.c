// SPDX-License-Identifier: MIT
// The evaluator: properties of skinning, agreement of the instruction sets with the scalar path and of the scalar path with
// a formula in double precision, ranges, strides, normals, dual quaternions, half-way and scaling joints.
#include "skin_fixture.h"

static double distance3(const float a[3], const float b[3]) {
  return sn_vec3_distance(sn_vec3_from(a), sn_vec3_from(b));
}

typedef float point[3];

static point *points(int count) { return calloc((size_t)count + 1, sizeof(point)); }

static const sn_rt_path all_paths[] = {SN_RT_PATH_SCALAR, SN_RT_PATH_SSE2, SN_RT_PATH_AVX2,
                                       SN_RT_PATH_NEON,   SN_RT_PATH_WASM, SN_RT_PATH_AVX512};

// Calls `test` with every path that this machine has.
#define for_each_path(model, path)                                                                                   \
  for (size_t path##_n = 0; path##_n < sizeof all_paths / sizeof *all_paths; path##_n++)                             \
    for (sn_rt_path path = all_paths[path##_n]; has_path(model, path); path = SN_RT_PATH_BEST)

static bool has_path(const sn_rt_model *model, sn_rt_path path) {
  sn_rt_model copy = *model;
  return path != SN_RT_PATH_BEST && sn_rt_use_path(&copy, path);
}

// ---- reference formulas in double precision -----------------------------------------------------------------------------

static sn_affine linear_blend(const sn_skin *skin, int i, const sn_affine *palette) {
  sn_affine blend = {{{0}}};
  for (int k = 0; k < skin->influences; k++) {
    size_t at = (size_t)i * (size_t)skin->influences + (size_t)k;
    for (int n = 0; n < 12; n++)
      blend.m[n / 4][n % 4] += skin->weights[at] * palette[skin->joints[at]].m[n / 4][n % 4];
  }
  return blend;
}

// Kavan's dual quaternion blend of rigid motions, the hemisphere of the first (largest) influence.
static sn_affine dualquat_blend(const sn_skin *skin, int i, const sn_affine *rigid) {
  sn_dualquat sum = {{0, 0, 0, 0}, {0, 0, 0, 0}};
  size_t row = (size_t)i * (size_t)skin->influences;
  sn_quat pivot = sn_dualquat_from_rigid(rigid[skin->joints[row]]).real;
  for (int k = 0; k < skin->influences; k++) {
    sn_dualquat q = sn_dualquat_from_rigid(rigid[skin->joints[row + (size_t)k]]);
    double w = skin->weights[row + (size_t)k] * (sn_quat_dot(q.real, pivot) < 0 ? -1 : 1);
    sum.real = sn_quat_add(sum.real, sn_quat_scale(q.real, w));
    sum.dual = sn_quat_add(sum.dual, sn_quat_scale(q.dual, w));
  }
  return sn_dualquat_to_rigid(sum);
}

// Le and Hodgins 2016: R (v - c) + B c, R from the blended quaternion and B the blended matrix.
static sn_affine centre_blend(const sn_skin *skin, int i, const sn_affine *rigid, const float centre[3]) {
  sn_mat3 turn = sn_affine_linear(dualquat_blend(skin, i, rigid));
  sn_vec3 c = sn_vec3_from(centre);
  return sn_affine_make(turn, sn_vec3_sub(sn_affine_apply(linear_blend(skin, i, rigid), c), sn_mat3_apply(turn, c)));
}

static sn_vec3 inverse_transpose(sn_affine blend, sn_vec3 normal) {
  sn_mat3 inverse;
  sn_mat3 linear = sn_affine_linear(blend);
  assert_true(sn_mat3_invert(linear, &inverse));
  double sign = sn_mat3_determinant(linear) < 0 ? -1 : 1;
  return sn_vec3_normalize(sn_vec3_scale(sn_mat3_apply(sn_mat3_transpose(inverse), normal), sign), normal);
}

typedef struct layout {
  int vertices, joints, influences;
} layout;

static const layout layouts[] = {{1, 1, 1},     {7, 2, 2},     {8, 3, 3},      {100, 4, 4},
                                 {1000, 80, 4}, {3000, 30, 8}, {2500, 200, 5}, {5000, 80, 4}};

static void check_against_formula(sn_rt_blend blend, double stretch, int bits) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(5);
  for (size_t n = 0; n < sizeof layouts / sizeof *layouts; n++) {
    layout l = layouts[n];
    fixture f;
    fixture_new(&ctx, l.vertices, l.joints, l.influences, n, &f);
    f.desc.blend = blend, f.desc.weight_bits = bits;
    if (n % 2) f.desc.grain = 256;
    fixture_build(&ctx, &f);
    sn_skin skin;
    assert_ok(&ctx, sn_model_skin(&ctx, &f.rt, &skin));
    sn_affine *pose = calloc((size_t)l.joints, sizeof *pose);
    random_pose(&f.skeleton, 2.0 / sqrt(l.joints), stretch, &rng, pose);
    point *rest_normals = points(l.vertices), *positions = points(l.vertices), *normals = points(l.vertices);
    sn_mesh_normals(&f.mesh, (const point *)f.mesh.positions, rest_normals);
    double size = 0;
    for (int i = 0; i < l.vertices; i++)
      size =
        fmax(size, sn_vec3_length(sn_affine_apply(linear_blend(&skin, i, pose), sn_vec3_from(f.mesh.positions[i]))));
    for_each_path(&f.rt, path) {
      evaluate(&f.rt, path, pose, positions, normals);
      for (int i = 0; i < l.vertices; i++) {
        sn_affine m = blend == SN_RT_BLEND_LINEAR     ? linear_blend(&skin, i, pose)
                      : blend == SN_RT_BLEND_DUALQUAT ? dualquat_blend(&skin, i, pose)
                                                      : centre_blend(&skin, i, pose, f.centres[i]);
        sn_vec3 expected = sn_affine_apply(m, sn_vec3_from(f.mesh.positions[i]));
        assert_below(sn_vec3_distance(expected, sn_vec3_from(positions[i])), 3e-6 * (1 + size));
        sn_vec3 normal = inverse_transpose(m, sn_vec3_from(rest_normals[i]));
        assert_below(sn_vec3_distance(normal, sn_vec3_from(normals[i])), 1e-3);
        assert_near(sn_vec3_length(sn_vec3_from(normals[i])), 1, 1e-5);
      }
    }
    free(pose), free(rest_normals), free(positions), free(normals);
    sn_skin_free(&skin), fixture_free(&f);
  }
}

static void linear_is_the_blend_of_matrices(void **state) {
  check_against_formula(SN_RT_BLEND_LINEAR, 0, 32);
  check_against_formula(SN_RT_BLEND_LINEAR, 0.3, 32);
}

static void rounded_weights_evaluate_as_stored(void **state) {
  check_against_formula(SN_RT_BLEND_LINEAR, 0.1, 16);
  check_against_formula(SN_RT_BLEND_LINEAR, 0.1, 8);
  check_against_formula(SN_RT_BLEND_DUALQUAT, 0, 16);
  check_against_formula(SN_RT_BLEND_DUALQUAT, 0, 8);
}

static void dualquat_is_the_blend_of_dual_quaternions(void **state) {
  check_against_formula(SN_RT_BLEND_DUALQUAT, 0, 32);
}

static void centres_turn_about_where_the_matrices_take_them(void **state) {
  check_against_formula(SN_RT_BLEND_CENTRES, 0, 32);
  check_against_formula(SN_RT_BLEND_CENTRES, 0, 16);
  check_against_formula(SN_RT_BLEND_CENTRES, 0, 8);
}

// ---- properties ------------------------------------------------------------------------------------------------------------

static const int all_bits[] = {32, 16, 12, 8}; // 12: a packed model
static const sn_rt_blend blends[] = {SN_RT_BLEND_LINEAR, SN_RT_BLEND_DUALQUAT, SN_RT_BLEND_CENTRES};

static void paths_agree_with_the_scalar_path(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(8);
  for (int n = 0; n < 24; n++) {
    fixture f;
    int vertices = 1 + sn_random_below(&rng, 3000), joints = 1 + sn_random_below(&rng, 90);
    fixture_new(&ctx, vertices, joints, 1 + n % 8, (uint64_t)n, &f);
    f.desc.blend = blends[n / 8 % 3], f.desc.weight_bits = all_bits[n % 4];
    fixture_build(&ctx, &f);
    sn_affine *pose = calloc((size_t)joints, sizeof *pose);
    random_pose(&f.skeleton, 1, n % 2 ? 0.2 : 0, &rng, pose);
    point *expected = points(vertices), *expected_normals = points(vertices);
    point *positions = points(vertices), *normals = points(vertices);
    evaluate(&f.rt, SN_RT_PATH_SCALAR, pose, expected, expected_normals);
    double size = sn_points_diagonal((const point *)expected, vertices) + 1;
    for (int i = 0; i < vertices; i++) size = fmax(size, sn_vec3_length(sn_vec3_from(expected[i])));
    for_each_path(&f.rt, path) {
      evaluate(&f.rt, path, pose, positions, normals);
      for (int i = 0; i < vertices; i++) {
        assert_below(distance3(expected[i], positions[i]), 1e-5 * size);
        assert_below(distance3(expected_normals[i], normals[i]), 2e-4);
      }
      memset(positions, 0, (size_t)vertices * sizeof *positions);
      evaluate(&f.rt, path, pose, positions, NULL);
      for (int i = 0; i < vertices; i++) assert_below(distance3(expected[i], positions[i]), 1e-5 * size);
    }
    free(pose), free(expected), free(expected_normals), free(positions), free(normals);
    fixture_free(&f);
  }
}

static void the_rest_pose_gives_the_rest_mesh(void **state) {
  sn_context ctx = sn_context_default();
  for (int n = 0; n < 18; n++) {
    fixture f;
    fixture_new(&ctx, 2000, 40, 4, (uint64_t)n, &f);
    f.desc.blend = blends[n % 3], f.desc.weight_bits = all_bits[n / 3 % 4];
    f.desc.shade = n / 9 ? SN_RT_SHADE_RECOMPUTE : SN_RT_SHADE_TRANSFORM;
    fixture_build(&ctx, &f);
    sn_affine pose[40];
    for (int j = 0; j < 40; j++) pose[j] = sn_affine_identity();
    point *positions = points(2000), *normals = points(2000), *expected = points(2000);
    sn_mesh_normals(&f.mesh, (const point *)f.mesh.positions, expected);
    bool packed = f.desc.weight_bits == 12;
    double rounding = packed ? sn_points_diagonal((const point *)f.mesh.positions, 2000) / 65535 : 0;
    for_each_path(&f.rt, path) {
      evaluate(&f.rt, path, pose, positions, normals);
      for (int i = 0; i < 2000; i++) {
        assert_below(distance3(f.mesh.positions[i], positions[i]),
                     1e-6 * (1 + sn_vec3_length(sn_vec3_from(positions[i]))) + rounding);
        assert_below(distance3(expected[i], normals[i]), packed ? 3e-3 : 2e-5);
      }
    }
    free(positions), free(normals), free(expected);
    fixture_free(&f);
  }
}

static void a_rigid_motion_of_all_joints_moves_every_vertex_rigidly(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(3);
  for (int n = 0; n < 6; n++) {
    fixture f;
    fixture_new(&ctx, 1500, 20, 1 + n, (uint64_t)n, &f);
    f.desc.blend = blends[n % 3];
    fixture_build(&ctx, &f);
    sn_affine move = sn_affine_make(random_rotation(&rng), random_vec3(&rng)), pose[20];
    for (int j = 0; j < 20; j++) pose[j] = move;
    point *positions = points(1500);
    for_each_path(&f.rt, path) {
      evaluate(&f.rt, path, pose, positions, NULL);
      for (int i = 0; i < 1500; i++) {
        sn_vec3 expected = sn_affine_apply(move, sn_vec3_from(f.mesh.positions[i]));
        assert_below(sn_vec3_distance(expected, sn_vec3_from(positions[i])), 1e-6 * (10 + sn_vec3_length(expected)));
      }
    }
    free(positions), fixture_free(&f);
  }
}

// Whatever the matrix: rotation, stretch, shear, mirror, singular.
static void a_vertex_with_one_joint_follows_it(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(4);
  for (int n = 0; n < 40; n++) {
    fixture f;
    fixture_new(&ctx, 300, 9, 1, (uint64_t)n, &f);
    f.desc.blend = blends[n % 3];
    fixture_build(&ctx, &f);
    sn_affine pose[9];
    for (int j = 0; j < 9; j++) {
      pose[j] = sn_affine_make(random_rotation(&rng), random_vec3(&rng));
      for (int k = 0; n >= 10 && k < 9; k++) pose[j].m[k / 3][k % 3] += sn_random_normal(&rng);
      for (int r = 0; n >= 20 && n < 30 && r < 3; r++) pose[j].m[r][0] = -pose[j].m[r][0];
      for (int r = 0; n >= 30 && r < 3; r++) pose[j].m[r][2] = 2 * pose[j].m[r][0];
    }
    point *positions = points(300);
    for_each_path(&f.rt, path) {
      evaluate(&f.rt, path, pose, positions, NULL);
      for (int i = 0; i < 300; i++) {
        sn_vec3 expected = sn_affine_apply(pose[f.skin.joints[i]], sn_vec3_from(f.mesh.positions[i]));
        assert_below(sn_vec3_distance(expected, sn_vec3_from(positions[i])), 2e-6 * (20 + sn_vec3_length(expected)));
      }
    }
    free(positions), fixture_free(&f);
  }
}

// ---- dual quaternions ---------------------------------------------------------------------------------------------------------

// A twist of 180 degrees, weights one half each: a linear blend collapses onto the axis, dual quaternions and rotations about
// centres on the axis keep the radius.
static void the_candy_wrapper_is_linear_only(void **state) {
  sn_context ctx = sn_context_default();
  for (int b = 0; b < 3; b++) {
    fixture f;
    fixture_new(&ctx, 600, 2, 2, 1, &f);
    for (int i = 0; i < 600; i++) f.centres[i][1] = f.centres[i][2] = 0;
    for (int i = 0; i < 600; i++) {
      f.skin.joints[2 * i] = 0, f.skin.joints[2 * i + 1] = 1;
      f.skin.weights[2 * i] = f.skin.weights[2 * i + 1] = 0.5f;
    }
    f.desc.blend = blends[b];
    fixture_build(&ctx, &f);
    sn_affine pose[2] = {sn_affine_identity(),
                         sn_affine_make(sn_rotation_exp(sn_vec3_make(0.999 * SN_PI, 0, 0)), sn_vec3_make(0, 0, 0))};
    point *positions = points(600);
    for_each_path(&f.rt, path) {
      evaluate(&f.rt, path, pose, positions, NULL);
      for (int i = 0; i < 600; i++) {
        double rest = hypot(f.mesh.positions[i][1], f.mesh.positions[i][2]),
               now = hypot(positions[i][1], positions[i][2]);
        if (b == 0) assert_below(now, 0.01 * rest);
        if (b > 0) assert_near(now, rest, 1e-5 * (1 + rest));
      }
    }
    free(positions), fixture_free(&f);
  }
}

// The same rotation as q or as -q must not matter: matrices have no sign, but a quaternion made from one has. Turning
// all joints through full circles crosses every branch of the conversion; vertices must move continuously.
static void nothing_flips_on_the_way_round(void **state) {
  sn_context ctx = sn_context_default();
  fixture f;
  fixture_new(&ctx, 400, 4, 3, 2, &f);
  f.desc.blend = SN_RT_BLEND_DUALQUAT;
  fixture_build(&ctx, &f);
  sn_vec3 axes[3] = {{1, 0.1, 0.2}, {-0.3, 1, 0.1}, {0.1, 0.2, -1}};
  point *before = points(400), *now = points(400);
  for (int a = 0; a < 3; a++)
    for (int step = 0; step <= 400; step++) {
      sn_affine pose[4];
      for (int j = 0; j < 4; j++) {
        sn_vec3 r = sn_vec3_scale(sn_vec3_normalize(axes[a], axes[a]), 2 * SN_PI * step / 400 + 0.4 * j);
        pose[j] = sn_affine_make(sn_rotation_exp(r), sn_vec3_make(0.1 * j, 0, 0));
      }
      evaluate(&f.rt, SN_RT_PATH_BEST, pose, now, NULL);
      for (int i = 0; step && i < 400; i++) {
        assert_below(distance3(before[i], now[i]), 0.05 * (1 + sn_vec3_length(sn_vec3_from(f.mesh.positions[i]))));
      }
      memcpy(before, now, 400 * sizeof *now);
    }
  free(before), free(now), fixture_free(&f);
}

// A joint that rotates and swells about its own centre rotates and swells its vertices about that centre; the blend of two
// such joints with the same scale is that scale everywhere (stretch is blended in the rest pose, about the joints).
static void stretch_is_split_off_and_blended_linearly(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(6);
  fixture f;
  fixture_new(&ctx, 500, 2, 2, 7, &f);
  sn_vec3 centre = {0.4, -0.2, 0.1};
  for (int j = 0; j < 2; j++) f.skeleton.rest[j] = sn_affine_make(sn_mat3_identity(), centre);
  f.desc.blend = SN_RT_BLEND_DUALQUAT;
  fixture_build(&ctx, &f);
  sn_mat3 scale = sn_mat3_diagonal(1.5, 0.8, 1.1);
  sn_affine stretched[2], rigid[2];
  for (int j = 0; j < 2; j++) {
    sn_mat3 turn = sn_rotation_exp(sn_vec3_scale(random_vec3(&rng), 0.5));
    rigid[j] = sn_affine_about(turn, centre);
    stretched[j] = sn_affine_about(sn_mat3_mul(turn, scale), centre);
  }
  point *positions = points(500);
  for_each_path(&f.rt, path) {
    evaluate(&f.rt, path, stretched, positions, NULL);
    for (int i = 0; i < 500; i++) {
      sn_vec3 swollen = sn_affine_apply(sn_affine_about(scale, centre), sn_vec3_from(f.mesh.positions[i]));
      sn_vec3 expected = sn_affine_apply(dualquat_blend(&f.skin, i, rigid), swollen);
      assert_below(sn_vec3_distance(expected, sn_vec3_from(positions[i])), 1e-5 * (1 + sn_vec3_length(expected)));
    }
  }
  free(positions), fixture_free(&f);
}

// ---- normals ----------------------------------------------------------------------------------------------------------------------

// Where weights do not vary over a triangle the surface is moved by one matrix: its normal must be that of the moved
// triangle. Checked by finite differences: a small triangle at right angles to the normal, all corners with the same weights.
static void normals_match_finite_differences(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(12);
  enum { count = 200 };
  for (int n = 0; n < 6; n++) {
    fixture f;
    fixture_new(&ctx, 3 * count, 10, 4, (uint64_t)n, &f);
    float normals_in[3 * count][3];
    for (int t = 0; t < count; t++) {
      sn_vec3 normal = sn_vec3_normalize(random_vec3(&rng), sn_vec3_make(1, 0, 0)), u = sn_vec3_perpendicular(normal);
      sn_vec3 v = sn_vec3_cross(normal, u), p = random_vec3(&rng);
      sn_vec3 corner[3] = {p, sn_vec3_mad(p, u, 0.05), sn_vec3_mad(p, v, 0.05)};
      for (int c = 0; c < 3; c++) {
        size_t to = (size_t)(3 * t + c) * 4, from = (size_t)(3 * t) * 4;
        sn_vec3_store(corner[c], f.mesh.positions[3 * t + c]), sn_vec3_store(normal, normals_in[3 * t + c]);
        memmove(f.skin.joints + to, f.skin.joints + from, 4 * sizeof *f.skin.joints);
        memmove(f.skin.weights + to, f.skin.weights + from, 4 * sizeof *f.skin.weights);
      }
    }
    f.desc.normals = (const point *)normals_in;
    for (int i = 0; i < 3 * count; i++) memcpy(f.centres[i], f.centres[i / 3 * 3], sizeof(point));
    f.desc.blend = blends[n % 3];
    fixture_build(&ctx, &f);
    sn_affine pose[10];
    random_pose(&f.skeleton, 0.5, n >= 2 ? 0.3 : 0, &rng, pose);
    point *positions = points(3 * count), *normals = points(3 * count);
    for_each_path(&f.rt, path) {
      evaluate(&f.rt, path, pose, positions, normals);
      for (int t = 0; t < count; t++) {
        sn_vec3 p = sn_vec3_from(positions[3 * t]);
        sn_vec3 u = sn_vec3_sub(sn_vec3_from(positions[3 * t + 1]), p),
                v = sn_vec3_sub(sn_vec3_from(positions[3 * t + 2]), p);
        sn_vec3 expected = sn_vec3_normalize(sn_vec3_cross(u, v), u);
        assert_below(sn_vec3_distance(expected, sn_vec3_from(normals[3 * t])), 2e-3);
      }
    }
    free(positions), free(normals), fixture_free(&f);
  }
}

static void recomputed_normals_are_those_of_the_deformed_mesh(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(13);
  fixture f;
  fixture_new(&ctx, 3000, 12, 4, 5, &f);
  f.desc.shade = SN_RT_SHADE_RECOMPUTE;
  fixture_build(&ctx, &f);
  sn_affine pose[12];
  random_pose(&f.skeleton, 0.3, 0, &rng, pose);
  point *positions = points(3000), *normals = points(3000), *expected = points(3000);
  evaluate(&f.rt, SN_RT_PATH_BEST, pose, positions, normals);
  sn_mesh_normals(&f.mesh, (const point *)positions, expected);
  for (int i = 0; i < 3000; i++) assert_below(distance3(expected[i], normals[i]), 1e-3);
  free(positions), free(normals), free(expected), fixture_free(&f);
}

// ---- operations ------------------------------------------------------------------------------------------------------------

static uint64_t counted;
static double times(double a, double b) { return counted++, a * b; }
static double plus(double a, double b) { return counted++, a + b; }

static double dot_counted(const double a[3], const double b[3]) {
  return plus(plus(times(a[0], b[0]), times(a[1], b[1])), times(a[2], b[2]));
}

static void cross_counted(const double a[3], const double b[3], double out[3]) {
  for (int c = 0; c < 3; c++) {
    int d = (c + 1) % 3, e = (c + 2) % 3;
    out[c] = plus(times(a[d], b[e]), -times(a[e], b[d]));
  }
}

// M = sum_k w_k M_k, M p, and cof(M) n = (n_x y - n_y x) x z + n_z (x x y) with the columns x, y, z of M, made a unit vector.
static void vertex_counted(const sn_skin *skin, int i, const sn_affine *pose, const float (*in)[3],
                           double (*out)[3]) {
  double m[4][3], s[3], a[3], b[3];
  size_t row = (size_t)i * (size_t)skin->influences;
  for (int k = 0; k < skin->influences && skin->weights[row + (size_t)k] > 0; k++)
    for (int n = 0; n < 12; n++) {
      double part =
        times((double)skin->weights[row + (size_t)k], pose[skin->joints[row + (size_t)k]].m[n % 3][n / 3]);
      m[n / 3][n % 3] = k ? plus(m[n / 3][n % 3], part) : part;
    }
  for (int r = 0; r < 3; r++) {
    out[0][r] = m[3][r];
    for (int c = 0; c < 3; c++) out[0][r] = plus(out[0][r], times(m[c][r], (double)in[0][c]));
    s[r] = plus(times((double)in[1][0], m[1][r]), -times((double)in[1][1], m[0][r]));
  }
  cross_counted(s, m[2], a), cross_counted(m[0], m[1], b);
  for (int r = 0; r < 3; r++) out[1][r] = plus(a[r], times((double)in[1][2], b[r]));
  double length = sqrt(dot_counted(out[1], out[1]));
  counted += 2; // the root, and a division
  for (int r = 0; r < 3; r++) out[1][r] = times(out[1][r], 1 / length);
}

static void flops_are_the_operations_of_the_formulas(void **state) {
  enum { n = 100, joints = 5 };
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(16);
  fixture f;
  sn_skin skin;
  fixture_new(&ctx, n, joints, 4, 3, &f);
  fixture_build(&ctx, &f);
  assert_ok(&ctx, sn_model_skin(&ctx, &f.rt, &skin));
  sn_affine pose[joints];
  random_pose(&f.skeleton, 0.5, 0.1, &rng, pose);
  point *rest = points(n), *positions = points(n), *normals = points(n);
  sn_mesh_normals(&f.mesh, (const point *)f.mesh.positions, rest);
  evaluate(&f.rt, SN_RT_PATH_BEST, pose, positions, normals);
  counted = 0;
  for (int i = 0; i < n; i++) {
    float in[2][3];
    double out[2][3];
    memcpy(in[0], f.mesh.positions[i], sizeof in[0]), memcpy(in[1], rest[i], sizeof in[1]);
    vertex_counted(&skin, i, pose, (const float(*)[3])in, out);
    for (int c = 0; c < 3; c++) {
      assert_near((double)positions[i][c], out[0][c], 1e-5);
      assert_near((double)normals[i][c], out[1][c], 1e-3);
    }
  }
  assert_int_equal(f.rt.info.flops, counted);
  free(rest), free(positions), free(normals);
  sn_skin_free(&skin), fixture_free(&f);
}

// ---- ranges, strides, arguments ------------------------------------------------------------------------------------------------

static void ranges_equal_the_whole(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(21);
  for (int n = 0; n < 6; n++) {
    fixture f;
    fixture_new(&ctx, 3001, 30, 4, (uint64_t)n, &f);
    f.desc.blend = blends[n % 3], f.desc.grain = 512,
    f.desc.shade = n / 3 ? SN_RT_SHADE_RECOMPUTE : SN_RT_SHADE_TRANSFORM;
    fixture_build(&ctx, &f);
    sn_affine pose[30];
    random_pose(&f.skeleton, 0.3, 0, &rng, pose);
    float joints[30][12];
    sn_model_joints(pose, 30, joints);
    point *whole = points(3001), *whole_normals = points(3001);
    struct {
      float before[2], position[3], between, normal[3], after;
    } *mixed = malloc(3001 * sizeof *mixed);
    memset(mixed, 0x5a, 3001 * sizeof *mixed);
    void *scratch = malloc(sn_rt_scratch_size(&f.rt) + 1);
    for_each_path(&f.rt, path) {
      sn_rt_model model = f.rt;
      assert_true(sn_rt_use_path(&model, path));
      evaluate(&model, path, pose, whole, whole_normals);
      sn_rt_input input = {.joints = (const float(*)[12])joints};
      sn_rt_output out = {.positions = mixed[0].position,
                          .position_stride = sizeof *mixed,
                          .normals = mixed[0].normal,
                          .normal_stride = sizeof *mixed};
      assert_int_equal(sn_rt_palette(&model, &input, (char *)scratch + 1, NULL), SN_RT_OK);
      for (uint32_t first = 0, count; first < 3001; first += count) {
        count = (uint32_t)sn_random_below(&rng, 700);
        if (sn_random_below(&rng, 2)) count = 512 - first % 512;
        if (count > 3001 - first) count = 3001 - first;
        assert_int_equal(sn_rt_skin(&model, (char *)scratch + 1, &out, first, count, NULL), SN_RT_OK);
      }
      for (uint32_t first = 0; first < 3001; first++) {
        assert_int_equal(sn_rt_normals(&model, &out, first, 1, NULL), SN_RT_OK);
      }
      for (int i = 0; i < 3001; i++) {
        assert_memory_equal(mixed[i].position, whole[i], sizeof *whole);
        assert_memory_equal(mixed[i].normal, whole_normals[i], sizeof *whole);
        uint32_t untouched[2];
        memcpy(untouched, &mixed[i].between, 4), memcpy(untouched + 1, &mixed[i].after, 4);
        assert_int_equal(untouched[0], 0x5a5a5a5a), assert_int_equal(untouched[1], 0x5a5a5a5a);
      }
    }
    free(whole), free(whole_normals), free(mixed), free(scratch), fixture_free(&f);
  }
}

static void parts_make_the_whole(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(22);
  for (int n = 0; n < 6; n++) {
    fixture f;
    fixture_new(&ctx, 3001, 30, 4, (uint64_t)n, &f);
    f.desc.blend = blends[n % 3], f.desc.grain = n % 2 ? 512 : 16384,
    f.desc.shade = n / 3 ? SN_RT_SHADE_RECOMPUTE : SN_RT_SHADE_TRANSFORM;
    fixture_build(&ctx, &f);
    sn_affine pose[30];
    random_pose(&f.skeleton, 0.3, 0, &rng, pose);
    float joints[30][12];
    sn_model_joints(pose, 30, joints);
    point *whole = points(3001), *whole_normals = points(3001), *some = points(3001), *normals = points(3001);
    void *scratch = malloc(sn_rt_scratch_size(&f.rt));
    evaluate(&f.rt, sn_rt_get_path(&f.rt), pose, whole, whole_normals);
    sn_rt_input input = {.joints = (const float(*)[12])joints};
    assert_int_equal(sn_rt_palette(&f.rt, &input, scratch, NULL), SN_RT_OK);
    static const uint32_t counts[] = {1, 2, 3, 7, 1000};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
      uint32_t parts = counts[k], blocks = 0, vertices = 0;
      sn_rt_output out = {.positions = some[0], .normals = normals[0]};
      memset(some, 0, 3001 * sizeof *some), memset(normals, 0, 3001 * sizeof *normals);
      for (uint32_t p = 0; p < parts; p++) {
        sn_rt_part part = sn_rt_get_part(&f.rt, p, parts);
        assert_int_equal(part.first_block, blocks), assert_int_equal(part.first_vertex, vertices);
        assert_true(part.end_block >= part.first_block);
        if (parts <= 7) assert_true(part.end_block - part.first_block <= 2 * f.rt.info.block_count / parts);
        assert_int_equal(sn_rt_skin_part(&f.rt, scratch, &out, &part, NULL), SN_RT_OK);
        blocks = part.end_block, vertices += part.vertex_count;
      }
      assert_int_equal(blocks, f.rt.info.block_count), assert_int_equal(vertices, 3001);
      for (uint32_t p = 0; p < parts; p++) {
        sn_rt_part part = sn_rt_get_part(&f.rt, p, parts);
        assert_int_equal(sn_rt_normals(&f.rt, &out, part.first_vertex, part.vertex_count, NULL), SN_RT_OK);
      }
      assert_memory_equal(some, whole, 3001 * sizeof *whole);
      assert_memory_equal(normals, whole_normals, 3001 * sizeof *whole);
    }
    free(whole), free(whole_normals), free(some), free(normals), free(scratch), fixture_free(&f);
  }
}

// A character's bind pose: the model's joints, each rotated about its own place, and all of them moved by `space`.
static void bind_of(const fixture *f, sn_affine space, bool turn, sn_random *rng, float (*out)[12]) {
  sn_affine bind[8];
  for (int j = 0; j < f->skeleton.joint_count; j++) {
    sn_vec3 axis = {sn_random_normal(rng), sn_random_normal(rng), sn_random_normal(rng)};
    sn_affine own = sn_affine_make(turn ? sn_rotation_exp(axis) : sn_mat3_identity(), sn_vec3_make(0, 0, 0));
    bind[j] = sn_affine_mul(space, sn_affine_mul(f->skeleton.rest[j], own));
  }
  sn_model_joints(bind, f->skeleton.joint_count, out);
}

static void a_characters_bind_pose_is_compared(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(5);
  fixture f;
  fixture_new(&ctx, 300, 5, 2, 1, &f);
  fixture_build(&ctx, &f);
  sn_affine still = sn_affine_identity();
  sn_affine moved =
    sn_affine_make(sn_mat3_scale(sn_rotation_exp(sn_vec3_make(0.3, -0.7, 0.2)), 0.01), sn_vec3_make(3, 4, 5));
  float bind[5][12], to_rest[5][12], space[12];
  sn_rt_error error;
  for (int n = 0; n < 4; n++) {
    // Joints that are each rotated in another space do not determine one.
    bool turn = n % 2, elsewhere = n / 2 && !turn;
    bind_of(&f, elsewhere ? moved : still, turn, &rng, bind);
    assert_int_equal(sn_rt_bind(&f.rt, (const float(*)[12])bind, to_rest, n ? space : NULL, &error), SN_RT_OK);
    for (int j = 0; j < 5; j++) { // to_rest is the inverse of the bind pose in the model's space
      sn_affine there = still, back = still;
      for (int e = 0; e < 12; e++) there.m[e / 4][e % 4] = bind[j][e], back.m[e / 4][e % 4] = to_rest[j][e];
      sn_affine a = still;
      for (int e = 0; n && e < 12; e++) a.m[e / 4][e % 4] = space[e];
      sn_affine one = sn_affine_mul(sn_affine_mul(a, there), back);
      for (int e = 0; e < 12; e++) assert_float_equal(one.m[e / 4][e % 4], still.m[e / 4][e % 4], 1e-4);
    }
  }
  bind_of(&f, moved, false, &rng, bind);
  assert_int_equal(sn_rt_bind(&f.rt, (const float(*)[12])bind, to_rest, NULL, &error), SN_RT_BAD_ARGUMENT);
  bind_of(&f, still, false, &rng, bind);
  bind[3][7] += 0.1f;
  assert_int_equal(sn_rt_bind(&f.rt, (const float(*)[12])bind, to_rest, space, &error), SN_RT_BAD_ARGUMENT);
  assert_non_null(strstr(error.message, sn_rt_joint_name(&f.rt, 3)));
  static const float no_numbers[] = {NAN, INFINITY, -INFINITY};
  for (int n = 0; n < 3; n++) {
    bind_of(&f, still, false, &rng, bind);
    bind[2][5 * n] = no_numbers[n];
    assert_int_equal(sn_rt_bind(&f.rt, (const float(*)[12])bind, to_rest, space, &error), SN_RT_BAD_ARGUMENT);
    assert_non_null(strstr(error.message, "no finite size"));
    assert_non_null(strstr(error.message, sn_rt_joint_name(&f.rt, 2)));
  }
  bind_of(&f, still, false, &rng, bind);
  memset(bind[3], 0, sizeof bind[3]); // undefined: the model's
  assert_int_equal(sn_rt_bind(&f.rt, (const float(*)[12])bind, to_rest, space, &error), SN_RT_OK);
  assert_float_equal(to_rest[3][3], -f.skeleton.rest[3].m[0][3], 1e-5);
  fixture_free(&f);
}

static void bad_arguments_are_refused_with_a_reason(void **state) {
  sn_context ctx = sn_context_default();
  fixture f;
  fixture_new(&ctx, 50, 3, 2, 1, &f);
  fixture_build(&ctx, &f);
  float joints[3][12] = {{0}}, out[50][3];
  void *scratch = malloc(sn_rt_scratch_size(&f.rt));
  sn_rt_input input = {.joints = (const float(*)[12])joints}, none = {0};
  sn_rt_output output = {.positions = out[0]}, nowhere = {0}, narrow = {.positions = out[0], .position_stride = 8};
  sn_rt_error error;
  assert_int_equal(sn_rt_palette(&f.rt, &none, scratch, &error), SN_RT_BAD_ARGUMENT);
  assert_non_null(strstr(error.message, "3 joints"));
  assert_int_equal(sn_rt_palette(&f.rt, &input, NULL, &error), SN_RT_BAD_ARGUMENT);
  input.joint_count = 2;
  assert_int_equal(sn_rt_palette(&f.rt, &input, scratch, &error), SN_RT_BAD_ARGUMENT);
  assert_string_equal(error.message, "the model needs the matrices of its 3 joints, not 2");
  input.joint_count = 3, input.scratch_size = sn_rt_scratch_size(&f.rt) - 1;
  assert_int_equal(sn_rt_palette(&f.rt, &input, scratch, &error), SN_RT_BAD_ARGUMENT);
  assert_non_null(strstr(error.message, "bytes of scratch memory"));
  input.scratch_size++;
  assert_int_equal(sn_rt_palette(&f.rt, &input, scratch, &error), SN_RT_OK);
  assert_int_equal(sn_rt_skin(&f.rt, scratch, &output, 40, 11, &error), SN_RT_BAD_ARGUMENT);
  assert_non_null(strstr(error.message, "the model has 50"));
  assert_int_equal(sn_rt_skin(&f.rt, scratch, &output, UINT32_MAX, 1, &error), SN_RT_BAD_ARGUMENT);
  assert_int_equal(sn_rt_skin(&f.rt, scratch, &output, 1, UINT32_MAX, &error), SN_RT_BAD_ARGUMENT);
  assert_int_equal(sn_rt_skin(&f.rt, scratch, &nowhere, 0, 1, &error), SN_RT_BAD_ARGUMENT);
  assert_int_equal(sn_rt_skin(&f.rt, scratch, &narrow, 0, 1, &error), SN_RT_BAD_ARGUMENT);
  assert_int_equal(sn_rt_skin(&f.rt, scratch, &output, 50, 0, &error), SN_RT_OK);
  sn_rt_model closed = {0};
  assert_int_equal(sn_rt_palette(&closed, &input, scratch, &error), SN_RT_BAD_ARGUMENT);
  assert_int_equal(sn_rt_skin(&closed, scratch, &output, 0, 0, &error), SN_RT_BAD_ARGUMENT);
  free(scratch), fixture_free(&f);
}

// ---- half-way and scaling joints -----------------------------------------------------------------------------------------------

static void halfway_and_scaling_joints(void **state) {
  sn_context ctx = sn_context_default();
  fixture f;
  fixture_new(&ctx, 300, 2, 1, 3, &f);
  sn_vec3 elbow = {1, 0.2, 0.1}, along = {1, 0, 0};
  for (int i = 0; i < 300; i++) f.skin.joints[i] = (uint16_t)(2 + i % 3);
  sn_extra_joint extra[3] = {{.kind = SN_EXTRA_HALFWAY, .parent = 0, .child = 1, .amount = 0.5, .centre = elbow},
                             {.kind = SN_EXTRA_SCALING,
                              .parent = 0,
                              .child = 1,
                              .base = 1,
                              .centre = elbow,
                              .direction = along,
                              .stretch = sn_mat3_diagonal(0, 1, 1)},
                             {.kind = SN_EXTRA_SCALING,
                              .parent = 0,
                              .child = 1,
                              .base = 2,
                              .centre = elbow,
                              .stretch = sn_mat3_diagonal(-0.5, 0, 0)}};
  f.desc.extra_count = 3, f.desc.extra = extra;
  fixture_build(&ctx, &f);
  assert_int_equal(f.rt.info.palette_count, 5);
  // The whole body rotated, and the child bent by 90 degrees at the elbow and twisted by 40 about the bone.
  sn_affine body = sn_affine_make(sn_rotation_exp(sn_vec3_make(0.3, -0.5, 0.8)), sn_vec3_make(3, 2, 1));
  sn_mat3 bend = sn_rotation_exp(sn_vec3_make(0, 0, SN_PI / 2)), twist = sn_rotation_exp(sn_vec3_make(0.7, 0, 0));
  sn_mat3 both = sn_mat3_mul(bend, twist);
  sn_affine pose[2] = {body, sn_affine_mul(body, sn_affine_about(both, elbow))};
  sn_mat3 half = sn_rotation_exp(sn_vec3_scale(sn_rotation_log(both), 0.5));
  double angle = sn_vec3_length(sn_rotation_log(both)), whole = (1 - cos(angle)) / 2;
  sn_affine palette[3];
  palette[0] = sn_affine_mul(body, sn_affine_about(half, elbow));
  palette[1] = sn_affine_mul(pose[1], sn_affine_about(sn_mat3_diagonal(1, 1.5, 1.5), elbow));
  palette[2] = sn_affine_mul(palette[0], sn_affine_about(sn_mat3_diagonal(1 - 0.5 * whole, 1, 1), elbow));
  point *positions = points(300);
  evaluate(&f.rt, SN_RT_PATH_BEST, pose, positions, NULL);
  for (int i = 0; i < 300; i++) {
    sn_vec3 expected = sn_affine_apply(palette[i % 3], sn_vec3_from(f.mesh.positions[i]));
    assert_below(sn_vec3_distance(expected, sn_vec3_from(positions[i])), 1e-5);
  }
  free(positions), fixture_free(&f);
}

static void the_palette_can_be_read_back(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(30);
  for (int n = 0; n < 3; n++) {
    fixture f;
    fixture_new(&ctx, 40, 6, 2, 1, &f);
    f.desc.weight_bits = n == 1 ? 16 : 32, f.desc.blend = n == 2 ? SN_RT_BLEND_DUALQUAT : SN_RT_BLEND_LINEAR;
    fixture_build(&ctx, &f);
    sn_affine pose[6];
    random_pose(&f.skeleton, 1, 0.1, &rng, pose);
    float joints[6][12], back[12];
    sn_model_joints(pose, 6, joints);
    void *scratch = malloc(sn_rt_scratch_size(&f.rt));
    sn_rt_input input = {.joints = (const float(*)[12])joints};
    assert_int_equal(sn_rt_palette(&f.rt, &input, scratch, NULL), SN_RT_OK);
    for (uint32_t j = 0; j < 6; j++) {
      sn_rt_palette_matrix(&f.rt, scratch, j, back);
      for (int k = 0; k < 12; k++) assert_near(back[k], joints[j][k], 1e-6 * (1 + fabs(joints[j][k])));
    }
    free(scratch), fixture_free(&f);
  }
}

// A palette belongs to the instruction set that made it: choosing another one between the two steps changes nothing.
static void the_path_may_change_between_palette_and_skin(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(31);
  for (int blend = SN_RT_BLEND_LINEAR; blend <= SN_RT_BLEND_CENTRES; blend++) {
    fixture f;
    fixture_new(&ctx, 500, 10, 4, 3, &f);
    f.desc.blend = (sn_rt_blend)blend;
    fixture_build(&ctx, &f);
    sn_affine pose[10];
    float joints[10][12];
    random_pose(&f.skeleton, 0.5, 0.1, &rng, pose);
    sn_model_joints(pose, 10, joints);
    sn_rt_input input = {.joints = (const float(*)[12])joints};
    point *expected = points(500), *positions = points(500);
    void *scratch = malloc(sn_rt_scratch_size(&f.rt));
    for_each_path(&f.rt, first) {
      for_each_path(&f.rt, second) {
        sn_rt_model model = f.rt;
        evaluate(&model, first, pose, expected, NULL);
        memset(scratch, 0xff, sn_rt_scratch_size(&f.rt));
        assert_true(sn_rt_use_path(&model, first));
        assert_int_equal(sn_rt_palette(&model, &input, scratch, NULL), SN_RT_OK);
        assert_true(sn_rt_use_path(&model, second));
        sn_rt_output output = {.positions = positions[0]};
        assert_int_equal(sn_rt_skin(&model, scratch, &output, 0, 500, NULL), SN_RT_OK);
        assert_memory_equal(positions, expected, 500 * sizeof *positions);
      }
    }
    memset(scratch, 0xff, sn_rt_scratch_size(&f.rt));
    sn_rt_output output = {.positions = positions[0]};
    assert_int_equal(sn_rt_skin(&f.rt, scratch, &output, 0, 500, NULL), SN_RT_BAD_ARGUMENT);
    free(expected), free(positions), free(scratch), fixture_free(&f);
  }
}

// ---- what engines read ---------------------------------------------------------------------------------------------------

static void the_rest_pose_comes_in_vertex_order(void **state) {
  sn_context ctx = sn_context_default();
  for (int shade = SN_RT_SHADE_TRANSFORM; shade <= SN_RT_SHADE_RECOMPUTE; shade++) {
    fixture f;
    fixture_new(&ctx, 900, 30, 4, 7, &f);
    f.desc.shade = (sn_rt_shade)shade, f.desc.grain = 128;
    f.desc.blend = shade ? SN_RT_BLEND_CENTRES : SN_RT_BLEND_LINEAR;
    fixture_build(&ctx, &f);
    point *positions = points(900), *normals = points(900), *expected = points(900);
    uint32_t influences = f.rt.info.max_influences;
    uint16_t *joints = calloc(900 * influences, sizeof *joints);
    float *weights = calloc(900 * influences, sizeof *weights);
    point *centres = points(900);
    sn_rt_rest rest = {positions, normals, joints, weights, influences, centres, NULL};
    sn_rt_error error;
    assert_int_equal(sn_rt_get_rest(&f.rt, &rest, &error), SN_RT_OK);
    assert_memory_equal(positions, f.mesh.positions, 900 * sizeof *positions);
    assert_memory_equal(centres, shade ? f.centres : f.mesh.positions, 900 * sizeof *centres);
    sn_mesh_normals(&f.mesh, (const point *)f.mesh.positions, expected);
    for (int i = 0; i < 900; i++) {
      double own[30] = {0};
      assert_below(distance3(normals[i], expected[i]), 1e-5);
      for (uint32_t k = 0; k < influences; k++) {
        uint32_t at = (uint32_t)i * influences + k;
        own[joints[at]] += (double)weights[at];
      }
      for (int k = 0; k < f.skin.influences; k++) {
        size_t at = (size_t)i * (size_t)f.skin.influences + (size_t)k;
        own[f.skin.joints[at]] -= (double)f.skin.weights[at];
      }
      for (int j = 0; j < 30; j++) assert_near(own[j], 0, 1e-6);
    }
    rest.influences--;
    assert_int_equal(sn_rt_get_rest(&f.rt, &rest, &error), SN_RT_BAD_ARGUMENT);
    rest = (sn_rt_rest){.joints = joints, .influences = influences};
    assert_int_equal(sn_rt_get_rest(&f.rt, &rest, &error), SN_RT_BAD_ARGUMENT);
    free(positions), free(normals), free(expected), free(joints), free(weights), free(centres);
    fixture_free(&f);
  }
}

// Rigid part after stretch is the matrix.
static void a_palette_entry_splits_into_two_parts(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(9);
  fixture f;
  fixture_new(&ctx, 60, 12, 3, 2, &f);
  f.desc.blend = SN_RT_BLEND_DUALQUAT;
  fixture_build(&ctx, &f);
  sn_affine pose[12];
  float input[12][12];
  random_pose(&f.skeleton, 1, 0.2, &rng, pose);
  sn_model_joints(pose, 12, input);
  void *scratch = malloc(sn_rt_scratch_size(&f.rt));
  sn_rt_input in = {.joints = (const float(*)[12])input};
  assert_int_equal(sn_rt_palette(&f.rt, &in, scratch, NULL), SN_RT_OK);
  for (uint32_t e = 0; e < 12; e++) {
    float q[8], m[12], s[12];
    sn_affine stretch;
    assert_int_equal(sn_rt_palette_split(&f.rt, scratch, e, q, s), 0);
    sn_rt_palette_matrix(&f.rt, scratch, e, m);
    for (int n = 0; n < 12; n++) stretch.m[n / 4][n % 4] = s[n];
    sn_dualquat d = {{q[0], q[1], q[2], q[3]}, {q[4], q[5], q[6], q[7]}};
    sn_affine both = sn_affine_mul(sn_dualquat_to_rigid(d), stretch);
    for (int n = 0; n < 12; n++) assert_near(both.m[n / 4][n % 4], m[n], 1e-4);
  }
  free(scratch), fixture_free(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_rest_pose_comes_in_vertex_order),
                                     cmocka_unit_test(a_palette_entry_splits_into_two_parts),
                                     cmocka_unit_test(the_path_may_change_between_palette_and_skin),
                                     cmocka_unit_test(linear_is_the_blend_of_matrices),
                                     cmocka_unit_test(rounded_weights_evaluate_as_stored),
                                     cmocka_unit_test(dualquat_is_the_blend_of_dual_quaternions),
                                     cmocka_unit_test(centres_turn_about_where_the_matrices_take_them),
                                     cmocka_unit_test(paths_agree_with_the_scalar_path),
                                     cmocka_unit_test(the_rest_pose_gives_the_rest_mesh),
                                     cmocka_unit_test(a_rigid_motion_of_all_joints_moves_every_vertex_rigidly),
                                     cmocka_unit_test(a_vertex_with_one_joint_follows_it),
                                     cmocka_unit_test(the_candy_wrapper_is_linear_only),
                                     cmocka_unit_test(nothing_flips_on_the_way_round),
                                     cmocka_unit_test(stretch_is_split_off_and_blended_linearly),
                                     cmocka_unit_test(normals_match_finite_differences),
                                     cmocka_unit_test(recomputed_normals_are_those_of_the_deformed_mesh),
                                     cmocka_unit_test(flops_are_the_operations_of_the_formulas),
                                     cmocka_unit_test(ranges_equal_the_whole),
                                     cmocka_unit_test(parts_make_the_whole),
                                     cmocka_unit_test(a_characters_bind_pose_is_compared),
                                     cmocka_unit_test(bad_arguments_are_refused_with_a_reason),
                                     cmocka_unit_test(halfway_and_scaling_joints),
                                     cmocka_unit_test(the_palette_can_be_read_back)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
