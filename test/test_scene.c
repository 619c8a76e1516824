// SPDX-License-Identifier: MIT
// Meshes and their topology, welding, skeletons, skins, choices of frames, examples.
#include "check.h"

#include "sinew/scene.h"

static sn_mesh make_mesh(sn_context *ctx, int vertices, const float (*positions)[3], int triangles,
                         const int (*corners)[3]) {
  sn_mesh mesh;
  assert_ok(ctx, sn_mesh_new(ctx, vertices, triangles, &mesh));
  if (positions) memcpy(mesh.positions, positions, (size_t)vertices * sizeof *positions);
  if (triangles > 0) memcpy(mesh.triangles, corners, (size_t)triangles * sizeof *corners);
  return mesh;
}

static const float cube_positions[8][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0},
                                           {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};
static const int cube_triangles[12][3] = {{0, 2, 1}, {0, 3, 2}, {4, 5, 6}, {4, 6, 7}, {0, 1, 5}, {0, 5, 4},
                                          {1, 2, 6}, {1, 6, 5}, {2, 3, 7}, {2, 7, 6}, {3, 0, 4}, {3, 4, 7}};

// ---- topology -------------------------------------------------------------------------------------------------------

// What every topology must be, whatever the mesh: checked against the triangles by brute force.
static void check_topology(const sn_mesh *mesh, const sn_topology *top) {
  int n = mesh->vertex_count;
  assert_int_equal(top->vertex_count, n);
  for (int e = 0; e < top->edge_count; e++) {
    int a = top->edges[e][0], b = top->edges[e][1], faces = 0;
    assert_true(a < b);
    if (e > 0) assert_true(top->edges[e - 1][0] < a || (top->edges[e - 1][0] == a && top->edges[e - 1][1] < b));
    for (int t = 0; t < mesh->triangle_count; t++) {
      const int *c = mesh->triangles[t];
      bool whole = c[0] != c[1] && c[1] != c[2] && c[2] != c[0];
      bool has_a = c[0] == a || c[1] == a || c[2] == a, has_b = c[0] == b || c[1] == b || c[2] == b;
      faces += whole && has_a && has_b;
    }
    assert_int_equal(top->edge_faces[e], faces);
    assert_true(faces > 0);
    assert_int_equal(top->component[a], top->component[b]);
  }
  assert_int_equal(top->ring_start[0], 0);
  assert_int_equal(top->ring_start[n], 2 * top->edge_count);
  for (int i = 0; i < n; i++) {
    for (int k = top->ring_start[i]; k < top->ring_start[i + 1]; k++) {
      if (k > top->ring_start[i]) assert_true(top->ring[k - 1] < top->ring[k]);
      bool found = false;
      for (int e = 0; e < top->edge_count; e++) {
        found = found || (top->edges[e][0] == i && top->edges[e][1] == top->ring[k]) ||
                (top->edges[e][1] == i && top->edges[e][0] == top->ring[k]);
      }
      assert_true(found);
    }
    int expected = 0, found = top->face_start[i];
    for (int t = 0; t < mesh->triangle_count; t++) {
      const int *c = mesh->triangles[t];
      if (c[0] != i && c[1] != i && c[2] != i) continue;
      expected++;
      assert_int_equal(top->faces[found++], t);
    }
    assert_int_equal(top->face_start[i + 1] - top->face_start[i], expected);
    assert_in_range(top->component[i], 0, top->component_count - 1);
  }
}

static void test_cube(void **state) {
  sn_context ctx = sn_context_default();
  sn_mesh mesh = make_mesh(&ctx, 8, cube_positions, 12, cube_triangles);
  sn_topology top;
  assert_ok(&ctx, sn_topology_build(&ctx, &mesh, &top));
  check_topology(&mesh, &top);
  assert_int_equal(top.edge_count, 18);
  assert_int_equal(top.boundary_edges, 0);
  assert_int_equal(top.nonmanifold_edges, 0);
  assert_int_equal(top.component_count, 1);
  sn_topology_free(&top);
  sn_mesh_free(&mesh);
}

