// SPDX-License-Identifier: MIT
// Rotational regression: the reduced form, its solve, its sections, and the runtime's drive.
#include <lapacke.h>

#include "palette_fixture.h"
#include "runtime/format.h"
#include "sinew/examples.h"
#include "train/rotreg/reduced.h"
#include "train/train.h"
#include "tube_fixture.h"

// ---- the reduced form ---------------------------------------------------------------------------------------------------------

// rms distance of a model to `full` at all frames.
static double distance_to(sn_context *ctx, const sn_examples *e, const char *text, const char *keys,
                          const sn_frames *full) {
  sn_model model;
  sn_rt_model rt;
  train_model(ctx, text, e, keys, &model, &rt);
  double sum = 0;
  float(*positions)[3] = malloc((size_t)e->rest.vertex_count * sizeof *positions);
  for (int f = 0; f < e->frames.frame_count; f++) {
    evaluate_pose(&rt, SN_RT_PATH_BEST, sn_pose(&e->poses, f), positions);
    for (int i = 0; i < e->rest.vertex_count; i++) {
      double d = sn_vec3_distance(sn_vec3_from(positions[i]), sn_vec3_from(sn_frame(full, f)[i]));
      sum += d * d;
    }
  }
  free(positions);
  sn_model_free(&model);
  return sqrt(sum / e->frames.frame_count / e->rest.vertex_count);
}

static double distance_to_full(sn_context *ctx, const sn_examples *e, const sn_frames *full, int bones) {
  char text[64];
  snprintf(text, sizeof text, "rotreg:published=1,bones=%d", bones);
  return distance_to(ctx, e, text, "every:4", full);
}

static void test_reduced_approaches_full(void **state) {
  sn_context ctx = sn_context_default();
  double amounts[13];
  for (int f = 0; f < 13; f++) amounts[f] = 2.5 * f / 12;
  sn_examples e;
  make_tube(&ctx, (tube){17, 12, false}, twist, amounts, 13, &e);
  sn_method_spec spec;
  sn_frames full;
  sn_keys keys = keys_of(&ctx, "every:4", 13, NULL), all = keys_of(&ctx, "all", 13, NULL);
  assert_ok(&ctx, sn_method_parse(&ctx, "rotreg:full=1,published=1", &spec));
  assert_ok(&ctx, sn_train_predict(&ctx, &spec, &e, &keys, &all, &full));
  double few = distance_to_full(&ctx, &e, &full, 2), some = distance_to_full(&ctx, &e, &full, 8),
         many = distance_to_full(&ctx, &e, &full, 64);
  print_message("reduced to full: 2 bones %.5f, 8 bones %.5f, 64 bones %.5f\n", few, some, many);
  assert_below(some, 0.5 * few);
  assert_below(many, 0.5 * some);
  sn_frames_free(&full), sn_keys_free(&keys), sn_keys_free(&all), sn_examples_free(&e);
}

static void test_identity_and_rigid_motion(void **state) {
  sn_context ctx = sn_context_default();
  const double amounts[] = {0, 0.6, 1.2, 1.8, 2.4};
  sn_examples e;
  make_tube(&ctx, (tube){13, 10, false}, twist, amounts, 5, &e);
  sn_model model;
  sn_rt_model rt;
  train_model(&ctx, "rotreg:bones=16", &e, "all", &model, &rt);
  size_t n = (size_t)e.rest.vertex_count;
  float(*a)[3] = malloc(n * sizeof *a), (*b)[3] = malloc(n * sizeof *b);
  sn_affine rest[2] = {sn_affine_identity(), sn_affine_identity()}, moved[2];
  evaluate_pose(&rt, SN_RT_PATH_BEST, rest, a);
  for (size_t i = 0; i < n; i++)
    assert_below(sn_vec3_distance(sn_vec3_from(a[i]), sn_vec3_from(e.rest.positions[i])), 0.01);
  sn_random rng = sn_random_new(5);
  for (int trial = 0; trial < 20; trial++) {
    const sn_affine *pose = sn_pose(&e.poses, trial % 5);
    sn_affine motion = sn_affine_make(random_rotation(&rng), random_vec3(&rng));
    for (int j = 0; j < 2; j++) moved[j] = sn_affine_mul(motion, pose[j]);
    evaluate_pose(&rt, SN_RT_PATH_BEST, pose, a);
    evaluate_pose(&rt, SN_RT_PATH_BEST, moved, b);
    for (size_t i = 0; i < n; i++) {
      assert_below(sn_vec3_distance(sn_affine_apply(motion, sn_vec3_from(a[i])), sn_vec3_from(b[i])), 1e-4);
    }
  }
  free(a), free(b);
  sn_model_free(&model), sn_examples_free(&e);
}

// Rodrigues: exp(v) = I + (sin a / a) K + ((1 - cos a) / a^2) K^2, a = |v| and K x = v x x.
static sn_mat3 rodrigues(sn_vec3 v) {
  double a = sn_vec3_length(v), s = a > 1e-9 ? sin(a) / a : 1, c = a > 1e-9 ? (1 - cos(a)) / (a * a) : 0.5;
  const double k[3][3] = {{0, -v.z, v.y}, {v.z, 0, -v.x}, {-v.y, v.x, 0}};
  sn_mat3 out;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      double square = 0;
      for (int n = 0; n < 3; n++) square += k[i][n] * k[n][j];
      out.m[i][j] = (i == j) + s * k[i][j] + c * square;
    }
  return out;
}

