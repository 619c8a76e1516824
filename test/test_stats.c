// SPDX-License-Identifier: MIT
// The F distribution against high-precision values and identities; the analysis of variance against the document's two
// tables, against regression on dummy variables, and against what it does not depend on.
#include "check.h"

#include <lapacke.h>

#include "lab/stats/stats.h"

// ---- distributions -------------------------------------------------------------------------------------------------

// Reference values: the power series with 40 to 280 digits (mpmath).
static void incomplete_beta_values(void **state) {
  static const double known[][4] = {
    {0.5, 0.5, 0.5, 0.5},
    {0.1, 2, 3, 0.052300000000000005396},
    {0.25, 10, 0.5, 1.9120504044554145021e-7},
    {0.9, 7.5, 2.5, 0.88491273290949265771},
    {0.01, 0.5, 40, 0.62861397674601533435},
    {0.5, 200, 210, 0.68948521342741614523},
    {0.3, 1000, 2500, 0.9684219902784667434},
    {0.999, 15156, 1, 2.5974042869406008152e-7},
    {0.001, 1, 15156, 0.99999974025957130594},
    {0.0625, 30, 300, 0.025614989865085592828},
    {0.75, 1e-3, 5, 0.99999975236662112754},
    {0.0001220703125, 2, 15156, 0.55195308335461128884},
  };
  for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
    double got = sn_beta_regularised(known[k][0], known[k][1], known[k][2]);
    // 1 - 0.999 is off by half a unit, and 15156 times that is in the result.
    assert_near(got / known[k][3], 1, 2e-12);
  }
  assert_true(sn_beta_regularised(0, 2, 3) == 0 && sn_beta_regularised(1, 2, 3) == 1);
  assert_true(isnan(sn_beta_regularised(-0.1, 2, 3)) && isnan(sn_beta_regularised(1.1, 2, 3)));
  assert_true(isnan(sn_beta_regularised(0.5, 0, 3)) && isnan(sn_beta_regularised(NAN, 2, 3)));
}

// P(at least k of n) = I_x(k, n - k + 1), the sum over binomial terms.
static double binomial_tail(int k, int n, double x) {
  double sum = 0;
  for (int i = n; i >= k; i--) {
    double term = 1;
    for (int j = 1; j <= n - i; j++) term *= (double)(i + j) / j * (1 - x);
    sum += term * pow(x, i);
  }
  return sum;
}

static void incomplete_beta_identities(void **state) {
  sn_random rng = sn_random_new(1);
  for (int trial = 0; trial < 20000; trial++) {
    double x = sn_random_uniform(&rng), a = exp(9 * sn_random_uniform(&rng) - 3),
           b = exp(9 * sn_random_uniform(&rng) - 3);
    double value = sn_beta_regularised(x, a, b);
    assert_true(value >= 0 && value <= 1);
    assert_near(value + sn_beta_regularised(1 - x, b, a), 1, 1e-12);
    assert_near(sn_beta_regularised(x, 1, b), -expm1(b * log1p(-x)), 1e-13);
    assert_near(sn_beta_regularised(x, a, 1), pow(x, a), 1e-12);
    assert_near(sn_beta_regularised(0.5, a, a), 0.5, 1e-12);
    // I_x(a, b) = I_x(a + 1, b) + x^a (1-x)^b / (a B(a, b)).
    double step = exp(a * log(x) + b * log1p(-x) - log(a) - lgamma(a) - lgamma(b) + lgamma(a + b));
    assert_near(value, sn_beta_regularised(x, a + 1, b) + step, 1e-10);
    int n = 1 + sn_random_below(&rng, 40), k = 1 + sn_random_below(&rng, n);
    double tail = binomial_tail(k, n, x);
    assert_near(sn_beta_regularised(x, k, n - k + 1), tail, 1e-13 + 1e-12 * tail);
  }
}

