// SPDX-License-Identifier: MIT
// Runs untrusted libraries in a child process with limits on memory and time.
#ifndef SINEW_FORMATS_COMMON_CHILD_H
#define SINEW_FORMATS_COMMON_CHILD_H

#include "sinew/base.h"

typedef enum sn_child_result { CHILD_DONE, CHILD_FAILED, CHILD_MISSING, CHILD_BROKE } sn_child_result;

typedef struct sn_child_end {
  sn_child_result result; // CHILD_MISSING: library not installed; CHILD_BROKE: ended by a signal
  int signal;
  bool no_memory;
  char message[512];
} sn_child_end;

// Runs `work` in a child; it returns CHILD_DONE, CHILD_FAILED or CHILD_MISSING, and may write a message. Its changes to memory are
// lost unless the memory is shared.
sn_status sn_child_run(sn_context *ctx, const char *name, int (*work)(void *data, char *message, size_t size),
                       void *data, sn_child_end *end);
// The error message for a child that failed or broke while running `library`.
sn_status sn_child_failed(sn_context *ctx, const char *name, const char *library, const sn_child_end *end);

#endif