static void test_awkward_meshes(void **state) {
  static const int tetrahedron[4][3] = {{0, 1, 2}, {0, 3, 1}, {1, 3, 2}, {2, 3, 0}};
  static const int fan[3][3] = {{0, 1, 2}, {0, 1, 3}, {1, 0, 4}}; // three triangles at edge 0-1
  static const int degenerate[4][3] = {{0, 0, 1}, {2, 2, 2}, {0, 1, 2}, {1, 1, 1}};
  static const int twice[2][3] = {{0, 1, 2}, {2, 1, 0}}; // the same triangle, both sides
  static const int apart[2][3] = {{0, 1, 2}, {5, 6, 7}}; // 3, 4 and 8 in no triangle
  static const struct {
    int vertices, triangles;
    const int (*corners)[3];
    int edges, boundary, nonmanifold, components;
  } cases[] = {
    {4, 4, tetrahedron, 6, 0, 0, 1}, {5, 3, fan, 7, 6, 1, 1},   {3, 4, degenerate, 3, 3, 0, 1},
    {3, 2, twice, 3, 0, 0, 1},       {9, 2, apart, 6, 6, 0, 5}, {4, 0, NULL, 0, 0, 0, 4},
    {0, 0, NULL, 0, 0, 0, 0},
  };
  sn_context ctx = sn_context_default();
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    sn_mesh mesh = make_mesh(&ctx, cases[k].vertices, NULL, cases[k].triangles, cases[k].corners);
    sn_topology top;
    assert_ok(&ctx, sn_topology_build(&ctx, &mesh, &top));
    check_topology(&mesh, &top);
    assert_int_equal(top.edge_count, cases[k].edges);
    assert_int_equal(top.nonmanifold_edges, cases[k].nonmanifold);
    assert_int_equal(top.component_count, cases[k].components);
    assert_int_equal(top.boundary_edges, cases[k].boundary);
    sn_topology_free(&top);
    sn_mesh_free(&mesh);
  }
}

static void test_random_triangles(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(1);
  for (int round = 0; round < 100; round++) {
    int n = 1 + sn_random_below(&rng, 30), m = sn_random_below(&rng, 40);
    sn_mesh mesh;
    assert_ok(&ctx, sn_mesh_new(&ctx, n, m, &mesh));
    for (int k = 0; k < 3 * m; k++) mesh.triangles[k / 3][k % 3] = sn_random_below(&rng, n);
    sn_topology top;
    assert_ok(&ctx, sn_topology_build(&ctx, &mesh, &top));
    check_topology(&mesh, &top);
    sn_topology_free(&top);
    sn_mesh_free(&mesh);
  }
}

// ---- geometry -------------------------------------------------------------------------------------------------------

static void test_normals(void **state) {
  sn_context ctx = sn_context_default();
  sn_mesh mesh = make_mesh(&ctx, 8, cube_positions, 12, cube_triangles);
  float normals[8][3];
  sn_mesh_normals(&mesh, cube_positions, normals);
  for (int i = 0; i < 8; i++) {
    assert_near(sn_vec3_length(sn_vec3_from(normals[i])), 1, 1e-6);
    // A cube's corner normals point away from its centre, in every coordinate.
    for (int c = 0; c < 3; c++) assert_true((normals[i][c] > 0) == (cube_positions[i][c] > 0.5f));
  }
  sn_mesh_free(&mesh);
  // Weighted by area: a large triangle in z outweighs a small one in x.
  static const float points[5][3] = {{0, 0, 0}, {10, 0, 0}, {0, 10, 0}, {0, 0, 1}, {7, 7, 7}};
  static const int corners[3][3] = {{0, 1, 2}, {0, 2, 3}, {3, 3, 3}};
  mesh = make_mesh(&ctx, 5, points, 3, corners);
  sn_mesh_normals(&mesh, points, normals);
  sn_vec3 expected = sn_vec3_normalize(sn_vec3_make(10, 0, 100), sn_vec3_make(0, 0, 0));
  assert_below(sn_vec3_distance(sn_vec3_from(normals[0]), expected), 1e-6);
  assert_below(sn_vec3_distance(sn_vec3_from(normals[4]), sn_vec3_make(0, 0, 1)), 0); // in no triangle
  sn_mesh_free(&mesh);
}

