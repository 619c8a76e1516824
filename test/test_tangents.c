// SPDX-License-Identifier: MIT
// Tangents: those of the rest pose against what the texture says, those of poses against the blends' own formulas in doubles, on every
// path, packed or not; ranges, strides, masks and halves; files with and without texture coordinates; sections that are wrong.
#include "sinew/examples.h"
#include "sinew/train.h"
#include "section_fixture.h"
#include "skin_fixture.h"

static const sn_rt_path all_paths[] = {SN_RT_PATH_SCALAR, SN_RT_PATH_SSE2, SN_RT_PATH_AVX2,
                                       SN_RT_PATH_NEON,   SN_RT_PATH_WASM, SN_RT_PATH_AVX512};

typedef float point[3];
typedef float row4[4];

// ---- the rest pose ---------------------------------------------------------------------------------------------------------

// Squares in a row along x, n by n each, every square with separate vertices and texture: as it lies, rotated by 90 degrees,
// mirrored, without any.
enum { squares = 4, side = 5 };

static void texture_of(int square, float x, float y, float uv[2]) {
  const float all[squares][2] = {{x, y}, {y, -x}, {-x, y}, {0.5f, 0.5f}};
  memcpy(uv, all[square], sizeof all[square]);
}

static void squares_mesh(sn_context *ctx, sn_mesh *mesh, point *normals, float (*uvs)[2]) {
  int per = side * side, t = 0;
  assert_ok(ctx, sn_mesh_new(ctx, squares * per, squares * 2 * (side - 1) * (side - 1), mesh));
  for (int i = 0; i < mesh->vertex_count; i++) {
    int s = i / per, x = i % per % side, y = i % per / side;
    point p = {(float)(s * (side - 1) + x), (float)y, 0};
    memcpy(mesh->positions[i], p, sizeof p);
    normals[i][0] = normals[i][1] = 0, normals[i][2] = 1;
  }
  for (int s = 0; s < squares; s++)
    for (int y = 0; y + 1 < side; y++)
      for (int x = 0; x + 1 < side; x++, t += 2) {
        int a = s * per + y * side + x;
        int quad[2][3] = {{a, a + 1, a + 1 + side}, {a, a + 1 + side, a + side}};
        memcpy(mesh->triangles[t], quad, sizeof quad);
        for (int c = 0; c < 6; c++) {
          const float *p = mesh->positions[quad[c / 3][c % 3]];
          texture_of(s, p[0], p[1], uvs[3 * t + c]);
        }
      }
}

// Vertices at one place on two sides of a seam have the tangents of their sides.
static void seams_are_respected(void **state) {
  sn_context ctx = sn_context_default();
  sn_mesh mesh;
  point normals[squares * side * side];
  float uvs[squares * 6 * (side - 1) * (side - 1)][2];
  row4 out[squares * side * side];
  squares_mesh(&ctx, &mesh, normals, uvs);
  assert_ok(&ctx, sn_mesh_tangents(&ctx, &mesh, (const point *)normals, (const float(*)[2])uvs, NULL, out));
  // u = x; u = y and v = -x; u = -x, mirrored
  const row4 expected[3] = {{1, 0, 0, 1}, {0, 1, 0, 1}, {-1, 0, 0, -1}};
  for (int i = 0; i < mesh.vertex_count; i++) {
    int s = i / (side * side);
    for (int c = 0; s < 3 && c < 4; c++) assert_near(out[i][c], expected[s][c], 1e-6);
    assert_near(sn_vec3_length(sn_vec3_from(out[i])), 1, 1e-6);
    assert_near(out[i][2], 0, 1e-6);
  }
  sn_mesh_free(&mesh);
}

