// SPDX-License-Identifier: MIT
// Models whose vertices are numbered by their blocks: the same results in other places, for every blend, path and method; back to the
// rest file's numbers; what the tools give; orders that are wrong.
#include "section_fixture.h"
#include "sinew/session.h"
#include "skin_fixture.h"
#include "train_fixture.h"

enum { vertices = 1003, joints = 9, grain = 256 };
typedef float point[3];
typedef float row4[4];

static const sn_rt_path all_paths[] = {SN_RT_PATH_SCALAR, SN_RT_PATH_SSE2, SN_RT_PATH_AVX2,
                                       SN_RT_PATH_NEON,   SN_RT_PATH_WASM, SN_RT_PATH_AVX512};

typedef struct made {
  sn_model bytes;
  sn_rt_model model;
} made;

static made open_made(sn_context *ctx, sn_model bytes) {
  made m = {.bytes = bytes};
  assert_ok(ctx, sn_model_open(ctx, "made", m.bytes.bytes, m.bytes.size, &m.model));
  return m;
}

static made reorder(sn_context *ctx, const sn_rt_model *model, sn_vertex_order order) {
  sn_model bytes;
  assert_ok(ctx, sn_model_reorder(ctx, model, order, &bytes));
  return open_made(ctx, bytes);
}

static made pack(sn_context *ctx, const sn_rt_model *model) {
  sn_model bytes;
  assert_ok(ctx, sn_model_pack(ctx, model, &bytes));
  return open_made(ctx, bytes);
}

static void assert_same_bytes(const sn_rt_model *a, const sn_rt_model *b) {
  assert_int_equal(a->info.bytes, b->info.bytes);
  assert_memory_equal(sn_rt_get_bytes(a), sn_rt_get_bytes(b), a->info.bytes);
}

// A tube with texture coordinates; its file has normals.
static made make_scene(sn_context *ctx, sn_rt_blend blend, sn_rt_shade shade, bool packed, fixture *f) {
  sn_random rng = sn_random_new(5);
  fixture_new(ctx, vertices, joints, 5, 11, f);
  f->desc.blend = blend, f->desc.shade = shade, f->desc.grain = grain;
  point *normals = calloc(vertices, sizeof *normals);
  for (int i = 0; i < vertices; i++)
    sn_vec3_store(sn_vec3_normalize(random_vec3(&rng), sn_vec3_make(1, 0, 0)), normals[i]);
  f->desc.normals = (const point *)normals;
  float(*uvs)[2] = calloc((size_t)f->mesh.triangle_count * 3, sizeof *uvs);
  for (int c = 0; c < 3 * f->mesh.triangle_count; c++)
    memcpy(uvs[c], f->mesh.positions[f->mesh.triangles[c / 3][c % 3]], sizeof *uvs);
  f->desc.uvs = (const float(*)[2])uvs;
  sn_model bytes;
  assert_ok(ctx, sn_model_build(ctx, &f->desc, &bytes));
  made m = open_made(ctx, bytes);
  free(normals), free(uvs);
  f->desc.normals = NULL, f->desc.uvs = NULL;
  if (!packed) return m;
  made p = pack(ctx, &m.model);
  sn_model_free(&m.bytes);
  return p;
}

// ---- orders ------------------------------------------------------------------------------------------------------------------

static void check_permutation(const sn_rt_model *model) {
  uint32_t n = model->info.vertex_count, *order = malloc((n + 1) * sizeof *order);
  bool *seen = calloc(n + 1, sizeof *seen);
  assert_int_equal(sn_rt_get_order(model, order), 1);
  for (uint32_t k = 0; k < n; k++) {
    assert_true(order[k] < n && !seen[order[k]]);
    assert_int_equal(order[k] / model->info.grain, k / model->info.grain);
    seen[order[k]] = true;
  }
  free(order), free(seen);
}

