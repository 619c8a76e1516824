// SPDX-License-Identifier: MIT
// Normals from deformed triangles (shade `recompute`): equal to the plain sum over triangles on meshes of every kind, at
// every path, stride and range, without touching a byte beyond the vertices.
#include "skin_fixture.h"

#include <sys/mman.h>

#include "runtime/format.h"

// ---- meshes ----------------------------------------------------------------------------------------------------------------

typedef struct builder {
  int vertices, triangles, capacity;
  int (*corner)[3];
} builder;

static void add_triangle(builder *b, int i, int j, int k) {
  if (b->triangles == b->capacity) {
    b->capacity = 2 * b->capacity + 64;
    b->corner = realloc(b->corner, (size_t)b->capacity * sizeof *b->corner);
  }
  b->corner[b->triangles][0] = i, b->corner[b->triangles][1] = j, b->corner[b->triangles][2] = k;
  b->triangles++;
}

// A sheet of wide x high quads; with `closed` its borders are joined to a torus.
static void add_sheet(builder *b, int wide, int high, bool closed) {
  int first = b->vertices;
  for (int y = 0; y < high - !closed; y++)
    for (int x = 0; x < wide - !closed; x++) {
      int right = (x + 1) % wide, below = (y + 1) % high * wide;
      int p = first + y * wide + x, q = first + y * wide + right, r = first + below + x, s = first + below + right;
      add_triangle(b, p, q, s), add_triangle(b, p, s, r);
    }
  b->vertices += wide * high;
}

// `count` triangles around one vertex, which is the last; several such cones may share it.
static void add_cone(builder *b, int tip, int count, bool closed) {
  int first = b->vertices;
  for (int n = 0; n + !closed < count; n++) add_triangle(b, tip, first + n, first + (n + 1) % count);
  b->vertices += count;
}

static void add_soup(builder *b, int vertices, int triangles, sn_random *rng) {
  for (int t = 0; t < triangles; t++) {
    int corner[3];
    for (int c = 0; c < 3; c++) corner[c] = b->vertices + sn_random_below(rng, vertices); // some are degenerate
    add_triangle(b, corner[0], corner[1], corner[2]);
  }
  b->vertices += vertices;
}

static void shuffle(builder *b, sn_random *rng) {
  int *to = malloc((size_t)b->vertices * sizeof *to);
  for (int i = 0; i < b->vertices; i++) {
    int n = sn_random_below(rng, i + 1);
    to[i] = to[n], to[n] = i;
  }
  for (int t = 0; t < b->triangles; t++) {
    int turn = sn_random_below(rng, 3), with = sn_random_below(rng, t + 1), corner[3];
    for (int c = 0; c < 3; c++) corner[c] = to[b->corner[t][(c + turn) % 3]];
    memcpy(b->corner[t], b->corner[with], sizeof corner);
    memcpy(b->corner[with], corner, sizeof corner);
  }
  free(to);
}

enum { kinds = 12 };

static builder make_mesh(int kind, sn_random *rng) {
  builder b = {0};
  switch (kind) {
  case 0: // one vertex, no triangle
    b.vertices = 1;
    break;
  case 1:
    add_cone(&b, 0, 3, false);
    break;
  case 2: // a boundary
    add_sheet(&b, 31, 17, false);
    break;
  case 3:
    add_sheet(&b, 24, 13, true);
    break;
  case 4: // components, and vertices without triangles before, between and after
    b.vertices = 5;
    add_sheet(&b, 9, 7, true);
    b.vertices += 17;
    add_sheet(&b, 4, 30, false);
    b.vertices += 3;
    break;
  case 5: // fans that share their tip, closed and open
    b.vertices = 2;
    for (int n = 0; n < 4; n++) add_cone(&b, n % 2, 5 + n, n < 2);
    break;
  case 6: // closed cones tip to tip
    b.vertices = 1;
    for (int n = 0; n < 3; n++) add_cone(&b, 0, 3 + n, true);
    break;
  case 7: // edges with many triangles, in both directions
    for (int n = 0; n < 20; n++) add_triangle(&b, n % 3 ? 0 : 1, n % 3 ? 1 : 0, 2 + n);
    b.vertices = 22;
    break;
  case 8: // anything goes
    add_soup(&b, 40, 300, rng);
    break;
  case 9: // triangles twice, backwards, and with a vertex repeated
    add_sheet(&b, 12, 12, false);
    for (int n = 0; n < 60; n++) {
      const int *t = b.corner[sn_random_below(rng, b.triangles)];
      int i = t[0], j = t[1], k = t[2];
      add_triangle(&b, i, j, n % 3 == 0 ? k : n % 3 == 1 ? i : j);
      if (n % 2) add_triangle(&b, k, j, i);
    }
    break;
  case 10: // a long fan among short ones
    add_sheet(&b, 5, 5, true);
    add_cone(&b, 7, 5000, true);
    break;
  default:
    add_soup(&b, 3, 5, rng);
    add_sheet(&b, 40, 40, true);
    add_soup(&b, 300, 500, rng);
    add_sheet(&b, 8, 8, false);
    break;
  }
  if (kind > 1 && kind % 2) shuffle(&b, rng);
  return b;
}

