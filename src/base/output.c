// SPDX-License-Identifier: MIT
// Atomic output files, single or in groups.
//
// A file is written without a name (O_TMPFILE) if the system can, so that a killed process leaves nothing; else under a
// temporary name in the same folder. For a group, all files are on the disk before the first is renamed.
#include "base/output.h"
#include "base/scope.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

enum { hex_digits = 8, most_links = 40, most_attempts = 1000 };

// ---- names ------------------------------------------------------------------------------------------------------------

// The folder of `path` ("." for none), allocated in `memory`, and the file name.
static const char *folder_of(sn_context *ctx, sn_arena *memory, const char *path, const char **name) {
  const char *slash = strrchr(path, '/');
  *name = slash ? slash + 1 : path;
  char *folder = sn_arena_text(ctx, memory, slash ? path : ".");
  if (folder && slash) folder[slash == path ? 1 : slash - path] = '\0';
  return folder;
}

// The target of a link as the last part of `path`, even if it does not exist; `path` itself if it is not a link.
static const char *follow_links(sn_context *ctx, sn_arena *memory, const char *path) {
  char target[4096];
  for (int k = 0; path && k < most_links; k++) {
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length < 0) return path;
    target[length] = '\0';
    const char *slash = strrchr(path, '/');
    size_t folder = *target != '/' && slash ? (size_t)(slash + 1 - path) : 0;
    char *next = SN_NEW(ctx, memory, char, folder + (size_t)length + 1);
    if (next) memcpy(next, path, folder), memcpy(next + folder, target, (size_t)length);
    path = next;
  }
  return path;
}

static sn_output *find(const sn_outputs *outputs, const struct stat *folder, const char *name) {
  for (sn_output *o = outputs ? outputs->first : NULL; o; o = o->next)
    if (o->written && o->folder_device == folder->st_dev && o->folder_inode == folder->st_ino &&
        strcmp(o->name, name) == 0)
      return o;
  return NULL;
}

// ---- files without a name -------------------------------------------------------------------------------------------

static int open_nameless(const char *folder) {
#ifdef O_TMPFILE
  if (access("/proc/self/fd", X_OK) == 0) return open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
#else
  (void)folder;
#endif
  return -1;
}

// Records whether the temporary name is in use, for signal handlers.
static void set_named(sn_output *o, bool named) { __atomic_store_n(&o->named, named, __ATOMIC_RELEASE); }

static bool link_as(const sn_output *o, const char *path) {
  char self[64];
  snprintf(self, sizeof self, "/proc/self/fd/%d", o->fd);
  return linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
}

// Not mkstemp: the mode must follow the umask, which a library cannot read without changing it for all threads.
static bool open_temporary(sn_output *o) {
  o->fd = open(o->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  return o->fd >= 0;
}

// Gives the file a short temporary name in its folder (the final name may be too long to extend); creates it if it is not open.
static bool give_name(sn_output *o) {
  for (unsigned attempt = 0; !o->named && attempt < most_attempts; attempt++) {
    snprintf(o->temporary, o->temporary_size, "%s/.sinew-%d-%u", o->folder, (int)getpid(), attempt);
    set_named(o, true);
    if (o->fd >= 0 ? link_as(o, o->temporary) : open_temporary(o)) break;
    set_named(o, false);
    if (errno != EEXIST) break;
  }
  return o->named;
}

static void close_output(sn_output *o) {
  if (o->fd >= 0) close(o->fd);
  o->fd = -1;
}

// Unnamed files need an open descriptor each: at most half of the process's limit is used.
static bool spare_descriptors(sn_outputs *outputs) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return true;
  rlim_t open = 0;
  for (sn_output *o = outputs->first; o; o = o->next) open += o->fd >= 0;
  for (sn_output *o = outputs->first; o && open > limit.rlim_cur / 2; o = o->next) {
    if (o->fd < 0 || !o->written) continue;
    if (!give_name(o)) return false;
    close_output(o), open--;
  }
  return true;
}

// ---- groups -----------------------------------------------------------------------------------------------------------

void sn_outputs_begin(sn_context *ctx, sn_outputs *own) {
  *own = (sn_outputs){.memory = sn_arena_new(ctx)};
  if (!ctx->outputs) ctx->outputs = own;
}

static void append(sn_outputs *outputs, sn_output *o) {
  __atomic_store_n(outputs->last ? &outputs->last->next : &outputs->first, o, __ATOMIC_RELEASE);
  outputs->last = o;
}

// Keeps owner and mode of the file it replaces.
static void keep_mode(const sn_output *o, const struct stat *before) {
  struct stat now;
  if (fstat(o->fd, &now) != 0) return;
  if (now.st_uid != before->st_uid || now.st_gid != before->st_gid) {
    if (fchown(o->fd, before->st_uid, before->st_gid) != 0)
      errno = 0; // not permitted: the file keeps the writer's owner
  }
  fchmod(o->fd, before->st_mode & 07777);
}