static void f_distribution_values(void **state) {
  static const double upper[][4] = {
    {33.84475, 2, 30312, 2.078734842468496843e-15},
    {0.546, 2, 30312, 0.57926792826786352248},
    {0.001, 4, 30312, 0.99999800253323386915},
    {1, 1, 1, 0.5},
    {161.4476387975881, 1, 1, 0.050000000000000061297},
    {4.9646027437307145, 1, 10, 0.049999999999999996997},
    {2.5, 7, 23, 0.045774090304835517267},
    {100, 3, 5, 0.000069686254903269755065},
    {500, 2, 30312, 2.2790276374034364495e-214},
    {1e-06, 5, 8, 0.99999999999999554148},
    {3, 50, 30000, 6.8901073374136501687e-12},
    {1.02, 20000, 60000, 0.042744024606764077602},
    {50, 3, 10000000, 2.6363768912253620566e-32},
  };
  static const double quantile[][4] = {
    {0.05, 2, 30312, 2.9960283610169622042}, {0.05, 2, 16848, 2.9962650059716318048},
    {0.05, 4, 30312, 2.3722252390006869993}, {0.01, 1, 10, 10.044289273396592882},
    {0.001, 3, 1, 540379.20164799623184},    {0.5, 5, 5, 1.0},
    {0.95, 4, 7, 0.16409015247290931387},    {1e-10, 2, 100, 29.244659623055674202},
  };
  for (size_t k = 0; k < sizeof upper / sizeof *upper; k++) {
    double p = sn_f_upper(upper[k][0], upper[k][1], upper[k][2]);
    assert_near(p / upper[k][3], 1, 1e-12);
    assert_near(sn_f_lower(upper[k][0], upper[k][1], upper[k][2]), 1 - upper[k][3], 1e-13);
  }
  for (size_t k = 0; k < sizeof quantile / sizeof *quantile; k++) {
    assert_near(sn_f_quantile(quantile[k][0], quantile[k][1], quantile[k][2]) / quantile[k][3], 1, 1e-12);
  }
  assert_true(sn_f_upper(0, 3, 4) == 1 && sn_f_lower(0, 3, 4) == 0);
  assert_true(sn_f_upper(INFINITY, 3, 4) == 0 && sn_f_lower(INFINITY, 3, 4) == 1);
  assert_true(isnan(sn_f_quantile(0, 3, 4)) && isnan(sn_f_quantile(1, 3, 4)) && isnan(sn_f_quantile(0.5, 0, 4)));
}

static void f_quantile_round_trip(void **state) {
  sn_random rng = sn_random_new(2);
  for (int trial = 0; trial < 1000; trial++) {
    double d1 = 1 + sn_random_below(&rng, 12), d2 = floor(exp(11 * sn_random_uniform(&rng)));
    double p = exp(-20 * sn_random_uniform(&rng)), f = sn_f_quantile(p, d1, d2);
    assert_near(sn_f_upper(f, d1, d2) / p, 1, 1e-11);
    // F(d1, d2) is the inverse of F(d2, d1).
    assert_near(sn_f_upper(f, d1, d2), sn_f_lower(1 / f, d2, d1), 1e-12);
  }
}

// ---- samples -------------------------------------------------------------------------------------------------------

static void samples_merge(void **state) {
  sn_random rng = sn_random_new(3);
  enum { count = 500 };
  double values[count];
  for (int k = 0; k < count; k++) values[k] = 1e6 + sn_random_normal(&rng);
  sn_sample all = sn_sample_of(values, count), parts = {0};
  double mean = 0, ss = 0;
  for (int k = 0; k < count; k++) mean += (values[k] - 1e6) / count;
  for (int k = 0; k < count; k++) ss += (values[k] - 1e6 - mean) * (values[k] - 1e6 - mean);
  assert_near(all.mean, 1e6 + mean, 1e-9);
  assert_near(all.ss / ss, 1, 1e-8);
  for (int k = 0, size; k < count; k += size) {
    size = 1 + sn_random_below(&rng, 60);
    if (size > count - k) size = count - k;
    sn_sample_merge(&parts, sn_sample_of(values + k, size));
  }
  assert_int_equal(parts.n, count);
  assert_near(parts.mean, all.mean, 1e-9);
  assert_near(sn_sample_sd(parts) / sn_sample_sd(all), 1, 1e-8);
  sn_sample again = sn_sample_from_sd(all.mean, sn_sample_sd(all), all.n);
  assert_near(again.ss / all.ss, 1, 1e-14);
}

