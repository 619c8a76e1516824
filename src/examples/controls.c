// SPDX-License-Identifier: MIT
// Control vertices: a list, a file of vertex numbers, or auto:N.
#include "examples/load.h"
#include "base/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_separator(char c) { return c == ',' || c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ';'; }

// Parses vertex numbers between separators; '#' begins a comment. Numbers refer to the file, also where the mesh is welded.
static void parse_controls(sn_loading *l, const char *name, const char *text, size_t size) {
  const char *p = text, *end = text + size;
  sn_examples *out = l->out;
  int limit = out->source ? out->source_count : out->rest.vertex_count,
      *list = SN_TAKE(l, &out->memory, int, size + 1);
  while (p < end && l->status == SN_OK) {
    if (is_separator(*p)) {
      p++;
    } else if (*p == '#') {
      while (p < end && *p != '\n') p++;
    } else {
      double value;
      const char *behind = sn_parse_number(p, end, &value);
      if (!behind || value != floor(value) || (behind < end && !is_separator(*behind) && *behind != '#'))
        return sn_fail_once(l, SN_BAD_INPUT, "%s: '%.*s' is not a vertex number", name,
                            (int)(end - p < 12 ? end - p : 12), p);
      if (value < 0 || value >= limit)
        return sn_fail_once(l, SN_BAD_INPUT, "%s: vertex %.0f does not exist; the last one is %d", name, value,
                            limit - 1);
      list[out->control_count++] = sn_examples_vertex(out, (int)value);
      p = behind;
    }
  }
  out->controls = list;
  if (out->control_count == 0) sn_fail_once(l, SN_BAD_INPUT, "%s: no control vertices", name);
}

// auto:N: the trainer chooses N vertices.
static void wanted_controls(sn_loading *l, const char *spec) {
  char *end;
  double count = strtod(spec + 5, &end);
  int most = l->out->rest.vertex_count;
  if (!spec[5] || *end || count != floor(count) || count < 1 || count > most)
    return sn_fail_once(l, SN_BAD_INPUT, "`controls` %s: auto:N chooses 1 to %d vertices", spec, most);
  l->out->control_target = (int)count;
}

void sn_load_controls(sn_loading *l, const char *spec) {
  if (strncmp(spec, "auto:", 5) == 0) return wanted_controls(l, spec);
  if (access(spec, F_OK) != 0) {
    parse_controls(l, "`controls`", spec, strlen(spec));
    if (l->out->control_count == 1)
      sn_examples_note(l->ctx, l->out, "`controls` %s is one control point, vertex %s; auto:%s has that many chosen",
                       spec, spec, spec);
    return;
  }
  SN_FREED_BY(sn_file_close) sn_file file;
  l->status = sn_file_open(l->ctx, spec, &file);
  if (l->status == SN_OK) parse_controls(l, spec, (const char *)file.bytes, file.size);
}
