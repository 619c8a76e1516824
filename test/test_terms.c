// SPDX-License-Identifier: MIT
// Corrections that are sums of terms (sn_rt_terms): against the formula in doubles, on every path, in parts, packed, renumbered, continued
// from frame to frame, and damaged.
#include "terms_fixture.h"

#include "runtime/terms.h"
#include "section_fixture.h"
#include "sinew/train.h"

static const sn_rt_path all_paths[] = {SN_RT_PATH_SCALAR, SN_RT_PATH_SSE2, SN_RT_PATH_AVX2,
                                       SN_RT_PATH_NEON,   SN_RT_PATH_WASM, SN_RT_PATH_AVX512};
enum { path_count = sizeof all_paths / sizeof *all_paths, vertices = 600, joints = 9, clusters = 14 };

// One evaluation of a model.
typedef struct frame {
  float joints[joints][12], values[2];
  void *scratch;
  float positions[vertices][3], normals[vertices][3];
  const float *basis_values;
} frame;

static frame *frame_new(const sn_rt_model *model, const sn_affine *pose) {
  frame *f = calloc(1, sizeof *f);
  sn_model_joints(pose, joints, f->joints);
  f->values[0] = 0.3f, f->values[1] = 1.7f;
  f->scratch = calloc(1, sn_rt_scratch_size(model));
  return f;
}

static void frame_run(frame *f, const sn_rt_model *model, uint32_t flags) {
  sn_rt_input input = {.joints = (const float(*)[12])f->joints, .values = f->values, .flags = flags};
  sn_rt_output output = {.positions = f->positions[0], .normals = f->normals[0]};
  sn_rt_error error;
  if (sn_rt_evaluate(model, &input, f->scratch, &output, &error) != SN_RT_OK) fail_msg("%s", error.message);
  sn_rt_correct_values(model, f->scratch, &f->basis_values);
}

static void frame_free(frame *f) { free(f->scratch), free(f); }

static void make_pose(const terms_fixture *t, uint64_t seed, sn_affine *pose) {
  sn_random rng = sn_random_new(seed);
  random_pose(&t->f.skeleton, 1.2, 0, &rng, pose);
}

// ---- values and positions -----------------------------------------------------------------------------------------------------

static void assert_values(const terms_fixture *t, const frame *f, const sn_affine *pose) {
  for (int n = 0; n < t->clusters; n++)
    for (uint32_t b = 0; b < t->fields[n].basis_count; b++)
      assert_near(f->basis_values[t->fields[n].first_basis + b], formula_value(t, t->fields + n, pose, f->values, b),
                  1e-5);
}

// Linear blend of what the bases of the vertex's cluster move.
static void assert_positions(const terms_fixture *t, const frame *f, const sn_affine *pose) {
  for (int i = 0; i < vertices; i++) {
    int cluster = t->group_of[i];
    sn_vec3 p = sn_vec3_from(t->f.mesh.positions[i]), sum = sn_vec3_make(0, 0, 0);
    for (uint32_t b = 0; b < t->fields[cluster].basis_count; b++)
      p = sn_vec3_mad(p, sn_vec3_from(t->deltas[(int)b * vertices + i]),
                      formula_value(t, t->fields + cluster, pose, f->values, b));
    for (int k = 0; k < t->f.skin.influences; k++) {
      int at = i * t->f.skin.influences + k;
      sum = sn_vec3_mad(sum, sn_affine_apply(pose[t->f.skin.joints[at]], p), t->f.skin.weights[at]);
    }
    assert_near(sn_vec3_length(sn_vec3_sub(sum, sn_vec3_from(f->positions[i]))), 0, 1e-4);
  }
}

