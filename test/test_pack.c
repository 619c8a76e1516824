// SPDX-License-Identifier: MIT
// Packed models: the same as what they were packed from, within the errors that docs/reference/c.md states, for every method, on
// every path, for ranges and strides; what their readers give; packed sections that are wrong.
#include "runtime/internal.h"
#include "cuda/rows.h"
#include "section_fixture.h"
#include "train_fixture.h"

static const sn_rt_path all_paths[] = {SN_RT_PATH_SCALAR, SN_RT_PATH_SSE2, SN_RT_PATH_AVX2,
                                       SN_RT_PATH_NEON,   SN_RT_PATH_WASM, SN_RT_PATH_AVX512};

// What packing may cost: of the diagonal, and in radians.
static const double most_rms = 2e-5, most_distance = 2e-4, most_angle = 0.3 * SN_PI / 180;

typedef float point[3];

static void *room(size_t count, size_t size) { return calloc(count + 1, size); }

// Frame f of the examples on a model, into positions and normals.
static void evaluate_frame(const sn_rt_model *model, const sn_examples *examples, int f, point *positions,
                           point *normals) {
  float(*joints)[12] = room(model->info.joint_count, sizeof *joints), *torques = room(model->info.joint_count, 4);
  point *controls = room(model->info.control_count, sizeof *controls);
  void *scratch = malloc(sn_rt_scratch_size(model));
  if (model->info.joint_count) sn_model_joints(sn_pose(&examples->poses, f), (int)model->info.joint_count, joints);
  if (model->info.torque_count) sn_model_torques(&examples->torques, f, (int)model->info.joint_count, torques);
  const uint32_t *points = sn_rt_data(model, SN_SECTION_CONTROL_POINTS);
  for (uint32_t k = 0; k < model->info.control_count; k++)
    memcpy(controls[k], sn_frame(&examples->frames, f)[points[k]], sizeof *controls);
  sn_rt_input input = {.joints = (const float(*)[12])joints, .controls = (const point *)controls, .torques = torques};
  sn_rt_output output = {.positions = &positions[0][0], .normals = &normals[0][0]};
  assert_int_equal(sn_rt_evaluate(model, &input, scratch, &output, NULL), SN_RT_OK);
  free(joints), free(torques), free(controls), free(scratch);
}

typedef struct difference {
  double rms, largest, angle;
} difference;

static difference compare(int count, const point *a, const point *b, const point *a_normals, const point *b_normals) {
  difference d = {0};
  for (int i = 0; i < count; i++) {
    double distance = sn_vec3_distance(sn_vec3_from(a[i]), sn_vec3_from(b[i]));
    double apart = sn_vec3_distance(sn_vec3_from(a_normals[i]), sn_vec3_from(b_normals[i]));
    d.rms += distance * distance / count;
    d.largest = fmax(d.largest, distance), d.angle = fmax(d.angle, 2 * asin(fmin(1, apart / 2)));
  }
  d.rms = sqrt(d.rms);
  return d;
}

static sn_model pack(sn_context *ctx, const sn_rt_model *model, sn_rt_model *opened) {
  sn_model packed;
  assert_ok(ctx, sn_model_pack(ctx, model, &packed));
  assert_ok(ctx, sn_model_open(ctx, "packed", packed.bytes, packed.size, opened));
  assert_int_equal(opened->info.weight_bits, 12);
  return packed;
}

