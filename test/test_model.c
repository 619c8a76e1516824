// SPDX-License-Identifier: MIT
// The model file: writing, reading back, refusing what is wrong, surviving hostile bytes, opening old files.
#include "skin_fixture.h"

#include "runtime/format.h"

// ---- building ---------------------------------------------------------------------------------------------------------------

static void what_goes_in_comes_out(void **state) {
  sn_context ctx = sn_context_default();
  for (int n = 0; n < 8; n++) {
    fixture f;
    fixture_new(&ctx, 700 + n, 20, 1 + n, (uint64_t)n, &f);
    f.desc.blend = n % 2 ? SN_RT_BLEND_DUALQUAT : SN_RT_BLEND_LINEAR, f.desc.grain = n % 3 ? 128 : 0;
    fixture_build(&ctx, &f);
    sn_mesh mesh;
    sn_skin skin;
    sn_skeleton skeleton;
    assert_ok(&ctx, sn_model_mesh(&ctx, &f.rt, &mesh));
    assert_ok(&ctx, sn_model_skin(&ctx, &f.rt, &skin));
    assert_ok(&ctx, sn_model_skeleton(&ctx, &f.rt, &skeleton));
    assert_int_equal(mesh.vertex_count, f.mesh.vertex_count);
    assert_int_equal(mesh.triangle_count, f.mesh.triangle_count);
    assert_memory_equal(mesh.positions, f.mesh.positions, (size_t)mesh.vertex_count * 12);
    assert_memory_equal(mesh.triangles, f.mesh.triangles, (size_t)mesh.triangle_count * 12);
    for (int i = 0; i < mesh.vertex_count; i++)
      for (int j = 0; j < 20; j++) {
        double in = 0, out = 0;
        for (int k = 0; k < f.skin.influences; k++) {
          size_t at = (size_t)(i * f.skin.influences + k);
          if (f.skin.joints[at] == j) in += f.skin.weights[at];
        }
        for (int k = 0; k < skin.influences; k++) {
          size_t at = (size_t)(i * skin.influences + k);
          if (skin.joints[at] == j) out += skin.weights[at];
        }
        assert_near(out, in, 1e-6);
      }
    assert_int_equal(skeleton.joint_count, 20);
    for (int j = 0; j < 20; j++) {
      assert_string_equal(skeleton.names[j], f.skeleton.names[j]);
      assert_int_equal(skeleton.parents[j], f.skeleton.parents[j]);
      assert_near(skeleton.rest[j].m[0][3], f.skeleton.rest[j].m[0][3], 1e-5);
      assert_int_equal(sn_rt_find_joint(&f.rt, f.skeleton.names[j]), j);
    }
    assert_int_equal(sn_rt_find_joint(&f.rt, "nobody"), -1);
    sn_mesh_free(&mesh), sn_skin_free(&skin), sn_skeleton_free(&skeleton), fixture_free(&f);
  }
}

static void the_same_description_gives_the_same_bytes(void **state) {
  sn_context ctx = sn_context_default();
  fixture f;
  fixture_new(&ctx, 3000, 30, 4, 1, &f);
  fixture_build(&ctx, &f);
  sn_model again;
  for (ctx.threads = 1; ctx.threads <= 3; ctx.threads++) {
    assert_ok(&ctx, sn_model_build(&ctx, &f.desc, &again));
    assert_int_equal(again.size, f.model.size);
    assert_memory_equal(again.bytes, f.model.bytes, again.size);
    sn_model_free(&again);
  }
  fixture_free(&f);
}

static void no_vertex_pays_for_many_more_influences_than_it_has(void **state) {
  sn_context ctx = sn_context_default();
  fixture f;
  fixture_new(&ctx, 20000, 6, 4, 1, &f);
  fixture_build(&ctx, &f);
  const sn_rt_group *groups = sn_rt_data(&f.rt, SN_SECTION_SKIN_GROUPS);
  double paid = 0;
  for (uint64_t g = 0; g < sn_rt_size(&f.rt, SN_SECTION_SKIN_GROUPS) / sizeof *groups; g++) {
    paid += 8.0 * groups[g].block_count * groups[g].influences;
  }
  assert_below(paid, 1.15 * (double)f.rt.info.influence_count); // zeros cost less than the groups that they save
  assert_below(f.rt.info.block_count, 1.1 * 20000 / 8);
  fixture_free(&f);
}

