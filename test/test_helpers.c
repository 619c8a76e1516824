// SPDX-License-Identifier: MIT
// The drive `helpers` against its formula, written out here in double precision on a model made by hand, and models that are wrong;
// products of values that training finds.
#include "runtime/format.h"
#include "train_fixture.h"

enum {
  joint_count = 3,
  helper_count = 2,
  value_count = 1,
  group_count = 4,
  row_count = 9 + 9 + 2 + 9,
  linear_count = 14
};

typedef struct handmade {
  sn_rt_helper helpers[helper_count];
  sn_rt_terms terms[group_count];
  float mix[row_count][SN_RT_HELPER_ROW];
  sn_rt_linear linear[linear_count];
  sn_rt_reference references[joint_count];
} handmade;

// Helper 0, on joint 1: the rotation of joint 1, products of joints 1 and 2, the value. Helper 1, without a parent: the rotation of joint 2.
static void make(sn_random *rng, handmade *m) {
  *m = (handmade){0};
  for (int j = 0; j < joint_count; j++)
    m->references[j] = (sn_rt_reference){(uint16_t)j, j ? (uint16_t)(j - 1) : SN_RT_NO_JOINT, {0, 0, 0, 1}};
  m->terms[0] = (sn_rt_terms){.kind = SN_RT_TERMS_JOINT, .count = 9, .a = 1, .rest = {{0.1f, 0, -0.2f}, {0}}};
  m->terms[1] = (sn_rt_terms){.kind = SN_RT_TERMS_PAIR, .count = 9, .a = 1, .b = 2};
  m->terms[2] = (sn_rt_terms){.kind = SN_RT_TERMS_VALUE, .count = 2, .a = 0};
  m->terms[3] = (sn_rt_terms){.kind = SN_RT_TERMS_JOINT, .count = 9, .a = 2};
  m->helpers[0] = (sn_rt_helper){.parent = 1, .group_count = 3, .centre = {1, 0.5f, -0.25f}};
  m->helpers[1] = (sn_rt_helper){
    .parent = SN_RT_NO_JOINT, .group_count = 1, .first_group = 3, .first_row = 20, .centre = {2, 0, 0}};
  for (int h = 0; h < helper_count; h++)
    for (int c = 0; c < SN_RT_HELPER_CHANNELS; c++) m->helpers[h].low[c] = -0.3f, m->helpers[h].high[c] = 0.4f;
  for (int r = 0; r < row_count; r++)
    for (int c = 0; c < SN_RT_HELPER_CHANNELS; c++) m->mix[r][c] = (float)(0.2 * sn_random_normal(rng));
  // Helper 0: all channels by the value, then one by its square; helper 1: constants.
  const uint16_t places[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, SN_RT_LINEAR_FACTOR, 4, 16, 20, 24};
  for (int n = 0; n < linear_count; n++)
    m->linear[n] = (sn_rt_linear){
      .value = n < 11 ? 0 : SN_RT_NO_JOINT, .place = places[n], .number = (float)sn_random_normal(rng)};
}

static sn_status build(sn_context *ctx, const handmade *m, sn_model *out) {
  float positions[5][3] = {{0}, {1, 0, 0}, {2, 0, 0}, {1, 1, 0}, {2, 1, 1}}, weights[5] = {1, 1, 1, 1, 1};
  static const float ranges[value_count][2] = {{0, 0.25f}};
  static const char *const names[value_count] = {"smile"};
  uint16_t joints[5] = {0, 1, 2, 3, 4};
  sn_mesh rest = {.vertex_count = 5, .positions = positions};
  sn_skin skin = {.vertex_count = 5, .influences = 1, .joints = joints, .weights = weights};
  sn_skeleton skeleton;
  assert_int_equal(sn_skeleton_new(ctx, joint_count, &skeleton), SN_OK);
  for (int j = 0; j < joint_count; j++) {
    char name[] = {'a', (char)('0' + j), 0};
    skeleton.names[j] = sn_arena_text(ctx, &skeleton.memory, name);
    skeleton.parents[j] = j - 1;
    skeleton.rest[j] = sn_affine_make(sn_mat3_identity(), sn_vec3_make(j, 0, 0));
  }
  assert_int_equal(sn_skeleton_sort(ctx, &skeleton), SN_OK);
  const sn_model_section sections[] = {{"drive.helpers", m->helpers, sizeof m->helpers, true},
                                       {"drive.terms", m->terms, sizeof m->terms, true},
                                       {"drive.mix", m->mix, sizeof m->mix, true},
                                       {"drive.linear", m->linear, sizeof m->linear, true},
                                       {"joint.reference", m->references, sizeof m->references, true}};
  sn_model_desc desc = sn_model_desc_default();
  desc.drive = SN_RT_DRIVE_HELPERS, desc.rest = &rest, desc.skin = &skin, desc.skeleton = &skeleton;
  desc.palette_count = joint_count + helper_count;
  desc.value_count = value_count, desc.value_names = names, desc.value_ranges = ranges;
  desc.sections = sections, desc.section_count = 5;
  sn_status status = sn_model_build(ctx, &desc, out);
  sn_skeleton_free(&skeleton);
  return status;
}

