// SPDX-License-Identifier: MIT
// The weights of a rig as it is given out: few influences, even over the surface, and links of the skeleton that may be thin.
#include "rig_fixture.h"

typedef struct bench {
  sn_arena memory;
  tube t;
  fit_problem p;
  fit_units units;
  fit_model m;
  fit_smooth smooth;
} bench;

// A tube that bends like its true bones, but for `noise`: no weights are exact then, and a fourth influence always helps a little.
static void make_bench(sn_context *ctx, int bones, double noise, bench *b) {
  enum { frames = 6, limit = 4 };
  *b = (bench){.memory = sn_arena_new(ctx), .t = make_tube(ctx, bones, frames, 5)};
  int order[frames];
  sn_random rng = sn_random_new(3);
  for (int f = 0; f < frames; f++) {
    order[f] = f;
    for (int i = 0; i < b->t.rest.vertex_count; i++) {
      float *x = sn_frame_mutable(&b->t.frames, f)[i];
      sn_vec3_store(sn_vec3_mad(sn_vec3_from(x), random_vec3(&rng), noise), x);
    }
  }
  fit_data data = {.rest = &b->t.rest, .frames = &b->t.frames, .chosen = order, .count = frames};
  assert_ok(ctx, sn_fit_problem_build(ctx, &b->memory, &data, &b->units, &b->p));
  assert_ok(ctx, sn_fit_model_new(ctx, &b->memory, &b->p, bones, limit, &b->m));
  assert_ok(ctx, sn_fit_smooth_build(ctx, &b->memory, &b->t.rest, &b->p, 1, &b->smooth));
}

static void solve_bench(sn_context *ctx, bench *b) {
  b->m.bones = b->t.skeleton.joint_count, b->smooth.steady = true;
  for (int f = 0; f < b->p.f; f++)
    for (int j = 0; j < b->m.bones; j++)
      sn_fit_set_bone(&b->m, j, f, sn_fit_to_units(&b->units, f, sn_pose(&b->t.poses, f)[j]));
  for (int i = 0; i < b->p.n; i++) b->m.weight[i * b->m.limit] = 1;
  sn_fit_model_refresh(ctx, &b->m);
  assert_ok(ctx, sn_fit_pass(ctx, &b->m, FIT_EXHAUST, NULL));
  sn_fit_smooth_by_error(&b->m, &b->smooth);
  for (int round = 0; round < 3; round++) assert_ok(ctx, sn_fit_pass(ctx, &b->m, FIT_ADJUST, &b->smooth));
}

static void free_bench(bench *b) {
  sn_fit_problem_free(&b->p);
  sn_arena_free(&b->memory);
  free_tube(&b->t);
}

static double mean_influences(const fit_model *m) {
  int count = 0;
  for (int e = 0; e < m->p->n * m->limit; e++) count += m->weight[e] > 0;
  return (double)count / m->p->n;
}

static double weight_of(const fit_model *m, int i, int j) {
  for (int q = 0; q < m->limit; q++)
    if (m->joint[i * m->limit + q] == j && m->weight[i * m->limit + q] > 0) return m->weight[i * m->limit + q];
  return 0;
}

// sum_i sum_j of the squared difference between a weight and the mean of the neighbours'.
static double bending(const bench *b) {
  const int *start = b->smooth.start, *ring = b->smooth.ring;
  double sum = 0;
  for (int i = 0; i < b->p.n; i++)
    for (int j = 0; j < b->m.bones; j++) {
      double mean = 0;
      for (int e = start[i]; e < start[i + 1]; e++) mean += weight_of(&b->m, ring[e], j) / (start[i + 1] - start[i]);
      sum += pow(mean - weight_of(&b->m, i, j), 2);
    }
  return sum;
}

static void influences_have_a_price(void **state) {
  sn_context ctx = serial();
  bench b;
  make_bench(&ctx, 5, 0.02, &b);
  solve_bench(&ctx, &b);
  double error = b.m.error, influences = mean_influences(&b.m), bent = bending(&b);
  assert_ok(&ctx, sn_rig_thin(&ctx, &b.t.rest, &b.m, &b.smooth));
  assert_below(mean_influences(&b.m), 0.85 * influences);
  assert_below(b.m.error, 1.1 * error);
  assert_below(bending(&b), 0.9 * bent);
  double sum = 0;
  for (int i = 0; i < b.p.n; i++) sum += b.m.vertex_error[i];
  assert_near(sum, b.m.error, 1e-6 * sum); // errors are those of the weights that are left
  free_bench(&b);
}