static void wrong_descriptions_are_refused(void **state) {
  sn_context ctx = sn_context_default();
  fixture f;
  fixture_new(&ctx, 60, 5, 3, 1, &f);
  sn_model model;
  sn_model_desc d = f.desc;
  d.rest = NULL;
  assert_fails(&ctx, sn_model_build(&ctx, &d, &model), "rest mesh");
  d = f.desc, d.skin = NULL;
  assert_fails(&ctx, sn_model_build(&ctx, &d, &model), "60 vertices");
  d = f.desc, d.weight_bits = 11;
  assert_fails(&ctx, sn_model_build(&ctx, &d, &model), "12");
  d = f.desc, d.grain = 70000;
  assert_fails(&ctx, sn_model_build(&ctx, &d, &model), "70000");
  d = f.desc, d.skeleton = NULL;
  assert_fails(&ctx, sn_model_build(&ctx, &d, &model), "not 0");
  sn_extra_joint extra = {.kind = SN_EXTRA_HALFWAY, .parent = 0, .child = 5};
  d = f.desc, d.extra = &extra, d.extra_count = 1;
  assert_fails(&ctx, sn_model_build(&ctx, &d, &model), "extra joint 0");
  sn_model_section section = {.name = "a name that is too long"};
  d = f.desc, d.sections = &section, d.section_count = 1;
  assert_fails(&ctx, sn_model_build(&ctx, &d, &model), "too long");
  section.name = "skin.rest";
  assert_fails(&ctx, sn_model_build(&ctx, &d, &model), "two sections");
  f.skin.weights[30] = NAN;
  assert_fails(&ctx, sn_model_build(&ctx, &f.desc, &model), "vertex 10");
  f.skin.weights[30] = 0.5f, f.skin.joints[30] = 5;
  assert_fails(&ctx, sn_model_build(&ctx, &f.desc, &model), "bone 5");
  f.skin.joints[30] = 4, f.mesh.positions[7][1] = INFINITY;
  assert_fails(&ctx, sn_model_build(&ctx, &f.desc, &model), "7");
  fixture_free(&f);
}

static void every_allocation_may_fail(void **state) {
  sn_context plain = sn_context_default();
  fixture f;
  fixture_new(&plain, 200, 5, 3, 1, &f);
  f.desc.shade = SN_RT_SHADE_RECOMPUTE;
  for (starvation s = {0}; starve(&s);) {
    sn_model model;
    s.status = sn_model_build(&s.ctx, &f.desc, &model);
    sn_model_free(&model);
  }
  fixture_free(&f);
}

static void rounded_weights_keep_their_sum(void **state) {
  sn_random rng = sn_random_new(2);
  for (int n = 0; n < 20000; n++) {
    int count = 1 + sn_random_below(&rng, 8);
    float weights[8], sum = 0;
    uint32_t out[8], totals[2] = {255, 65535};
    for (int k = 0; k < count; k++) sum += weights[k] = (float)pow(sn_random_uniform(&rng), 4) + (k == 0 ? 1e-3f : 0);
    for (int k = 0; k < count; k++) weights[k] /= sum;
    for (int t = 0; t < 2; t++) {
      uint64_t total = 0;
      sn_quantise_weights(count, weights, totals[t], out);
      for (int k = 0; k < count; k++) {
        total += out[k];
        assert_below(fabs((double)out[k] - (double)weights[k] * totals[t]), 1.0);
      }
      assert_int_equal(total, totals[t]);
    }
  }
}

// ---- opening -----------------------------------------------------------------------------------------------------------------