// Vertices that a file splits for nothing (a colour, say) have the same tangent as if they were one.
static void splits_without_a_seam_change_nothing(void **state) {
  sn_context ctx = sn_context_default();
  enum { n = 12, count = n * n };
  sn_mesh whole, split;
  assert_ok(&ctx, sn_mesh_new(&ctx, count, 2 * (n - 1) * (n - 1), &whole));
  for (int i = 0; i < count; i++) {
    double x = i % n, y = i / n;
    sn_vec3_store(sn_vec3_make(x, y, 0.3 * sin(x) * cos(y)), whole.positions[i]);
  }
  for (int t = 0, k = 0; t < (n - 1) * n; t++) {
    if (t % n == n - 1) continue;
    int quad[2][3] = {{t, t + 1, t + 1 + n}, {t, t + 1 + n, t + n}};
    memcpy(whole.triangles[k], quad, sizeof quad), k += 2;
  }
  int corners = 3 * whole.triangle_count;
  assert_ok(&ctx, sn_mesh_new(&ctx, corners, whole.triangle_count, &split));
  float(*uvs)[2] = calloc((size_t)corners, sizeof *uvs);
  point *normals = calloc(count, sizeof *normals), *split_normals = calloc((size_t)corners, sizeof *normals);
  sn_mesh_normals(&whole, (const point *)whole.positions, normals);
  for (int c = 0; c < corners; c++) {
    int i = whole.triangles[c / 3][c % 3];
    split.triangles[c / 3][c % 3] = c;
    memcpy(split.positions[c], whole.positions[i], sizeof(point)),
      memcpy(split_normals[c], normals[i], sizeof(point));
    uvs[c][0] = (float)(0.1 * (i % n)), uvs[c][1] = (float)(0.07 * (i / n));
  }
  row4 *a = calloc(count, sizeof *a), *b = calloc((size_t)corners, sizeof *b);
  assert_ok(&ctx, sn_mesh_tangents(&ctx, &whole, (const point *)normals, (const float(*)[2])uvs, NULL, a));
  assert_ok(&ctx, sn_mesh_tangents(&ctx, &split, (const point *)split_normals, (const float(*)[2])uvs, NULL, b));
  for (int c = 0; c < corners; c++) assert_memory_equal(b[c], a[whole.triangles[c / 3][c % 3]], sizeof *a);
  // in the middle of the surface: du by central differences
  for (int i = 2 * n + 2; i < count - 2 * n - 2; i++) {
    if (i % n < 1 || i % n > n - 2) continue;
    sn_vec3 du = sn_vec3_sub(sn_vec3_from(whole.positions[i + 1]), sn_vec3_from(whole.positions[i - 1]));
    sn_vec3 m = sn_vec3_from(normals[i]);
    du = sn_vec3_normalize(sn_vec3_mad(du, m, -sn_vec3_dot(du, m)), du);
    assert_true(sn_vec3_dot(du, sn_vec3_from(a[i])) > 0.995);
    assert_true(a[i][3] == 1);
  }
  free(uvs), free(normals), free(split_normals), free(a), free(b);
  sn_mesh_free(&whole), sn_mesh_free(&split);
}

// ---- poses -------------------------------------------------------------------------------------------------------------------

enum { vertices = 900, joints = 9 };

typedef struct scene {
  fixture f;
  sn_model bytes;
  sn_rt_model model;
  void *scratch;
  point *positions, *normals;
  row4 *tangents;
} scene;

static void tube_uvs(const sn_mesh *mesh, float (*uvs)[2]) {
  for (int c = 0; c < 3 * mesh->triangle_count; c++) {
    const float *p = mesh->positions[mesh->triangles[c / 3][c % 3]];
    uvs[c][0] = p[0] + 0.2f * p[1], uvs[c][1] = mesh->triangles[c / 3][0] < vertices / 2 ? p[2] : -p[2];
  }
}

