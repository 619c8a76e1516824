// SPDX-License-Identifier: MIT
#include "lab/cli/degrees.h"

#include <stdio.h>
#include <string.h>

#include "lab/cli/anova.h"
#include "report/report.h"

sn_status sn_cli_degree_spec(cli *c, const char *text, int k, sn_method_spec *out) {
  char spec[300];
  if (strstr(text, "degree_")) {
    return sn_fail(&c->ctx, SN_BAD_INPUT, "%s: --degrees all sets degree_r and degree_s; leave them out", text);
  }
  snprintf(spec, sizeof spec, "%s%cdegree_r=%d,degree_s=%d", text, strchr(text, ':') ? ',' : ':', k / cli_degrees + 1,
           k % cli_degrees + 1);
  return sn_method_parse(&c->ctx, spec, out);
}

bool sn_cli_is_published(const sn_method_spec *spec) {
  for (sn_option_cursor at = {.group = spec->method->options}; sn_option_next(&at);)
    if (strcmp(at.option->name, "published") == 0) return strcmp(sn_option_get(&at, &spec->options).text, "1") == 0;
  return false;
}

sn_status sn_cli_say_degrees(cli *c, double *const values[cli_degree_pairs], int count, const char *response,
                             json_t **out) {
  static const char *const names[] = {"linear", "quadratic", "cubic"};
  sn_anova_table table;
  sn_anova anova = {0};
  sn_status status =
    sn_anova_table_new(&c->ctx, (const char *const[]){"f_r", "f_s"}, (const char *const *const[]){names, names},
                       (const int[]){cli_degrees, cli_degrees}, &table);
  for (int k = 0; status == SN_OK && k < cli_degree_pairs; k++) {
    *sn_anova_cell(&table, k / cli_degrees, k % cli_degrees) = sn_sample_of(values[k], count);
  }
  if (status == SN_OK) status = sn_anova_run(&c->ctx, &table, 0.05, &anova);
  if (status == SN_OK) {
    sn_cli_say(c, "\n%s\n", response);
    sn_cli_say_anova(c, &table, &anova);
    *out = sn_cli_describe_anova(&table, &anova);
    json_object_set_new(*out, "response", sn_report_text(response));
  }
  sn_anova_free(&anova);
  sn_anova_table_free(&table);
  return status;
}
