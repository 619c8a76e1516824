// SPDX-License-Identifier: MIT
// psd and eigenskin: what they reproduce, what they generalise to, and the runtime that evaluates them.
#include "train/correct/corrector.h"
#include "train_fixture.h"

#include <lapacke.h>

#include "psd_fixture.h"
#include "runtime/format.h"
#include "sinew/examples.h"

// Positions and normals of a model at joint matrices.
typedef struct shape {
  float (*positions)[3], (*normals)[3];
  void *scratch;
} shape;

static shape evaluate(const sn_rt_model *model, const sn_affine *joints, void *state) {
  size_t n = model->info.vertex_count;
  shape s = {malloc(n * 12), malloc(n * 12), malloc(sn_rt_scratch_size(model))};
  float(*input)[12] = malloc(model->info.joint_count * sizeof *input);
  sn_model_joints(joints, (int)model->info.joint_count, input);
  sn_rt_input in = {.joints = (const float(*)[12])input, .state = state};
  sn_rt_output out = {.positions = s.positions[0], .normals = s.normals[0]};
  assert_int_equal(sn_rt_evaluate(model, &in, s.scratch, &out, NULL), SN_RT_OK);
  free(input);
  return s;
}

static void free_shape(shape *s) { free(s->positions), free(s->normals), free(s->scratch); }

static double largest_difference(const float (*a)[3], const float (*b)[3], size_t count) {
  double largest = 0;
  for (size_t n = 0; n < 3 * count; n++) {
    double d = fabs((double)a[n / 3][n % 3] - b[n / 3][n % 3]);
    if (!(d <= largest)) largest = d;
  }
  return largest;
}

// ---- training poses ---------------------------------------------------------------------------------------------------

static void training_poses_are_reproduced(void **state) {
  static const char *const specs[] = {
    "psd:space=whole,threshold=0",
    "psd:space=whole,threshold=0,blend=dualquat",
    "psd:space=whole,threshold=0,kernel=bspline",
    "psd:space=whole,threshold=0,kernel=thinplate",
    "psd:space=whole,threshold=0,kernel=shepard",
    "psd:space=whole,threshold=0,linear=1",
    "psd:space=whole,threshold=0,linear=1,cardinal=0",
    "psd:space=whole,threshold=0,cardinal=0",
    "psd:space=whole,threshold=0,cardinal=0,blend=dualquat",
    "psd:space=whole,threshold=0,order=forward",
    "psd:space=whole,threshold=0,order=forward,blend=dualquat",
    "psd:space=whole,threshold=0,sigma=pose",
    "psd:space=whole,threshold=0,distance=normalised",
    "psd:space=whole,threshold=0,distance=mahalanobis",
    "psd:space=whole,threshold=0,kernel=bspline,linear=1",
    "eigenskin:space=whole,threshold=0,components=100",
    "eigenskin:space=whole,threshold=0,components=100,blend=dualquat",
    "psd:space=whole,threshold=0,weighted=1",
    "psd:space=whole,threshold=0,weighted=1,blend=dualquat",
    "psd:space=whole,threshold=0,weighted=1,kernel=bspline,distance=normalised",
    "psd:space=whole,weighted=1",
    "psd:space=whole", // the default threshold stays within it too
  };
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "shoulder", 24, 800);
  for (size_t n = 0; n < sizeof specs / sizeof *specs; n++) {
    trained t = train(&ctx, &examples, specs[n], "every:3");
    if (t.scores.train.max_pct_diag > 1e-2) fail_msg("%s: %g %%", specs[n], t.scores.train.max_pct_diag);
    if (t.scores.train.normal_deg > 0.5) fail_msg("%s: normals %g degrees", specs[n], t.scores.train.normal_deg);
    release(&t);
  }
  sn_examples_free(&examples);
}

static void unseen_poses_gain(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "shoulder", 40, 800);
  double lbs = scores_of(&ctx, &examples, "lbs", "every:3").test.ee;
  double dqs = scores_of(&ctx, &examples, "dqs", "every:3").test.ee;
  assert_below(scores_of(&ctx, &examples, "psd:space=whole", "every:3").test.ee, 0.5 * lbs);
  assert_below(scores_of(&ctx, &examples, "psd:space=whole,blend=dualquat", "every:3").test.ee, 0.5 * dqs);
  sn_examples_free(&examples);
}

// ---- forms that must agree -------------------------------------------------------------------------------------------------

static void compare_specs(const char *set, const char *a, const char *b, const char *keys, double tolerance) {
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, set, 16, 600);
  trained x = train(&ctx, &examples, a, keys), y = train(&ctx, &examples, b, keys);
  for (int f = 0; f < examples.frames.frame_count; f++) {
    shape s = evaluate(&x.model, sn_pose(&examples.poses, f), NULL);
    shape t = evaluate(&y.model, sn_pose(&examples.poses, f), NULL);
    size_t n = (size_t)examples.rest.vertex_count;
    assert_below(largest_difference((const float(*)[3])s.positions, (const float(*)[3])t.positions, n), tolerance);
    free_shape(&s), free_shape(&t);
  }
  release(&x), release(&y);
  sn_examples_free(&examples);
}

static void cardinal_form_is_the_per_vertex_form(void **state) {
  compare_specs("elbow", "psd:space=whole,sigma=0.4,threshold=0", "psd:space=whole,sigma=0.4,threshold=0,cardinal=0",
                "every:4", 2e-4);
  compare_specs("shoulder", "psd:space=whole,kernel=bspline,threshold=0,sigma=0.6",
                "psd:space=whole,kernel=bspline,threshold=0,sigma=0.6,cardinal=0", "every:4", 2e-4);
  compare_specs("shoulder", "psd:space=whole,kernel=thinplate,threshold=0",
                "psd:space=whole,kernel=thinplate,threshold=0,cardinal=0", "every:4", 2e-4);
}

