// SPDX-License-Identifier: MIT
// Does a published table of cells agree with the marginals printed beside it?
#include "lab/stats/stats.h"

#include <math.h>

int sn_anova_check(const sn_anova_table *table, sn_anova_mismatch *out) {
  int count = 0;
  for (int k = 0; k < table->stated_count; k++) {
    const sn_anova_stated *stated = &table->stated[k];
    sn_sample sum = sn_anova_marginal(table, stated->level[0], stated->level[1]);
    double sd = sn_sample_sd(sum);
    if (stated->n != sum.n) {
      out[count++] = (sn_anova_mismatch){stated, SN_STATED_N, (double)stated->n, (double)sum.n};
    }
    if (fabs(stated->mean - sum.mean) > 1.001 * table->mean_unit) {
      out[count++] = (sn_anova_mismatch){stated, SN_STATED_MEAN, stated->mean, sum.mean};
    }
    if (fabs(stated->sd - sd) > 1.001 * table->sd_unit) {
      out[count++] = (sn_anova_mismatch){stated, SN_STATED_SD, stated->sd, sd};
    }
  }
  return count;
}

double sn_anova_implied_sd(const sn_anova_table *table, const sn_anova_stated *stated, int a, int b) {
  const sn_sample *cell = sn_anova_cell(table, a, b);
  sn_sample sum = sn_anova_marginal(table, stated->level[0], stated->level[1]);
  double ss = (double)(sum.n - 1) * stated->sd * stated->sd - (sum.ss - cell->ss);
  return ss >= 0 ? sqrt(ss / (double)(cell->n - 1)) : NAN;
}

// The only stated marginal of one level of `factor` whose deviation does not fit; NULL where there are none or several.
static const sn_anova_stated *only_misfit(const sn_anova_table *table, int factor) {
  const sn_anova_stated *found = NULL;
  for (int k = 0; k < table->stated_count; k++) {
    const sn_anova_stated *stated = &table->stated[k];
    if (stated->level[factor] < 0 || stated->level[1 - factor] >= 0) continue;
    double sd = sn_sample_sd(sn_anova_marginal(table, stated->level[0], stated->level[1]));
    if (fabs(stated->sd - sd) <= 1.001 * table->sd_unit) continue;
    if (found) return NULL;
    found = stated;
  }
  return found;
}

bool sn_anova_find_misprint(const sn_anova_table *table, int *a, int *b, double *sd) {
  const sn_anova_stated *first = only_misfit(table, 0), *second = only_misfit(table, 1);
  if (!first || !second) return false;
  *a = first->level[0], *b = second->level[1];
  double from_first = sn_anova_implied_sd(table, first, *a, *b),
         from_second = sn_anova_implied_sd(table, second, *a, *b);
  *sd = (from_first + from_second) / 2;
  // A unit of a marginal's deviation is as many units of the cell's as there are cells in it, at like deviations.
  int most = table->level_count[0] > table->level_count[1] ? table->level_count[0] : table->level_count[1];
  return fabs(from_first - from_second) <= 4 * most * table->sd_unit;
}
