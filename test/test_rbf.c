// SPDX-License-Identifier: MIT
// Interpolation with radial basis functions: exactness, leave-one-out errors, widths.
#include "check.h"

#include "solve/rbf.h"

enum { most = 24, most_dims = 12 };

typedef struct points {
  int count, dims;
  double centres[most * most_dims], widths[most];
} points;

static points random_points(uint64_t seed, int count, int dims) {
  points p = {.count = count, .dims = dims};
  sn_random rng = sn_random_new(seed);
  for (int n = 0; n < count * dims; n++) p.centres[n] = sn_random_normal(&rng);
  sn_rbf_nearest(count, dims, p.centres, p.widths);
  return p;
}

static void random_gram(uint64_t seed, int count, double *gram) {
  double data[most][5];
  sn_random rng = sn_random_new(seed);
  for (int a = 0; a < count; a++)
    for (int c = 0; c < 5; c++) data[a][c] = sn_random_normal(&rng);
  for (int a = 0; a < count; a++)
    for (int b = 0; b < count; b++) {
      gram[a * count + b] = 0;
      for (int c = 0; c < 5; c++) gram[a * count + b] += data[a][c] * data[b][c];
    }
}

static const struct {
  sn_rbf_kernel kernel;
  sn_rbf_linear linear;
  double factor; // of the distance to the nearest centre
  bool own;      // separate widths
} forms[] = {
  {SN_RBF_GAUSS, SN_RBF_NO_LINEAR, 1, false},        {SN_RBF_GAUSS, SN_RBF_NO_LINEAR, 0.7, true},
  {SN_RBF_GAUSS, SN_RBF_LINEAR, 1, false},           {SN_RBF_GAUSS, SN_RBF_LINEAR_TWO_STEP, 1, false},
  {SN_RBF_THINPLATE, SN_RBF_LINEAR, 1, false},       {SN_RBF_BSPLINE, SN_RBF_NO_LINEAR, 1, true},
  {SN_RBF_BSPLINE, SN_RBF_LINEAR_TWO_STEP, 1, true}, {SN_RBF_SHEPARD, SN_RBF_NO_LINEAR, 1, false},
};
enum { form_count = sizeof forms / sizeof *forms };

static sn_rbf solve(sn_context *ctx, points *p, int form) {
  double width = p->widths[0];
  for (int k = 0; k < p->count; k++) p->widths[k] = forms[form].factor * (forms[form].own ? p->widths[k] : width);
  if (forms[form].kernel == SN_RBF_SHEPARD)
    for (int k = 0; k < p->count; k++) p->widths[k] = 3;
  sn_rbf rbf;
  assert_ok(ctx, sn_rbf_solve(ctx, (rbf = (sn_rbf){.kernel = forms[form].kernel,
                                                   .linear = forms[form].linear,
                                                   .count = p->count,
                                                   .dims = p->dims,
                                                   .centres = p->centres,
                                                   .widths = p->widths},
                                    &rbf)));
  return rbf;
}

static void cardinal_functions_are_one_at_their_centre(void **state) {
  sn_context ctx = sn_context_default();
  for (int form = 0; form < form_count; form++)
    for (int trial = 0; trial < 12; trial++) {
      points p = random_points((uint64_t)(trial + 1), 1 + trial * 2, 1 + trial % 7);
      sn_rbf rbf = solve(&ctx, &p, form);
      for (int k = 0; k < p.count; k++) {
        double terms[most + most_dims + 1], values[most];
        sn_rbf_cardinal(&rbf, p.centres + k * p.dims, terms, values);
        for (int o = 0; o < p.count; o++) assert_near(values[o], o == k, 1e-6);
      }
      sn_rbf_free(&rbf);
    }
}

// With a plane under it, data that lie on a plane are met everywhere, and the functions sum to one, also where the centres
// are fewer than the dimensions.
static void planes_are_reproduced(void **state) {
  sn_context ctx = sn_context_default();
  for (int form = 0; form < form_count; form++) {
    if (forms[form].linear == SN_RBF_NO_LINEAR) continue;
    for (int count = 2; count < 20; count++) {
      points p = random_points((uint64_t)count, count, 3);
      sn_rbf rbf = solve(&ctx, &p, form);
      double x[3] = {0.3, -1.2, 2}, terms[most + most_dims + 1], values[most], sum = 0, plane = 0;
      sn_rbf_cardinal(&rbf, x, terms, values);
      for (int k = 0; k < count; k++) {
        const double *c = p.centres + 3 * k;
        sum += values[k], plane += values[k] * (1 + 2 * c[0] - 3 * c[1] + 0.5 * c[2]);
      }
      assert_near(sum, 1, 1e-7);
      if (count >= 8) assert_near(plane, 1 + 2 * x[0] - 3 * x[1] + 0.5 * x[2], 1e-5);
      sn_rbf_free(&rbf);
    }
  }
}

static void closed_form_leave_one_out_is_the_refitted_one(void **state) {
  sn_context ctx = sn_context_default();
  for (int form = 0; form < form_count; form++)
    for (int trial = 0; trial < 6; trial++) {
      points p = random_points((uint64_t)(100 + trial), 10 + 2 * trial, 2 + trial % 3);
      double gram[most * most], closed, refitted;
      random_gram((uint64_t)trial, p.count, gram);
      sn_rbf rbf = solve(&ctx, &p, form);
      assert_ok(&ctx, sn_rbf_leave_one_out(&ctx, &rbf, gram, &closed));
      assert_ok(&ctx, sn_rbf_leave_one_out_refit(&ctx, &rbf, gram, &refitted));
      assert_near(closed / refitted, 1, 1e-6);
      sn_rbf_free(&rbf);
    }
}