// D = Q_base exp(M_1 theta_1) exp(M_2 theta_2) ... exp(T phi) S with S = H phi and phi = [theta_b1, theta_b2, 1].
static sn_mat3 key_gradient(const sn_rotreg_predictor *p, const sn_mat3 *q, const sn_vec3 *theta) {
  static const int row[] = {0, 1, 2, 0, 0, 1}, column[] = {0, 1, 2, 1, 2, 2}; // of H: xx yy zz xy xz yz
  sn_vec3 a = theta[p->shear_joints[0]], b = theta[p->shear_joints[1]];
  const double phi[7] = {a.x, a.y, a.z, b.x, b.y, b.z, 1};
  sn_mat3 d = q[p->base], s = {{{0}}};
  double tilt[3] = {0, 0, 0};
  for (int k = 0; k < p->factor_count; k++)
    d = sn_mat3_mul(d, rodrigues(sn_mat3_apply(p->factors[k].map, theta[p->factors[k].joint])));
  for (int k = 0; k < 7; k++) {
    for (int n = 0; n < 3; n++) tilt[n] += p->tilt[n][k] * phi[k];
    for (int n = 0; n < 6; n++) s.m[row[n]][column[n]] += p->h[n][k] * phi[k];
  }
  for (int n = 3; n < 6; n++) s.m[column[n]][row[n]] = s.m[row[n]][column[n]];
  return sn_mat3_mul(sn_mat3_mul(d, rodrigues((sn_vec3){tilt[0], tilt[1], tilt[2]})), s);
}

// The runtime's palette against the formulas in double precision, on every path.
static void test_runtime_against_formulas(void **state) {
  sn_context ctx = sn_context_default();
  const double amounts[] = {0, 0.8, 1.6, 2.4, 3.1};
  sn_examples e;
  make_tube(&ctx, (tube){13, 10, false}, twist, amounts, 5, &e);
  assert_ok(&ctx, sn_skin_make(&ctx, &e)); // as sn_train does
  sn_keys keys = keys_of(&ctx, "all", 5, NULL);
  sn_rotreg_options options = sn_rotreg_options_default();
  options.bones = 13;
  sn_rotreg_training r = {.ctx = &ctx, .examples = &e, .keys = &keys, .options = &options};
  assert_ok(&ctx, sn_rotreg_reduced_train(&r));
  sn_model model;
  sn_rt_model rt;
  train_model(&ctx, "rotreg:bones=13", &e, "all", &model, &rt);
  assert_int_equal(rt.info.palette_count, 2 + r.bones.bone_count);
  int bones = r.bones.bone_count;
  sn_random rng = sn_random_new(11);
  for (int trial = 0; trial < 30; trial++) {
    sn_affine pose[2] = {sn_affine_make(random_rotation(&rng), random_vec3(&rng))};
    double angle = 3.1 * sn_random_uniform(&rng); // about x, relative to the parent
    pose[1] = sn_affine_mul(pose[0], twist(1, angle));
    const sn_mat3 rotation[2] = {sn_affine_linear(pose[0]), sn_affine_linear(pose[1])};
    const sn_vec3 theta[2] = {{0, 0, 0}, {angle, 0, 0}};
    double x[3 * 64 + 8][3];
    for (int l = 0; l < bones; l++) {
      sn_mat3 d = key_gradient(&r.predictors[l], rotation, theta);
      for (int c = 0; c < 9; c++) x[3 * l + c % 3][c / 3] = d.m[c / 3][c % 3];
    }
    for (int c = 0; c < 24; c++) x[3 * bones + 4 * (c / 12) + c % 4][c / 4 % 3] = pose[c / 12].m[c / 4 % 3][c % 4];
    float joints[2][12];
    sn_model_joints(pose, 2, joints);
    sn_rt_input input = {.joints = (const float(*)[12])joints};
    check_palettes(&rt, &input, &r, (const double(*)[3])x);
  }
  sn_rotreg_training_free(&r), sn_keys_free(&keys);
  sn_model_free(&model), sn_examples_free(&e);
}

// ---- C1 and C2 against a dense least-squares solve ------------------------------------------------------------------------------

typedef struct dense {
  int rows, columns, most;
  double *a, *b; // column-major; three right-hand sides
} dense;

static void dense_vertex(const sn_rotreg_training *r, int i, double weight, const double (*q)[3], double *row,
                         double *right) {
  sn_vec3 p = sn_vec3_from(r->examples->rest.positions[i]);
  const double point[4] = {p.x, p.y, p.z, 1};
  const sn_skin *skin = r->fixed[i] ? &r->skin : &r->bones.skin;
  for (int k = 0; k < skin->influences; k++) {
    size_t at = (size_t)i * (size_t)skin->influences + (size_t)k;
    for (int c = 0; c < 4; c++) {
      double value = weight * (double)skin->weights[at] * point[c];
      int index = 4 * skin->joints[at] + c;
      if (!r->fixed[i]) row[index] += value;
      for (int x = 0; r->fixed[i] && x < 3; x++) right[x] -= value * q[index][x];
    }
  }
}

static void dense_row(dense *d, const double *row, const double *right) {
  assert_true(d->rows < d->most);
  for (int c = 0; c < d->columns; c++) d->a[(size_t)c * (size_t)d->most + (size_t)d->rows] = row[c];
  for (int x = 0; x < 3; x++) d->b[(size_t)x * (size_t)d->most + (size_t)d->rows] = right[x];
  d->rows++;
}

static void dense_problem(const sn_rotreg_training *r, const double (*dd)[3], const double (*q)[3], dense *d) {
  const sn_mesh *rest = &r->examples->rest;
  double *row = malloc((size_t)d->columns * sizeof *row), right[3];
  for (int t = 0; t < rest->triangle_count; t++)
    for (int j = 0; j < 2; j++) {
      int a = rest->triangles[t][0], b = rest->triangles[t][j + 1];
      if (r->fixed[a] && r->fixed[b]) continue;
      double w = sqrt(r->edge[t][j]);
      memset(row, 0, (size_t)d->columns * sizeof *row), memset(right, 0, sizeof right);
      dense_vertex(r, b, w, q, row, right), dense_vertex(r, a, -w, q, row, right);
      for (int m = 0; m < sn_rotreg_most_gradients && r->gradients.index[t][m] >= 0; m++)
        for (int c = 0; c < 3; c++)
          for (int x = 0; x < 3; x++) {
            double v = (double)rest->positions[b][c] - (double)rest->positions[a][c];
            right[x] += w * r->gradients.beta[t][m] * v * dd[3 * r->gradients.index[t][m] + c][x];
          }
      dense_row(d, row, right);
    }
  for (int i = 0; i < rest->vertex_count; i++) {
    if (r->fixed[i]) continue;
    double w = sqrt(r->anchor_weight[i]);
    memset(row, 0, (size_t)d->columns * sizeof *row), memset(right, 0, sizeof right);
    dense_vertex(r, i, w, q, row, right);
    for (int s = 0; s < sn_rotreg_anchor_slots && r->anchors.joints[i][s] >= 0; s++)
      for (int c = 0; c < 4; c++)
        for (int x = 0; x < 3; x++)
          right[x] += w * r->anchors.points[i][s][c] * q[4 * r->anchors.joints[i][s] + c][x];
    dense_row(d, row, right);
  }
  free(row);
}

