// SPDX-License-Identifier: MIT
// Tables for the analysis of variance: FACTOR,FACTOR,value or FACTOR,FACTOR,mean,sd,n. Two passes over the text: the
// levels, then the numbers.
#include "lab/stats/stats.h"
#include "base/csv.h"

#include <math.h>
#include <string.h>

typedef struct slice {
  const char *text;
  size_t size;
  int line; // where it was first seen
} slice;

enum { most_columns = 5 };

typedef struct reader {
  sn_context *ctx;
  const char *name;
  bool summary;
  int columns, stated_count;
  slice factor[2], level[2][SN_ANOVA_MAX_LEVELS];
  int level_count[2];
  int *lines; // of each cell's last row
  sn_arena scratch;
} reader;

static bool is_word(slice s, const char *word) { return s.size == strlen(word) && memcmp(s.text, word, s.size) == 0; }

static bool same_slice(slice a, slice b) { return a.size == b.size && memcmp(a.text, b.text, a.size) == 0; }

// A length for %.*s that keeps messages short.
static int shown(slice s) { return s.size < 60 ? (int)s.size : 60; }

// The fields of one line. Returns how many there are; those beyond most_columns are only counted.
static int read_fields(sn_csv *csv, slice *fields) {
  slice field = {.line = csv->line};
  int count = 0;
  for (; sn_csv_field(csv, &field.text, &field.size); count++)
    if (count < most_columns) fields[count] = field;
  return count;
}

static sn_status read_header(reader *r, sn_csv *csv) {
  static const char *const expected[] = {"mean", "sd", "n"};
  slice fields[most_columns];
  r->columns = read_fields(csv, fields);
  bool good = r->columns == 3 && is_word(fields[2], "value");
  r->summary = r->columns == 5;
  for (int k = 0; k < 3 && r->summary; k++) r->summary = is_word(fields[2 + k], expected[k]);
  if (!good && !r->summary) {
    return sn_fail(
      r->ctx, SN_BAD_FILE,
      "%s:1: the first line must be FACTOR,FACTOR,value (a row per observation) or FACTOR,FACTOR,mean,sd,n "
      "(a row per cell)",
      r->name);
  }
  for (int k = 0; k < 2; k++) {
    r->factor[k] = fields[k];
    if (fields[k].size == 0) {
      return sn_fail(r->ctx, SN_BAD_FILE, "%s:1: the factor of column %d has no name", r->name, k + 1);
    }
  }
  if (same_slice(fields[0], fields[1])) {
    return sn_fail(r->ctx, SN_BAD_FILE, "%s:1: both factors are called '%.*s'", r->name, shown(fields[0]),
                   fields[0].text);
  }
  sn_csv_next_line(csv);
  return SN_OK;
}

// ---- levels --------------------------------------------------------------------------------------------------------

static int find_level(const reader *r, int factor, slice name) {
  int k = 0;
  while (k < r->level_count[factor] && !same_slice(r->level[factor][k], name)) k++;
  return k < r->level_count[factor] ? k : -1;
}

static bool states_total(const reader *r, slice name) { return r->summary && is_word(name, "total"); }

static sn_status collect_level(reader *r, int factor, slice name) {
  if (name.size == 0) {
    return sn_fail(r->ctx, SN_BAD_FILE, "%s:%d: no level of %.*s (column %d)", r->name, name.line,
                   shown(r->factor[factor]), r->factor[factor].text, factor + 1);
  }
  if (states_total(r, name) || find_level(r, factor, name) >= 0) return SN_OK;
  if (r->level_count[factor] == SN_ANOVA_MAX_LEVELS) {
    return sn_fail(r->ctx, SN_BAD_FILE,
                   "%s:%d: '%.*s' is the level number %d of %.*s, and %d are the most; is column %d not a factor?",
                   r->name, name.line, shown(name), name.text, SN_ANOVA_MAX_LEVELS + 1, shown(r->factor[factor]),
                   r->factor[factor].text, SN_ANOVA_MAX_LEVELS, factor + 1);
  }
  r->level[factor][r->level_count[factor]++] = name;
  return SN_OK;
}

