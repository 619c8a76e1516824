// SPDX-License-Identifier: MIT
// SSE2: four lanes. Every 64-bit x86 processor has it.
#include "runtime/internal.h"

#if defined(SN_RT_HAS_SSE2)
#if defined(__i386__) && !defined(__SSE2__)
#pragma GCC target("sse2")
#endif
#include <emmintrin.h>
#include <string.h>

typedef __m128 vf;
typedef __m128i vi;
enum { width = 4, few_registers = 0 };

static SN_RT_INLINE vf vf_load(const float *p) { return _mm_loadu_ps(p); }
static SN_RT_INLINE void vf_store(float *p, vf a) { _mm_storeu_ps(p, a); }
static SN_RT_INLINE vf vf_set(float x) { return _mm_set1_ps(x); }
static SN_RT_INLINE vf vf_mul(vf a, vf b) { return _mm_mul_ps(a, b); }
static SN_RT_INLINE vf vf_add(vf a, vf b) { return _mm_add_ps(a, b); }
static SN_RT_INLINE vf vf_sub(vf a, vf b) { return _mm_sub_ps(a, b); }
static SN_RT_INLINE vf vf_div(vf a, vf b) { return _mm_div_ps(a, b); }
static SN_RT_INLINE vf vf_max(vf a, vf b) { return _mm_max_ps(a, b); }
static SN_RT_INLINE vf vf_fma(vf a, vf b, vf c) { return _mm_add_ps(_mm_mul_ps(a, b), c); }
static SN_RT_INLINE vf vf_fnma(vf a, vf b, vf c) { return _mm_sub_ps(c, _mm_mul_ps(a, b)); }

static SN_RT_INLINE vi vi_load(const void *p) { return _mm_loadu_si128((const __m128i *)p); }
static SN_RT_INLINE vi vi_and(vi a, uint32_t mask) { return _mm_and_si128(a, _mm_set1_epi32((int)mask)); }
static SN_RT_INLINE vi vi_or(vi a, uint32_t mask) { return _mm_or_si128(a, _mm_set1_epi32((int)mask)); }
static SN_RT_INLINE vi vi_shift_left(vi a, int n) { return _mm_slli_epi32(a, n); }
static SN_RT_INLINE vi vi_shift_right(vi a, int n) { return _mm_srli_epi32(a, n); }
static SN_RT_INLINE vf vf_from(vi a) { return _mm_cvtepi32_ps(a); }
static SN_RT_INLINE vf vf_bits(vi a) { return _mm_castsi128_ps(a); }
static SN_RT_INLINE vi vi_make(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  return _mm_setr_epi32((int)a, (int)b, (int)c, (int)d);
}

static SN_RT_INLINE void vf_turn(vf v[4]) { _MM_TRANSPOSE4_PS(v[0], v[1], v[2], v[3]); }

static SN_RT_INLINE void vf_store3(char *at, vf v) {
  _mm_storel_pi((__m64 *)(void *)at, v);
  _mm_store_ss((float *)(void *)at + 2, _mm_unpackhi_ps(v, v));
}

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

// One Newton step on the 12-bit estimate.
static SN_RT_INLINE vf vf_rsqrt(vf a) {
  vf y = _mm_rsqrt_ps(a), half = _mm_mul_ps(a, _mm_set1_ps(0.5f));
  return _mm_mul_ps(y, _mm_sub_ps(_mm_set1_ps(1.5f), _mm_mul_ps(_mm_mul_ps(half, y), y)));
}

static SN_RT_INLINE vf vf_flip(vf a, uint32_t sign) {
  return _mm_xor_ps(a, _mm_castsi128_ps(_mm_set1_epi32((int)sign)));
}

static SN_RT_INLINE vf vf_min(vf a, vf b) { return _mm_min_ps(a, b); }
static SN_RT_INLINE vf vf_abs(vf a) { return _mm_andnot_ps(_mm_set1_ps(-0.0f), a); }
static SN_RT_INLINE int vf_all_within(vf a, vf b) { return _mm_movemask_ps(_mm_cmple_ps(a, b)) == 0xf; }
static SN_RT_INLINE vf vf_flip_by(vf t, vf a) { return _mm_xor_ps(t, _mm_and_ps(a, _mm_set1_ps(-0.0f))); }

static SN_RT_INLINE void vf_scatter(vf x, vf y, vf z, char *base, const uint16_t *lanes, size_t stride) {
  float *p0 = (float *)(void *)(base + lanes[0] * stride), *p1 = (float *)(void *)(base + lanes[1] * stride);
  float *p2 = (float *)(void *)(base + lanes[2] * stride), *p3 = (float *)(void *)(base + lanes[3] * stride);
  vf low = _mm_unpacklo_ps(x, y), high = _mm_unpackhi_ps(x, y);
  _mm_storel_pi((__m64 *)(void *)p0, low), _mm_storeh_pi((__m64 *)(void *)p1, low);
  _mm_storel_pi((__m64 *)(void *)p2, high), _mm_storeh_pi((__m64 *)(void *)p3, high);
  _mm_store_ss(p0 + 2, z);
  _mm_store_ss(p1 + 2, _mm_shuffle_ps(z, z, 0x55));
  _mm_store_ss(p2 + 2, _mm_unpackhi_ps(z, z));
  _mm_store_ss(p3 + 2, _mm_shuffle_ps(z, z, 0xff));
}

static SN_RT_INLINE void vf_store_pairs(vf x, vf y, vf z, char *base, const uint16_t *lanes) {
  vf xy = _mm_shuffle_ps(x, y, 0x88), yz = _mm_shuffle_ps(y, z, 0xdd), zx = _mm_shuffle_ps(z, x, 0xd8);
  vf middle = _mm_shuffle_ps(yz, xy, 0xd8); // y1 z1 x2 y2
  float *p = (float *)(void *)(base + 12 * (size_t)lanes[0]), *q = (float *)(void *)(base + 12 * (size_t)lanes[2]);
  _mm_storeu_ps(p, _mm_shuffle_ps(xy, zx, 0x88)), _mm_storel_pi((__m64 *)(void *)(p + 4), middle);
  _mm_storeh_pi((__m64 *)(void *)q, middle), _mm_storeu_ps(q + 2, _mm_shuffle_ps(zx, yz, 0xdd));
}

static SN_RT_INLINE void vf_store_row(vf x, vf y, vf z, float *at) {
  vf xy = _mm_shuffle_ps(x, y, 0x88), yz = _mm_shuffle_ps(y, z, 0xdd), zx = _mm_shuffle_ps(z, x, 0xd8);
  vf_store(at, _mm_shuffle_ps(xy, zx, 0x88)), vf_store(at + 4, _mm_shuffle_ps(yz, xy, 0xd8));
  vf_store(at + 8, _mm_shuffle_ps(zx, yz, 0xdd));
}

static SN_RT_INLINE void vf_load_xyz(const float *p, vf *x, vf *y, vf *z) {
  vf a = _mm_loadu_ps(p), b = _mm_loadu_ps(p + 4), c = _mm_loadu_ps(p + 8);
  vf xy = _mm_shuffle_ps(b, c, 0x9e), yz = _mm_shuffle_ps(a, b, 0x49);
  *x = _mm_shuffle_ps(a, xy, 0x8c), *y = _mm_shuffle_ps(yz, xy, 0xd8), *z = _mm_shuffle_ps(yz, c, 0xcd);
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

const sn_rt_kernels sn_rt_sse2_kernels = {linear, dualquat, stretched, centres,  stretched_centres,
                                          rotreg, shade,    tangents,  mix_terms};
#endif