static void test_bounds(void **state) {
  sn_vec3 low, high;
  static const float points[3][3] = {{-1, 5, 2}, {3, -4, 2}, {0, 0, 2}};
  sn_points_bounds(points, 3, &low, &high);
  assert_true(low.x == -1 && low.y == -4 && low.z == 2 && high.x == 3 && high.y == 5 && high.z == 2);
  assert_near(sn_points_diagonal(points, 3), sqrt(16 + 81), 1e-12);
  assert_true(sn_points_diagonal(points, 1) == 0 && sn_points_diagonal(NULL, 0) == 0);
}

static void test_mesh_check(void **state) {
  sn_context ctx = sn_context_default();
  sn_mesh mesh = make_mesh(&ctx, 8, cube_positions, 12, cube_triangles);
  sn_mesh copy = make_mesh(&ctx, 8, cube_positions, 12, cube_triangles);
  assert_ok(&ctx, sn_mesh_check(&ctx, &mesh));
  mesh.positions[5][1] = NAN;
  assert_fails(&ctx, sn_mesh_check(&ctx, &mesh), "vertex 5: position is not finite");
  mesh.positions[5][1] = -INFINITY;
  assert_fails(&ctx, sn_mesh_check(&ctx, &mesh), "vertex 5: position is not finite");
  copy.triangles[7][2] = 8;
  assert_fails(&ctx, sn_mesh_check(&ctx, &copy), "triangle 7: vertex 8 does not exist (there are 8)");
  copy.triangles[7][2] = -1;
  assert_fails(&ctx, sn_mesh_check(&ctx, &copy), "triangle 7: vertex -1 does not exist");
  sn_mesh_free(&mesh);
  sn_mesh_free(&copy);
}

// ---- welding ----------------------------------------------------------------------------------------------------------

static void test_weld(void **state) {
  sn_context ctx = sn_context_default();
  static const float points[7][3] = {{1, 2, 3},          {0, 0, 0}, {1, 2, 3}, {-0.0f, 0, -0.0f},
                                     {1, 2, 3.0000002f}, {5, 5, 5}, {0, 0, 0}};
  static const int expected[7] = {0, 1, 0, 1, 2, 3, 1};
  sn_mesh mesh = make_mesh(&ctx, 7, points, 0, NULL);
  sn_arena memory = sn_arena_new(&ctx);
  int *class_of, count;
  class_of = sn_mesh_weld(&ctx, &mesh, NULL, NULL, &memory, &count);
  assert_non_null(class_of);
  assert_int_equal(count, 4);
  assert_memory_equal(class_of, expected, sizeof expected);
  // The same place with other weights stays apart.
  sn_skin skin;
  assert_ok(&ctx, sn_skin_new(&ctx, 7, 2, &skin));
  for (int i = 0; i < 7; i++) skin.weights[2 * i] = 1;
  skin.weights[4] = 0.5f, skin.weights[5] = 0.5f; // vertex 2
  skin.joints[2 * 6] = 3;                         // vertex 6
  static const int apart[7] = {0, 1, 2, 1, 3, 4, 5};
  class_of = sn_mesh_weld(&ctx, &mesh, &skin, NULL, &memory, &count);
  assert_non_null(class_of);
  assert_int_equal(count, 6);
  assert_memory_equal(class_of, apart, sizeof apart);
  sn_skin_free(&skin);
  sn_arena_free(&memory);
  sn_mesh_free(&mesh);
}

static void test_weld_against_brute_force(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(2);
  enum { n = 2000 };
  sn_mesh mesh;
  assert_ok(&ctx, sn_mesh_new(&ctx, n, 0, &mesh));
  for (int k = 0; k < 3 * n; k++) mesh.positions[k / 3][k % 3] = (float)sn_random_below(&rng, 9) - 4;
  sn_arena memory = sn_arena_new(&ctx);
  int *class_of, count, next = 0;
  class_of = sn_mesh_weld(&ctx, &mesh, NULL, NULL, &memory, &count);
  assert_non_null(class_of);
  for (int i = 0; i < n; i++) {
    int first = 0;
    while (memcmp(mesh.positions[first], mesh.positions[i], sizeof *mesh.positions) != 0) first++;
    assert_int_equal(class_of[i], first == i ? next++ : class_of[first]);
  }
  assert_int_equal(count, next);
  sn_arena_free(&memory);
  sn_mesh_free(&mesh);
}

