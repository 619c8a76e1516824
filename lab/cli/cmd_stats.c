// SPDX-License-Identifier: MIT
// sinew stats anova: two-way analysis of variance.
#include <math.h>
#include <string.h>

#include "lab/cli/anova.h"

static const char *const figure_names[] = {"n", "mean", "sd"};

static const char *level_name(const sn_anova_table *table, int factor, int level) {
  return level < 0 ? "total" : table->level[factor][level];
}

// What the stated marginals say against the cells, as text and under `checks` of the report.
static sn_status check_stated(cli *c, const char *path, const sn_anova_table *table) {
  if (table->stated_count == 0) return SN_OK;
  sn_anova_mismatch *list = SN_NEW(&c->ctx, &c->memory, sn_anova_mismatch, 3 * table->stated_count);
  if (!list) return c->ctx.error.status;
  int count = sn_anova_check(table, list), a, b;
  json_t *mismatches = json_array();
  for (int k = 0; k < count; k++) {
    const sn_anova_mismatch *m = &list[k];
    sn_cli_say(c, "check: %s:%d: %s=%s, %s=%s states %s %.10g, but its cells give %.7g\n", path, m->stated->line,
               table->factor[0], level_name(table, 0, m->stated->level[0]), table->factor[1],
               level_name(table, 1, m->stated->level[1]), figure_names[m->figure], m->says, m->cells_give);
    json_array_append_new(mismatches, json_pack("{sisssfsf}", "line", m->stated->line, "figure",
                                                figure_names[m->figure], "stated", m->says, "cells", m->cells_give));
  }
  json_t *checks = json_pack("{siso}", "stated", table->stated_count, "mismatches", mismatches);
  double sd;
  if (sn_anova_find_misprint(table, &a, &b, &sd)) {
    double printed = sn_sample_sd(*sn_anova_cell(table, a, b));
    sn_cli_say(c, "check: probably a misprint: the sd of %s=%s, %s=%s is %.7g, and both its totals imply %.7g\n",
               table->factor[0], table->level[0][a], table->factor[1], table->level[1][b], printed, sd);
    json_object_set_new(checks, "misprint", json_pack("{s[ii]sfsf}", "cell", a, b, "sd", printed, "implied", sd));
  } else if (count == 0) {
    sn_cli_say(c, "check: the %d stated totals agree with the cells\n", table->stated_count);
  }
  json_object_set_new(c->result, "checks", checks);
  return SN_OK;
}

static int run(cli *c) {
  double alpha;
  if (strcmp(c->arguments[0], "anova") != 0) {
    return sn_cli_misuse("stats: unknown analysis %s; there is one: sinew stats anova FILE.csv", c->arguments[0]);
  }
  if (!sn_cli_double(c, "--alpha", 1e-12, 0.5, &alpha)) return exit_usage;
  const char *path = c->arguments[1];
  sn_anova_table table;
  sn_anova anova = {0};
  sn_status status = sn_anova_table_read(&c->ctx, path, &table);
  if (status == SN_OK) {
    c->input = json_pack("{s[ii]sI}", "levels", table.level_count[0], table.level_count[1], "values",
                         (json_int_t)sn_anova_marginal(&table, -1, -1).n);
    status = sn_anova_run(&c->ctx, &table, alpha, &anova);
    if (status != SN_OK) sn_fail_prefix(&c->ctx, "%s: ", path);
  }
  if (status == SN_OK) {
    c->result = sn_cli_describe_anova(&table, &anova);
    sn_cli_say_anova(c, &table, &anova);
    status = check_stated(c, path, &table);
  }
  sn_anova_free(&anova);
  sn_anova_table_free(&table);
  return status == SN_OK ? exit_done : sn_cli_fail(c);
}

static const cli_option options[] = {
  {"--alpha", "P", "0.05", "significance level of the post-hoc test", false},
  {0},
};

const cli_command sn_cli_stats = {
  .name = "stats",
  .usage = "anova FILE.csv [--alpha P]",
  .summary = "two-way analysis of variance with Scheffe's post-hoc test",
  .details =
    "FILE.csv has a first line with the names of two factors, and one of two forms:\n"
    "  f_r,f_s,value      a row per observation: two levels and a number\n"
    "  f_r,f_s,mean,sd,n  a row per cell; rows `total` state marginals, which are checked\n"
    "Every combination of levels needs two values or more. With thousands of values everything is significant: "
    "partial eta squared, the effect's part of the variation, tells what matters.",
  .example =
    "printf 'f_r,f_s,value\\na,x,1\\na,x,2\\nb,x,2\\nb,x,3\\na,y,1\\na,y,3\\nb,y,4\\nb,y,5\\n' > errors.csv\n"
    "sinew stats anova errors.csv --json anova.json",
  .options = options,
  .takes = {2, 2},
  .run = run,
};
