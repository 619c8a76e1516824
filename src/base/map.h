// SPDX-License-Identifier: MIT
// Files and scratch space mapped into memory.
#ifndef SINEW_BASE_MAP_H
#define SINEW_BASE_MAP_H

#include "sinew/base.h"

// Maps `size` bytes of fd, which may be closed afterwards, into out->bytes. `name` is for messages.
sn_status sn_map_new(sn_context *ctx, const char *name, int fd, size_t size, bool writable, sn_file *out);
void sn_map_free(struct sn_map *map); // NULL is none

#endif