// The model of a mesh at random places: one joint, shade `recompute`.
static void make_model(sn_context *ctx, builder *b, sn_random *rng, fixture *f) {
  *f = (fixture){0};
  assert_ok(ctx, sn_mesh_new(ctx, b->vertices, b->triangles, &f->mesh));
  if (b->triangles) memcpy(f->mesh.triangles, b->corner, (size_t)b->triangles * sizeof *b->corner);
  for (int i = 0; i < b->vertices; i++) sn_vec3_store(random_vec3(rng), f->mesh.positions[i]);
  fixture_weights(ctx, b->vertices, 1, 1, rng, &f->skin);
  assert_ok(ctx, sn_skeleton_new(ctx, 1, &f->skeleton));
  f->skeleton.parents[0] = -1, f->skeleton.rest[0] = sn_affine_identity();
  assert_ok(ctx, sn_skeleton_sort(ctx, &f->skeleton));
  f->desc = sn_model_desc_default();
  f->desc.rest = &f->mesh, f->desc.skeleton = &f->skeleton, f->desc.skin = &f->skin;
  f->desc.shade = SN_RT_SHADE_RECOMPUTE;
  fixture_build(ctx, f);
  free(b->corner);
}

// ---- memory that ends where it ends: the page after it cannot be touched --------------------------------------------------------

typedef struct guarded {
  char *pages, *bytes;
  size_t size, room;
} guarded;

static guarded guarded_new(size_t size) {
  size_t page = 65536, room = (size + page - 1) / page * page;
  char *pages = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(pages != MAP_FAILED);
  assert_int_equal(mprotect(pages + room, page, PROT_NONE), 0);
  memset(pages, 0x5a, room);
  return (guarded){pages, pages + room - size, size, room + page};
}

static void guarded_free(guarded *g) { munmap(g->pages, g->room); }

static float *vertex_of(const guarded *g, size_t stride, int i) {
  return (float *)(void *)(g->bytes + (size_t)i * stride);
}

// ---- the definition ----------------------------------------------------------------------------------------------------------

typedef struct plain {
  sn_vec3 sum; // of the triangles' normals times twice their areas
  double size; // the same with all triangles as large as their edges allow: what rounding is relative to
} plain;

static plain *plain_sums(const sn_mesh *mesh, const guarded *positions, size_t stride) {
  plain *out = calloc((size_t)mesh->vertex_count, sizeof *out);
  for (int t = 0; t < mesh->triangle_count; t++)
    for (int c = 0; c < 3; c++) {
      const int *corner = mesh->triangles[t];
      sn_vec3 p = sn_vec3_from(vertex_of(positions, stride, corner[c]));
      sn_vec3 a = sn_vec3_sub(sn_vec3_from(vertex_of(positions, stride, corner[(c + 1) % 3])), p);
      sn_vec3 b = sn_vec3_sub(sn_vec3_from(vertex_of(positions, stride, corner[(c + 2) % 3])), p);
      plain *to = out + corner[c];
      to->sum = sn_vec3_add(to->sum, sn_vec3_cross(a, b));
      to->size += sn_vec3_length(a) * sn_vec3_length(b) + sn_vec3_dot(a, a) + sn_vec3_dot(b, b);
    }
  return out;
}

static void check_normal(const plain *expected, const float normal[3], bool bare) {
  double length = sn_vec3_length(expected->sum);
  sn_vec3 n = sn_vec3_from(normal);
  if (bare) {
    assert_true(normal[0] == 0 && normal[1] == 0 && normal[2] == 1);
  } else if (length > 1e-4 * expected->size) {
    assert_near(sn_vec3_length(n), 1, 2e-6);
    double bound = 1e-6 + 5e-7 * expected->size / length;
    assert_below(sn_vec3_distance(n, sn_vec3_scale(expected->sum, 1 / length)), bound);
  } else { // nothing but rounding is left of the sum
    assert_true(isfinite(sn_vec3_length(n)));
    assert_below(sn_vec3_length(n), 1 + 1e-5);
  }
}