// Key gradients of five groups with three proxy bones per vertex.
static sn_rotreg_training five_gradients(sn_context *ctx, const sn_examples *e, const sn_keys *keys, bool published) {
  static sn_rotreg_options options = {.influences = 3};
  sn_rotreg_training t = {
    .ctx = ctx, .examples = e, .keys = keys, .options = &options, .fit = {.published = published}};
  sn_cluster_tree tree;
  assert_ok(ctx, sn_topology_build(ctx, &e->rest, &t.topology));
  assert_ok(ctx, sn_cluster_triangles(ctx, &t.memory, e, keys, &tree));
  t.bones.group_of = SN_NEW(ctx, &t.memory, int, e->rest.triangle_count);
  assert_ok(ctx, sn_cluster_cut(ctx, &tree, 5, t.bones.group_of, &t.bones.bone_count));
  assert_ok(ctx, sn_rotreg_bones_fit(&t));
  assert_ok(ctx, sn_rotreg_key_gradients_fit(&t));
  return t;
}

static void test_c_against_dense_least_squares(void **state) {
  sn_context ctx = sn_context_default();
  const double amounts[] = {0, 0.7, 1.4};
  sn_examples e;
  make_tube(&ctx, (tube){9, 9, false}, twist, amounts, 3, &e);
  sn_keys keys = keys_of(&ctx, "all", 3, NULL);
  sn_rotreg_training r = five_gradients(&ctx, &e, &keys, false);
  sn_random rng = sn_random_new(2);
  int n = e.rest.vertex_count, triangles = e.rest.triangle_count;
  assert_ok(&ctx, sn_skin_new(&ctx, n, 2, &r.skin));
  r.fixed = SN_NEW(&ctx, &r.memory, bool, n), r.anchor_weight = SN_NEW(&ctx, &r.memory, double, n);
  r.edge = sn_arena_alloc(&ctx, &r.memory, (size_t)triangles, sizeof *r.edge);
  for (int i = 0; i < n; i++) {
    double w = sn_random_uniform(&rng);
    r.skin.joints[2 * i] = 0, r.skin.joints[2 * i + 1] = 1;
    r.skin.weights[2 * i] = (float)w, r.skin.weights[2 * i + 1] = (float)(1 - w);
    r.fixed[i] = i % 5 == 0, r.anchor_weight[i] = 0.1 + sn_random_uniform(&rng);
  }
  for (int t = 0; t < triangles; t++)
    r.edge[t][0] = 0.1 + sn_random_uniform(&rng), r.edge[t][1] = 0.1 + sn_random_uniform(&rng);
  sn_skin_normalize(&r.skin);
  assert_ok(&ctx, sn_rotreg_anchors_blend(&r));
  r.fit.published = true; // with a ridge against rounding only
  assert_ok(&ctx, sn_rotreg_solve_c(&r));
  int rows = 4 * r.bones.bone_count, columns = 3 * r.bones.bone_count + 4 * e.skeleton.joint_count;
  int keys3 = 3 * r.bones.bone_count;
  double(*x)[3] = malloc((size_t)columns * sizeof *x);
  for (int m = 0; m < columns; m++)
    for (int k = 0; k < 3; k++) x[m][k] = sn_random_normal(&rng);
  dense d = {.columns = rows, .most = 2 * triangles + n};
  d.a = calloc((size_t)d.columns * (size_t)d.most, sizeof *d.a), d.b = calloc(3 * (size_t)d.most, sizeof *d.b);
  dense_problem(&r, (const double(*)[3])x, (const double(*)[3])(x + keys3), &d);
  assert_int_equal(LAPACKE_dgels(LAPACK_COL_MAJOR, 'N', d.rows, d.columns, 3, d.a, d.most, d.b, d.most), 0);
  for (int row = 0; row < rows; row++)
    for (int k = 0; k < 3; k++) {
      double sum = 0;
      for (int m = 0; m < columns; m++) sum += r.c[(size_t)row * (size_t)columns + (size_t)m] * x[m][k];
      assert_near(sum, d.b[(size_t)k * (size_t)d.most + (size_t)row], 2e-3); // the equations are held back by 1e-7
    }
  free(d.a), free(d.b), free(x);
  sn_rotreg_training_free(&r), sn_keys_free(&keys), sn_examples_free(&e);
}

// ---- clusters -----------------------------------------------------------------------------------------------------------------

static void test_clusters_are_the_rigid_parts(void **state) {
  sn_context ctx = sn_context_default();
  const double amounts[] = {0, 0.7, 1.4};
  for (int split = 0; split < 2; split++) {
    sn_examples e;
    make_tube(&ctx, (tube){10, 9, split}, rigid_halves, amounts, 3, &e);
    sn_arena memory = sn_arena_new(&ctx);
    sn_keys keys = keys_of(&ctx, "all", 3, NULL);
    sn_cluster_tree tree;
    int *group = malloc((size_t)e.rest.triangle_count * sizeof *group), count;
    assert_ok(&ctx, sn_cluster_triangles(&ctx, &memory, &e, &keys, &tree));
    assert_ok(&ctx, sn_cluster_cut(&ctx, &tree, 1000000, group, &count));
    assert_int_equal(count, e.rest.triangle_count);
    assert_ok(&ctx, sn_cluster_cut(&ctx, &tree, 1, group, &count));
    assert_int_equal(count, 1);
    assert_ok(&ctx, sn_cluster_cut(&ctx, &tree, split ? 2 : 3, group, &count));
    assert_int_equal(count, split ? 2 : 3); // the strip between the halves moves with neither
    for (int t = 0; split && t < e.rest.triangle_count; t++) {
      assert_int_equal(group[t], e.rest.positions[e.rest.triangles[t][0]][0] < 0 ? 0 : 1);
    }
    free(group);
    sn_keys_free(&keys), sn_arena_free(&memory), sn_examples_free(&e);
  }
}