static void every_path_is_the_formula(void **state) {
  sn_context ctx = sn_context_default();
  terms_fixture *t = terms_new(&ctx, vertices, joints, clusters, 2, 1);
  sn_affine pose[joints];
  for (uint64_t seed = 0; seed < 3; seed++) {
    frame *scalar = NULL;
    make_pose(t, seed, pose);
    for (int n = 0; n < path_count; n++) {
      sn_rt_model model = t->f.rt;
      if (!sn_rt_use_path(&model, all_paths[n])) continue;
      frame *f = frame_new(&model, pose);
      frame_run(f, &model, 0);
      assert_values(t, f, pose), assert_positions(t, f, pose);
      if (!scalar) scalar = f; // the first
      assert_memory_equal(f->basis_values, scalar->basis_values, (size_t)t->basis_count * sizeof(float));
      if (f != scalar) frame_free(f);
    }
    frame_free(scalar);
  }
  terms_free(t);
}

// Terms of polynomials vanish in the rest pose.
static void rest_pose_has_no_polynomials(void **state) {
  sn_context ctx = sn_context_default();
  terms_fixture *t = terms_new(&ctx, vertices, joints, clusters, 2, 2);
  sn_affine pose[joints];
  make_pose(t, 5, pose);
  static const float nothing[3];
  for (int n = 0; n < t->term_count; n++) {
    sn_rt_terms *g = t->terms + n;
    double p[2][3];
    if (g->kind == SN_RT_TERMS_GAUSS || g->kind == SN_RT_TERMS_VALUE) continue;
    formula_vector(t, pose, g->a, nothing, p[0]), formula_vector(t, pose, g->b, nothing, p[1]);
    for (int k = 0; k < 6; k++)
      g->rest[k / 3][k % 3] = k < 3 || g->kind == SN_RT_TERMS_PAIR ? (float)p[k / 3][k % 3] : 0;
  }
  for (int n = 0; n < t->mix_count; n++) t->mix[n] = 1;
  fixture_build(&ctx, &t->f);
  frame *f = frame_new(&t->f.rt, pose);
  frame_run(f, &t->f.rt, 0);
  assert_values(t, f, pose);
  int checked = 0;
  for (int n = 0; n < t->clusters; n++) {
    bool plain = true;
    for (uint32_t k = 0; k < t->fields[n].joint_count; k++)
      plain &= t->terms[t->listed[t->fields[n].first_joint + k]].kind < SN_RT_TERMS_GAUSS;
    if (!plain) continue;
    assert_near(f->basis_values[t->fields[n].first_basis], 0, 1e-5);
    checked++;
  }
  assert_true(checked > 0);
  frame_free(f);
  terms_free(t);
}

static void ranges_are_parts_of_the_whole(void **state) {
  sn_context ctx = sn_context_default();
  terms_fixture *t = terms_new(&ctx, vertices, joints, clusters, 2, 3);
  sn_affine pose[joints];
  make_pose(t, 7, pose);
  frame *f = frame_new(&t->f.rt, pose);
  frame_run(f, &t->f.rt, 0);
  static float part[vertices][3];
  for (uint32_t first = 0; first < vertices; first += 77) {
    uint32_t count = vertices - first < 77 ? vertices - first : 77;
    sn_rt_output output = {.positions = part[0]};
    assert_int_equal(sn_rt_skin(&t->f.rt, f->scratch, &output, first, count, NULL), SN_RT_OK);
  }
  assert_memory_equal(part, f->positions, sizeof part);
  frame_free(f);
  terms_free(t);
}

// ---- the same model in other bytes --------------------------------------------------------------------------------------------

static void check_copy(const terms_fixture *t, const sn_model *bytes, double tolerance) {
  sn_context ctx = sn_context_default();
  sn_rt_model model;
  sn_affine pose[joints];
  make_pose(t, 11, pose);
  assert_ok(&ctx, sn_model_open(&ctx, "copy", bytes->bytes, bytes->size, &model));
  frame *a = frame_new(&t->f.rt, pose), *b = frame_new(&model, pose);
  frame_run(a, &t->f.rt, 0), frame_run(b, &model, 0);
  assert_memory_equal(a->basis_values, b->basis_values, (size_t)t->basis_count * sizeof(float));
  assert_ok(&ctx, sn_model_to_file(&ctx, &model, b->positions, sizeof *b->positions, 1));
  for (int i = 0; i < 3 * vertices; i++)
    assert_near(a->positions[i / 3][i % 3], b->positions[i / 3][i % 3], tolerance);
  frame_free(a), frame_free(b);
}