// ---- nearest vertices ---------------------------------------------------------------------------------------------------

enum cloud { CLOUD_RANDOM, CLOUD_DUPLICATES, CLOUD_LINE, CLOUD_GRID, CLOUD_ONE_PLACE, CLOUD_KINDS };

static void fill_cloud(sn_random *rng, enum cloud kind, int count, float (*points)[3]) {
  for (int i = 0; i < count; i++)
    for (int c = 0; c < 3; c++) {
      float x = (float)sn_random_normal(rng);
      if (kind == CLOUD_DUPLICATES && i > 0 && i % 2) x = points[i / 2][c];
      if (kind == CLOUD_LINE) x = c == 1 ? (float)i * 0.25f : 2;
      if (kind == CLOUD_GRID) x = (float)sn_random_below(rng, 5);
      if (kind == CLOUD_ONE_PLACE) x = 7;
      points[i][c] = x;
    }
}

static void test_nearest(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(3);
  enum { most = 400 };
  static float among[most][3], points[most][3];
  static int nearest[most];
  static double distances[most];
  for (int round = 0; round < 60; round++) {
    int n = round < 10 ? 1 + round : 1 + sn_random_below(&rng, most), m = 1 + sn_random_below(&rng, most);
    enum cloud kind = (enum cloud)(round % CLOUD_KINDS);
    fill_cloud(&rng, kind, n, among);
    fill_cloud(&rng, round % 2 ? kind : CLOUD_GRID, m, points);
    assert_ok(&ctx,
              sn_nearest_vertices(&ctx, (sn_points){(const float(*)[3])among, n},
                                  (sn_points){(const float(*)[3])points, m}, nearest, round % 3 ? distances : NULL));
    for (int i = 0; i < m; i++) {
      int best = 0;
      double least = INFINITY;
      for (int k = 0; k < n; k++) {
        sn_vec3 d = sn_vec3_sub(sn_vec3_from(among[k]), sn_vec3_from(points[i]));
        if (sn_vec3_dot(d, d) < least) least = sn_vec3_dot(d, d), best = k;
      }
      assert_int_equal(nearest[i], best);
      if (round % 3) assert_near(distances[i], sqrt(least), 0);
    }
  }
  assert_fails(
    &ctx,
    sn_nearest_vertices(&ctx, (sn_points){NULL, 0}, (sn_points){(const float(*)[3])points, 1}, nearest, distances),
    "no vertices to match");
  assert_ok(&ctx, sn_nearest_vertices(&ctx, (sn_points){(const float(*)[3])among, 3}, (sn_points){NULL, 0}, nearest,
                                      distances));
}

// ---- skeletons and skins ------------------------------------------------------------------------------------------------

static void test_skeleton_sort(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(4);
  for (int round = 0; round < 200; round++) {
    int n = 1 + sn_random_below(&rng, 40), rank[40], place[40];
    sn_skeleton skeleton;
    assert_ok(&ctx, sn_skeleton_new(&ctx, n, &skeleton));
    // A random forest in a random order: parents often come after their children.
    for (int k = 0; k < n; k++) rank[k] = k;
    for (int k = n - 1; k > 0; k--) {
      int other = sn_random_below(&rng, k + 1), keep = rank[k];
      rank[k] = rank[other], rank[other] = keep;
    }
    for (int k = 0; k < n; k++)
      skeleton.parents[rank[k]] = k == 0 ? -1 : sn_random_below(&rng, 8) ? rank[sn_random_below(&rng, k)] : -1;
    assert_ok(&ctx, sn_skeleton_sort(&ctx, &skeleton));
    memset(place, -1, sizeof place);
    for (int k = 0; k < n; k++) place[skeleton.order[k]] = k;
    for (int j = 0; j < n; j++) {
      assert_true(place[j] >= 0);
      if (skeleton.parents[j] >= 0) assert_true(place[skeleton.parents[j]] < place[j]);
    }
    assert_int_equal(sn_skeleton_find(&skeleton, skeleton.names[n / 2]), n / 2);
    assert_int_equal(sn_skeleton_find(&skeleton, "nobody"), -1);
    sn_skeleton_free(&skeleton);
  }
}

