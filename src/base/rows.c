// SPDX-License-Identifier: MIT
// Numbers the different rows of a table, by hashing their bytes.
#include <string.h>

#include "base/scope.h"

int sn_number_rows(sn_context *ctx, const void *rows, size_t size, int count, int *numbers, int *first) {
  const uint8_t *bytes = rows;
  size_t slot_count = 2 * (size_t)count + 1;
  SN_SCRATCH(scratch, ctx);
  int used = 0, *slots = SN_NEW(ctx, &scratch, int, slot_count); // number + 1; 0: free
  if (!slots) return -1;
  for (int i = 0; i < count; i++) {
    const uint8_t *row = bytes + (size_t)i * size;
    uint64_t hash = sn_hash(SN_HASH_START, row, size);
    size_t at = (size_t)(hash ^ hash >> 29) % slot_count;
    while (slots[at] && memcmp(bytes + (size_t)first[slots[at] - 1] * size, row, size) != 0)
      at = (at + 1) % slot_count;
    if (!slots[at]) first[used] = i, slots[at] = ++used;
    numbers[i] = slots[at] - 1;
  }
  return used;
}
