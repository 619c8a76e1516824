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

#endif