static void packed_and_renumbered_models_have_the_same_values(void **state) {
  sn_context ctx = sn_context_default();
  terms_fixture *t = terms_new(&ctx, vertices, joints, clusters, 2, 4);
  sn_model packed, ordered, replaced;
  uint64_t size;
  assert_ok(&ctx, sn_model_pack(&ctx, &t->f.rt, &packed));
  assert_ok(&ctx, sn_model_reorder(&ctx, &t->f.rt, SN_VERTEX_ORDER_BLOCKS, &ordered));
  sn_model_section more = {"joint.range", "", 0, false};
  assert_ok(&ctx, sn_model_extend(&ctx, &t->f.rt, NULL, &more, 1, &replaced));
  check_copy(t, &packed, 2e-3), check_copy(t, &ordered, 0), check_copy(t, &replaced, 0);
  assert_true(packed.size < t->f.model.size);
  assert_null(sn_rt_find_section(&t->f.rt, "correct.numbers", &size));
  sn_displacements d;
  assert_ok(&ctx, sn_model_displacements(&ctx, &t->f.rt, &d));
  assert_int_equal(d.count, t->basis_count);
  for (int n = 0; n < t->basis_count * vertices; n++) {
    int i = n % vertices, basis = n / vertices, cluster = t->group_of[i], place = basis - t->first[cluster];
    bool own = place >= 0 && basis < t->first[cluster + 1];
    for (int c = 0; c < 3; c++) assert_near(d.deltas[n][c], own ? t->deltas[place * vertices + i][c] : 0, 1e-5);
  }
  sn_displacements_free(&d);
  sn_model_free(&packed), sn_model_free(&ordered), sn_model_free(&replaced);
  terms_free(t);
}

// ---- from frame to frame ---------------------------------------------------------------------------------------------------------

// Whether the joint (or, with -1, nothing but values) moves a term of the field: its own rotation or, seen from its child, the parent's.
static bool depends(const terms_fixture *t, const sn_rt_field *f, int joint) {
  for (uint32_t n = 0; n < f->joint_count; n++) {
    const sn_rt_terms *g = t->terms + t->listed[f->first_joint + n];
    if (g->kind == SN_RT_TERMS_VALUE) return true;
    int a = t->references[g->a].joint, b = g->kind == SN_RT_TERMS_PAIR ? t->references[g->b].joint : a;
    if (joint >= 0 && (a == joint || a == joint + 1 || b == joint || b == joint + 1)) return true;
  }
  return false;
}

// One joint at a time: the bytes of a new scratch memory, and what does not depend on the joint is not computed again.
static void continued_frames_compute_what_changed(void **state) {
  sn_context ctx = sn_context_default();
  terms_fixture *t = terms_new(&ctx, vertices, joints, clusters, 2, 6);
  const sn_rt_model *model = &t->f.rt;
  sn_affine pose[joints];
  make_pose(t, 13, pose);
  frame *kept = frame_new(model, pose);
  frame_run(kept, model, SN_RT_CONTINUE);
  int left = 0;
  for (int joint = -1; joint < joints; joint++) {
    const float untouched = 12345;
    float *values = (float *)(uintptr_t)kept->basis_values, *saved = malloc((size_t)t->basis_count * sizeof *saved);
    if (joint >= 0)
      pose[joint] = sn_affine_mul(pose[joint], sn_affine_about(sn_rotation_exp(sn_vec3_make(0.2, 0.1, 0)),
                                                               sn_affine_translation(t->f.skeleton.rest[joint])));
    memcpy(saved, values, (size_t)t->basis_count * sizeof *saved);
    for (int b = 0; b < t->basis_count; b++) values[b] = untouched;
    sn_model_joints(pose, joints, kept->joints);
    frame_run(kept, model, SN_RT_CONTINUE);
    for (int n = 0; n < t->clusters; n++)
      for (uint32_t b = t->fields[n].first_basis; b < t->fields[n].first_basis + t->fields[n].basis_count; b++) {
        if (depends(t, t->fields + n, joint)) continue;
        assert_true(values[b] == untouched);
        values[b] = saved[b], left++;
      }
    frame *fresh = frame_new(model, pose);
    frame_run(fresh, model, 0);
    assert_memory_equal(values, fresh->basis_values, (size_t)t->basis_count * sizeof *values);
    frame_free(fresh), free(saved);
  }
  assert_true(left > 0);
  frame_free(kept);
  terms_free(t);
}

