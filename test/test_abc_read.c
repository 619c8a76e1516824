// SPDX-License-Identifier: MIT
// Alembic archives made by hand: transforms of every kind, times of every kind, several meshes, instances; and what the
// writer makes of frames.
#include "abc_archive.h"
#include "check.h"
#include "sinew/formats.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#define XFORM "schema=AbcGeom_Xform_v3;schemaObjTitle=AbcGeom_Xform_v3:.xform"
#define MESH "schema=AbcGeom_PolyMesh_v1;schemaBaseType=AbcGeom_GeomBase_v1;schemaObjTitle=AbcGeom_PolyMesh_v1:.geom"

enum { pod_bool = 0, pod_u8 = 1, pod_i32 = 6, pod_float = 10, pod_double = 11 };

// One quadrangle; sample s is moved along x by s.
static made quad(archive *a, const char *name, int samples, uint32_t timing) {
  float points[8][12];
  for (int s = 0; s < samples; s++) {
    const float one[12] = {0, 0, 0, 0, 1, 0, 1, 1, 0, 1, 0, 0}; // clockwise
    for (int k = 0; k < 12; k++) points[s][k] = one[k] + (k % 3 == 0 ? (float)s : 0);
  }
  int32_t indices[4] = {0, 1, 2, 3}, four = 4;
  made parts[3] = {make_property(a, "P", 2, pod_float, 3, samples, points, sizeof points[0], timing),
                   make_property(a, ".faceIndices", 2, pod_i32, 1, 1, indices, sizeof indices, 0),
                   make_property(a, ".faceCounts", 2, pod_i32, 1, 1, &four, sizeof four, 0)};
  made geometry = make_compound(a, ".geom", "", 3, parts);
  return make_object(a, name, MESH, make_compound(a, "", "", 1, &geometry), 0, NULL);
}

static made transform(archive *a, const char *name, int op_count, const uint8_t *ops, int samples,
                      const double *values, int value_count, uint8_t inherits, int children, const made *inside) {
  made parts[3] = {
    make_property(a, ".inherits", 1, pod_bool, 1, 1, &inherits, 1, 0),
    make_property(a, ".ops", 1, pod_u8, op_count, 1, ops, (size_t)op_count, 0),
    make_property(a, ".vals", 1, pod_double, value_count, samples, values, (size_t)value_count * sizeof *values, 1)};
  made compound = make_compound(a, ".xform", "", 3, parts);
  return make_object(a, name, XFORM, make_compound(a, "", "", 1, &compound), children, inside);
}

typedef struct timing {
  uint32_t most;
  double period;
  uint32_t count;
  int stored;
  double times[6];
} timing;

static size_t pack_timings(const timing *timings, int count, uint8_t *out) {
  size_t used = 0;
  for (int k = 0; k < count; k++) {
    memcpy(out + used, &timings[k].most, 4), memcpy(out + used + 4, &timings[k].period, 8);
    memcpy(out + used + 12, &timings[k].count, 4), used += 16;
    memcpy(out + used, timings[k].times, 8 * timings[k].count), used += 8 * timings[k].count;
  }
  return used;
}

// For test/fuzz/seeds_abc.sh: every archive into the folder that SINEW_ABC_OUT names.
static void keep(const archive *a) {
  static int number;
  char path[4096];
  const char *folder = getenv("SINEW_ABC_OUT");
  if (!folder) return;
  snprintf(path, sizeof path, "%s/%d.abc", folder, number++);
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  fwrite(a->bytes, 1, a->used, file);
  fclose(file);
}

static const timing plain_timings[2] = {{1, 1, 1, 0, {0}}, {1, 0.25, 1, 0, {1}}};

static sn_abc *finish(sn_context *ctx, archive *a, int count, const made *objects, const timing *timings,
                      int timing_count) {
  uint8_t packed[512];
  made none = {0};
  made top = make_object(a, "ABC", "", none, count, objects);
  end_archive(a, top, packed, pack_timings(timings, timing_count, packed));
  keep(a);
  sn_abc *abc;
  assert_ok(ctx, sn_abc_parse(ctx, "hand.abc", a->bytes, a->used, &abc));
  return abc;
}

static archive space;

