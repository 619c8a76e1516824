// SPDX-License-Identifier: MIT
// Asynchronous copies from device to shared memory (cp.async).
#ifndef SINEW_CUDA_ASYNC_H
#define SINEW_CUDA_ASYNC_H

#include <stdint.h>

static __device__ __forceinline__ void copy_async(float4 *to, const float4 *from) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((uint32_t)__cvta_generic_to_shared(to)), "l"(from)
               : "memory");
#else
  *to = *from;
#endif
}

static __device__ __forceinline__ void copy_async(float *to, const float *from) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((uint32_t)__cvta_generic_to_shared(to)), "l"(from)
               : "memory");
#else
  *to = *from;
#endif
}

static __device__ __forceinline__ void commit_async() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until at most LEFT copy groups of this thread are pending.
template <int LEFT> static __device__ __forceinline__ void wait_async() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
#endif
}

#endif
