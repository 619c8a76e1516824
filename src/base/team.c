// SPDX-License-Identifier: MIT
// Work of one process of a team (MPI).
#include "base/team.h"

int sn_team_size(const sn_context *ctx) { return ctx->team ? ctx->team->size : 1; }

int sn_team_rank(const sn_context *ctx) { return ctx->team ? ctx->team->rank : 0; }

int64_t sn_team_first(const sn_context *ctx, int64_t blocks, int rank) { return blocks * rank / sn_team_size(ctx); }

sn_status sn_team_share(sn_context *ctx, int owner, void *bytes, size_t size) {
  if (!ctx->team || size == 0) return SN_OK;
  ctx->team->messages++, ctx->team->bytes += size;
  return ctx->team->share(ctx, owner, bytes, size);
}

static int64_t end_of(int64_t blocks, int64_t grain, int64_t count) {
  return blocks * grain < count ? blocks * grain : count;
}

sn_status sn_team_gather(sn_context *ctx, int64_t count, int64_t grain, void *items, size_t size) {
  int64_t blocks = (count + grain - 1) / grain;
  sn_status status = SN_OK;
  for (int rank = 0; ctx->team && rank < ctx->team->size && status == SN_OK; rank++) {
    int64_t begin = end_of(sn_team_first(ctx, blocks, rank), grain, count);
    int64_t end = end_of(sn_team_first(ctx, blocks, rank + 1), grain, count);
    status = sn_team_share(ctx, rank, (char *)items + (size_t)begin * size, (size_t)(end - begin) * size);
  }
  return status;
}

typedef struct part_job {
  sn_range_fn body;
  void *user;
  int64_t first;
} part_job;

static void part_range(void *user, int64_t begin, int64_t end, int worker) {
  const part_job *job = user;
  job->body(job->user, job->first + begin, job->first + end, worker);
}

void sn_team_for(const sn_context *ctx, int64_t count, int64_t grain, sn_range_fn body, void *user) {
  int64_t blocks = (count + grain - 1) / grain;
  int64_t begin = end_of(sn_team_first(ctx, blocks, sn_team_rank(ctx)), grain, count);
  int64_t end = end_of(sn_team_first(ctx, blocks, sn_team_rank(ctx) + 1), grain, count);
  part_job job = {body, user, begin};
  sn_parallel_for(ctx, end - begin, grain, part_range, &job);
}