// Operations act from the last to the first: rotated about z by 90 degrees, then scaled, then moved.
static void test_operations(void **state) {
  sn_context ctx = sn_context_default();
  archive *a = &space;
  begin_archive(a);
  made mesh = quad(a, "m", 1, 0);
  const uint8_t ops[3] = {1 << 4, 0 << 4, 6 << 4};
  const double values[7] = {10, 20, 30, 2, 3, 4, 90};
  made inner = transform(a, "inner", 3, ops, 1, values, 7, 1, 1, &mesh);
  const uint8_t matrix = 3 << 4;
  const double rows[16] = {1, 0, 0, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 0, 100, 1}; // y to z, z to -y, z + 100
  made outer = transform(a, "outer", 1, &matrix, 1, rows, 16, 1, 1, &inner);
  sn_abc *abc = finish(&ctx, a, 1, &outer, plain_timings, 2);
  assert_ok(&ctx, sn_abc_choose(&ctx, abc, NULL, 0));
  sn_mesh out;
  assert_ok(&ctx, sn_abc_mesh(&ctx, abc, 0, &out));
  // (1, 0, 0) turned: (0, 1, 0); scaled: (0, 3, 0); moved: (10, 23, 30); y to z and z to -y: (10, -30, 123).
  assert_near(out.positions[3][0], 10, 1e-5);
  assert_near(out.positions[3][1], -30, 1e-5);
  assert_near(out.positions[3][2], 123, 1e-5);
  assert_int_equal(out.triangle_count, 2);
  assert_int_equal(out.triangles[0][0], 3); // reversed
  assert_int_equal(out.triangles[0][1], 2);
  assert_int_equal(out.triangles[1][2], 0);
  sn_mesh_free(&out);
  sn_abc_free(abc);
}

// rotated about an axis by 180 degrees; the parent is left out where the transform does not inherit.
static void test_axis_and_inheritance(void **state) {
  sn_context ctx = sn_context_default();
  archive *a = &space;
  begin_archive(a);
  made mesh = quad(a, "m", 1, 0);
  const uint8_t turn = 2 << 4, move = 1 << 4;
  const double half[4] = {0, 2, 0, 180}, far[3] = {1000, 0, 0};
  made inner = transform(a, "inner", 1, &turn, 1, half, 4, 0, 1, &mesh);
  made outer = transform(a, "outer", 1, &move, 1, far, 3, 1, 1, &inner);
  sn_abc *abc = finish(&ctx, a, 1, &outer, plain_timings, 2);
  float p[4][3];
  assert_ok(&ctx, sn_abc_choose(&ctx, abc, NULL, 0));
  assert_ok(&ctx, sn_abc_positions(&ctx, abc, 0, p));
  assert_near(p[3][0], -1, 1e-6);
  assert_near(p[3][1], 0, 1e-6);
  sn_abc_free(abc);
}

// A moving transform above a still mesh: its samples are the frames. Between them, linear.
static void test_animated_transform(void **state) {
  sn_context ctx = sn_context_default();
  archive *a = &space;
  begin_archive(a);
  made mesh = quad(a, "m", 1, 0);
  const uint8_t move = 1 << 4;
  const double places[3][3] = {{0, 0, 0}, {0, 4, 0}, {0, 4, 8}};
  made above = transform(a, "above", 1, &move, 3, places[0], 3, 1, 1, &mesh);
  sn_abc *abc = finish(&ctx, a, 1, &above, plain_timings, 2);
  float p[4][3];
  assert_ok(&ctx, sn_abc_choose(&ctx, abc, NULL, 0));
  assert_int_equal(sn_abc_frame_count(abc), 3);
  assert_near(sn_abc_rate(abc), 4, 1e-9);
  assert_near(sn_abc_frame_time(abc, 2), 1.5, 1e-12);
  assert_ok(&ctx, sn_abc_positions(&ctx, abc, 1.125, p));
  assert_near(p[0][1], 2, 1e-6);
  assert_ok(&ctx, sn_abc_positions(&ctx, abc, 99, p));
  assert_near(p[0][2], 8, 1e-6);
  sn_abc_free(abc);
}

