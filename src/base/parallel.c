// SPDX-License-Identifier: MIT
// Parallel loops over chunks that do not depend on the number of threads. Threads are started for each loop: that is
// cheap, and no pool has to be shut down.
#include "sinew/base.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { most_threads = 256 };

int sn_threads(const sn_context *ctx) {
  long threads = ctx->threads > 0 ? ctx->threads : sysconf(_SC_NPROCESSORS_ONLN);
  return threads < 1 ? 1 : threads > most_threads ? most_threads : (int)threads;
}

typedef struct loop {
  const sn_context *ctx;
  int64_t count, grain, chunks;
  _Atomic int64_t next; // chunk to be taken
  sn_range_fn body;
  void *user;
} loop;

typedef struct loop_worker {
  loop *loop;
  int index;
  pthread_t thread;
} loop_worker;

static void *take_chunks(void *argument) {
  loop_worker *worker = argument;
  loop *l = worker->loop;
  for (int64_t c; (c = atomic_fetch_add_explicit(&l->next, 1, memory_order_relaxed)) < l->chunks;) {
    if (sn_stopped(l->ctx)) break;
    int64_t begin = c * l->grain, left = l->count - begin;
    l->body(l->user, begin, begin + (left < l->grain ? left : l->grain), worker->index);
  }
  return NULL;
}

void sn_parallel_for(const sn_context *ctx, int64_t count, int64_t grain, sn_range_fn body, void *user) {
  loop l = {.ctx = ctx, .count = count, .grain = grain, .body = body, .user = user};
  if (count > 0) l.chunks = (count + grain - 1) / grain;
  loop_worker workers[most_threads] = {{&l, 0, 0}};
  int threads = sn_threads(ctx), started = 1;
  // If a thread cannot be started, the others do its work.
  while (started < threads && started < l.chunks) {
    workers[started] = (loop_worker){&l, started, 0};
    if (pthread_create(&workers[started].thread, NULL, take_chunks, &workers[started]) != 0) break;
    started++;
  }
  take_chunks(&workers[0]);
  for (int w = 1; w < started; w++) pthread_join(workers[w].thread, NULL);
}