// By hand, points 0, 1, 2, 6, 7. h = 2.5: from 0 the mean of 0, 1, 2; from 5 that of 6, 7. h = 4.5: from 2 that of 0, 1, 2, 6, which is
// 4.75 from 7.
static void test_mean_shift_by_hand(void **state) {
  const double points[5] = {0, 1, 2, 6, 7};
  const sn_rotreg_points z = {5, 1, points};
  const double cases[3][3] = {{2.5, 0, 1}, {2.5, 5, 6.5}, {4.5, 2, 2.25}};
  for (int n = 0; n < 3; n++) {
    double x = cases[n][1], room;
    sn_rotreg_shift(&z, cases[n][0], &x, &room);
    assert_near(x, cases[n][2], 1e-12);
  }
}

// Halves that rotate apart are the two groups of mean shift, and `start=meanshift` learns them exactly.
static void test_mean_shift_finds_rigid_parts(void **state) {
  sn_context ctx = sn_context_default();
  const double amounts[] = {0, 0.7, 1.4};
  sn_examples e;
  make_tube(&ctx, (tube){10, 9, true}, rigid_halves, amounts, 3, &e);
  sn_keys keys = keys_of(&ctx, "all", 3, NULL);
  const sn_rotreg_training training = {.ctx = &ctx, .examples = &e, .keys = &keys};
  int *group = malloc((size_t)e.rest.triangle_count * sizeof *group), count;
  assert_ok(&ctx, sn_rotreg_mean_shift(&training, 5, group, &count));
  assert_int_equal(count, 2);
  for (int t = 0; t < e.rest.triangle_count; t++)
    assert_int_equal(group[t], e.rest.positions[e.rest.triangles[t][0]][0] < 0 ? 0 : 1);
  free(group);
  assert_below(distance_to(&ctx, &e, "rotreg:published=1,start=meanshift", "all", &e.frames), 1e-4);
  sn_keys_free(&keys), sn_examples_free(&e);
}

// The triangles of a tube that twists, and every fourth of them once more, by itself: twice as many parts as groups are requested.
static void with_buttons(sn_context *ctx, const sn_examples *e, sn_mesh *rest, sn_frames *frames) {
  int n = e->rest.vertex_count, triangles = e->rest.triangle_count, buttons = triangles / 4;
  assert_ok(ctx, sn_mesh_new(ctx, n + 3 * buttons, triangles + buttons, rest));
  assert_ok(ctx, sn_frames_new(ctx, n + 3 * buttons, e->frames.frame_count, frames));
  memcpy(rest->triangles, e->rest.triangles, (size_t)triangles * sizeof *rest->triangles);
  for (int f = -1; f < e->frames.frame_count; f++) {
    const float(*from)[3] = f < 0 ? (const float(*)[3])e->rest.positions : sn_frame(&e->frames, f);
    float(*to)[3] = f < 0 ? rest->positions : sn_frame_mutable(frames, f);
    memcpy(to, from, (size_t)n * sizeof *to);
    for (int k = 0; k < 3 * buttons; k++) {
      memcpy(to[n + k], from[e->rest.triangles[k / 3 * 4][k % 3]], sizeof *to);
      rest->triangles[triangles + k / 3][k % 3] = n + k;
    }
  }
}

static void test_many_parts_leave_groups_to_the_largest(void **state) {
  sn_context ctx = sn_context_default();
  const double amounts[] = {0, 0.7, 1.4};
  sn_examples e;
  sn_mesh rest;
  sn_frames frames;
  sn_cluster_tree tree;
  make_tube(&ctx, (tube){17, 12, false}, twist, amounts, 3, &e);
  with_buttons(&ctx, &e, &rest, &frames);
  sn_arena memory = sn_arena_new(&ctx);
  sn_keys keys = keys_of(&ctx, "all", 3, NULL);
  int *group = malloc((size_t)rest.triangle_count * sizeof *group), count, of_tube = 0;
  assert_ok(&ctx, sn_cluster_triangles(&ctx, &memory, &(sn_examples){.rest = rest, .frames = frames}, &keys, &tree));
  assert_ok(&ctx, sn_cluster_cut(&ctx, &tree, 40, group, &count));
  bool seen[40] = {false};
  for (int t = 0; t < e.rest.triangle_count; t++) of_tube += !seen[group[t]], seen[group[t]] = true;
  print_message("of %d groups %d are of the tube\n", count, of_tube);
  assert_int_equal(count, 40);
  assert_in_range(of_tube, 20, 40); // 1 where parts are joined last
  free(group);
  sn_keys_free(&keys), sn_arena_free(&memory), sn_frames_free(&frames), sn_mesh_free(&rest), sn_examples_free(&e);
}

// T_k of a triangle (Wang 2007, 5.1): its corners, and a fourth point along the normal, from the rest pose to the pose.
static sn_vec3 carried_by(const int *corners, const float (*rest)[3], const float (*posed)[3], sn_vec3 p) {
  sn_mat3 frame[2], inverse;
  for (int k = 0; k < 2; k++) {
    const float(*at)[3] = k ? posed : rest;
    sn_vec3 origin = sn_vec3_from(at[corners[0]]), e2 = sn_vec3_sub(sn_vec3_from(at[corners[1]]), origin);
    sn_vec3 e3 = sn_vec3_sub(sn_vec3_from(at[corners[2]]), origin), normal = sn_vec3_cross(e2, e3);
    frame[k] = sn_mat3_columns(e2, e3, sn_vec3_scale(normal, 1 / sqrt(sn_vec3_length(normal))));
  }
  assert_true(sn_mat3_invert(frame[0], &inverse));
  sn_vec3 local = sn_mat3_apply(inverse, sn_vec3_sub(p, sn_vec3_from(rest[corners[0]])));
  return sn_vec3_add(sn_mat3_apply(frame[1], local), sn_vec3_from(posed[corners[0]]));
}

