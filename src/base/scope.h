// SPDX-License-Identifier: MIT
// Leaving a function: after a failed call, and with everything freed that its blocks hold.
#ifndef SINEW_BASE_SCOPE_H
#define SINEW_BASE_SCOPE_H

#include "sinew/base.h"

// Returns from a function that returns an sn_status if the call fails.
#define SN_TRY(call)                                                                                                 \
  do {                                                                                                               \
    sn_status tried = (call);                                                                                        \
    if (tried != SN_OK) return tried;                                                                                \
  } while (0)

// Frees a variable at the end of its block: SN_FREED_BY(sn_mesh_free) sn_mesh mesh = {0};
#define SN_FREED_BY(function) __attribute__((cleanup(function)))
#define SN_SCRATCH(name, ctx) SN_FREED_BY(sn_arena_free) sn_arena name = sn_arena_new(ctx)

#endif
