// SPDX-License-Identifier: MIT
// SSE2: four lanes. Every 64-bit x86 processor has it.
#include "runtime/internal.h"

#if defined(SN_RT_HAS_SSE2)
#if defined(__i386__) && !defined(__SSE2__)
#pragma GCC target("sse2")
#endif
#include <emmintrin.h>

typedef __m128 vf;
typedef __m128i vi;
enum { width = 4, few_registers = 0 };

#define V(op) _mm_##op
#define VI(op) _mm_##op##_si128
static SN_RT_INLINE vf vf_fma(vf a, vf b, vf c) { return _mm_add_ps(_mm_mul_ps(a, b), c); }
static SN_RT_INLINE vf vf_fnma(vf a, vf b, vf c) { return _mm_sub_ps(c, _mm_mul_ps(a, b)); }
#include "runtime/vf_x86.h"

static SN_RT_INLINE vf vf_bits(vi a) { return _mm_castsi128_ps(a); }
static SN_RT_INLINE vi vi_make(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  return _mm_setr_epi32((int)a, (int)b, (int)c, (int)d);
}
static SN_RT_INLINE int vf_all_within(vf a, vf b) { return _mm_movemask_ps(_mm_cmple_ps(a, b)) == 0xf; }
static SN_RT_INLINE void vf_transpose4(vf v[4]) { _MM_TRANSPOSE4_PS(v[0], v[1], v[2], v[3]); }
static SN_RT_INLINE void vf_store3(char *at, vf v) { store_three(at, v); }

static SN_RT_INLINE vf vf_load_u16(const uint16_t *p) {
  __m128i v = _mm_loadl_epi64((const __m128i *)(const void *)p);
  return _mm_cvtepi32_ps(_mm_unpacklo_epi16(v, _mm_setzero_si128()));
}

static SN_RT_INLINE vf vf_load_i16(const int16_t *p) {
  __m128i v = _mm_loadl_epi64((const __m128i *)(const void *)p);
  return _mm_cvtepi32_ps(_mm_srai_epi32(_mm_unpacklo_epi16(v, v), 16));
}

static SN_RT_INLINE vf vf_load_u8(const uint8_t *p) {
  int32_t four;
  memcpy(&four, p, 4);
  __m128i v = _mm_unpacklo_epi8(_mm_cvtsi32_si128(four), _mm_setzero_si128());
  return _mm_cvtepi32_ps(_mm_unpacklo_epi16(v, _mm_setzero_si128()));
}

static SN_RT_INLINE void vf_scatter(vf x, vf y, vf z, char *base, const uint16_t *lanes, size_t stride) {
  scatter_four(_mm_unpacklo_ps(x, y), _mm_unpackhi_ps(x, y), z, base, lanes, stride);
}

static SN_RT_INLINE void vf_store_pairs(vf x, vf y, vf z, char *base, const uint16_t *lanes) {
  vf r[3];
  rows_of_four(x, y, z, r);
  store_two_pairs(r[0], r[1], r[2], base, lanes);
}

static SN_RT_INLINE void vf_store_row(vf x, vf y, vf z, float *at) {
  vf r[3];
  rows_of_four(x, y, z, r);
  vf_store(at, r[0]), vf_store(at + 4, r[1]), vf_store(at + 8, r[2]);
}

static SN_RT_INLINE void vf_load_xyz(const float *p, vf *x, vf *y, vf *z) {
  columns_of_three((const vf[3]){vf_load(p), vf_load(p + 4), vf_load(p + 8)}, x, y, z);
}

static SN_RT_INLINE __m128 load_two(const char *a, const char *b) {
  __m128 low = _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(const void *)a));
  return _mm_loadh_pi(low, (const __m64 *)(const void *)b);
}

static SN_RT_INLINE __m128 load_third(const char *at) { return _mm_load_ss((const float *)(const void *)at + 2); }

static SN_RT_INLINE void vf_gather(const char *const at[4], vf *x, vf *y, vf *z) {
  vf xy01 = load_two(at[0], at[1]), xy23 = load_two(at[2], at[3]);
  vf z01 = _mm_unpacklo_ps(load_third(at[0]), load_third(at[1]));
  vf z23 = _mm_unpacklo_ps(load_third(at[2]), load_third(at[3]));
  *x = _mm_shuffle_ps(xy01, xy23, 0x88), *y = _mm_shuffle_ps(xy01, xy23, 0xdd), *z = _mm_movelh_ps(z01, z23);
}

#include "runtime/four_lanes.h"
#define SN_RT_KERNELS sn_rt_sse2_kernels
#include "runtime/kernels.h"
#endif