// Gives the file its final name. All data are on the disk by now.
static bool publish_one(sn_output *o) {
  bool was_there = access(o->path, F_OK) == 0;
  if (!was_there && !o->named) {
    o->created = link_as(o, o->path);
    if (o->created || errno != EEXIST) return o->created;
  }
  if (!give_name(o) || rename(o->temporary, o->path) != 0) return false;
  set_named(o, false);
  o->created = !was_there;
  return true;
}

// Deletes files whose names differ in the digits only: "walk.0123abcd.bin" for "walk.89ef4567.bin".
static void remove_superseded(const sn_output *o) {
  size_t length = strlen(o->name);
  const char *dot = strrchr(o->name, '.');
  DIR *folder = dot && dot - o->name > hex_digits ? opendir(o->folder) : NULL;
  if (!folder) return;
  size_t digits = (size_t)(dot - o->name) - hex_digits;
  for (struct dirent *e; (e = readdir(folder)) != NULL;) {
    bool alike = strlen(e->d_name) == length && memcmp(e->d_name, o->name, digits) == 0 &&
                 strcmp(e->d_name + (dot - o->name), dot) == 0;
    if (alike && strspn(e->d_name + digits, "0123456789abcdef") == hex_digits && strcmp(e->d_name, o->name) != 0)
      unlinkat(dirfd(folder), e->d_name, 0);
  }
  closedir(folder);
}

void sn_outputs_clean(const sn_outputs *outputs) {
  sn_output *o = outputs ? __atomic_load_n(&outputs->first, __ATOMIC_ACQUIRE) : NULL;
  for (; o; o = __atomic_load_n(&o->next, __ATOMIC_ACQUIRE))
    if (__atomic_load_n(&o->named, __ATOMIC_ACQUIRE)) unlink(o->temporary);
  const sn_folder *f = outputs ? __atomic_load_n(&outputs->folders, __ATOMIC_ACQUIRE) : NULL;
  for (; f; f = f->next) rmdir(f->path); // those still empty
}