static int common_corners(const int *a, const int *b) {
  int count = 0;
  for (int k = 0; k < 9; k++) count += a[k / 3] == b[k % 3];
  return count;
}

// As published the first join is the one of least E_A->B, written out here.
static void test_published_join(void **state) {
  sn_context ctx = sn_context_default();
  const double amounts[] = {0.4, 1.1};
  sn_examples e;
  make_tube(&ctx, (tube){5, 5, false}, twist, amounts, 2, &e);
  sn_random rng = sn_random_new(3);
  for (int n = 0; n < 2 * e.rest.vertex_count; n++)
    for (int c = 0; c < 3; c++) sn_frame_mutable(&e.frames, n % 2)[n / 2][c] += 0.02F * (float)sn_random_normal(&rng);
  double least = INFINITY;
  int best[2] = {0, 0};
  for (int a = 0; a < e.rest.triangle_count; a++)
    for (int b = 0; b < e.rest.triangle_count; b++) {
      const int *of_a = e.rest.triangles[a], *of_b = e.rest.triangles[b];
      double error = 0;
      if (a == b || common_corners(of_a, of_b) < 2) continue;
      for (int n = 0; n < 6; n++) {
        const float(*rest)[3] = (const float(*)[3])e.rest.positions, (*posed)[3] = sn_frame(&e.frames, n / 3);
        sn_vec3 y = sn_vec3_from(posed[of_a[n % 3]]);
        double d = sn_vec3_distance(carried_by(of_b, rest, posed, sn_vec3_from(rest[of_a[n % 3]])), y);
        error += d * d;
      }
      if (error < least) least = error, best[0] = a < b ? a : b, best[1] = a < b ? b : a;
    }
  sn_arena memory = sn_arena_new(&ctx);
  sn_keys keys = keys_of(&ctx, "all", 2, NULL);
  sn_cluster_tree tree;
  assert_ok(&ctx, sn_cluster_triangles(&ctx, &memory, &e, &keys, &tree));
  assert_int_equal(tree.joins[0][0], best[0]);
  assert_int_equal(tree.joins[0][1], best[1]);
  assert_near(tree.costs[0], least, 1e-4 * least);
  sn_keys_free(&keys), sn_arena_free(&memory), sn_examples_free(&e);
}

// 5.1: the matrices T_b are those of the least E(T, alpha) for the weights found: by a dense least-squares solve for every pose.
static void test_proxy_bones_minimise_their_error(void **state) {
  enum { poses = 3, bones_most = 5, most = 4 * bones_most };
  sn_context ctx = sn_context_default();
  const double amounts[poses] = {0.4, 1.1, 1.9};
  sn_examples e;
  make_tube(&ctx, (tube){9, 9, false}, twist, amounts, poses, &e);
  sn_keys keys = keys_of(&ctx, "all", poses, NULL);
  sn_rotreg_training fitted = five_gradients(&ctx, &e, &keys, true);
  const sn_proxy_bones b = fitted.bones;
  int n = e.rest.vertex_count, columns = 4 * b.bone_count, rank;
  double found = 0, least = 0, singular[most];
  double *a = calloc((size_t)(n * columns), sizeof *a), *right = calloc((size_t)(3 * n), sizeof *right);
  for (int f = 0; f < poses; f++) {
    memset(a, 0, (size_t)(n * columns) * sizeof *a);
    for (int i = 0; i < n; i++) {
      sn_vec3 y = sn_vec3_from(sn_frame(&e.frames, f)[i]), left = y;
      for (int k = 0; k < b.skin.influences; k++) {
        int bone = b.skin.joints[i * b.skin.influences + k];
        double w = (double)b.skin.weights[i * b.skin.influences + k];
        sn_vec3 rest = sn_vec3_from(e.rest.positions[i]), p = sn_vec3_sub(rest, b.centre[bone]);
        double *row = a + i * columns + 4 * bone;
        row[0] += w * p.x, row[1] += w * p.y, row[2] += w * p.z, row[3] += w;
        left = sn_vec3_mad(left, sn_affine_apply(b.motion[f * b.bone_count + bone], rest), -w);
      }
      found += sn_vec3_dot(left, left);
      right[3 * i] = y.x, right[3 * i + 1] = y.y, right[3 * i + 2] = y.z;
    }
    assert_int_equal(LAPACKE_dgelsd(LAPACK_ROW_MAJOR, n, columns, 3, a, columns, right, 3, singular, 1e-12, &rank),
                     0);
    for (int k = 3 * rank; k < 3 * n; k++) least += right[k] * right[k];
  }
  print_message("E of the proxy bones %g, least %g, rank %d of %d\n", found, least, rank, columns);
  assert_below(found, 1.01 * least); // a ridge keeps it from being equal
  free(a), free(right);
  sn_rotreg_training_free(&fitted);
  sn_keys_free(&keys), sn_examples_free(&e);
}