// ---- the document's tables -----------------------------------------------------------------------------------------

static const char arm_printed[] = "f_r,f_s,mean,sd,n\n"
                                  "linear,linear,0.00291259,0.00298195,1873\n"
                                  "quadratic,linear,0.00293518,0.002274083,1873\n"
                                  "cubic,linear,0.00290336,0.002221413,1873\n"
                                  "total,linear,0.00291704,0.002240993,5619\n"
                                  "linear,quadratic,0.0028879,0.002259423,1873\n"
                                  "quadratic,quadratic,0.00291126,0.002310925,1873\n"
                                  "cubic,quadratic,0.00287895,0.002252499,1873\n"
                                  "total,quadratic,0.0028927,0.002274068,5619\n"
                                  "linear,cubic,0.00292662,0.002232847,1873\n"
                                  "quadratic,cubic,0.00295322,0.002276725,1873\n"
                                  "cubic,cubic,0.00291479,0.002226049,1873\n"
                                  "total,cubic,0.00293154,0.002244977,5619\n"
                                  "linear,total,0.00290904,0.002239856,5619\n"
                                  "quadratic,total,0.00293322,0.002286963,5619\n"
                                  "cubic,total,0.00289903,0.002233015,5619\n"
                                  "total,total,0.00291376,0.002253318,16857\n";
static const char leg_printed[] = "f_r,f_s,mean,sd,n\n"
                                  "linear,linear,0.00483203,0.003402375,3369\n"
                                  "quadratic,linear,0.00478021,0.003405308,3369\n"
                                  "cubic,linear,0.00481102,0.003389172,3369\n"
                                  "total,linear,0.00480775,0.003398689,10107\n"
                                  "linear,quadratic,0.00453176,0.003535153,3369\n"
                                  "quadratic,quadratic,0.0044848,0.00353487,3369\n"
                                  "cubic,quadratic,0.00450976,0.003524109,3369\n"
                                  "total,quadratic,0.00450877,0.003531084,10107\n"
                                  "linear,cubic,0.00490894,0.003367239,3369\n"
                                  "quadratic,cubic,0.00485697,0.003370255,3369\n"
                                  "cubic,cubic,0.00488836,0.003354456,3369\n"
                                  "total,cubic,0.00488476,0.003363725,10107\n"
                                  "linear,total,0.00475758,0.003439196,10107\n"
                                  "quadratic,total,0.00470733,0.003440943,10107\n"
                                  "cubic,total,0.00473638,0.003426917,10107\n"
                                  "total,total,0.00473376,0.003435639,30321\n";
static const double arm_corrected_sd = 0.002228195;

static sn_anova_table parse(sn_context *ctx, const char *text) {
  sn_anova_table table;
  assert_ok(ctx, sn_anova_table_parse(ctx, "t.csv", text, strlen(text), &table));
  return table;
}

// F and p as the document prints them: three decimals.
static void check_effect(const sn_anova_effect *effect, double df, double f, double p) {
  assert_true(effect->df == df);
  assert_near(effect->f, f, 5.01e-4);
  assert_near(effect->p, p, 5.01e-4);
}

