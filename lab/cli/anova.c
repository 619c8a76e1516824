// SPDX-License-Identifier: MIT
#include "lab/cli/anova.h"
#include "report/report.h"

#include <stdio.h>
#include <string.h>

static const char repeated_note[] = "every cell has the same count. Where the cells hold the same vertices, as the "
                                    "errors of several models of one mesh do, "
                                    "the observations are not independent: the error term is overstated, and a "
                                    "repeated-measures test would give larger F.";
static const char unbalanced_note[] = "the counts differ: sums of squares are of type III, and the post-hoc test "
                                      "compares unweighted means of cell means.";

static const char *marks(double p) { return p < 0.001 ? "***" : p < 0.01 ? "**" : p < 0.05 ? "*" : "ns"; }

// ---- text ----------------------------------------------------------------------------------------------------------

// Columns that UTF-8 text takes, one per character.
static int width_of(const char *text) {
  int width = 0;
  for (; *text; text++) width += (*text & 0xC0) != 0x80;
  return width;
}

static void say_padded(const cli *c, const char *text, int width) {
  int blanks = width - width_of(text);
  sn_cli_say(c, "%s%*s", text, blanks > 0 ? blanks : 0, "");
}

static void say_sample(const cli *c, sn_sample sample, int width) {
  char text[80];
  snprintf(text, sizeof text, "%.6g (%.6g)", sample.mean, sn_sample_sd(sample));
  say_padded(c, text, width);
}

// Rows are the levels of the second factor, columns those of the first, as in the document (f_s by f_r).
static void say_cells(const cli *c, const sn_anova_table *table) {
  int left = width_of(table->factor[1]) + 2 + width_of(table->factor[0]), width = 28;
  for (int b = 0; b < table->level_count[1]; b++) {
    if (width_of(table->level[1][b]) > left) left = width_of(table->level[1][b]);
  }
  left = left < 6 ? 8 : left + 2;
  char corner[512];
  snprintf(corner, sizeof corner, "%s \\ %s", table->factor[1], table->factor[0]);
  say_padded(c, corner, left + 1);
  for (int a = 0; a < table->level_count[0]; a++) say_padded(c, table->level[0][a], width);
  sn_cli_say(c, "total\n");
  for (int b = -1; b < table->level_count[1]; b++) {
    int row = b + 1 < table->level_count[1] ? b + 1 : -1;
    say_padded(c, row < 0 ? "total" : table->level[1][row], left + 1);
    for (int a = 0; a < table->level_count[0]; a++) say_sample(c, sn_anova_marginal(table, a, row), width);
    say_sample(c, sn_anova_marginal(table, -1, row), 0);
    sn_cli_say(c, "\n");
  }
}

static void say_p(char *text, size_t size, double p) {
  if (p >= 0.001) {
    snprintf(text, size, "p = %.3f", p);
  } else if (p > 0) {
    snprintf(text, size, "p = %.1e", p);
  } else {
    snprintf(text, size, "p < 1e-300");
  }
}

static void say_effect(const cli *c, const sn_anova *anova, int k, const char *name) {
  const sn_anova_effect *e = &anova->effect[k];
  char p[32];
  say_p(p, sizeof p, e->p);
  sn_cli_say(c, "%s: F(%.0f, %.0f) = %.4g, %s %s, partial eta squared %.2g\n", name, e->df, anova->df_error, e->f, p,
             marks(e->p), e->partial_eta2);
}

// "quadratic < linear, cubic", or the groups one by one where they overlap.
static void say_order(const cli *c, const sn_scheffe *s, char *const *level) {
  if (s->group_count == 1) {
    sn_cli_say(c, "no levels differ");
    return;
  }
  for (int g = 0; g < s->group_count; g++) {
    if (g > 0) sn_cli_say(c, s->partition ? " < " : " ");
    if (!s->partition) sn_cli_say(c, "{");
    for (int k = s->groups[g].first; k <= s->groups[g].last; k++) {
      sn_cli_say(c, "%s%s", k > s->groups[g].first ? ", " : "", level[s->order[k]]);
    }
    if (!s->partition) sn_cli_say(c, "}");
  }
}

static void say_post_hoc(const cli *c, const sn_anova_table *table, const sn_anova *anova, int factor) {
  const sn_scheffe *s = &anova->post_hoc[factor];
  char *const *level = table->level[factor];
  sn_cli_say(c, "  Scheffe, %s (alpha %g): ", table->factor[factor], anova->alpha);
  say_order(c, s, level);
  sn_cli_say(c, "\n");
  for (int k = 0; k < s->pair_count; k++) {
    const sn_scheffe_pair *pair = &s->pairs[k];
    char p[32];
    say_p(p, sizeof p, pair->p);
    sn_cli_say(c, "    %s - %s: %.4g (critical %.4g), F_S = %.4g, %s%s\n", level[pair->first], level[pair->second],
               pair->difference, pair->critical, pair->f, p, pair->differs ? "" : " ns");
  }
}

