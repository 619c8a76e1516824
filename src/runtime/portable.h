// SPDX-License-Identifier: MIT
// Functions that the GPU runs too: they compile as C and as CUDA.
#ifndef SINEW_RUNTIME_PORTABLE_H
#define SINEW_RUNTIME_PORTABLE_H

#if defined(__CUDACC__)
#define SN_RT_BOTH static __host__ __device__ __forceinline__
#else
#define SN_RT_BOTH static inline
#endif

enum { SN_RT_PARTS = 8 }; // partial sums of a long sum: part n is over numbers n, n + 8, n + 16, ...

SN_RT_BOTH float sn_rt_sum_parts(const float s[SN_RT_PARTS]) {
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

#endif
