// SPDX-License-Identifier: MIT
// WebAssembly SIMD: four lanes.
#include "runtime/internal.h"

#if defined(SN_RT_HAS_WASM)
#include <wasm_simd128.h>

typedef v128_t vf, vi;
enum { width = 4, few_registers = 0 };

static SN_RT_INLINE vf vf_load(const float *p) { return wasm_v128_load(p); }
static SN_RT_INLINE void vf_store(float *p, vf a) { wasm_v128_store(p, a); }
static SN_RT_INLINE vf vf_set(float x) { return wasm_f32x4_splat(x); }
static SN_RT_INLINE vf vf_mul(vf a, vf b) { return wasm_f32x4_mul(a, b); }
static SN_RT_INLINE vf vf_add(vf a, vf b) { return wasm_f32x4_add(a, b); }
static SN_RT_INLINE vf vf_sub(vf a, vf b) { return wasm_f32x4_sub(a, b); }
static SN_RT_INLINE vf vf_div(vf a, vf b) { return wasm_f32x4_div(a, b); }
static SN_RT_INLINE vf vf_max(vf a, vf b) { return wasm_f32x4_pmax(a, b); }
static SN_RT_INLINE vf vf_fma(vf a, vf b, vf c) { return wasm_f32x4_add(wasm_f32x4_mul(a, b), c); }
static SN_RT_INLINE vf vf_fnma(vf a, vf b, vf c) { return wasm_f32x4_sub(c, wasm_f32x4_mul(a, b)); }

// Optimisation barrier: Clang 14 merges a widening and a conversion to float into one conversion that it does lane by
// lane.
static SN_RT_INLINE v128_t apart(v128_t a) {
  __asm__("" : "+r"(a));
  return a;
}

static SN_RT_INLINE vi vi_load(const void *p) { return wasm_v128_load(p); }
static SN_RT_INLINE vi vi_and(vi a, uint32_t mask) { return wasm_v128_and(a, wasm_u32x4_splat(mask)); }
static SN_RT_INLINE vi vi_or(vi a, uint32_t mask) { return wasm_v128_or(a, wasm_u32x4_splat(mask)); }
static SN_RT_INLINE vi vi_shift_left(vi a, int n) { return wasm_i32x4_shl(a, (uint32_t)n); }
static SN_RT_INLINE vi vi_shift_right(vi a, int n) { return wasm_u32x4_shr(a, (uint32_t)n); }
static SN_RT_INLINE vf vf_from(vi a) { return wasm_f32x4_convert_i32x4(apart(a)); }
static SN_RT_INLINE vf vf_bits(vi a) { return a; }
static SN_RT_INLINE vi vi_make(uint32_t a, uint32_t b, uint32_t c, uint32_t d) { return wasm_u32x4_make(a, b, c, d); }

static SN_RT_INLINE void vf_transpose4(vf v[4]) {
  vf a = wasm_i32x4_shuffle(v[0], v[1], 0, 4, 1, 5), b = wasm_i32x4_shuffle(v[0], v[1], 2, 6, 3, 7);
  vf c = wasm_i32x4_shuffle(v[2], v[3], 0, 4, 1, 5), d = wasm_i32x4_shuffle(v[2], v[3], 2, 6, 3, 7);
  v[0] = wasm_i32x4_shuffle(a, c, 0, 1, 4, 5), v[1] = wasm_i32x4_shuffle(a, c, 2, 3, 6, 7);
  v[2] = wasm_i32x4_shuffle(b, d, 0, 1, 4, 5), v[3] = wasm_i32x4_shuffle(b, d, 2, 3, 6, 7);
}

static SN_RT_INLINE void vf_store3(char *at, vf v) {
  wasm_v128_store64_lane(at, v, 0);
  wasm_v128_store32_lane(at + 8, v, 2);
}

static SN_RT_INLINE vf vf_load_u16(const uint16_t *p) { return vf_from(wasm_u32x4_load16x4(p)); }

static SN_RT_INLINE vf vf_load_i16(const int16_t *p) { return vf_from(wasm_i32x4_load16x4(p)); }

static SN_RT_INLINE vf vf_load_u8(const uint8_t *p) {
  v128_t bytes = wasm_v128_load32_zero(p);
  return vf_from(wasm_u32x4_extend_low_u16x8(wasm_u16x8_extend_low_u8x16(bytes)));
}

static SN_RT_INLINE vf vf_rsqrt(vf a) { return wasm_f32x4_div(wasm_f32x4_splat(1), wasm_f32x4_sqrt(a)); }
static SN_RT_INLINE vf vf_flip(vf a, uint32_t sign) { return wasm_v128_xor(a, wasm_i32x4_splat((int32_t)sign)); }

