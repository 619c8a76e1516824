// SPDX-License-Identifier: MIT
// An archive's bytes. Small ones are read whole, as other files are. Caches may be larger than memory: those are mapped, and their
// positions, which are nearly all of them, are read past the map, so that a file that is cut meanwhile is a message.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/abc/abc.h"

enum { read_whole = 64 << 20 }; // bytes

sn_status sn_abc_map(sn_context *ctx, const char *path, abc_map *out) {
  struct stat info;
  if (stat(path, &info) == 0 && S_ISREG(info.st_mode) && info.st_size <= read_whole) {
    *out = (abc_map){.fd = -1};
    sn_status status = sn_file_open(ctx, path, &out->file);
    out->bytes = out->file.bytes, out->size = out->file.size;
    return status;
  }
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
      out->bytes = out->mapped = bytes, out->size = (size_t)info.st_size;
    }
  }
  if (status != SN_OK) sn_abc_unmap(out);
  return status;
}

void sn_abc_unmap(abc_map *map) {
  if (map->mapped) munmap(map->mapped, map->size);
  if (map->fd >= 0) close(map->fd);
  sn_file_close(&map->file);
  *map = (abc_map){.fd = -1};
}

bool sn_abc_map_whole(const abc_map *map) {
  struct stat info;
  return !map->mapped || (fstat(map->fd, &info) == 0 && (uint64_t)info.st_size >= map->size);
}

void sn_abc_map_used(abc_map *map, uint64_t bytes) {
  enum { often = 64 << 20 };
  map->used += bytes;
  if (map->used < often || !map->mapped) return;
  map->used = 0;
  madvise(map->mapped, map->size, MADV_DONTNEED);
}

bool sn_abc_map_copy(const abc_map *map, const uint8_t *from, size_t size, void *out) {
  if (!map->mapped) {
    memcpy(out, from, size);
    return true;
  }
  off_t position = (off_t)(from - map->bytes);
  for (size_t have = 0; have < size;) {
    ssize_t got = pread(map->fd, (uint8_t *)out + have, size - have, position + (off_t)have);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    have += (size_t)got;
  }
  return true;
}
