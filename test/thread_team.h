// SPDX-License-Identifier: MIT
// A team (base/team.h) of threads instead of processes: what the tests and bench_scale run teams with where there is no MPI.
#ifndef SINEW_TEST_THREAD_TEAM_H
#define SINEW_TEST_THREAD_TEAM_H

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "sinew/base.h"

enum { most_ranks = 16 };

typedef struct thread_team {
  pthread_barrier_t barrier;
  void *bytes; // the owner's
} thread_team;

typedef struct thread_rank {
  sn_team team; // first: ctx->team is also the rank
  thread_team *all;
  void (*work)(sn_context *ctx, void *user);
  void *user;
  sn_allocator allocator;
  double seconds; // of the processor
  pthread_t thread;
} thread_rank;

static inline sn_status thread_share(sn_context *ctx, int owner, void *bytes, size_t size) {
  thread_team *all = ((thread_rank *)ctx->team)->all;
  if (ctx->team->rank == owner) all->bytes = bytes;
  pthread_barrier_wait(&all->barrier);
  if (ctx->team->rank != owner) memcpy(bytes, all->bytes, size);
  pthread_barrier_wait(&all->barrier);
  return SN_OK;
}

static inline void *run_rank(void *user) {
  thread_rank *rank = user;
  sn_context ctx = sn_context_default();
  ctx.allocator = rank->allocator, ctx.threads = 1, ctx.team = &rank->team;
  struct timespec t;
  rank->work(&ctx, rank->user);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  rank->seconds = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
  return NULL;
}

// work(ctx, user of the rank) in `size` threads at once; what the first of them shared is in *first. Returns the processor time
// of the one that took longest.
static inline double run_team(int size, sn_allocator allocator, void (*work)(sn_context *, void *), void **users,
                              sn_team *first) {
  thread_team all = {.bytes = NULL};
  thread_rank ranks[most_ranks];
  pthread_barrier_init(&all.barrier, NULL, (unsigned)size);
  for (int r = 0; r < size; r++) {
    ranks[r] = (thread_rank){.team = {.rank = r, .size = size, .share = thread_share},
                             .all = &all,
                             .work = work,
                             .user = users[r],
                             .allocator = allocator};
    pthread_create(&ranks[r].thread, NULL, run_rank, &ranks[r]);
  }
  for (int r = 0; r < size; r++) pthread_join(ranks[r].thread, NULL);
  pthread_barrier_destroy(&all.barrier);
  *first = ranks[0].team;
  double most = 0;
  for (int r = 0; r < size; r++) most = ranks[r].seconds > most ? ranks[r].seconds : most;
  return most;
}

#endif