static SN_RT_INLINE vf vf_min(vf a, vf b) { return wasm_f32x4_pmin(a, b); }
static SN_RT_INLINE vf vf_abs(vf a) { return wasm_f32x4_abs(a); }
static SN_RT_INLINE int vf_all_within(vf a, vf b) { return wasm_i32x4_all_true(wasm_f32x4_le(a, b)); }
static SN_RT_INLINE vf vf_flip_by(vf t, vf a) { return wasm_v128_xor(t, wasm_v128_and(a, wasm_f32x4_splat(-0.0f))); }

static SN_RT_INLINE void vf_scatter(vf x, vf y, vf z, char *base, const uint16_t *lanes, size_t stride) {
  vf low = wasm_i32x4_shuffle(x, y, 0, 4, 1, 5), high = wasm_i32x4_shuffle(x, y, 2, 6, 3, 7);
  char *p0 = base + lanes[0] * stride, *p1 = base + lanes[1] * stride;
  char *p2 = base + lanes[2] * stride, *p3 = base + lanes[3] * stride;
  wasm_v128_store64_lane(p0, low, 0), wasm_v128_store64_lane(p1, low, 1);
  wasm_v128_store64_lane(p2, high, 0), wasm_v128_store64_lane(p3, high, 1);
  wasm_v128_store32_lane(p0 + 8, z, 0), wasm_v128_store32_lane(p1 + 8, z, 1);
  wasm_v128_store32_lane(p2 + 8, z, 2), wasm_v128_store32_lane(p3 + 8, z, 3);
}

static SN_RT_INLINE void vf_store_pairs(vf x, vf y, vf z, char *base, const uint16_t *lanes) {
  vf low = wasm_i32x4_shuffle(x, y, 0, 4, 1, 5),
     high = wasm_i32x4_shuffle(x, y, 2, 6, 3, 7); // x0 y0 x1 y1, x2 y2 x3 y3
  char *p = base + 12 * (size_t)lanes[0], *q = base + 12 * (size_t)lanes[2];
  wasm_v128_store(p, wasm_i32x4_shuffle(low, z, 0, 1, 4, 2));
  wasm_v128_store64_lane(p + 16, wasm_i32x4_shuffle(low, z, 3, 5, 3, 5), 0);
  wasm_v128_store64_lane(q, high, 0);
  wasm_v128_store(q + 8, wasm_i32x4_shuffle(z, high, 2, 6, 7, 3));
}

static SN_RT_INLINE void vf_store_row(vf x, vf y, vf z, float *at) {
  vf low = wasm_i32x4_shuffle(x, y, 0, 4, 1, 5), high = wasm_i32x4_shuffle(x, y, 2, 6, 3, 7);
  wasm_v128_store(at, wasm_i32x4_shuffle(low, z, 0, 1, 4, 2));
  wasm_v128_store(at + 4, wasm_i32x4_shuffle(wasm_i32x4_shuffle(low, z, 3, 5, 3, 5), high, 0, 1, 4, 5));
  wasm_v128_store(at + 8, wasm_i32x4_shuffle(z, high, 2, 6, 7, 3));
}

static SN_RT_INLINE void vf_load_xyz(const float *p, vf *x, vf *y, vf *z) {
  vf a = wasm_v128_load(p), b = wasm_v128_load(p + 4), c = wasm_v128_load(p + 8);
  *x = wasm_i32x4_shuffle(wasm_i32x4_shuffle(a, b, 0, 3, 6, 6), c, 0, 1, 2, 5);
  *y = wasm_i32x4_shuffle(wasm_i32x4_shuffle(a, b, 1, 4, 7, 7), c, 0, 1, 2, 6);
  *z = wasm_i32x4_shuffle(wasm_i32x4_shuffle(a, b, 2, 5, 5, 5), c, 0, 1, 4, 7);
}

static SN_RT_INLINE void vf_gather(const char *const at[4], vf *x, vf *y, vf *z) {
  vf xy01 = wasm_v128_load64_lane(at[1], wasm_v128_load64_zero(at[0]), 1);
  vf xy23 = wasm_v128_load64_lane(at[3], wasm_v128_load64_zero(at[2]), 1);
  *x = wasm_i32x4_shuffle(xy01, xy23, 0, 2, 4, 6), *y = wasm_i32x4_shuffle(xy01, xy23, 1, 3, 5, 7);
  vf third = wasm_v128_load32_lane(at[1] + 8, wasm_v128_load32_zero(at[0] + 8), 1);
  *z = wasm_v128_load32_lane(at[3] + 8, wasm_v128_load32_lane(at[2] + 8, third, 2), 3);
}

#include "runtime/four_lanes.h"
#define SN_RT_KERNELS sn_rt_wasm_kernels
#include "runtime/kernels.h"

#endif
