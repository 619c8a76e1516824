// SPDX-License-Identifier: MIT
// Parallel loops over chunks that do not depend on the number of threads.
#include "sinew/base.h"

#include <omp.h>

int sn_threads(const sn_context *ctx) { return ctx->threads > 0 ? ctx->threads : omp_get_num_procs(); }

static int64_t chunk_count(int64_t count, int64_t grain) { return count <= 0 ? 0 : (count + grain - 1) / grain; }

static int64_t chunk_end(int64_t begin, int64_t count, int64_t grain) {
  return count - begin < grain ? count : begin + grain;
}

void sn_parallel_for(const sn_context *ctx, int64_t count, int64_t grain, sn_range_fn body, void *user) {
  int64_t chunks = chunk_count(count, grain);
  int threads = sn_threads(ctx);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) if (threads > 1 && chunks > 1)
  for (int64_t c = 0; c < chunks; c++) {
    body(user, c * grain, chunk_end(c * grain, count, grain), omp_get_thread_num());
  }
}

// Partial sums go through a fixed window of chunks, so that no memory is needed and the order of additions is fixed.
double sn_parallel_sum(const sn_context *ctx, int64_t count, int64_t grain, sn_sum_fn body, void *user) {
  enum { window = 256 };
  double partial[window], sum = 0;
  int64_t chunks = chunk_count(count, grain);
  int threads = sn_threads(ctx);
  for (int64_t first = 0; first < chunks; first += window) {
    int64_t last = first + window < chunks ? first + window : chunks;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) if (threads > 1 && last - first > 1)
    for (int64_t c = first; c < last; c++) {
      partial[c - first] = body(user, c * grain, chunk_end(c * grain, count, grain));
    }
    for (int64_t c = first; c < last; c++) sum += partial[c - first];
  }
  return sum;
}