static void test_bad_skeletons(void **state) {
  sn_context ctx = sn_context_default();
  sn_skeleton skeleton;
  assert_ok(&ctx, sn_skeleton_new(&ctx, 4, &skeleton));
  assert_string_equal(skeleton.names[3], "joint3");
  skeleton.parents[2] = 2;
  assert_fails(&ctx, sn_skeleton_sort(&ctx, &skeleton), "joint 2 (joint2) is its own ancestor");
  // Joint 0 hangs on the cycle but is not in it; one of the cycle's joints must be named.
  skeleton.parents[0] = 1, skeleton.parents[1] = 2, skeleton.parents[2] = 3, skeleton.parents[3] = 1;
  assert_fails(&ctx, sn_skeleton_sort(&ctx, &skeleton), "is its own ancestor");
  assert_null(strstr(ctx.error.message, "joint 0"));
  skeleton.parents[0] = -1, skeleton.parents[1] = 0, skeleton.parents[2] = 4, skeleton.parents[3] = -1;
  assert_fails(&ctx, sn_skeleton_sort(&ctx, &skeleton), "joint 2 (joint2): parent 4 does not exist");
  skeleton.parents[2] = -2;
  assert_fails(&ctx, sn_skeleton_sort(&ctx, &skeleton), "joint 2 (joint2): parent -2 does not exist");
  assert_int_equal(ctx.error.status, SN_BAD_INPUT);
  sn_skeleton_free(&skeleton);
}

static void test_skin_normalize(void **state) {
  sn_context ctx = sn_context_default();
  sn_skin skin;
  static const float weights[5][4] = {
    {1, 3, 0, 4}, {0, 0, 0, 0}, {-1, NAN, 2, 2}, {0, 0, 0, 1e-30f}, {INFINITY, 1, 0, 0}};
  static const uint16_t joints[5][4] = {{7, 8, 9, 10}, {5, 6, 7, 8}, {4, 3, 2, 1}, {1, 2, 3, 4}, {1, 2, 3, 4}};
  static const float expected[5][4] = {
    {0.5f, 0.375f, 0.125f, 0}, {1, 0, 0, 0}, {0.5f, 0.5f, 0, 0}, {1, 0, 0, 0}, {1, 0, 0, 0}};
  static const uint16_t order[5][4] = {{10, 8, 7, 0}, {0, 0, 0, 0}, {1, 2, 0, 0}, {4, 0, 0, 0}, {2, 0, 0, 0}};
  assert_ok(&ctx, sn_skin_new(&ctx, 5, 4, &skin));
  memcpy(skin.weights, weights, sizeof weights);
  memcpy(skin.joints, joints, sizeof joints);
  sn_skin_normalize(&skin);
  assert_memory_equal(skin.joints, order, sizeof order);
  for (int k = 0; k < 20; k++) assert_near(skin.weights[k], expected[k / 4][k % 4], 1e-7);
  sn_skin_free(&skin);
}

static void test_poses(void **state) {
  sn_context ctx = sn_context_default();
  sn_poses poses;
  assert_ok(&ctx, sn_poses_new(&ctx, 3, 4, &poses));
  sn_affine identity = sn_affine_identity();
  for (int f = 0; f < 4; f++)
    for (int j = 0; j < 3; j++) assert_memory_equal(&sn_pose(&poses, f)[j], &identity, sizeof identity);
  sn_poses_free(&poses);
}

// ---- frames, keys ---------------------------------------------------------------------------------------------------------

