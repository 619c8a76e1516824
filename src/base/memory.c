// SPDX-License-Identifier: MIT
// Arenas: memory that is freed all at once.
#include "sinew/base.h"

#include <string.h>

enum { alignment = 64 };

typedef struct sn_block {
  struct sn_block *next;
} sn_block;

sn_arena sn_arena_new(const sn_context *ctx) { return (sn_arena){.allocator = ctx->allocator}; }

void sn_arena_free(sn_arena *arena) {
  for (sn_block *block = arena->blocks, *next; block; block = next) {
    next = block->next;
    arena->allocator.reallocate(arena->allocator.user, block, 0);
  }
  arena->blocks = NULL;
}

void sn_arena_join(sn_arena *arena, sn_arena *other) {
  sn_block **end = &other->blocks;
  while (*end) end = &(*end)->next;
  *end = arena->blocks;
  arena->blocks = other->blocks, other->blocks = NULL;
}

void *sn_arena_alloc(sn_context *ctx, sn_arena *arena, size_t count, size_t size) {
  if (!arena->allocator.reallocate) arena->allocator = ctx->allocator;
  size_t bytes = 0;
  if (sn_stopped(ctx)) {
    sn_fail(ctx, SN_STOPPED, "stopped");
    return NULL;
  }
  if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2) {
    sn_fail(ctx, SN_NO_MEMORY, "out of memory: cannot allocate %zu items of %zu bytes", count, size);
    return NULL;
  }
  sn_block *block = arena->allocator.reallocate(arena->allocator.user, NULL, sizeof *block + bytes + alignment);
  if (!block) {
    sn_fail(ctx, SN_NO_MEMORY, "out of memory: cannot allocate %zu bytes", bytes);
    return NULL;
  }
  block->next = arena->blocks;
  arena->blocks = block;
  uintptr_t start = ((uintptr_t)(block + 1) + alignment - 1) / alignment * alignment;
  return memset((void *)start, 0, bytes);
}

char *sn_arena_text(sn_context *ctx, sn_arena *arena, const char *text) {
  if (!text) return NULL;
  size_t size = strlen(text) + 1;
  char *copy = sn_arena_alloc(ctx, arena, size, 1);
  return copy ? memcpy(copy, text, size) : NULL;
}
