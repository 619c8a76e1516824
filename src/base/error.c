// SPDX-License-Identifier: MIT
// Contexts, failures and their messages.
#include "sinew/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void *default_reallocate(void *user, void *ptr, size_t size) {
  (void)user;
  if (size == 0) {
    free(ptr);
    return NULL;
  }
  return realloc(ptr, size);
}

sn_context sn_context_default(void) { return (sn_context){.allocator = {default_reallocate, NULL}}; }

sn_status sn_fail(sn_context *ctx, sn_status status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(ctx->error.message, sizeof ctx->error.message, format, args);
  va_end(args);
  ctx->error.status = status;
  return status;
}

sn_status sn_fail_prefix(sn_context *ctx, const char *format, ...) {
  char text[sizeof ctx->error.message];
  va_list args;
  va_start(args, format);
  int used = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  size_t start = used < 0 ? 0 : (size_t)used < sizeof text ? (size_t)used : sizeof text - 1;
  snprintf(text + start, sizeof text - start, "%s", ctx->error.message);
  memcpy(ctx->error.message, text, sizeof text);
  return ctx->error.status;
}

bool sn_stopped(const sn_context *ctx) { return ctx->stop && __atomic_load_n(ctx->stop, __ATOMIC_RELAXED) != 0; }

bool sn_progress(sn_context *ctx, const char *task, double done) {
  return !sn_stopped(ctx) && (!ctx->progress || ctx->progress(ctx->progress_user, task, done));
}

bool sn_progress_reading(sn_context *ctx, const char *path, double done) {
  const char *slash = path ? strrchr(path, '/') : NULL;
  char task[64];
  snprintf(task, sizeof task, "reading %s", slash ? slash + 1 : path ? path : "frames");
  return sn_progress(ctx, task, done);
}

double sn_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

const char *sn_version(void) { return SN_VERSION; }

int sn_version_number(void) { return SN_VERSION_NUMBER; }

const char *sn_status_name(sn_status status) {
  static const char *const names[] = {
    "SN_OK",          "SN_NO_MEMORY",     "SN_IO",     "SN_BAD_FILE", "SN_BAD_INPUT",
    "SN_UNSUPPORTED", "SN_NOT_CONVERGED", "SN_STOPPED"};
  return status >= SN_OK && status <= SN_STOPPED ? names[status] : "unknown";
}