// The last row of the mix ends where its section does, and no numbers follow.
static void nothing_behind_the_mix_counts(void **state) {
  enum { line = 16 }; // floats of 64 bytes
  sn_context ctx = sn_context_default();
  terms_fixture *t = terms_new(&ctx, vertices, joints, clusters, 2, 12);
  sn_affine pose[joints];
  int more = 1;
  while ((t->mix_count + 3 * more) % line) more++;
  memmove(t->mix + 3 * more, t->mix, (size_t)t->mix_count * sizeof *t->mix);
  t->mix_count += 3 * more;
  for (int n = 0; n < t->term_count; n++)
    if (t->terms[n].kind == SN_RT_TERMS_GAUSS) t->terms[n].first += (uint32_t)(3 * more);
  for (int n = 0; n < clusters; n++) t->fields[n].first_number += (uint32_t)(3 * more);
  t->terms[t->term_count++] = (sn_rt_terms){.kind = SN_RT_TERMS_GAUSS, .count = (uint16_t)more, .width = 1}; // unused
  set_sections(t);
  sn_model bytes;
  assert_ok(&ctx, sn_model_build(&ctx, &t->f.desc, &bytes));
  sn_rt_model built, moved;
  assert_ok(&ctx, sn_model_open(&ctx, "built", bytes.bytes, bytes.size, &built));
  uint8_t none[64];
  memset(none, 0xff, sizeof none); // no numbers
  sn_model_section sections[] = {t->c.pose_spaces[4], {"test.none", none, sizeof none, false}};
  sn_model at_end;
  assert_ok(&ctx, sn_model_extend(&ctx, &built, NULL, sections, 2, &at_end));
  assert_ok(&ctx, sn_model_open(&ctx, "moved", at_end.bytes, at_end.size, &moved));
  const float *mix = sn_rt_find_section(&moved, "correct.mix", NULL);
  assert_ptr_equal(mix + t->mix_count, sn_rt_find_section(&moved, "test.none", NULL));
  make_pose(t, 23, pose);
  for (int n = 0; n < path_count; n++) {
    if (!sn_rt_use_path(&moved, all_paths[n])) continue;
    frame *f = frame_new(&moved, pose);
    frame_run(f, &moved, 0);
    assert_values(t, f, pose);
    frame_free(f);
  }
  sn_model_free(&bytes), sn_model_free(&at_end);
  terms_free(t);
}

// ---- numbers, and a sculpted pose ------------------------------------------------------------------------------------------------

static void exponentials_are_exact(void **state) {
  for (double y = 0; y < 125; y += 0.00371) assert_near(sn_rt_half_power((float)y) / exp2(-(float)y), 1, 2e-7);
  assert_true(sn_rt_half_power(0) == 1);
  const float strange[] = {1e9f, INFINITY, NAN, -NAN};
  for (int n = 0; n < 4; n++) assert_true(sn_rt_half_power(strange[n]) == 0x1p-126f);
}