typedef struct pose {
  double theta[joint_count][3];
  sn_affine joints[joint_count];
  float matrices[joint_count][12], value;
} pose;

static pose random_pose(sn_random *rng, double size) {
  pose p = {.value = (float)(0.25 * sn_random_uniform(rng))};
  sn_mat3 turn = sn_mat3_identity();
  for (int j = 0; j < joint_count; j++) {
    for (int c = 0; c < 3; c++) p.theta[j][c] = size * sn_random_normal(rng);
    sn_vec3 v = sn_vec3_make(p.theta[j][0], p.theta[j][1], p.theta[j][2]);
    turn = sn_mat3_mul(turn, sn_rotation_exp(v));
    p.joints[j] = sn_affine_make(turn, sn_vec3_make(sn_random_normal(rng), j, 0.5));
    for (int n = 0; n < 12; n++) p.matrices[j][n] = (float)p.joints[j].m[n / 4][n % 4];
  }
  return p;
}

// One term of a helper after the other, as the file's documentation lists them.
static int terms_of(const handmade *m, const pose *p, const sn_rt_terms *t, double out[9]) {
  double a[3], b[3];
  int n = 0;
  if (t->kind == SN_RT_TERMS_VALUE) {
    out[0] = (double)p->value, out[1] = out[0] * out[0];
    return 2;
  }
  for (int c = 0; c < 3; c++) a[c] = p->theta[m->references[t->a].joint][c] - (double)t->rest[0][c];
  for (int c = 0; c < 3; c++) b[c] = p->theta[m->references[t->b].joint][c] - (double)t->rest[1][c];
  if (t->kind == SN_RT_TERMS_PAIR) {
    for (int c = 0; c < 9; c++) out[n++] = a[c / 3] * b[c % 3];
    return n;
  }
  for (int c = 0; c < 3; c++) out[n++] = a[c];
  for (int c = 0; c < 3; c++)
    for (int d = c; d < 3; d++) out[n++] = a[c] * a[d];
  return n;
}

// x -> t + r x (x - c) + s (x - c), whose numbers are linear in the value and its square.
static sn_affine linear_of(const handmade *m, const pose *p, int index) {
  double sum[SN_RT_LINEAR_PLACES] = {0};
  for (int n = 0; n < linear_count; n++)
    if (m->linear[n].place / 16 == index)
      sum[m->linear[n].place % 16] +=
        (double)m->linear[n].number * (m->linear[n].value == SN_RT_NO_JOINT ? 1 : (double)p->value) *
        (n > 0 && m->linear[n - 1].place == SN_RT_LINEAR_FACTOR ? sum[SN_RT_LINEAR_FACTOR] : 1);
  sn_affine out = {0};
  sn_vec3 r = sn_vec3_make(sum[3], sum[4], sum[5]);
  for (int k = 0; k < 4; k++) { // of the unit vectors, then of the origin
    sn_vec3 x = sn_vec3_make(k == 0, k == 1, k == 2);
    sn_vec3 u = k < 3 ? x : sn_vec3_scale(sn_vec3_from(m->helpers[index].centre), -1), y = sn_vec3_cross(r, u);
    out.m[0][k] = y.x + sum[6] * u.x + (k == 3 ? sum[0] : 0);
    out.m[1][k] = y.y + sum[7] * u.y + (k == 3 ? sum[1] : 0);
    out.m[2][k] = y.z + sum[8] * u.z + (k == 3 ? sum[2] : 0);
  }
  return out;
}