// A copy of a model with some of its bytes changed. Fails the test where the copy opens or the message lacks `text`.
static void refused(const sn_model *model, size_t offset, const void *bytes, size_t count, bool seal,
                    const char *text) {
  uint8_t *copy = aligned_alloc(64, (model->size + 63) / 64 * 64);
  memcpy(copy, model->bytes, model->size);
  memcpy(copy + offset, bytes, count);
  if (seal) assert_true(sn_model_seal(copy, model->size));
  sn_rt_model rt;
  sn_rt_error error;
  assert_int_not_equal(sn_rt_open(copy, model->size, &rt, &error), SN_RT_OK);
  if (!strstr(error.message, text)) fail_msg("'%s' lacks '%s'", error.message, text);
  free(copy);
}

static void wrong_files_are_refused_with_a_reason(void **state) {
  sn_context ctx = sn_context_default();
  fixture f;
  fixture_new(&ctx, 100, 5, 3, 1, &f);
  f.desc.shade = SN_RT_SHADE_RECOMPUTE;
  fixture_build(&ctx, &f);
  const sn_model *m = &f.model;
  uint16_t newer = SN_RT_FORMAT_MAJOR + 6;
  uint32_t number = 77;
  uint8_t slot = 9, known_slot = SN_RT_DRIVE_TORQUE;
  refused(m, 0, "PNG", 3, true, "not a Sinew model");
  refused(m, offsetof(sn_rt_header, version_major), &newer, 2, false, "version 7.0");
  refused(m, offsetof(sn_rt_header, version_major), &newer, 2, true, "up to 1.0");
  refused(m, offsetof(sn_rt_header, drive), &known_slot, 1, true, "0 torques for 5 joints");
  refused(m, offsetof(sn_rt_header, correct), &slot, 1, true, "no correct `unknown` (choice 9");
  refused(m, offsetof(sn_rt_header, blend), &slot, 1, true, "no blend");
  refused(m, offsetof(sn_rt_header, shade), &slot, 1, true, "no shade");
  refused(m, offsetof(sn_rt_header, vertex_count), &number, 4, false, "checksum");
  refused(m, offsetof(sn_rt_header, block_count), &number, 4, true, "skin.lanes has");
  refused(m, offsetof(sn_rt_header, joint_count), &number, 4, true, "do not fit together");
  refused(m, sizeof(sn_rt_header) + 16, &number, 4, true, "not aligned");
  const uint8_t *lanes = sn_rt_data(&f.rt, SN_SECTION_SKIN_LANES), *rest = sn_rt_data(&f.rt, SN_SECTION_SKIN_REST);
  uint16_t far = 100;
  float nan = NAN;
  refused(m, (size_t)(lanes - m->bytes), &far, 2, true, "does not exist");
  refused(m, (size_t)(lanes - m->bytes), &far, 2, false, "skin.lanes is damaged");
  refused(m, (size_t)(rest - m->bytes) + 12, &nan, 4, true, "not finite");
  sn_rt_model rt;
  sn_rt_error error;
  assert_int_equal(sn_rt_open(m->bytes + 1, m->size - 1, &rt, &error), SN_RT_BAD_ARGUMENT);
  assert_int_equal(sn_rt_open(NULL, 0, &rt, NULL), SN_RT_BAD_ARGUMENT);
  assert_null(sn_rt_joint_name(&f.rt, 5));
  fixture_free(&f);
}