static sn_status publish(sn_context *ctx, sn_outputs *outputs) {
  sn_status status = SN_OK;
  sn_output *first = outputs->first;
  if (ctx->team && ctx->team->rank > 0) return SN_OK; // only rank 0 of a team writes
  // Serialises processes that write to the same folder.
  int lock = first ? open(first->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  if (lock >= 0) flock(lock, LOCK_EX);
  for (sn_output *o = first; status == SN_OK && o; o = o->next)
    if (o->written && !publish_one(o)) status = sn_fail(ctx, SN_IO, "%s: cannot write: %s", o->path, strerror(errno));
  for (sn_output *o = first; o; o = o->next) {
    if (status == SN_OK && o->written && o->supersedes) remove_superseded(o);
    if (status != SN_OK && o->created) unlink(o->path);
  }
  if (lock >= 0) close(lock);
  return status;
}

static sn_status end(sn_context *ctx, sn_outputs *outputs, sn_status status) {
  if (status == SN_OK) status = publish(ctx, outputs);
  if (status == SN_OK) outputs->folders = NULL; // keeps new folders, even empty ones
  sn_outputs_clean(outputs);
  for (sn_output *o = outputs->first; o; o = o->next) close_output(o);
  sn_arena_free(&outputs->memory);
  *outputs = (sn_outputs){0};
  return status;
}

sn_status sn_outputs_end(sn_context *ctx, sn_outputs *own, sn_status status) {
  if (ctx->outputs != own) return status;
  status = end(ctx, own, status);
  ctx->outputs = NULL;
  return status;
}

static sn_output *find_path(sn_context *ctx, const char *path) {
  if (!ctx->outputs || !ctx->outputs->first) return NULL;
  sn_arena scratch = sn_arena_new(ctx);
  struct stat info;
  const char *name, *file = follow_links(ctx, &scratch, path);
  const char *folder = file ? folder_of(ctx, &scratch, file, &name) : NULL;
  sn_output *o = folder && stat(folder, &info) == 0 ? find(ctx->outputs, &info, name) : NULL;
  sn_arena_free(&scratch);
  return o;
}

bool sn_outputs_read(sn_context *ctx, const char *path, int *fd) {
  const sn_output *o = find_path(ctx, path);
  if (o) *fd = o->fd >= 0 ? dup(o->fd) : open(o->temporary, O_RDONLY | O_CLOEXEC);
  return o != NULL;
}

static void discard(sn_output *o) {
  if (o->named) unlink(o->temporary);
  set_named(o, false);
  close_output(o);
  o->written = false;
}

void sn_outputs_made_folder(sn_context *ctx, const char *path) {
  if (!ctx->outputs) return;
  sn_folder *folder = SN_NEW(ctx, &ctx->outputs->memory, sn_folder, 1);
  char *copy = sn_arena_text(ctx, &ctx->outputs->memory, path);
  if (!folder || !copy) return; // without memory, an empty folder may remain
  *folder = (sn_folder){ctx->outputs->folders, copy};
  __atomic_store_n(&ctx->outputs->folders, folder, __ATOMIC_RELEASE);
}

// ---- one file -----------------------------------------------------------------------------------------------------------

static sn_status describe(sn_context *ctx, sn_arena *memory, const char *path, sn_output *o) {
  struct stat folder;
  o->path = sn_arena_text(ctx, memory, follow_links(ctx, memory, path));
  o->folder = o->path ? folder_of(ctx, memory, o->path, &o->name) : NULL;
  if (!o->folder) return ctx->error.status;
  if (!*o->name) return sn_fail(ctx, SN_IO, "%s: cannot write: a file needs a name", path);
  o->temporary_size = strlen(o->folder) + sizeof "/.sinew-2147483647-1000";
  o->temporary = SN_NEW(ctx, memory, char, o->temporary_size);
  if (!o->temporary) return ctx->error.status;
  if (stat(o->folder, &folder) != 0) return sn_fail(ctx, SN_IO, "%s: cannot write: %s", path, strerror(errno));
  o->folder_device = folder.st_dev, o->folder_inode = folder.st_ino;
  if (find(ctx->outputs, &folder, o->name))
    return sn_fail(ctx, SN_BAD_INPUT, "%s: would be written twice; give another name to one of the outputs", path);
  return SN_OK;
}

static sn_status open_output(sn_context *ctx, const char *path, sn_output *o) {
  struct stat info;
  bool exists = stat(path, &info) == 0;
  if (exists && !S_ISREG(info.st_mode)) { // renaming over /dev/null would replace it
    return sn_fail(ctx, SN_IO, "%s: is %s; give the name of a file to write", path,
                   S_ISDIR(info.st_mode) ? "a folder" : "a device or a pipe");
  }
  o->fd = open_nameless(o->folder);
  if (o->fd < 0 && !give_name(o)) return sn_fail(ctx, SN_IO, "%s: cannot write: %s", path, strerror(errno));
  if (exists) keep_mode(o, &info);
  return SN_OK;
}

static sn_status open_writer(sn_context *ctx, const char *path, sn_outputs *outputs, sn_writer *out) {
  sn_output *o = SN_NEW(ctx, &outputs->memory, sn_output, 1);
  if (!o) return ctx->error.status;
  o->fd = -1, out->output = o;
  SN_TRY(describe(ctx, &outputs->memory, path, o));
  if (!spare_descriptors(outputs)) return sn_fail(ctx, SN_IO, "%s: cannot write: %s", path, strerror(errno));
  append(outputs, o);
  SN_TRY(open_output(ctx, path, o));
  int fd = dup(o->fd);
  out->stream = fd >= 0 ? fdopen(fd, "wb") : NULL;
  if (out->stream) return SN_OK;
  sn_fail(ctx, SN_IO, "%s: cannot write: %s", path, strerror(errno));
  if (fd >= 0) close(fd);
  return ctx->error.status;
}

sn_status sn_writer_open(sn_context *ctx, const char *path, sn_writer *out) {
  *out = (sn_writer){.alone = !ctx->outputs};
  out->own.memory = sn_arena_new(ctx);
  sn_status status = open_writer(ctx, path, out->alone ? &out->own : ctx->outputs, out);
  if (status != SN_OK) sn_writer_abort(ctx, out);
  return status;
}

void sn_write(sn_writer *writer, const void *bytes, size_t size) {
  if (size > 0 && fwrite(bytes, 1, size, writer->stream) < size && !writer->failure) writer->failure = errno;
}

void sn_write_escaped(sn_writer *writer, const char *text) {
  for (; *text; text++) {
    const char *entity = *text == '<' ? "&lt;" : *text == '>' ? "&gt;" : *text == '&' ? "&amp;" : NULL;
    sn_write(writer, entity ? entity : text, entity ? strlen(entity) : 1);
  }
}

void sn_writef(sn_writer *writer, const char *format, ...) {
  va_list args;
  va_start(args, format);
  if (vfprintf(writer->stream, format, args) < 0 && !writer->failure) writer->failure = errno;
  va_end(args);
}

sn_status sn_writer_commit(sn_context *ctx, sn_writer *writer) {
  FILE *stream = writer->stream;
  sn_output *o = writer->output;
  bool good = !writer->failure && !ferror(stream) && fflush(stream) == 0 && fsync(fileno(stream)) == 0;
  int reason = writer->failure ? writer->failure : errno;
  if (fclose(stream) != 0 && good) good = false, reason = errno;
  writer->stream = NULL;
  if (!good) {
    sn_fail(ctx, SN_IO, "%s: cannot write: %s", o->path, strerror(reason ? reason : EIO));
    sn_writer_abort(ctx, writer);
    return ctx->error.status;
  }
  o->written = true;
  return writer->alone ? end(ctx, &writer->own, SN_OK) : SN_OK;
}

void sn_writer_abort(sn_context *ctx, sn_writer *writer) {
  sn_output *o = writer->output;
  if (writer->stream) fclose(writer->stream);
  if (o) discard(o);
  if (writer->alone) end(ctx, &writer->own, SN_IO);
  *writer = (sn_writer){0};
}

void sn_writer_supersedes(sn_writer *writer) { ((sn_output *)writer->output)->supersedes = true; }
