// SPDX-License-Identifier: MIT
// AVX2 with FMA.
#include "runtime/internal.h"

#if defined(SN_RT_HAS_AVX2)
#include "runtime/vf_avx2.h"
#endif
