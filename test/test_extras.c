// SPDX-License-Identifier: MIT
// sn_rt_output: staging, masks of blocks, bounds and halves change nothing but what they say.
#include "skin_fixture.h"

enum { vertices = 3000, joints = 20 };

typedef float point[3];

typedef struct scene {
  fixture f;
  void *scratch;
  point *positions, *normals; // as sn_rt_skin gives them
} scene;

static scene new_scene(sn_context *ctx, sn_rt_blend blend, int bits, int grain) {
  scene s;
  fixture_new(ctx, vertices, joints, 4, 7, &s.f);
  s.f.desc.blend = blend, s.f.desc.weight_bits = bits, s.f.desc.grain = grain;
  fixture_build(ctx, &s.f);
  sn_random rng = sn_random_new(2);
  sn_affine pose[joints];
  float matrices[joints][12];
  random_pose(&s.f.skeleton, 0.3, 0, &rng, pose);
  sn_model_joints(pose, joints, matrices);
  s.scratch = malloc(sn_rt_scratch_size(&s.f.rt));
  s.positions = calloc(vertices, sizeof *s.positions), s.normals = calloc(vertices, sizeof *s.normals);
  sn_rt_input input = {.joints = (const float(*)[12])matrices};
  sn_rt_output output = {.positions = s.positions[0], .normals = s.normals[0]};
  assert_int_equal(sn_rt_evaluate(&s.f.rt, &input, s.scratch, &output, NULL), SN_RT_OK);
  return s;
}

static void free_scene(scene *s) { free(s->scratch), free(s->positions), free(s->normals), fixture_free(&s->f); }

static void skin(const scene *s, const sn_rt_output *output, uint32_t first, uint32_t count) {
  assert_int_equal(sn_rt_skin(&s->f.rt, s->scratch, output, first, count, NULL), SN_RT_OK);
}

static const struct {
  sn_rt_blend blend;
  int bits, grain;
} kinds[] = {{SN_RT_BLEND_LINEAR, 32, 0}, {SN_RT_BLEND_LINEAR, 12, 256}, {SN_RT_BLEND_DUALQUAT, 12, 1000}};

#define for_each_scene(ctx, s)                                                                                       \
  for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++)                                                 \
    for (scene s = new_scene(ctx, kinds[kind].blend, kinds[kind].bits, kinds[kind].grain), *once = &s; once;         \
         free_scene(once), once = NULL)

// Staged results are the same bytes, wherever the output begins, and nothing beyond it is written.
static void staging_gives_the_same_bytes(void **state) {
  sn_context ctx = sn_context_default();
  for_each_scene(&ctx, s) {
    void *staging = malloc(sn_rt_staging_size(&s.f.rt));
    for (size_t shift = 0; shift < 20; shift++) {
      float *positions = calloc(3 * vertices + 40, 4), *normals = calloc(3 * vertices + 40, 4);
      sn_rt_output output = {.positions = positions + shift, .normals = normals + shift, .staging = staging};
      skin(&s, &output, 0, vertices);
      assert_memory_equal(output.positions, s.positions, vertices * sizeof(point));
      assert_memory_equal(output.normals, s.normals, vertices * sizeof(point));
      for (size_t n = 0; n < 40; n++) {
        size_t at = n < shift ? n : 3 * vertices + n;
        assert_true(positions[at] == 0 && normals[at] == 0);
      }
      free(positions), free(normals);
    }
    free(staging);
  }
}

static void masks_choose_blocks(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(6);
  for_each_scene(&ctx, s) {
    uint32_t blocks[vertices], mask[vertices / 8] = {0};
    sn_rt_get_blocks(&s.f.rt, blocks);
    for (uint32_t b = 0; b < s.f.rt.info.block_count; b++)
      mask[b / 32] |= (uint32_t)(sn_random_uniform(&rng) < 0.6) << b % 32;
    point *positions = malloc(vertices * sizeof *positions), *normals = malloc(vertices * sizeof *normals);
    for (uint32_t first = 0; first <= 100; first += 100) { // the whole, and a range that cuts chunks
      for (int i = 0; i < vertices; i++) positions[i][0] = NAN;
      uint32_t count = first ? 2000 : vertices;
      float bounds[6] = {INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY};
      float expected[6] = {INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY};
      sn_rt_output output = {.positions = positions[0], .normals = normals[0], .blocks = mask, .bounds = bounds};
      skin(&s, &output, first, count);
      for (uint32_t i = 0; i < vertices; i++) {
        bool written = !isnan(positions[i][0]), inside = i >= first && i < first + count;
        assert_true(!written || inside);
        if (inside && mask[blocks[i] / 32] >> blocks[i] % 32 & 1) assert_true(written);
        if (!written) continue;
        assert_memory_equal(positions[i], s.positions[i], sizeof(point));
        for (int c = 0; c < 3; c++) {
          expected[c] = fminf(expected[c], positions[i][c]),
          expected[3 + c] = fmaxf(expected[3 + c], positions[i][c]);
        }
      }
      assert_memory_equal(bounds, expected, sizeof bounds);
    }
    free(positions), free(normals);
  }
}

