// SPDX-License-Identifier: MIT
// Error handling for readers and writers: the first failure is kept in the `status` of a struct that also has `ctx`. Later failures
// are ignored, and allocations return NULL.
#ifndef SINEW_FORMATS_COMMON_READER_H
#define SINEW_FORMATS_COMMON_READER_H

#include "base/number.h"
#include "base/scope.h"

typedef struct sn_reader {
  sn_context *ctx;
  sn_status status;
} sn_reader;

// Reports an error like sn_fail, unless one was reported before.
#define sn_fail_once(r, code, ...)                                                                                   \
  ((r)->status == SN_OK ? (void)((r)->status = sn_fail((r)->ctx, code, __VA_ARGS__)) : (void)0)

static inline void *sn_take(sn_context *ctx, sn_status *status, sn_arena *memory, size_t count, size_t size) {
  void *out = *status == SN_OK ? sn_arena_alloc(ctx, memory, count, size) : NULL;
  if (!out && *status == SN_OK) *status = ctx->error.status;
  return out;
}
// Zeroed memory; NULL after a failure.
#define SN_ROOM(r, memory, count, size) sn_take((r)->ctx, &(r)->status, memory, count, size)
#define SN_TAKE(r, memory, type, count) ((type *)SN_ROOM(r, memory, (size_t)(count), sizeof(type)))

// Takes bytes and little-endian numbers in order. `bad`: something reached past the end; then, and later, NULL or 0.
typedef struct sn_cursor {
  const uint8_t *p, *end;
  bool bad;
} sn_cursor;

static inline const uint8_t *sn_take_bytes(sn_cursor *c, uint64_t size) {
  c->bad = c->bad || (uint64_t)(c->end - c->p) < size;
  return c->bad ? NULL : (c->p += size) - size;
}
static inline uint64_t sn_take_number(sn_cursor *c, int size) {
  const uint8_t *at = sn_take_bytes(c, (uint64_t)size);
  return at ? sn_little(at, size) : 0;
}

// A growing list: `size` bytes are in use. The caller frees its memory.
typedef struct sn_growing {
  uint8_t *bytes;
  size_t size, room;
  sn_arena memory;
} sn_growing;
// Appends `more` bytes for the caller to fill; NULL: no memory.
void *sn_grow(sn_context *ctx, sn_growing *list, size_t more);
// Appends bytes unless `*status` is a failure already.
void sn_append(sn_context *ctx, sn_status *status, sn_growing *list, const void *bytes, size_t size);

#endif
