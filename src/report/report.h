// SPDX-License-Identifier: MIT
// Reports as JSON: what the command line's --json writes and what other languages read, from one place.
#ifndef SINEW_REPORT_REPORT_H
#define SINEW_REPORT_REPORT_H

#include <jansson.h>

#include "sinew/eval.h"
#include "sinew/rig.h"

// Bytes of the UTF-8 character at `text`, 0 where there is none: overlong forms, surrogates and stray bytes are no characters.
int sn_report_character(const unsigned char *text);

// Text that others chose: bytes that are no UTF-8 become U+FFFD.
json_t *sn_report_text(const char *text);
void sn_report_put(json_t *object, const char *name, json_t *value);
// Members by their names and kinds, "name:kind name:kind ...": i int, I json_int_t, f double, b int as a boolean, s text that
// others chose (NULL: null), o a value that is taken. "name:kind?" leaves out 0, false, empty texts and NULL.
void sn_report_add(json_t *object, const char *members, ...);
json_t *sn_report_number(double value); // null where it is not finite
json_t *sn_report_numbers(const double *values, int count);
json_t *sn_report_integers(const int *values, int count);

// An option's value as it was written: numbers as numbers, NULL (a switch) as true.
json_t *sn_report_value(const char *text);
json_t *sn_report_options(const sn_option_group *groups, const void *options);
// All methods: name, summary and options of each.
json_t *sn_report_methods(void);

json_t *sn_report_examples(const sn_examples *examples);
json_t *sn_report_metrics(const sn_metrics *metrics);        // null for no frames
void sn_report_scores(json_t *out, const sn_scores *scores); // train, test, between where there are any, all

// What `train` tells.
json_t *sn_report_train(const sn_scores *scores, const sn_rt_info *info, const sn_train_report *report);

#endif
