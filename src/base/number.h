// SPDX-License-Identifier: MIT
// Numbers in files: as bytes, and as decimal text (the same bits as strtod in the C locale, much faster).
#ifndef SINEW_BASE_NUMBER_H
#define SINEW_BASE_NUMBER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Parses a decimal number at [text, end). Returns the first character after it, or NULL if there is none (nan and inf are
// not accepted; overflow gives infinity).
const char *sn_parse_number(const char *text, const char *end, double *out);

// A number of `size` bytes, the lowest first.
static inline uint64_t sn_little(const uint8_t *at, int size) {
  uint64_t value = 0;
  for (int k = size - 1; k >= 0; k--) value = value << 8 | at[k];
  return value;
}

static inline uint32_t sn_little32(const uint8_t *at) { return (uint32_t)sn_little(at, 4); }

// Floating-point numbers from their bits.
static inline float sn_float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static inline double sn_double_of(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

// Skips a UTF-8 byte order mark.
static inline const char *sn_skip_byte_order_mark(const char *text, size_t size) {
  return size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? text + 3 : text;
}

#endif
