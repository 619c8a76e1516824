// SPDX-License-Identifier: MIT
// Any bytes as a table for the analysis of variance.
#include "lab/stats/stats.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  sn_context ctx = sn_context_default();
  sn_anova_table table;
  sn_anova anova = {0};
  if (sn_anova_table_parse(&ctx, "fuzz.csv", (const char *)bytes, size, &table) != SN_OK) {
    if (!ctx.error.message[0] || table.cells) abort();
    return 0;
  }
  if (table.level_count[0] < 2 || table.level_count[1] < 2) abort();
  if (sn_anova_run(&ctx, &table, 0.05, &anova) == SN_OK) {
    for (int k = 0; k < 3; k++)
      if (!(anova.effect[k].f >= 0 && anova.effect[k].p >= 0 && anova.effect[k].p <= 1)) abort();
  }
  if (table.stated_count > 0 && table.stated_count < 1000) {
    static sn_anova_mismatch list[3000];
    int a, b;
    double sd;
    if (sn_anova_check(&table, list) > 3 * table.stated_count) abort();
    sn_anova_find_misprint(&table, &a, &b, &sd);
  }
  sn_anova_free(&anova);
  sn_anova_table_free(&table);
  return 0;
}