static void test_frames_check(void **state) {
  sn_context ctx = sn_context_default();
  sn_frames frames;
  assert_ok(&ctx, sn_frames_new(&ctx, 100, 5, &frames));
  assert_ok(&ctx, sn_frames_check(&ctx, &frames));
  sn_frame_mutable(&frames, 3)[42][2] = NAN;
  assert_fails(&ctx, sn_frames_check(&ctx, &frames), "frame 3, vertex 42: position is not finite");
  sn_frame_mutable(&frames, 3)[42][2] = 0;
  sn_frame_mutable(&frames, 4)[99][0] = INFINITY;
  sn_frame_mutable(&frames, 4)[98][0] = -3e38f;
  sn_frame_mutable(&frames, 4)[97][0] = -3e38f;
  assert_fails(&ctx, sn_frames_check(&ctx, &frames), "frame 4, vertex 99");
  sn_frame_mutable(&frames, 4)[99][0] = -3e38f; // large is not infinite
  assert_ok(&ctx, sn_frames_check(&ctx, &frames));
  sn_frames_free(&frames);
}

static void expect_keys(const char *spec, int frame_count, int count, const int *expected) {
  sn_context ctx = sn_context_default();
  sn_keys keys, rest;
  assert_ok(&ctx, sn_keys_parse(&ctx, spec, frame_count, 0, &keys, &rest));
  assert_int_equal(keys.count, count);
  for (int k = 0; k < count; k++) assert_int_equal(keys.frames[k], expected[k]);
  // The rest is the complement, ascending.
  int at = 0, other = 0;
  for (int f = 0; f < frame_count; f++) {
    if (at < keys.count && keys.frames[at] == f) {
      at++;
    } else {
      assert_true(other < rest.count && rest.frames[other] == f);
      other++;
    }
  }
  assert_int_equal(at + other, frame_count);
  assert_int_equal(rest.count, other);
  sn_keys_free(&keys);
  sn_keys_free(&rest);
}

static void test_keys(void **state) {
  expect_keys("all", 4, 4, (const int[]){0, 1, 2, 3});
  expect_keys("every:3", 8, 3, (const int[]){0, 3, 6});
  expect_keys("every:1", 3, 3, (const int[]){0, 1, 2});
  expect_keys("every:100", 3, 1, (const int[]){0});
  expect_keys("0,5,2-4", 8, 5, (const int[]){0, 2, 3, 4, 5});
  expect_keys("7", 8, 1, (const int[]){7});
  expect_keys("3,3,1-3", 8, 3, (const int[]){1, 2, 3});
  expect_keys("0-7", 8, 8, (const int[]){0, 1, 2, 3, 4, 5, 6, 7});
}

static void test_random_keys(void **state) {
  sn_context ctx = sn_context_default();
  int hits[20] = {0};
  for (uint64_t seed = 0; seed < 4000; seed++) {
    sn_keys one, two;
    assert_ok(&ctx, sn_keys_parse(&ctx, "random:7", 20, seed, &one, NULL));
    assert_ok(&ctx, sn_keys_parse(&ctx, "random:7", 20, seed, &two, NULL));
    assert_int_equal(one.count, 7);
    assert_memory_equal(one.frames, two.frames, 7 * sizeof *one.frames);
    for (int k = 0; k < 7; k++) {
      if (k > 0) assert_true(one.frames[k - 1] < one.frames[k]);
      hits[one.frames[k]]++;
    }
    sn_keys_free(&one);
    sn_keys_free(&two);
  }
  for (int f = 0; f < 20; f++) assert_near(hits[f], 1400, 5 * sqrt(4000 * 0.35 * 0.65)); // each frame as likely
  sn_keys whole;
  assert_ok(&ctx, sn_keys_parse(&ctx, "random:20", 20, 5, &whole, NULL));
  assert_int_equal(whole.count, 20);
  sn_keys_free(&whole);
}

