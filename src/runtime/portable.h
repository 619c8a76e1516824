// SPDX-License-Identifier: MIT
// For functions that compile as C and as CUDA.
#ifndef SINEW_RUNTIME_PORTABLE_H
#define SINEW_RUNTIME_PORTABLE_H

#if defined(__CUDACC__)
#define SN_RT_BOTH static __host__ __device__ __forceinline__
#else
#define SN_RT_BOTH static inline
#endif

// A type of `count` floats, and sum += row * x of them; the GPU and compilers without vector types get a loop.
#if defined(__GNUC__) && !defined(__CUDACC__)
#define SN_RT_LANES(name, count) typedef float name __attribute__((vector_size(4 * (count))))
#define SN_RT_ADD_PRODUCT(sum, row, x) ((sum) += (row) * (x))
#else
#define SN_RT_LANES(name, count)                                                                                     \
  typedef struct name {                                                                                              \
    float v[count];                                                                                                  \
  } name
#define SN_RT_ADD_PRODUCT(sum, row, x)                                                                               \
  do {                                                                                                               \
    for (unsigned l_ = 0; l_ < sizeof(sum) / sizeof(float); l_++) (sum).v[l_] += (row).v[l_] * (x);                  \
  } while (0)
#endif

enum { SN_RT_PARTS = 8 }; // partial sums of a long sum: part n is over numbers n, n + 8, n + 16, ...

SN_RT_BOTH float sn_rt_sum_parts(const float s[SN_RT_PARTS]) {
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

#endif
