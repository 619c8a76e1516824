// SPDX-License-Identifier: MIT
// Text that others chose (names of joints, files, extensions) on its way into reports.
#include "report/report.h"

#include <string.h>

int sn_report_character(const unsigned char *text) {
  static const unsigned least[5] = {0, 0, 0x80, 0x800, 0x10000};
  int size = *text < 0x80 ? 1 : *text >> 5 == 6 ? 2 : *text >> 4 == 14 ? 3 : *text >> 3 == 30 ? 4 : 0;
  unsigned code = size > 1 ? *text & (0x7fu >> size) : *text;
  for (int k = 1; k < size; k++) {
    if (text[k] >> 6 != 2) return 0;
    code = code << 6 | (text[k] & 63u);
  }
  if (size == 0 || code < least[size] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return 0;
  return size;
}

// Valid UTF-8: what is no character becomes U+FFFD. To be given back; NULL where memory runs out. From the allocator of JSON, so
// that a program that guards it never writes a report with a name missing.
static char *to_utf8(const char *text) {
  json_malloc_t take;
  json_get_alloc_funcs(&take, NULL);
  char *out = take(3 * strlen(text) + 1), *end = out;
  if (!out) return NULL;
  for (const unsigned char *c = (const unsigned char *)text; *c;) {
    int size = sn_report_character(c);
    memcpy(end, size > 0 ? (const char *)c : "\xef\xbf\xbd", size > 0 ? (size_t)size : 3);
    end += size > 0 ? size : 3, c += size > 0 ? size : 1;
  }
  *end = '\0';
  return out;
}

static void give_back(char *text) {
  json_free_t give;
  json_get_alloc_funcs(NULL, &give);
  give(text);
}

json_t *sn_report_text(const char *text) {
  char *good = to_utf8(text);
  json_t *out = good ? json_string(good) : NULL;
  if (good) give_back(good);
  return out;
}

void sn_report_put(json_t *object, const char *name, json_t *value) {
  char *good = to_utf8(name);
  if (good)
    json_object_set_new(object, good, value);
  else
    json_decref(value);
  if (good) give_back(good);
}
