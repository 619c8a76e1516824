// SPDX-License-Identifier: MIT
// OBJ, numbers, point caches, sequences of OBJ, torque tables.
#include "check.h"

#include <locale.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/number.h"
#include "sinew/formats.h"

// A path in the folder that the tests write to; several may be in use at once.
static const char *scratch(const char *name) {
  static char folder[4096], paths[8][8192];
  static int next;
  if (!folder[0]) snprintf(folder, sizeof folder, "%s", scratch_folder());
  char *path = paths[next++ % 8];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

static void write_bytes(const char *path, const void *bytes, size_t size) {
  sn_context ctx = sn_context_default();
  sn_writer writer;
  assert_ok(&ctx, sn_writer_open(&ctx, path, &writer));
  sn_write(&writer, bytes, size);
  assert_ok(&ctx, sn_writer_commit(&ctx, &writer));
}

static void write_text(const char *path, const char *text) { write_bytes(path, text, strlen(text)); }

// ---- numbers -----------------------------------------------------------------------------------------------------------

static void expect_number(const char *text) {
  double found = -1, expected = strtod(text, NULL);
  const char *end = text + strlen(text), *behind = sn_parse_number(text, end, &found);
  if (behind != end || memcmp(&found, &expected, sizeof found) != 0) {
    fail_msg("%s: read as %.17g, strtod has %.17g", text, found, expected);
  }
}

static int random_digits(sn_random *rng, char *out, int count) {
  for (int k = 0; k < count; k++) out[k] = (char)('0' + sn_random_below(rng, 10));
  return count;
}

static void test_numbers_against_strtod(void **state) {
  sn_random rng = sn_random_new(1);
  char text[2600];
  for (int round = 0; round < 1000000; round++) {
    int size = 0, longest = round % 1000 == 0 ? 1000 : round % 10 == 0 ? 30 : 10;
    if (sn_random_below(&rng, 3) == 0) text[size++] = sn_random_below(&rng, 2) ? '-' : '+';
    int whole = sn_random_below(&rng, longest), places = sn_random_below(&rng, longest);
    if (whole + places == 0) whole = 1;
    if (round % 7 == 0) { // leading zeros
      for (int k = sn_random_below(&rng, 4); k > 0; k--) text[size++] = '0';
    }
    size += random_digits(&rng, text + size, whole);
    if (places > 0 || sn_random_below(&rng, 4) == 0) text[size++] = '.';
    size += random_digits(&rng, text + size, places);
    if (sn_random_below(&rng, 3) == 0) {
      int range = round % 5 == 0 ? 700 : 40;
      size +=
        sprintf(text + size, sn_random_below(&rng, 2) ? "e%d" : "E%+03d", sn_random_below(&rng, range) - range / 2);
    }
    text[size] = '\0';
    expect_number(text);
  }
}

// Doubles printed with 17 digits, and the points half way between two doubles printed exactly: the hard ones.
static void test_numbers_round_trip(void **state) {
  sn_random rng = sn_random_new(2);
  char text[1200];
  for (int round = 0; round < 200000; round++) {
    uint64_t bits = sn_random_next(&rng);
    if (round % 2) bits = (bits & 0x800FFFFFFFFFFFFFu) | (uint64_t)(1003 + sn_random_below(&rng, 40)) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value)) continue;
    snprintf(text, sizeof text, "%.17g", value);
    expect_number(text);
    if (round % 20 == 1) {
      long double half = ((long double)value + (long double)nextafter(value, INFINITY)) / 2;
      snprintf(text, sizeof text, "%.100Lf", half);
      expect_number(text);
      text[strlen(text) - 1] = '1'; // a hair above the tie
      expect_number(text);
    }
  }
}

static void test_special_numbers(void **state) {
  static const char *const good[] = {"0",
                                     "-0",
                                     "0.0",
                                     ".5",
                                     "5.",
                                     "1e0",
                                     "1e400",
                                     "-1e400",
                                     "1e-400",
                                     "4.9e-324",
                                     "2.4703282292062328e-324",
                                     "1e22",
                                     "1e23",
                                     "9007199254740993",
                                     "9007199254740992.5",
                                     "18446744073709551615",
                                     "18446744073709551616",
                                     "1.7976931348623159e308",
                                     "2.2250738585072011e-308",
                                     "0e999999999999999999999",
                                     "1e-999999999999999999999",
                                     "00000000000000000000001"};
  for (size_t k = 0; k < sizeof good / sizeof *good; k++) expect_number(good[k]);
  // Digits far beyond what a fixed buffer holds, brought back by the exponent.
  char text[5000];
  memset(text, '0', sizeof text);
  memcpy(text, "0.", 2);
  strcpy(text + 3000, "125e3000");
  expect_number(text);
  memset(text, '1', 4000);
  strcpy(text + 4000, "e-3999");
  expect_number(text);
  // A tie (2^53 + 1) but for one digit far behind.
  memset(text, '0', sizeof text);
  memcpy(text, "9007199254740993.", 17);
  strcpy(text + 2000, "1");
  expect_number(text);

  static const struct {
    const char *text;
    int used; // characters; -1: no number
    double value;
  } partial[] = {{"1e", 1, 1},    {"1e+", 1, 1},  {"2.5x", 3, 2.5}, {"1.2.3", 3, 1.2}, {"0x10", 1, 0},
                 {"nan", -1, 0},  {"inf", -1, 0}, {"", -1, 0},      {"-", -1, 0},      {".", -1, 0},
                 {"+.e5", -1, 0}, {"--1", -1, 0}, {" 1", -1, 0}};
  for (size_t k = 0; k < sizeof partial / sizeof *partial; k++) {
    double value = 0;
    const char *behind = sn_parse_number(partial[k].text, partial[k].text + strlen(partial[k].text), &value);
    assert_int_equal(behind ? behind - partial[k].text : -1, partial[k].used);
    assert_true(value == partial[k].value);
  }
  double value;
  const char *digits = "123456";
  assert_ptr_equal(sn_parse_number(digits, digits + 3, &value), digits + 3); // nothing behind the end is read
  assert_true(value == 123);
}