static void unknown_sections_are_ignored_unless_required(void **state) {
  sn_context ctx = sn_context_default();
  fixture f;
  fixture_new(&ctx, 50, 3, 2, 1, &f);
  sn_model_section section = {.name = "from.the.future", .bytes = "hello", .size = 5};
  f.desc.sections = &section, f.desc.section_count = 1;
  fixture_build(&ctx, &f);
  uint64_t size;
  const char *bytes = sn_rt_find_section(&f.rt, "from.the.future", &size);
  assert_int_equal(size, 5);
  assert_memory_equal(bytes, "hello", 5);
  assert_null(sn_rt_find_section(&f.rt, "nothing", &size));
  uint64_t total = 0;
  for (uint32_t s = 0; s < f.rt.info.section_count; s++) total += sn_rt_get_section(&f.rt, s).size;
  assert_true(total < f.rt.info.bytes);
  assert_null(sn_rt_get_section(&f.rt, f.rt.info.section_count).name);
  section.required = true;
  sn_model_free(&f.model);
  assert_ok(&ctx, sn_model_build(&ctx, &f.desc, &f.model));
  assert_fails(&ctx, sn_model_open(&ctx, "new.sinew", f.model.bytes, f.model.size, &f.rt),
               "new.sinew: the model needs section from.the.future");
  fixture_free(&f);
}

static void sections_are_called_what_they_are_named(void **state) {
#define BOTH(id, name) {#id, name},
  static const char *const both[][2] = {SN_RT_SECTION_LIST(BOTH)};
#undef BOTH
  for (size_t n = 0; n < SN_SECTION_COUNT; n++) {
    assert_int_equal(strlen(both[n][0]), strlen(both[n][1]));
    assert_string_equal(sn_rt_section_name((sn_rt_section_id)n), both[n][1]);
    for (size_t c = 0; both[n][0][c]; c++)
      assert_int_equal(both[n][1][c], both[n][0][c] == '_' ? '.' : both[n][0][c] - 'A' + 'a');
  }
}

// A section of another slot would be unchecked: it must not be there. Those that are there must not be missing.
static void sections_are_those_of_the_slots(void **state) {
  sn_context ctx = sn_context_default();
  fixture f;
  fixture_new(&ctx, 80, 5, 3, 1, &f);
  sn_model_section section = {.bytes = "\xff\xff\xff\xff\xff\xff\xff\xff", .size = 8};
  for (int id = 0; id < SN_SECTION_COUNT; id++) {
    section.name = sn_rt_section_name((sn_rt_section_id)id);
    f.desc.sections = &section, f.desc.section_count = 0;
    fixture_build(&ctx, &f);
    if (sn_rt_data(&f.rt, id)) {
      for (uint32_t s = 0; s < f.rt.info.section_count; s++) {
        size_t entry = sizeof(sn_rt_header) + s * sizeof(sn_rt_entry);
        if (!strcmp((const char *)f.model.bytes + entry, section.name))
          refused(&f.model, entry, "unknown", 8, true, section.name);
      }
    } else {
      f.desc.section_count = 1;
      sn_model_free(&f.model);
      assert_ok(&ctx, sn_model_build(&ctx, &f.desc, &f.model));
      assert_fails(&ctx, sn_model_open(&ctx, "more", f.model.bytes, f.model.size, &f.rt), section.name);
    }
    sn_model_free(&f.model);
  }
  f.desc.section_count = 0;
  fixture_build(&ctx, &f);
  uint32_t number = 5;
  refused(&f.model, offsetof(sn_rt_header, control_count), &number, 4, true, "5 control points");
  fixture_free(&f);
}

// Opens bytes in a block of exactly their size (so that the address sanitizer sees every step beyond) and, where they
// open, evaluates all paths.
static bool open_and_evaluate(const uint8_t *bytes, size_t size) {
  uint8_t *copy = malloc(size ? size : 1);
  memcpy(copy, bytes, size);
  sn_rt_model rt;
  sn_rt_error error;
  bool opened = sn_rt_open(copy, size, &rt, &error) == SN_RT_OK;
  if (!opened) assert_true(strlen(error.message) > 0);
  for (int path = SN_RT_PATH_SCALAR; opened && path < SN_RT_PATH_COUNT; path++) {
    if (!sn_rt_use_path(&rt, (sn_rt_path)path)) continue;
    uint32_t count = rt.info.vertex_count;
    float *joints = calloc((size_t)rt.info.joint_count + 1, 48), *out = malloc(24 * (size_t)count + 1);
    void *scratch = malloc(sn_rt_scratch_size(&rt));
    sn_rt_input input = {.joints = (const float(*)[12])joints};
    sn_rt_output output = {.positions = out, .normals = out + 3 * (size_t)count};
    sn_rt_evaluate(&rt, &input, scratch, &output, NULL);
    sn_rt_skin(&rt, scratch, &output, count / 3, count / 2, NULL);
    sn_rt_normals(&rt, &output, count / 3, count / 2, NULL);
    free(joints), free(out), free(scratch);
  }
  free(copy);
  return opened;
}