// x -> s R (x - c) + c + t after the parent, R by the angle 2 atan(|r| / 2) about r.
static sn_affine helper_of(const handmade *m, const pose *p, int index) {
  const sn_rt_helper *h = &m->helpers[index];
  double sum[SN_RT_HELPER_CHANNELS] = {0}, terms[9];
  for (int g = 0, row = (int)h->first_row; g < h->group_count; g++) {
    int count = terms_of(m, p, &m->terms[(int)h->first_group + g], terms);
    for (int k = 0; k < count; k++, row++)
      for (int c = 0; c < SN_RT_HELPER_CHANNELS; c++) sum[c] += terms[k] * (double)m->mix[row][c];
  }
  for (int c = 0; c < SN_RT_HELPER_CHANNELS; c++) sum[c] = fmin(fmax(sum[c], (double)h->low[c]), (double)h->high[c]);
  sn_vec3 r = sn_vec3_make(sum[3], sum[4], sum[5]), centre = sn_vec3_from(h->centre);
  double length = sqrt(sn_vec3_dot(r, r)), angle = 2 * atan(length / 2);
  sn_mat3 turn = sn_mat3_scale(sn_rotation_exp(sn_vec3_scale(r, length > 0 ? angle / length : 0)), 1 + sum[6]);
  sn_vec3 to = sn_vec3_add(centre, sn_vec3_make(sum[0], sum[1], sum[2]));
  sn_affine local = sn_affine_make(turn, sn_vec3_sub(to, sn_mat3_apply(turn, centre)));
  sn_affine more = linear_of(m, p, index);
  for (int n = 0; n < 12; n++) local.m[n / 4][n % 4] += more.m[n / 4][n % 4];
  return h->parent == SN_RT_NO_JOINT ? local : sn_affine_mul(p->joints[h->parent], local);
}

static void test_formula(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(36);
  handmade m;
  sn_model model;
  sn_rt_model rt;
  make(&rng, &m);
  assert_int_equal(build(&ctx, &m, &model), SN_OK);
  assert_int_equal(sn_rt_open(model.bytes, model.size, &rt, NULL), SN_RT_OK);
  void *scratch = malloc(sn_rt_scratch_size(&rt));
  for (int trial = 0; trial < 40; trial++) {
    pose p = random_pose(&rng, trial % 2 ? 0.3 : 0.8); // the larger ones leave the channels' ranges
    sn_rt_input input = {.joints = (const float(*)[12])p.matrices, .values = &p.value};
    assert_int_equal(sn_rt_palette(&rt, &input, scratch, NULL), SN_RT_OK);
    for (int h = 0; h < helper_count; h++) {
      float got[12];
      sn_affine wanted = helper_of(&m, &p, h);
      sn_rt_palette_matrix(&rt, scratch, (uint32_t)(joint_count + h), got);
      for (int n = 0; n < 12; n++) assert_near((double)got[n], wanted.m[n / 4][n % 4], 2e-5);
    }
  }
  free(scratch), sn_model_free(&model);
}

static void refuse(const handmade *m, const char *text) {
  sn_context ctx = sn_context_default();
  sn_model model;
  sn_rt_model rt;
  sn_rt_error error;
  assert_int_equal(build(&ctx, m, &model), SN_OK);
  assert_int_not_equal(sn_rt_open(model.bytes, model.size, &rt, &error), SN_RT_OK);
  assert_non_null(strstr(error.message, text));
  sn_model_free(&model);
}

static void test_wrong_models(void **state) {
  sn_random rng = sn_random_new(1);
  handmade good, m;
  make(&rng, &good);
  m = good, m.helpers[0].parent = joint_count;
  refuse(&m, "child of a joint that does not exist");
  m = good, m.helpers[1].first_group = 4;
  refuse(&m, "do not follow");
  m = good, m.helpers[1].group_count = 2;
  refuse(&m, "do not follow");
  m = good, m.helpers[1].group_count = 0;
  refuse(&m, "more than the helpers' functions");
  m = good, m.helpers[0].low[6] = -1;
  refuse(&m, "shrink to nothing");
  m = good, m.helpers[0].low[2] = 1;
  refuse(&m, "has no range");
  m = good, m.mix[3][3] = NAN;
  refuse(&m, "drive.mix");
  m = good, m.terms[1].b = joint_count;
  refuse(&m, "does not exist");
  m = good, m.terms[3].kind = SN_RT_TERMS_GAUSS;
  refuse(&m, "terms of kind");
  m = good, m.linear[2].value = value_count;
  refuse(&m, "a value that does not exist");
  m = good, m.linear[11].place = SN_RT_LINEAR_PLACES * helper_count;
  refuse(&m, "a channel that does not exist");
  m = good, m.linear[1].place = 9;
  refuse(&m, "a channel that does not exist");
  m = good, m.linear[0].place = SN_RT_LINEAR_PLACES;
  refuse(&m, "order of the helpers");
  m = good, m.linear[3].number = INFINITY;
  refuse(&m, "is not finite");
}