static void test_numbers_in_another_locale(void **state) {
  if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "de_DE")) {
    print_message("skipped: no locale with a decimal comma is installed\n");
    skip();
  }
  double value;
  const char *text = "1.2345678901234567890123e30";
  sn_parse_number(text, text + strlen(text), &value);
  setlocale(LC_NUMERIC, "C");
  assert_true(value == 1.2345678901234567890123e30);
}

// ---- OBJ ---------------------------------------------------------------------------------------------------------------

static sn_mesh parse_obj(const char *text) {
  sn_context ctx = sn_context_default();
  sn_mesh mesh;
  assert_ok(&ctx, sn_obj_parse(&ctx, "a.obj", text, strlen(text), &mesh, NULL));
  assert_ok(&ctx, sn_mesh_check(&ctx, &mesh));
  return mesh;
}

static void expect_obj(const char *text, int vertices, int triangles, const int (*corners)[3]) {
  sn_mesh mesh = parse_obj(text);
  assert_int_equal(mesh.vertex_count, vertices);
  assert_int_equal(mesh.triangle_count, triangles);
  if (triangles > 0) assert_memory_equal(mesh.triangles, corners, (size_t)triangles * sizeof *corners);
  for (int i = 0; i < vertices; i++) {
    assert_true(mesh.positions[i][0] == (float)i + 1); // every text here has x = 1, 2, 3, ...
    assert_true(mesh.positions[i][1] == -0.5f && mesh.positions[i][2] == 2e3f);
  }
  sn_mesh_free(&mesh);
}

#define FOUR "v 1 -.5 2e3\nv 2 -0.5 2E+3\nv +3. -5e-1 2000\nv 4 -0.50 2000.000\n"

static void test_obj_features(void **state) {
  static const int quad[2][3] = {{0, 1, 2}, {0, 2, 3}};
  static const struct {
    const char *name, *text;
    int triangles;
  } cases[] = {
    {"polygon", FOUR "f 1 2 3 4\n", 2},
    {"no last newline", FOUR "f 1 2 3 4", 2},
    {"negative indices", FOUR "f -4 -3 -2 -1\n", 2},
    {"texture and normal", FOUR "vt 0 0\nvn 0 0 1\nf 1/1/1 2/1/1 3//1 4/1\n", 2},
    {"negative with others", FOUR "f -4/-1/-1 -3//-1 -2/-1 -1\n", 2},
    {"tabs and blanks", FOUR "\t f\t1   2\t\t3 4 \t\n", 2},
    {"windows", "v 1 -.5 2e3\r\nv 2 -.5 2e3\r\nv 3 -.5 2e3\r\nv 4 -.5 2e3\r\nf 1 2 3 4\r\n", 2},
    {"colours", "v 1 -.5 2e3 1 0 0\nv 2 -.5 2e3 0.5 0.5 0.5 1\nv 3 -.5 2e3 1.0\nv 4 -.5 2e3\nf 1 2 3 4", 2},
    {"groups", "mtllib a.mtl\no thing\ng one two\n" FOUR "usemtl red\ns 1\nf 1 2 3\ng\nf 1 3 4\nl 1 2\np 1\n", 2},
    {"comments", "# v 9 9 9\n#f 1 2\n\n   \n" FOUR "  # inside\nf 1 2 3 4 # a quad\n", 2},
    {"comment behind a position", "v 1 -.5 2e3# one\nv 2 -.5 2e3 # two\nv 3 -.5 2e3\nv 4 -.5 2e3\nf 1 2 3 4", 2},
    {"old Macintosh", "v 1 -.5 2e3\r# v\rv 2 -.5 2e3\r\rv 3 -.5\\\r2e3\rv 4 -.5 2e3\rf 1 2 3 4\r", 2},
    {"continued lines", "v 1 \\\n -.5 2e3\nv 2 -.5 2e3\nv 3 -.5\\\r\n2e3\nv 4 -.5 2e3\nf 1 2\\\n 3 \\\n 4\n", 2},
    {"faces before vertices", "f 1 2 3 4\n" FOUR, 2},
    {"points only", FOUR, 0},
    {"byte order mark", "\xEF\xBB\xBF" FOUR "f 1 2 3 4", 2},
    {"curves and surfaces", FOUR "vp 0.1 0.2\ncstype bezier\nf 1 2 3 4\nend\n", 2},
    {"comment that ends in a backslash", FOUR "# C:\\models\\\nf 1 2 3 4\n", 2},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    print_message("  %s\n", cases[k].name);
    expect_obj(cases[k].text, 4, cases[k].triangles, quad);
  }
}

