// SPDX-License-Identifier: MIT
// Parses decimal numbers: by exact powers of ten if possible, else by strtod.
#include "base/number.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static const double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                       1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static bool is_digit(char c) { return (unsigned char)(c - '0') < 10; }

// mantissa * 10^shift where both are exact doubles, so that it is rounded once; else false.
static bool parse_fast(uint64_t mantissa, int64_t shift, double *out) {
  if (mantissa >= (UINT64_C(1) << 53) || shift < -22 || shift > 22) return false;
  double value = (double)mantissa;
  *out = shift < 0 ? value / powers_of_ten[-shift] : value * powers_of_ten[shift];
  return true;
}

// For numbers with many digits or large exponents. strtod gets the same number without a decimal point (which depends on
// the locale) and with at most 800 digits: halfway points of doubles have fewer than 770, so of further digits only
// matters whether all are zero.
static double parse_slowly(const char *digits, const char *end, int64_t exponent) {
  enum { limit = 800 };
  char copy[limit + 32];
  int kept = 0;
  bool fraction = false, more = false;
  for (const char *p = digits; p < end; p++) {
    if (*p == '.') {
      fraction = true;
      continue;
    }
    if (kept < limit) {
      if (kept > 0 || *p != '0') copy[kept++] = *p;
      exponent -= fraction;
    } else {
      more = more || *p != '0';
      exponent += !fraction;
    }
  }
  if (kept == 0) return 0;
  if (more) copy[kept++] = '1', exponent--;
  if (exponent > 9999) exponent = 9999;
  if (exponent < -9999) exponent = -9999;
  snprintf(copy + kept, 32, "e%d", (int)exponent);
  return strtod(copy, NULL);
}

// Parses an exponent after the digits, if it is complete. Returns the position after it.
static const char *parse_exponent(const char *p, const char *end, int64_t *out) {
  *out = 0;
  if (p == end || (*p != 'e' && *p != 'E')) return p;
  const char *q = p + 1;
  bool down = q < end && *q == '-';
  if (q < end && (*q == '-' || *q == '+')) q++;
  if (q == end || !is_digit(*q)) return p;
  int64_t value = 0;
  for (; q < end && is_digit(*q); q++)
    if (value < INT64_C(1000000000000000)) value = value * 10 + (*q - '0');
  *out = down ? -value : value;
  return q;
}

const char *sn_parse_number(const char *text, const char *end, double *out) {
  const char *p = text;
  bool negative = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) p++;
  const char *digits = p;
  uint64_t mantissa = 0;
  for (; p < end && is_digit(*p); p++) mantissa = mantissa * 10 + (uint64_t)(*p - '0');
  int64_t count = p - digits, exponent, places = 0;
  if (p < end && *p == '.') {
    const char *point = ++p;
    for (; p < end && is_digit(*p); p++) mantissa = mantissa * 10 + (uint64_t)(*p - '0');
    places = p - point;
    count += places;
  }
  if (count == 0) return NULL;
  const char *behind = parse_exponent(p, end, &exponent);
  double value;
  if (count > 19 || !parse_fast(mantissa, exponent - places, &value)) value = parse_slowly(digits, p, exponent);
  *out = negative ? -value : value;
  return behind;
}
