// SPDX-License-Identifier: MIT
// The drives `rotreg` and `torque` against the papers' formulas, written out here in double precision on a small model made by
// hand; nothing of the trainer takes part. What the runtime reads is read here from the file's sections (runtime/format.h).
#include "check.h"
#include "runtime/internal.h"
#include "runtime/smallmath.h"
#include "sinew/model.h"

enum { joint_count = 3, bone_count = 9, block_count = 2, columns = 3 * bone_count + 4 * joint_count };

// ---- the mathematics ----------------------------------------------------------------------------------------------------

// exp of the matrix [r]x by its series: of [r]x / 64, squared six times.
static sn_mat3 series_exp(const double r[3]) {
  sn_mat3 k = {{{0, -r[2], r[1]}, {r[2], 0, -r[0]}, {-r[1], r[0], 0}}};
  k = sn_mat3_scale(k, 1.0 / 64);
  sn_mat3 sum = sn_mat3_identity(), term = sum;
  for (int n = 1; n < 12; n++) {
    term = sn_mat3_scale(sn_mat3_mul(term, k), 1.0 / n);
    sum = sn_mat3_add(sum, term);
  }
  for (int n = 0; n < 6; n++) sum = sn_mat3_mul(sum, sum);
  return sum;
}

// slerp(a, b, f): from a towards b about one axis, by the fraction f of the angle between them (less than 180 degrees).
static sn_mat3 part_of_the_way(sn_mat3 a, sn_mat3 b, double f) {
  sn_mat3 d = sn_mat3_mul(sn_mat3_transpose(a), b);
  double axis[3] = {d.m[2][1] - d.m[1][2], d.m[0][2] - d.m[2][0], d.m[1][0] - d.m[0][1]};
  double twice_sine = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
  if (twice_sine < 1e-9) return a;
  double angle = atan2(twice_sine, d.m[0][0] + d.m[1][1] + d.m[2][2] - 1);
  for (int n = 0; n < 3; n++) axis[n] *= f * angle / twice_sine;
  return sn_mat3_mul(a, series_exp(axis));
}

// ---- a model --------------------------------------------------------------------------------------------------------------

typedef struct handmade {
  sn_rt_rotreg_joint joints[joint_count];
  sn_rt_torque torques[joint_count];
  sn_rt_rotreg_block keys[block_count];
  sn_rt_torque_block pairs[block_count];
  float solve[block_count][columns][SN_RT_ROTREG_ROWS];
} handmade;

static float normal(sn_random *rng, double size) { return (float)(size * sn_random_normal(rng)); }

static sn_mat3 exp_of_random(sn_random *rng) {
  double r[3];
  for (int n = 0; n < 3; n++) r[n] = sn_random_normal(rng);
  return series_exp(r);
}

// Wang 2007, 3.2: a rotation J u W J^T theta, with u in [0, 1], W a rotation and J the joint's frame in the rest pose.
static void random_predictor(sn_random *rng, sn_rt_rotreg_block *b, int lane) {
  b->base[lane] = (uint16_t)(lane % joint_count);
  for (int k = 0; k < SN_RT_ROTREG_FACTORS; k++) {
    b->joint[k][lane] = (uint16_t)((lane + k) % joint_count);
    sn_mat3 j = exp_of_random(rng), w = exp_of_random(rng);
    sn_mat3 map = sn_mat3_mul(sn_mat3_mul(j, w), sn_mat3_transpose(j));
    double u = sn_random_uniform(rng);
    for (int n = 0; n < 9; n++) b->map[k][n][lane] = (float)(u * map.m[n / 3][n % 3]);
  }
  b->shear_joint[0][lane] = 1, b->shear_joint[1][lane] = 2;
  for (int c = 0; c < 6; c++)
    for (int n = 0; n < 7; n++) b->shear[c][n][lane] = (c < 3 && n == 6 ? 1 : 0) + normal(rng, 0.05);
  for (int c = 0; c < 3; c++)
    for (int n = 0; n < 7; n++) b->tilt[c][n][lane] = normal(rng, 0.03);
}