static void test_obj_errors(void **state) {
  static const struct {
    const char *text, *message;
  } cases[] = {
    {"", "a.obj: no vertices"},
    {"# nothing\nf", "a.obj:2: a face needs at least three corners"},
    {"v 1 2\n", "a.obj:1: a vertex needs three numbers"},
    {"v\n", "a.obj:1: a vertex needs three numbers"},
    {"v 1 2 3\nv 1 2 x\n", "a.obj:2: a vertex needs three numbers"},
    {"v 1 2 3\nv 1.2.3 4\n", "a.obj:2: a coordinate is not a number"},
    {"v 1 2 3abc\n", "a.obj:1: a coordinate is not a number"},
    {"v 1 nan 3\n", "a.obj:1: a vertex needs three numbers"},
    {"v 1 2 3\n\nv 1 1e39 3\n", "a.obj:3: a coordinate is not a finite number"},
    {"v 1 -1e999 3\n", "a.obj:1: a coordinate is not a finite number"},
    {FOUR "f 1 2\n", "a.obj:5: a face needs at least three corners"},
    {FOUR "f 1 2 0\n", "a.obj:5: face index 0: OBJ counts from 1"},
    {FOUR "f 1 2 -0\n", "a.obj:5: face index 0"},
    {FOUR "f 1 2 3\nf 1 2 5\n", "a.obj:6: face index 5, but there are only 4 vertices"},
    {FOUR "f 1 2 -5\n", "a.obj:5: a negative face index reaches before the first vertex"},
    {FOUR "f 1 2 99999999999999999999\n", "a.obj:5: a face index is too large"},
    {FOUR "f 1 2 -99999999999999999999\n", "a.obj:5: a negative face index reaches before"},
    {FOUR "f 1 2 2147483647\n", "a.obj:5: face index 2147483647, but there are only 4"},
    {FOUR "f 1 2 /3\n", "a.obj:5: a face corner is not a number"},
    {FOUR "f 1 2 3x\n", "a.obj:5: a face corner is not a number"},
    {FOUR "f 1 2 3.5\n", "a.obj:5: a face corner is not a number"},
    {FOUR "f 1 \\\n 2 \\\n x\n", "a.obj:7: a face corner is not a number"},
    {"f 1 2 7\nf 1 2 9\n" FOUR, "a.obj:2: face index 9"},
  };
  sn_context ctx = sn_context_default();
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    sn_mesh mesh;
    assert_fails(&ctx, sn_obj_parse(&ctx, "a.obj", cases[k].text, strlen(cases[k].text), &mesh, NULL),
                 cases[k].message);
    assert_int_equal(ctx.error.status, SN_BAD_FILE);
    assert_null(mesh.positions);
  }
  sn_mesh mesh;
  assert_fails(&ctx, sn_obj_read(&ctx, scratch("absent.obj"), &mesh, NULL), "absent.obj: cannot open");
  assert_fails(&ctx, sn_obj_read(&ctx, "/tmp", &mesh, NULL), "/tmp: is a folder");
  write_text(scratch("a.obj"), "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n");
  assert_fails(&ctx, sn_obj_read(&ctx, scratch("a.obj"), &mesh, NULL),
               "a.obj: is a Git LFS pointer, not the file itself");
  write_text(scratch("a.obj"), "\x1f\x8b\x08v 0 0 0\n");
  assert_fails(&ctx, sn_obj_read(&ctx, scratch("a.obj"), &mesh, NULL),
               "a.obj: is compressed by gzip; unpack it first");
}

// Every float comes back with the same bits.
static void test_obj_round_trip(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(3);
  sn_mesh mesh, back;
  assert_ok(&ctx, sn_mesh_new(&ctx, 20000, 1000, &mesh));
  for (int k = 0; k < 3 * mesh.vertex_count; k++) {
    float *x = &mesh.positions[k / 3][k % 3];
    do {
      uint32_t bits = (uint32_t)sn_random_next(&rng);
      memcpy(x, &bits, sizeof bits);
    } while (!isfinite(*x));
    if (k % 2) *x = (float)sn_random_normal(&rng);
  }
  for (int k = 0; k < 3000; k++) mesh.triangles[k / 3][k % 3] = sn_random_below(&rng, 20000);
  const char *path = scratch("round.obj");
  assert_ok(&ctx, sn_obj_write(&ctx, path, &mesh, (const float(*)[3])mesh.positions, NULL));
  assert_ok(&ctx, sn_obj_read(&ctx, path, &back, NULL));
  assert_int_equal(back.vertex_count, 20000);
  assert_int_equal(back.triangle_count, 1000);
  assert_memory_equal(back.positions, mesh.positions, 20000 * sizeof *mesh.positions);
  assert_memory_equal(back.triangles, mesh.triangles, 1000 * sizeof *mesh.triangles);
  sn_mesh_free(&mesh);
  sn_mesh_free(&back);
}

// ---- point caches ----------------------------------------------------------------------------------------------------------