static void document_arm(void **state) {
  sn_context ctx = sn_context_default();
  sn_anova_table table = parse(&ctx, arm_printed);
  *sn_anova_cell(&table, 0, 0) = sn_sample_from_sd(0.00291259, arm_corrected_sd, 1873);
  sn_anova_mismatch list[3 * 7];
  int a, b;
  double sd;
  assert_int_equal(table.stated_count, 7);
  assert_int_equal(sn_anova_check(&table, list), 0);
  assert_false(sn_anova_find_misprint(&table, &a, &b, &sd));
  sn_anova anova;
  assert_ok(&ctx, sn_anova_run(&ctx, &table, 0.05, &anova));
  assert_true(anova.balanced && anova.df_error == 16848);
  check_effect(&anova.effect[0], 2, 0.342, 0.711);
  check_effect(&anova.effect[1], 2, 0.426, 0.653);
  check_effect(&anova.effect[2], 4, 0.001, 1.000);
  assert_near(anova.effect[1].partial_eta2, 0.00005, 5e-6);
  for (int k = 0; k < 2; k++) {
    assert_int_equal(anova.post_hoc[k].group_count, 1);
    for (int q = 0; q < 3; q++) assert_false(anova.post_hoc[k].pairs[q].differs);
  }
  sn_anova_free(&anova);
  sn_anova_table_free(&table);
}

// One standard deviation is misprinted: three marginals disagree, and the row and the column both say what it must be.
static void document_arm_misprint(void **state) {
  sn_context ctx = sn_context_default();
  sn_anova_table table = parse(&ctx, arm_printed);
  sn_anova_mismatch list[3 * 7];
  assert_int_equal(sn_anova_check(&table, list), 3);
  int lines[] = {5, 14, 17}, a, b;
  for (int k = 0; k < 3; k++) {
    assert_int_equal(list[k].figure, SN_STATED_SD);
    assert_int_equal(list[k].stated->line, lines[k]);
  }
  assert_near(sn_anova_implied_sd(&table, list[0].stated, 0, 0), 0.002228194, 1e-9);
  assert_near(sn_anova_implied_sd(&table, list[1].stated, 0, 0), 0.002228196, 1e-9);
  double sd;
  assert_true(sn_anova_find_misprint(&table, &a, &b, &sd));
  assert_int_equal(a, 0);
  assert_int_equal(b, 0);
  assert_near(sd, arm_corrected_sd, 1e-9);
  sn_anova anova;
  assert_ok(&ctx, sn_anova_run(&ctx, &table, 0.05, &anova));
  assert_near(anova.effect[0].f, 0.3147, 5.1e-5);
  assert_near(anova.effect[1].f, 0.3924, 5.1e-5);
  sn_anova_free(&anova);
  sn_anova_table_free(&table);
}

static void document_leg(void **state) {
  sn_context ctx = sn_context_default();
  sn_anova_table table = parse(&ctx, leg_printed);
  sn_anova_mismatch list[3 * 7];
  assert_int_equal(sn_anova_check(&table, list), 0);
  sn_anova anova;
  assert_ok(&ctx, sn_anova_run(&ctx, &table, 0.05, &anova));
  assert_true(anova.balanced && anova.df_error == 30312);
  check_effect(&anova.effect[0], 2, 0.546, 0.579);
  check_effect(&anova.effect[1], 2, 33.845, 0.000);
  check_effect(&anova.effect[2], 4, 0.001, 1.000);
  assert_near(anova.effect[1].p / 2.1e-15, 1, 0.02);
  assert_near(anova.effect[1].partial_eta2, 0.0022, 5e-5);
  assert_near(anova.ms_error, 1.1780e-5, 5e-10);
  // "quadratic < linear, cubic".
  const sn_scheffe *s = &anova.post_hoc[1];
  assert_near(s->f_critical, 2.9960, 5e-5);
  assert_true(s->partition && s->group_count == 2);
  assert_string_equal(table.level[1][s->order[0]], "quadratic");
  assert_string_equal(table.level[1][s->order[1]], "linear");
  assert_string_equal(table.level[1][s->order[2]], "cubic");
  assert_true(s->groups[0].first == 0 && s->groups[0].last == 0 && s->groups[1].first == 1 && s->groups[1].last == 2);
  static const double expected[3][3] = {
    {2.990e-4, 19.17, 4.8e-9}, {-7.70e-5, 1.27, 0.280}, {-3.760e-4, 30.32, 7.0e-14}};
  for (int k = 0; k < 3; k++) {
    assert_near(s->pairs[k].difference, expected[k][0], 5e-8);
    assert_near(s->pairs[k].f, expected[k][1], 5.1e-3);
    assert_near(s->pairs[k].p / expected[k][2], 1, 0.02);
    assert_near(s->pairs[k].critical, 1.182e-4, 5.1e-8);
    assert_true(s->pairs[k].differs == (k != 1));
  }
  sn_anova_free(&anova);
  sn_anova_table_free(&table);
}