// Poses at 0, 1 and 3 on a line: their B-splines reach 2, 2 and 4, twice the nearest pose. M4 is 2/3 at 0, 1/6 at one width and
// (2 - t)^3 / 6 beyond it.
static void bsplines_reach_twice_the_nearest_pose(void **state) {
  sn_context ctx = sn_context_default();
  sn_correct_options o = sn_correct_options_default();
  o.kernel = SN_RBF_BSPLINE;
  sn_corrector corrector = {.ctx = &ctx, .options = &o, .memory = sn_arena_new(&ctx)};
  double centres[3] = {0, 1, 3}, gram[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  sn_pose_field field = {.centre_count = 3, .centres = centres, .metric = {.axes = 1}};
  sn_rbf rbf;
  assert_ok(&ctx, sn_field_solve(&corrector, NULL, gram, &field, &rbf));
  const double phi[3][3] = {
    {2.0 / 3, 1.0 / 6, 0.125 / 6}, {1.0 / 6, 2.0 / 3, 1.0 / 6}, {0, 0, 2.0 / 3}}; // [pose][centre]
  for (int k = 0; k < 3; k++) {
    assert_near(field.widths[k], k < 2 ? 1 : 2, 1e-12);
    for (int p = 0; p < 3; p++) {
      double value = 0;
      for (int c = 0; c < 3; c++) value += rbf.mix[k * rbf.terms + c] * phi[p][c];
      assert_near(value, p == k, 1e-9);
    }
  }
  sn_rbf_free(&rbf), sn_arena_free(&corrector.memory);
}

static void eigenskin_with_all_components_is_psd_where_one_joint_moves(void **state) {
  compare_specs("elbow", "psd:space=whole,threshold=0", "eigenskin:space=whole,threshold=0,components=1000",
                "every:4", 1e-4);
  compare_specs("bar", "psd:space=whole,threshold=0,blend=dualquat",
                "eigenskin:space=whole,threshold=0,components=1000,blend=dualquat", "every:4", 1e-4);
}

static void instruction_sets_agree(void **state) {
  static const char *const specs[] = {"psd:space=whole",
                                      "psd:space=whole,blend=dualquat",
                                      "psd:space=whole,order=forward",
                                      "psd:space=whole,order=forward,blend=dualquat",
                                      "psd:space=whole,weighted=1",
                                      "psd:space=whole,weighted=1,blend=dualquat",
                                      "eigenskin:space=whole"};
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "arm", 16, 700);
  for (size_t n = 0; n < sizeof specs / sizeof *specs; n++) {
    trained t = train(&ctx, &examples, specs[n], "every:4");
    for (int path = SN_RT_PATH_SCALAR; path < SN_RT_PATH_COUNT; path++) {
      sn_rt_model other = t.model, scalar = t.model;
      sn_rt_use_path(&scalar, SN_RT_PATH_SCALAR);
      if (!sn_rt_use_path(&other, (sn_rt_path)path)) continue;
      for (int f = 1; f < 16; f += 5) {
        shape a = evaluate(&scalar, sn_pose(&examples.poses, f), NULL);
        shape b = evaluate(&other, sn_pose(&examples.poses, f), NULL);
        assert_below(largest_difference((const float(*)[3])a.positions, (const float(*)[3])b.positions, 700), 1e-5);
        assert_below(largest_difference((const float(*)[3])a.normals, (const float(*)[3])b.normals, 700), 2e-4);
        // A range that cuts through blocks: exactly the whole's vertices, of which some are there twice; without normals
        // blocks that have no corrections may differ in their last bits.
        float part[700][3], normals[700][3];
        memset(part, 0, sizeof part);
        sn_rt_output out = {.positions = part[0], .normals = normals[0]};
        assert_int_equal(sn_rt_skin(&other, b.scratch, &out, 13, 200, NULL), SN_RT_OK);
        assert_memory_equal(part + 13, b.positions + 13, 200 * sizeof *part);
        out.normals = NULL;
        assert_int_equal(sn_rt_skin(&other, b.scratch, &out, 13, 200, NULL), SN_RT_OK);
        assert_below(largest_difference((const float(*)[3])part + 13, (const float(*)[3])b.positions + 13, 200),
                     1e-6);
        assert_near(part[12][0], 0, 0);
        free_shape(&a), free_shape(&b);
      }
    }
    release(&t);
  }
  sn_examples_free(&examples);
}

// ---- the formulas, written out ---------------------------------------------------------------------------------------------

enum { formula_poses = 5, formula_most = formula_poses + 3 };

// Murtagh 2008 (2.3) to (2.6) and 2.3.2 on the beam of two ends, whose pose space is two angles: rest pose and four poses.
typedef struct formula {
  const char *spec;
  double (*phi)(double distance);
  bool forward, plane; // (2.4) instead of (2.5); 1, a, b under the kernels
  int distance;        // 0: euclid, 1: normalised, 2: mahalanobis
} formula;

static double gauss_phi(double d) { return exp(-d * d / (2 * 0.5 * 0.5)); }
static double plate_phi(double d) { return d > 0 ? d * d * log(d) : 0; }
static double spline_phi(double d) {
  double t = d / 0.6;
  return t < 1 ? (4 - 6 * t * t + 3 * t * t * t) / 6 : t < 2 ? (2 - t) * (2 - t) * (2 - t) / 6 : 0;
}

static void angles_of(int frame, double out[2]) {
  out[0] = frame / two_ends_steps * SN_PI / 9, out[1] = frame % two_ends_steps * SN_PI / 9;
}

