// SPDX-License-Identifier: MIT
// What the test programs share: cmocka, a context whose n-th allocation fails, folders, the data sets.
#ifndef SINEW_TEST_CHECK_H
#define SINEW_TEST_CHECK_H

#include <ftw.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sinew/base.h"
#include "sinew/math.h"

#pragma GCC diagnostic ignored "-Wunused-parameter" // cmocka's state

#define assert_ok(ctx, call)                                                                                         \
  do {                                                                                                               \
    sn_status status_ = (call);                                                                                      \
    if (status_ != SN_OK) fail_msg("%s: %s", #call, (ctx)->error.message);                                           \
  } while (0)

// The call fails, and its message contains `text`.
#define assert_fails(ctx, call, text)                                                                                \
  do {                                                                                                               \
    sn_status status_ = (call);                                                                                      \
    if (status_ == SN_OK) fail_msg("%s: succeeded, expected a failure with '%s'", #call, text);                      \
    if (!strstr((ctx)->error.message, text)) fail_msg("%s: '%s' lacks '%s'", #call, (ctx)->error.message, text);     \
  } while (0)

#define assert_near(a, b, tolerance)                                                                                 \
  do {                                                                                                               \
    double a_ = (a), b_ = (b), t_ = (tolerance);                                                                     \
    if (!(fabs(a_ - b_) <= t_)) fail_msg("%s = %.17g, %s = %.17g: differ by more than %g", #a, a_, #b, b_, t_);      \
  } while (0)

// Tests of figures alone are slow under sanitizers, which other tests of the same code run under.
#ifdef __SANITIZE_ADDRESS__
#define figures_only() skip()
#else
#define figures_only() (void)0
#endif

#define assert_below(a, b)                                                                                           \
  do {                                                                                                               \
    double a_ = (a), b_ = (b);                                                                                       \
    if (!(a_ <= b_)) fail_msg("%s = %.17g is above %s = %.17g", #a, a_, #b, b_);                                     \
  } while (0)

// An allocator that refuses the `countdown`-th request (never for a negative one) and counts what is still held.
typedef struct failing_allocator {
  int64_t countdown, live;
} failing_allocator;

static inline void *failing_reallocate(void *user, void *ptr, size_t size) {
  failing_allocator *state = user;
  if (size == 0) {
    if (ptr) __atomic_sub_fetch(&state->live, 1, __ATOMIC_RELAXED);
    free(ptr);
    return NULL;
  }
  if (__atomic_sub_fetch(&state->countdown, 1, __ATOMIC_RELAXED) == 0) return NULL;
  void *grown = realloc(ptr, size);
  if (grown && !ptr) __atomic_add_fetch(&state->live, 1, __ATOMIC_RELAXED);
  return grown;
}

static inline sn_context failing_context(failing_allocator *state) {
  sn_context ctx = sn_context_default();
  ctx.allocator = (sn_allocator){failing_reallocate, state};
  return ctx;
}

// Fails one allocation after the other: for (starvation s = {0}; starve(&s);) s.status = call(&s.ctx);
// A call that succeeds although an allocation failed is repeated, one that fails must give SN_NO_MEMORY, and neither may leak.
typedef struct starvation {
  int64_t n, every; // the allocation that fails; all of the first `every`, then ever fewer; 0: all
  sn_status status;
  sn_context ctx;
  failing_allocator allocator;
} starvation;

static inline bool starve(starvation *s) {
  if (s->n > 0 && s->allocator.live != 0) fail_msg("%d blocks leak", (int)s->allocator.live);
  if (s->n > 0 && s->status == SN_OK && s->allocator.countdown > 0) return false;
  if (s->n > 0 && s->status != SN_OK) assert_int_equal(s->status, SN_NO_MEMORY);
  s->n += 1 + (s->every ? s->n / s->every : 0);
  s->allocator = (failing_allocator){.countdown = s->n};
  s->ctx = failing_context(&s->allocator);
  s->ctx.threads = 1;
  return true;
}

// Path of a file of the real data sets, or NULL where they are absent (the test then skips itself).
static inline const char *data_path(const char *name) {
  static char path[4096];
  const char *root = getenv("SINEW_DATA");
  snprintf(path, sizeof path, "%s/%s", root ? root : "../shared/data", name);
  return access(path, R_OK) == 0 ? path : NULL;
}

#define need_data(variable, name)                                                                                    \
  const char *variable##_found = data_path(name);                                                                    \
  if (!variable##_found) {                                                                                           \
    print_message("skipped: %s is not here\n", name);                                                                \
    skip();                                                                                                          \
  }                                                                                                                  \
  char variable[4096];                                                                                               \
  snprintf(variable, sizeof variable, "%s", variable##_found ? variable##_found : "")

// Where the folders of this process are, and whose it is: its children do not remove it.
static struct {
  char path[512];
  pid_t owner;
} scratch_root;

static inline int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *where) {
  (void)info, (void)kind, (void)where;
  return remove(path);
}

static inline void remove_scratch(void) {
  if (getpid() == scratch_root.owner) nftw(scratch_root.path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

// A new folder of this test's own, where temporary files go. The process removes it when it ends.
static inline const char *scratch_folder(void) {
  static char path[sizeof scratch_root.path + 8];
  const char *root = getenv("TMPDIR");
  if (!scratch_root.owner) {
    snprintf(scratch_root.path, sizeof scratch_root.path, "%s/sinew-test-XXXXXX", root ? root : P_tmpdir);
    if (!mkdtemp(scratch_root.path)) fail_msg("cannot make %s", scratch_root.path);
    scratch_root.owner = getpid();
    atexit(remove_scratch);
  }
  snprintf(path, sizeof path, "%s/XXXXXX", scratch_root.path);
  if (!mkdtemp(path)) fail_msg("cannot make %s", path);
  return path;
}

static inline sn_vec3 random_vec3(sn_random *rng) {
  return sn_vec3_make(sn_random_normal(rng), sn_random_normal(rng), sn_random_normal(rng));
}

static inline sn_mat3 random_rotation(sn_random *rng) {
  sn_quat q = {sn_random_normal(rng), sn_random_normal(rng), sn_random_normal(rng), sn_random_normal(rng)};
  return sn_quat_to_mat3(q);
}

#endif