// The end at the largest torque: the other one's factors, separate scale, shear and tilt.
static void random_end(sn_random *rng, const sn_rt_rotreg_block *low, sn_rt_rotreg_block *high, int lane) {
  random_predictor(rng, high, lane);
  for (int k = 0; k < SN_RT_ROTREG_FACTORS; k++)
    for (int n = 0; n < 9; n++) high->map[k][n][lane] = low->map[k][n][lane];
  for (int c = 0; c < 3; c++) high->tilt[c][6][lane] += normal(rng, 0.3);
}

static void random_model(sn_random *rng, handmade *out) {
  *out = (handmade){0};
  // Joint 2 is trained around more than 180 degrees: its logarithms are on another branch than the shortest.
  const sn_rt_rotreg_joint joints[joint_count] = {{0, {0}}, {0, {0.5f, 0, 0}}, {1, {0, 3.4f, 0}}};
  const sn_rt_torque torques[joint_count] = {{2, 2, {1, 0, 0}, {1, 0, 0}}, // does nothing
                                             {-10, 30, {0.2f, 0.8f, 0}, {1.9f, -2.1f, 1.2f}},
                                             {0, 5, {1.7f, 0.4f, -0.3f}, {-0.5f, 0.5f, 1}}}; // leave [0, 1]
  memcpy(out->joints, joints, sizeof joints), memcpy(out->torques, torques, sizeof torques);
  for (int bone = 0; bone < bone_count; bone++) {
    int b = bone / SN_RT_LANES, lane = bone % SN_RT_LANES;
    random_predictor(rng, &out->keys[b], lane);
    random_predictor(rng, &out->pairs[b].ends[0], lane);
    random_end(rng, &out->pairs[b].ends[0], &out->pairs[b].ends[1], lane);
    out->pairs[b].load[lane] = bone % 4 == 3 ? SN_RT_NO_JOINT : (uint16_t)(bone % 4);
  }
  for (int b = 0; b < block_count; b++) {
    out->keys[b].factor_count = out->pairs[b].ends[0].factor_count = out->pairs[b].ends[1].factor_count =
      (uint32_t)(2 + b);
    for (int c = 0; c < columns; c++)
      for (int r = 0; r < SN_RT_ROTREG_ROWS && SN_RT_ROTREG_ROWS * b + r < 4 * bone_count; r++)
        out->solve[b][c][r] = normal(rng, 0.2);
  }
}

static sn_model_section section(sn_rt_section_id id, const void *bytes, size_t size) {
  return (sn_model_section){sn_rt_section_name(id), bytes, size, true};
}

// Vertex i follows proxy bone i alone.
static void build(sn_context *ctx, sn_rt_drive drive, const handmade *made, sn_model *model, sn_rt_model *rt) {
  sn_mesh mesh;
  sn_skin skin;
  sn_skeleton skeleton;
  assert_ok(ctx, sn_mesh_new(ctx, bone_count, 1, &mesh));
  assert_ok(ctx, sn_skin_new(ctx, bone_count, 1, &skin));
  assert_ok(ctx, sn_skeleton_new(ctx, joint_count, &skeleton));
  for (int i = 0; i < bone_count; i++) {
    mesh.positions[i][0] = (float)i, mesh.positions[i][1] = (float)(i % 3), mesh.positions[i][2] = 0.5f;
    skin.joints[i] = (uint16_t)(joint_count + i), skin.weights[i] = 1;
  }
  mesh.triangles[0][1] = 1, mesh.triangles[0][2] = 2;
  for (int j = 0; j < joint_count; j++) skeleton.parents[j] = j - 1;
  assert_ok(ctx, sn_skeleton_sort(ctx, &skeleton));
  bool torque = drive == SN_RT_DRIVE_TORQUE;
  const sn_model_section sections[] = {section(SN_SECTION_DRIVE_JOINTS, made->joints, sizeof made->joints),
                                       section(SN_SECTION_DRIVE_SOLVE, made->solve, sizeof made->solve),
                                       torque ? section(SN_SECTION_DRIVE_PAIRS, made->pairs, sizeof made->pairs)
                                              : section(SN_SECTION_DRIVE_KEYS, made->keys, sizeof made->keys),
                                       section(SN_SECTION_DRIVE_TORQUES, made->torques, sizeof made->torques)};
  sn_model_desc desc = sn_model_desc_default();
  desc.drive = drive, desc.rest = &mesh, desc.skeleton = &skeleton, desc.skin = &skin;
  desc.palette_count = joint_count + bone_count, desc.sections = sections, desc.section_count = torque ? 4 : 3;
  assert_ok(ctx, sn_model_build(ctx, &desc, model));
  assert_ok(ctx, sn_model_open(ctx, "made by hand", model->bytes, model->size, rt));
  sn_mesh_free(&mesh), sn_skin_free(&skin), sn_skeleton_free(&skeleton);
}

