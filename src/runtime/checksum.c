// SPDX-License-Identifier: MIT
// CRC-32 (polynomial 0xEDB88320), eight bytes at a time with tables made on the stack: there is no global state, and
// making them takes a few microseconds.
#include <string.h>

#include "runtime/format.h"

uint32_t sn_rt_crc32(uint32_t crc, const void *bytes, uint64_t size) {
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
