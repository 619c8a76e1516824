// SPDX-License-Identifier: MIT
// Reading through a memory map; writing that appears whole or not at all.
#include "sinew/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

sn_status sn_file_open(sn_context *ctx, const char *path, sn_file *out) {
  *out = (sn_file){0};
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return sn_fail(ctx, SN_IO, "%s: cannot open: %s", path, strerror(errno));
  struct stat info;
  sn_status status = SN_OK;
  if (fstat(fd, &info) != 0) {
    status = sn_fail(ctx, SN_IO, "%s: cannot read: %s", path, strerror(errno));
  } else if (S_ISDIR(info.st_mode)) {
    status = sn_fail(ctx, SN_IO, "%s: is a folder, not a file", path);
  } else if (!S_ISREG(info.st_mode)) {
    status = sn_fail(ctx, SN_IO, "%s: is not a regular file", path);
  } else if (info.st_size > 0) {
    void *mapping = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapping == MAP_FAILED) {
      status = sn_fail(ctx, SN_IO, "%s: cannot map: %s", path, strerror(errno));
    } else {
      *out = (sn_file){mapping, (size_t)info.st_size, mapping};
    }
  } else {
    out->bytes = (const uint8_t *)"";
  }
  close(fd);
  return status;
}

void sn_file_close(sn_file *file) {
  if (file->mapping) munmap(file->mapping, file->size);
  *file = (sn_file){0};
}

// A new file beside `path`. Its mode follows the umask, which a library cannot read without changing it for all threads;
// so not mkstemp.
static int open_beside(const char *path, char *temporary, size_t size) {
  int fd = -1;
  for (unsigned attempt = 0; fd < 0 && attempt < 1000; attempt++) {
    snprintf(temporary, size, "%s.%d-%u", path, (int)getpid(), attempt);
    fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno != EEXIST) break;
  }
  return fd;
}

sn_status sn_writer_open(sn_context *ctx, const char *path, sn_writer *out) {
  *out = (sn_writer){.memory = sn_arena_new(ctx)};
  struct stat info;
  if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) { // renaming over /dev/null would replace it
    return sn_fail(ctx, SN_IO, "%s: is %s; give the name of a file to write", path,
                   S_ISDIR(info.st_mode) ? "a folder" : "a device or a pipe");
  }
  size_t size = strlen(path) + sizeof ".2147483647-1000";
  out->path = sn_arena_text(ctx, &out->memory, path);
  out->temporary = SN_NEW(ctx, &out->memory, char, size);
  if (!out->path || !out->temporary) {
    sn_arena_free(&out->memory);
    *out = (sn_writer){0};
    return ctx->error.status;
  }
  int fd = open_beside(path, out->temporary, size);
  if (fd >= 0) out->stream = fdopen(fd, "wb");
  if (!out->stream) {
    sn_fail(ctx, SN_IO, "%s: cannot write: %s", path, strerror(errno));
    if (fd >= 0) {
      close(fd);
      unlink(out->temporary);
    }
    sn_arena_free(&out->memory);
    *out = (sn_writer){0};
    return ctx->error.status;
  }
  return SN_OK;
}

void sn_write(sn_writer *writer, const void *bytes, size_t size) {
  if (size > 0 && fwrite(bytes, 1, size, writer->stream) < size && !writer->failure) writer->failure = errno;
}

void sn_writef(sn_writer *writer, const char *format, ...) {
  va_list args;
  va_start(args, format);
  if (vfprintf(writer->stream, format, args) < 0 && !writer->failure) writer->failure = errno;
  va_end(args);
}

sn_status sn_writer_commit(sn_context *ctx, sn_writer *writer) {
  FILE *stream = writer->stream;
  bool good = !writer->failure && !ferror(stream) && fflush(stream) == 0 && fsync(fileno(stream)) == 0;
  int reason = writer->failure ? writer->failure : errno;
  if (fclose(stream) != 0 && good) good = false, reason = errno;
  if (good && rename(writer->temporary, writer->path) != 0) good = false, reason = errno;
  sn_status status = SN_OK;
  if (!good) {
    status = sn_fail(ctx, SN_IO, "%s: cannot write: %s", writer->path, strerror(reason ? reason : EIO));
    unlink(writer->temporary);
  }
  sn_arena_free(&writer->memory);
  return status;
}

void sn_writer_abort(sn_writer *writer) {
  fclose(writer->stream);
  unlink(writer->temporary);
  sn_arena_free(&writer->memory);
}

sn_status sn_make_folder(sn_context *ctx, const char *path) {
  sn_arena memory = sn_arena_new(ctx);
  char *copy = sn_arena_text(ctx, &memory, path);
  sn_status status = copy ? SN_OK : ctx->error.status;
  for (char *slash = copy ? strchr(copy + (*copy == '/'), '/') : NULL; status == SN_OK;
       slash = strchr(slash + 1, '/')) {
    if (slash) *slash = '\0';
    struct stat info;
    if (mkdir(copy, 0777) != 0 && (errno != EEXIST || stat(copy, &info) != 0 || !S_ISDIR(info.st_mode))) {
      status = sn_fail(ctx, SN_IO, "%s: cannot make this folder: %s", copy,
                       errno == EEXIST ? "a file of that name is in the way" : strerror(errno));
    }
    if (!slash) break;
    *slash = '/';
  }
  sn_arena_free(&memory);
  return status;
}