static sn_status collect_levels(reader *r, sn_csv csv) {
  slice fields[most_columns];
  int rows = 0;
  for (; csv.p < csv.end; sn_csv_next_line(&csv)) {
    if (sn_csv_blank_line(&csv)) continue;
    int count = read_fields(&csv, fields);
    if (count != r->columns) {
      return sn_fail(r->ctx, SN_BAD_FILE, "%s:%d: %d fields where the first line has %d", r->name, csv.line, count,
                     r->columns);
    }
    for (int k = 0; k < 2; k++) {
      sn_status status = collect_level(r, k, fields[k]);
      if (status != SN_OK) return status;
    }
    rows++;
    r->stated_count += states_total(r, fields[0]) || states_total(r, fields[1]);
  }
  if (rows == 0) return sn_fail(r->ctx, SN_BAD_FILE, "%s: no rows below the first line", r->name);
  for (int k = 0; k < 2; k++)
    if (r->level_count[k] < 2) {
      slice only = r->level_count[k] == 1 ? r->level[k][0] : (slice){.text = "total", .size = 5, .line = 2};
      return sn_fail(r->ctx, SN_BAD_FILE, "%s:%d: %.*s has only the level '%.*s' (column %d); comparing needs two",
                     r->name, only.line, shown(r->factor[k]), r->factor[k].text, shown(only), only.text, k + 1);
    }
  return SN_OK;
}

// ---- numbers -------------------------------------------------------------------------------------------------------

// One unit in the last decimal of a number as written; 0 for zero, which is often exact.
static double last_place(const char *text, size_t size, double value) {
  int decimals = 0, exponent = 0, sign = 1;
  size_t k = 0;
  bool behind_point = false;
  for (; k < size && text[k] != 'e' && text[k] != 'E'; k++) {
    decimals += behind_point;
    behind_point = behind_point || text[k] == '.';
  }
  for (k++; k < size; k++) {
    if (text[k] == '-') sign = -1;
    if (text[k] >= '0' && text[k] <= '9' && exponent < 1000) exponent = 10 * exponent + (text[k] - '0');
  }
  return value == 0 ? 0 : pow(10, sign * exponent - decimals);
}

static sn_status read_number(sn_csv *csv, double *out, double *unit) {
  const char *field;
  size_t size;
  sn_csv_field(csv, &field, &size);
  sn_status status = sn_csv_number(csv, field, size, out);
  if (status == SN_OK && unit) *unit = fmax(*unit, last_place(field, size, *out));
  return status;
}

static sn_status read_summary(const reader *r, sn_csv *csv, sn_anova_table *out, sn_anova_stated *row) {
  double n = 0;
  sn_status status = read_number(csv, &row->mean, &out->mean_unit);
  if (status == SN_OK) status = read_number(csv, &row->sd, &out->sd_unit);
  if (status == SN_OK && row->sd < 0) {
    status = sn_fail(r->ctx, SN_BAD_FILE, "%s:%d: a negative standard deviation, %g (column 4)", r->name, csv->line,
                     row->sd);
  }
  if (status == SN_OK) status = read_number(csv, &n, NULL);
  if (status == SN_OK && !(n >= 2 && n <= 1e12 && n == floor(n))) {
    status = sn_fail(r->ctx, SN_BAD_FILE, "%s:%d: n is %g (column 5); it must be a whole number from 2 to 1e12",
                     r->name, csv->line, n);
  }
  if (status == SN_OK) row->n = (int64_t)n;
  return status;
}

static sn_status put_summary(const reader *r, sn_anova_table *out, const sn_anova_stated *row) {
  if (row->level[0] < 0 || row->level[1] < 0) {
    out->stated[out->stated_count++] = *row;
    return SN_OK;
  }
  int *line = &r->lines[row->level[0] * r->level_count[1] + row->level[1]];
  if (*line) {
    return sn_fail(r->ctx, SN_BAD_FILE, "%s:%d: this cell was given on line %d already", r->name, row->line, *line);
  }
  *line = row->line;
  *sn_anova_cell(out, row->level[0], row->level[1]) = sn_sample_from_sd(row->mean, row->sd, row->n);
  return SN_OK;
}