// The square root of (x - y)^T S (x - y), S the inverse covariance of the poses, its diagonal alone, or 1.
static double formula_distance(const formula *f, const int *frames, const double x[2], const double y[2]) {
  double mean[2] = {0}, c[3] = {0}, a[2], d[2] = {x[0] - y[0], x[1] - y[1]};
  if (f->distance == 0) return hypot(d[0], d[1]);
  for (int k = 0; k < formula_poses; k++)
    angles_of(frames[k], a), mean[0] += a[0] / formula_poses, mean[1] += a[1] / formula_poses;
  for (int k = 0; k < formula_poses; k++) {
    angles_of(frames[k], a), a[0] -= mean[0], a[1] -= mean[1];
    c[0] += a[0] * a[0] / formula_poses, c[1] += a[0] * a[1] / formula_poses, c[2] += a[1] * a[1] / formula_poses;
  }
  if (f->distance == 1) return sqrt(d[0] * d[0] / c[0] + d[1] * d[1] / c[2]);
  return sqrt((c[2] * d[0] * d[0] - 2 * c[1] * d[0] * d[1] + c[0] * d[1] * d[1]) / (c[0] * c[2] - c[1] * c[1]));
}

// phi_k(x) of every pose, then 1, a, b; with Shepard's method the weights over their sum.
static void formula_row(const formula *f, const int *frames, int frame, double *row) {
  double x[2], y[2], sum = 0;
  angles_of(frame, x);
  for (int k = 0; k < formula_poses; k++) {
    angles_of(frames[k], y);
    double d = formula_distance(f, frames, x, y);
    sum += row[k] = f->phi ? f->phi(d) : pow(fmax(d, 1e-6), -3);
  }
  for (int k = 0; !f->phi && k < formula_poses; k++) row[k] /= sum;
  row[formula_poses] = 1, row[formula_poses + 1] = x[0], row[formula_poses + 2] = x[1];
}

// sum_j w_j M_j of vertex i
static sn_affine formula_blend(const sn_examples *e, int i, int frame) {
  sn_affine sum = {0};
  for (int k = 0; k < 2; k++)
    for (int n = 0; n < 12; n++)
      sum.m[n / 4][n % 4] +=
        (double)e->skin.weights[2 * i + k] * sn_pose(&e->poses, frame)[e->skin.joints[2 * i + k]].m[n / 4][n % 4];
  return sum;
}

// The displacement of vertex i at a pose: what linear blending leaves (2.4), or that before the blend (2.5).
static sn_vec3 formula_delta(const formula *f, const sn_examples *e, int i, int frame) {
  sn_affine blend = formula_blend(e, i, frame);
  sn_vec3 rest = sn_vec3_from(e->rest.positions[i]), at = sn_vec3_from(sn_frame(&e->frames, frame)[i]);
  if (f->forward) return sn_vec3_sub(at, sn_affine_apply(blend, rest));
  double a[9], b[3] = {at.x - blend.m[0][3], at.y - blend.m[1][3], at.z - blend.m[2][3]};
  int pivot[3];
  for (int n = 0; n < 9; n++) a[n] = blend.m[n / 3][n % 3];
  assert_int_equal(LAPACKE_dgesv(LAPACK_ROW_MAJOR, 3, 1, a, 3, pivot, b, 1), 0);
  return sn_vec3_sub(sn_vec3_make(b[0], b[1], b[2]), rest);
}

static void check_formula(sn_context *ctx, const sn_examples *e, const formula *f) {
  static const int frames[formula_poses] = {0, 7, 13, 16, 24};
  int size = f->plane ? formula_most : formula_poses, pivot[formula_most];
  trained t = train(ctx, e, f->spec, "7,13,16,24");
  for (int i = 0; i < e->rest.vertex_count; i += 7) {
    double a[formula_most * formula_most] = {0}, w[formula_most * 3] = {0}, row[formula_most];
    for (int k = 0; k < formula_poses; k++) {
      sn_vec3 delta = formula_delta(f, e, i, frames[k]);
      w[3 * k] = delta.x, w[3 * k + 1] = delta.y, w[3 * k + 2] = delta.z;
      formula_row(f, frames, frames[k], row);
      for (int n = 0; n < size; n++) a[k * size + n] = row[n];
      for (int n = formula_poses; n < size; n++) a[n * size + k] = row[n];
    }
    assert_int_equal(LAPACKE_dgesv(LAPACK_ROW_MAJOR, size, 3, a, size, pivot, w, 3), 0);
    for (int frame = 0; frame < two_ends_steps * two_ends_steps; frame++) {
      sn_vec3 d = {0, 0, 0}, rest = sn_vec3_from(e->rest.positions[i]);
      formula_row(f, frames, frame, row);
      for (int n = 0; n < size; n++)
        d = sn_vec3_add(d, sn_vec3_scale(sn_vec3_make(w[3 * n], w[3 * n + 1], w[3 * n + 2]), row[n]));
      sn_affine blend = formula_blend(e, i, frame);
      sn_vec3 wanted =
        f->forward ? sn_vec3_add(sn_affine_apply(blend, rest), d) : sn_affine_apply(blend, sn_vec3_add(rest, d));
      shape s = evaluate(&t.model, sn_pose(&e->poses, frame), NULL);
      double off = sn_vec3_distance(sn_vec3_from(s.positions[i]), wanted);
      if (!(off < 1e-5)) fail_msg("%s: vertex %d, frame %d: off by %g", f->spec, i, frame, off);
      free_shape(&s);
    }
  }
  release(&t);
}

#define PUBLISHED_FORM "psd:space=whole,weights=given,threshold=0,"

