// SPDX-License-Identifier: MIT
// AVX2 with FMA. The instruction set is switched on for this file's functions only, so that one binary
// carries all kernels.
#include "runtime/internal.h"

#if defined(SN_RT_HAS_AVX2)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#include "runtime/vf_avx2.h"

const sn_rt_kernels sn_rt_avx2_kernels = {linear, dualquat, stretched, centres,  stretched_centres,
                                          rotreg, shade,    tangents,  mix_terms};

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