static void read_section(const sn_rt_model *rt, sn_rt_section_id id, void *out, size_t size) {
  uint64_t found;
  const void *bytes = sn_rt_find_section(rt, sn_rt_section_name(id), &found);
  assert_non_null(bytes);
  assert_int_equal(found, size);
  memcpy(out, bytes, size);
}

// What the file says, which the formulas below start from.
static void read_back(const sn_rt_model *rt, handmade *out) {
  *out = (handmade){0};
  read_section(rt, SN_SECTION_DRIVE_JOINTS, out->joints, sizeof out->joints);
  read_section(rt, SN_SECTION_DRIVE_SOLVE, out->solve, sizeof out->solve);
  if (rt->info.drive == SN_RT_DRIVE_TORQUE) {
    read_section(rt, SN_SECTION_DRIVE_PAIRS, out->pairs, sizeof out->pairs);
    read_section(rt, SN_SECTION_DRIVE_TORQUES, out->torques, sizeof out->torques);
  } else {
    read_section(rt, SN_SECTION_DRIVE_KEYS, out->keys, sizeof out->keys);
  }
}

// ---- poses ---------------------------------------------------------------------------------------------------------------

typedef struct pose {
  sn_mat3 q[joint_count];       // rotations in the world
  double theta[joint_count][3]; // their logarithms, relative to the joint's base
  float matrices[joint_count][12], torques[joint_count];
} pose;

// Logarithms first, within 0.7 of every number of the reference; rotations follow from them, so that no logarithm is taken here.
static void random_pose(sn_random *rng, const sn_rt_rotreg_joint *joints, pose *out) {
  out->q[0] = exp_of_random(rng);
  for (int j = 0; j < joint_count; j++) {
    for (int n = 0; n < 3; n++)
      out->theta[j][n] = j ? (double)joints[j].reference[n] + 1.4 * sn_random_uniform(rng) - 0.7 : 0;
    if (j) out->q[j] = sn_mat3_mul(out->q[joints[j].base], series_exp(out->theta[j]));
    for (int k = 0; k < 12; k++) out->matrices[j][k] = k % 4 < 3 ? (float)out->q[j].m[k / 4][k % 4] : normal(rng, 1);
    out->torques[j] = normal(rng, 20);
  }
}

// ---- the formulas ----------------------------------------------------------------------------------------------------------

// a phi, phi = [theta of shear_joint 0, of shear_joint 1, 1]
static double linear(const sn_rt_rotreg_block *b, int lane, const float (*a)[8], const pose *p) {
  double sum = (double)a[6][lane];
  for (int n = 0; n < 6; n++) sum += (double)a[n][lane] * p->theta[b->shear_joint[n / 3][lane]][n % 3];
  return sum;
}

// R = Q_p exp(J u W theta) for every factor of the predictor, and the last, the tilt
static sn_mat3 rotation_of(const sn_rt_rotreg_block *b, int lane, const pose *p) {
  sn_mat3 r = p->q[b->base[lane]];
  double turn[3];
  for (uint32_t k = 0; k < b->factor_count; k++) {
    const double *theta = p->theta[b->joint[k][lane]];
    for (int n = 0; n < 3; n++) {
      turn[n] = 0;
      for (int m = 0; m < 3; m++) turn[n] += (double)b->map[k][3 * n + m][lane] * theta[m];
    }
    r = sn_mat3_mul(r, series_exp(turn));
  }
  for (int n = 0; n < 3; n++) turn[n] = linear(b, lane, b->tilt[n], p);
  return sn_mat3_mul(r, series_exp(turn));
}

