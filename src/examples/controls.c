// SPDX-License-Identifier: MIT
// Control vertices: a list, a file of numbers, or how many to choose.
#include "examples/load.h"
#include "base/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_separator(char c) { return c == ',' || c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ';'; }

// Whole numbers between separators; '#' begins a comment. Vertices of a welded mesh are named by the file's numbers.
static sn_status parse_controls(sn_context *ctx, const char *name, const char *text, size_t size, sn_examples *out) {
  const char *p = text, *end = text + size;
  int limit = out->source ? out->source_count : out->rest.vertex_count,
      *list = SN_NEW(ctx, &out->memory, int, size + 1);
  if (!list) return ctx->error.status;
  while (p < end) {
    if (is_separator(*p)) {
      p++;
    } else if (*p == '#') {
      while (p < end && *p != '\n') p++;
    } else {
      double value;
      const char *behind = sn_parse_number(p, end, &value);
      if (!behind || value != floor(value) || (behind < end && !is_separator(*behind) && *behind != '#')) {
        return sn_fail(ctx, SN_BAD_INPUT, "%s: '%.*s' is not a vertex number", name,
                       (int)(end - p < 12 ? end - p : 12), p);
      }
      if (value < 0 || value >= limit) {
        return sn_fail(ctx, SN_BAD_INPUT, "%s: vertex %.0f does not exist; the last one is %d", name, value,
                       limit - 1);
      }
      list[out->control_count++] = out->source ? out->source[(int)value] : (int)value;
      p = behind;
    }
  }
  out->controls = list;
  return out->control_count > 0 ? SN_OK : sn_fail(ctx, SN_BAD_INPUT, "%s: no control vertices", name);
}

// auto:N leaves the choice of N vertices to the trainer.
static sn_status wanted_controls(sn_context *ctx, const char *spec, sn_examples *out) {
  char *end;
  double count = strtod(spec + 5, &end);
  if (!spec[5] || *end || count != floor(count) || count < 1 || count > out->rest.vertex_count) {
    return sn_fail(ctx, SN_BAD_INPUT, "`controls` %s: auto:N chooses 1 to %d vertices", spec, out->rest.vertex_count);
  }
  out->controls_wanted = (int)count;
  return SN_OK;
}

sn_status sn_load_controls(sn_context *ctx, const char *spec, sn_examples *out) {
  if (strncmp(spec, "auto:", 5) == 0) return wanted_controls(ctx, spec, out);
  if (access(spec, F_OK) != 0) {
    sn_status status = parse_controls(ctx, "`controls`", spec, strlen(spec), out);
    if (status == SN_OK && out->control_count == 1) {
      sn_examples_note(ctx, out, "`controls` %s is one control point, vertex %s; auto:%s has that many chosen", spec,
                       spec, spec);
    }
    return status;
  }
  sn_file file;
  sn_status status = sn_file_open(ctx, spec, &file);
  if (status != SN_OK) return status;
  status = parse_controls(ctx, spec, (const char *)file.bytes, file.size, out);
  sn_file_close(&file);
  return status;
}
