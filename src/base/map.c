// SPDX-License-Identifier: MIT
// Memory maps of what is larger than memory should be: caches, and scratch files.
#include "base/map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// Pages come back from the system's cache for a microsecond per window of 64 KB, so windows need not be large.
enum { most_used = 16 << 20 };

typedef struct sn_map {
  void *bytes;
  size_t size;
  size_t used; // since pages were given back
} sn_map;

sn_status sn_map_new(sn_context *ctx, const char *name, int fd, size_t size, bool writable, sn_file *out) {
  if (!out->memory.allocator.reallocate) out->memory = sn_arena_new(ctx);
  sn_map *map = SN_NEW(ctx, &out->memory, sn_map, 1);
  if (!map) return ctx->error.status;
  void *bytes = mmap(NULL, size, PROT_READ | (writable ? PROT_WRITE : 0), writable ? MAP_SHARED : MAP_PRIVATE, fd, 0);
  if (bytes == MAP_FAILED) {
    sn_fail(ctx, SN_IO, "%s: cannot map: %s", name, strerror(errno));
    sn_file_close(out);
    return ctx->error.status;
  }
  *map = (sn_map){bytes, size, 0};
  out->bytes = bytes, out->size = size, out->map = map;
  return SN_OK;
}

void sn_map_free(sn_map *map) {
  if (map) munmap(map->bytes, map->size);
}

void sn_file_used(const sn_file *file, size_t bytes) {
  sn_map *map = file->map;
  if (!map || __atomic_add_fetch(&map->used, bytes, __ATOMIC_RELAXED) < most_used) return;
  __atomic_store_n(&map->used, 0, __ATOMIC_RELAXED);
  madvise(map->bytes, map->size, MADV_DONTNEED);
}

// ---- scratch files ------------------------------------------------------------------------------------------------------

// /tmp is in memory on many machines.
static const char *scratch_folder(void) {
  const char *folder = getenv("TMPDIR");
  if (folder && *folder) return folder;
  return access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp";
}

static int open_scratch(const char *folder) {
  int fd = open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
  char path[4096];
  if (fd >= 0 || snprintf(path, sizeof path, "%s/sinew-XXXXXX", folder) >= (int)sizeof path) return fd;
  fd = mkostemp(path, O_CLOEXEC);
  if (fd >= 0) unlink(path);
  return fd;
}

sn_status sn_file_scratch(sn_context *ctx, size_t size, const char *what, sn_file *out) {
  const char *folder = scratch_folder();
  *out = (sn_file){.memory = sn_arena_new(ctx)};
  int fd = open_scratch(folder);
  int failure = fd < 0 ? errno : posix_fallocate(fd, 0, (off_t)size);
  sn_status status = failure ? SN_IO : sn_map_new(ctx, folder, fd, size, true, out);
  if (failure)
    sn_fail(ctx, status, "%s: %.1f GB of scratch space: %s; give another folder as TMPDIR (this is for %s)", folder,
            (double)size / 1e9, strerror(failure), what);
  if (fd >= 0) close(fd);
  return status;
}

void *sn_file_scratch_bytes(const sn_file *file) { return file->map->bytes; }
