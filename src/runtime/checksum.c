// SPDX-License-Identifier: MIT
// CRC-32 (polynomial 0xEDB88320), eight bytes at a time. The tables are built on the stack: the runtime has no global
// state.
#include <string.h>

#include "runtime/format.h"

// Four bits at a time with a constant table: for short inputs.
static uint32_t short_crc32(uint32_t crc, const uint8_t *at, uint64_t size) {
  static const uint32_t table[16] = {0,           0x1db71064u, 0x3b6e20c8u, 0x26d930acu, 0x76dc4190u, 0x6b6b51f4u,
                                     0x4db26158u, 0x5005713cu, 0xedb88320u, 0xf00f9344u, 0xd6d6a3e8u, 0xcb61b38cu,
                                     0x9b64c2b0u, 0x86d3d2d4u, 0xa00ae278u, 0xbdbdf21cu};
  crc = ~crc;
  for (; size; size--) {
    crc ^= *at++;
    crc = crc >> 4 ^ table[crc & 15];
    crc = crc >> 4 ^ table[crc & 15];
  }
  return ~crc;
}

uint32_t sn_rt_crc32(uint32_t crc, const void *bytes, uint64_t size) {
  if (size < 4096) return short_crc32(crc, bytes, size);
  uint32_t table[8][256];
  for (uint32_t n = 0; n < 256; n++) {
    uint32_t c = n;
    for (int bit = 0; bit < 8; bit++) c = c & 1 ? c >> 1 ^ 0xEDB88320u : c >> 1;
    table[0][n] = c;
  }
  for (uint32_t n = 0; n < 256; n++)
    for (int t = 1; t < 8; t++) table[t][n] = table[t - 1][n] >> 8 ^ table[0][table[t - 1][n] & 255];

  const uint8_t *at = bytes;
  crc = ~crc;
  for (; size >= 8; size -= 8, at += 8) {
    uint32_t low, high;
    memcpy(&low, at, 4), memcpy(&high, at + 4, 4);
    low ^= crc;
    crc = table[7][low & 255] ^ table[6][low >> 8 & 255] ^ table[5][low >> 16 & 255] ^ table[4][low >> 24] ^
          table[3][high & 255] ^ table[2][high >> 8 & 255] ^ table[1][high >> 16 & 255] ^ table[0][high >> 24];
  }
  for (; size; size--) crc = crc >> 8 ^ table[0][(crc ^ *at++) & 255];
  return ~crc;
}