// A PC2 header with any counts, and `size` bytes in all.
static size_t make_pc2(uint8_t *out, uint32_t version, uint32_t points, uint32_t frames, size_t numbers) {
  float start = 0, rate = 1;
  memcpy(out, "POINTCACHE2", 12);
  memcpy(out + 12, &version, 4), memcpy(out + 16, &points, 4), memcpy(out + 20, &start, 4);
  memcpy(out + 24, &rate, 4), memcpy(out + 28, &frames, 4);
  for (size_t k = 0; k < numbers; k++) {
    float x = (float)k * 0.5f;
    memcpy(out + 32 + 4 * k, &x, 4);
  }
  return 32 + 4 * numbers;
}

static void test_pc2(void **state) {
  sn_context ctx = sn_context_default();
  _Alignas(64) uint8_t bytes[512];
  sn_frames frames;
  size_t size = make_pc2(bytes, 1, 5, 3, 45);
  assert_ok(&ctx, sn_cache_parse(&ctx, "a.pc2", &(sn_file){.bytes = bytes, .size = size}, &frames));
  assert_int_equal(frames.vertex_count, 5);
  assert_int_equal(frames.frame_count, 3);
  assert_ptr_equal((const uint8_t *)frames.positions, bytes + 32); // no copy
  assert_true(sn_frame(&frames, 2)[4][2] == 22);
  sn_frames_free(&frames);
  // Bytes that are not aligned are copied.
  for (int shift = 1; shift < 4; shift++) {
    _Alignas(64) uint8_t moved[600];
    memcpy(moved + shift, bytes, size);
    assert_ok(&ctx, sn_cache_parse(&ctx, "a.pc2", &(sn_file){.bytes = moved + shift, .size = size}, &frames));
    assert_memory_equal(frames.positions, bytes + 32, 45 * 4);
    sn_frames_free(&frames);
  }
  // More bytes than the header says are passed over.
  assert_ok(&ctx, sn_cache_parse(&ctx, "a.pc2", &(sn_file){.bytes = bytes, .size = size + 100}, &frames));
  assert_int_equal(frames.frame_count, 3);
  sn_frames_free(&frames);
}

static void test_bad_pc2(void **state) {
  sn_context ctx = sn_context_default();
  _Alignas(64) uint8_t bytes[512];
  sn_frames frames;
  size_t size = make_pc2(bytes, 1, 5, 3, 45);
  for (size_t cut = 0; cut < size; cut++) {
    assert_fails(&ctx, sn_cache_parse(&ctx, "a.pc2", &(sn_file){.bytes = bytes, .size = cut}, &frames),
                 cut < 32 ? "not a PC2 file" : "a.pc2: truncated");
    assert_int_equal(ctx.error.status, SN_BAD_FILE);
    assert_null(frames.positions);
  }
  assert_fails(&ctx, sn_cache_parse(&ctx, "a.pc2", &(sn_file){.bytes = bytes, .size = size - 1}, &frames),
               "the header says 3 frames of 5 vertices, 212 bytes, but the file has 211");
  make_pc2(bytes, 2, 5, 3, 0);
  assert_fails(&ctx, sn_cache_parse(&ctx, "a.pc2", &(sn_file){.bytes = bytes, .size = size}, &frames),
               "PC2 version 2; only version 1");
  static const uint32_t counts[][2] = {{0, 3},
                                       {5, 0},
                                       {0x80000000u, 1},
                                       {1, 0xFFFFFFFFu},
                                       {0xFFFFFFFFu, 0xFFFFFFFFu},
                                       {0x7FFFFFFF, 0x7FFFFFFF},
                                       {0x55555556, 3},
                                       {0x15555556, 1},
                                       {0x40000000, 4}};
  for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
    make_pc2(bytes, 1, counts[k][0], counts[k][1], 0);
    assert_int_equal(sn_cache_parse(&ctx, "a.pc2", &(sn_file){.bytes = bytes, .size = size}, &frames), SN_BAD_FILE);
    assert_non_null(strstr(ctx.error.message, "a.pc2: "));
    assert_null(frames.positions);
  }
  make_pc2(bytes, 1, 5, 3, 45);
  float bad = NAN;
  memcpy(bytes + 32 + 12 * (2 * 5 + 3), &bad, 4);
  assert_fails(&ctx, sn_cache_parse(&ctx, "a.pc2", &(sn_file){.bytes = bytes, .size = size}, &frames),
               "a.pc2: frame 2, vertex 3: position is not finite");
  assert_int_equal(ctx.error.status, SN_BAD_FILE);
}