// Blocks of eight vertices that no other block has are rows of eight.
static void check_rows(const sn_rt_model *model) {
  const uint32_t *chunks = sn_rt_data(model, SN_SECTION_SKIN_CHUNKS);
  const sn_rt_group *groups = sn_rt_data(model, SN_SECTION_SKIN_GROUPS);
  const uint16_t(*lanes)[8] = sn_rt_data(model, SN_SECTION_SKIN_LANES);
  int *uses = malloc(SN_RT_MAX_GRAIN * sizeof *uses), rows = 0;
  for (uint32_t c = 0; c * model->info.grain < model->info.vertex_count; c++) {
    const sn_rt_group *last = groups + chunks[c + 1] - 1;
    uint32_t first = groups[chunks[c]].first_block, end = last->first_block + last->block_count;
    memset(uses, 0, SN_RT_MAX_GRAIN * sizeof *uses);
    for (uint32_t n = 8 * first; n < 8 * end; n++) uses[lanes[n / 8][n % 8]]++;
    for (uint32_t block = first; block < end; block++) {
      bool full = true, row = lanes[block][0] % 8 == 0;
      for (int l = 0; l < 8; l++) full &= uses[lanes[block][l]] == 1, row &= lanes[block][l] == lanes[block][0] + l;
      assert_true(row || !full);
      rows += row;
    }
  }
  assert_true(rows > 0 || model->info.vertex_count < 100);
  free(uses);
}

// What the readers of libsinew give is in the order of the file.
static void check_readers(sn_context *ctx, const sn_rt_model *a, const sn_rt_model *b) {
  sn_mesh mesh[2];
  sn_skin skin[2];
  assert_ok(ctx, sn_model_mesh(ctx, a, mesh));
  assert_ok(ctx, sn_model_mesh(ctx, b, mesh + 1));
  assert_ok(ctx, sn_model_skin(ctx, a, skin));
  assert_ok(ctx, sn_model_skin(ctx, b, skin + 1));
  size_t n = a->info.vertex_count, influences = (size_t)skin->influences;
  assert_memory_equal(mesh[0].positions, mesh[1].positions, n * sizeof(point));
  assert_memory_equal(mesh[0].triangles, mesh[1].triangles, a->info.triangle_count * sizeof *mesh->triangles);
  assert_memory_equal(skin[0].joints, skin[1].joints, n * influences * sizeof *skin->joints);
  assert_memory_equal(skin[0].weights, skin[1].weights, n * influences * sizeof *skin->weights);
  for (int k = 0; k < 2; k++) sn_mesh_free(mesh + k), sn_skin_free(skin + k);
}

// Renumbers, and checks everything that needs no evaluation. Returns the renumbered model.
static made check_order(sn_context *ctx, const sn_rt_model *model) {
  made blocks = reorder(ctx, model, SN_VERTEX_ORDER_BLOCKS);
  made twice = reorder(ctx, &blocks.model, SN_VERTEX_ORDER_BLOCKS);
  made back = reorder(ctx, &blocks.model, SN_VERTEX_ORDER_FILE);
  assert_int_equal(sn_rt_get_order(model, NULL), 0);
  check_permutation(&blocks.model), check_rows(&blocks.model), check_readers(ctx, model, &blocks.model);
  assert_same_bytes(&twice.model, &blocks.model);
  assert_same_bytes(&back.model, model);
  if (model->info.weight_bits != 12) {
    made first = pack(ctx, &blocks.model), packed = pack(ctx, model);
    made then = reorder(ctx, &packed.model, SN_VERTEX_ORDER_BLOCKS);
    assert_same_bytes(&first.model, &then.model);
    sn_model_free(&first.bytes), sn_model_free(&packed.bytes), sn_model_free(&then.bytes);
  }
  sn_model_free(&twice.bytes), sn_model_free(&back.bytes);
  return blocks;
}

// ---- results ------------------------------------------------------------------------------------------------------------------

typedef struct result {
  void *scratch;
  point *positions, *normals;
  row4 *tangents;
} result;