// ---- against regression --------------------------------------------------------------------------------------------

// A table of a x b cells with random counts and values, and all its observations.
typedef struct observations {
  sn_anova_table table;
  int count, level[2][4000];
  double value[4000];
} observations;

static void random_observations(sn_context *ctx, sn_random *rng, int a, int b, bool balanced, double offset,
                                observations *o) {
  static const char *const names[] = {"l0", "l1", "l2", "l3", "l4", "l5"}, *const factor[2] = {"one", "two"};
  const char *const *const level[2] = {names, names};
  assert_ok(ctx, sn_anova_table_new(ctx, factor, level, (int[2]){a, b}, &o->table));
  o->count = 0;
  int same = 2 + sn_random_below(rng, 20);
  for (int i = 0; i < a; i++)
    for (int j = 0; j < b; j++) {
      int n = balanced ? same : 2 + sn_random_below(rng, 40), start = o->count;
      double shift = offset + i * 0.3 - j * 0.2 + 0.2 * sn_random_normal(rng);
      for (int k = 0; k < n; k++, o->count++) {
        o->level[0][o->count] = i, o->level[1][o->count] = j, o->value[o->count] = shift + sn_random_normal(rng);
      }
      *sn_anova_cell(&o->table, i, j) = sn_sample_of(o->value + start, n);
    }
}

// Sum-to-zero coding of level `level` of `count` for dummy `k`.
static double dummy(int level, int count, int k) { return level == k ? 1 : level == count - 1 ? -1 : 0; }

// Residual sum of squares of a regression on the intercept and the chosen groups of dummies (bit 0: first factor, bit 1:
// second, bit 2: products).
static double residual_ss(const observations *o, int terms) {
  int a = o->table.level_count[0], b = o->table.level_count[1], columns = 0;
  static double x[4000 * 40], y[4000];
  for (int r = 0; r < o->count; r++) {
    int c = 0, i = o->level[0][r], j = o->level[1][r];
    double row[40];
    row[c++] = 1;
    for (int k = 0; k < a - 1 && terms & 1; k++) row[c++] = dummy(i, a, k);
    for (int k = 0; k < b - 1 && terms & 2; k++) row[c++] = dummy(j, b, k);
    for (int k = 0; k < a - 1 && terms & 4; k++)
      for (int l = 0; l < b - 1; l++) row[c++] = dummy(i, a, k) * dummy(j, b, l);
    columns = c;
    memcpy(x + (size_t)r * (size_t)c, row, sizeof(double) * (size_t)c);
    y[r] = o->value[r];
  }
  assert_int_equal(LAPACKE_dgels(LAPACK_ROW_MAJOR, 'N', o->count, columns, 1, x, columns, y, 1), 0);
  double ss = 0;
  for (int r = columns; r < o->count; r++) ss += y[r] * y[r];
  return ss;
}

static void equals_regression(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(4);
  static observations o;
  for (int trial = 0; trial < 60; trial++) {
    int a = 2 + sn_random_below(&rng, 5), b = 2 + sn_random_below(&rng, 5);
    random_observations(&ctx, &rng, a, b, trial % 2 == 0, 0, &o);
    sn_anova anova;
    assert_ok(&ctx, sn_anova_run(&ctx, &o.table, 0.05, &anova));
    assert_true(anova.balanced == (trial % 2 == 0) || a * b < 5);
    double full = residual_ss(&o, 7), scale = full + fabs(residual_ss(&o, 0));
    assert_near(anova.ss_error, full, 1e-10 * scale);
    assert_near(anova.effect[0].ss, residual_ss(&o, 6) - full, 1e-10 * scale);
    assert_near(anova.effect[1].ss, residual_ss(&o, 5) - full, 1e-10 * scale);
    assert_near(anova.effect[2].ss, residual_ss(&o, 3) - full, 1e-10 * scale);
    assert_true(anova.df_error == o.count - a * b && anova.effect[2].df == (a - 1) * (b - 1));
    // The parts of a balanced table add up to the whole.
    if (anova.balanced) {
      double sum = anova.ss_error + anova.effect[0].ss + anova.effect[1].ss + anova.effect[2].ss;
      assert_near(sum, sn_anova_marginal(&o.table, -1, -1).ss, 1e-10 * scale);
    }
    sn_anova_free(&anova);
    sn_anova_table_free(&o.table);
  }
}

