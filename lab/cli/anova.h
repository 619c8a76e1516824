// SPDX-License-Identifier: MIT
// An analysis of variance as text and as JSON.
#ifndef SINEW_LAB_CLI_ANOVA_H
#define SINEW_LAB_CLI_ANOVA_H

#include "cli/cli.h"
#include "lab/stats/stats.h"

// The document's table: cells and marginals as mean (sd), F, p and effect size of every effect, the post-hoc order, notes.
void sn_cli_say_anova(const cli *c, const sn_anova_table *table, const sn_anova *anova);
json_t *sn_cli_describe_anova(const sn_anova_table *table, const sn_anova *anova);

#endif
