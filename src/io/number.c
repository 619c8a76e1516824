// SPDX-License-Identifier: MIT
#include "io/number.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                       1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static bool is_digit(char c) { return (unsigned char)(c - '0') < 10; }

// What the fast path cannot round exactly: many digits, large exponents.
static void parse_slowly(const char *text, const char *end, double *out) {
  char copy[512];
  size_t size = (size_t)(end - text);
  if (size >= sizeof copy) size = sizeof copy - 1;
  memcpy(copy, text, size);
  copy[size] = '\0';
  *out = strtod(copy, NULL);
}

const char *sn_parse_number(const char *text, const char *end, double *out) {
  const char *p = text;
  bool negative = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) p++;
  uint64_t mantissa = 0;
  int digits = 0, exponent = 0;
  for (; p < end && is_digit(*p); p++, digits++) mantissa = mantissa * 10 + (uint64_t)(*p - '0');
  if (p < end && *p == '.') {
    const char *point = ++p;
    for (; p < end && is_digit(*p); p++) mantissa = mantissa * 10 + (uint64_t)(*p - '0');
    digits += (int)(p - point), exponent = (int)(point - p);
  }
  if (digits == 0) return NULL;
  if (p < end && (*p == 'e' || *p == 'E')) {
    const char *q = p + 1;
    bool down = q < end && *q == '-';
    if (q < end && (*q == '-' || *q == '+')) q++;
    if (q < end && is_digit(*q)) {
      int value = 0;
      for (; q < end && is_digit(*q); q++)
        if (value < 100000) value = value * 10 + (*q - '0');
      exponent += down ? -value : value;
      p = q;
    }
  }
  // Exact: an integer below 2^53 times or over a power of ten that a double holds exactly, rounded once.
  if (digits <= 18 && mantissa < (UINT64_C(1) << 53) && exponent >= -22 && exponent <= 22) {
    double value = (double)mantissa;
    value = exponent < 0 ? value / powers_of_ten[-exponent] : value * powers_of_ten[exponent];
    *out = negative ? -value : value;
  } else {
    parse_slowly(text, p, out);
  }
  return p;
}
