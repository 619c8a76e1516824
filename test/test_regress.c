// SPDX-License-Identifier: MIT
// The regression of corrections against its formula, written out: covariances of polynomial terms, alpha = (K + lambda)^-1 r,
// held-out errors by fitting again; and what its displacement fields keep of it.
#include "train_fixture.h"

#include "solve/lapack.h"
#include "solve/solve.h"
#include "train/correct/fields.h"

enum { poses = 14, vertices = 60, joints = 4 };

// A chain of joints; vertex i has weight on joint i % joints alone. Residuals are smooth functions of the rotations, and noise.
typedef struct made {
  sn_residuals m;
  sn_local_rotation rotations[joints];
  double vectors[poses][3 * joints];
  float deltas[poses * vertices][6];
  float positions[vertices][3];
  int clip_of[poses], controls[joints - 1];
  sn_skin weights;
  double offsets[poses * joints * 3];
  double pairs;                             // factor of the variance of pairs of joints
  int run[2], rows[(vertices + 7) / 8 * 8]; // one run of all vertices, the last one as often as it takes
} made;

static made *make(sn_context *ctx) {
  made *d = calloc(1, sizeof *d);
  d->pairs = 1;
  sn_random rng = sn_random_new(3);
  assert_ok(ctx, sn_skin_new(ctx, vertices, 1, &d->weights));
  for (int j = 0; j < joints; j++) d->rotations[j] = (sn_local_rotation){j, j - 1, sn_quat_identity(), true};
  for (int j = 1; j < joints; j++) d->controls[j - 1] = j;
  for (int i = 0; i < vertices; i++) {
    d->weights.joints[i] = (uint16_t)(i % joints), d->weights.weights[i] = 1;
    for (int c = 0; c < 3; c++) d->positions[i][c] = (float)sn_random_uniform(&rng);
  }
  for (int p = 1; p < poses; p++)
    for (int k = 3; k < 3 * joints; k++) d->vectors[p][k] = 0.6 * sn_random_normal(&rng);
  for (int p = 1; p < poses; p++)
    for (int i = 0; i < vertices; i++)
      for (int c = 0; c < 6; c++) {
        const double *x = d->vectors[p] + 3 * (i % joints);
        d->deltas[p * vertices + i][c] =
          (float)(0.1 * sin(x[c % 3] + i) * x[(c + 1) % 3] + 0.002 * sn_random_normal(&rng));
      }
  d->m = (sn_residuals){.pose_count = poses, .vertex_count = vertices, .joint_count = joints, .diagonal = 1.7};
  d->m.offsets = d->offsets;
  d->m.vectors = d->vectors[0], d->m.deltas = d->deltas, d->m.rotations = d->rotations, d->m.weights = &d->weights;
  d->m.clip_of = d->clip_of;
  d->run[1] = sizeof d->rows / sizeof *d->rows;
  for (int n = 0; n < d->run[1]; n++) d->rows[n] = n < vertices ? n : vertices - 1;
  d->m.runs = (sn_runs){1, d->run, d->rows};
  return d;
}

static double polynomial(const double *x, const double *y) {
  double sum = 0;
  for (int a = 0; a < 3; a++) {
    sum += x[a] * y[a];
    for (int b = a; b < 3; b++) sum += 0.5 * x[a] * x[b] * y[a] * y[b];
  }
  return sum;
}

static double dot(const double *x, const double *y) { return x[0] * y[0] + x[1] * y[1] + x[2] * y[2]; }

// Gaussians of width 2 that vanish in the rest pose.
static double gaussian(const double *x, const double *y) {
  double xy = 0, xx = 0, yy = 0;
  for (int a = 0; a < 3; a++) xy += (x[a] - y[a]) * (x[a] - y[a]), xx += x[a] * x[a], yy += y[a] * y[a];
  return 4 * (exp(-xy / 8) - exp(-(xx + yy) / 8));
}

static double of_joint(const double *x, const double *y) { return (polynomial(x, y) + gaussian(x, y)) / 2; }

// Polynomials of a joint's translation, whose unit is 1/32 of the diagonal.
static double moved(const made *d, int p, int q, int j) {
  double x[3], y[3];
  for (int c = 0; c < 3; c++) {
    x[c] = 32 / d->m.diagonal * d->offsets[3 * (p * joints + j) + c];
    y[c] = 32 / d->m.diagonal * d->offsets[3 * (q * joints + j) + c];
  }
  return polynomial(x, y);
}