// ---- tests -----------------------------------------------------------------------------------------------------------------------

static const sn_rt_path all_paths[] = {SN_RT_PATH_SCALAR, SN_RT_PATH_SSE2, SN_RT_PATH_AVX2,
                                       SN_RT_PATH_NEON,   SN_RT_PATH_WASM, SN_RT_PATH_AVX512};

static bool *bare_vertices(const sn_mesh *mesh) {
  bool *bare = malloc((size_t)mesh->vertex_count);
  memset(bare, true, (size_t)mesh->vertex_count);
  for (int t = 0; t < mesh->triangle_count; t++) {
    const int *c = mesh->triangles[t];
    if (c[0] == c[1] || c[1] == c[2] || c[2] == c[0]) continue;
    bare[c[0]] = bare[c[1]] = bare[c[2]] = false;
  }
  return bare;
}

// Random ranges, each into fresh memory: equal to the whole inside, nothing outside.
static void check_ranges(const sn_rt_model *model, const guarded *positions, const guarded *whole, size_t stride,
                         size_t normal_stride, sn_random *rng) {
  int vertices = (int)model->info.vertex_count;
  for (int n = 0; n < 12; n++) {
    int first = sn_random_below(rng, vertices + 1), count = sn_random_below(rng, vertices - first + 1);
    if (n % 3 == 0 && count > 9) count = sn_random_below(rng, 10);
    guarded part = guarded_new(whole->size);
    sn_rt_output output = {.positions = vertex_of(positions, stride, 0),
                           .position_stride = stride,
                           .normals = vertex_of(&part, normal_stride, 0),
                           .normal_stride = normal_stride};
    assert_int_equal(sn_rt_normals(model, &output, (uint32_t)first, (uint32_t)count, NULL), SN_RT_OK);
    for (int i = 0; i < vertices; i++) {
      char *at = (char *)vertex_of(&part, normal_stride, i);
      if (i >= first && i < first + count)
        assert_memory_equal(at, vertex_of(whole, normal_stride, i), 12);
      else
        for (int c = 0; c < 12; c++) assert_int_equal(at[c], 0x5a);
    }
    guarded_free(&part);
  }
}

static void check_mesh(const fixture *f, size_t stride, size_t normal_stride, double scale, sn_random *rng) {
  const sn_mesh *mesh = &f->mesh;
  int vertices = mesh->vertex_count;
  guarded positions = guarded_new((size_t)(vertices - 1) * stride + 12);
  for (int i = 0; i < vertices; i++) {
    sn_vec3_store(sn_vec3_scale(random_vec3(rng), scale), vertex_of(&positions, stride, i));
  }
  plain *expected = plain_sums(mesh, &positions, stride);
  bool *bare = bare_vertices(mesh);
  for (size_t p = 0; p < sizeof all_paths / sizeof *all_paths; p++) {
    sn_rt_model model = f->rt;
    if (!sn_rt_use_path(&model, all_paths[p])) continue;
    guarded normals = guarded_new((size_t)(vertices - 1) * normal_stride + 12);
    sn_rt_output output = {.positions = vertex_of(&positions, stride, 0),
                           .position_stride = stride,
                           .normals = vertex_of(&normals, normal_stride, 0),
                           .normal_stride = normal_stride};
    assert_int_equal(sn_rt_normals(&model, &output, 0, (uint32_t)vertices, NULL), SN_RT_OK);
    for (int i = 0; i < vertices; i++) {
      check_normal(expected + i, vertex_of(&normals, normal_stride, i), bare[i]);
      const char *at = (const char *)vertex_of(&normals, normal_stride, i);
      for (size_t n = 12; i + 1 < vertices && n < normal_stride; n++) assert_int_equal(at[n], 0x5a);
    }
    check_ranges(&model, &positions, &normals, stride, normal_stride, rng);
    guarded_free(&normals);
  }
  free(expected), free(bare), guarded_free(&positions);
}

static void normals_are_the_sum_over_the_triangles(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(41);
  static const size_t strides[][2] = {{12, 12}, {12, 24}, {16, 12}, {32, 32}, {20, 44}};
  for (int n = 0; n < 4 * kinds; n++) {
    builder b = make_mesh(n % kinds, &rng);
    fixture f;
    make_model(&ctx, &b, &rng, &f);
    const size_t *stride = strides[(n + n / kinds) % 5];
    check_mesh(&f, stride[0], stride[1], n / kinds == 3 ? 1e-6 : 1, &rng);
    fixture_free(&f);
  }
}

