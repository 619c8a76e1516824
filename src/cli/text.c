// SPDX-License-Identifier: MIT
// Text that others chose (names of joints, files, extensions) on its way to a terminal and into reports.
#include "cli/text.h"

#include <stdlib.h>
#include <string.h>

#include "cli/memory.h"

// Bytes of the UTF-8 character at `text`, 0 where there is none: overlong forms, surrogates and stray bytes are no characters.
static int character_size(const unsigned char *text) {
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

// A terminal may act on it: all but line ends and tabs below 32, 127, and the second set of controls, 128 to 159.
static bool is_control(const unsigned char *text, int size) {
  if (size == 1) return (*text < 32 && *text != '\n' && *text != '\t') || *text == 127;
  return size == 2 && text[0] == 0xc2 && text[1] < 0xa0;
}

static void print_safely(FILE *stream, const char *text) {
  for (const unsigned char *c = (const unsigned char *)text; *c;) {
    int size = character_size(c);
    if (size > 0 && !is_control(c, size)) {
      fwrite(c, 1, (size_t)size, stream);
    } else {
      for (int k = 0; k < (size > 0 ? size : 1); k++) fprintf(stream, "\\x%02x", c[k]);
    }
    c += size > 0 ? size : 1;
  }
}

void sn_cli_vprint(FILE *stream, const char *format, va_list args) {
  char buffer[1024], *text = buffer;
  va_list again;
  va_copy(again, args);
  int length = vsnprintf(buffer, sizeof buffer, format, args);
  if (length >= (int)sizeof buffer) {
    text = malloc((size_t)length + 1);
    if (!text) sn_cli_out_of_memory((size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
  }
  va_end(again);
  print_safely(stream, text);
  if (text != buffer) free(text);
}

void sn_cli_print(FILE *stream, const char *format, ...) {
  va_list args;
  va_start(args, format);
  sn_cli_vprint(stream, format, args);
  va_end(args);
}

// Valid UTF-8: what is no character becomes U+FFFD. To be freed.
static char *to_utf8(const char *text) {
  size_t room = 3 * strlen(text) + 1;
  char *out = malloc(room), *end = out;
  if (!out) sn_cli_out_of_memory(room);
  for (const unsigned char *c = (const unsigned char *)text; *c;) {
    int size = character_size(c);
    memcpy(end, size > 0 ? (const char *)c : "\xef\xbf\xbd", size > 0 ? (size_t)size : 3);
    end += size > 0 ? size : 3, c += size > 0 ? size : 1;
  }
  *end = '\0';
  return out;
}

json_t *sn_cli_json_text(const char *text) {
  char *good = to_utf8(text);
  json_t *out = json_string(good);
  free(good);
  return out;
}

void sn_cli_json_put(json_t *object, const char *name, json_t *value) {
  char *good = to_utf8(name);
  json_object_set_new(object, good, value);
  free(good);
}