static scene new_scene(sn_context *ctx, sn_rt_blend blend, sn_rt_shade shade, int bits) {
  scene s;
  fixture_new(ctx, vertices, joints, 5, 11, &s.f);
  float(*uvs)[2] = calloc((size_t)s.f.mesh.triangle_count * 3, sizeof *uvs);
  tube_uvs(&s.f.mesh, uvs);
  s.f.desc.blend = blend, s.f.desc.shade = shade, s.f.desc.weight_bits = bits, s.f.desc.grain = 256;
  fixture_build(ctx, &s.f);
  s.f.desc.uvs = (const float(*)[2])uvs;
  assert_ok(ctx, sn_model_build(ctx, &s.f.desc, &s.bytes));
  assert_ok(ctx, sn_model_open(ctx, "tangents", s.bytes.bytes, s.bytes.size, &s.model));
  assert_int_equal(s.model.info.tangents, 1);
  s.scratch = malloc(sn_rt_scratch_size(&s.model));
  s.positions = calloc(vertices, sizeof *s.positions), s.normals = calloc(vertices, sizeof *s.normals);
  s.tangents = calloc(vertices, sizeof *s.tangents);
  free(uvs);
  return s;
}

static void free_scene(scene *s) {
  free(s->scratch), free(s->positions), free(s->normals), free(s->tangents);
  sn_model_free(&s->bytes), fixture_free(&s->f);
}

static void pose_scene(scene *s, sn_rt_path path, double stretch) {
  sn_random rng = sn_random_new(3);
  sn_affine pose[joints];
  float matrices[joints][12];
  random_pose(&s->f.skeleton, 0.5, stretch, &rng, pose);
  sn_model_joints(pose, joints, matrices);
  sn_rt_input input = {.joints = (const float(*)[12])matrices};
  sn_rt_output output = {.positions = s->positions[0], .normals = s->normals[0], .tangents = s->tangents[0]};
  assert_true(sn_rt_use_path(&s->model, path));
  assert_int_equal(sn_rt_evaluate(&s->model, &input, s->scratch, &output, NULL), SN_RT_OK);
}

typedef struct rest {
  row4 tangents[vertices];
  uint16_t joints[vertices * 8];
  float weights[vertices * 8];
} rest;

static sn_vec3 rotated(const double q[4], sn_vec3 v) {
  sn_vec3 r = {q[0], q[1], q[2]};
  double squared = sn_vec3_dot(r, r) + q[3] * q[3];
  sn_vec3 inner = sn_vec3_mad(sn_vec3_cross(r, v), v, q[3]);
  return sn_vec3_mad(v, sn_vec3_cross(r, inner), 2 / squared);
}

// The formula of the blend in doubles: sum of matrices, or of stretches and then of quaternions on one hemisphere.
static sn_vec3 moved(const scene *s, const rest *r, int i) {
  sn_vec3 t = sn_vec3_from(r->tangents[i]);
  double m[9] = {0}, q[4] = {0};
  float pivot[8], dualquat[8], matrix[12];
  bool turned = s->model.info.blend != SN_RT_BLEND_LINEAR;
  for (int k = 0; k < 8; k++) {
    double w = r->weights[8 * i + k];
    uint32_t joint = r->joints[8 * i + k];
    if (!turned) sn_rt_palette_matrix(&s->model, s->scratch, joint, matrix);
    if (turned) {
      int is_signed = sn_rt_palette_split(&s->model, s->scratch, joint, dualquat, matrix);
      if (k == 0) memcpy(pivot, dualquat, sizeof pivot);
      double dot = 0;
      for (int n = 0; n < 4; n++) dot += dualquat[n] * pivot[n];
      for (int n = 0; n < 4; n++) q[n] += (!is_signed && dot < 0 ? -w : w) * dualquat[n];
    }
    for (int n = 0; n < 9; n++) m[n] += w * matrix[4 * (n / 3) + n % 3];
  }
  t = sn_vec3_make(m[0] * t.x + m[1] * t.y + m[2] * t.z, m[3] * t.x + m[4] * t.y + m[5] * t.z,
                   m[6] * t.x + m[7] * t.y + m[8] * t.z);
  if (turned) t = rotated(q, t);
  sn_vec3 n = sn_vec3_from(s->normals[i]);
  return sn_vec3_normalize(sn_vec3_mad(t, n, -sn_vec3_dot(t, n)), sn_vec3_make(0, 0, 0));
}