static void corrections_are_the_formulas(void **state) {
  static const formula formulas[] = {
    {PUBLISHED_FORM "sigma=0.5", gauss_phi, false, false, 0},
    {PUBLISHED_FORM "sigma=0.5,cardinal=0,order=forward", gauss_phi, true, false, 0},
    {PUBLISHED_FORM "kernel=bspline,sigma=0.6,cardinal=0", spline_phi, false, false, 0},
    {PUBLISHED_FORM "kernel=thinplate", plate_phi, false, true, 0},
    {PUBLISHED_FORM "kernel=shepard,sigma=3", NULL, false, false, 0},
    {PUBLISHED_FORM "sigma=0.5,distance=normalised", gauss_phi, false, false, 1},
    {PUBLISHED_FORM "sigma=0.5,distance=mahalanobis", gauss_phi, false, false, 2},
  };
  sn_context ctx = sn_context_default();
  sn_examples examples;
  assert_ok(&ctx, two_ends(&ctx, 80, &examples));
  for (size_t n = 0; n < sizeof formulas / sizeof *formulas; n++) check_formula(&ctx, &examples, &formulas[n]);
  sn_examples_free(&examples);
}

// Murtagh 2008, 4.3: kernel weights of at most `threshold`, here 3 % of the diagonal, are dropped. All vertices get the same five
// weights (that of the rest pose follows from the others, since nothing is displaced there), two of which are smaller; only vertices
// of one joint are looked at: elsewhere a weight may stay for its normal.
static void small_weights_are_left_out(void **state) {
  static const int frames[formula_poses] = {0, 7, 13, 16, 24};
  static const double sizes[formula_poses] = {0, 0.02, 0.06, 0.025, 0.05};
  static const formula gauss = {.phi = gauss_phi};
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(31);
  sn_examples e;
  assert_ok(&ctx, two_ends(&ctx, 80, &e));
  double diagonal = sn_points_diagonal((const float(*)[3])e.rest.positions, e.rest.vertex_count), row[formula_most];
  sn_vec3 w[formula_poses] = {{0, 0, 0}};
  formula_row(&gauss, frames, 0, row);
  for (int k = 1; k < formula_poses; k++) {
    w[k] = sn_vec3_scale(sn_vec3_normalize(random_vec3(&rng), (sn_vec3){1, 0, 0}), sizes[k] * diagonal);
    w[0] = sn_vec3_mad(w[0], w[k], -row[k] / row[0]);
  }
  for (int n = 0; n < two_ends_steps * two_ends_steps * e.rest.vertex_count; n++) {
    int f = n / e.rest.vertex_count, i = n % e.rest.vertex_count;
    sn_vec3 at = sn_vec3_from(e.rest.positions[i]);
    formula_row(&gauss, frames, f, row);
    for (int k = 0; k < formula_poses; k++) at = sn_vec3_mad(at, w[k], row[k]);
    sn_vec3_store(sn_affine_apply(formula_blend(&e, i, f), at), sn_frame_mutable(&e.frames, f)[i]);
  }
  trained t = train(&ctx, &e, "psd:space=whole,weights=given,cardinal=0,sigma=0.5,threshold=3", "7,13,16,24");
  int looked_at = 0, kept = 0;
  for (int k = 0; k < formula_poses; k++) kept += sn_vec3_length(w[k]) > 0.03 * diagonal;
  assert_in_range(kept, 2, 3);
  for (int f = 0; f < two_ends_steps * two_ends_steps; f++) {
    shape s = evaluate(&t.model, sn_pose(&e.poses, f), NULL);
    formula_row(&gauss, frames, f, row);
    for (int i = 0; i < e.rest.vertex_count; i++) {
      double x = (double)e.rest.positions[i][0];
      sn_vec3 at = sn_vec3_from(e.rest.positions[i]);
      if (x > 0.24 && x < 1.76 && fabs(x - 1) > 0.04) continue; // or its neighbours bend
      for (int k = 0; k < formula_poses; k++)
        if (sn_vec3_length(w[k]) > 0.03 * diagonal) at = sn_vec3_mad(at, w[k], row[k]);
      at = sn_affine_apply(formula_blend(&e, i, f), at);
      assert_below(sn_vec3_distance(sn_vec3_from(s.positions[i]), at), 1e-4 * diagonal);
      looked_at++;
    }
    free_shape(&s);
  }
  assert_true(looked_at > 25 * 20);
  release(&t), sn_examples_free(&e);
}

// Murtagh 2008, 2.3.3: with k eigendisplacements a joint's poses get the best approximation of rank k of their displacements: the
// first k terms of the singular value decomposition.
static void eigenskin_is_the_truncated_decomposition(void **state) {
  enum { most = 80, poses = 4, kept = 2 };
  static const int frames[poses] = {5, 10, 15, 20};
  static const formula inverse = {.forward = false};
  sn_context ctx = sn_context_default();
  sn_examples examples;
  assert_ok(&ctx, two_ends(&ctx, most, &examples));
  int n = examples.rest.vertex_count;
  assert_true(n <= most);
  double d[poses * 3 * most], singular[poses], u[poses * poses], vt[poses * 3 * most], rest[poses];
  for (int p = 0; p < poses; p++)
    for (int i = 0; i < n; i++) {
      sn_vec3 delta = formula_delta(&inverse, &examples, i, frames[p]);
      double *to = d + 3 * (p * n + i);
      to[0] = delta.x, to[1] = delta.y, to[2] = delta.z;
    }
  assert_int_equal(
    LAPACKE_dgesvd(LAPACK_ROW_MAJOR, 'S', 'S', poses, 3 * n, d, 3 * n, singular, u, poses, vt, 3 * n, rest), 0);
  assert_true(singular[kept] > 1e-3 * singular[0]); // the dropped components are not zero
  trained t =
    train(&ctx, &examples, "eigenskin:space=whole,weights=given,threshold=0,components=2", "1,2,3,4,5,10,15,20");
  for (int p = 0; p < poses; p++) {
    shape s = evaluate(&t.model, sn_pose(&examples.poses, frames[p]), NULL);
    for (int i = 0; i < n; i++) {
      double at[3];
      for (int c = 0; c < 3; c++) {
        at[c] = (double)examples.rest.positions[i][c];
        for (int r = 0; r < kept; r++) at[c] += u[p * poses + r] * singular[r] * vt[r * 3 * n + 3 * i + c];
      }
      sn_vec3 wanted = sn_affine_apply(formula_blend(&examples, i, frames[p]), sn_vec3_make(at[0], at[1], at[2]));
      assert_below(sn_vec3_distance(sn_vec3_from(s.positions[i]), wanted), 1e-5);
    }
    free_shape(&s);
  }
  release(&t);
  sn_examples_free(&examples);
}