static void bounds_hold_every_vertex(void **state) {
  sn_context ctx = sn_context_default();
  for_each_scene(&ctx, s) {
    float bounds[6] = {INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY};
    point *positions = malloc(vertices * sizeof *positions), *normals = malloc(vertices * sizeof *normals);
    sn_rt_output output = {.positions = positions[0], .normals = normals[0], .bounds = bounds};
    skin(&s, &output, 0, vertices);
    assert_memory_equal(positions, s.positions, vertices * sizeof(point));
    for (int c = 0; c < 3; c++) {
      float low = INFINITY, high = -INFINITY;
      for (int i = 0; i < vertices; i++) low = fminf(low, positions[i][c]), high = fmaxf(high, positions[i][c]);
      assert_true(bounds[c] == low && bounds[3 + c] == high);
    }
    free(positions), free(normals);
  }
}

static float half_value(uint16_t half) {
  int exponent = half >> 10 & 31;
  float mantissa = (float)(half & 1023);
  float size = exponent ? ldexpf(1024 + mantissa, exponent - 25) : ldexpf(mantissa, -24);
  return half & 0x8000 ? -size : size;
}

// Halves are the nearest, positions and normals interleaved with something else between them.
static void halves_are_near(void **state) {
  sn_context ctx = sn_context_default();
  enum { stride = 16 };
  for_each_scene(&ctx, s) {
    uint16_t *out = calloc(vertices, stride);
    for (size_t i = 0; i < vertices; i++) out[8 * i + 7] = 0x1234;
    sn_rt_output output = {.positions = (float *)(void *)out,
                           .position_stride = stride,
                           .normals = (float *)(void *)(out + 3),
                           .normal_stride = stride};
    output.flags = SN_RT_HALF_POSITIONS | SN_RT_HALF_NORMALS;
    skin(&s, &output, 0, vertices);
    for (size_t i = 0; i < vertices; i++) {
      assert_int_equal(out[8 * i + 7], 0x1234);
      for (size_t c = 0; c < 3; c++) {
        double p = s.positions[i][c], n = s.normals[i][c];
        assert_below(fabs(half_value(out[8 * i + c]) - p), fabs(p) / 2048 + 3e-8);
        assert_below(fabs(half_value(out[8 * i + 3 + c]) - n), fabs(n) / 2048 + 3e-8);
      }
    }
    free(out);
  }
}

// Recomputed normals as halves, from positions in floats, in ranges; nothing between them is written.
static void recomputed_halves_are_near(void **state) {
  sn_context ctx = sn_context_default();
  enum { stride = 10 };
  fixture f;
  fixture_new(&ctx, vertices, joints, 4, 7, &f);
  f.desc.shade = SN_RT_SHADE_RECOMPUTE;
  fixture_build(&ctx, &f);
  sn_random rng = sn_random_new(2);
  sn_affine pose[joints];
  point *positions = calloc(vertices, sizeof *positions), *normals = calloc(vertices, sizeof *normals);
  random_pose(&f.skeleton, 0.3, 0, &rng, pose);
  evaluate(&f.rt, SN_RT_PATH_BEST, pose, positions, normals);
  uint16_t *out = calloc(vertices, stride);
  sn_rt_output output = {.positions = positions[0], .normals = (float *)(void *)out, .normal_stride = stride};
  output.flags = SN_RT_HALF_NORMALS;
  for (uint32_t first = 0, count; first < vertices; first += count) {
    count = first + 101 < vertices ? 101 : vertices - first;
    assert_int_equal(sn_rt_normals(&f.rt, &output, first, count, NULL), SN_RT_OK);
  }
  for (size_t i = 0; i < vertices; i++) {
    assert_true(out[5 * i + 3] == 0 && out[5 * i + 4] == 0);
    for (size_t c = 0; c < 3; c++) assert_near(half_value(out[5 * i + c]), normals[i][c], 5e-4);
  }
  output.flags |= SN_RT_HALF_POSITIONS;
  assert_int_equal(sn_rt_normals(&f.rt, &output, 0, vertices, NULL), SN_RT_BAD_ARGUMENT);
  free(positions), free(normals), free(out);
  fixture_free(&f);
}

static void wrong_extras_are_refused(void **state) {
  sn_context ctx = sn_context_default();
  scene s = new_scene(&ctx, SN_RT_BLEND_LINEAR, 32, 0);
  sn_rt_error error;
  sn_rt_output odd = {.positions = s.positions[0], .position_stride = 7, .flags = SN_RT_HALF_POSITIONS};
  assert_int_equal(sn_rt_skin(&s.f.rt, s.scratch, &odd, 0, vertices, &error), SN_RT_BAD_ARGUMENT);
  assert_non_null(strstr(error.message, "strides"));
  s.f.desc.rest = &s.f.mesh, s.f.desc.skeleton = &s.f.skeleton, s.f.desc.skin = &s.f.skin; // the fixture has moved
  s.f.desc.shade = SN_RT_SHADE_RECOMPUTE;
  fixture_build(&ctx, &s.f);
  sn_rt_output both = {.positions = s.positions[0], .normals = s.normals[0], .flags = SN_RT_HALF_POSITIONS};
  assert_int_equal(sn_rt_skin(&s.f.rt, s.scratch, &both, 0, vertices, &error), SN_RT_BAD_ARGUMENT);
  assert_non_null(strstr(error.message, "in floats"));
  free_scene(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(staging_gives_the_same_bytes), cmocka_unit_test(masks_choose_blocks),
    cmocka_unit_test(bounds_hold_every_vertex),     cmocka_unit_test(halves_are_near),
    cmocka_unit_test(recomputed_halves_are_near),   cmocka_unit_test(wrong_extras_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
