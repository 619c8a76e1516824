// SPDX-License-Identifier: MIT
// Interposed before the C library's: refuses the n-th request for memory (SINEW_FAIL_AT, from 1) of the whole process,
// libraries too, and at the end writes how many there were to the file SINEW_COUNT_TO.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static atomic_long requests;
static long fail_at;
static int ready;

// From the first line of main's libraries on, not while the loader still works.
__attribute__((constructor)) static void start(void) {
  const char *text = getenv("SINEW_FAIL_AT");
  fail_at = text ? atol(text) : 0;
  requests = 0, ready = 1;
}

__attribute__((destructor)) static void finish(void) {
  const char *path = getenv("SINEW_COUNT_TO");
  if (!path) return;
  char text[32];
  int length = snprintf(text, sizeof text, "%ld\n", (long)requests),
      fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (fd < 0 || write(fd, text, (size_t)length) != length) _exit(99);
  close(fd);
}

static int refused(void) {
  if (!ready || atomic_fetch_add(&requests, 1) + 1 != fail_at) return 0;
  errno = ENOMEM;
  return 1;
}

void *malloc(size_t size) { return refused() ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return refused() ? NULL : __libc_calloc(count, size); }
void *realloc(void *ptr, size_t size) { return refused() ? NULL : __libc_realloc(ptr, size); }
void *memalign(size_t alignment, size_t size) { return refused() ? NULL : __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return refused() ? NULL : __libc_memalign(alignment, size); }
int posix_memalign(void **out, size_t alignment, size_t size) {
  *out = refused() ? NULL : __libc_memalign(alignment, size);
  return *out ? 0 : ENOMEM;
}
