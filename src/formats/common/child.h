// SPDX-License-Identifier: MIT
// Work that libraries do which are not ours to mend: in a child process with limits of memory and time.
#ifndef SINEW_FORMATS_COMMON_CHILD_H
#define SINEW_FORMATS_COMMON_CHILD_H

#include "sinew/base.h"

typedef enum sn_child_result { CHILD_DONE, CHILD_FAILED, CHILD_MISSING, CHILD_BROKE } sn_child_result;

typedef struct sn_child_end {
  sn_child_result result; // CHILD_MISSING: the library is not there; CHILD_BROKE: by a signal
  int signal;
  bool no_memory;
  char message[512];
} sn_child_end;

// Runs `work` in a child; it returns CHILD_DONE, CHILD_FAILED or CHILD_MISSING, and may leave a message. What it writes to memory
// is lost unless that is shared.
sn_status sn_child_run(sn_context *ctx, const char *name, int (*work)(void *data, char *message, size_t size),
                       void *data, sn_child_end *end);
// The message for a child that failed or broke; `library` did the work.
sn_status sn_child_failed(sn_context *ctx, const char *name, const char *library, const sn_child_end *end);

#endif
