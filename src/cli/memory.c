// SPDX-License-Identifier: MIT
// The tool's memory limit, and estimates of what training needs.
#include "cli/cli.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <jansson.h>

static _Atomic size_t in_use, limit;

void sn_cli_limit_memory(size_t most) {
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (most == 0 && atomic_load(&limit) > 0) return; // a command within demo: the limit stays
  if (most == 0 && pages > 0 && page > 0) most = (size_t)pages * (size_t)page;
  atomic_store(&limit, most);
}

size_t sn_cli_memory_limit(void) { return atomic_load(&limit); }

sn_status sn_cli_need_memory(sn_context *ctx, double bytes, const char *what) {
  double most = (double)atomic_load(&limit);
  if (most == 0 || bytes <= most) return SN_OK;
  return sn_fail(ctx, SN_NO_MEMORY, "%s needs at least %.1f MB of memory, and may use %.1f MB: give more as --memory",
                 what, bytes / (1 << 20), most / (1 << 20));
}

sn_status sn_cli_need_to_train(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples,
                               const sn_keys *keys) {
  enum { any_method = 100 }; // for the model and its figures, at least
  const sn_method *method = spec->method;
  double vertex = (method->vertex_bytes > any_method ? method->vertex_bytes : any_method) +
                  (double)method->pose_bytes * keys->count;
  char what[sizeof spec->text + 64];
  snprintf(what, sizeof what, "%s on %d vertices and %d frames", spec->text, examples->rest.vertex_count,
           keys->count);
  return sn_cli_need_memory(ctx, (double)atomic_load(&in_use) + vertex * examples->rest.vertex_count, what);
}

static bool take(size_t size) {
  size_t most = atomic_load(&limit), before = atomic_fetch_add(&in_use, size);
  if (most == 0 || (size <= most && before <= most - size)) return true;
  atomic_fetch_sub(&in_use, size);
  return false;
}

static void *reallocate(void *user, void *ptr, size_t size) {
  (void)user;
  size_t before = ptr ? malloc_usable_size(ptr) : 0;
  if (size == 0) {
    atomic_fetch_sub(&in_use, before);
    free(ptr);
    return NULL;
  }
  if (!take(size)) return NULL;
  void *out = realloc(ptr, size);
  atomic_fetch_sub(&in_use, out ? before : size);
  if (out) atomic_fetch_add(&in_use, malloc_usable_size(out) - size);
  return out;
}

sn_allocator sn_cli_allocator(void) { return (sn_allocator){reallocate, NULL}; }

static void *json_take(size_t size) {
  void *out = reallocate(NULL, NULL, size ? size : 1);
  if (!out) sn_cli_out_of_memory(size);
  return out;
}

static void json_give(void *ptr) { reallocate(NULL, ptr, 0); }

void sn_cli_guard_json(void) { json_set_alloc_funcs(json_take, json_give); }

void sn_cli_out_of_memory(size_t size) {
  sn_cli_discard_outputs();
  fprintf(stderr, "sinew: out of memory: cannot allocate %zu bytes\n", size);
  sn_cli_team_say();
  _exit(exit_failed);
}
