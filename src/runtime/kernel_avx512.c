// SPDX-License-Identifier: MIT
// AVX-512 with vectors of eight lanes: twice the registers, so that a blended matrix and what it moves fit into them. The
// instruction set is switched on for this file's functions only, so that one binary
// carries all kernels.
#include "runtime/internal.h"

#if defined(SN_RT_HAS_AVX512)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,avx512f,avx512vl,avx512dq,avx512bw"))),                 \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512vl,avx512dq,avx512bw")
#endif
#define SN_RT_AVX512 1
#include "runtime/vf_avx2.h"

const sn_rt_kernels sn_rt_avx512_kernels = {linear, dualquat, stretched, centres,  stretched_centres,
                                            rotreg, shade,    tangents,  mix_terms};

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