static void check_formula(const scene *s) {
  rest *r = calloc(1, sizeof *r);
  sn_rt_rest to = {.tangents = r->tangents, .joints = r->joints, .weights = r->weights, .influences = 8};
  assert_int_equal(sn_rt_get_rest(&s->model, &to, NULL), SN_RT_OK);
  int left = 0;
  for (int i = 0; i < vertices; i++) {
    sn_vec3 t = sn_vec3_from(s->tangents[i]), n = sn_vec3_from(s->normals[i]);
    assert_near(sn_vec3_length(t), 1, 2e-5);
    assert_near(sn_vec3_dot(t, n), 0, 2e-5);
    assert_below(sn_vec3_distance(t, moved(s, r, i)), 2e-4);
    assert_true(s->tangents[i][3] == r->tangents[i][3] && fabsf(r->tangents[i][3]) == 1);
    left += r->tangents[i][3] < 0;
  }
  assert_true(left > vertices / 10 && left < vertices - vertices / 10);
  free(r);
}

static void every_path_follows_the_formula(void **state) {
  sn_context ctx = sn_context_default();
  static const int bits[] = {32, 16, 12};
  for (int blend = SN_RT_BLEND_LINEAR; blend <= SN_RT_BLEND_CENTRES; blend++)
    for (size_t b = 0; b < sizeof bits / sizeof *bits; b++)
      for (int shade = 0; shade < 2; shade++) {
        scene s = new_scene(&ctx, (sn_rt_blend)blend, (sn_rt_shade)shade, bits[b]);
        for (size_t n = 0; n < sizeof all_paths / sizeof *all_paths; n++) {
          sn_rt_model probe = s.model;
          if (!sn_rt_use_path(&probe, all_paths[n])) continue;
          pose_scene(&s, all_paths[n], 0), check_formula(&s);
          pose_scene(&s, all_paths[n], 0.3), check_formula(&s);
        }
        free_scene(&s);
      }
}

// Packed tangents are within 0.1 degrees of what they were packed from.
static void packing_keeps_tangents(void **state) {
  sn_context ctx = sn_context_default();
  scene s = new_scene(&ctx, SN_RT_BLEND_LINEAR, SN_RT_SHADE_TRANSFORM, 32);
  scene packed = new_scene(&ctx, SN_RT_BLEND_LINEAR, SN_RT_SHADE_TRANSFORM, 12);
  row4 *a = calloc(vertices, sizeof *a), *b = calloc(vertices, sizeof *b);
  sn_rt_get_rest(&s.model, &(sn_rt_rest){.tangents = a}, NULL);
  sn_rt_get_rest(&packed.model, &(sn_rt_rest){.tangents = b}, NULL);
  for (int i = 0; i < vertices; i++) {
    assert_below(sn_vec3_distance(sn_vec3_from(a[i]), sn_vec3_from(b[i])), 0.1 * SN_PI / 180);
    assert_true(a[i][3] == b[i][3]);
  }
  free(a), free(b);
  free_scene(&s), free_scene(&packed);
}

// ---- ranges, strides, masks, halves ------------------------------------------------------------------------------------------

static float half_value(uint16_t half) {
  int exponent = half >> 10 & 31;
  float mantissa = (float)(half & 1023);
  float size = exponent ? ldexpf(1024 + mantissa, exponent - 25) : ldexpf(mantissa, -24);
  return half & 0x8000 ? -size : size;
}

