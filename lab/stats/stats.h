// SPDX-License-Identifier: MIT
// Two-way analysis of variance with Scheffe's post-hoc test, and the F distribution behind it.
//
// Everything is computed from count, mean and sum of squares per cell, so raw values and published tables of means and
// standard deviations take the same way. docs/reference/metrics.md.
#ifndef SINEW_LAB_STATS_STATS_H
#define SINEW_LAB_STATS_STATS_H

#include "sinew/base.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) // what shared libraries export

// ---- the F distribution ------------------------------------------------------------------------------------------

// The regularised incomplete beta function I_x(a, b), 0 <= x <= 1, a, b > 0; NaN outside.
double sn_beta_regularised(double x, double a, double b);

// P(F <= f) and P(F > f) with d1 and d2 degrees of freedom, each accurate in its own tail.
double sn_f_lower(double f, double d1, double d2);
double sn_f_upper(double f, double d1, double d2);
// The f with P(F > f) = p, 0 < p < 1.
double sn_f_quantile(double p, double d1, double d2);

// ---- samples -------------------------------------------------------------------------------------------------------

// What an analysis of variance needs to know of a set of values.
typedef struct sn_sample {
  int64_t n;
  double mean, ss; // ss: sum of squared deviations from the mean
} sn_sample;

void sn_sample_add(sn_sample *sample, double value);
void sn_sample_merge(sn_sample *sample, sn_sample other);
sn_sample sn_sample_of(const double *values, int64_t count);
sn_sample sn_sample_from_sd(double mean, double sd, int64_t n);
double sn_sample_sd(sn_sample sample); // 0 where n < 2

// ---- tables --------------------------------------------------------------------------------------------------------

enum { SN_ANOVA_MAX_LEVELS = 100 };

// A marginal as a published table states it, to be checked against the cells. level[k] < 0: over all levels of factor k.
typedef struct sn_anova_stated {
  int level[2], line;
  double mean, sd;
  int64_t n;
} sn_anova_stated;

// Cells of level_count[0] x level_count[1] combinations; the level of factor 1 runs fastest.
typedef struct sn_anova_table {
  char *factor[2];
  char **level[2];
  int level_count[2];
  sn_sample *cells;
  int stated_count; // 0 unless a file states marginals
  sn_anova_stated *stated;
  double mean_unit, sd_unit; // one unit in the last decimal of the file's means and deviations, the coarsest
  sn_arena memory;
} sn_anova_table;

// An empty table; names are copied.
sn_status sn_anova_table_new(sn_context *ctx, const char *const factor[2], const char *const *const level[2],
                             const int level_count[2], sn_anova_table *out);
void sn_anova_table_free(sn_anova_table *table);
static inline sn_sample *sn_anova_cell(const sn_anova_table *table, int a, int b) {
  return &table->cells[a * table->level_count[1] + b];
}

// The values of all cells with these levels; a negative level is all of that factor.
sn_sample sn_anova_marginal(const sn_anova_table *table, int a, int b);

// CSV with a header: FACTOR,FACTOR,value (a row per observation) or FACTOR,FACTOR,mean,sd,n (a row per cell; rows with
// the level `total` state marginals). Levels come in the order in which they appear.
sn_status sn_anova_table_parse(sn_context *ctx, const char *name, const char *text, size_t size, sn_anova_table *out);
sn_status sn_anova_table_read(sn_context *ctx, const char *path, sn_anova_table *out);

// ---- consistency of a published table ----------------------------------------------------------------------------

// A stated marginal that its cells do not give: which figure, what is stated and what the cells give.
typedef struct sn_anova_mismatch {
  const sn_anova_stated *stated;
  enum { SN_STATED_N, SN_STATED_MEAN, SN_STATED_SD } figure;
  double says, cells_give;
} sn_anova_mismatch;

// Compares every stated marginal with its cells, to one unit in the last printed decimal. `out` holds at most
// 3 * stated_count. Returns how many there are.
int sn_anova_check(const sn_anova_table *table, sn_anova_mismatch *out);

// The deviation that the cell (a, b) must have for a marginal that contains it to be as stated; NaN where there is none.
double sn_anova_implied_sd(const sn_anova_table *table, const sn_anova_stated *stated, int a, int b);

// A single misprinted deviation: the cell where the one row and the one column whose deviations do not fit cross, if they
// imply the same value. False where there is no such cell.
bool sn_anova_find_misprint(const sn_anova_table *table, int *a, int *b, double *sd);

// ---- the analysis --------------------------------------------------------------------------------------------------

typedef struct sn_anova_effect {
  double ss, df, ms, f, p;
  double partial_eta2; // ss / (ss + ss_error)
} sn_anova_effect;

typedef struct sn_scheffe_pair {
  int first, second; // levels
  double difference; // mean of the first less mean of the second
  double critical;   // differences beyond it are significant
  double f, p;       // F_S, to be compared with F(levels - 1, df_error)
  bool differs;
} sn_scheffe_pair;

// Levels order[first] .. order[last], none of which differs from another.
typedef struct sn_scheffe_group {
  int first, last;
} sn_scheffe_group;

typedef struct sn_scheffe {
  int level_count, pair_count, group_count;
  double f_critical;
  double *mean;             // of each level: the mean of its cell means
  double *weight;           // observations that stand behind it: b^2 / sum_j 1/n_ij, in a balanced table b n
  int *order;               // levels by mean, the smallest first
  sn_scheffe_pair *pairs;   // (0,1) (0,2) ... (1,2) ...
  sn_scheffe_group *groups; // maximal; they may overlap
  bool partition;           // they do not
} sn_scheffe;

// Sums of squares are of type III (each effect adjusted for the others, unweighted cell means); in a balanced table all
// types agree.
typedef struct sn_anova {
  double alpha;
  bool balanced;
  sn_anova_effect effect[3]; // factor 0, factor 1, interaction
  double ss_error, df_error, ms_error;
  sn_scheffe post_hoc[2];
  sn_arena memory;
} sn_anova;

// Every cell needs n >= 2, each factor two levels or more.
sn_status sn_anova_run(sn_context *ctx, const sn_anova_table *table, double alpha, sn_anova *out);
void sn_anova_free(sn_anova *anova);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