// A shift of all values changes nothing; their unit changes no F; a factor of two levels has t squared for F_S.
static void invariances(void **state) {
  sn_context ctx = sn_context_default();
  sn_random rng = sn_random_new(5);
  static observations o;
  for (int trial = 0; trial < 40; trial++) {
    random_observations(&ctx, &rng, 2, 2 + trial % 4, trial % 3 == 0, 0, &o);
    sn_anova anova, moved;
    assert_ok(&ctx, sn_anova_run(&ctx, &o.table, 0.05, &anova));
    const sn_scheffe *s = &anova.post_hoc[0];
    assert_near(s->pairs[0].f, anova.effect[0].f, 1e-9 * (1 + anova.effect[0].f));
    assert_near(s->pairs[0].p, anova.effect[0].p, 1e-9);
    assert_true(s->pairs[0].differs == (anova.effect[0].p < 0.05));
    for (int k = 0; k < 2 * o.table.level_count[1]; k++) {
      sn_sample *cell = &o.table.cells[k];
      *cell = (sn_sample){cell->n, 1e3 * (cell->mean + 100), 1e6 * cell->ss};
    }
    assert_ok(&ctx, sn_anova_run(&ctx, &o.table, 0.05, &moved));
    for (int k = 0; k < 3; k++) assert_near(moved.effect[k].f, anova.effect[k].f, 1e-8 * (1 + anova.effect[k].f));
    sn_anova_free(&moved);
    sn_anova_free(&anova);
    sn_anova_table_free(&o.table);
  }
}

// ---- Scheffe -------------------------------------------------------------------------------------------------------

// Means 0, 1, 2 with a critical difference between 1 and 2: the groups overlap. With one below 1 all differ.
static void groups(void **state) {
  sn_context ctx = sn_context_default();
  static const char *const names[] = {"x", "y", "z"}, *const factor[2] = {"one", "two"};
  const char *const *const level[2] = {names, names};
  static const struct {
    double sd;
    int count;
    bool partition;
  } cases[] = {{1.9, 2, false}, {0.5, 3, true}, {9, 1, true}};
  for (int c = 0; c < 3; c++) {
    sn_anova_table table;
    sn_anova anova;
    assert_ok(&ctx, sn_anova_table_new(&ctx, factor, level, (int[2]){3, 2}, &table));
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 2; j++) *sn_anova_cell(&table, i, j) = sn_sample_from_sd(2 - i, cases[c].sd, 10);
    assert_ok(&ctx, sn_anova_run(&ctx, &table, 0.05, &anova));
    const sn_scheffe *s = &anova.post_hoc[0];
    assert_int_equal(s->group_count, cases[c].count);
    assert_true(s->partition == cases[c].partition);
    assert_true(s->order[0] == 2 && s->order[1] == 1 && s->order[2] == 0);
    for (int k = 0; k < 3; k++) {
      assert_true(s->pairs[k].differs == (fabs(s->pairs[k].difference) > s->pairs[k].critical));
      assert_true(s->pairs[k].differs == (s->pairs[k].p < 0.05));
    }
    assert_near(anova.effect[1].f, 0, 1e-12);
    assert_near(anova.effect[1].p, 1, 1e-12);
    sn_anova_free(&anova);
    sn_anova_table_free(&table);
  }
}

// ---- reading and failing -------------------------------------------------------------------------------------------