// Poses can be sculpted into a model of sums: its own values stay, and the pose has the sculpted shape.
static void a_pose_is_added_to_sums(void **state) {
  sn_context ctx = sn_context_default();
  terms_fixture *t = terms_new(&ctx, vertices, joints, clusters, 0, 10);
  sn_examples e = {.rest = t->f.mesh, .skeleton = t->f.skeleton};
  sn_keys keys;
  sn_model bytes;
  sn_rt_model grown;
  sn_affine pose[joints];
  make_pose(t, 19, pose);
  frame *before = frame_new(&t->f.rt, pose);
  frame_run(before, &t->f.rt, 0);
  assert_ok(&ctx, sn_frames_new(&ctx, vertices, 1, &e.frames));
  assert_ok(&ctx, sn_poses_new(&ctx, joints, 1, &e.poses));
  memcpy(sn_pose(&e.poses, 0), pose, sizeof pose);
  float(*sculpted)[3] = sn_frame_mutable(&e.frames, 0);
  memcpy(sculpted, before->positions, sizeof before->positions);
  for (int i = 0; i < 100; i++) sculpted[i][2] += 0.3f;
  assert_ok(&ctx, sn_keys_parse(&ctx, "all", 1, 1, &keys, NULL));
  assert_ok(&ctx, sn_correct_add(&ctx, &t->f.rt, &e, &keys, &bytes));
  assert_ok(&ctx, sn_model_open(&ctx, "grown", bytes.bytes, bytes.size, &grown));
  frame *after = frame_new(&grown, pose);
  frame_run(after, &grown, 0);
  assert_memory_equal(after->basis_values, before->basis_values, (size_t)t->basis_count * sizeof(float));
  for (int i = 0; i < 3 * vertices; i++) assert_near(after->positions[i / 3][i % 3], sculpted[i / 3][i % 3], 2e-3);
  frame_free(before), frame_free(after);
  sn_frames_free(&e.frames), sn_poses_free(&e.poses), sn_keys_free(&keys), sn_model_free(&bytes);
  terms_free(t);
}

// ---- damaged files -----------------------------------------------------------------------------------------------------------------

static void *section_of(const sn_model *model, const char *name) {
  return model->bytes + entry_of(model, name)->offset;
}