// As published the coefficients are free: each gradient's part of the residual vanishes, and they need not sum to one.
static void test_published_coefficients(void **state) {
  sn_context ctx = sn_context_default();
  const double amounts[] = {0.4, 1.1, 1.9};
  sn_examples e;
  make_tube(&ctx, (tube){9, 9, false}, twist, amounts, 3, &e);
  sn_keys keys = keys_of(&ctx, "all", 3, NULL);
  sn_rotreg_training fitted = five_gradients(&ctx, &e, &keys, true);
  const sn_rotreg_key_gradients k = fitted.gradients;
  double farthest = 0;
  for (int t = 0; t < e.rest.triangle_count; t++) {
    double along[sn_rotreg_most_gradients] = {0}, sum = 0, squares = 0;
    for (int n = 0; n < 6; n++) {
      const int *corners = e.rest.triangles[t];
      const float(*frame)[3] = sn_frame(&e.frames, n / 2);
      sn_vec3 v = sn_vec3_sub(sn_vec3_from(e.rest.positions[corners[1 + n % 2]]),
                              sn_vec3_from(e.rest.positions[corners[0]])),
              parts[sn_rotreg_most_gradients];
      sn_vec3 residual = sn_vec3_sub(sn_vec3_from(frame[corners[0]]), sn_vec3_from(frame[corners[1 + n % 2]]));
      squares += sn_vec3_dot(v, v);
      for (int m = 0; m < sn_rotreg_most_gradients && k.index[t][m] >= 0; m++) {
        parts[m] = sn_mat3_apply(k.sequence[3 * k.index[t][m] + n / 2], v);
        residual = sn_vec3_mad(residual, parts[m], k.beta[t][m]);
      }
      for (int m = 0; m < sn_rotreg_most_gradients && k.index[t][m] >= 0; m++)
        along[m] += sn_vec3_dot(parts[m], residual);
    }
    for (int m = 0; m < sn_rotreg_most_gradients && k.index[t][m] >= 0; m++) {
      assert_near(along[m], 0, 1e-6 * squares);
      sum += k.beta[t][m];
    }
    farthest = fmax(farthest, fabs(sum - 1));
  }
  assert_true(farthest > 1e-3);
  sn_rotreg_training_free(&fitted), sn_keys_free(&keys), sn_examples_free(&e);
}

// F: rms error under linear blend skinning at most half of that of all vertices; and one vertex of every component.
static void test_published_fixed_set(void **state) {
  sn_context ctx = sn_context_default();
  const double amounts[] = {0.8, 1.6};
  sn_examples e;
  make_tube(&ctx, (tube){9, 9, true}, twist, amounts, 2, &e);
  sn_keys keys = keys_of(&ctx, "all", 2, NULL);
  sn_rotreg_training t = {.ctx = &ctx, .examples = &e, .keys = &keys, .fit = {.published = true}};
  int n = e.rest.vertex_count, on = 0;
  assert_ok(&ctx, sn_topology_build(&ctx, &e.rest, &t.topology));
  assert_ok(&ctx, sn_skin_new(&ctx, n, 1, &t.skin));
  for (int i = 0; i < n; i++) t.skin.joints[i] = e.rest.positions[i][0] > 0, t.skin.weights[i] = 1;
  double *error = SN_NEW(&ctx, &t.memory, double, n), mean = 0, best[2] = {INFINITY, INFINITY};
  assert_ok(&ctx, sn_rotreg_hard_set(&t));
  for (int i = 0; i < n; i++) {
    for (int f = 0; f < 2; f++) {
      sn_affine joint = sn_pose(&e.poses, f)[t.skin.joints[i]];
      double d = sn_vec3_distance(sn_affine_apply(joint, sn_vec3_from(e.rest.positions[i])),
                                  sn_vec3_from(sn_frame(&e.frames, f)[i]));
      error[i] += d * d;
    }
    mean += error[i] / n;
    best[t.topology.component[i]] = fmin(best[t.topology.component[i]], error[i]);
  }
  for (int i = 0; i < n; i++) {
    bool wanted = 4 * error[i] <= mean || error[i] == best[t.topology.component[i]];
    on += wanted;
    if (fabs(4 * error[i] - mean) > 1e-9 * mean && error[i] > best[t.topology.component[i]] + 1e-12)
      assert_int_equal(t.fixed[i], wanted);
  }
  assert_in_range(on, 2, n - 1);
  sn_rotreg_training_free(&t), sn_keys_free(&keys), sn_examples_free(&e);
}

static void test_error_option_gives_fewest_bones(void **state) {
  sn_context ctx = sn_context_default();
  const double amounts[] = {0, 0.7, 1.4, 2.1};
  sn_examples e;
  make_tube(&ctx, (tube){13, 9, false}, twist, amounts, 4, &e);
  uint32_t last = 0;
  const char *specs[] = {"rotreg:error=3", "rotreg:error=1", "rotreg:error=0.3"};
  for (int k = 0; k < 3; k++) {
    sn_model model;
    sn_rt_model rt;
    train_model(&ctx, specs[k], &e, "all", &model, &rt);
    assert_true(rt.info.palette_count > last);
    last = rt.info.palette_count;
    sn_model_free(&model);
  }
  sn_examples_free(&e);
}

// ---- degenerate input ------------------------------------------------------------------------------------------------------------

static void check_finite_model(sn_context *ctx, const sn_examples *e, const char *spec, const char *keys) {
  sn_model model;
  sn_rt_model rt;
  train_model(ctx, spec, e, keys, &model, &rt);
  float(*positions)[3] = malloc((size_t)e->rest.vertex_count * sizeof *positions);
  double size = sn_points_diagonal((const float(*)[3])e->rest.positions, e->rest.vertex_count);
  for (int f = 0; f < e->frames.frame_count; f++) {
    evaluate_pose(&rt, SN_RT_PATH_BEST, sn_pose(&e->poses, f), positions);
    for (int i = 0; i < e->rest.vertex_count; i++) {
      assert_below(sn_vec3_distance(sn_vec3_from(positions[i]), sn_vec3_from(sn_frame(&e->frames, f)[i])), size);
    }
  }
  free(positions);
  sn_model_free(&model);
}

// A zero-area triangle, a triangle with one corner twice, a vertex in no triangle.
static void spoil(sn_examples *e) {
  int(*t)[3] = e->rest.triangles;
  t[3][1] = t[3][0];
  t[7][0] = t[7][1] = t[7][2];
  int last = e->rest.vertex_count - 1;
  for (int k = 0; k < e->rest.triangle_count; k++)
    for (int c = 0; c < 3; c++)
      if (t[k][c] == last) t[k][c] = last - 1;
}

