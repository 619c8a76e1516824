// SPDX-License-Identifier: MIT
// Le and Deng 2014 as printed: every formula against sums over vertices and frames, and the whole on sets whose rig is known.
#include "check.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "lab/baselines/baselines.h"
#include "lab/baselines/published.h"
#include "lab/gen/gen.h"

enum { bones = 5, limit = 3, rows = 6, columns = 7, n = rows * columns, frame_count = 8 };

typedef struct small_case {
  sn_arena memory;
  sn_mesh rest;
  sn_frames frames;
  fit_problem p;
  fit_units units;
  fit_model m;
  rig_tree tree;
} small_case;

// A grid that bends, five bones that move at random, random weights on three of them.
static void make_case(sn_context *ctx, small_case *s) {
  sn_random rng = sn_random_new(11);
  int all[frame_count];
  s->memory = sn_arena_new(ctx);
  assert_ok(ctx, sn_mesh_new(ctx, n, 2 * (rows - 1) * (columns - 1), &s->rest));
  for (int i = 0; i < n; i++) {
    sn_vec3 jitter = sn_vec3_scale(random_vec3(&rng), 0.2);
    sn_vec3_store(sn_vec3_add(sn_vec3_make(i % columns, (double)(i / columns), 0), jitter), s->rest.positions[i]);
  }
  for (int q = 0, t = 0; q < (rows - 1) * (columns - 1); q++) {
    int a = q / (columns - 1) * columns + q % (columns - 1);
    const int two[2][3] = {{a, a + 1, a + columns}, {a + 1, a + columns + 1, a + columns}};
    for (int k = 0; k < 2; k++, t++) memcpy(s->rest.triangles[t], two[k], sizeof two[k]);
  }
  assert_ok(ctx, sn_frames_new(ctx, n, frame_count, &s->frames));
  for (int f = 0; f < frame_count; f++) {
    all[f] = f;
    for (int i = 0; i < n; i++) {
      sn_vec3 move = sn_vec3_scale(random_vec3(&rng), 0.3);
      sn_vec3_store(sn_vec3_add(sn_vec3_from(s->rest.positions[i]), move), sn_frame_mutable(&s->frames, f)[i]);
    }
  }
  fit_data data = {.rest = &s->rest, .frames = &s->frames, .chosen = all, .count = frame_count};
  assert_ok(ctx, sn_fit_problem_build(ctx, &s->memory, &data, &s->units, &s->p));
  assert_ok(ctx, sn_fit_model_new(ctx, &s->memory, &s->p, bones, limit, &s->m));
  assert_ok(ctx, sn_rig_tree_new(ctx, &s->memory, bones, &s->tree));
  s->m.bones = bones;
  for (int i = 0; i < n; i++) {
    double w[limit], sum = 0;
    for (int q = 0; q < limit; q++) sum += w[q] = 0.1 + sn_random_uniform(&rng);
    for (int q = 0; q < limit; q++) // bone 4 shares no vertex with bone 0
      s->m.joint[i * limit + q] = (uint16_t)(i < n / 2 ? q : q + 2), s->m.weight[i * limit + q] = w[q] / sum;
  }
  for (int j = 0; j < bones; j++)
    for (int f = 0; f < frame_count; f++) {
      sn_mat3 r = sn_rotation_exp(sn_vec3_scale(random_vec3(&rng), 0.4));
      sn_fit_set_bone(&s->m, j, f, sn_affine_make(r, sn_vec3_scale(random_vec3(&rng), 0.2)));
    }
  sn_fit_model_refresh(ctx, &s->m);
  assert_ok(ctx, sn_fit_pass(ctx, &s->m, FIT_KEEP, NULL));
}

static void free_case(small_case *s) {
  sn_fit_problem_free(&s->p);
  sn_arena_free(&s->memory);
  sn_mesh_free(&s->rest), sn_frames_free(&s->frames);
}

static double weight_of(const fit_model *m, int i, int j) {
  double sum = 0;
  for (int q = 0; q < limit; q++)
    if (m->joint[i * limit + q] == j) sum += m->weight[i * limit + q];
  return sum;
}

static sn_vec3 rest_of(const small_case *s, int i) { return (sn_vec3){s->p.u[i][0], s->p.u[i][1], s->p.u[i][2]}; }

static sn_vec3 target_of(const small_case *s, int i, int f) {
  float room[3];
  return sn_vec3_from(fit_point(&s->p, i, f, room));
}