static void test_bad_mdd(void **state) {
  sn_context ctx = sn_context_default();
  sn_frames frames;
  uint8_t bytes[8 + 8 + 2 * 12] = {0, 0, 0, 2, 0, 0, 0, 1};
  assert_ok(&ctx, sn_cache_parse(&ctx, "a.mdd", &(sn_file){.bytes = bytes, .size = sizeof bytes}, &frames));
  assert_int_equal(frames.frame_count, 2);
  assert_int_equal(frames.vertex_count, 1);
  sn_frames_free(&frames);
  for (size_t cut = 0; cut < sizeof bytes; cut++) {
    assert_fails(&ctx, sn_cache_parse(&ctx, "a.mdd", &(sn_file){.bytes = bytes, .size = cut}, &frames),
                 cut < 8 ? "too short for an MDD" : "truncated");
    assert_int_equal(ctx.error.status, SN_BAD_FILE);
  }
  for (int k = 0; k < 8; k++) {
    uint8_t lying[sizeof bytes];
    memcpy(lying, bytes, sizeof bytes);
    lying[k] = 0xFF;
    assert_int_equal(sn_cache_parse(&ctx, "a.mdd", &(sn_file){.bytes = lying, .size = sizeof lying}, &frames),
                     SN_BAD_FILE);
    assert_null(frames.positions);
  }
  memset(bytes, 0xFF, 8);
  assert_int_equal(sn_cache_parse(&ctx, "a.mdd", &(sn_file){.bytes = bytes, .size = sizeof bytes}, &frames),
                   SN_BAD_FILE);
  memset(bytes, 0, 8);
  assert_fails(&ctx, sn_cache_parse(&ctx, "a.mdd", &(sn_file){.bytes = bytes, .size = sizeof bytes}, &frames),
               "0 vertices and 0 frames");
  bytes[3] = 2, bytes[7] = 1;
  memcpy(bytes + 16 + 12 + 4, "\x7F\x80\x00\x00", 4); // infinity in y of frame 1
  assert_fails(&ctx, sn_cache_parse(&ctx, "a.mdd", &(sn_file){.bytes = bytes, .size = sizeof bytes}, &frames),
               "a.mdd: frame 1, vertex 0");
}

// A small moving mesh.
static void make_frames(sn_context *ctx, int vertices, int count, sn_frames *frames, sn_mesh *mesh) {
  sn_random rng = sn_random_new(4);
  assert_ok(ctx, sn_frames_new(ctx, vertices, count, frames));
  for (int k = 0; k < vertices * count; k++) sn_vec3_store(random_vec3(&rng), sn_frame_mutable(frames, 0)[k]);
  assert_ok(ctx, sn_mesh_new(ctx, vertices, 2, mesh));
  for (int k = 0; k < 6; k++) mesh->triangles[k / 3][k % 3] = k % vertices;
}

static void test_frames_round_trips(void **state) {
  sn_context ctx = sn_context_default();
  sn_frames frames, back;
  sn_mesh mesh;
  make_frames(&ctx, 7, 12, &frames, &mesh);
  frames.rate = 24;
  static const char *const names[] = {"a.pc2", "a.PC2", "a.mdd", "folder/", "other", "deep/er/still/"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    const char *path = scratch(names[k]);
    assert_ok(&ctx, sn_frames_write(&ctx, path, &frames, &mesh));
    assert_ok(&ctx, sn_frames_read(&ctx, path, NULL, &back));
    assert_int_equal(back.vertex_count, 7);
    assert_int_equal(back.frame_count, 12);
    assert_memory_equal(back.positions, frames.positions, 7 * 12 * sizeof *frames.positions);
    if (k < 2) assert_non_null(back.file.bytes); // straight from the file
    if (k == 2) assert_near(back.rate, 24, 1e-4);
    sn_frames_free(&back);
  }
  assert_fails(&ctx, sn_frames_write(&ctx, scratch("a.xyz"), &frames, &mesh),
               "written as .pc2, .mdd, .abc or a folder");
  assert_fails(&ctx, sn_frames_read(&ctx, scratch("absent.pc2"), NULL, &back), "absent.pc2: cannot open");
  assert_fails(&ctx, sn_frames_read(&ctx, scratch("absent"), NULL, &back), "absent: no such file");
  write_text(scratch("a.xyz"), "x");
  assert_fails(&ctx, sn_frames_read(&ctx, scratch("a.xyz"), NULL, &back), "frames come as .pc2, .mdd");
  write_text(scratch("empty.pc2"), "");
  assert_fails(&ctx, sn_frames_read(&ctx, scratch("empty.pc2"), NULL, &back), "not a PC2 file");
  sn_frames_free(&frames);
  sn_mesh_free(&mesh);
}

// ---- sequences of OBJ ------------------------------------------------------------------------------------------------------

static void test_natural_order(void **state) {
  sn_context ctx = sn_context_default();
  assert_ok(&ctx, sn_make_folder(&ctx, scratch("seq")));
  // Written in another order than they are to be read; the first vertex's x says which is which.
  static const char *const names[] = {"f10.obj",  "f2.obj", "f1.obj", "f100.obj",
                                      "f020.obj", "F3.OBJ", "g.obj",  "f2b.obj"};
  static const char *const sorted[] = {"F3.OBJ",  "f1.obj",   "f2.obj",   "f2b.obj",
                                       "f10.obj", "f020.obj", "f100.obj", "g.obj"};
  for (int k = 0; k < 8; k++) {
    char text[64], name[64];
    snprintf(name, sizeof name, "seq/%s", names[k]);
    snprintf(text, sizeof text, "v %d 0 0\nv 0 0 0\nv 0 1 0\nf 1 2 3\n", k);
    write_text(scratch(name), text);
  }
  write_text(scratch("seq/readme.txt"), "not an obj");
  sn_arena memory = sn_arena_new(&ctx);
  char **paths;
  int count;
  assert_ok(&ctx, sn_list_frames(&ctx, scratch("seq"), &memory, &paths, &count));
  assert_int_equal(count, 8);
  for (int k = 0; k < 8; k++) assert_string_equal(strrchr(paths[k], '/') + 1, sorted[k]);
  assert_ok(&ctx, sn_list_frames(&ctx, scratch("seq/f[12]*.obj"), &memory, &paths, &count));
  assert_int_equal(count, 5);
  assert_string_equal(strrchr(paths[4], '/') + 1, "f100.obj");
  sn_frames frames;
  assert_ok(&ctx, sn_frames_read(&ctx, scratch("seq/f*.obj"), NULL, &frames));
  assert_int_equal(frames.frame_count, 6);
  assert_true(sn_frame(&frames, 0)[0][0] == 2 && sn_frame(&frames, 1)[0][0] == 1 && sn_frame(&frames, 5)[0][0] == 3);
  sn_frames_free(&frames);
  sn_arena_free(&memory);
}