// The model of a mesh whose rest file has random normals.
static float (*own_normals(const fixture *f, sn_random *rng))[3] {
  float(*normals)[3] = calloc((size_t)f->mesh.vertex_count, sizeof *normals);
  for (int i = 0; i < f->mesh.vertex_count; i++) {
    sn_vec3_store(sn_vec3_normalize(random_vec3(rng), sn_vec3_make(1, 0, 0)), normals[i]);
  }
  return normals;
}

// Positions of the rest pose rotated by R: the normals are the file's, rotated by R.
static void check_own_normals(const fixture *f, const float (*own)[3], sn_mat3 turn) {
  int vertices = f->mesh.vertex_count;
  guarded positions = guarded_new((size_t)vertices * 12), normals = guarded_new((size_t)vertices * 12);
  for (int i = 0; i < vertices; i++) {
    sn_vec3_store(sn_mat3_apply(turn, sn_vec3_from(f->mesh.positions[i])), vertex_of(&positions, 12, i));
  }
  plain *expected = plain_sums(&f->mesh, &positions, 12);
  for (size_t p = 0; p < sizeof all_paths / sizeof *all_paths; p++) {
    sn_rt_model model = f->rt;
    if (!sn_rt_use_path(&model, all_paths[p])) continue;
    sn_rt_output output = {.positions = vertex_of(&positions, 12, 0), .normals = vertex_of(&normals, 12, 0)};
    assert_int_equal(sn_rt_normals(&model, &output, 0, (uint32_t)vertices, NULL), SN_RT_OK);
    for (int i = 0; i < vertices; i++) {
      if (sn_vec3_length(expected[i].sum) <= 0.05 * expected[i].size) continue; // no frame to speak of
      sn_vec3 n = sn_mat3_apply(turn, sn_vec3_from(own[i]));
      assert_below(sn_vec3_distance(n, sn_vec3_from(vertex_of(&normals, 12, i))), 3e-4); // 0.02 degrees
    }
  }
  free(expected), guarded_free(&positions), guarded_free(&normals);
}

static void the_files_own_normals_are_carried_along(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(45);
  for (int kind = 1; kind < kinds; kind++) {
    builder b = make_mesh(kind, &rng);
    fixture f;
    make_model(&ctx, &b, &rng, &f);
    assert_null(sn_rt_data(&f.rt, SN_SECTION_SHADE_OWN));
    float(*own)[3] = own_normals(&f, &rng);
    f.desc.normals = (const float(*)[3])own;
    sn_model_free(&f.model);
    fixture_build(&ctx, &f);
    assert_non_null(sn_rt_data(&f.rt, SN_SECTION_SHADE_OWN));
    check_own_normals(&f, (const float(*)[3])own, sn_mat3_identity());
    check_own_normals(&f, (const float(*)[3])own, sn_rotation_exp(random_vec3(&rng)));
    free(own), fixture_free(&f);
  }
}

static void more_vertices_than_16_bits_have_wider_indices(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(42);
  for (int n = 0; n < 2; n++) { // 65,536 and 65,796 vertices
    builder b = {0};
    add_sheet(&b, 256, 256 + n, true);
    b.vertices += 4 * n;
    fixture f;
    make_model(&ctx, &b, &rng, &f);
    uint64_t blocks = (256 * (256 + (uint64_t)n) + 7) / 8;
    assert_int_equal(sn_rt_size(&f.rt, SN_SECTION_SHADE_FANS),
                     blocks * 8 * 6 * (n ? 4 : 2)); // bare vertices need no steps
    check_mesh(&f, 12, n ? 16 : 12, 1, &rng);
    fixture_free(&f);
  }
}

// Six neighbours each: twelve bytes per vertex, and half a byte for where blocks begin.
static void a_closed_mesh_has_one_entry_per_triangle(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(43);
  builder b = {0};
  add_sheet(&b, 40, 20, true);
  shuffle(&b, &rng);
  fixture f;
  make_model(&ctx, &b, &rng, &f);
  assert_int_equal(sn_rt_size(&f.rt, SN_SECTION_SHADE_FANS), 800 * 6 * 2);
  assert_int_equal(sn_rt_size(&f.rt, SN_SECTION_SHADE_START), 101 * 4);
  fixture_free(&f);
}