// sum_j w_ij [R_j | T_j] u~_i without bone `without`.
static sn_vec3 blend_of(const small_case *s, int i, int f, int without) {
  sn_vec3 sum = {0};
  for (int j = 0; j < bones; j++)
    if (j != without) {
      sn_vec3 x = sn_affine_apply(sn_fit_bone(&s->m, j, f), rest_of(s, i));
      sum = sn_vec3_add(sum, sn_vec3_scale(x, weight_of(&s->m, i, j)));
    }
  return sum;
}

static double square(sn_vec3 a) { return sn_vec3_dot(a, a); }

static double data_term(const small_case *s) {
  double sum = 0;
  for (int i = 0; i < n; i++)
    for (int f = 0; f < frame_count; f++) sum += square(sn_vec3_sub(blend_of(s, i, f, -1), target_of(s, i, f)));
  return sum / (n * frame_count);
}

// sum_j w_j^T L w_j with L_ik = -(d_ik / sum_h d_ih + d_ik / sum_h d_kh) / 2 for neighbours and rows that sum to 0.
static double smoothness_term(const small_case *s) {
  static double d[n][n], l[n][n];
  memset(d, 0, sizeof d), memset(l, 0, sizeof l);
  for (int t = 0; t < s->rest.triangle_count; t++)
    for (int c = 0; c < 3; c++) {
      int i = s->rest.triangles[t][c], k = s->rest.triangles[t][(c + 1) % 3];
      double sum = 0;
      for (int f = 0; f < frame_count; f++) {
        double change =
          sn_vec3_distance(target_of(s, i, f), target_of(s, k, f)) - sn_vec3_distance(rest_of(s, i), rest_of(s, k));
        sum += change * change / frame_count;
      }
      d[i][k] = d[k][i] = 1 / sqrt(sum);
    }
  double total[n] = {0}, energy = 0;
  for (int e = 0; e < n * n; e++) total[e / n] += d[e / n][e % n];
  for (int i = 0; i < n; i++)
    for (int k = 0; k < n; k++) {
      double pull = d[i][k] * (1 / total[i] + 1 / total[k]) / 2;
      l[i][k] -= pull, l[i][i] += pull;
    }
  for (int j = 0; j < bones; j++)
    for (int e = 0; e < n * n; e++)
      energy += weight_of(&s->m, e / n, j) * l[e / n][e % n] * weight_of(&s->m, e % n, j);
  return energy;
}

static void test_terms(void **state) {
  sn_context ctx = sn_context_default();
  small_case s;
  fit_smooth smooth;
  static const double omega = 0.03;
  make_case(&ctx, &s);
  assert_near(sn_published_data_term(&s.m), data_term(&s), 1e-6);
  assert_ok(&ctx, sn_fit_smooth_build(&ctx, &s.memory, &s.rest, &s.p, omega * n, &smooth));
  double expected = smoothness_term(&s);
  assert_true(expected > 0.1);
  assert_near(sn_published_smoothness_term(&s.m, &smooth, omega), expected, 1e-4 * expected);
  assert_ok(&ctx, sn_published_topology(&ctx, &s.m, &s.tree));
  double joints = 0;
  for (int j = 0; j < bones; j++)
    for (int f = 0; f < frame_count && s.tree.parent[j] >= 0; f++) {
      sn_vec3 c = {s.tree.joint[j][0], s.tree.joint[j][1], s.tree.joint[j][2]};
      joints += square(sn_vec3_sub(sn_affine_apply(sn_fit_bone(&s.m, j, f), c),
                                   sn_affine_apply(sn_fit_bone(&s.m, s.tree.parent[j], f), c))) /
                frame_count;
    }
  assert_true(joints > 0.01);
  assert_near(sn_published_joint_term(&s.m, &s.tree), joints, 1e-9);
  free_case(&s);
}

// The cost of joining j to k, all from the vertices; C_jk must be the best of points around it.
static double edge_cost(const small_case *s, int j, int k) {
  double c[3], shared = 0;
  sn_published_joint_position(&s->m, j, k, c);
  double least = sn_published_joint_value(&s->m, j, k, c);
  sn_random rng = sn_random_new(3);
  for (int trial = 0; trial < 50; trial++) {
    double near[3];
    for (int r = 0; r < 3; r++) near[r] = c[r] + 0.05 * sn_random_normal(&rng);
    assert_true(sn_published_joint_value(&s->m, j, k, near) > least);
  }
  for (int i = 0; i < n; i++) shared += weight_of(&s->m, i, j) * weight_of(&s->m, i, k);
  double cost = shared > 0 ? least / shared : INFINITY;
  if (shared > 0) assert_near(sn_published_edge_cost(&s->m, j, k, c), cost, 1e-9 * cost);
  if (!(shared > 0)) assert_true(isinf(sn_published_edge_cost(&s->m, j, k, c)));
  return cost;
}