static void test_odd_folders(void **state) {
  sn_context ctx = sn_context_default();
  sn_frames frames;
  assert_ok(&ctx, sn_make_folder(&ctx, scratch("hollow")));
  assert_fails(&ctx, sn_frames_read(&ctx, scratch("hollow"), NULL, &frames),
               "hollow: no .obj, .glb, .gltf or .ply files");
  assert_fails(&ctx, sn_frames_read(&ctx, scratch("hollow/*.obj"), NULL, &frames), "no such file");
  // Names that look like patterns.
  assert_ok(&ctx, sn_make_folder(&ctx, scratch("take [1]*?")));
  write_text(scratch("take [1]*?/a.obj"), "v 1 2 3\n");
  assert_ok(&ctx, sn_frames_read(&ctx, scratch("take [1]*?"), NULL, &frames));
  assert_int_equal(frames.frame_count, 1);
  sn_frames_free(&frames);
  write_text(scratch("pose[2].obj"), "v 1 2 3\n");
  assert_ok(&ctx, sn_frames_read(&ctx, scratch("pose[2].obj"), NULL, &frames));
  sn_frames_free(&frames);
  // Frames that disagree.
  assert_ok(&ctx, sn_make_folder(&ctx, scratch("uneven")));
  write_text(scratch("uneven/1.obj"), "v 1 2 3\n");
  write_text(scratch("uneven/2.obj"), "v 1 2 3\nv 1 2 3\n");
  assert_fails(&ctx, sn_frames_read(&ctx, scratch("uneven"), NULL, &frames), "2.obj has 2 vertices, but ");
  write_text(scratch("uneven/1.obj"), "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3\nf 1 3 4\n");
  write_text(scratch("uneven/2.obj"), "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3\n");
  assert_fails(&ctx, sn_frames_read(&ctx, scratch("uneven"), NULL, &frames), "2.obj has 1 triangles, but ");
  write_text(scratch("uneven/2.obj"), "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3\nf 1 2 4\n");
  assert_fails(&ctx, sn_frames_read(&ctx, scratch("uneven"), NULL, &frames),
               "2.obj: triangle 1 joins other vertices");
  write_text(scratch("uneven/2.ply"), "ply\n");
  assert_fails(&ctx, sn_frames_read(&ctx, scratch("uneven"), NULL, &frames),
               "2.ply are of different kinds; give a quoted");
  assert_int_equal(remove(scratch("uneven/2.ply")), 0);
  write_text(scratch("uneven/1.obj"), "v 1 2 3\n");
  write_text(scratch("uneven/2.obj"), "v 1 2\n");
  assert_fails(&ctx, sn_frames_read(&ctx, scratch("uneven"), NULL, &frames), "2.obj:1: a vertex needs three");
  assert_null(frames.positions);
}

// A sequence that cannot be written whole leaves none of its files.
static void test_sequence_on_a_full_disk(void **state) {
  sn_context ctx = sn_context_default();
  sn_frames frames;
  sn_mesh mesh;
  make_frames(&ctx, 10, 4, &frames, &mesh);
  for (int i = 0; i < 10; i++) sn_frame_mutable(&frames, 0)[i][0] = 1; // a shorter text than the later frames'
  for (int i = 0; i < 10; i++) sn_frame_mutable(&frames, 0)[i][1] = 1;
  assert_ok(&ctx, sn_make_folder(&ctx, scratch("full")));
  write_text(scratch("full/frame_0001.obj"), "previous");
  struct rlimit before, limit;
  getrlimit(RLIMIT_FSIZE, &before);
  limit = before, limit.rlim_cur = 320;
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &limit);
  sn_status status = sn_frames_write(&ctx, scratch("full/"), &frames, &mesh);
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  assert_int_equal(status, SN_IO);
  assert_non_null(strstr(ctx.error.message, "frame_0001.obj: cannot write: File too large"));
  assert_int_not_equal(access(scratch("full/frame_0000.obj"), F_OK), 0);
  assert_int_equal(access(scratch("full/frame_0001.obj"), F_OK), 0); // was there before
  sn_frames_free(&frames);
  sn_mesh_free(&mesh);
}

// ---- torque tables ---------------------------------------------------------------------------------------------------------

static sn_skeleton make_skeleton(sn_context *ctx) {
  sn_skeleton skeleton;
  assert_ok(ctx, sn_skeleton_new(ctx, 3, &skeleton));
  skeleton.names[0] = sn_arena_text(ctx, &skeleton.memory, "root");
  skeleton.names[1] = sn_arena_text(ctx, &skeleton.memory, "upper arm");
  skeleton.names[2] = sn_arena_text(ctx, &skeleton.memory, "elbow.L");
  return skeleton;
}