// Joints that nothing learned of, and a value: there is room for both.
static void test_values_beside_joints(void **state) {
  enum { many = 300, guard = 64 * many };
  sn_context ctx = sn_context_default();
  float position[1][3] = {{1, 2, 3}}, weight = 1, value = 0.1f;
  uint16_t joint = 0;
  static const float ranges[1][2] = {{0, 0.25f}};
  static const char *const names[1] = {"smile"};
  sn_mesh rest = {.vertex_count = 1, .positions = position};
  sn_skin skin = {.vertex_count = 1, .influences = 1, .joints = &joint, .weights = &weight};
  sn_skeleton skeleton;
  sn_model model;
  sn_rt_model opened;
  assert_int_equal(sn_skeleton_new(&ctx, many, &skeleton), SN_OK);
  sn_model_desc desc = sn_model_desc_default();
  sn_rt_helper helper = {.parent = 7};
  sn_rt_linear number = {.number = 1};
  const sn_model_section sections[] = {{"drive.helpers", &helper, sizeof helper, true},
                                       {"drive.linear", &number, sizeof number, true}};
  desc.rest = &rest, desc.skin = &skin, desc.skeleton = &skeleton;
  desc.value_count = 1, desc.value_names = names, desc.value_ranges = ranges;
  desc.drive = SN_RT_DRIVE_HELPERS, desc.palette_count = many + 1, desc.sections = sections, desc.section_count = 2;
  if (sn_model_build(&ctx, &desc, &model) != SN_OK) fail_msg("%s", ctx.error.message);
  if (sn_model_open(&ctx, "model", model.bytes, model.size, &opened) != SN_OK) fail_msg("%s", ctx.error.message);
  float(*joints)[12] = calloc(many, sizeof *joints);
  size_t size = sn_rt_scratch_size(&opened);
  unsigned char *scratch = malloc(size + guard);
  memset(scratch, 0x55, size + guard);
  sn_rt_input input = {.joints = (const float(*)[12])joints, .values = &value};
  assert_int_equal(sn_rt_palette(&opened, &input, scratch, NULL), SN_RT_OK);
  for (int k = 0; k < guard; k++) assert_int_equal(scratch[size + (size_t)k], 0x55);
  free(scratch), free(joints);
  sn_model_free(&model), sn_skeleton_free(&skeleton);
}

// Frames that move a part of the mesh by a, by its square and by its product with b: new values move it as the formula says.
static void test_products(void **state) {
  enum { frames = 60 };
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(9);
  sn_examples e = generate(&ctx, "elbow", frames, 600);
  sn_skeleton_free(&e.skeleton), sn_poses_free(&e.poses), sn_skin_free(&e.skin);
  assert_ok(&ctx, sn_values_new(&ctx, 2, frames, &e.values));
  for (int v = 0; v < 2; v++) e.values.names[v] = sn_arena_text(&ctx, &e.values.memory, v ? "b" : "a");
  double low = INFINITY, high = -INFINITY;
  for (int i = 0; i < e.rest.vertex_count; i++)
    low = fmin(low, (double)e.rest.positions[i][0]), high = fmax(high, (double)e.rest.positions[i][0]);
  for (int f = 0; f < frames; f++) {
    double *v = e.values.values + 2 * f; // those of training frames 0 and 2 are the ends of the range
    double a = v[0] = f == 0 || f == 2 ? f / 2 : sn_random_uniform(&rng);
    double b = v[1] = f == 0 || f == 2 ? f / 2 : sn_random_uniform(&rng);
    for (int i = 0; i < e.rest.vertex_count; i++) {
      const float *p = e.rest.positions[i];
      double part = (double)p[0] > (low + high) / 2;
      float(*to)[3] = sn_frame_mutable(&e.frames, f);
      to[i][0] = p[0], to[i][1] = (float)((double)p[1] + part * (0.1 * a - 0.3 * a * a));
      to[i][2] = (float)((double)p[2] + part * 0.4 * a * b);
    }
  }
  trained t = train(&ctx, &e, "helpers:helpers=4", "every:2");
  printf("%s; largest error %.2g %% of the diagonal\n", t.report.learned, t.scores.test.max_pct_diag);
  assert_null(strstr(t.report.learned, " 0 products"));
  assert_true(t.scores.test.max_pct_diag < 1e-2);
  release(&t);
  sn_examples_free(&e);
}

