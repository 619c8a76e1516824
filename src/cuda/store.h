// SPDX-License-Identifier: MIT
// Copies results from shared memory to the caller's arrays. If the output has no gaps and is 16-byte aligned, a tile's results are
// contiguous and the copy engine writes them (cp.async.bulk); otherwise threads write single numbers.
#ifndef SINEW_CUDA_STORE_H
#define SINEW_CUDA_STORE_H

#include <cuda_fp16.h>

#include "cuda/device.h"

struct target {
  char *data;
  size_t stride, pitch;
  uint32_t size; // of a number: 4 or 2 bytes
  bool bulk;     // no gaps, and every character aligned
};

static inline target make_target(const sn_cuda_array *a, uint32_t vertex_count) {
  target t;
  t.size = a->type == SN_CUDA_HALF ? 2 : 4;
  t.data = (char *)a->data;
  t.stride = a->stride ? a->stride : 3 * t.size;
  t.pitch = a->pitch ? a->pitch : t.stride * vertex_count;
  t.bulk = t.stride == 3 * t.size && t.pitch % 16 == 0 && (uintptr_t)t.data % 16 == 0;
  return t;
}

// Puts vertex `place` of a tile into the staging memory of its character.
static __device__ __forceinline__ void stage(const target &t, char *staged, uint32_t place, const float v[3]) {
  if (t.size == 4) {
    float *to = (float *)staged + 3 * place;
    to[0] = v[0], to[1] = v[1], to[2] = v[2];
  } else {
    __half *to = (__half *)staged + 3 * place;
    to[0] = __float2half_rn(v[0]), to[1] = __float2half_rn(v[1]), to[2] = __float2half_rn(v[2]);
  }
}

// Waits until the copy engine has read this thread's staging memory, before it is written again.
static __device__ __forceinline__ void wait_for_copies() {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#endif
}

// Called by every thread that staged, before the barrier that precedes the copies.
static __device__ __forceinline__ void publish_staged() {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

static __device__ __forceinline__ bool copies_in_bulk(const target &t, uint32_t count) {
#if __CUDA_ARCH__ >= 900
  return t.bulk && count * 3 * t.size % 16 == 0;
#else
  return false;
#endif
}

// Called by one thread per character and array, after the barrier.
static __device__ __forceinline__ void copy_in_bulk(const target &t, const char *staged, size_t character,
                                                    uint32_t first, uint32_t count) {
#if __CUDA_ARCH__ >= 900
  char *to = t.data + character * t.pitch + (size_t)first * 3 * t.size;
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
               "r"((uint32_t)__cvta_generic_to_shared(staged)), "r"(count * 3 * t.size)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#endif
}

// Called by all threads of the block if the copy engine cannot be used.
static __device__ __forceinline__ void copy_by_threads(const target &t, const char *staged, size_t character,
                                                       uint32_t first, uint32_t count) {
  char *to = t.data + character * t.pitch + (size_t)first * t.stride;
  for (uint32_t n = threadIdx.x; n < 3 * count; n += blockDim.x) {
    char *at = to + (size_t)(n / 3) * t.stride + n % 3 * t.size;
    if (t.size == 4)
      *(float *)at = ((const float *)staged)[n];
    else
      *(__half *)at = ((const __half *)staged)[n];
  }
}

#endif