static void parts_give_what_the_whole_gives(void **state) {
  sn_context ctx = sn_context_default();
  enum { stride = 7 };
  static const int bits[] = {32, 12};
  for (int n = 0; n < 2; n++) {
    scene s = new_scene(&ctx, SN_RT_BLEND_LINEAR, SN_RT_SHADE_TRANSFORM, bits[n]);
    pose_scene(&s, SN_RT_PATH_BEST, 0.2);
    float *wide = calloc(vertices, stride * sizeof *wide);
    sn_rt_output out = {.tangents = wide + 2, .tangent_stride = stride * sizeof(float), .normals = s.normals[0]};
    for (uint32_t first = 0, count; first < vertices; first += count) {
      count = first + 97 <= vertices ? 97 : vertices - first;
      assert_int_equal(sn_rt_tangents(&s.model, s.scratch, &out, first, count, NULL), SN_RT_OK);
    }
    for (size_t i = 0; i < vertices; i++) {
      assert_memory_equal(wide + stride * i + 2, s.tangents[i], sizeof(row4));
      assert_true(wide[stride * i] == 0 && wide[stride * i + 1] == 0 && wide[stride * i + 6] == 0);
    }
    uint32_t blocks[vertices], mask[vertices / 8] = {0};
    sn_rt_get_blocks(&s.model, blocks);
    for (uint32_t b = 0; b < s.model.info.block_count; b += 3) mask[b / 32] |= 1u << b % 32;
    memset(wide, 0, vertices * stride * sizeof *wide);
    out.blocks = mask;
    assert_int_equal(sn_rt_tangents(&s.model, s.scratch, &out, 0, vertices, NULL), SN_RT_OK);
    for (size_t i = 0; i < vertices; i++) {
      bool in = mask[blocks[i] / 32] >> blocks[i] % 32 & 1;
      if (in) assert_memory_equal(wide + stride * i + 2, s.tangents[i], sizeof(row4));
    }
    uint16_t(*halves)[4] = calloc(vertices, sizeof *halves);
    sn_rt_output half = {.tangents = (float *)(void *)halves, .normals = s.normals[0], .flags = SN_RT_HALF_TANGENTS};
    assert_int_equal(sn_rt_tangents(&s.model, s.scratch, &half, 0, vertices, NULL), SN_RT_OK);
    for (size_t i = 0; i < vertices; i++)
      for (size_t c = 0; c < 4; c++) assert_near(half_value(halves[i][c]), s.tangents[i][c], 5e-4);
    uint16_t(*normals)[3] = calloc(vertices, sizeof *normals);
    half.positions = s.positions[0], half.normals = (float *)(void *)normals, half.flags |= SN_RT_HALF_NORMALS;
    assert_int_equal(sn_rt_skin(&s.model, s.scratch, &half, 0, vertices, NULL), SN_RT_OK);
    assert_int_equal(sn_rt_tangents(&s.model, s.scratch, &half, 0, vertices, NULL), SN_RT_OK);
    for (size_t i = 0; i < vertices; i++)
      for (size_t c = 0; c < 4; c++) assert_near(half_value(halves[i][c]), s.tangents[i][c], 2e-3);
    free(wide), free(halves), free(normals);
    free_scene(&s);
  }
}

static void wrong_arguments_are_refused(void **state) {
  sn_context ctx = sn_context_default();
  scene s = new_scene(&ctx, SN_RT_BLEND_LINEAR, SN_RT_SHADE_TRANSFORM, 32);
  pose_scene(&s, SN_RT_PATH_BEST, 0);
  sn_rt_error error;
  sn_rt_output out = {.tangents = s.tangents[0], .normals = s.normals[0]}, odd = out, none = out;
  odd.tangent_stride = 12, none.normals = NULL;
  const struct {
    const sn_rt_model *model;
    const sn_rt_output *output;
    uint32_t count;
    const char *message;
  } wrong[] = {{&s.f.rt, &out, 1, "tangents=1"},
               {&s.model, &odd, 1, "strides"},
               {&s.model, &none, 1, "normals of this frame"},
               {&s.model, &out, vertices + 1, "not all there"}};
  for (size_t n = 0; n < sizeof wrong / sizeof *wrong; n++) {
    assert_int_equal(sn_rt_tangents(wrong[n].model, s.scratch, wrong[n].output, 0, wrong[n].count, &error),
                     SN_RT_BAD_ARGUMENT);
    if (!strstr(error.message, wrong[n].message)) fail_msg("%s", error.message);
  }
  assert_int_equal(sn_rt_get_rest(&s.f.rt, &(sn_rt_rest){.tangents = s.tangents}, &error), SN_RT_BAD_ARGUMENT);
  free_scene(&s);
}

