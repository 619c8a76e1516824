// SPDX-License-Identifier: MIT
// The memory map of an archive: caches are larger than memory, so they are not read whole as other files are.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/abc.h"

sn_status sn_abc_map(sn_context *ctx, const char *path, abc_map *out) {
  struct stat info;
  *out = (abc_map){.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (out->fd < 0) return sn_fail(ctx, SN_IO, "%s: cannot open: %s", path, strerror(errno));
  sn_status status = SN_OK;
  if (fstat(out->fd, &info) != 0) {
    status = sn_fail(ctx, SN_IO, "%s: cannot read: %s", path, strerror(errno));
  } else if (!S_ISREG(info.st_mode)) {
    status =
      sn_fail(ctx, SN_IO, "%s: is %s, not a file", path, S_ISDIR(info.st_mode) ? "a folder" : "a device or a pipe");
  } else if (info.st_size > 0) {
    void *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, out->fd, 0);
    if (bytes == MAP_FAILED) {
      status = sn_fail(ctx, SN_IO, "%s: cannot map: %s", path, strerror(errno));
    } else {
      out->bytes = bytes, out->size = (size_t)info.st_size;
    }
  }
  if (status != SN_OK) sn_abc_unmap(out);
  return status;
}

void sn_abc_unmap(abc_map *map) {
  if (map->bytes) munmap(map->bytes, map->size);
  if (map->fd >= 0) close(map->fd);
  *map = (abc_map){.fd = -1};
}

bool sn_abc_map_whole(const abc_map *map) {
  struct stat info;
  return !map->bytes || (fstat(map->fd, &info) == 0 && (uint64_t)info.st_size >= map->size);
}

void sn_abc_map_used(abc_map *map, uint64_t bytes) {
  enum { often = 64 << 20 };
  map->used += bytes;
  if (map->used < often || !map->bytes) return;
  map->used = 0;
  madvise(map->bytes, map->size, MADV_DONTNEED);
}