// ---- behaviour away from the poses -------------------------------------------------------------------------------------------

static void corrections_vanish_far_from_every_pose(void **state) {
  static const char *const specs[] = {"psd:space=whole,sigma=0.1", "psd:space=whole,kernel=bspline,sigma=0.1"};
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "elbow", 16, 600);
  for (int n = 0; n < 2; n++) {
    trained plain = train(&ctx, &examples, "lbs:weights=given", "every:4");
    trained t = train(&ctx, &examples, specs[n], "every:4");
    sn_affine joints[2] = {sn_pose(&examples.poses, 0)[0], sn_affine_identity()};
    joints[1] = sn_affine_make(sn_rotation_exp(sn_vec3_make(-1.2, -1.2, -1)), sn_vec3_make(0, 0, 0));
    shape a = evaluate(&plain.model, joints, NULL), b = evaluate(&t.model, joints, NULL);
    assert_below(largest_difference((const float(*)[3])a.positions, (const float(*)[3])b.positions, 600), 1e-5);
    free_shape(&a), free_shape(&b);
    release(&plain), release(&t);
  }
  sn_examples_free(&examples);
}

static void single_pose(void **state) {
  static const char *const specs[] = {"psd:space=whole,weights=given",
                                      "psd:space=whole,weights=given,blend=dualquat",
                                      "psd:space=whole,weights=given,kernel=thinplate",
                                      "psd:space=whole,weights=given,linear=1",
                                      "psd:space=whole,weights=given,weighted=1",
                                      "eigenskin:space=whole,weights=given",
                                      "psd:space=whole,weights=given,kernel=shepard"};
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "elbow", 16, 600);
  for (size_t n = 0; n < sizeof specs / sizeof *specs; n++) {
    trained t = train(&ctx, &examples, specs[n], "9");
    assert_below(t.scores.train.max_pct_diag, 1e-2);
    shape rest = evaluate(&t.model, sn_pose(&examples.poses, 0), NULL);
    assert_below(
      largest_difference((const float(*)[3])rest.positions, (const float(*)[3])examples.rest.positions, 600), 1e-4);
    free_shape(&rest);
    release(&t);
  }
  char named[256]; // the rest pose alone: nothing to do
  snprintf(named, sizeof named, "psd:space=whole,weights=given,joints=%s", examples.skeleton.names[1]);
  trained rest = train(&ctx, &examples, named, "0");
  release(&rest);
  sn_examples_free(&examples);
}

static void duplicate_poses_are_merged_and_told(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "elbow", 16, 600);
  memcpy(sn_pose(&examples.poses, 8), sn_pose(&examples.poses, 12), 2 * sizeof(sn_affine));
  memcpy(sn_frame_mutable(&examples.frames, 8), sn_frame(&examples.frames, 12), 600 * sizeof(float[3]));
  static const char *const specs[] = {"psd:space=whole", "psd:space=whole,cardinal=0", "psd:space=whole,weighted=1",
                                      "eigenskin:space=whole", "psd:space=whole,kernel=thinplate"};
  for (size_t n = 0; n < sizeof specs / sizeof *specs; n++) {
    trained t = train(&ctx, &examples, specs[n], "every:4");
    assert_non_null(strstr(t.report.note, "frame 12 is in the pose of another"));
    assert_below(t.scores.train.max_pct_diag, 2e-2);
    release(&t);
  }
  sn_examples_free(&examples);
}

static void what_cannot_be_is_refused(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "elbow", 16, 600);
  static const char *const cases[][3] = {
    {"psd:space=whole,joints=nose", "every:4", "no joint called 'nose'"},
    {"psd:space=whole,sigma=500", "every:4", "too wide"},
    {"psd:space=whole,kernel=shepard,linear=1", "every:4", "no linear term"},
    {"psd:space=whole,weighted=1,distance=mahalanobis", "every:4", "mahalanobis"},
    {"psd:space=whole,weighted=1,kernel=thinplate", "every:4", "kernel=gauss"},
    {"psd:space=whole", "0", "no joint rotates"},
  };
  for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
    sn_method_spec spec;
    sn_keys keys;
    sn_model model;
    assert_ok(&ctx, sn_method_parse(&ctx, cases[n][0], &spec));
    assert_ok(&ctx, sn_keys_parse(&ctx, cases[n][1], 16, 1, &keys, NULL));
    assert_fails(&ctx, sn_train(&ctx, &spec, &examples, &keys, &model, NULL), cases[n][2]);
    sn_keys_free(&keys);
  }
  sn_method_spec spec;
  assert_fails(&ctx, sn_method_parse(&ctx, "psd:space=whole,sigma=wide", &spec), "auto|pose");
  assert_fails(&ctx, sn_method_parse(&ctx, "eigenskin:weighted=1", &spec), "unknown option 'weighted'");
  assert_ok(&ctx, sn_method_parse(&ctx, "psd:space=whole,joints=a+b,sigma=pose", &spec));
  const sn_psd_options *psd = &spec.options.psd;
  assert_string_equal(psd->correct.joint_names, "a+b");
  assert_near(psd->correct.sigma, SN_SIGMA_POSE, 0);
  sn_examples_free(&examples);
}