static void test_torques(void **state) {
  sn_context ctx = sn_context_default();
  sn_skeleton skeleton = make_skeleton(&ctx);
  static const char *const texts[] = {
    "frame,elbow.L,root\n0,1,2\n1,-3.5,4e1\n", "frame,elbow.L,root\r\n0,1,2\r\n1,-3.5,4e1",
    "frame,elbow.L,root\r0,1,2 \r\r1,-3.5,4e1\r", // lines end as on old Macs
    "\xEF\xBB\xBF"
    "frame , elbow.L ,\troot\n\n1, -3.5 ,40\n   \n0,1.0,+2\n\n", // rows in any order, blank lines
  };
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
    sn_torques torques;
    assert_ok(&ctx, sn_torques_parse(&ctx, "t.csv", texts[k], strlen(texts[k]), &skeleton, &torques));
    assert_int_equal(torques.frame_count, 2);
    assert_int_equal(torques.joint_count, 3);
    static const double expected[6] = {2, 0, 1, 40, 0, -3.5};
    assert_memory_equal(torques.values, expected, sizeof expected);
    assert_true(torques.has[0] && !torques.has[1] && torques.has[2]);
    sn_torques_free(&torques);
  }
  sn_skeleton_free(&skeleton);
}

static void test_bad_torques(void **state) {
  static const struct {
    const char *text, *message;
  } cases[] = {
    {"", "t.csv:1: the first column must be called frame"},
    {"time,root\n0,1\n", "t.csv:1: the first column must be called frame"},
    {"frames,root\n0,1\n", "t.csv:1: the first column must be called frame"},
    {"frame,root,knee\n0,1,2\n", "t.csv:1: the skeleton has no joint called 'knee'"},
    {"frame,root,\n0,1,\n", "t.csv:1: column 3 needs a name"},
    {"frame,root,root\n0,1,2\n", "t.csv:1: two columns are called 'root'"},
    {"frame,root\n", "t.csv: no rows"},
    {"frame,root\n\n  \n", "t.csv: no rows"},
    {"frame,root\n0,1\n1\n", "t.csv:3: 0 values where the first line has 1 names"},
    {"frame,root\n0,1,2\n", "t.csv:2: 2 values where the first line has 1 names"},
    {"frame,root\n0,x\n", "t.csv:2: 'x' is not a finite number"},
    {"frame,root\n0,\n", "t.csv:2: '' is not a finite number"},
    {"frame,root\n0,nan\n", "t.csv:2: 'nan' is not a finite number"},
    {"frame,root\n0,1e999\n", "t.csv:2: '1e999' is not a finite number"},
    {"frame,root\n0,1 2\n", "t.csv:2: '1 2' is not a finite number"},
    {"frame,root\nx,1\n", "t.csv:2: 'x' is not a finite number"},
    {"frame,root\n0,1\n0,2\n", "t.csv:3: frame 0: the rows must be frames 0 to 1, each once"},
    {"frame,root\n0,1\n2,2\n", "t.csv:3: frame 2: the rows must be frames 0 to 1, each once"},
    {"frame,root\n-1,1\n", "t.csv:2: frame -1"},
    {"frame,root\n0.5,1\n", "t.csv:2: frame 0.5"},
    {"frame,root\n1e300,1\n", "t.csv:2: frame 1e300"},
    {"frame,root\n0,1\nrest,2\n", "t.csv:1: joint 'root' has a torque in the rest pose"},
  };
  sn_context ctx = sn_context_default();
  sn_skeleton skeleton = make_skeleton(&ctx);
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    sn_torques torques;
    assert_fails(&ctx, sn_torques_parse(&ctx, "t.csv", cases[k].text, strlen(cases[k].text), &skeleton, &torques),
                 cases[k].message);
    assert_int_equal(ctx.error.status, SN_BAD_FILE);
    assert_null(torques.values);
  }
  sn_torques torques;
  assert_fails(&ctx, sn_torques_read(&ctx, scratch("absent.csv"), &skeleton, &torques), "absent.csv: cannot open");
  sn_skeleton_free(&skeleton);
}

// ---- memory ------------------------------------------------------------------------------------------------------------------

typedef sn_status (*reader_fn)(sn_context *ctx);

static sn_status try_obj(sn_context *ctx) {
  sn_mesh mesh;
  sn_status status = sn_obj_read(ctx, scratch("mem.obj"), &mesh, NULL);
  sn_mesh_free(&mesh);
  return status;
}

static sn_status try_frames(sn_context *ctx, const char *name) {
  sn_frames frames;
  sn_status status = sn_frames_read(ctx, scratch(name), NULL, &frames);
  sn_frames_free(&frames);
  return status;
}

static sn_status try_pc2(sn_context *ctx) { return try_frames(ctx, "mem.pc2"); }
static sn_status try_mdd(sn_context *ctx) { return try_frames(ctx, "mem.mdd"); }
static sn_status try_folder(sn_context *ctx) { return try_frames(ctx, "mem"); }

static sn_status try_unaligned(sn_context *ctx) {
  _Alignas(8) uint8_t bytes[256];
  sn_frames frames;
  size_t size = make_pc2(bytes + 1, 1, 2, 2, 12);
  sn_status status = sn_cache_parse(ctx, "a.pc2", &(sn_file){.bytes = bytes + 1, .size = size}, &frames);
  sn_frames_free(&frames);
  return status;
}