static void test_degenerate_input(void **state) {
  sn_context ctx = sn_context_default();
  const double amounts[] = {0, 0.7, 1.4, 2.1}, still[] = {0, 0, 0, 0};
  for (int split = 0; split < 2; split++) {
    sn_examples e;
    make_tube(&ctx, (tube){10, 9, split}, twist, amounts, 4, &e);
    check_finite_model(&ctx, &e, "rotreg:bones=8", "2");      // a single pose
    check_finite_model(&ctx, &e, "rotreg:bones=8", "0");      // the rest pose alone
    check_finite_model(&ctx, &e, "rotreg:bones=1", "all");    // a single bone
    check_finite_model(&ctx, &e, "rotreg:bones=1024", "all"); // more bones than triangles
    check_finite_model(&ctx, &e, "rotreg:bones=8,joints=3,influences=8", "all");
    check_finite_model(&ctx, &e, "rotreg:bones=8,joints=1,influences=1", "0,3");
    spoil(&e);
    check_finite_model(&ctx, &e, "rotreg:bones=8", "all");
    check_finite_model(&ctx, &e, "rotreg:bones=8,start=meanshift", "all");
    assert_below(test_error(&ctx, "rotreg:full=1,published=1", &e, "0,1,3"), 5);
    assert_below(test_error(&ctx, "rotreg:full=1,published=1", &e, "1"), 50);
    sn_examples_free(&e);
    make_tube(&ctx, (tube){10, 9, split}, twist, still, 4, &e);
    check_finite_model(&ctx, &e, "rotreg:bones=8", "all"); // joints that never move
    sn_examples_free(&e);
  }
}

// One component far from the other, moved by a separate joint: both stay where they belong.
static void test_components_do_not_drift(void **state) {
  sn_context ctx = sn_context_default();
  double amounts[9];
  for (int f = 0; f < 9; f++) amounts[f] = 2.5 * f / 8;
  sn_examples e;
  make_tube(&ctx, (tube){16, 9, true}, twist, amounts, 9, &e);
  double lbs = test_error(&ctx, "lbs", &e, "every:2");
  assert_below(test_error(&ctx, "rotreg:full=1,published=1", &e, "every:2"), 0.5 * lbs);
  assert_below(test_error(&ctx, "rotreg:bones=16", &e, "every:2"), 0.5 * lbs);
  sn_examples_free(&e);
}

static sn_affine moved_by(sn_vec3 by) { return sn_affine_make(sn_mat3_identity(), by); }

// Far from the origin the error is as near to it: the proxy bones are computed about the mesh, in single precision.
static void test_far_from_the_origin(void **state) {
  sn_context ctx = sn_context_default();
  const double amounts[] = {0, 0.5, 1, 1.5, 2, 2.5};
  const sn_vec3 there = {4096, -2048, 0}, back = {-4096, 2048, 0};
  sn_examples e;
  make_tube(&ctx, (tube){13, 10, false}, twist, amounts, 6, &e);
  double near = test_error(&ctx, "rotreg:bones=16", &e, "every:2");
  size_t n = (size_t)e.rest.vertex_count;
  for (size_t i = 0; i < n; i++)
    sn_vec3_store(sn_vec3_add(sn_vec3_from(e.rest.positions[i]), there), e.rest.positions[i]);
  for (int j = 0; j < 2; j++) e.skeleton.rest[j] = sn_affine_mul(moved_by(there), e.skeleton.rest[j]);
  for (int f = 0; f < 6; f++) {
    float(*at)[3] = sn_frame_mutable(&e.frames, f);
    for (size_t i = 0; i < n; i++) sn_vec3_store(sn_vec3_add(sn_vec3_from(at[i]), there), at[i]);
    for (int j = 0; j < 2; j++) {
      sn_affine *m = &sn_pose(&e.poses, f)[j];
      *m = sn_affine_mul(sn_affine_mul(moved_by(there), *m), moved_by(back));
    }
  }
  double far = test_error(&ctx, "rotreg:bones=16", &e, "every:2");
  print_message("twisted tube: %.4f %%, far from the origin %.4f %% of the diagonal\n", near, far);
  assert_below(far, near + 0.02); // positions of 4096 are rounded by a hundredth of a percent of the diagonal
  sn_examples_free(&e);
}

// ---- the same bytes, memory, files -------------------------------------------------------------------------------------------------

static void test_same_bytes_at_any_thread_count(void **state) {
  const double amounts[] = {0, 0.7, 1.4, 2.1};
  sn_model models[3];
  for (int k = 0; k < 3; k++) {
    sn_context ctx = sn_context_default();
    ctx.threads = k == 0 ? 1 : k == 1 ? 2 : 5;
    sn_examples e;
    sn_rt_model rt;
    make_tube(&ctx, (tube){17, 12, false}, twist, amounts, 4, &e);
    train_model(&ctx, "rotreg:bones=12", &e, "all", &models[k], &rt);
    sn_examples_free(&e);
  }
  for (int k = 1; k < 3; k++) {
    assert_int_equal(models[k].size, models[0].size);
    assert_memory_equal(models[k].bytes, models[0].bytes, models[0].size);
  }
  for (int k = 0; k < 3; k++) sn_model_free(&models[k]);
}

static void test_memory_runs_out(void **state) {
  sn_context plain = sn_context_default();
  const double amounts[] = {0, 1, 2};
  sn_examples e;
  make_tube(&plain, (tube){5, 6, false}, twist, amounts, 3, &e);
  const char *specs[] = {"rotreg:bones=4", "rotreg:full=1,published=1"};
  for (int s = 0; s < 2; s++) {
    for (starvation starved = {.every = 40}; starve(&starved);) {
      sn_keys keys = keys_of(&plain, "all", 3, NULL);
      sn_method_spec spec;
      sn_model model = {0};
      sn_frames frames = {0};
      sn_train_report report;
      assert_ok(&plain, sn_method_parse(&plain, specs[s], &spec));
      starved.status = s ? sn_train_predict(&starved.ctx, &spec, &e, &keys, &keys, &frames)
                         : sn_train(&starved.ctx, &spec, &e, &keys, &model, &report);
      sn_model_free(&model), sn_frames_free(&frames), sn_keys_free(&keys);
    }
  }
  sn_examples_free(&e);
}