static void impossible_terms_are_named(void **state) {
  sn_context ctx = sn_context_default();
  terms_fixture *t = terms_new(&ctx, vertices, joints, clusters, 2, 7);
  sn_model *m = &t->f.model;
  sn_rt_terms *terms = section_of(m, "correct.terms"), *gauss = NULL, *pair = NULL,
              *value = terms + t->term_count - 1;
  for (int n = 0; n < t->term_count; n++) {
    if (terms[n].kind == SN_RT_TERMS_GAUSS) gauss = terms + n;
    if (terms[n].kind == SN_RT_TERMS_PAIR) pair = terms + n;
  }
  sn_rt_field *field = section_of(m, "correct.fields");
  uint16_t *listed = section_of(m, "correct.joints");
  float *mix = section_of(m, "correct.mix");
#define refused(lvalue, wrong, text)                                                                                 \
  do {                                                                                                               \
    __typeof__(lvalue) before = (lvalue);                                                                            \
    (lvalue) = (wrong);                                                                                              \
    refuses(m, text);                                                                                                \
    (lvalue) = before;                                                                                               \
  } while (0)
  refused(terms->count, 8, "term group 0 of kind 0 has 8 terms");
  refused(pair->count, 10, "of kind 1 has 10 terms");
  refused(gauss->count, 0, "of kind 2 has 0 terms");
  refused(value->count, 3, "of kind 3 has 3 terms");
  refused(terms->a, joints, "term group 0 has a joint or a value that does not exist");
  refused(terms->b, 1, "has a joint or a value that does not exist");
  refused(pair->b, joints, "has a joint or a value that does not exist");
  refused(value->a, 2, "has a joint or a value that does not exist");
  refused(terms->rest[0][1], NAN, "the rest pose of term group 0 is not finite");
  refused(terms->width, 1, "the width of term group 0 is out of range");
  refused(gauss->width, 0, "is out of range");
  refused(gauss->width, -1, "is out of range");
  refused(gauss->width, NAN, "is out of range");
  refused(gauss->first, (uint32_t)t->mix_count, "lie beyond the end of correct.mix");
  refused(gauss->first, UINT32_MAX, "lie beyond the end of correct.mix");
  refused(terms->first, 1, "the centres of term group 0 lie beyond the end of correct.mix");
  refused(mix[5], INFINITY, "number 5 of section correct.mix is not finite");
  refused(field->metric, 1, "pose space 0 is a sum of terms and has a metric, values or axes");
  refused(field->linear, 1, "has a metric, values or axes");
  refused(field->mixed, 0, "has a metric, values or axes");
  refused(field->value_count, 1, "has a metric, values or axes");
  refused(field->axis_count, 3, "has a metric, values or axes");
  refused(field->joint_count, UINT32_MAX, "the terms of pose space 0 lie beyond the end of correct.joints");
  refused(field->first_joint, UINT32_MAX, "the terms of pose space 0 lie beyond the end of correct.joints");
  refused(listed[0], (uint16_t)t->term_count, "pose space 0 has terms that do not exist");
  refused(field->centre_count, field->centre_count + 1, "which do not fit together");
  refused(field->joint_count, 0, "which do not fit together");
  refused(field->basis_count, 0, "which do not fit together");
  refused(field->first_number, UINT32_MAX, "the mix of pose space 0 lies beyond the end of correct.mix");
  refused(field[1].first_basis, 0, "pose space 1 does not begin where the one before ends");
  refused(field[1].kernel, SN_RT_KERNEL_GAUSS, "pose space 1");
  sn_rt_entry *e = entry_of(m, "correct.mix");
  refused(e->size, e->size + 4, "have a use");
  refused(e->size, e->size - 1, "not a multiple of 4");
  e = entry_of(m, "correct.terms");
  refused(e->size, e->size - 4, "not a multiple of 40");
  sn_rt_model opened;
  sn_rt_error error;
  terms->kind = SN_RT_TERMS_COUNT;
  assert_true(sn_model_seal(m->bytes, m->size));
  assert_int_equal(sn_rt_open(m->bytes, m->size, &opened, &error), SN_RT_UNSUPPORTED);
  terms_free(t);
#undef refused
}

// Every number of the tables with every suspicious value: refused, or evaluated without harm (the sanitizers watch).
static void changed_numbers_do_no_harm(void **state) {
  static const char *const names[] = {"correct.head",   "correct.fields", "correct.terms",
                                      "correct.joints", "correct.mix",    "joint.reference"};
  static const uint16_t suspicious[] = {0, 1, 2, 9, 0x7f80, 0x7fff, 0x8000, 0xffff};
  sn_context ctx = sn_context_default();
  terms_fixture *t = terms_new(&ctx, vertices, joints, 4, 2, 8);
  sn_affine pose[joints];
  make_pose(t, 17, pose);
  int refused = 0, opened = 0;
  for (int s = 0; s < 6; s++) {
    sn_rt_entry *e = entry_of(&t->f.model, names[s]);
    uint16_t *words = section_of(&t->f.model, names[s]);
    size_t step = s == 4 ? 97 : s == 2 || s == 5 ? 3 : 1; // the mix is long, and its floats are similar
    for (size_t n = 0; n < e->size / 2; n += step)
      for (size_t v = 0; v < sizeof suspicious / sizeof *suspicious; v++) {
        uint16_t before = words[n];
        sn_rt_model model;
        words[n] = suspicious[v];
        assert_true(sn_model_seal(t->f.model.bytes, t->f.model.size));
        if (sn_rt_open(t->f.model.bytes, t->f.model.size, &model, NULL) != SN_RT_OK) {
          refused++;
        } else {
          frame *f = frame_new(&model, pose);
          frame_run(f, &model, 0), frame_run(f, &model, SN_RT_CONTINUE);
          frame_free(f), opened++;
        }
        words[n] = before;
      }
  }
  assert_true(refused > 300 && opened > 300);
  terms_free(t);
}

