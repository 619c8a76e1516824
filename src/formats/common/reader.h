// SPDX-License-Identifier: MIT
// Reading and writing as one piece: the first failure stays in the `status` of whoever is at work (any struct with `ctx` and it).
// What fails afterwards says nothing, and memory is no longer handed out.
#ifndef SINEW_FORMATS_COMMON_READER_H
#define SINEW_FORMATS_COMMON_READER_H

#include "sinew/base.h"

typedef struct sn_reader {
  sn_context *ctx;
  sn_status status;
} sn_reader;

// What is wrong, as for sn_fail, unless something failed before.
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

// A list that grows: of its bytes `size` are in use. Its memory is the caller's to free.
typedef struct sn_growing {
  uint8_t *bytes;
  size_t size, room;
  sn_arena memory;
} sn_growing;
// Puts so many bytes behind those in use, for the caller to fill; NULL where memory runs out.
void *sn_grow(sn_context *ctx, sn_growing *list, size_t more);

// Numbers `count` rows of `size` bytes such that equal ones share a number, by first appearance; the first row of each number.
// Returns how many there are, or -1 where memory runs out.
int sn_number_rows(sn_context *ctx, const void *rows, size_t size, int count, int *numbers, int *first);

// Leaves a function that returns an sn_status where the call fails.
#define SN_TRY(call)                                                                                                 \
  do {                                                                                                               \
    sn_status tried = (call);                                                                                        \
    if (tried != SN_OK) return tried;                                                                                \
  } while (0)

// What a variable holds is freed where its block ends: SN_FREED_BY(sn_mesh_free) sn_mesh mesh = {0};
#define SN_FREED_BY(function) __attribute__((cleanup(function)))
#define SN_SCRATCH(name, ctx) SN_FREED_BY(sn_arena_free) sn_arena name = sn_arena_new(ctx)

#endif