static void long_form(void **state) {
  sn_context ctx = sn_context_default();
  sn_anova_table table =
    parse(&ctx, "\xEF\xBB\xBF\"f_r\", f_s,value\r\n\"a\",x,1\r\n\r\na,x,3\na,y,1\na,y,2\nb,x,1e1\nb,x,2\n"
                "b,y,5\nb,y,-1\nb,y,2");
  assert_string_equal(table.factor[0], "f_r");
  assert_string_equal(table.level[0][0], "a");
  assert_true(table.level_count[0] == 2 && table.level_count[1] == 2 && table.stated_count == 0);
  assert_true(sn_anova_cell(&table, 0, 0)->n == 2 && sn_anova_cell(&table, 1, 1)->n == 3);
  assert_near(sn_anova_cell(&table, 1, 1)->mean, 2, 1e-15);
  assert_near(sn_sample_sd(*sn_anova_cell(&table, 1, 1)), 3, 1e-14);
  assert_near(sn_anova_marginal(&table, 1, 0).mean, 6, 1e-14);
  sn_anova_table_free(&table);
}

static void wrong_tables(void **state) {
  sn_context ctx = sn_context_default();
  static const struct {
    const char *text, *message;
  } cases[] = {
    {"", "t.csv:1: the first line must be"},
    {"f_r,f_s,error\na,b,1\n", "t.csv:1: the first line must be"},
    {"f_r,f_s,mean,sd\n", "t.csv:1: the first line must be"},
    {"f_r,f_s,mean,n,sd\n", "t.csv:1: the first line must be"},
    {"f,f,value\n", "t.csv:1: both factors are called 'f'"},
    {"f,,value\n", "t.csv:1: the factor of column 2 has no name"},
    {"f,g,value\n\n", "t.csv: no rows"},
    {"f,g,value\na,x,1\na,x,2\na,y,1\na,y,2\n", "t.csv:2: f has only the level 'a' (column 1)"},
    {"f,g,value\na,x,1\nb,x,2\n", "t.csv:2: g has only the level 'x' (column 2)"},
    {"f,g,value\na,x,1\nb,y,2,3\n", "t.csv:3: 4 fields where the first line has 3"},
    {"f,g,value\na,x,1\n,y,2\n", "t.csv:3: no level of f (column 1)"},
    {"f,g,value\na,x,1\nb,y,nan\n", "t.csv:3: 'nan' is not a finite number (column 3)"},
    {"f,g,value\na,x,1\nb,y,1e999\n", "t.csv:3: '1e999' is not a finite number (column 3)"},
    {"f,g,value\na,x,1\na,x,1\nb,y,1\nb,y,2\nb,x,1\nb,x,1\n",
     "nothing for f=a (first on line 2) with g=y (first on line 4)"},
    {"f,g,value\na,x,1\na,x,1\nb,y,1\nb,y,2\nb,x,1\nb,x,1\na,y,1", "t.csv:8: the only value of f=a with g=y"},
    {"f,g,mean,sd,n\na,x,1,1,5\na,y,1,1,5\nb,x,1,1,5\nb,y,1,1,1\n", "t.csv:5: n is 1 (column 5)"},
    {"f,g,mean,sd,n\na,x,1,1,5\na,y,1,1,5\nb,x,1,1,5\nb,y,1,1,2.5\n", "t.csv:5: n is 2.5 (column 5)"},
    {"f,g,mean,sd,n\na,x,1,1,5\na,y,1,1,5\nb,x,1,1,5\nb,y,1,1,8e36\n", "t.csv:5: n is 8e+36 (column 5)"},
    {"f,g,mean,sd,n\na,x,1,-1,5\nb,y,1,1,5\n", "t.csv:2: a negative standard deviation, -1 (column 4)"},
    {"f,g,mean,sd,n\na,x,1,inf,5\nb,y,1,1,5\n", "t.csv:2: 'inf' is not a finite number (column 4)"},
    {"f,g,mean,sd,n\na,x,1,1,5\na,y,1,1,5\nb,x,1,1,5\na,y,1,1,5\n", "t.csv:5: this cell was given on line 3"},
    {"f,g,mean,sd,n\na,x,1,1,5\na,y,1,1,5\nb,x,1,1,5\nb,total,1,1,5\n", "nothing for f=b"},
    {"f,g,mean,sd,n\ntotal,total,1,1,5\n", "has only the level 'total'"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    sn_anova_table table;
    assert_fails(&ctx, sn_anova_table_parse(&ctx, "t.csv", cases[k].text, strlen(cases[k].text), &table),
                 cases[k].message);
    assert_null(table.cells);
  }
  char many[8000] = "f,g,value\n";
  for (int k = 0; k < 102; k++) snprintf(many + strlen(many), 40, "%d.5,x,1\n", k);
  sn_anova_table table;
  assert_fails(&ctx, sn_anova_table_parse(&ctx, "t.csv", many, strlen(many), &table), "is column 1 not a factor?");
  assert_fails(&ctx, sn_anova_table_read(&ctx, "/nonexistent.csv", &table), "/nonexistent.csv");
}

static void nothing_to_analyse(void **state) {
  sn_context ctx = sn_context_default();
  static const char *const names[] = {"x", "y"}, *const factor[2] = {"one", "two"};
  const char *const *const level[2] = {names, names};
  sn_anova_table table;
  sn_anova anova;
  assert_ok(&ctx, sn_anova_table_new(&ctx, factor, level, (int[2]){2, 2}, &table));
  assert_fails(&ctx, sn_anova_run(&ctx, &table, 0.05, &anova), "the cell one=x, two=x has 0 values");
  for (int k = 0; k < 4; k++) table.cells[k] = sn_sample_from_sd(k, 0, 5);
  assert_fails(&ctx, sn_anova_run(&ctx, &table, 0.05, &anova), "no cell has any variation");
  for (int k = 0; k < 4; k++) table.cells[k] = sn_sample_from_sd(k, 1e200, 5);
  assert_fails(&ctx, sn_anova_run(&ctx, &table, 0.05, &anova), "no finite mean and deviation");
  for (int k = 0; k < 4; k++) table.cells[k] = sn_sample_from_sd(k * 1e200, 1, 5);
  assert_fails(&ctx, sn_anova_run(&ctx, &table, 0.05, &anova), "F is too large");
  for (int k = 0; k < 4; k++) table.cells[k] = sn_sample_from_sd(k, 1, 5);
  assert_fails(&ctx, sn_anova_run(&ctx, &table, 0, &anova), "alpha");
  assert_fails(&ctx, sn_anova_run(&ctx, &table, NAN, &anova), "alpha");
  table.level_count[1] = 1;
  assert_fails(&ctx, sn_anova_run(&ctx, &table, 0.05, &anova), "factor two has only the level x");
  sn_anova_table_free(&table);
}

// Every allocation may fail; nothing leaks.
static void out_of_memory(void **state) {
  starvation s = {0};
  while (starve(&s)) {
    sn_anova_table table = {0};
    sn_anova anova = {0};
    s.status = sn_anova_table_parse(&s.ctx, "t.csv", leg_printed, sizeof leg_printed - 1, &table);
    if (s.status == SN_OK) s.status = sn_anova_run(&s.ctx, &table, 0.05, &anova);
    sn_anova_free(&anova);
    sn_anova_table_free(&table);
  }
  assert_true(s.n > 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(incomplete_beta_values),
    cmocka_unit_test(incomplete_beta_identities),
    cmocka_unit_test(f_distribution_values),
    cmocka_unit_test(f_quantile_round_trip),
    cmocka_unit_test(samples_merge),
    cmocka_unit_test(document_arm),
    cmocka_unit_test(document_arm_misprint),
    cmocka_unit_test(document_leg),
    cmocka_unit_test(equals_regression),
    cmocka_unit_test(invariances),
    cmocka_unit_test(groups),
    cmocka_unit_test(long_form),
    cmocka_unit_test(wrong_tables),
    cmocka_unit_test(nothing_to_analyse),
    cmocka_unit_test(out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
