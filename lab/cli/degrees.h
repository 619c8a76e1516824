// SPDX-License-Identifier: MIT
// --degrees all: the nine combinations of blending functions of `torque`, and the statistics over them.
#ifndef SINEW_LAB_CLI_DEGREES_H
#define SINEW_LAB_CLI_DEGREES_H

#include "cli/cli.h"
#include "sinew/train.h"

enum { cli_degrees = 3, cli_degree_pairs = cli_degrees * cli_degrees };

// The spec `text` of the method torque with the degrees of combination k: f_r is k / 3 + 1, f_s is k % 3 + 1.
sn_status sn_cli_degree_spec(cli *c, const char *text, int k, sn_method_spec *out);

// Whether the spec chooses the published form.
bool sn_cli_is_published(const sn_method_spec *spec);

// Two-way analysis of variance (f_r by f_s) of the nine models' errors, values[k] of `count` vertices each: the document's
// table on standard output, and what the report gets. `response`: what the values are.
sn_status sn_cli_say_degrees(cli *c, double *const values[cli_degree_pairs], int count, const char *response,
                             json_t **out);

#endif