// Trains, packs, and compares all frames on all paths. Returns the size of the packed file over that of the other.
static double check_method(const sn_examples *examples, const char *spec) {
  sn_context ctx = sn_context_default();
  trained t = train(&ctx, examples, spec, "all");
  sn_rt_model model;
  sn_model packed = pack(&ctx, &t.model, &model);
  int count = (int)model.info.vertex_count;
  point *expected = room((size_t)count, sizeof *expected), *expected_normals = room((size_t)count, sizeof *expected);
  point *positions = room((size_t)count, sizeof *positions), *normals = room((size_t)count, sizeof *normals);
  double diagonal = sn_points_diagonal((const point *)examples->rest.positions, examples->rest.vertex_count);
  assert_true(sn_rt_use_path(&t.model, SN_RT_PATH_SCALAR));
  difference worst = {0};
  for (int f = 0; f < examples->frames.frame_count; f++) {
    evaluate_frame(&t.model, examples, f, expected, expected_normals);
    for (size_t n = 0; n < sizeof all_paths / sizeof *all_paths; n++) {
      if (!sn_rt_use_path(&model, all_paths[n])) continue;
      sn_rt_change(&model)->wide_units = f % 2; // as if on another processor
      evaluate_frame(&model, examples, f, positions, normals);
      difference d = compare(count, (const point *)positions, (const point *)expected, (const point *)normals,
                             (const point *)expected_normals);
      worst.rms = fmax(worst.rms, d.rms / diagonal), worst.largest = fmax(worst.largest, d.largest / diagonal);
      worst.angle = fmax(worst.angle, d.angle);
    }
  }
  double ratio = (double)packed.size / (double)t.bytes.size;
  print_message(
    "  %s: rms %.5f %%, largest %.5f %%, %.3f degrees, %.1f bytes read per vertex of %.1f, %.1f %% of %zu\n", spec,
    100 * worst.rms, 100 * worst.largest, worst.angle * 180 / SN_PI, (double)model.info.bytes_read / count,
    (double)t.model.info.bytes_read / count, 100 * ratio, t.bytes.size);
  assert_below(worst.rms, most_rms);
  assert_below(worst.largest, most_distance);
  assert_below(worst.angle, most_angle);
  free(expected), free(expected_normals), free(positions), free(normals);
  sn_model_free(&packed);
  release(&t);
  return ratio;
}

// Half of the bytes of a plain skin and of the solve; of corrections, the pose spaces keep theirs.
static void every_method_keeps_its_errors(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples arm = generate(&ctx, "arm", 12, 1500);
  assert_below(check_method(&arm, "lbs"), 0.55);
  check_method(&arm, "lbs:extra=halfway");
  check_method(&arm, "dqs");
  check_method(&arm, "rigid");
  assert_below(check_method(&arm, "psd"), 0.65);
  check_method(&arm, "psd:blend=dualquat");
  check_method(&arm, "psd:order=forward");
  check_method(&arm, "psd:space=whole,weighted=1");
  check_method(&arm, "eigenskin");
  check_method(&arm, "rotreg:bones=8");
  assert_below(check_method(&arm, "rotreg:bones=40"), 0.65);
  check_method(&arm, "rotreg:bones=8,psd=1");
  sn_examples_free(&arm);
}

static void torques_and_controls(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples leg = generate(&ctx, "leg", 12, 800), bar = generate(&ctx, "bar", 12, 400);
  check_method(&leg, "torque:bones=6");
  bar.control_target = 4;
  check_method(&bar, "affine:bones=4");
  sn_examples_free(&leg), sn_examples_free(&bar);
}