static sn_status read_row(const reader *r, sn_csv *csv, sn_anova_table *out) {
  sn_anova_stated row = {.line = csv->line};
  for (int k = 0; k < 2; k++) {
    slice name;
    sn_csv_field(csv, &name.text, &name.size);
    row.level[k] = find_level(r, k, name);
  }
  if (r->summary) {
    sn_status status = read_summary(r, csv, out, &row);
    return status == SN_OK ? put_summary(r, out, &row) : status;
  }
  double value;
  sn_status status = read_number(csv, &value, NULL);
  if (status != SN_OK) return status;
  r->lines[row.level[0] * r->level_count[1] + row.level[1]] = row.line;
  sn_sample_add(sn_anova_cell(out, row.level[0], row.level[1]), value);
  return SN_OK;
}

static sn_status check_cells(const reader *r, const sn_anova_table *table) {
  for (int a = 0; a < r->level_count[0]; a++)
    for (int b = 0; b < r->level_count[1]; b++) {
      const slice first = r->level[0][a], second = r->level[1][b];
      int64_t n = sn_anova_cell(table, a, b)->n;
      if (n == 0) {
        return sn_fail(
          r->ctx, SN_BAD_FILE,
          "%s: nothing for %s=%.*s (first on line %d) with %s=%.*s (first on line %d); every combination is "
          "needed",
          r->name, table->factor[0], shown(first), first.text, first.line, table->factor[1], shown(second),
          second.text, second.line);
      }
      if (n < 2) {
        return sn_fail(r->ctx, SN_BAD_FILE, "%s:%d: the only value of %s=%.*s with %s=%.*s; a cell needs two or more",
                       r->name, r->lines[a * r->level_count[1] + b], table->factor[0], shown(first), first.text,
                       table->factor[1], shown(second), second.text);
      }
    }
  return SN_OK;
}

// ---- the file ------------------------------------------------------------------------------------------------------

static sn_status copy_slice(reader *r, slice s, const char **out) {
  char *copy = SN_NEW(r->ctx, &r->scratch, char, s.size + 1);
  if (!copy) return r->ctx->error.status;
  *out = memcpy(copy, s.text, s.size);
  return SN_OK;
}

static sn_status new_table(reader *r, sn_anova_table *out) {
  const char *factor[2], *level[2][SN_ANOVA_MAX_LEVELS];
  sn_status status = SN_OK;
  for (int k = 0; k < 2 && status == SN_OK; k++) {
    status = copy_slice(r, r->factor[k], &factor[k]);
    for (int i = 0; status == SN_OK && i < r->level_count[k]; i++) {
      status = copy_slice(r, r->level[k][i], &level[k][i]);
    }
  }
  if (status != SN_OK) return status;
  r->lines = SN_NEW(r->ctx, &r->scratch, int, r->level_count[0] * r->level_count[1]);
  if (!r->lines) return r->ctx->error.status;
  status = sn_anova_table_new(r->ctx, factor, (const char *const *const[2]){level[0], level[1]}, r->level_count, out);
  if (status != SN_OK) return status;
  out->stated = SN_NEW(r->ctx, &out->memory, sn_anova_stated, r->stated_count);
  return out->stated ? SN_OK : r->ctx->error.status;
}

static sn_status read_table(reader *r, sn_csv *csv, sn_anova_table *out) {
  sn_status status = read_header(r, csv);
  if (status == SN_OK) status = collect_levels(r, *csv);
  if (status == SN_OK) status = new_table(r, out);
  for (; status == SN_OK && csv->p < csv->end; sn_csv_next_line(csv))
    if (!sn_csv_blank_line(csv)) status = read_row(r, csv, out);
  return status == SN_OK ? check_cells(r, out) : status;
}

sn_status sn_anova_table_parse(sn_context *ctx, const char *name, const char *text, size_t size,
                               sn_anova_table *out) {
  *out = (sn_anova_table){0};
  reader r = {.ctx = ctx, .name = name, .scratch = sn_arena_new(ctx)};
  sn_csv csv = sn_csv_new(ctx, name, text, size);
  sn_status status = read_table(&r, &csv, out);
  sn_arena_free(&r.scratch);
  if (status != SN_OK) sn_anova_table_free(out);
  return status;
}

sn_status sn_anova_table_read(sn_context *ctx, const char *path, sn_anova_table *out) {
  *out = (sn_anova_table){0};
  sn_file file;
  sn_status status = sn_file_open(ctx, path, &file);
  if (status != SN_OK) return status;
  status = sn_anova_table_parse(ctx, path, (const char *)file.bytes, file.size, out);
  sn_file_close(&file);
  return status;
}