// Cyclic and acyclic times; two meshes with different ones have frames at all of them.
static void test_times(void **state) {
  sn_context ctx = sn_context_default();
  archive *a = &space;
  begin_archive(a);
  made meshes[2] = {quad(a, "cyclic", 4, 1), quad(a, "acyclic", 3, 2)};
  const timing timings[3] = {{1, 1, 1, 0, {0}}, {4, 1, 2, 0, {0, 0.25}}, {3, DBL_MAX / 32, 3, 0, {0, 0.25, 4}}};
  sn_abc *abc = finish(&ctx, a, 2, meshes, timings, 3);
  const char *first = "/cyclic", *second = "acyclic/", *wrong = "/cycl";
  float p[8][3];
  assert_ok(&ctx, sn_abc_choose(&ctx, abc, &first, 1));
  assert_int_equal(sn_abc_vertex_count(abc), 4);
  assert_int_equal(sn_abc_frame_count(abc), 4);
  assert_near(sn_abc_frame_time(abc, 3), 1.25, 1e-12);
  assert_false(sn_abc_even(abc));
  assert_ok(&ctx, sn_abc_positions(&ctx, abc, 0.625, p)); // half way from 0.25 to 1
  assert_near(p[0][0], 1.5, 1e-6);
  assert_ok(&ctx, sn_abc_choose(&ctx, abc, &second, 1));
  assert_int_equal(sn_abc_frame_count(abc), 3);
  assert_near(sn_abc_frame_time(abc, 2), 4, 1e-12);
  assert_ok(&ctx, sn_abc_choose(&ctx, abc, NULL, 0));
  assert_int_equal(sn_abc_vertex_count(abc), 8);
  assert_int_equal(sn_abc_frame_count(abc), 5); // 0, 0.25, 1, 1.25, 4
  assert_ok(&ctx, sn_abc_positions(&ctx, abc, sn_abc_frame_time(abc, 2), p));
  assert_near(p[0][0], 2, 1e-6);
  assert_near(p[4][0], 1.2, 1e-6);
  assert_fails(&ctx, sn_abc_choose(&ctx, abc, &wrong, 1), "/cycl: no such object; its meshes: /cyclic, /acyclic");
  sn_abc_free(abc);
}

static void test_instance(void **state) {
  sn_context ctx = sn_context_default();
  archive *a = &space;
  begin_archive(a);
  made mesh = quad(a, "m", 1, 0);
  const char source[] = "/m";
  made link = make_property(a, ".instanceSource", 1, 12, 1, 1, source, 2, 0);
  made same = make_object(a, "same", "", make_compound(a, "", "", 1, &link), 0, NULL);
  const uint8_t move = 1 << 4;
  const double far[3] = {5, 0, 0};
  made objects[2] = {mesh, transform(a, "above", 1, &move, 1, far, 3, 1, 1, &same)};
  sn_abc *abc = finish(&ctx, a, 2, objects, plain_timings, 2);
  float p[8][3];
  assert_ok(&ctx, sn_abc_choose(&ctx, abc, NULL, 0));
  assert_int_equal(sn_abc_vertex_count(abc), 8);
  assert_ok(&ctx, sn_abc_positions(&ctx, abc, 0, p));
  assert_near(p[7][0], 6, 1e-6);
  assert_true(sn_abc_get_object(abc, 2)->instance);
  sn_abc_free(abc);
}

// Every cut and every changed byte is a message or frames, never a crash.
static void test_damage(void **state) {
  sn_context ctx = sn_context_default();
  archive *a = &space;
  begin_archive(a);
  made mesh = quad(a, "m", 3, 1);
  sn_abc *abc = finish(&ctx, a, 1, &mesh, plain_timings, 2);
  sn_abc_free(abc);
  float p[4][3];
  for (uint64_t cut = 0; cut < a->used; cut++) {
    assert_true(sn_abc_parse(&ctx, "cut.abc", a->bytes, cut, &abc) != SN_OK);
    assert_null(abc);
  }
  for (uint64_t at = 0; at < 3 * a->used; at++) {
    uint8_t *byte = &a->bytes[at % a->used], kept = *byte;
    *byte ^= (uint8_t)(1u << (at / a->used * 3));
    if (sn_abc_parse(&ctx, "bad.abc", a->bytes, a->used, &abc) == SN_OK) {
      if (sn_abc_choose(&ctx, abc, NULL, 0) == SN_OK && sn_abc_vertex_count(abc) <= 4) {
        sn_abc_positions(&ctx, abc, 1.1, p);
      }
      sn_abc_free(abc);
    }
    *byte = kept;
  }
}

