// SPDX-License-Identifier: MIT
// Half precision for the emulation of kernels (cuda_runtime.h): numbers are rounded to even as CUDA does.
#ifndef SINEW_TEST_CUDA_FP16_H
#define SINEW_TEST_CUDA_FP16_H

typedef _Float16 __half;
static inline __half __float2half_rn(float x) { return (_Float16)x; }
static inline float __half2float(__half x) { return (float)x; }

#endif