// ---- sections that are wrong -------------------------------------------------------------------------------------------------

static void wrong_sections_are_refused(void **state) {
  sn_context ctx = sn_context_default();
  static const char *const names[] = {"skin.tangents", "pack.tangents"};
  for (int n = 0; n < 2; n++) {
    scene s = new_scene(&ctx, SN_RT_BLEND_LINEAR, SN_RT_SHADE_TRANSFORM, n ? 12 : 32);
    sn_rt_entry *e = entry_of(&s.bytes, names[n]);
    e->size -= 4, refuses(&s.bytes, "bytes instead of"), e->size += 4;
    float *hand = (float *)(void *)(s.bytes.bytes + e->offset) + 3 * 8 + 2, was = *hand;
    if (n == 0) *hand = 0.5f, refuses(&s.bytes, "handed"), *hand = NAN, refuses(&s.bytes, "not finite"), *hand = was;
    memcpy(e->name, names[1 - n], 14), refuses(&s.bytes, "has no use");
    free_scene(&s);
  }
}

// ---- files --------------------------------------------------------------------------------------------------------------------

// A sheet of 6 by 10 vertices, bent by so much.
static void write_sheet(const char *path, bool textured, double bend) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  for (int i = 0, y = 0; i < 60; i++, y = i / 6)
    fprintf(file, "v %d %d %g\n", i % 6, y, 0.1 * (i % 3) + bend * y * y);
  for (int i = 0; textured && i < 60; i++) fprintf(file, "vt %g %g 0\n", 0.1 * (i % 6), 0.1 * (i / 6));
  for (int i = 0; i < 54; i++) {
    if (i % 6 == 5) continue;
    int quad[4] = {i + 1, i + 2, i + 8, i + 7};
    fprintf(file, "f");
    for (int c = 0; c < 4; c++) {
      if (textured)
        fprintf(file, " %d/%d", quad[c], c == 3 ? quad[c] - 61 : quad[c]); // from the end
      else
        fprintf(file, " %d//1", quad[c]);
    }
    fprintf(file, "\n");
  }
  fclose(file);
}

static sn_status train_sheet(sn_context *ctx, bool textured, const char *method, sn_model *out) {
  char folder[4096], path[4200];
  snprintf(folder, sizeof folder, "%s", scratch_folder());
  for (int f = 0; f < 3; f++) {
    snprintf(path, sizeof path, "%s/%d.obj", folder, 2 - f);
    write_sheet(path, textured, 0.1 * (2 - f));
  }
  const char *frames[] = {folder};
  sn_load_options options = sn_load_options_default();
  options.rest = path, options.frames_count = 1, options.frames = frames;
  sn_examples examples;
  sn_method_spec spec;
  sn_keys keys;
  assert_ok(ctx, sn_examples_load(ctx, &options, &examples));
  examples.control_target = 4;
  assert_ok(ctx, sn_method_parse(ctx, method, &spec));
  assert_ok(ctx, sn_keys_parse(ctx, "all", 3, 1, &keys, NULL));
  sn_status status = sn_train(ctx, &spec, &examples, &keys, out, NULL);
  sn_keys_free(&keys), sn_examples_free(&examples);
  return status;
}

