// SPDX-License-Identifier: MIT
// Comma-separated text, field by field.
#include "base/csv.h"
#include "base/number.h"

#include <math.h>

sn_csv sn_csv_new(sn_context *ctx, const char *path, const char *text, size_t size) {
  return (sn_csv){.ctx = ctx, .path = path, .p = sn_skip_byte_order_mark(text, size), .end = text + size, .line = 1};
}

// Lines end with LF, CR LF, or CR (old Macs).
static bool is_line_end(char c) { return c == '\n' || c == '\r'; }

bool sn_csv_field(sn_csv *csv, const char **field, size_t *size) {
  if (csv->column > 0) {
    if (csv->p == csv->end || *csv->p != ',') return false;
    csv->p++;
  }
  csv->column++;
  const char *start = csv->p;
  while (csv->p < csv->end && *csv->p != ',' && !is_line_end(*csv->p)) csv->p++;
  const char *stop = csv->p;
  while (start < stop && (*start == ' ' || *start == '\t')) start++;
  while (stop > start && (stop[-1] == ' ' || stop[-1] == '\t')) stop--;
  if (stop - start >= 2 && *start == '"' && stop[-1] == '"') start++, stop--;
  *field = start, *size = (size_t)(stop - start);
  return true;
}

void sn_csv_next_line(sn_csv *csv) {
  while (csv->p < csv->end && !is_line_end(*csv->p)) csv->p++;
  if (csv->end - csv->p >= 2 && csv->p[0] == '\r' && csv->p[1] == '\n') csv->p++;
  if (csv->p < csv->end) csv->p++;
  csv->line++;
  csv->column = 0;
}

bool sn_csv_blank_line(const sn_csv *csv) {
  const char *p = csv->p;
  while (p < csv->end && (*p == ' ' || *p == '\t')) p++;
  return p == csv->end || is_line_end(*p);
}

int sn_csv_count_rows(const sn_csv *from) {
  sn_csv csv = *from;
  int rows = 0;
  for (; csv.p < csv.end; sn_csv_next_line(&csv)) rows += !sn_csv_blank_line(&csv);
  return rows;
}

sn_status sn_csv_number(sn_csv *csv, const char *field, size_t size, double *out) {
  const char *behind = sn_parse_number(field, field + size, out);
  if (behind != field + size || size == 0 || !isfinite(*out)) {
    int shown = size < 60 ? (int)size : 60;
    return sn_fail(csv->ctx, SN_BAD_FILE, "%s:%d: '%.*s' is not a finite number (column %d)", csv->path, csv->line,
                   shown, field, csv->column);
  }
  return SN_OK;
}