// What the readers give of a packed model is what it is evaluated with: at rest, the positions.
static void readers_know_packed_models(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples arm = generate(&ctx, "arm", 4, 600);
  trained t = train(&ctx, &arm, "psd", "all");
  sn_rt_model model;
  sn_model packed = pack(&ctx, &t.model, &model), again;
  sn_mesh before, after;
  sn_skin skin;
  sn_displacements fields, packed_fields;
  assert_ok(&ctx, sn_model_mesh(&ctx, &t.model, &before));
  assert_ok(&ctx, sn_model_mesh(&ctx, &model, &after));
  assert_int_equal(before.triangle_count, after.triangle_count);
  assert_memory_equal(before.triangles, after.triangles, (size_t)before.triangle_count * sizeof *before.triangles);
  double diagonal = sn_points_diagonal((const point *)before.positions, before.vertex_count);
  for (int i = 0; i < before.vertex_count; i++)
    assert_below(sn_vec3_distance(sn_vec3_from(before.positions[i]), sn_vec3_from(after.positions[i])),
                 2e-5 * diagonal);
  assert_ok(&ctx, sn_model_skin(&ctx, &model, &skin));
  for (int i = 0; i < skin.vertex_count; i++) {
    double sum = 0;
    for (int k = 0; k < skin.influences; k++) sum += skin.weights[i * skin.influences + k];
    assert_near(sum, 1, 1e-6);
  }
  assert_ok(&ctx, sn_model_displacements(&ctx, &t.model, &fields));
  assert_ok(&ctx, sn_model_displacements(&ctx, &model, &packed_fields));
  assert_int_equal(fields.count, packed_fields.count);
  for (int n = 0; n < fields.count * before.vertex_count; n++)
    assert_below(sn_vec3_distance(sn_vec3_from(fields.deltas[n]), sn_vec3_from(packed_fields.deltas[n])),
                 1e-4 * diagonal);
  assert_fails(&ctx, sn_model_pack(&ctx, &model, &again), "packed already");
  sn_mesh_free(&before), sn_mesh_free(&after), sn_skin_free(&skin);
  sn_displacements_free(&fields), sn_displacements_free(&packed_fields);
  sn_model_free(&packed);
  release(&t);
  sn_examples_free(&arm);
}

// Numbers of 12 bits, and directions on the octahedron, one at a time.
static void numbers_come_back(void **state) {
  uint8_t row[SN_RT_PACKED_ROW];
  sn_random rng = sn_random_new(3);
  for (int n = 0; n < 1000; n++) {
    for (int k = 0; k < SN_RT_PACKED_ROW; k++) row[k] = (uint8_t)sn_random_below(&rng, 256);
    for (uint32_t l = 0; l < SN_RT_LANES; l++) {
      uint32_t expected = 0;
      for (uint32_t b = 0; b < 12; b++) expected |= (uint32_t)(row[(12 * l + b) / 8] >> (12 * l + b) % 8 & 1) << b;
      assert_int_equal(sn_rt_packed_number(row, l), expected);
    }
  }
  float normal[3];
  sn_rt_octahedral(2047, 2047, normal);
  assert_true(normal[0] == 0 && normal[1] == 0 && normal[2] == 1);
  sn_rt_octahedral(0, 0, normal);
  assert_true(normal[0] == 0 && normal[1] == 0 && normal[2] == -1);
}

// The solve with 16 bits is the one with floats, within half a step of every column.
static void solves_come_back(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples arm = generate(&ctx, "arm", 8, 900);
  trained t = train(&ctx, &arm, "rotreg:bones=21", "all");
  sn_rt_model model;
  sn_model packed = pack(&ctx, &t.model, &model);
  assert_non_null(sn_rt_data(&model, SN_SECTION_PACK_SOLVE));
  assert_null(sn_rt_data(&model, SN_SECTION_DRIVE_SOLVE));
  size_t count = sn_rt_rotreg_solve_count(3, 21), columns = 3 * 21 + 4 * 3;
  const float *was = sn_rt_data(&t.model, SN_SECTION_DRIVE_SOLVE);
  float *is = room(count, sizeof *is);
  sn_cuda_unpack_solve(&model, is);
  sn_rt_packed_solve s = sn_rt_packed_solve_of(&model);
  for (size_t n = 0; n < count; n++) {
    double step = s.scales[n / 32], reach = 0;
    const float *c = s.centres[n / 32 / columns * 8 + n % 32 / 4];
    if (n % 4 == 3) reach = s.unit + fabsf(c[0]) + fabsf(c[1]) + fabsf(c[2]);
    assert_below(fabs((double)is[n] - was[n]), 0.501 * step * (n % 4 == 3 ? reach : 1) + 1e-6 * fabs(was[n]) + 1e-7);
  }
  free(is);
  sn_model_free(&packed);
  release(&t);
  sn_examples_free(&arm);
}

