// SPDX-License-Identifier: MIT
// Error handling for readers and writers: the first failure is kept in the `status` of a struct that also has `ctx`. Later failures
// are ignored, and allocations return NULL.
#ifndef SINEW_FORMATS_COMMON_READER_H
#define SINEW_FORMATS_COMMON_READER_H

#include "sinew/base.h"

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

// A growing list: `size` bytes are in use. The caller frees its memory.
typedef struct sn_growing {
  uint8_t *bytes;
  size_t size, room;
  sn_arena memory;
} sn_growing;
// Appends `more` bytes for the caller to fill; NULL: no memory.
void *sn_grow(sn_context *ctx, sn_growing *list, size_t more);

// Numbers `count` rows of `size` bytes: equal rows share a number, in order of first appearance; `first` is the first row of each
// number. Returns how many numbers there are, or -1: no memory.
int sn_number_rows(sn_context *ctx, const void *rows, size_t size, int count, int *numbers, int *first);

// Returns from a function that returns an sn_status if the call fails.
#define SN_TRY(call)                                                                                                 \
  do {                                                                                                               \
    sn_status tried = (call);                                                                                        \
    if (tried != SN_OK) return tried;                                                                                \
  } while (0)

// Frees a variable at the end of its block: SN_FREED_BY(sn_mesh_free) sn_mesh mesh = {0};
#define SN_FREED_BY(function) __attribute__((cleanup(function)))
#define SN_SCRATCH(name, ctx) SN_FREED_BY(sn_arena_free) sn_arena name = sn_arena_new(ctx)

#endif
