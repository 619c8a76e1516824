// SPDX-License-Identifier: MIT
// Instruction sets: availability, the best one, and streaming stores.
#include <string.h>

#include "runtime/internal.h"

#if defined(__SSE2__) && !defined(SN_SCALAR_ONLY)
#include <emmintrin.h>
#endif

#if defined(SN_RT_HAS_AVX2)
#include <cpuid.h>

// The processor has AVX2 and FMA, and the operating system saves the wide registers.
static int cpu_has_avx2(void) {
  unsigned a, b, c, d, low, high;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_FMA) || !(c & bit_OSXSAVE) || !(c & bit_AVX)) return 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & 6) != 6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
  return (b & bit_AVX2) != 0;
}

// The processor has AVX-512 F, DQ, BW and VL, and the operating system saves the mask registers and the upper halves.
static int cpu_has_avx512(void) {
  unsigned a, b, c, d, low, high, needed = bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL;
  if (!cpu_has_avx2() || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & needed) != needed) return 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & 0xe6) == 0xe6;
}
#endif

// AMD's family 0x19 (Zen 4) splits 512-bit operations in two: 256-bit vectors are faster there.
int sn_rt_has_wide_units(void) {
#if defined(SN_RT_HAS_AVX512)
  unsigned a, b, c, d;
  if (!cpu_has_avx512() || !__get_cpuid(0, &a, &b, &c, &d)) return 0;
  int amd = b == signature_AMD_ebx && c == signature_AMD_ecx && d == signature_AMD_edx;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
  unsigned family = (a >> 8 & 15) + (a >> 20 & 255);
  return !(amd && family == 0x19);
#else
  return 0;
#endif
}

const sn_rt_kernels *sn_rt_kernels_of(sn_rt_path path) {
  static const sn_rt_kernels *const kernels[] = {
#if !defined(SN_RT_BASIC)
    [SN_RT_PATH_SCALAR] = &sn_rt_scalar_kernels,
#endif
#if defined(SN_RT_HAS_AVX2)
    [SN_RT_PATH_AVX2] = &sn_rt_avx2_kernels,
    [SN_RT_PATH_AVX512] = &sn_rt_avx512_kernels,
#endif
#if defined(SN_RT_HAS_SSE2)
    [SN_RT_PATH_SSE2] = &sn_rt_sse2_kernels,
#endif
#if defined(SN_RT_HAS_NEON)
    [SN_RT_PATH_NEON] = &sn_rt_neon_kernels,
#endif
#if defined(SN_RT_HAS_WASM)
    [SN_RT_PATH_WASM] = &sn_rt_wasm_kernels,
#endif
  };
  return (unsigned)path < sizeof kernels / sizeof *kernels ? kernels[path] : NULL;
}

// Whether this build and this processor have it.
static int has_path(sn_rt_path path) {
#if defined(SN_RT_HAS_AVX2)
  if (path == SN_RT_PATH_AVX2 && !cpu_has_avx2()) return 0;
  if (path == SN_RT_PATH_AVX512 && !cpu_has_avx512()) return 0;
#endif
  return sn_rt_kernels_of(path) != NULL;
}

sn_rt_path sn_rt_best_path(void) {
  static const sn_rt_path fastest[] = {SN_RT_PATH_AVX512, SN_RT_PATH_AVX2, SN_RT_PATH_SSE2, SN_RT_PATH_NEON,
                                       SN_RT_PATH_WASM};
  for (size_t n = 0; n < sizeof fastest / sizeof *fastest; n++)
    if (has_path(fastest[n])) return fastest[n];
  return SN_RT_PATH_SCALAR;
}

int sn_rt_use_path(sn_rt_model *model, sn_rt_path path) {
  if (path == SN_RT_PATH_BEST) path = sn_rt_best_path();
  if (!has_path(path)) return 0;
  sn_rt_change(model)->path = path;
  return 1;
}

// ---- streaming ------------------------------------------------------------------------------------------------------------

#if defined(__SSE2__) && !defined(SN_SCALAR_ONLY)
int sn_rt_can_stream(void) { return 1; }

void sn_rt_stream(void *to, const void *from, size_t size) {
  char *out = to;
  const char *in = from;
  size_t head = (64 - ((uintptr_t)out & 63)) & 63;
  if (head > size) head = size;
  memcpy(out, in, head);
  for (out += head, in += head, size -= head; size >= 64; out += 64, in += 64, size -= 64)
    for (int n = 0; n < 64; n += 16)
      _mm_stream_si128((__m128i *)(void *)(out + n), _mm_loadu_si128((const __m128i *)(const void *)(in + n)));
  memcpy(out, in, size);
  sn_rt_fence();
}

void sn_rt_fence(void) { _mm_sfence(); }
#else
int sn_rt_can_stream(void) { return 0; }
void sn_rt_stream(void *to, const void *from, size_t size) { memcpy(to, from, size); }
void sn_rt_fence(void) {}
#endif
