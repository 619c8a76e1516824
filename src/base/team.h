// SPDX-License-Identifier: MIT
// Processes that work on one thing together (ctx->team). Every one of them runs the whole program on the same input; loops over
// many vertices are done in parts, each process whole blocks of `grain` items, and what they wrote is then shared. So all
// of them have the same numbers at every time, which are those of one process alone.
#ifndef SINEW_BASE_TEAM_H
#define SINEW_BASE_TEAM_H

#include "sinew/base.h"

int sn_team_size(const sn_context *ctx); // 1 without a team
int sn_team_rank(const sn_context *ctx);

// The first of `blocks` blocks that are of `rank`; those of rank + 1 are behind them.
int64_t sn_team_first(const sn_context *ctx, int64_t blocks, int rank);

// sn_parallel_for over the blocks of this process.
void sn_team_for(const sn_context *ctx, int64_t count, int64_t grain, sn_range_fn body, void *user);
// Afterwards every process has all `count` items of `size` bytes, of which it had those of its blocks.
sn_status sn_team_gather(sn_context *ctx, int64_t count, int64_t grain, void *items, size_t size);
// Afterwards every process has the owner's bytes.
sn_status sn_team_share(sn_context *ctx, int owner, void *bytes, size_t size);

#endif
