// SPDX-License-Identifier: MIT
// Cooperating processes (ctx->team). Every process runs the whole program on the same input. Loops over many vertices are split
// into blocks of `grain` items, and their results are exchanged. So all processes always have the same numbers, equal to those
// of a single process.
#ifndef SINEW_BASE_TEAM_H
#define SINEW_BASE_TEAM_H

#include "sinew/base.h"

int sn_team_size(const sn_context *ctx); // 1 without a team
int sn_team_rank(const sn_context *ctx);

// The first of `blocks` blocks that belongs to `rank`; its last is before that of rank + 1.
int64_t sn_team_first(const sn_context *ctx, int64_t blocks, int rank);

// sn_parallel_for over the blocks of this process.
void sn_team_for(const sn_context *ctx, int64_t count, int64_t grain, sn_range_fn body, void *user);
// All-gather of `count` items of `size` bytes: each process contributes the items of its blocks.
sn_status sn_team_gather(sn_context *ctx, int64_t count, int64_t grain, void *items, size_t size);
// Broadcasts the owner's bytes.
sn_status sn_team_share(sn_context *ctx, int owner, void *bytes, size_t size);

#endif