void sn_cli_say_anova(const cli *c, const sn_anova_table *table, const sn_anova *anova) {
  say_cells(c, table);
  sn_sample cell = table->cells[0];
  if (anova->balanced) {
    sn_cli_say(c, "mean (sd), n = %lld per cell\n\n", (long long)cell.n);
  } else {
    sn_cli_say(c, "mean (sd), n differs from cell to cell, %lld in all\n\n",
               (long long)sn_anova_marginal(table, -1, -1).n);
  }
  for (int k = 0; k < 2; k++) {
    say_effect(c, anova, k, table->factor[k]);
    say_post_hoc(c, table, anova, k);
  }
  char name[512];
  snprintf(name, sizeof name, "%s * %s", table->factor[0], table->factor[1]);
  say_effect(c, anova, 2, name);
  sn_cli_say(c, "error: mean square %.5g\n", anova->ms_error);
  sn_cli_say(c, "note: %s\n", anova->balanced ? repeated_note : unbalanced_note);
}

// ---- JSON ----------------------------------------------------------------------------------------------------------

static json_t *describe_sample(const sn_anova_table *table, int a, int b) {
  sn_sample sample = sn_anova_marginal(table, a, b);
  json_t *out = json_object();
  json_object_set_new(out, "levels",
                      json_pack("[oo]", a < 0 ? json_null() : sn_report_text(table->level[0][a]),
                                b < 0 ? json_null() : sn_report_text(table->level[1][b])));
  json_object_set_new(out, "mean", json_real(sample.mean));
  json_object_set_new(out, "sd", json_real(sn_sample_sd(sample)));
  json_object_set_new(out, "n", json_integer(sample.n));
  return out;
}

static json_t *describe_effect(const sn_anova *anova, int k) {
  const sn_anova_effect *e = &anova->effect[k];
  return json_pack("{sfsfsfsfsfsfsf}", "ss", e->ss, "df", e->df, "df_error", anova->df_error, "ms", e->ms, "f", e->f,
                   "p", e->p, "partial_eta2", e->partial_eta2);
}

static json_t *describe_post_hoc(const sn_scheffe *s, char *const *level) {
  json_t *order = json_array(), *groups = json_array(), *pairs = json_array();
  for (int k = 0; k < s->level_count; k++) json_array_append_new(order, sn_report_text(level[s->order[k]]));
  for (int g = 0; g < s->group_count; g++) {
    json_t *group = json_array();
    for (int k = s->groups[g].first; k <= s->groups[g].last; k++) {
      json_array_append_new(group, sn_report_text(level[s->order[k]]));
    }
    json_array_append_new(groups, group);
  }
  for (int k = 0; k < s->pair_count; k++) {
    const sn_scheffe_pair *pair = &s->pairs[k];
    json_array_append_new(pairs,
                          json_pack("{s[oo]sfsfsfsfsb}", "levels", sn_report_text(level[pair->first]),
                                    sn_report_text(level[pair->second]), "difference", pair->difference, "critical",
                                    pair->critical, "f", pair->f, "p", pair->p, "differs", (int)pair->differs));
  }
  return json_pack("{sfsososo}", "f_critical", s->f_critical, "order", order, "groups", groups, "pairs", pairs);
}

json_t *sn_cli_describe_anova(const sn_anova_table *table, const sn_anova *anova) {
  json_t *cells = json_array(), *totals = json_array(), *effects = json_object(), *post_hoc = json_object();
  for (int a = -1; a < table->level_count[0]; a++)
    for (int b = -1; b < table->level_count[1]; b++) {
      json_array_append_new(a < 0 || b < 0 ? totals : cells, describe_sample(table, a, b));
    }
  // Not by the factors' own names: whoever reads reports should not need to know them.
  static const char *const names[] = {"first", "second", "interaction"};
  for (int k = 0; k < 3; k++) json_object_set_new(effects, names[k], describe_effect(anova, k));
  for (int k = 0; k < 2; k++) {
    json_object_set_new(post_hoc, names[k], describe_post_hoc(&anova->post_hoc[k], table->level[k]));
  }
  json_t *out = json_object();
  json_object_set_new(out, "factors",
                      json_pack("[oo]", sn_report_text(table->factor[0]), sn_report_text(table->factor[1])));
  json_object_set_new(out, "alpha", json_real(anova->alpha));
  json_object_set_new(out, "balanced", json_boolean(anova->balanced));
  json_object_set_new(out, "cells", cells);
  json_object_set_new(out, "totals", totals);
  json_object_set_new(out, "effects", effects);
  json_object_set_new(out, "error",
                      json_pack("{sfsfsf}", "ss", anova->ss_error, "df", anova->df_error, "ms", anova->ms_error));
  json_object_set_new(out, "post_hoc", post_hoc);
  json_object_set_new(out, "notes", json_pack("[s]", anova->balanced ? repeated_note : unbalanced_note));
  return out;
}