static size_t offset_of(const fixture *f, sn_rt_section_id id) {
  return (size_t)((const uint8_t *)sn_rt_data(&f->rt, id) - f->model.bytes);
}

static void *own_section(const fixture *f, sn_rt_section_id id) { return f->model.bytes + offset_of(f, id); }

static void wrong_fans_are_refused(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(44);
  builder b = {0};
  add_sheet(&b, 10, 10, true);
  fixture f;
  make_model(&ctx, &b, &rng, &f);
  size_t start = offset_of(&f, SN_SECTION_SHADE_START), fans = offset_of(&f, SN_SECTION_SHADE_FANS);
  const struct {
    size_t at;
    uint32_t value;
    const char *reason;
  } wrong[] = {
    {start, 1, "section shade.start does not end"}, {start + 4, 79, "part 1 of section shade.start has no end"},
    {start + 4, UINT32_MAX, "has no end"},          {start + 13 * 4, 77, "does not end at 78"},
    {start + 13 * 4, 0x10000000, "does not end"},   {fans, 100, "number 0 of section shade.fans is no vertex"},
    {fans + 12 * 8 * 6 * 2, 0xffff0000, "is no"}};
  for (size_t n = 0; n < sizeof wrong / sizeof *wrong; n++) {
    uint8_t *copy = aligned_alloc(64, (f.model.size + 63) / 64 * 64);
    memcpy(copy, f.model.bytes, f.model.size);
    memcpy(copy + wrong[n].at, &wrong[n].value, 4);
    assert_true(sn_model_seal(copy, f.model.size));
    sn_rt_model rt;
    sn_rt_error error;
    assert_int_equal(sn_rt_open(copy, f.model.size, &rt, &error), SN_RT_BAD_MODEL);
    if (!strstr(error.message, wrong[n].reason)) fail_msg("'%s' lacks '%s'", error.message, wrong[n].reason);
    free(copy);
  }
  fixture_free(&f);
}

// Steps of any number, even none, and rows of nonsense: finite normals from finite positions.
static void other_rows_of_neighbours_are_harmless(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(45);
  builder b = {0};
  add_sheet(&b, 13, 10, true);
  fixture f;
  make_model(&ctx, &b, &rng, &f);
  uint32_t *start = own_section(&f, SN_SECTION_SHADE_START);
  uint16_t *fans = own_section(&f, SN_SECTION_SHADE_FANS);
  uint32_t blocks = 17, steps = start[blocks];
  guarded positions = guarded_new(130 * 12);
  for (int i = 0; i < 130; i++) sn_vec3_store(random_vec3(&rng), vertex_of(&positions, 12, i));
  for (int n = 0; n < 40; n++) {
    for (uint32_t s = 0; s < 8 * steps; s++) fans[s] = (uint16_t)sn_random_below(&rng, 130);
    for (uint32_t k = 1; k < blocks; k++) {
      start[k] = start[k - 1] + (uint32_t)sn_random_below(&rng, 10);
      if (start[k] > steps) start[k] = steps;
    }
    assert_true(sn_model_seal(f.model.bytes, f.model.size));
    assert_ok(&ctx, sn_model_open(&ctx, "nonsense", f.model.bytes, f.model.size, &f.rt));
    guarded normals = guarded_new(130 * 12);
    for (size_t p = 0; p < sizeof all_paths / sizeof *all_paths; p++) {
      sn_rt_model model = f.rt;
      if (!sn_rt_use_path(&model, all_paths[p])) continue;
      sn_rt_output output = {.positions = vertex_of(&positions, 12, 0),
                             .position_stride = 12,
                             .normals = vertex_of(&normals, 12, 0),
                             .normal_stride = 12};
      assert_int_equal(sn_rt_normals(&model, &output, 0, 130, NULL), SN_RT_OK);
      for (int i = 0; i < 130; i++) {
        double length = sn_vec3_length(sn_vec3_from(vertex_of(&normals, 12, i)));
        assert_true(isfinite(length));
        assert_below(length, 1 + 1e-5);
      }
    }
    guarded_free(&normals);
  }
  guarded_free(&positions), fixture_free(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(normals_are_the_sum_over_the_triangles),
                                     cmocka_unit_test(the_files_own_normals_are_carried_along),
                                     cmocka_unit_test(more_vertices_than_16_bits_have_wider_indices),
                                     cmocka_unit_test(a_closed_mesh_has_one_entry_per_triangle),
                                     cmocka_unit_test(wrong_fans_are_refused),
                                     cmocka_unit_test(other_rows_of_neighbours_are_harmless)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