static void test_bad_keys(void **state) {
  sn_context ctx = sn_context_default();
  sn_keys keys, rest;
  static const char *const malformed[] = {
    "",   "every:", "every:0", "every:-1", "every:2x", "random:", "random:0", "1,",   ",1",  "1-",
    "-1", "1;2",    "1--2",    "two",      "every",    "All",     "random:x", "1 ,2", "1.5", "0x3"};
  for (size_t k = 0; k < sizeof malformed / sizeof *malformed; k++) {
    assert_fails(&ctx, sn_keys_parse(&ctx, malformed[k], 10, 0, &keys, &rest), "expected all, every:N, random:N");
    assert_int_equal(ctx.error.status, SN_BAD_INPUT);
    assert_null(keys.frames);
  }
  assert_fails(&ctx, sn_keys_parse(&ctx, "3,10", 10, 0, &keys, &rest), "frame 10 does not exist; the last one is 9");
  assert_fails(&ctx, sn_keys_parse(&ctx, "2-99999999999999999999", 10, 0, &keys, &rest), "does not exist");
  assert_fails(&ctx, sn_keys_parse(&ctx, "5-2", 10, 0, &keys, &rest), "5-2 runs backwards");
  assert_fails(&ctx, sn_keys_parse(&ctx, "random:11", 10, 0, &keys, &rest), "there are only 10 frames");
}

// ---- examples ---------------------------------------------------------------------------------------------------------------

static sn_examples make_examples(sn_context *ctx) {
  sn_examples examples = {.memory = sn_arena_new(ctx)};
  examples.rest = make_mesh(ctx, 8, cube_positions, 12, cube_triangles);
  assert_ok(ctx, sn_frames_new(ctx, 8, 3, &examples.frames));
  assert_ok(ctx, sn_skeleton_new(ctx, 2, &examples.skeleton));
  assert_ok(ctx, sn_poses_new(ctx, 2, 3, &examples.poses));
  assert_ok(ctx, sn_skin_new(ctx, 8, 2, &examples.skin));
  examples.torques = (sn_torques){.joint_count = 2, .frame_count = 3, .memory = sn_arena_new(ctx)};
  examples.torques.values = SN_NEW(ctx, &examples.torques.memory, double, 6);
  examples.torques.has = SN_NEW(ctx, &examples.torques.memory, bool, 2);
  examples.control_count = 2;
  examples.controls = SN_NEW(ctx, &examples.memory, int, 2);
  return examples;
}

static void test_examples_check(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e = make_examples(&ctx);
  assert_ok(&ctx, sn_examples_check(&ctx, &e));

  e.rest.triangles[0][0] = 9;
  assert_fails(&ctx, sn_examples_check(&ctx, &e), "rest mesh: triangle 0: vertex 9");
  e.rest.triangles[0][0] = 0;
  e.frames.vertex_count = 7;
  assert_fails(&ctx, sn_examples_check(&ctx, &e), "the frames have 7 vertices, the rest mesh 8");
  e.frames.vertex_count = 8;
  sn_frame_mutable(&e.frames, 1)[2][0] = NAN;
  assert_fails(&ctx, sn_examples_check(&ctx, &e), "frame 1, vertex 2");
  sn_frame_mutable(&e.frames, 1)[2][0] = 0;
  e.poses.frame_count = 2;
  assert_fails(&ctx, sn_examples_check(&ctx, &e), "the poses are 2 frames of 2 joints; 3 frames of 2");
  e.poses.frame_count = 3;
  sn_pose(&e.poses, 2)[1].m[1][3] = INFINITY;
  assert_fails(&ctx, sn_examples_check(&ctx, &e), "frame 2, joint joint1: the pose is not finite");
  sn_pose(&e.poses, 2)[1].m[1][3] = 0;
  e.skin.joints[2 * 5 + 1] = 2;
  assert_fails(&ctx, sn_examples_check(&ctx, &e), "vertex 5 is bound to joint 2 of 2");
  e.skin.joints[2 * 5 + 1] = 0;
  e.skin.vertex_count = 6;
  assert_fails(&ctx, sn_examples_check(&ctx, &e), "the skin has 6 vertices");
  e.skin.vertex_count = 8;
  e.torques.joint_count = 1;
  assert_fails(&ctx, sn_examples_check(&ctx, &e), "the torques are 3 frames of 1 joints");
  e.torques.joint_count = 2;
  e.torques.values[3] = NAN;
  assert_fails(&ctx, sn_examples_check(&ctx, &e), "frame 1, joint joint1: the torque is not finite");
  e.torques.values[3] = 0;
  e.controls[1] = 8;
  assert_fails(&ctx, sn_examples_check(&ctx, &e), "control vertex 8 does not exist (there are 8 vertices)");
  e.controls[1] = -1;
  assert_fails(&ctx, sn_examples_check(&ctx, &e), "control vertex -1");
  e.controls[1] = 0;
  assert_ok(&ctx, sn_examples_check(&ctx, &e));
  // Poses and torques without meshes, as `eval` is given.
  sn_frames_free(&e.frames);
  assert_ok(&ctx, sn_examples_check(&ctx, &e));
  sn_examples_free(&e);
  sn_examples_free(&e);
}