// An archive that is too large to be read whole is mapped; its positions are the same. One that was read whole does not mind
// being cut afterwards.
static void test_large(void **state) {
  enum { n = 6000, frame_count = 100 };
  char path[4200];
  snprintf(path, sizeof path, "%s/frames.abc", scratch_folder());
  for (int mapped = 0; mapped < 2; mapped++) {
    sn_context ctx = sn_context_default();
    sn_mesh mesh;
    sn_frames frames;
    sn_abc *abc;
    if (mapped) ctx.large = 1 << 20;
    assert_ok(&ctx, sn_mesh_new(&ctx, n, 1, &mesh));
    for (int c = 0; c < 3; c++) mesh.triangles[0][c] = c;
    assert_ok(&ctx, sn_frames_new(&ctx, n, frame_count, &frames));
    for (int k = 0; k < 3 * n * frame_count; k++) sn_frame_mutable(&frames, 0)[k / 3][k % 3] = (float)k;
    frames.rate = 24;
    assert_ok(&ctx, sn_frames_write(&ctx, path, &frames, &mesh));
    float(*read)[3] = calloc(n, sizeof *read);
    assert_ok(&ctx, sn_abc_open(&ctx, path, &abc));
    assert_ok(&ctx, sn_abc_choose(&ctx, abc, NULL, 0));
    if (!mapped) assert_int_equal(truncate(path, 4 << 20), 0);
    for (int f = 0; f < frame_count; f += 33) {
      assert_ok(&ctx, sn_abc_positions(&ctx, abc, sn_abc_frame_time(abc, f), read));
      assert_memory_equal(read, sn_frame(&frames, f), n * sizeof *read);
    }
    double between = 0.5 * (sn_abc_frame_time(abc, 1) + sn_abc_frame_time(abc, 2));
    assert_ok(&ctx, sn_abc_positions(&ctx, abc, between, read));
    assert_near(read[7][0], 0.5 * (sn_frame(&frames, 1)[7][0] + sn_frame(&frames, 2)[7][0]), 1);
    sn_abc_free(abc);
    free(read);
    sn_mesh_free(&mesh);
    sn_frames_free(&frames);
  }
  unlink(path);
}

// What is written comes back with the same bits, the same faces and rate.
static void test_write(void **state) {
  sn_context ctx = sn_context_default();
  char path[4200];
  snprintf(path, sizeof path, "%s/frames.abc", scratch_folder());
  enum { n = 5, frame_count = 7 };
  sn_mesh mesh, back_mesh;
  sn_frames frames, back;
  assert_ok(&ctx, sn_mesh_new(&ctx, n, 3, &mesh));
  for (int t = 0; t < 3; t++)
    for (int c = 0; c < 3; c++) mesh.triangles[t][c] = t + c;
  assert_ok(&ctx, sn_frames_new(&ctx, n, frame_count, &frames));
  sn_random random = sn_random_new(3);
  for (int k = 0; k < n * frame_count; k++)
    for (int c = 0; c < 3; c++) sn_frame_mutable(&frames, 0)[k][c] = (float)sn_random_normal(&random);
  for (int count = 1; count <= frame_count; count += 2) {
    frames.rate = 24, frames.frame_count = count;
    assert_ok(&ctx, sn_frames_write(&ctx, path, &frames, &mesh));
    assert_ok(&ctx, sn_frames_read(&ctx, path, NULL, &back));
    assert_int_equal(back.frame_count, count);
    if (count > 1) assert_near(back.rate, 24, 1e-9);
    assert_memory_equal(back.positions, frames.positions, (size_t)(n * count) * sizeof *back.positions);
    assert_ok(&ctx, sn_mesh_read(&ctx, path, NULL, &back_mesh, NULL));
    assert_memory_equal(back_mesh.triangles, mesh.triangles, 3 * sizeof *mesh.triangles);
    sn_mesh_free(&back_mesh);
    sn_frames_free(&back);
  }
  sn_choice faster = {.fps = 48};
  assert_ok(&ctx, sn_frames_read(&ctx, path, &faster, &back));
  assert_int_equal(back.frame_count, 2 * frame_count - 1);
  for (int c = 0; c < 3; c++) {
    assert_near(sn_frame(&back, 3)[2][c], 0.5 * (sn_frame(&frames, 1)[2][c] + sn_frame(&frames, 2)[2][c]), 1e-6);
  }
  sn_frames_free(&back);
  assert_fails(&ctx, sn_frames_write(&ctx, path, &frames, NULL), "an Alembic mesh has faces");
  unlink(path);
  sn_mesh_free(&mesh);
  sn_frames_free(&frames);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_operations),
    cmocka_unit_test(test_axis_and_inheritance),
    cmocka_unit_test(test_animated_transform),
    cmocka_unit_test(test_times),
    cmocka_unit_test(test_instance),
    cmocka_unit_test(test_damage),
    cmocka_unit_test(test_write),
    cmocka_unit_test(test_large),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
