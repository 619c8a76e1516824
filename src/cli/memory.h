// SPDX-License-Identifier: MIT
// The memory of the tool: one limit for the library and for JSON.
#ifndef SINEW_CLI_MEMORY_H
#define SINEW_CLI_MEMORY_H

#include "sinew/train.h"

// Most bytes to hold at once; 0: as many as the machine has, or as were allowed before.
void sn_cli_limit_memory(size_t most);
size_t sn_cli_memory_limit(void);
// Fails where less than `bytes` are allowed: what cannot be done is said before it begins. `what` needs them.
sn_status sn_cli_need_memory(sn_context *ctx, double bytes, const char *what);
// The same of a method, beside what is held already.
sn_status sn_cli_need_to_train(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples,
                               const sn_keys *keys);
sn_allocator sn_cli_allocator(void);

// jansson leaves out what it has no memory for, or aborts: with this the process ends instead, with a message.
void sn_cli_guard_json(void);

// Says so and ends the process; files that are not finished do not appear.
_Noreturn void sn_cli_out_of_memory(size_t size);

#endif