// A small file cannot request much memory: groups that share centres, or pose spaces that share mixes, are refused.
static void shared_numbers_are_refused(void **state) {
  sn_context ctx = sn_context_default();
  terms_fixture *t = terms_new(&ctx, vertices, joints, clusters, 2, 9);
  sn_random rng = sn_random_new(1);
  sn_rt_model model;
  sn_model bytes;
  add_terms(t, &rng, SN_RT_TERMS_GAUSS, 3, 0, 0)->count = 40;
  set_sections(t);
  assert_ok(&ctx, sn_model_build(&ctx, &t->f.desc, &bytes));
  assert_fails(&ctx, sn_model_open(&ctx, "shared", bytes.bytes, bytes.size, &model), "correct.mix");
  sn_model_free(&bytes);
  terms_free(t);
}

// ---- files for other tests -----------------------------------------------------------------------------------------------------

// As write_golden of test_model.c.
static void write_golden(const char *folder) {
  enum { golden_vertices = 200, golden_joints = 6 };
  sn_context ctx = sn_context_default();
  terms_fixture *t = terms_new(&ctx, golden_vertices, golden_joints, 5, 0, 31);
  sn_affine pose[golden_joints];
  sn_random rng = sn_random_new(78);
  random_pose(&t->f.skeleton, 0.8, 0, &rng, pose);
  float at[golden_joints][12], positions[golden_vertices][3], normals[golden_vertices][3];
  sn_model_joints(pose, golden_joints, at);
  evaluate(&t->f.rt, SN_RT_PATH_SCALAR, pose, positions, normals);
  sn_model_section sections[] = {t->reference_section,
                                 {"test.joints", at, sizeof at, false},
                                 {"test.positions", positions, sizeof positions, false},
                                 {"test.normals", normals, sizeof normals, false}};
  t->f.desc.sections = sections, t->f.desc.section_count = 4;
  fixture_build(&ctx, &t->f);
  char path[4096];
  snprintf(path, sizeof path, "%s/terms.sinew", folder);
  assert_ok(&ctx, sn_model_write(&ctx, path, &t->f.model));
  terms_free(t);
}

// Small models for fuzzing and for the GPU: with values, and the same packed.
static void write_seeds(const char *folder) {
  sn_context ctx = sn_context_default();
  terms_fixture *t = terms_new(&ctx, 60, 3, 3, 2, 32);
  sn_model packed;
  char path[4096];
  snprintf(path, sizeof path, "%s/terms.sinew", folder);
  assert_ok(&ctx, sn_model_write(&ctx, path, &t->f.model));
  assert_ok(&ctx, sn_model_pack(&ctx, &t->f.rt, &packed));
  snprintf(path, sizeof path, "%s/terms-packed.sinew", folder);
  assert_ok(&ctx, sn_model_write(&ctx, path, &packed));
  sn_model_free(&packed);
  terms_free(t);
}

int main(void) {
  const char *golden = getenv("SINEW_WRITE_GOLDEN"), *seeds = getenv("SINEW_WRITE_SEEDS");
  if (golden) write_golden(golden);
  if (seeds) write_seeds(seeds);
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_path_is_the_formula),
    cmocka_unit_test(rest_pose_has_no_polynomials),
    cmocka_unit_test(ranges_are_parts_of_the_whole),
    cmocka_unit_test(packed_and_renumbered_models_have_the_same_values),
    cmocka_unit_test(continued_frames_compute_what_changed),
    cmocka_unit_test(nothing_behind_the_mix_counts),
    cmocka_unit_test(exponentials_are_exact),
    cmocka_unit_test(a_pose_is_added_to_sums),
    cmocka_unit_test(impossible_terms_are_named),
    cmocka_unit_test(changed_numbers_do_no_harm),
    cmocka_unit_test(shared_numbers_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