// Where two influences are exact, there are two, and they stay what they are.
static void exact_weights_stay(void **state) {
  sn_context ctx = serial();
  bench b;
  make_bench(&ctx, 4, 0, &b);
  solve_bench(&ctx, &b);
  assert_ok(&ctx, sn_rig_thin(&ctx, &b.t.rest, &b.m, &b.smooth));
  assert_below(sqrt(b.m.error / b.p.n / b.p.f), 1e-5);
  assert_below(mean_influences(&b.m), 2.01);
  for (int i = 0; i < b.p.n; i++)
    for (int q = 0; q < 2; q++) {
      double truth = (double)b.t.skin.weights[2 * i + q];
      if (truth > 0) assert_near(weight_of(&b.m, i, b.t.skin.joints[2 * i + q]), truth, 1e-3);
    }
  free_bench(&b);
}

// A bone on which others hang is a link, however thin; at the end of a chain it is a sliver.
static void thin_links_are_no_slivers(void **state) {
  sn_context ctx = serial();
  bench b;
  make_bench(&ctx, 3, 0, &b);
  rig_tree tree;
  assert_ok(&ctx, sn_rig_tree_new(&ctx, &b.memory, 3, &tree));
  solve_bench(&ctx, &b);
  for (int i = 0; i < b.p.n; i++) { // the middle bone keeps a hundredth of one vertex
    bool right = weight_of(&b.m, i, 2) > 0;
    for (int q = 0; q < b.m.limit; q++) b.m.weight[i * b.m.limit + q] = q == 0, b.m.joint[i * b.m.limit + q] = 0;
    b.m.joint[i * b.m.limit] = right ? 2 : 0;
  }
  b.m.joint[1] = 1, b.m.weight[0] = 0.99, b.m.weight[1] = 0.01;
  assert_ok(&ctx, sn_fit_pass(&ctx, &b.m, FIT_KEEP, NULL));
  tree.bones = 3, tree.root = 0, tree.parent[0] = -1, tree.parent[1] = 0, tree.parent[2] = 1;
  assert_near(sn_rig_share(&b.m, 1), 1e-4, 1e-12);
  assert_true(sn_rig_is_sliver(&b.m, NULL, 1, RIG_THINNEST));
  assert_false(sn_rig_is_sliver(&b.m, &tree, 1, RIG_THINNEST));
  tree.parent[2] = 0;
  assert_true(sn_rig_is_sliver(&b.m, &tree, 1, RIG_THINNEST));
  assert_false(sn_rig_is_sliver(&b.m, &tree, 2, RIG_THINNEST));
  free_bench(&b);
}

// A tube whose parts swell where their joint bends, as muscles do, by up to `swelling` of the radius.
static tube make_muscles(sn_context *ctx, int bones, int frames, double swelling) {
  tube t = make_tube(ctx, bones, frames, 11);
  sn_mesh rest;
  tube_mesh(ctx, bones, &rest);
  for (int f = 0; f < frames; f++) {
    const sn_affine *pose = sn_pose(&t.poses, f);
    for (int i = 0; i < rest.vertex_count; i++) {
      double x = (double)rest.positions[i][0] / 1.2;
      int j = (int)fmin(floor(x), bones - 1), other = j + 1 < bones ? j + 1 : j - 1;
      sn_mat3 turn = sn_mat3_mul(sn_mat3_transpose(sn_affine_linear(pose[j])), sn_affine_linear(pose[other]));
      double angle = sn_vec3_length(sn_rotation_log(turn)),
             more = 1 + swelling * angle * pow(sin(SN_PI * (x - j)), 2);
      for (int c = 1; c < 3; c++) t.rest.positions[i][c] = (float)(more * (double)rest.positions[i][c]);
    }
    deform(&t, pose, sn_frame_mutable(&t.frames, f));
  }
  memcpy(t.rest.positions, rest.positions, (size_t)rest.vertex_count * sizeof *rest.positions);
  sn_mesh_free(&rest);
  return t;
}

// Muscles could use any number of bones. The four parts need one each; swelling that held-out frames confirm may have some more, not one
// per cluster of vertices.
static void soft_deformation_earns_few_bones(void **state) {
  sn_context ctx = serial();
  tube t = make_muscles(&ctx, 4, 10, 0.5);
  sn_rig_options o = sn_rig_options_default();
  sn_rig_result r;
  assert_ok(&ctx, sn_rig(&ctx, &t.rest, &t.frames, &o, &r));
  check_result(&t.rest, &t.frames, &o, &r);
  assert_true(r.report.bones >= 4 && r.report.bones <= 16);
  sn_rig_result_free(&r);
  free_tube(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(influences_have_a_price),
    cmocka_unit_test(exact_weights_stay),
    cmocka_unit_test(thin_links_are_no_slivers),
    cmocka_unit_test(soft_deformation_earns_few_bones),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