// ---- the figures of the thesis -------------------------------------------------------------------------------------------------

// Section 5: three poses on dual quaternions do what nine do on a linear blend; three on a linear blend do not.
static void three_dual_quaternion_poses_beat_nine_linear_ones(void **state) {
  static const char *const sets[] = {"bar", "wrist"};
  sn_context ctx = sn_context_default();
  for (int n = 0; n < 2; n++) {
    sn_examples examples = generate(&ctx, sets[n], 41, n ? 1000 : 0);
    double dual = scores_of(&ctx, &examples, "psd:space=whole,blend=dualquat", "0,20,40").test.rms_pct_diag;
    double nine = scores_of(&ctx, &examples, "psd:space=whole", "every:5").test.rms_pct_diag;
    double three = scores_of(&ctx, &examples, "psd:space=whole", "0,20,40").test.rms_pct_diag;
    assert_below(dual, nine);
    assert_below(5 * dual, three);
    sn_examples_free(&examples);
  }
}

// At 180 degrees the linear blend of half-weighted vertices is singular: they are named, and nothing explodes.
static void singular_blends_are_named_and_bounded(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "wrist", 41, 1000);
  trained t = train(&ctx, &examples, "psd:space=whole,threshold=0", "every:5");
  assert_non_null(strstr(t.report.note, "frame 40: the blend of "));
  assert_non_null(strstr(t.report.note, "nearly singular"));
  assert_below(t.scores.all.max_pct_diag, 20);
  trained dual = train(&ctx, &examples, "psd:space=whole,threshold=0,blend=dualquat", "every:5");
  assert_string_equal(dual.report.note, "");
  release(&t), release(&dual);
  sn_examples_free(&examples);
}

// Two joints that move one at a time in training: each end knows its own, weighted, and does not wait for both.
static void weighted_distances_need_fewer_poses(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples examples;
  assert_ok(&ctx, two_ends(&ctx, 600, &examples));
  const char *few = "0,1,2,3,4,5,10,15,20", *grid = "0,2,4,10,12,14,20,22,24";
  double plain = scores_of(&ctx, &examples, "psd:space=whole,weights=given", few).test.rms_pct_diag;
  double weighted = scores_of(&ctx, &examples, "psd:space=whole,weighted=1,weights=given", few).test.rms_pct_diag;
  double whole = scores_of(&ctx, &examples, "psd:space=whole,weights=given", grid).test.rms_pct_diag;
  assert_below(3 * weighted, plain);
  assert_below(weighted, whole);
  double eigen =
    scores_of(&ctx, &examples, "eigenskin:space=whole,components=4,weights=given", few).test.rms_pct_diag;
  assert_below(3 * eigen, plain); // a pose space per joint, as EigenSkin has it
  sn_examples_free(&examples);
}

static void more_components_are_better(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples examples;
  assert_ok(&ctx, two_ends(&ctx, 600, &examples));
  const char *few = "0,1,2,3,4,5,10,15,20";
  double lbs = scores_of(&ctx, &examples, "lbs:weights=given", few).test.rms_pct_diag;
  double one = scores_of(&ctx, &examples, "eigenskin:space=whole,components=1,weights=given", few).test.rms_pct_diag;
  double five = scores_of(&ctx, &examples, "eigenskin:space=whole,components=5,weights=given", few).test.rms_pct_diag;
  assert_below(one, 0.16 * lbs); // the figures that the thesis quotes
  assert_below(five, 0.065 * lbs);
  sn_examples_free(&examples);
}

// ---- several revolutions ------------------------------------------------------------------------------------------------------------------

static sn_affine bar_rotation(double degrees) {
  return sn_affine_make(sn_rotation_exp(sn_vec3_make(degrees * SN_PI / 180, 0, 0)), sn_vec3_make(0, 0, 0));
}

// Largest step of any vertex while joint 1 of the bar rotates from `from` to `to` degrees in steps of one.
static double largest_step(const sn_rt_model *model, int from, int to, void *memory) {
  double largest = 0;
  shape last = {0};
  for (int degrees = from; degrees <= to; degrees++) {
    sn_affine joints[2] = {sn_affine_identity(), bar_rotation(degrees)};
    shape next = evaluate(model, joints, memory);
    size_t n = model->info.vertex_count;
    if (last.positions) {
      double step = largest_difference((const float(*)[3])next.positions, (const float(*)[3])last.positions, n);
      if (!(step <= largest)) largest = step;
    }
    free_shape(&last);
    last = next;
  }
  free_shape(&last);
  return largest;
}

static void full_turns_are_continuous_with_a_state(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "bar", 41, 0);
  // A vertex with half its weight on either bone is undetermined at 360 degrees: keep away from it.
  for (int i = 0; i < examples.rest.vertex_count; i++) {
    float far = examples.rest.positions[i][0] / 2;
    far = far < 0.5f ? 0.8f * far : 1 - 0.8f * (1 - far);
    examples.skin.joints[2 * i] = far > 0.5f, examples.skin.joints[2 * i + 1] = far <= 0.5f;
    examples.skin.weights[2 * i] = far > 0.5f ? far : 1 - far;
    examples.skin.weights[2 * i + 1] = 1 - examples.skin.weights[2 * i];
  }
  static const char *const specs[] = {"dqs:weights=given", "psd:space=whole,blend=dualquat,weights=given"};
  for (int n = 0; n < 2; n++) {
    trained t = train(&ctx, &examples, specs[n], "every:10");
    void *memory = calloc(1, sn_rt_state_size(&t.model));
    assert_true(sn_rt_state_size(&t.model) > 0);
    double step = largest_step(&t.model, 0, 720, memory), jump = largest_step(&t.model, 0, 720, NULL);
    assert_below(step, 0.03);                                   // the bar is 0.25 wide
    assert_true(jump > 0.1);                                    // without memory it must jump somewhere,
    assert_below(largest_step(&t.model, -80, 240, NULL), 0.03); // but not near the poses 0 to 180 degrees
    memset(memory, 0, sn_rt_state_size(&t.model));              // and backwards from rest
    assert_below(largest_step(&t.model, -10, 10, memory), 0.03);
    free(memory);
    release(&t);
  }
  sn_examples_free(&examples);
}