static sn_mat3 shear_of(const sn_rt_rotreg_block *b, int lane, const pose *p) {
  double s[6];
  for (int c = 0; c < 6; c++) s[c] = linear(b, lane, b->shear[c], p);
  return (sn_mat3){{{s[0], s[3], s[4]}, {s[3], s[1], s[5]}, {s[4], s[5], s[2]}}};
}

static double within_unit(double x) { return fmin(1, fmax(0, x)); }

static double blending(const float c[3], double x) {
  return within_unit((double)c[0] * x + (double)c[1] * x * x + (double)c[2] * x * x * x);
}

// D = slerp(R_min, R_max, f_r) ((1 - f_s) S_min + f_s S_max)
static sn_mat3 blended(const handmade *made, const sn_rt_torque_block *b, int lane, const pose *p) {
  double f_r = 0, f_s = 0;
  if (b->load[lane] != SN_RT_NO_JOINT) {
    const sn_rt_torque *t = &made->torques[b->load[lane]];
    double low = (double)t->low, high = (double)t->high, x = 0;
    if (high > low) x = within_unit(((double)p->torques[b->load[lane]] - low) / (high - low));
    f_r = blending(t->rotation, x), f_s = blending(t->shear, x);
  }
  sn_mat3 r = part_of_the_way(rotation_of(&b->ends[0], lane, p), rotation_of(&b->ends[1], lane, p), f_r);
  sn_mat3 s = sn_mat3_add(sn_mat3_scale(shear_of(&b->ends[0], lane, p), 1 - f_s),
                          sn_mat3_scale(shear_of(&b->ends[1], lane, p), f_s));
  return sn_mat3_mul(r, s);
}

static uint64_t solve_work; // operations of C X, a product and a sum each

// T' = C X: row 4 b + k of T' is column k of bone b's matrix; X has the columns of every D, then of the joints' matrices.
static void proxy_bones(const handmade *made, sn_rt_drive drive, const pose *p, double (*out)[12]) {
  double x[columns][3];
  for (int bone = 0; bone < bone_count; bone++) {
    int b = bone / SN_RT_LANES, lane = bone % SN_RT_LANES;
    const sn_rt_rotreg_block *key = &made->keys[b];
    sn_mat3 d = drive == SN_RT_DRIVE_TORQUE ? blended(made, &made->pairs[b], lane, p)
                                            : sn_mat3_mul(rotation_of(key, lane, p), shear_of(key, lane, p));
    for (int n = 0; n < 9; n++) x[3 * bone + n % 3][n / 3] = d.m[n / 3][n % 3];
  }
  for (int j = 0; j < joint_count; j++)
    for (int n = 0; n < 12; n++) x[3 * bone_count + 4 * j + n % 4][n / 4] = (double)p->matrices[j][n];
  for (int bone = 0; bone < bone_count; bone++)
    for (int n = 0; n < 12; n++) {
      int row = 4 * bone + n % 4;
      out[bone][n] = 0;
      for (int c = 0; c < columns; c++, solve_work += 2)
        out[bone][n] += (double)made->solve[row / SN_RT_ROTREG_ROWS][c][row % SN_RT_ROTREG_ROWS] * x[c][n / 4];
    }
}

// ---- the runtime -------------------------------------------------------------------------------------------------------------

static void check_path(const sn_rt_model *rt, const pose *p, const double (*bones)[12]) {
  float positions[bone_count][3];
  void *scratch = malloc(sn_rt_scratch_size(rt));
  sn_rt_input input = {.joints = (const float(*)[12])p->matrices, .torques = p->torques};
  sn_rt_output output = {.positions = positions[0]};
  assert_int_equal(sn_rt_evaluate(rt, &input, scratch, &output, NULL), SN_RT_OK);
  for (int bone = 0; bone < bone_count; bone++) {
    const double rest[4] = {bone, bone % 3, 0.5, 1};
    float m[12];
    sn_rt_palette_matrix(rt, scratch, (uint32_t)(joint_count + bone), m);
    for (int n = 0; n < 12; n++) assert_near((double)m[n], bones[bone][n], 2e-5);
    for (int a = 0; a < 3; a++) {
      double y = 0;
      for (int n = 0; n < 4; n++) y += bones[bone][4 * a + n] * rest[n];
      assert_near((double)positions[bone][a], y, 2e-4);
    }
  }
  free(scratch);
}