static result evaluate_all(const sn_rt_model *model, const sn_rt_input *input) {
  size_t n = model->info.vertex_count;
  result r = {malloc(sn_rt_scratch_size(model)), calloc(n, sizeof(point)), calloc(n, sizeof(point)),
              calloc(n, sizeof(row4))};
  sn_rt_output output = {.positions = r.positions[0], .normals = r.normals[0]};
  if (model->info.tangents) output.tangents = r.tangents[0];
  assert_int_equal(sn_rt_evaluate(model, input, r.scratch, &output, NULL), SN_RT_OK);
  return r;
}

static void free_result(result *r) { free(r->scratch), free(r->positions), free(r->normals), free(r->tangents); }

// Sums of recomputed normals are grouped by the longest row of eight vertices.
static void assert_same_row(const float *a, const float *b, int count, bool exact) {
  if (exact) assert_memory_equal(a, b, (size_t)count * sizeof *a);
  for (int c = 0; c < count; c++) assert_near(a[c], b[c], 1e-4);
}

static void compare(const sn_rt_model *model, const sn_rt_model *blocks, const sn_rt_input *input) {
  result a = evaluate_all(model, input), b = evaluate_all(blocks, input);
  uint32_t n = model->info.vertex_count, *order = malloc((n + 1) * sizeof *order);
  bool exact = model->info.shade == SN_RT_SHADE_TRANSFORM;
  sn_rt_get_order(blocks, order);
  for (uint32_t k = 0; k < n; k++) {
    assert_memory_equal(b.positions[k], a.positions[order[k]], sizeof(point));
    assert_same_row(b.normals[k], a.normals[order[k]], 3, exact);
    if (model->info.tangents) assert_same_row(b.tangents[k], a.tangents[order[k]], 4, exact);
  }
  free(order), free_result(&a), free_result(&b);
}

// A range that cuts chunks and blocks, interleaved, is that part of the whole.
static void compare_range(const sn_rt_model *model, const sn_rt_input *input) {
  enum { first = 37, count = 700, stride = 32 };
  result whole = evaluate_all(model, input);
  char *memory = calloc(vertices, stride);
  sn_rt_output output = {.positions = (float *)(void *)memory,
                         .position_stride = stride,
                         .normals = (float *)(void *)(memory + 16),
                         .normal_stride = stride};
  assert_int_equal(sn_rt_skin(model, whole.scratch, &output, first, count, NULL), SN_RT_OK);
  for (int i = 0; i < vertices; i++) {
    static const point nothing;
    bool there = i >= first && i < first + count, normal = there && model->info.shade == SN_RT_SHADE_TRANSFORM;
    assert_memory_equal(memory + i * stride, there ? whole.positions[i] : nothing, sizeof(point));
    assert_memory_equal(memory + i * stride + 16, normal ? whole.normals[i] : nothing, sizeof(point));
  }
  free(memory), free_result(&whole);
}

// Past the caches, to places where whole blocks can go there by themselves and to others, the same is written, and nothing beside it.
static void compare_streamed(const sn_rt_model *model, const sn_rt_input *input) {
  enum { floats = 3 * vertices, most = 3 * (vertices + 16), guard = 0x77 };
  result whole = evaluate_all(model, input);
  float *memory = aligned_alloc(64, 2 * most * sizeof(float) / 64 * 64 + 64);
  void *staging = malloc(sn_rt_staging_size(model));
  for (int shift = 0; shift < 2; shift++) {
    memset(memory, guard, 2 * most * sizeof(float));
    float *positions = memory + shift, *normals = memory + most / 16 * 16 + shift;
    sn_rt_output output = {.positions = positions, .normals = normals, .staging = staging};
    bool transform = model->info.shade == SN_RT_SHADE_TRANSFORM;
    assert_int_equal(sn_rt_skin(model, whole.scratch, &output, 0, vertices, NULL), SN_RT_OK);
    assert_memory_equal(positions, whole.positions, floats * sizeof(float));
    if (transform) assert_memory_equal(normals, whole.normals, floats * sizeof(float));
    assert_int_equal(((uint8_t *)(positions + floats))[0], guard);
    assert_int_equal(((uint8_t *)(transform ? normals + floats : normals))[0], guard);
  }
  free(memory), free(staging), free_result(&whole);
}