// The least cost of all trees over five bones: of all choices of four of the ten edges that reach every bone.
static double least_tree(const double (*cost)[bones]) {
  double best = INFINITY;
  int ends[10][2], edges = 0;
  for (int j = 0; j < bones; j++)
    for (int k = 0; k < j; k++) ends[edges][0] = j, ends[edges++][1] = k;
  for (int set = 0; set < 1 << 10; set++) {
    double sum = 0;
    int part[bones] = {0, 1, 2, 3, 4}, count = 0, joined = 0;
    for (int e = 0; e < 10; e++) {
      if (!(set >> e & 1)) continue;
      count++, sum += cost[ends[e][0]][ends[e][1]];
      int from = part[ends[e][0]], to = part[ends[e][1]];
      joined += from != to;
      for (int j = 0; j < bones; j++)
        if (part[j] == from) part[j] = to;
    }
    if (count == bones - 1 && joined == bones - 1 && sum < best) best = sum;
  }
  return best;
}

static void test_topology(void **state) {
  sn_context ctx = sn_context_default();
  small_case s;
  double cost[bones][bones], sum = 0;
  make_case(&ctx, &s);
  for (int j = 0; j < bones; j++)
    for (int k = 0; k < j; k++) cost[j][k] = cost[k][j] = edge_cost(&s, j, k);
  assert_ok(&ctx, sn_published_topology(&ctx, &s.m, &s.tree));
  for (int j = 0; j < bones; j++)
    if (s.tree.parent[j] >= 0) sum += cost[j][s.tree.parent[j]];
  double expected = least_tree((const double(*)[bones])cost);
  assert_near(sum, expected, 1e-9 * expected);
  for (int q = 1; q < bones; q++) { // parents before children
    bool above = false;
    for (int r = 0; r < q; r++) above |= s.tree.order[r] == s.tree.parent[s.tree.order[q]];
    assert_true(above);
  }
  free_case(&s);
}

static void test_pruning(void **state) {
  sn_context ctx = sn_context_default();
  small_case s;
  bool gone[bones];
  make_case(&ctx, &s);
  assert_int_equal(sn_published_prune(&s.m, gone), 0);
  for (int i = 0; i < n; i++) // bone 1 keeps a sliver
    for (int q = 0; q < limit; q++)
      s.m.weight[i * limit + q] = s.m.joint[i * limit + q] == 1 ? 0.04 : q < 2 ? 0.96 : 0;
  for (int i = n / 2; i < n; i++)
    for (int q = 0; q < limit; q++) s.m.weight[i * limit + q] = 1.0 / limit;
  assert_ok(&ctx, sn_fit_pass(&ctx, &s.m, FIT_KEEP, NULL));
  double most = 0;
  int expected = 0;
  for (int pass = 0; pass < 2; pass++)
    for (int j = 0; j < bones; j++) {
      double sum = 0;
      for (int i = 0; i < n; i++) sum += weight_of(&s.m, i, j) * weight_of(&s.m, i, j);
      if (pass == 0) most = fmax(most, sum);
      if (pass == 1) expected += sum < 1e-2 * most;
    }
  assert_int_equal(expected, 1);
  assert_int_equal(sn_published_prune(&s.m, gone), 1);
  assert_true(gone[1]);
  free_case(&s);
}

// E_D + lambda E_J of one frame with bone j at t, as far as it depends on that.
static double bone_energy(const small_case *s, int j, int f, double lambda, sn_affine t) {
  double sum = 0;
  for (int i = 0; i < n; i++) {
    sn_vec3 q = sn_vec3_sub(target_of(s, i, f), blend_of(s, i, f, j));
    sn_vec3 x = sn_vec3_scale(sn_affine_apply(t, rest_of(s, i)), weight_of(&s->m, i, j));
    sum += square(sn_vec3_sub(x, q)) / n;
  }
  for (int k = 0; k < bones; k++) {
    int child = s->tree.parent[j] == k ? j : s->tree.parent[k] == j ? k : -1;
    if (child < 0) continue;
    sn_vec3 c = {s->tree.joint[child][0], s->tree.joint[child][1], s->tree.joint[child][2]};
    sum += lambda * square(sn_vec3_sub(sn_affine_apply(t, c), sn_affine_apply(sn_fit_bone(&s->m, k, f), c)));
  }
  return sum;
}

