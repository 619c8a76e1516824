// SPDX-License-Identifier: MIT
// Formatted messages without printf, and names of enum values.
#include <stdarg.h>

#include "runtime/internal.h"

typedef struct text {
  char *at, *end; // end: last position for the terminating zero
} text;

static void put(text *t, char c) {
  if (t->at < t->end) *t->at++ = c;
}

static void put_text(text *t, const char *s) {
  while (*s) put(t, *s++);
}

static void put_number(text *t, unsigned long long n) {
  char digits[20];
  int count = 0;
  do digits[count++] = (char)('0' + n % 10);
  while (n /= 10);
  while (count) put(t, digits[--count]);
}

sn_rt_status sn_rt_fail(sn_rt_error *error, sn_rt_status status, const char *format, ...) {
  if (!error) return status;
  error->status = status;
  text t = {error->message, error->message + sizeof error->message - 1};
  va_list arguments;
  va_start(arguments, format);
  for (; *format; format++) {
    if (*format != '%') {
      put(&t, *format);
      continue;
    }
    int longs = 0;
    while (*++format == 'l') longs++;
    if (*format == 'I') format += 3, longs = 2; // PRIu64 is I64u for Windows' older C library
    if (*format == 's')
      put_text(&t, va_arg(arguments, const char *));
    else if (longs == 0)
      put_number(&t, va_arg(arguments, unsigned));
    else if (longs == 1)
      put_number(&t, va_arg(arguments, unsigned long));
    else
      put_number(&t, va_arg(arguments, unsigned long long));
  }
  va_end(arguments);
  *t.at = 0;
  return status;
}

// Defines a function that returns the name of an enum value.
#define NAMED(function, type, ...)                                                                                   \
  const char *function(type value) {                                                                                 \
    static const char *const names[] = {__VA_ARGS__};                                                                \
    return (unsigned)value < sizeof names / sizeof *names ? names[(unsigned)value] : "unknown";                      \
  }
#define SECTION_NAME(id, name) name,

NAMED(sn_rt_correct_name, sn_rt_correct, "none", "rbf", "eigen")
NAMED(sn_rt_drive_name, sn_rt_drive, "joints", "rotreg", "torque", "controls", "helpers")
NAMED(sn_rt_blend_name, sn_rt_blend, "linear", "dualquat", "centres")
NAMED(sn_rt_shade_name, sn_rt_shade, "transform", "recompute")
NAMED(sn_rt_status_name, sn_rt_status, "SN_RT_OK", "SN_RT_BAD_MODEL", "SN_RT_UNSUPPORTED", "SN_RT_BAD_ARGUMENT")
NAMED(sn_rt_path_name, sn_rt_path, "best", "scalar", "sse2", "avx2", "neon", "wasm", "avx512")
NAMED(sn_rt_section_name, sn_rt_section_id, SN_RT_SECTION_LIST(SECTION_NAME))

int sn_rt_version(void) { return SN_RT_VERSION; }

int sn_rt_same_text(const char *a, const char *b) {
  while (*a && *a == *b) a++, b++;
  return *a == *b;
}