// Sections of the drive with indices or numbers out of range are refused.
static void test_hostile_sections(void **state) {
  sn_context ctx = sn_context_default();
  const double amounts[] = {0, 0.7, 1.4};
  sn_examples e;
  make_tube(&ctx, (tube){10, 9, false}, twist, amounts, 3, &e);
  sn_model model;
  sn_rt_model rt;
  train_model(&ctx, "rotreg:bones=10", &e, "all", &model, &rt);
  uint64_t size;
  size_t joints = (size_t)((const uint8_t *)sn_rt_find_section(&rt, "drive.joints", &size) - model.bytes);
  size_t predictors = (size_t)((const uint8_t *)sn_rt_find_section(&rt, "drive.keys", &size) - model.bytes);
  size_t solve = (size_t)((const uint8_t *)sn_rt_find_section(&rt, "drive.solve", &size) - model.bytes);
  const size_t places[] = {joints,
                           joints + 4,
                           predictors,
                           predictors + 16,
                           predictors + 64,
                           predictors + 96,
                           predictors + offsetof(sn_rt_rotreg_block, map),
                           solve + 8};
  for (int k = 0; k < 8; k++) {
    uint8_t keep[4];
    memcpy(keep, model.bytes + places[k], 4);
    memset(model.bytes + places[k], 0xff, 4); // a large index, or a number that is none
    assert_true(sn_model_seal(model.bytes, model.size));
    sn_rt_error error;
    assert_int_equal(sn_rt_open(model.bytes, model.size, &rt, &error), SN_RT_BAD_MODEL);
    memcpy(model.bytes + places[k], keep, 4);
  }
  assert_true(sn_model_seal(model.bytes, model.size));
  assert_int_equal(sn_rt_open(model.bytes, model.size, &rt, NULL), SN_RT_OK);
  sn_model_free(&model), sn_examples_free(&e);
}

// Figures of the issue on real data.
static void test_cheburashka(void **state) {
  need_data(rest, "cheburashka-pose/rest.obj");
  need_data(frames, "cheburashka-pose/frames.pc2");
  need_data(skeleton, "cheburashka-pose/skeleton.glb");
  sn_context ctx = sn_context_default();
  sn_load_options load = sn_load_options_default();
  const char *frame_files[] = {frames}, *skeleton_files[] = {skeleton};
  load.rest = rest, load.frames_count = load.skeleton_count = 1;
  load.frames = frame_files, load.skeletons = skeleton_files;
  sn_examples e;
  assert_ok(&ctx, sn_examples_load(&ctx, &load, &e));
  double lbs = test_error(&ctx, "lbs", &e, "every:4"), rotreg = test_error(&ctx, "rotreg", &e, "every:4");
  print_message("cheburashka-pose: lbs %.4f %%, rotreg %.4f %% of the diagonal\n", lbs, rotreg);
  assert_below(rotreg, 0.42 * lbs);
  double given = test_error(&ctx, "lbs:weights=given", &e, "0-39"), half = test_error(&ctx, "rotreg", &e, "0-39");
  print_message("its first half on its second: given %.4f %%, rotreg %.4f %%\n", given, half);
  assert_below(half, 1.15 * given);
  sn_examples_free(&e);
}

// What a model's time is divided by is lbs on the joints, as `compare` trains it: not the model's own proxy bones.
static void test_plain_lbs_is_on_joints(void **state) {
  sn_context ctx = sn_context_default();
  const double amounts[] = {0, 0.6, 1.2, 1.8, 2.4};
  sn_examples e;
  make_tube(&ctx, (tube){13, 10, false}, twist, amounts, 5, &e);
  sn_model model, plain;
  sn_rt_model rt, lbs;
  train_model(&ctx, "rotreg:bones=16", &e, "all", &model, &rt);
  assert_ok(&ctx, sn_assess_plain_lbs(&ctx, &rt, &plain));
  assert_ok(&ctx, sn_model_open(&ctx, "plain", plain.bytes, plain.size, &lbs));
  assert_int_equal(lbs.info.palette_count, rt.info.joint_count);
  assert_in_range(lbs.info.influence_count, lbs.info.vertex_count, 4 * (uint64_t)lbs.info.vertex_count);
  assert_int_equal(lbs.info.vertex_count, rt.info.vertex_count);
  sn_model_free(&model), sn_model_free(&plain), sn_examples_free(&e);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_reduced_approaches_full),
    cmocka_unit_test(test_identity_and_rigid_motion),
    cmocka_unit_test(test_runtime_against_formulas),
    cmocka_unit_test(test_c_against_dense_least_squares),
    cmocka_unit_test(test_clusters_are_the_rigid_parts),
    cmocka_unit_test(test_mean_shift_by_hand),
    cmocka_unit_test(test_mean_shift_finds_rigid_parts),
    cmocka_unit_test(test_published_join),
    cmocka_unit_test(test_proxy_bones_minimise_their_error),
    cmocka_unit_test(test_published_coefficients),
    cmocka_unit_test(test_published_fixed_set),
    cmocka_unit_test(test_many_parts_leave_groups_to_the_largest),
    cmocka_unit_test(test_error_option_gives_fewest_bones),
    cmocka_unit_test(test_degenerate_input),
    cmocka_unit_test(test_components_do_not_drift),
    cmocka_unit_test(test_far_from_the_origin),
    cmocka_unit_test(test_same_bytes_at_any_thread_count),
    cmocka_unit_test(test_memory_runs_out),
    cmocka_unit_test(test_hostile_sections),
    cmocka_unit_test(test_cheburashka),
    cmocka_unit_test(test_plain_lbs_is_on_joints),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