static void files_give_texture_coordinates(void **state) {
  sn_context ctx = sn_context_default();
  sn_model model;
  assert_fails(&ctx, train_sheet(&ctx, false, "affine:bones=2,tangents=1", &model), "rest file has none");
  assert_ok(&ctx, train_sheet(&ctx, true, "affine:bones=2,tangents=1,pack=1", &model));
  sn_rt_model opened;
  assert_ok(&ctx, sn_model_open(&ctx, "model", model.bytes, model.size, &opened));
  row4 tangents[60];
  assert_int_equal(sn_rt_get_rest(&opened, &(sn_rt_rest){.tangents = tangents}, NULL), SN_RT_OK);
  for (int i = 0; i < 60; i++) assert_true(tangents[i][0] > 0.9 && tangents[i][3] == 1);
  sn_model_free(&model);
}

// What is given counts, at right angles to the normal; zeros and what goes along the normal do not.
static void given_tangents_count(void **state) {
  sn_context ctx = sn_context_default();
  fixture f;
  sn_model bytes[2];
  sn_rt_model model[2];
  static row4 given[vertices], tangents[2][vertices];
  static point positions[vertices], normals[vertices];
  fixture_new(&ctx, vertices, joints, 5, 11, &f);
  fixture_build(&ctx, &f);
  float(*uvs)[2] = calloc((size_t)f.mesh.triangle_count * 3, sizeof *uvs);
  tube_uvs(&f.mesh, uvs);
  sn_rt_get_rest(&f.rt, &(sn_rt_rest){.positions = positions, .normals = normals}, NULL);
  for (int i = 0; i < vertices; i++) {
    if (i % 3 == 1) memcpy(given[i], normals[i], sizeof *normals), given[i][3] = -1;
    if (i % 3 == 2) given[i][0] = 0.6f, given[i][1] = 0, given[i][2] = 0.8f, given[i][3] = i % 2 ? -1 : 1;
  }
  for (int k = 0; k < 2; k++) {
    f.desc.uvs = (const float(*)[2])uvs, f.desc.tangents = k ? (const row4 *)given : NULL;
    assert_ok(&ctx, sn_model_build(&ctx, &f.desc, bytes + k));
    assert_ok(&ctx, sn_model_open(&ctx, "tangents", bytes[k].bytes, bytes[k].size, model + k));
    sn_rt_get_rest(model + k, &(sn_rt_rest){.tangents = tangents[k]}, NULL);
  }
  int taken = 0;
  for (int i = 0; i < vertices; i++) {
    sn_vec3 n = sn_vec3_from(normals[i]), t = sn_vec3_from(given[i]);
    t = sn_vec3_mad(t, n, -sn_vec3_dot(t, n));
    if (i % 3 != 2 || sn_vec3_length(t) < 0.1) {
      if (i % 3 != 2) assert_memory_equal(tangents[1][i], tangents[0][i], sizeof(row4));
      continue;
    }
    assert_true(sn_vec3_distance(sn_vec3_from(tangents[1][i]), sn_vec3_normalize(t, t)) < 1e-5);
    assert_true(tangents[1][i][3] == given[i][3]);
    taken++;
  }
  assert_true(taken > vertices / 6);
  free(uvs), sn_model_free(bytes), sn_model_free(bytes + 1), fixture_free(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(seams_are_respected),
                                     cmocka_unit_test(splits_without_a_seam_change_nothing),
                                     cmocka_unit_test(every_path_follows_the_formula),
                                     cmocka_unit_test(packing_keeps_tangents),
                                     cmocka_unit_test(parts_give_what_the_whole_gives),
                                     cmocka_unit_test(wrong_arguments_are_refused),
                                     cmocka_unit_test(wrong_sections_are_refused),
                                     cmocka_unit_test(files_give_texture_coordinates),
                                     cmocka_unit_test(given_tangents_count)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