static uint8_t *section_of(const sn_model *model, const char *name, sn_rt_entry **entry) {
  *entry = entry_of(model, name);
  return model->bytes + (*entry)->offset;
}

static void wrong_sections_are_refused(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples arm = generate(&ctx, "arm", 4, 600);
  trained t = train(&ctx, &arm, "psd:pack=1", "all");
  static const char *const names[] = {"pack.boxes",     "pack.rest",    "pack.normals", "pack.weights",
                                      "pack.triangles", "pack.entries", "pack.deltas"};
  sn_rt_entry *e = NULL;
  for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
    section_of(&t.bytes, names[n], &e);
    e->size--;
    refuses(&t.bytes, names[n]);
    e->size++;
    char name[16];
    memcpy(name, e->name, sizeof name);
    memset(e->name, 0, sizeof e->name), e->name[0] = 'x', e->flags = 0;
    refuses(&t.bytes, n == 5 ? "correct.entries is missing" : names[n]);
    memcpy(e->name, name, sizeof name);
  }
  float nan = NAN;
  uint8_t was[4], *at = section_of(&t.bytes, "pack.boxes", &e);
  memcpy(was, at, 4), memcpy(at, &nan, 4);
  refuses(&t.bytes, "pack.boxes is not finite");
  memcpy(at, was, 4);
  at = section_of(&t.bytes, "pack.triangles", &e);
  memcpy(was, at, 4), memset(at, 0xff, 3);
  refuses(&t.bytes, "pack.triangles");
  memcpy(at, was, 4);
  at = section_of(&t.bytes, "pack.entries", &e);
  memcpy(was, at, 4), memset(at, 0xff, 2);
  refuses(&t.bytes, "has no basis");
  memcpy(at, was, 4);
  sn_rt_header *h = (sn_rt_header *)(void *)t.bytes.bytes;
  h->weight_bits = 32;
  refuses(&t.bytes, "skin.rest is missing");
  h->weight_bits = 12;
  sn_rt_model opened;
  assert_true(sn_model_seal(t.bytes.bytes, t.bytes.size));
  assert_int_equal(sn_rt_open(t.bytes.bytes, t.bytes.size, &opened, NULL), SN_RT_OK);
  release(&t);
  sn_examples_free(&arm);
}

static void wrong_solves_are_refused(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples arm = generate(&ctx, "arm", 4, 600);
  trained t = train(&ctx, &arm, "rotreg:bones=9,pack=1", "all");
  static const char *const names[] = {"pack.solve", "pack.scales"};
  sn_rt_entry *e = NULL;
  for (size_t n = 0; n < 2; n++) {
    uint8_t *at = section_of(&t.bytes, names[n], &e);
    e->size -= 4, refuses(&t.bytes, names[n]), e->size += 4;
    float was, nan = NAN;
    memcpy(&was, at, 4), memcpy(at, &nan, 4);
    if (n == 1) refuses(&t.bytes, "pack.scales is not finite");
    memcpy(at, &was, 4);
    memset(e->name, 0, sizeof e->name), e->name[0] = 'x', e->flags = 0;
    refuses(&t.bytes, n ? "pack.scales is missing" : "drive.solve is missing");
    memcpy(e->name, names[n], strlen(names[n]));
  }
  release(&t);
  sn_examples_free(&arm);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(numbers_come_back),         cmocka_unit_test(solves_come_back),
    cmocka_unit_test(wrong_solves_are_refused),  cmocka_unit_test(every_method_keeps_its_errors),
    cmocka_unit_test(torques_and_controls),      cmocka_unit_test(readers_know_packed_models),
    cmocka_unit_test(wrong_sections_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
