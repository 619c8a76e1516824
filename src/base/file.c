// SPDX-License-Identifier: MIT
// Reading files whole, and making folders.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/output.h"

// O_NONBLOCK: a pipe that nobody writes to does not keep us.
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

// What stands in for a file now and then, and how to get the file itself.
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

sn_status sn_file_open(sn_context *ctx, const char *path, sn_file *out) {
  *out = (sn_file){.memory = sn_arena_new(ctx)};
  int fd = open_for_reading(ctx, path);
  if (fd < 0) return sn_fail(ctx, SN_IO, "%s: cannot open: %s", path, strerror(errno));
  struct stat info;
  sn_status status = SN_OK;
  if (fstat(fd, &info) != 0) {
    status = sn_fail(ctx, SN_IO, "%s: cannot read: %s", path, strerror(errno));
  } else if (!S_ISREG(info.st_mode)) {
    status =
      sn_fail(ctx, SN_IO, "%s: is %s", path, S_ISDIR(info.st_mode) ? "a folder, not a file" : "not a regular file");
  } else {
    status = read_whole(ctx, path, fd, (size_t)info.st_size, out);
  }
  close(fd);
  if (status == SN_OK) status = check_wrapped(ctx, path, out);
  if (status != SN_OK) sn_file_close(out);
  return status;
}

bool sn_is_large(const sn_context *ctx, size_t bytes) { return bytes >= (ctx->large > 0 ? ctx->large : SN_LARGE); }

sn_status sn_file_map(sn_context *ctx, const char *path, sn_file *out) {
  struct stat info;
  int fd = open_for_reading(ctx, path);
  bool large = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && sn_is_large(ctx, (size_t)info.st_size);
  *out = (sn_file){.memory = sn_arena_new(ctx)};
  sn_status status = large ? sn_map_new(ctx, path, fd, (size_t)info.st_size, false, out) : SN_OK;
  if (fd >= 0) close(fd);
  return large ? status : sn_file_open(ctx, path, out);
}

void sn_file_close(sn_file *file) {
  sn_map_free(file->map);
  sn_arena_free(&file->memory);
  *file = (sn_file){0};
}

sn_status sn_make_folder(sn_context *ctx, const char *path) {
  sn_arena memory = sn_arena_new(ctx);
  char *copy = sn_arena_text(ctx, &memory, path);
  sn_status status = copy ? SN_OK : ctx->error.status;
  for (char *slash = copy ? strchr(copy + (*copy == '/'), '/') : NULL; status == SN_OK;
       slash = strchr(slash + 1, '/')) {
    if (slash) *slash = '\0';
    struct stat info;
    if (mkdir(copy, 0777) == 0) {
      sn_outputs_made_folder(ctx, copy);
    } else if (errno != EEXIST || stat(copy, &info) != 0 || !S_ISDIR(info.st_mode)) {
      status = sn_fail(ctx, SN_IO, "%s: cannot make this folder: %s", copy,
                       errno == EEXIST ? "a file of that name is in the way" : strerror(errno));
    }
    if (!slash) break;
    *slash = '/';
  }
  sn_arena_free(&memory);
  return status;
}