static sn_status try_torques(sn_context *ctx) {
  sn_skeleton skeleton;
  sn_torques torques = {0};
  sn_status status = sn_skeleton_new(ctx, 2, &skeleton);
  if (status == SN_OK) status = sn_torques_read(ctx, scratch("mem.csv"), &skeleton, &torques);
  sn_torques_free(&torques);
  sn_skeleton_free(&skeleton);
  return status;
}

static sn_status try_writing(sn_context *ctx) {
  sn_frames frames = {0};
  sn_mesh mesh = {0};
  sn_status status = sn_frames_new(ctx, 3, 2, &frames);
  if (status == SN_OK) status = sn_mesh_new(ctx, 3, 1, &mesh);
  if (status == SN_OK) status = sn_frames_write(ctx, scratch("w.pc2"), &frames, &mesh);
  if (status == SN_OK) status = sn_frames_write(ctx, scratch("w.mdd"), &frames, &mesh);
  if (status == SN_OK) status = sn_frames_write(ctx, scratch("w/"), &frames, &mesh);
  sn_frames_free(&frames);
  sn_mesh_free(&mesh);
  return status;
}

static void test_every_allocation_fails(void **state) {
  sn_context ctx = sn_context_default();
  sn_frames frames;
  sn_mesh mesh;
  make_frames(&ctx, 7, 12, &frames, &mesh);
  assert_ok(&ctx, sn_frames_write(&ctx, scratch("mem.pc2"), &frames, &mesh));
  assert_ok(&ctx, sn_frames_write(&ctx, scratch("mem.mdd"), &frames, &mesh));
  assert_ok(&ctx, sn_frames_write(&ctx, scratch("mem"), &frames, &mesh));
  assert_ok(&ctx, sn_obj_write(&ctx, scratch("mem.obj"), &mesh, sn_frame(&frames, 0), NULL));
  write_text(scratch("mem.csv"), "frame,joint0,joint1\n0,1,2\n");
  sn_frames_free(&frames);
  sn_mesh_free(&mesh);
  static const struct {
    const char *name;
    reader_fn run;
    int least; // allocations there must be
  } readers[] = {{"obj", try_obj, 4},         {"pc2", try_pc2, 0},        {"unaligned pc2", try_unaligned, 1},
                 {"mdd", try_mdd, 1},         {"folder", try_folder, 40}, {"torques", try_torques, 8},
                 {"writing", try_writing, 12}};
  for (size_t k = 0; k < sizeof readers / sizeof *readers; k++) {
    starvation s = {0};
    while (starve(&s)) s.status = readers[k].run(&s.ctx);
    assert_true(s.n - 1 >= readers[k].least);
  }
}

// ---- real data ---------------------------------------------------------------------------------------------------------------

static void test_real_sets(void **state) {
  static const struct {
    const char *name;
    int vertices, frames;
  } sets[] = {{"cat-poses", 7207, 9},
              {"horse-poses", 8431, 10},
              {"horse-gallop", 8431, 48},
              {"pdance", 7061, 201},
              {"pcow", 2904, 204},
              {"cheburashka", 6669, 11},
              {"cylinder", 420, 4},
              {"cheburashka-pose", 6669, 80},
              {"cheburashka-torque", 6669, 80},
              {"dembones-bone", 754, 400}};
  need_data(readme, "README.md");
  (void)readme;
  sn_context ctx = sn_context_default();
  for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) {
    char name[256];
    snprintf(name, sizeof name, "%s/rest.obj", sets[k].name);
    need_data(rest, name);
    snprintf(name, sizeof name, "%s/frames.pc2", sets[k].name);
    need_data(pc2, name);
    sn_mesh mesh;
    sn_frames frames;
    assert_ok(&ctx, sn_obj_read(&ctx, rest, &mesh, NULL));
    assert_ok(&ctx, sn_frames_read(&ctx, pc2, NULL, &frames));
    assert_int_equal(mesh.vertex_count, sets[k].vertices);
    assert_int_equal(frames.vertex_count, sets[k].vertices);
    assert_int_equal(frames.frame_count, sets[k].frames);
    assert_non_null(frames.file.bytes);
    assert_true(mesh.triangle_count > 0);
    sn_mesh_free(&mesh);
    sn_frames_free(&frames);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_numbers_against_strtod),
    cmocka_unit_test(test_numbers_round_trip),
    cmocka_unit_test(test_special_numbers),
    cmocka_unit_test(test_numbers_in_another_locale),
    cmocka_unit_test(test_obj_features),
    cmocka_unit_test(test_obj_errors),
    cmocka_unit_test(test_obj_round_trip),
    cmocka_unit_test(test_pc2),
    cmocka_unit_test(test_bad_pc2),
    cmocka_unit_test(test_bad_mdd),
    cmocka_unit_test(test_frames_round_trips),
    cmocka_unit_test(test_natural_order),
    cmocka_unit_test(test_odd_folders),
    cmocka_unit_test(test_sequence_on_a_full_disk),
    cmocka_unit_test(test_torques),
    cmocka_unit_test(test_bad_torques),
    cmocka_unit_test(test_every_allocation_fails),
    cmocka_unit_test(test_real_sets),
  };
  return cmocka_run_group_tests_name("io", tests, NULL, NULL);
}
