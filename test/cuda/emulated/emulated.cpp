// SPDX-License-Identifier: MIT
// Blocks of CUDA threads on the processor. Every thread is a context with a separate stack; a block's threads run one after the
// other, each up to its next barrier, so that what depends on their order between barriers shows when the order is reversed
// round (SINEW_EMULATE=backwards). Shared memory starts as NaN, and what a launch did not ask for may not be touched.
#include "cuda_runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include <vector>

#if defined __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define FORBID(at, size) ASAN_POISON_MEMORY_REGION(at, size)
#define ALLOW(at, size) ASAN_UNPOISON_MEMORY_REGION(at, size)
#else
#define FORBID(at, size) ((void)(at), (void)(size))
#define ALLOW(at, size) ((void)(at), (void)(size))
#endif

dim3 threadIdx, blockIdx, blockDim, gridDim;

enum { most_shared = 227 * 1024, stack_size = 64 * 1024, most_threads = 1024, warp_size = 32 };

// The kernels' own names for a block's dynamic shared memory.
alignas(128) char shared[most_shared];
extern char rows[] __attribute__((alias("shared")));
extern char space[] __attribute__((alias("shared")));

enum wait { running, at_block, at_warp, done };

struct thread {
  ucontext_t context; // to start it
  void *place[5];     // where it waits
  wait waits;
  bool started;
  unsigned products;
  std::vector<char> stack;
};

static thread threads[most_threads];
static void *scheduler[5];
static unsigned thread_count, current;
static const std::function<void()> *kernel;
static int any, any_of_last; // __syncthreads_or

// What the lanes of a warp bring to a product; the next product has the other half, so that one barrier is enough.
struct operands {
  uint32_t a[4], b[2];
};
static operands brought[2][most_threads];

static void stop(const char *what) {
  fprintf(stderr, "emulated kernel: %s (block %u, %u; thread %u)\n", what, blockIdx.x, blockIdx.y, current);
  abort();
}

// Built in, because swapcontext makes a system call for signals every time; hidden from the address sanitizer, which would check the stacks.
#define SWITCH static __attribute__((noinline, no_sanitize_address)) void
SWITCH jump(void **to) { __builtin_longjmp(to, 1); }

SWITCH change(void **from, void **to) {
  if (!__builtin_setjmp(from)) jump(to);
}

SWITCH start(void **from, const ucontext_t *to) {
  if (!__builtin_setjmp(from)) setcontext(to);
}

static void wait_at(wait kind) {
  threads[current].waits = kind;
  change(threads[current].place, scheduler);
}

void __syncthreads() { wait_at(at_block); }

int __syncthreads_or(int mine) {
  any |= mine != 0;
  wait_at(at_block);
  return any_of_last;
}

void __syncwarp() { wait_at(at_warp); }

static float tf32(uint32_t bits) { return __uint_as_float(bits & 0xffffe000u); }

// Lane l has, of A, rows l / 4 and 8 more and columns l % 4 and 4 more; of B, these as rows and column l / 4; of D, these rows and columns
// 2 (l % 4) and the next.
void sn_emulated_multiply(float d[4], const uint32_t a[4], const uint32_t b[2]) {
  operands *warp = brought[threads[current].products++ % 2] + current / warp_size * warp_size;
  const unsigned lane = current % warp_size;
  memcpy(warp[lane].a, a, sizeof warp->a), memcpy(warp[lane].b, b, sizeof warp->b);
  __syncwarp();
  for (unsigned n = 0; n < 4; n++) {
    for (unsigned k = 0; k < 8; k++) {
      const operands *left = warp + lane / 4 * 4 + k % 4, *right = warp + (2 * (lane % 4) + n % 2) * 4 + k % 4;
      d[n] += tf32(left->a[k / 4 * 2 + n / 2]) * tf32(right->b[k / 4]);
    }
  }
}

// Block after block: starting a context is slow.
static void run_thread() {
  for (;;) {
    (*kernel)();
    wait_at(done);
  }
}

static void make_context(thread *t) {
  t->stack.resize(stack_size);
  getcontext(&t->context);
  t->context.uc_stack.ss_sp = t->stack.data(), t->context.uc_stack.ss_size = stack_size;
  t->context.uc_link = NULL;
  makecontext(&t->context, run_thread, 0);
}

static void resume(thread *t) {
  if (t->started) {
    change(scheduler, t->place);
  } else {
    make_context(t);
    t->started = true;
    start(scheduler, &t->context);
  }
}

static bool all_wait(unsigned first, unsigned last, wait kind) {
  for (unsigned n = first; n < last; n++)
    if (threads[n].waits != kind && threads[n].waits != done) return false;
  return true;
}

static void let_go(unsigned first, unsigned last) {
  for (unsigned n = first; n < last; n++)
    if (threads[n].waits != done) threads[n].waits = running;
}

// Opens the barriers at which everybody is; false where none is.
static bool open_barriers() {
  bool opened = false;
  for (unsigned w = 0; w < thread_count; w += warp_size) {
    unsigned last = min(w + warp_size, thread_count);
    if (all_wait(w, last, done) || !all_wait(w, last, at_warp)) continue;
    let_go(w, last), opened = true;
  }
  if (opened || !all_wait(0, thread_count, at_block)) return opened;
  any_of_last = any, any = 0;
  let_go(0, thread_count);
  return true;
}

static void run_block(bool backwards) {
  for (unsigned n = 0; n < thread_count; n++) threads[n].waits = running, threads[n].products = 0;
  while (!all_wait(0, thread_count, done)) {
    for (unsigned k = 0; k < thread_count; k++) {
      current = backwards ? thread_count - 1 - k : k;
      if (threads[current].waits != running) continue;
      threadIdx = dim3(current, 0, 0);
      resume(threads + current);
    }
    if (!open_barriers()) stop("threads wait at different barriers for ever");
  }
}

void sn_emulated_launch(dim3 grid, dim3 block, size_t size, const std::function<void()> &body) {
  const char *order = getenv("SINEW_EMULATE");
  bool backwards = order && !strcmp(order, "backwards");
  if (block.x > most_threads || block.y != 1 || block.z != 1) stop("a block of so many threads");
  if (size > most_shared || grid.y > 65535 || grid.z > 65535) stop("a launch that a GPU refuses");
  kernel = &body, thread_count = block.x, blockDim = block, gridDim = grid;
  FORBID(shared + size, most_shared - size);
  for (unsigned y = 0; y < grid.y; y++) {
    for (unsigned x = 0; x < grid.x; x++) {
      blockIdx = dim3(x, y, 0);
      memset(shared, 0xff, size);
      run_block(backwards);
    }
  }
  ALLOW(shared + size, most_shared - size);
}

cudaError_t sn_emulated_malloc(void **out, size_t size) {
  *out = aligned_alloc(256, (size + 255) / 256 * 256);
  if (!*out) return cudaErrorMemoryAllocation;
  memset(*out, 0xff, size);
  FORBID((char *)*out + size, (size + 255) / 256 * 256 - size);
  return cudaSuccess;
}

cudaError_t cudaFree(void *memory) { return free(memory), cudaSuccess; }

cudaError_t cudaFuncSetAttribute(const void *, int, int value) {
  return value <= most_shared ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaDeviceGetAttribute(int *out, int, int) { return *out = most_shared, cudaSuccess; }