static void hostile_bytes_do_no_harm(void **state) {
  sn_context ctx = sn_context_default();
  for (int n = 0; n < 3; n++) {
    fixture f;
    fixture_new(&ctx, 40, 3, 3, 1, &f);
    sn_extra_joint extra = {.kind = SN_EXTRA_HALFWAY, .parent = 0, .child = 1, .amount = 0.5};
    if (n == 1) f.desc.extra = &extra, f.desc.extra_count = 1, f.desc.blend = SN_RT_BLEND_DUALQUAT;
    if (n == 2) f.desc.shade = SN_RT_SHADE_RECOMPUTE, f.desc.weight_bits = 16;
    fixture_build(&ctx, &f);
    uint8_t *bytes = f.model.bytes;
    int harmless = 0;
    for (size_t at = 0; at < f.model.size; at++) {
      uint8_t keep = bytes[at];
      bytes[at] ^= (uint8_t)(1u << at % 8);
      harmless += open_and_evaluate(bytes, f.model.size); // only padding between sections has no checksum
      bytes[at] = keep;
    }
    assert_below(harmless, 64 * 20);
    for (size_t size = 0; size < f.model.size; size += 1 + size / 64) assert_false(open_and_evaluate(bytes, size));
    // The same with the checksums made right again.
    uint8_t *sealed = aligned_alloc(64, (f.model.size + 63) / 64 * 64);
    static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
    for (size_t at = 0; at < f.model.size; at++) {
      memcpy(sealed, bytes, f.model.size);
      sealed[at] = values[at % 5] == sealed[at] ? (uint8_t)~sealed[at] : values[at % 5];
      if (sn_model_seal(sealed, f.model.size)) open_and_evaluate(sealed, f.model.size);
    }
    free(sealed), fixture_free(&f);
  }
}

// ---- golden models: files of this format version, with the input and the output of one evaluation in separate sections --------

typedef struct golden {
  const char *name;
  sn_rt_blend blend;
  sn_rt_shade shade;
  int weight_bits, extras;
} golden;

static const golden goldens[] = {{"linear", SN_RT_BLEND_LINEAR, SN_RT_SHADE_TRANSFORM, 32, 0},
                                 {"dualquat", SN_RT_BLEND_DUALQUAT, SN_RT_SHADE_TRANSFORM, 32, 0},
                                 {"halfway16", SN_RT_BLEND_LINEAR, SN_RT_SHADE_RECOMPUTE, 16, 2},
                                 {"stretch8", SN_RT_BLEND_DUALQUAT, SN_RT_SHADE_RECOMPUTE, 8, 0},
                                 {"packed", SN_RT_BLEND_LINEAR, SN_RT_SHADE_TRANSFORM, 12, 0}};