// p*, q* and the rotation by sums over vertices and joints, for the bone and its neighbours as they are.
static void centres(const small_case *s, int j, int f, double lambda, sn_vec3 *p, sn_vec3 *q) {
  double weight = 0;
  *p = *q = (sn_vec3){0};
  for (int i = 0; i < n; i++) {
    double w = weight_of(&s->m, i, j);
    *p = sn_vec3_add(*p, sn_vec3_scale(rest_of(s, i), w * w / n));
    *q = sn_vec3_add(*q, sn_vec3_scale(sn_vec3_sub(target_of(s, i, f), blend_of(s, i, f, j)), w / n));
    weight += w * w / n;
  }
  for (int k = 0; k < bones; k++) {
    int child = s->tree.parent[j] == k ? j : s->tree.parent[k] == j ? k : -1;
    if (child < 0) continue;
    sn_vec3 c = {s->tree.joint[child][0], s->tree.joint[child][1], s->tree.joint[child][2]};
    *p = sn_vec3_add(*p, sn_vec3_scale(c, lambda));
    *q = sn_vec3_add(*q, sn_vec3_scale(sn_affine_apply(sn_fit_bone(&s->m, k, f), c), lambda));
    weight += lambda;
  }
  *p = sn_vec3_scale(*p, 1 / weight), *q = sn_vec3_scale(*q, 1 / weight);
}

// The bone that a sweep updates last goes from p* to q*, and no motion near it is better.
static void test_bone_update(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(5);
  const int j = bones - 1;
  for (int k = 0; k < 3; k++) {
    small_case s;
    double lambda = k == 0 ? 0 : k == 1 ? 0.2 : 50;
    make_case(&ctx, &s);
    assert_ok(&ctx, sn_published_topology(&ctx, &s.m, &s.tree));
    double before = data_term(&s) + lambda * sn_published_joint_term(&s.m, &s.tree);
    assert_ok(&ctx, sn_published_bones(&ctx, &s.m, &s.tree, lambda, 1));
    assert_true(data_term(&s) + lambda * sn_published_joint_term(&s.m, &s.tree) < before);
    for (int f = 0; f < frame_count; f++) {
      sn_affine t = sn_fit_bone(&s.m, j, f);
      sn_vec3 p, q;
      centres(&s, j, f, lambda, &p, &q);
      assert_below(sn_vec3_distance(sn_affine_apply(t, p), q), 1e-5);
      double least = bone_energy(&s, j, f, lambda, t);
      for (int trial = 0; trial < 20; trial++) {
        sn_mat3 r = sn_mat3_mul(sn_rotation_exp(sn_vec3_scale(random_vec3(&rng), 0.05)), sn_affine_linear(t));
        sn_affine other = sn_affine_make(r, sn_vec3_sub(q, sn_mat3_apply(r, p)));
        assert_true(bone_energy(&s, j, f, lambda, other) > least);
      }
    }
    free_case(&s);
  }
}

// A body whose rig is known: as many bones leave little, its joints hold; pruning alone finds about as many.
static void test_whole(void **state) {
  sn_context ctx = sn_context_default();
  sn_gen_options gen = sn_gen_options_default();
  sn_examples body;
  sn_rig_result rig, again;
  gen.set = "body", gen.joints = 8, gen.vertices = 2000, gen.frames = 16;
  assert_ok(&ctx, sn_gen(&ctx, &gen, &body));
  sn_rig_options o = sn_rig_options_default();
  o.solver = SN_RIG_PUBLISHED, o.bones = 8, o.keep_bones = true;
  assert_ok(&ctx, sn_rig(&ctx, &body.rest, &body.frames, &o, &rig));
  print_message("8 bones: rms %.4f %% of the diagonal\n", rig.report.rms_pct_diag);
  assert_int_equal(rig.report.bones, 8);
  assert_below(rig.report.rms_pct_diag, 0.5);
  assert_below(sn_joint_gap(&rig.skeleton, &rig.poses), 1e-5);
  ctx.threads = 3;
  assert_ok(&ctx, sn_rig(&ctx, &body.rest, &body.frames, &o, &again));
  assert_memory_equal(rig.skin.weights, again.skin.weights,
                      (size_t)rig.skin.vertex_count * (size_t)rig.skin.influences * sizeof *rig.skin.weights);
  sn_rig_result_free(&rig), sn_rig_result_free(&again);
  o.bones = 0, o.most_bones = 20;
  assert_ok(&ctx, sn_rig(&ctx, &body.rest, &body.frames, &o, &rig));
  print_message("pruned from 20 to %d bones: rms %.4f %%\n", rig.report.bones, rig.report.rms_pct_diag);
  assert_true(rig.report.bones >= 8 && rig.report.bones <= 20);
  sn_rig_result_free(&rig);
  sn_examples_free(&body);
}

int main(void) {
  sn_lab_add_solvers();
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_terms),       cmocka_unit_test(test_topology), cmocka_unit_test(test_pruning),
    cmocka_unit_test(test_bone_update), cmocka_unit_test(test_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