// Prior covariance for a vertex on joint `on`, and the mean diagonal of the relevant joints' part.
static double covariance(const made *d, int on, double k[poses][poses]) {
  double unit = 0;
  memset(k, 0, sizeof(double[poses][poses]));
  for (int p = 0; p < poses; p++)
    for (int q = 0; q < poses; q++)
      for (int j = 1; j < joints; j++) {
        const double *x = d->vectors[p] + 3 * j, *y = d->vectors[q] + 3 * j;
        bool relevant = abs(j - on) <= 1, parent = j > 1 && abs(j - 1 - on) <= 1;
        k[p][q] += (relevant ? 1 : 0.001) * of_joint(x, y);
        if (relevant && parent) k[p][q] += d->pairs * 0.5 * dot(x, y) * dot(x - 3, y - 3);
        if (relevant && p == q) unit += of_joint(x, y) / poses;
        double translation = moved(d, p, q, j) / 2;
        k[p][q] += (relevant ? 1 : 0.001) * translation;
        if (relevant && p == q) unit += translation / poses;
      }
  return unit;
}

static sn_regression start(sn_context *ctx, sn_arena *memory, const made *d) {
  return (sn_regression){
    .ctx = ctx, .memory = memory, .m = &d->m, .controls = d->controls, .control_count = joints - 1};
}

static void alpha_solves_its_equation(void **state) {
  sn_context ctx = sn_context_default();
  sn_arena memory = sn_arena_new(&ctx);
  made *d = make(&ctx);
  for (int p = 1; p < poses; p++) d->offsets[3 * (p * joints + 2) + p % 3] = 0.05 * sin(p);
  sn_regression r = start(&ctx, &memory, d);
  assert_ok(&ctx, sn_regression_choose(&r));
  r.priors.of[0] = 2, d->pairs = pow(10, -r.priors.of[SN_PAIRS]);
  assert_ok(&ctx, sn_regression_solve(&r));
  static double k[poses][poses];
  for (int i = 0; i < vertices; i++) {
    double lambda = sn_ridge(2) * covariance(d, i % joints, k);
    assert_near(sn_ridge(2) * r.unit[r.set_of[i]], lambda, 1e-9 * lambda);
    for (int p = 0; p < poses; p++)
      for (int c = 0; c < 6; c++) {
        double sum = lambda * (double)r.alpha[p * vertices + i][c];
        for (int q = 0; q < poses; q++) sum += k[p][q] * (double)r.alpha[q * vertices + i][c];
        assert_near(sum, (double)d->deltas[p * vertices + i][c], 2e-4); // alpha is stored in single precision
      }
  }
  sn_arena_free(&memory), sn_skin_free(&d->weights), free(d);
}

// The poses that a fold holds out, or the others.
static int list_side(const sn_regression *r, int fold, bool held, int out[poses]) {
  int count = 0;
  for (int p = 0; p < poses; p++)
    if ((r->folds.fold_of[p] == fold) == held) out[count++] = p;
  return count;
}

// The translations' part of the covariance.
static double translations(const made *d, int on, int p, int q) {
  double sum = 0;
  for (int j = 1; j < joints; j++) sum += (abs(j - on) <= 1 ? 1 : 0.001) * moved(d, p, q, j) / 2;
  return sum;
}

// The squared error of vertex i on a fold's poses, fitted to the others; as a model predicts them: without translations.
static double refit(const sn_regression *r, const made *d, int i, int fold, double ridge, bool as_model) {
  static double k[poses][poses], a[poses][poses], b[poses][3];
  int known[poses], held[poses], n = list_side(r, fold, false, known), m = list_side(r, fold, true, held);
  double lambda = ridge * covariance(d, i % joints, k), sum = 0;
  for (int p = 0; p < n; p++) {
    for (int q = 0; q < n; q++) a[p][q] = k[known[p]][known[q]] + (p == q ? lambda : 0);
    for (int c = 0; c < 3; c++) b[p][c] = (double)d->deltas[known[p] * vertices + i][c];
  }
  sn_spd_solve(n, poses, a[0], 3, b[0]);
  for (int p = 0; p < m; p++)
    for (int c = 0; c < 3; c++) {
      double left = (double)d->deltas[held[p] * vertices + i][c];
      for (int q = 0; q < n; q++)
        left -= (k[held[p]][known[q]] - (as_model ? translations(d, i % joints, held[p], known[q]) : 0)) * b[q][c];
      sum += left * left;
    }
  return sum;
}

// The closed form of held-out errors is what fitting without the fold gives.
static void held_out_errors_are_refits(void **state) {
  sn_context ctx = sn_context_default();
  sn_arena memory = sn_arena_new(&ctx);
  made *d = make(&ctx);
  sn_regression r = start(&ctx, &memory, d);
  assert_ok(&ctx, sn_regression_choose(&r));
  for (int ridge = 1; ridge < SN_RIDGE_COUNT; ridge += 2) {
    double sum = 0;
    for (int f = 0; f < r.folds.fold_count; f++)
      for (int i = 0; i < vertices; i++) sum += refit(&r, d, i, f, sn_ridge(ridge), false);
    assert_near(sum, r.scores[ridge], 1e-6 * sum);
  }
  sn_arena_free(&memory), sn_skin_free(&d->weights), free(d);
}