static void write_golden(const char *folder, const golden *g) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(77);
  fixture f;
  fixture_new(&ctx, 200, 6, 4, 9, &f);
  sn_extra_joint extra[2] = {
    {.kind = SN_EXTRA_HALFWAY, .parent = 0, .child = 1, .amount = 0.5, .centre = {0.5, 0, 0}},
    {.kind = SN_EXTRA_SCALING,
     .parent = 1,
     .child = 2,
     .base = 2,
     .centre = {1, 0, 0},
     .stretch = sn_mat3_diagonal(0, 1, 1)}};
  f.desc.blend = g->blend, f.desc.shade = g->shade, f.desc.weight_bits = g->weight_bits;
  f.desc.extra = extra, f.desc.extra_count = g->extras;
  for (int i = 0; g->extras && i < 40; i++) f.skin.joints[4 * i] = (uint16_t)(6 + i % 2);
  sn_model_section sections[3];
  fixture_build(&ctx, &f);
  sn_affine pose[6];
  random_pose(&f.skeleton, 0.8, g->weight_bits == 8 ? 0.2 : 0, &rng, pose);
  float joints[6][12], positions[200][3], normals[200][3];
  sn_model_joints(pose, 6, joints);
  evaluate(&f.rt, SN_RT_PATH_SCALAR, pose, positions, normals);
  sections[0] = (sn_model_section){"test.joints", joints, sizeof joints, false};
  sections[1] = (sn_model_section){"test.positions", positions, sizeof positions, false};
  sections[2] = (sn_model_section){"test.normals", normals, sizeof normals, false};
  f.desc.sections = sections, f.desc.section_count = 3;
  fixture_build(&ctx, &f);
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.sinew", folder, g->name);
  assert_ok(&ctx, sn_model_write(&ctx, path, &f.model));
  fixture_free(&f);
}

static void golden_models_still_open_and_give_what_they_gave(void **state) {
  const char *root = getenv("SINEW_SOURCE");
  size_t count = sizeof goldens / sizeof *goldens;
  for (size_t n = 0; n <= count; n++) { // the last one is of test_terms.c
    sn_context ctx = sn_context_default();
    char path[4096];
    snprintf(path, sizeof path, "%s/test/golden/%s.sinew", root ? root : ".", n < count ? goldens[n].name : "terms");
    sn_file file;
    sn_rt_model rt;
    assert_ok(&ctx, sn_file_open(&ctx, path, &file));
    assert_ok(&ctx, sn_model_open(&ctx, path, file.bytes, file.size, &rt));
    const float(*joints)[12] = sn_rt_find_section(&rt, "test.joints", NULL);
    const float(*expected)[3] = sn_rt_find_section(&rt, "test.positions", NULL);
    const float(*expected_normals)[3] = sn_rt_find_section(&rt, "test.normals", NULL);
    sn_affine pose[6];
    for (int j = 0; j < 6; j++)
      for (int k = 0; k < 12; k++) pose[j].m[k / 4][k % 4] = joints[j][k];
    float positions[200][3], normals[200][3];
    for (int p = SN_RT_PATH_SCALAR; p < SN_RT_PATH_COUNT; p++) {
      sn_rt_model copy = rt;
      if (!sn_rt_use_path(&copy, (sn_rt_path)p)) continue;
      evaluate(&rt, (sn_rt_path)p, pose, positions, normals);
      for (int i = 0; i < 200; i++)
        for (int c = 0; c < 3; c++) {
          assert_near(positions[i][c], expected[i][c], 2e-5);
          assert_near(normals[i][c], expected_normals[i][c], 5e-4);
        }
    }
    sn_file_close(&file);
  }
}

int main(void) {
  const char *folder = getenv("SINEW_WRITE_GOLDEN"); // to make the files of a new format version
  for (size_t n = 0; folder && n < sizeof goldens / sizeof *goldens; n++) write_golden(folder, goldens + n);
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_goes_in_comes_out),
                                     cmocka_unit_test(the_same_description_gives_the_same_bytes),
                                     cmocka_unit_test(no_vertex_pays_for_many_more_influences_than_it_has),
                                     cmocka_unit_test(wrong_descriptions_are_refused),
                                     cmocka_unit_test(every_allocation_may_fail),
                                     cmocka_unit_test(rounded_weights_keep_their_sum),
                                     cmocka_unit_test(wrong_files_are_refused_with_a_reason),
                                     cmocka_unit_test(unknown_sections_are_ignored_unless_required),
                                     cmocka_unit_test(sections_are_called_what_they_are_named),
                                     cmocka_unit_test(sections_are_those_of_the_slots),
                                     cmocka_unit_test(hostile_bytes_do_no_harm),
                                     cmocka_unit_test(golden_models_still_open_and_give_what_they_gave)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
