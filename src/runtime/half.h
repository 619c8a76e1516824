// SPDX-License-Identifier: MIT
// IEEE 754 half precision.
#ifndef SINEW_RUNTIME_HALF_H
#define SINEW_RUNTIME_HALF_H

#include <stdint.h>
#include <string.h>

// Rounds to half precision; overflow gives infinity.
static inline uint16_t sn_rt_half_of(float x) {
  uint32_t bits, sign;
  memcpy(&bits, &x, sizeof bits);
  sign = bits >> 16 & 0x8000u, bits &= 0x7fffffffu;
  if (bits > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
  if (bits >= 0x47800000u) return (uint16_t)(sign | 0x7c00u);
  if (bits < 0x38800000u) { // below 2^-14: a multiple of 2^-24
    float scaled;
    memcpy(&scaled, &bits, sizeof scaled);
    return (uint16_t)(sign | (uint32_t)(scaled * 16777216.0f + 0.5f));
  }
  bits += 0x0fffu + (bits >> 13 & 1); // to nearest, ties to even
  return (uint16_t)(sign | (bits - 0x38000000u) >> 13);
}

static inline float sn_rt_half_value(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000u) << 16, rest = half & 0x7fffu, bits;
  float value;
  if (rest < 0x400u) {
    value = (float)rest * (1 / 16777216.0f);
    memcpy(&bits, &value, sizeof bits);
  } else {
    bits = (rest << 13) + (rest >= 0x7c00u ? 0x70000000u : 0x38000000u);
  }
  bits |= sign;
  memcpy(&value, &bits, sizeof value);
  return value;
}

// `count` numbers, as they are or as halves.
static inline void sn_rt_put(char *to, const float *from, int count, int half) {
  uint16_t halves[4];
  for (int c = 0; half && c < count; c++) halves[c] = sn_rt_half_of(from[c]);
  memcpy(to, half ? (const void *)halves : from, (size_t)count * (half ? sizeof *halves : sizeof *from));
}

#endif
