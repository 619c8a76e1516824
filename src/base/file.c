// SPDX-License-Identifier: MIT
// Reading whole files, memory maps of large ones, scratch files, and creating folders.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/output.h"
#include "base/scope.h"

// O_NONBLOCK: opening a pipe without a writer does not block.
static int open_for_reading(sn_context *ctx, const char *path) {
  int fd;
  return sn_outputs_read(ctx, path, &fd) ? fd : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

static sn_status read_whole(sn_context *ctx, const char *path, int fd, size_t size, sn_file *out) {
  uint8_t *bytes = SN_NEW(ctx, &out->memory, uint8_t, size);
  if (!bytes) return sn_fail_prefix(ctx, "%s: ", path);
  for (size_t have = 0; have < size;) {
    ssize_t got = pread(fd, bytes + have, size - have, (off_t)have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return sn_fail(ctx, SN_IO, "%s: cannot read: %s", path, strerror(errno));
    if (got == 0) return sn_fail(ctx, SN_IO, "%s: became shorter while it was read", path);
    have += (size_t)got;
  }
  out->bytes = bytes, out->size = size;
  return SN_OK;
}

// Rejects Git LFS pointers and compressed files, and says how to get the contents.
static sn_status check_wrapped(sn_context *ctx, const char *path, const sn_file *file) {
  static const char *const kinds[][2] = {
    {"version https://git-lfs.github.com/", "is a Git LFS pointer, not the file itself; run `git lfs pull`"},
    {"\x1f\x8b\x08", "is compressed by gzip; unpack it first"},
    {"PK\x03\x04", "is a ZIP archive; unpack it first"}};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    size_t size = strlen(kinds[k][0]);
    if (file->size >= size && memcmp(file->bytes, kinds[k][0], size) == 0)
      return sn_fail(ctx, SN_BAD_FILE, "%s: %s", path, kinds[k][1]);
  }
  return SN_OK;
}

static sn_status read_descriptor(sn_context *ctx, const char *path, int fd, sn_file *out) {
  struct stat info;
  if (fstat(fd, &info) != 0) return sn_fail(ctx, SN_IO, "%s: cannot read: %s", path, strerror(errno));
  if (!S_ISREG(info.st_mode))
    return sn_fail(ctx, SN_IO, "%s: is %s", path,
                   S_ISDIR(info.st_mode) ? "a folder, not a file" : "not a regular file");
  SN_TRY(read_whole(ctx, path, fd, (size_t)info.st_size, out));
  return check_wrapped(ctx, path, out);
}

sn_status sn_file_open(sn_context *ctx, const char *path, sn_file *out) {
  *out = (sn_file){.memory = sn_arena_new(ctx)};
  int fd = open_for_reading(ctx, path);
  if (fd < 0) return sn_fail(ctx, SN_IO, "%s: cannot open: %s", path, strerror(errno));
  sn_status status = read_descriptor(ctx, path, fd, out);
  close(fd);
  if (status != SN_OK) sn_file_close(out);
  return status;
}

// ---- maps ----------------------------------------------------------------------------------------------------------------

// Pages are released after this many bytes. Mapping them again from the page cache is cheap, so this can be small.
enum { most_used = 16 << 20 };

typedef struct sn_map {
  void *bytes;
  size_t size;
  size_t used; // bytes since pages were released
} sn_map;

static sn_status map_file(sn_context *ctx, const char *name, int fd, size_t size, bool writable, sn_file *out) {
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

void sn_file_used(const sn_file *file, size_t bytes) {
  sn_map *map = file->map;
  if (!map || __atomic_add_fetch(&map->used, bytes, __ATOMIC_RELAXED) < most_used) return;
  __atomic_store_n(&map->used, 0, __ATOMIC_RELAXED);
  madvise(map->bytes, map->size, MADV_DONTNEED);
}

bool sn_is_large(const sn_context *ctx, size_t bytes) { return bytes >= (ctx->large > 0 ? ctx->large : SN_LARGE); }

sn_status sn_file_map(sn_context *ctx, const char *path, sn_file *out) {
  struct stat info;
  int fd = open_for_reading(ctx, path);
  bool large = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && sn_is_large(ctx, (size_t)info.st_size);
  *out = (sn_file){.memory = sn_arena_new(ctx)};
  sn_status status = large ? map_file(ctx, path, fd, (size_t)info.st_size, false, out) : SN_OK;
  if (fd >= 0) close(fd);
  return large ? status : sn_file_open(ctx, path, out);
}

void sn_file_close(sn_file *file) {
  const sn_map *map = file->map;
  if (map) munmap(map->bytes, map->size);
  sn_arena_free(&file->memory);
  *file = (sn_file){0};
}

// ---- scratch files ------------------------------------------------------------------------------------------------------

// /tmp only as a last resort: it is in memory on many machines.
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
  sn_status status = failure ? SN_IO : map_file(ctx, folder, fd, size, true, out);
  if (failure)
    sn_fail(ctx, status, "%s: %.1f GB of scratch space: %s; give another folder as TMPDIR (this is for %s)", folder,
            (double)size / 1e9, strerror(failure), what);
  if (fd >= 0) close(fd);
  return status;
}

void *sn_file_scratch_bytes(const sn_file *file) { return file->map->bytes; }

sn_status sn_make_folder(sn_context *ctx, const char *path) {
  SN_SCRATCH(memory, ctx);
  char *copy = sn_arena_text(ctx, &memory, path);
  if (!copy) return ctx->error.status;
  for (char *slash = strchr(copy + (*copy == '/'), '/');; slash = strchr(slash + 1, '/')) {
    if (slash) *slash = '\0';
    struct stat info;
    if (mkdir(copy, 0777) == 0)
      sn_outputs_made_folder(ctx, copy);
    else if (errno != EEXIST || stat(copy, &info) != 0 || !S_ISDIR(info.st_mode))
      return sn_fail(ctx, SN_IO, "%s: cannot make this folder: %s", copy,
                     errno == EEXIST ? "a file of that name is in the way" : strerror(errno));
    if (!slash) return SN_OK;
    *slash = '/';
  }
}