// ---- memory ----------------------------------------------------------------------------------------------------------------

// Everything of this layer that allocates; false when memory ran out.
static bool build_everything(sn_context *ctx) {
  sn_mesh mesh = {0};
  sn_topology top = {0};
  sn_skeleton skeleton = {0};
  sn_skin skin = {0};
  sn_poses poses = {0};
  sn_frames frames = {0};
  sn_keys keys = {0}, rest = {0};
  sn_arena memory = sn_arena_new(ctx);
  int count, nearest[8];
  bool good = sn_mesh_new(ctx, 8, 12, &mesh) == SN_OK;
  if (good) memcpy(mesh.positions, cube_positions, sizeof cube_positions);
  if (good) memcpy(mesh.triangles, cube_triangles, sizeof cube_triangles);
  good =
    good && sn_topology_build(ctx, &mesh, &top) == SN_OK && sn_skeleton_new(ctx, 3, &skeleton) == SN_OK &&
    sn_skeleton_sort(ctx, &skeleton) == SN_OK && sn_skin_new(ctx, 8, 2, &skin) == SN_OK &&
    sn_poses_new(ctx, 3, 2, &poses) == SN_OK && sn_frames_new(ctx, 8, 2, &frames) == SN_OK &&
    sn_keys_parse(ctx, "random:3", 10, 1, &keys, &rest) == SN_OK &&
    sn_mesh_weld(ctx, &mesh, NULL, NULL, &memory, &count) &&
    sn_nearest_vertices(ctx, (sn_points){cube_positions, 8}, (sn_points){cube_positions, 8}, nearest, NULL) == SN_OK;
  sn_mesh_free(&mesh);
  sn_topology_free(&top);
  sn_skeleton_free(&skeleton);
  sn_skin_free(&skin);
  sn_poses_free(&poses);
  sn_frames_free(&frames);
  sn_keys_free(&keys);
  sn_keys_free(&rest);
  sn_arena_free(&memory);
  return good;
}

static void test_every_allocation_fails(void **state) {
  starvation s = {0};
  while (starve(&s)) s.status = build_everything(&s.ctx) ? SN_OK : s.ctx.error.status;
  assert_true(s.n > 30); // all of them were tried
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_cube),
    cmocka_unit_test(test_awkward_meshes),
    cmocka_unit_test(test_random_triangles),
    cmocka_unit_test(test_normals),
    cmocka_unit_test(test_bounds),
    cmocka_unit_test(test_mesh_check),
    cmocka_unit_test(test_weld),
    cmocka_unit_test(test_weld_against_brute_force),
    cmocka_unit_test(test_nearest),
    cmocka_unit_test(test_skeleton_sort),
    cmocka_unit_test(test_bad_skeletons),
    cmocka_unit_test(test_skin_normalize),
    cmocka_unit_test(test_poses),
    cmocka_unit_test(test_frames_check),
    cmocka_unit_test(test_keys),
    cmocka_unit_test(test_random_keys),
    cmocka_unit_test(test_bad_keys),
    cmocka_unit_test(test_examples_check),
    cmocka_unit_test(test_every_allocation_fails),
  };
  return cmocka_run_group_tests_name("scene", tests, NULL, NULL);
}