static void every_path_gives_the_same(void **state) {
  sn_context ctx = sn_context_default();
  for (int kind = 0; kind < 12; kind++) {
    fixture f;
    sn_random rng = sn_random_new(3);
    sn_affine pose[joints];
    float matrices[joints][12];
    made plain = make_scene(&ctx, (sn_rt_blend)(kind % 3), (sn_rt_shade)(kind / 3 % 2), kind / 6, &f);
    made blocks = check_order(&ctx, &plain.model);
    sn_rt_input input = {.joints = (const float(*)[12])matrices};
    for (size_t n = 0; n < sizeof all_paths / sizeof *all_paths; n++) {
      if (!sn_rt_use_path(&plain.model, all_paths[n])) continue;
      assert_true(sn_rt_use_path(&blocks.model, all_paths[n]));
      for (int stretched = 0; stretched < 2; stretched++) {
        random_pose(&f.skeleton, 0.5, 0.3 * stretched, &rng, pose);
        sn_model_joints(pose, joints, matrices);
        compare(&plain.model, &blocks.model, &input);
      }
      compare_range(&blocks.model, &input);
      compare_streamed(&blocks.model, &input);
      compare_streamed(&plain.model, &input);
    }
    sn_model_free(&plain.bytes), sn_model_free(&blocks.bytes), fixture_free(&f);
  }
}

// ---- methods and tools --------------------------------------------------------------------------------------------------------------

static void assert_same_frames(const sn_frames *a, const sn_frames *b, double most) {
  assert_int_equal(a->vertex_count, b->vertex_count);
  for (int f = 0; f < a->frame_count; f++)
    for (int i = 0; i < a->vertex_count; i++)
      for (int c = 0; c < 3; c++) assert_near(sn_frame(a, f)[i][c], sn_frame(b, f)[i][c], most);
}

static void check_session(const sn_rt_model *model, const sn_rt_model *blocks, const sn_rt_input *input) {
  const sn_rt_model *two[2] = {model, blocks};
  size_t n = model->info.vertex_count;
  point *positions[2];
  char message[240];
  for (int k = 0; k < 2; k++) {
    sn_evaluator *e = sn_evaluator_new(sn_rt_get_bytes(two[k]), two[k]->info.bytes, message, sizeof message);
    assert_non_null(e);
    positions[k] = calloc(n, sizeof(point));
    sn_evaluator_call call = {.evaluator = e,
                              .joints = &input->joints[0][0],
                              .scratch = malloc(sn_evaluator_scratch(e)),
                              .positions = positions[k][0]};
    assert_int_equal(sn_evaluator_run(&call), 0);
    free(call.scratch), sn_evaluator_free(e);
  }
  assert_memory_equal(positions[0], positions[1], n * sizeof(point));
  free(positions[0]), free(positions[1]);
}