// Joints that move apart: ridges are chosen with their translations, the model's error is without.
static void models_have_no_translations(void **state) {
  sn_context ctx = sn_context_default();
  sn_arena memory = sn_arena_new(&ctx);
  made *d = make(&ctx);
  for (int p = 1; p < poses; p++) {
    double shift = d->offsets[3 * (p * joints + 2) + p % 3] = 0.05 * sin(p);
    for (int i = 0; i < vertices; i++) d->deltas[p * vertices + i][0] += (float)(i % joints == 2 ? shift : 0);
  }
  sn_regression r = start(&ctx, &memory, d);
  assert_ok(&ctx, sn_regression_choose(&r));
  int ridge = r.priors.of[0];
  double sums[3] = {0, 0, 0}; // first choice; the chosen variance of pairs, as a model and not
  for (int k = 0; k < 3; k++, d->pairs = pow(10, -r.priors.of[SN_PAIRS]))
    for (int f = 0; f < r.folds.fold_count; f++)
      for (int i = 0; i < vertices; i++) sums[k] += refit(&r, d, i, f, sn_ridge(ridge), k == 1);
  assert_false(r.undecided);
  assert_near(r.scores[ridge], sums[0], 1e-6 * sums[0]);
  assert_near(r.score, sums[1], 1e-6 * sums[1]);
  assert_true(fabs(sums[1] - sums[2]) > 1e-2 * sums[2]);
  sn_arena_free(&memory), sn_skin_free(&d->weights), free(d);
}

// Fields with their coefficients are K alpha, up to what may be lost.
static void fields_keep_the_prediction(void **state) {
  sn_context ctx = sn_context_default();
  sn_arena memory = sn_arena_new(&ctx);
  made *d = make(&ctx);
  sn_regression r = start(&ctx, &memory, d);
  assert_ok(&ctx, sn_regression_choose(&r));
  assert_ok(&ctx, sn_regression_solve(&r));
  static const double allowed[] = {1e-12, 1e-4, 1e-2};
  double last = 1e30;
  sn_fields *fields;
  assert_ok(&ctx, sn_fields_find(&r, d->positions, 0, &fields));
  for (int n = 0; n < 3; n++) {
    sn_corrections out;
    sn_field_limits limits = {.lost = allowed[n] * r.uncorrected};
    assert_ok(&ctx, sn_fields_make(fields, &limits, &out));
    double lost = 0;
    for (int p = 0; p < poses; p++)
      for (int i = 0; i < vertices; i++) {
        float given[6];
        sn_corrections_at(&out, poses, p, i, given);
        for (int c = 0; c < 3; c++) {
          double predicted = (double)d->deltas[p * vertices + i][c] -
                             sn_ridge(r.priors.of[0]) * r.unit[r.set_of[i]] * (double)r.alpha[p * vertices + i][c];
          lost += (given[c] - predicted) * (given[c] - predicted);
        }
      }
    assert_below(lost, 2 * allowed[n] * r.uncorrected + 1e-7 * r.uncorrected);
    assert_below(out.basis_count, last + 0.5); // what may be lost saves fields
    last = out.basis_count;
  }
  sn_arena_free(&memory), sn_skin_free(&d->weights), free(d);
}

// Of two clips over the same rotations the one with noise has the larger ridge.
static void noisy_clips_have_larger_ridges(void **state) {
  sn_context ctx = sn_context_default();
  sn_arena memory = sn_arena_new(&ctx);
  made *d = make(&ctx);
  sn_random rng = sn_random_new(7);
  for (int p = 1; p < poses; p++) {
    memset(d->vectors[p], 0, sizeof d->vectors[p]);
    d->vectors[p][3] = 0.1 * (p - 7), d->clip_of[p] = p > poses / 2;
    for (int n = 0; n < 6 * vertices; n++)
      d->deltas[p * vertices + n / 6][n % 6] =
        (float)(0.1 * d->vectors[p][3] + (d->clip_of[p] ? 0.05 * sn_random_normal(&rng) : 0));
  }
  sn_regression r = start(&ctx, &memory, d);
  assert_ok(&ctx, sn_regression_choose(&r));
  for (int k = 0; k < SN_RIDGE_COUNT; k++) assert_true(r.score <= r.scores[k]);
  assert_true(r.priors.of[1] > r.priors.of[0]);
  sn_arena_free(&memory), sn_skin_free(&d->weights), free(d);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(alpha_solves_its_equation),      cmocka_unit_test(held_out_errors_are_refits),
    cmocka_unit_test(models_have_no_translations),    cmocka_unit_test(fields_keep_the_prediction),
    cmocka_unit_test(noisy_clips_have_larger_ridges),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
