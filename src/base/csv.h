// SPDX-License-Identifier: MIT
// Comma-separated text, field by field, in place.
#ifndef SINEW_BASE_CSV_H
#define SINEW_BASE_CSV_H

#include "sinew/base.h"

typedef struct sn_csv {
  sn_context *ctx;
  const char *path, *p, *end; // `path` for messages
  int line, column;           // both count from 1; column 0 before the line's first field
} sn_csv;

sn_csv sn_csv_new(sn_context *ctx, const char *path, const char *text, size_t size);

// The next field of this line, without blanks and quotes around it. False at the line's end.
bool sn_csv_field(sn_csv *csv, const char **field, size_t *size);
void sn_csv_next_line(sn_csv *csv);
bool sn_csv_blank_line(const sn_csv *csv);
// Lines from here on that are not blank.
int sn_csv_count_rows(const sn_csv *csv);
// The field as a finite number; a failure names line and column.
sn_status sn_csv_number(sn_csv *csv, const char *field, size_t size, double *out);

#endif