static void check_drive(sn_rt_drive drive) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(17);
  handmade *made = malloc(sizeof *made);
  sn_model model;
  sn_rt_model rt;
  random_model(&rng, made);
  build(&ctx, drive, made, &model, &rt);
  read_back(&rt, made);
  for (int trial = 0; trial < 40; trial++) {
    pose p;
    double bones[bone_count][12];
    random_pose(&rng, made->joints, &p);
    proxy_bones(made, drive, &p, bones);
    sn_rt_change(&rt)->wide_units = (uint32_t)(trial % 2); // as if on another processor
    for (int path = SN_RT_PATH_SCALAR; path < SN_RT_PATH_COUNT; path++)
      if (sn_rt_use_path(&rt, (sn_rt_path)path)) check_path(&rt, &p, (const double(*)[12])bones);
  }
  sn_model_free(&model), free(made);
}

static void test_rotreg(void **state) { check_drive(SN_RT_DRIVE_ROTREG); }

// What Wang's table 1 counts: the model's operations beyond those of a linear blend are those of C X and some hundreds per predictor. The
// paper's matrices, which are 3 x 3 blocks, take 2 12 P (9 P + 12 J), three times as many as C X.
static void test_flops(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(17);
  handmade *made = malloc(sizeof *made);
  sn_model model;
  sn_rt_model rt;
  pose p;
  double bones[bone_count][12];
  random_model(&rng, made);
  build(&ctx, SN_RT_DRIVE_ROTREG, made, &model, &rt);
  random_pose(&rng, made->joints, &p);
  solve_work = 0;
  proxy_bones(made, SN_RT_DRIVE_ROTREG, &p, bones);
  assert_int_equal(3 * solve_work, 2 * 12 * bone_count * (9 * bone_count + 12 * joint_count));
  uint64_t blend = bone_count * (12 + 18 + 43), rest = rt.info.flops - blend - solve_work; // one bone per vertex
  print_message("%d flops, %d of them C X, %d of %d predictors\n", (int)rt.info.flops, (int)solve_work, (int)rest,
                bone_count);
  assert_in_range(rest, 300 * bone_count, 700 * bone_count);
  sn_model_free(&model), free(made);
}

static void test_torque(void **state) { check_drive(SN_RT_DRIVE_TORQUE); }

// A rotation times 1 + d, d symmetric of this size: both factors again, whichever way sn_rt_polar takes.
static void test_polar_near_rotations(void **state) {
  sn_random rng = sn_random_new(5);
  for (double size = 1e-7; size < 0.5; size *= 1.3) {
    sn_mat3 rotation = random_rotation(&rng), stretch = sn_mat3_identity();
    for (int n = 0; n < 9; n++)
      if (n / 3 <= n % 3) stretch.m[n / 3][n % 3] += size * (2 * sn_random_uniform(&rng) - 1);
    for (int n = 0; n < 9; n++)
      stretch.m[n / 3][n % 3] = stretch.m[n / 3 < n % 3 ? n / 3 : n % 3][n / 3 < n % 3 ? n % 3 : n / 3];
    sn_mat3 product = sn_mat3_mul(rotation, stretch);
    float a[9], r[9], s[9];
    for (int n = 0; n < 9; n++) a[n] = (float)product.m[n / 3][n % 3];
    double allowed = sn_rt_polar(a, r, s) ? 1e-5 : 4e-7;
    for (int n = 0; n < 9; n++) {
      assert_true(fabs((double)r[n] - rotation.m[n / 3][n % 3]) < allowed);
      assert_true(fabs((double)s[n] - stretch.m[n / 3][n % 3]) < allowed);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rotreg), cmocka_unit_test(test_flops),
                                     cmocka_unit_test(test_torque), cmocka_unit_test(test_polar_near_rotations)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