// What `eval` does: frames of a motion are evaluated as by a caller who keeps a state, in any order, and every clip begins
// anew; frames that are poses are not.
static void motions_are_followed(void **state) {
  enum { frames = 49 };
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "bar", 41, 0), clip = {0};
  trained t = train(&ctx, &examples, "psd:space=whole,weights=given", "every:10");
  assert_ok(&ctx, sn_poses_new(&ctx, 2, frames, &clip.poses));
  for (int f = 0; f < frames; f++) sn_pose(&clip.poses, f)[1] = bar_rotation(15.0 * f); // 720 degrees
  clip.skeleton = examples.skeleton;
  int starts[3] = {0, 30, frames}, last[2] = {-1, -1};
  for (int k = 0; k < 4; k++) {
    sn_keys keys;
    sn_frames out;
    clip.motion = k > 0, clip.clip_count = k == 2 ? 2 : 0, clip.clip_start = starts;
    assert_ok(&ctx, sn_keys_parse(&ctx, k == 3 ? "20-48" : "all", frames, 1, &keys, NULL));
    assert_ok(&ctx, sn_assess_evaluate(&ctx, &t.model, &clip, &keys, &out, NULL));
    void *memory = calloc(1, sn_rt_state_size(&t.model));
    int different = 0;
    for (int f = 0, at = 0; f < frames; f++) {
      if (k == 2 && f == 30) memset(memory, 0, sn_rt_state_size(&t.model));
      shape s = evaluate(&t.model, sn_pose(&clip.poses, f), k > 0 ? memory : NULL);
      if (at < keys.count && keys.frames[at] == f) {
        different += memcmp(s.positions, sn_frame(&out, at++), t.model.info.vertex_count * sizeof(float[3])) != 0;
      }
      free_shape(&s);
    }
    assert_int_equal(different, 0);
    if (k < 2) { // where it goes round again, a motion is not what the poses are
      shape one = evaluate(&t.model, sn_pose(&clip.poses, 3), NULL);
      last[k] =
        largest_difference((const float(*)[3])one.positions, sn_frame(&out, 27), t.model.info.vertex_count) > 0.01;
      free_shape(&one);
    }
    free(memory), sn_frames_free(&out), sn_keys_free(&keys);
  }
  assert_true(last[0] == 0 && last[1] == 1);
  sn_poses_free(&clip.poses), release(&t), sn_examples_free(&examples);
}

// Where no joint is 180 degrees away, a state changes nothing.
static void state_changes_nothing_near_the_poses(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "arm", 20, 600);
  trained t = train(&ctx, &examples, "psd:space=whole,blend=dualquat", "every:4");
  void *memory = calloc(1, sn_rt_state_size(&t.model));
  for (int f = 0; f < 20; f++) {
    shape a = evaluate(&t.model, sn_pose(&examples.poses, f), NULL);
    shape b = evaluate(&t.model, sn_pose(&examples.poses, f), memory);
    assert_below(largest_difference((const float(*)[3])a.positions, (const float(*)[3])b.positions, 600), 1e-6);
    free_shape(&a), free_shape(&b);
  }
  free(memory);
  release(&t);
  sn_examples_free(&examples);
}

// ---- bytes -------------------------------------------------------------------------------------------------------------------------

static void threads_do_not_change_the_bytes(void **state) {
  static const char *const specs[] = {"psd:space=whole", "psd:space=whole,weighted=1",
                                      "eigenskin:space=whole,blend=dualquat"};
  for (int n = 0; n < 3; n++) {
    sn_context one = sn_context_default(), four = sn_context_default();
    one.threads = 1, four.threads = 4;
    sn_examples examples = generate(&one, "arm", 12, 5000);
    trained a = train(&one, &examples, specs[n], "every:3"), b = train(&four, &examples, specs[n], "every:3");
    assert_int_equal(a.bytes.size, b.bytes.size);
    assert_memory_equal(a.bytes.bytes, b.bytes.bytes, a.bytes.size);
    release(&a), release(&b);
    sn_examples_free(&examples);
  }
}

// At most 14 bytes per correction of a position and a normal, apart from the pose space, with blocks that are full.
static void corrections_are_small(void **state) {
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "arm", 12, 4000);
  trained t = train(&ctx, &examples, "psd:space=whole,threshold=0", "every:3");
  uint64_t entries, deltas;
  sn_rt_find_section(&t.model, "correct.entries", &entries);
  sn_rt_find_section(&t.model, "correct.deltas", &deltas);
  double corrections = 4.0 * (double)examples.rest.vertex_count; // frame 0 is the rest pose
  assert_below((double)(entries + deltas) / (corrections * 3 / 4), 14.5);
  release(&t);
  sn_examples_free(&examples);
}

static sn_rt_entry *section_entry(uint8_t *bytes, const char *name) {
  sn_rt_header *h = (sn_rt_header *)(void *)bytes;
  sn_rt_entry *entries = (sn_rt_entry *)(void *)(bytes + sizeof *h);
  for (uint32_t s = 0; s < h->section_count; s++)
    if (!strcmp(entries[s].name, name)) return entries + s;
  return NULL;
}

