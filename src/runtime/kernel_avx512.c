// SPDX-License-Identifier: MIT
// AVX-512 with vectors of eight lanes.
#include "runtime/internal.h"

#if defined(SN_RT_HAS_AVX512)
#define SN_RT_AVX512 1
#include "runtime/vf_avx2.h"
#endif
