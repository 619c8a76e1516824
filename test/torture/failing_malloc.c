// SPDX-License-Identifier: MIT
// Interposed before the C library's: refuses the n-th request for memory (SINEW_FAIL_AT, from 1) of the whole process,
// libraries too (with SINEW_FAIL_OWN only those of the program itself), and at the end writes how many there were to the file
// SINEW_COUNT_TO.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

#define CALLER __builtin_return_address(0)

static atomic_long requests;
static long fail_at;
static int ready;
static char *own_begin, *own_end; // the program's code; NULL: requests of libraries count too

static int find_own(struct dl_phdr_info *info, size_t size, void *user) {
  (void)size, (void)user;
  for (int k = 0; k < info->dlpi_phnum; k++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[k];
    if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
    own_begin = (char *)info->dlpi_addr + part->p_vaddr, own_end = own_begin + part->p_memsz;
  }
  return 1; // the first is the program
}

// From the first line of main's libraries on, not while the loader still works.
__attribute__((constructor)) static void start(void) {
  const char *text = getenv("SINEW_FAIL_AT");
  fail_at = text ? atol(text) : 0;
  if (getenv("SINEW_FAIL_OWN")) dl_iterate_phdr(find_own, NULL);
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

static bool refused(const char *caller) {
  if (own_begin && (caller < own_begin || caller >= own_end)) return false;
  if (!ready || atomic_fetch_add(&requests, 1) + 1 != fail_at) return false;
  errno = ENOMEM;
  return true;
}

void *malloc(size_t size) { return refused(CALLER) ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return refused(CALLER) ? NULL : __libc_calloc(count, size); }
void *realloc(void *ptr, size_t size) { return refused(CALLER) ? NULL : __libc_realloc(ptr, size); }
void *memalign(size_t alignment, size_t size) { return refused(CALLER) ? NULL : __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) {
  return refused(CALLER) ? NULL : __libc_memalign(alignment, size);
}
int posix_memalign(void **out, size_t alignment, size_t size) {
  *out = refused(CALLER) ? NULL : __libc_memalign(alignment, size);
  return *out ? 0 : ENOMEM;
}
