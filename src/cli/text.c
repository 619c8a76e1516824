// SPDX-License-Identifier: MIT
// Escapes untrusted text (names of joints, files, extensions) for terminals.
#include "cli/cli.h"

#include <stdlib.h>

#include "report/report.h"

// Control characters: below 32 except line end and tab, 127, and C1 controls, 128 to 159.
static bool is_control(const unsigned char *text, int size) {
  if (size == 1) return (*text < 32 && *text != '\n' && *text != '\t') || *text == 127;
  return size == 2 && text[0] == 0xc2 && text[1] < 0xa0;
}

static void print_safely(FILE *stream, const char *text) {
  for (const unsigned char *c = (const unsigned char *)text; *c;) {
    int size = sn_report_character(c);
    if (size > 0 && !is_control(c, size))
      fwrite(c, 1, (size_t)size, stream);
    else
      for (int k = 0; k < (size > 0 ? size : 1); k++) fprintf(stream, "\\x%02x", c[k]);
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
