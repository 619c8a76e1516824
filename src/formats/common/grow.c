// SPDX-License-Identifier: MIT
// Growing lists, and the numbering of equal rows.
#include "formats/common/reader.h"

#include <string.h>

void *sn_grow(sn_context *ctx, sn_growing *list, size_t more) {
  if (more > list->room - list->size) {
    size_t room = 2 * (list->size + more) + 4096;
    sn_arena memory = sn_arena_new(ctx);
    uint8_t *larger = SN_NEW(ctx, &memory, uint8_t, room);
    if (!larger) return NULL;
    if (list->size > 0) memcpy(larger, list->bytes, list->size);
    sn_arena_free(&list->memory);
    *list = (sn_growing){larger, list->size, room, memory};
  }
  list->size += more;
  return list->bytes + list->size - more;
}

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
