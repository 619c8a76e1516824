// SPDX-License-Identifier: MIT
// Common code of SSE2 and AVX2, where V(op) is _mm_op or _mm256_op and VI(op) the same for integers: arithmetic of all lanes, and
// operations that AVX2 does in both halves of a vector.
#include <string.h>

static SN_RT_INLINE vf vf_load(const float *p) { return V(loadu_ps)(p); }
static SN_RT_INLINE void vf_store(float *p, vf a) { V(storeu_ps)(p, a); }
static SN_RT_INLINE vf vf_set(float x) { return V(set1_ps)(x); }
static SN_RT_INLINE vf vf_mul(vf a, vf b) { return V(mul_ps)(a, b); }
static SN_RT_INLINE vf vf_add(vf a, vf b) { return V(add_ps)(a, b); }
static SN_RT_INLINE vf vf_sub(vf a, vf b) { return V(sub_ps)(a, b); }
static SN_RT_INLINE vf vf_div(vf a, vf b) { return V(div_ps)(a, b); }
static SN_RT_INLINE vf vf_max(vf a, vf b) { return V(max_ps)(a, b); }
static SN_RT_INLINE vf vf_min(vf a, vf b) { return V(min_ps)(a, b); }
static SN_RT_INLINE vf vf_abs(vf a) { return V(andnot_ps)(vf_set(-0.0f), a); }
static SN_RT_INLINE vf vf_flip_by(vf t, vf a) { return V(xor_ps)(t, V(and_ps)(a, vf_set(-0.0f))); }

static SN_RT_INLINE vi vi_load(const void *p) { return VI(loadu)((const vi *)p); }
static SN_RT_INLINE vi vi_and(vi a, uint32_t mask) { return VI(and)(a, V(set1_epi32)((int)mask)); }
static SN_RT_INLINE vi vi_or(vi a, uint32_t mask) { return VI(or)(a, V(set1_epi32)((int)mask)); }
static SN_RT_INLINE vi vi_shift_left(vi a, int n) { return V(slli_epi32)(a, n); }
static SN_RT_INLINE vi vi_shift_right(vi a, int n) { return V(srli_epi32)(a, n); }
static SN_RT_INLINE vf vf_from(vi a) { return V(cvtepi32_ps)(a); }

static SN_RT_INLINE vf vf_flip(vf a, uint32_t sign) {
  float bits;
  memcpy(&bits, &sign, sizeof bits);
  return V(xor_ps)(a, vf_set(bits));
}

// One Newton step on the 12-bit estimate.
static SN_RT_INLINE vf vf_rsqrt(vf a) {
  vf y = V(rsqrt_ps)(a), half = vf_mul(a, vf_set(0.5f));
  return vf_mul(y, vf_fnma(vf_mul(half, y), y, vf_set(1.5f)));
}

// x y z of every four lanes in a row: x0 y0 z0 x1, y1 z1 x2 y2, z2 x3 y3 z3; and back.
static SN_RT_INLINE void rows_of_four(vf x, vf y, vf z, vf out[3]) {
  vf xy = V(shuffle_ps)(x, y, 0x88), yz = V(shuffle_ps)(y, z, 0xdd), zx = V(shuffle_ps)(z, x, 0xd8);
  out[0] = V(shuffle_ps)(xy, zx, 0x88), out[1] = V(shuffle_ps)(yz, xy, 0xd8), out[2] = V(shuffle_ps)(zx, yz, 0xdd);
}

static SN_RT_INLINE void columns_of_three(const vf r[3], vf *x, vf *y, vf *z) {
  vf xy = V(shuffle_ps)(r[1], r[2], 0x9e), yz = V(shuffle_ps)(r[0], r[1], 0x49);
  *x = V(shuffle_ps)(r[0], xy, 0x8c), *y = V(shuffle_ps)(yz, xy, 0xd8), *z = V(shuffle_ps)(yz, r[2], 0xcd);
}

// Four lanes, from x0 y0 x1 y1, x2 y2 x3 y3 and their z.
static SN_RT_INLINE void scatter_four(__m128 xy_low, __m128 xy_high, __m128 z, char *base, const uint16_t *lanes,
                                      size_t stride) {
  float *p0 = (float *)(void *)(base + lanes[0] * stride), *p1 = (float *)(void *)(base + lanes[1] * stride);
  float *p2 = (float *)(void *)(base + lanes[2] * stride), *p3 = (float *)(void *)(base + lanes[3] * stride);
  _mm_storel_pi((__m64 *)(void *)p0, xy_low), _mm_storeh_pi((__m64 *)(void *)p1, xy_low);
  _mm_storel_pi((__m64 *)(void *)p2, xy_high), _mm_storeh_pi((__m64 *)(void *)p3, xy_high);
  _mm_store_ss(p0 + 2, z);
  _mm_store_ss(p1 + 2, _mm_shuffle_ps(z, z, 0x55));
  _mm_store_ss(p2 + 2, _mm_unpackhi_ps(z, z));
  _mm_store_ss(p3 + 2, _mm_shuffle_ps(z, z, 0xff));
}

// Two pairs of lanes, from the rows of rows_of_four.
static SN_RT_INLINE void store_two_pairs(__m128 a, __m128 b, __m128 c, char *base, const uint16_t *lanes) {
  float *p = (float *)(void *)(base + 12 * (size_t)lanes[0]), *q = (float *)(void *)(base + 12 * (size_t)lanes[2]);
  _mm_storeu_ps(p, a), _mm_storel_pi((__m64 *)(void *)(p + 4), b);
  _mm_storeh_pi((__m64 *)(void *)q, b), _mm_storeu_ps(q + 2, c);
}

// The first three of four numbers.
static SN_RT_INLINE void store_three(char *at, __m128 v) {
  _mm_storel_pi((__m64 *)(void *)at, v);
  _mm_store_ss((float *)(void *)at + 2, _mm_unpackhi_ps(v, v));
}