// What is assessed, in the order of the file: positions are the same bits, and so are their errors.
static void check_method(const sn_examples *examples, const char *spec) {
  sn_context ctx = sn_context_default();
  char with[100];
  snprintf(with, sizeof with, "%s%cvertex_order=blocks", spec, strchr(spec, ':') ? ',' : ':');
  trained plain = train(&ctx, examples, spec, "every:2"), blocks = train(&ctx, examples, with, "every:2");
  made same = check_order(&ctx, &plain.model);
  assert_same_bytes(&same.model, &blocks.model);
  assert_true(plain.scores.all.rms_pct_diag == blocks.scores.all.rms_pct_diag);
  assert_true(plain.scores.test.max_pct_diag == blocks.scores.test.max_pct_diag);
  sn_frames positions[2], normals[2];
  for (int k = 0; k < 2; k++)
    assert_ok(&ctx, sn_assess_evaluate(&ctx, k ? &blocks.model : &plain.model, examples, &plain.keys, positions + k,
                                       normals + k));
  assert_same_frames(positions, positions + 1, 0);
  assert_same_frames(normals, normals + 1, plain.model.info.shade == SN_RT_SHADE_TRANSFORM ? 0 : 1e-4);
  if (plain.model.info.drive == SN_RT_DRIVE_JOINTS) {
    float(*matrices)[12] = calloc(plain.model.info.joint_count, sizeof *matrices);
    sn_model_joints(sn_pose(&examples->poses, 1), (int)plain.model.info.joint_count, matrices);
    check_session(&plain.model, &blocks.model, &(sn_rt_input){.joints = (const float(*)[12])matrices});
    free(matrices);
  }
  for (int k = 0; k < 2; k++) sn_frames_free(positions + k), sn_frames_free(normals + k);
  sn_model_free(&same.bytes), release(&plain), release(&blocks);
}

static void every_method_gives_the_same(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples arm = generate(&ctx, "arm", 8, 600), leg = generate(&ctx, "leg", 8, 400);
  sn_examples bar = generate(&ctx, "bar", 8, 300);
  check_method(&arm, "lbs");
  check_method(&arm, "dqs:pack=1");
  check_method(&arm, "psd");
  check_method(&arm, "psd:order=forward,pack=1");
  check_method(&arm, "rotreg:bones=6,psd=1");
  check_method(&arm, "rotreg:bones=6,pack=1");
  check_method(&leg, "torque:bones=4");
  bar.control_target = 3;
  check_method(&bar, "affine:bones=3");
  sn_examples_free(&arm), sn_examples_free(&leg), sn_examples_free(&bar);
}

// ---- wrong orders ------------------------------------------------------------------------------------------------------------------

static void wrong_orders_are_refused(void **state) {
  sn_context ctx = sn_context_default();
  fixture f;
  made plain = make_scene(&ctx, SN_RT_BLEND_LINEAR, SN_RT_SHADE_TRANSFORM, false, &f);
  for (int kind = 0; kind < 6; kind++) {
    made m = reorder(&ctx, &plain.model, SN_VERTEX_ORDER_BLOCKS);
    sn_rt_entry *entry = entry_of(&m.bytes, "mesh.order");
    uint32_t *order = (uint32_t *)(void *)(m.bytes.bytes + entry->offset);
    if (kind == 0) order[5] = order[6], refuses(&m.bytes, "is there twice");
    if (kind == 1) order[0] = vertices, refuses(&m.bytes, "outside its chunk");
    if (kind == 2) order[vertices - 1] = UINT32_MAX, refuses(&m.bytes, "outside its chunk");
    if (kind == 3) order[grain] = 0, refuses(&m.bytes, "outside its chunk");
    if (kind == 4) entry->size -= 4, refuses(&m.bytes, "section mesh.order has");
    if (kind == 5) entry->size = 0, refuses(&m.bytes, "section mesh.order has");
    sn_model_free(&m.bytes);
  }
  sn_model_free(&plain.bytes), fixture_free(&f);
}

// Vertices without triangles, a vertex alone, none at all.
static void small_models(void **state) {
  sn_context ctx = sn_context_default();
  for (int n = 1; n <= 17; n += 4)
    for (int shade = 0; shade < 2; shade++) {
      fixture f;
      fixture_new(&ctx, n, 2, 2, 7, &f);
      f.desc.shade = (sn_rt_shade)shade;
      fixture_build(&ctx, &f);
      made blocks = check_order(&ctx, &f.rt);
      sn_model_free(&blocks.bytes), fixture_free(&f);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_path_gives_the_same),
    cmocka_unit_test(every_method_gives_the_same),
    cmocka_unit_test(wrong_orders_are_refused),
    cmocka_unit_test(small_models),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