enum { wide = 17, high = 3, bends = 12 };

// A sheet about x = 0 with joints at x = 1 and -1; frames bend the left one, and its elbow swells with the square of the angle.
static sn_examples new_sheet(sn_context *ctx) {
  static const char *const names[joint_count] = {"root", "arm.L", "arm.R"};
  sn_examples e = {.memory = sn_arena_new(ctx)};
  assert_ok(ctx, sn_mesh_new(ctx, wide * high, 2 * (wide - 1) * (high - 1), &e.rest));
  for (int i = 0; i < wide * high; i++)
    e.rest.positions[i][0] = (float)(i % wide - wide / 2) / 4, e.rest.positions[i][1] = (float)(i / wide) / 4;
  for (int q = 0, t = 0; q < (wide - 1) * (high - 1); q++) {
    int a = q / (wide - 1) * wide + q % (wide - 1);
    const int two[2][3] = {{a, a + 1, a + wide}, {a + 1, a + wide + 1, a + wide}};
    for (int k = 0; k < 2; k++) memcpy(e.rest.triangles[t++], two[k], sizeof two[k]);
  }
  assert_ok(ctx, sn_skeleton_new(ctx, joint_count, &e.skeleton));
  for (int j = 0; j < joint_count; j++) {
    e.skeleton.names[j] = sn_arena_text(ctx, &e.skeleton.memory, names[j]);
    e.skeleton.parents[j] = j ? 0 : -1;
    e.skeleton.rest[j] = sn_affine_make(sn_mat3_identity(), sn_vec3_make(j == 0 ? 0 : j == 1 ? 1 : -1, 0.25, 0));
  }
  assert_ok(ctx, sn_skeleton_sort(ctx, &e.skeleton));
  assert_ok(ctx, sn_skin_new(ctx, wide * high, 2, &e.skin));
  for (int i = 0; i < wide * high; i++) {
    float x = e.rest.positions[i][0], w = fminf(1, fmaxf(0, 2 * fabsf(x) - 1.5f));
    int arm = 2 * i + (w <= 0.5f), root = 2 * i + (w > 0.5f); // the larger weight first
    e.skin.joints[arm] = x > 0 ? 1 : 2, e.skin.weights[arm] = w, e.skin.weights[root] = 1 - w;
  }
  assert_ok(ctx, sn_frames_new(ctx, wide * high, bends, &e.frames));
  assert_ok(ctx, sn_poses_new(ctx, joint_count, bends, &e.poses));
  for (int f = 0; f < bends; f++) {
    double angle = 1.5 * f / bends;
    sn_affine *bent = sn_pose(&e.poses, f);
    bent[1] = sn_affine_about(sn_rotation_exp(sn_vec3_make(0, angle, 0)), sn_affine_translation(e.skeleton.rest[1]));
    for (int i = 0; i < wide * high; i++) {
      sn_vec3 p = sn_skin_blend(&e.skin, i, bent, sn_vec3_from(e.rest.positions[i]));
      p.y += 0.1 * angle * angle * exp(-8 * pow((double)e.rest.positions[i][0] - 1, 2));
      sn_vec3_store(p, sn_frame_mutable(&e.frames, f)[i]);
    }
  }
  return e;
}

// Frames move the left side only. With mirrored frames the right side's error is a small part of that without.
static void test_mirrored_frames(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples e = new_sheet(&ctx);
  assert_ok(&ctx, sn_examples_mirror(&ctx, 0, &e));
  trained left = train(&ctx, &e, "helpers:helpers=4,weights=given", "0-11");
  trained both = train(&ctx, &e, "helpers:helpers=4,weights=given", "all");
  printf("rms %% of the right: %.3g; with mirrored frames %.3g\n", left.scores.test.rms_pct_diag,
         both.scores.all.rms_pct_diag);
  assert_below(both.scores.all.rms_pct_diag, 0.2 * left.scores.test.rms_pct_diag);
  release(&left), release(&both);
  sn_examples_free(&e);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_formula), cmocka_unit_test(test_wrong_models),
                                     cmocka_unit_test(test_values_beside_joints), cmocka_unit_test(test_products),
                                     cmocka_unit_test(test_mirrored_frames)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
