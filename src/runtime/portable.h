// SPDX-License-Identifier: MIT
// Functions of the scalar path that the GPU runs too: they compile as C and as CUDA.
#ifndef SINEW_RUNTIME_PORTABLE_H
#define SINEW_RUNTIME_PORTABLE_H

#if defined(__CUDACC__)
#define SN_RT_BOTH static __host__ __device__ __forceinline__
#else
#define SN_RT_BOTH static inline
#endif

#endif