static void local_kernels_vanish_far_away(void **state) {
  sn_context ctx = sn_context_default();
  points p = random_points(7, 12, 4);
  const int local[] = {0, 5};
  for (int n = 0; n < 2; n++) {
    points q = p;
    sn_rbf rbf = solve(&ctx, &q, local[n]);
    double x[4] = {60, -40, 10, 0}, terms[most + most_dims + 1], values[most];
    sn_rbf_cardinal(&rbf, x, terms, values);
    for (int k = 0; k < q.count; k++) assert_near(values[k], 0, 1e-12);
    sn_rbf_free(&rbf);
  }
}

static void duplicate_centres_are_refused(void **state) {
  sn_context ctx = sn_context_default();
  points p = random_points(3, 6, 3);
  memcpy(p.centres + 3, p.centres, 3 * sizeof(double));
  for (int k = 0; k < 6; k++) p.widths[k] = 1;
  sn_rbf rbf;
  assert_int_equal(sn_rbf_solve(&ctx, (rbf = (sn_rbf){.kernel = SN_RBF_GAUSS,
                                                      .linear = SN_RBF_NO_LINEAR,
                                                      .count = 6,
                                                      .dims = 3,
                                                      .centres = p.centres,
                                                      .widths = p.widths},
                                       &rbf)),
                   SN_NOT_CONVERGED);
  assert_int_equal(sn_rbf_solve(&ctx, (rbf = (sn_rbf){.kernel = SN_RBF_THINPLATE,
                                                      .linear = SN_RBF_LINEAR,
                                                      .count = 6,
                                                      .dims = 3,
                                                      .centres = p.centres,
                                                      .widths = p.widths},
                                       &rbf)),
                   SN_NOT_CONVERGED);
}

// Data from a smooth function: the chosen width predicts held-out points better than the ends of the ladder.
static void chosen_widths_predict_well(void **state) {
  sn_context ctx = sn_context_default();
  points p = random_points(11, 20, 2);
  double gram[most * most], start[most], errors[3];
  for (int a = 0; a < 20; a++)
    for (int b = 0; b < 20; b++) {
      const double *x = p.centres + 2 * a, *y = p.centres + 2 * b;
      gram[a * 20 + b] = sin(x[0] + 0.5 * x[1]) * sin(y[0] + 0.5 * y[1]);
    }
  for (int k = 0; k < 20; k++) start[k] = 0.5;
  memcpy(p.widths, start, sizeof start);
  assert_ok(&ctx, sn_rbf_choose_widths(&ctx, &(sn_rbf){.count = 20, .dims = 2, .centres = p.centres}, gram, INFINITY,
                                       p.widths));
  double chosen = p.widths[0], tried[3] = {chosen, 0.15, chosen * 0.6};
  for (int n = 0; n < 3; n++) {
    for (int k = 0; k < 20; k++) p.widths[k] = tried[n];
    sn_rbf rbf;
    assert_ok(&ctx, sn_rbf_solve(&ctx, (rbf = (sn_rbf){.kernel = SN_RBF_GAUSS,
                                                       .linear = SN_RBF_NO_LINEAR,
                                                       .count = 20,
                                                       .dims = 2,
                                                       .centres = p.centres,
                                                       .widths = p.widths},
                                        &rbf)));
    assert_ok(&ctx, sn_rbf_leave_one_out(&ctx, &rbf, gram, &errors[n]));
    sn_rbf_free(&rbf);
  }
  assert_below(errors[0], errors[1]);
  assert_below(errors[0], errors[2]);
  memcpy(p.widths, start, sizeof start);
  assert_ok(&ctx,
            sn_rbf_choose_widths(&ctx, &(sn_rbf){.count = 20, .dims = 2, .centres = p.centres}, gram, 20, p.widths));
  sn_rbf rbf;
  assert_ok(&ctx, sn_rbf_solve(&ctx, (rbf = (sn_rbf){.kernel = SN_RBF_GAUSS,
                                                     .linear = SN_RBF_NO_LINEAR,
                                                     .count = 20,
                                                     .dims = 2,
                                                     .centres = p.centres,
                                                     .widths = p.widths},
                                      &rbf)));
  assert_below(sn_rbf_amplification(&rbf), 20);
  sn_rbf_free(&rbf);
}

static void allocation_failures_are_clean(void **state) {
  for (int form = 0; form < form_count; form++)
    for (starvation s = {0}; starve(&s);) {
      points p = random_points(5, 8, 3);
      double gram[most * most], error;
      random_gram(1, 8, gram);
      sn_rbf rbf = {.kernel = forms[form].kernel, .linear = forms[form].linear, .count = 8, .dims = 3};
      rbf.centres = p.centres, rbf.widths = p.widths;
      s.status = sn_rbf_solve(&s.ctx, &rbf);
      if (s.status == SN_OK) s.status = sn_rbf_leave_one_out(&s.ctx, &rbf, gram, &error);
      sn_rbf_free(&rbf);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(cardinal_functions_are_one_at_their_centre),
    cmocka_unit_test(planes_are_reproduced),
    cmocka_unit_test(closed_form_leave_one_out_is_the_refitted_one),
    cmocka_unit_test(local_kernels_vanish_far_away),
    cmocka_unit_test(duplicate_centres_are_refused),
    cmocka_unit_test(chosen_widths_predict_well),
    cmocka_unit_test(allocation_failures_are_clean),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
