// SPDX-License-Identifier: MIT
// Growing lists: bytes are appended, and the memory is doubled.
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

void sn_append(sn_context *ctx, sn_status *status, sn_growing *list, const void *bytes, size_t size) {
  void *to = *status == SN_OK ? sn_grow(ctx, list, size) : NULL;
  if (!to && *status == SN_OK) *status = ctx->error.status;
  if (to && size > 0) memcpy(to, bytes, size);
}