// Changed bytes with right checksums: refused, or evaluated without harm (the sanitizers watch).
static void hostile_bytes_do_no_harm(void **state) {
  static const char *const names[] = {"joint.reference", "correct.head",  "correct.fields",  "correct.joints",
                                      "correct.numbers", "correct.start", "correct.entries", "correct.deltas"};
  static const char *const specs[] = {"psd:space=whole", "psd:space=whole,weighted=1,blend=dualquat",
                                      "eigenskin:space=whole,distance=mahalanobis"};
  sn_context ctx = sn_context_default();
  sn_examples examples = generate(&ctx, "arm", 12, 600);
  sn_random rng = sn_random_new(4);
  int refused = 0, opened = 0;
  for (int spec = 0; spec < 3; spec++) {
    trained t = train(&ctx, &examples, specs[spec], "every:3");
    uint8_t *bytes = aligned_alloc(64, (t.bytes.size + 63) / 64 * 64);
    for (int trial = 0; trial < 1500; trial++) {
      memcpy(bytes, t.bytes.bytes, t.bytes.size);
      sn_rt_entry *e = section_entry(bytes, names[trial % 8]);
      if (trial % 50 == 49) {
        e->size -= e->size ? 1 + sn_random_next(&rng) % e->size : 0;
      } else if (e->size) {
        size_t at = sn_random_next(&rng) % e->size;
        static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
        bytes[e->offset + at] = trial % 3 ? values[sn_random_below(&rng, 5)] : (uint8_t)sn_random_next(&rng);
      }
      assert_true(sn_model_seal(bytes, t.bytes.size));
      sn_rt_model model;
      if (sn_rt_open(bytes, t.bytes.size, &model, NULL) != SN_RT_OK) {
        refused++;
        continue;
      }
      opened++;
      shape s = evaluate(&model, sn_pose(&examples.poses, 5), NULL);
      free_shape(&s);
    }
    free(bytes);
    release(&t);
  }
  assert_true(refused > 300 && opened > 300);
  sn_examples_free(&examples);
}

static void allocation_failures_are_clean(void **state) {
  static const char *const specs[] = {"psd:space=whole,weights=given", "psd:space=whole,weights=given,weighted=1",
                                      "eigenskin:space=whole,weights=given,blend=dualquat,distance=mahalanobis",
                                      "psd:space=whole,weights=given,kernel=bspline,linear=1"};
  sn_context good = sn_context_default();
  sn_examples examples = generate(&good, "bar", 6, 0);
  sn_keys keys;
  assert_ok(&good, sn_keys_parse(&good, "every:2", 6, 1, &keys, NULL));
  for (int s = 0; s < 4; s++)
    for (starvation starved = {.every = 40}; starve(&starved);) {
      sn_method_spec spec;
      sn_model model;
      assert_ok(&starved.ctx, sn_method_parse(&starved.ctx, specs[s], &spec));
      starved.status = sn_train(&starved.ctx, &spec, &examples, &keys, &model, NULL);
      sn_model_free(&model);
    }
  sn_keys_free(&keys);
  sn_examples_free(&examples);
}

// ---- the real set -------------------------------------------------------------------------------------------------------------------

static void real_poses_gain(void **state) {
  need_data(frames, "cheburashka-pose/frames.pc2");
  need_data(rest, "cheburashka-pose/rest.obj");
  need_data(skeleton, "cheburashka-pose/skeleton.glb");
  sn_context ctx = sn_context_default();
  const char *frame_files[] = {frames}, *skeleton_files[] = {skeleton};
  sn_load_options options = sn_load_options_default();
  options.rest = rest, options.frames = frame_files, options.frames_count = 1;
  options.skeletons = skeleton_files, options.skeleton_count = 1;
  sn_examples examples;
  assert_ok(&ctx, sn_examples_load(&ctx, &options, &examples));
  double lbs = scores_of(&ctx, &examples, "lbs", "every:4").test.ee;
  trained t = train(&ctx, &examples, "psd:space=whole", "every:4");
  assert_below(t.scores.test.ee, 0.85 * lbs);
  assert_below(t.scores.train.max_pct_diag, 1e-2);
  release(&t);
  sn_examples_free(&examples);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(training_poses_are_reproduced),
    cmocka_unit_test(unseen_poses_gain),
    cmocka_unit_test(cardinal_form_is_the_per_vertex_form),
    cmocka_unit_test(eigenskin_with_all_components_is_psd_where_one_joint_moves),
    cmocka_unit_test(instruction_sets_agree),
    cmocka_unit_test(corrections_are_the_formulas),
    cmocka_unit_test(small_weights_are_left_out),
    cmocka_unit_test(eigenskin_is_the_truncated_decomposition),
    cmocka_unit_test(corrections_vanish_far_from_every_pose),
    cmocka_unit_test(single_pose),
    cmocka_unit_test(duplicate_poses_are_merged_and_told),
    cmocka_unit_test(what_cannot_be_is_refused),
    cmocka_unit_test(three_dual_quaternion_poses_beat_nine_linear_ones),
    cmocka_unit_test(singular_blends_are_named_and_bounded),
    cmocka_unit_test(bsplines_reach_twice_the_nearest_pose),
    cmocka_unit_test(weighted_distances_need_fewer_poses),
    cmocka_unit_test(more_components_are_better),
    cmocka_unit_test(full_turns_are_continuous_with_a_state),
    cmocka_unit_test(motions_are_followed),
    cmocka_unit_test(state_changes_nothing_near_the_poses),
    cmocka_unit_test(threads_do_not_change_the_bytes),
    cmocka_unit_test(corrections_are_small),
    cmocka_unit_test(hostile_bytes_do_no_harm),
    cmocka_unit_test(allocation_failures_are_clean),
    cmocka_unit_test(real_poses_gain),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
