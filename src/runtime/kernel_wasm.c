// SPDX-License-Identifier: MIT
// WebAssembly SIMD: four lanes.
#include "runtime/internal.h"

#if defined(SN_RT_HAS_WASM)
#include <string.h>
#include <wasm_simd128.h>

typedef v128_t vf;
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

// Clang 14 makes one conversion of a widening and a conversion to float, and that lane by lane, unless it is kept from
// seeing both.
static SN_RT_INLINE v128_t apart(v128_t a) {
  __asm__("" : "+r"(a));
  return a;
}

static SN_RT_INLINE vf vf_load_u16(const uint16_t *p) {
  return wasm_f32x4_convert_i32x4(apart(wasm_u32x4_load16x4(p)));
}

static SN_RT_INLINE vf vf_load_i16(const int16_t *p) {
  return wasm_f32x4_convert_i32x4(apart(wasm_i32x4_load16x4(p)));
}

static SN_RT_INLINE vf vf_load_even(const int16_t *p) {
  return wasm_f32x4_convert_i32x4(apart(wasm_i32x4_shl(wasm_v128_load(p), 16)));
}

static SN_RT_INLINE vf vf_load_odd(const int16_t *p) {
  v128_t upper = wasm_i32x4_splat((int32_t)0xffff0000u);
  return wasm_f32x4_convert_i32x4(apart(wasm_v128_and(wasm_v128_load(p), upper)));
}

static SN_RT_INLINE vf vf_load_u8(const uint8_t *p) {
  v128_t bytes = wasm_v128_load32_zero(p);
  return wasm_f32x4_convert_i32x4(apart(wasm_u32x4_extend_low_u16x8(wasm_u16x8_extend_low_u8x16(bytes))));
}

// Six bytes, four lanes.
static SN_RT_INLINE vf vf_load_u12(const uint8_t *p) {
  uint32_t low, high;
  memcpy(&low, p, 4), memcpy(&high, p + 2, 4);
  return wasm_f32x4_convert_i32x4(wasm_u32x4_make(low & 0xfff, low >> 12 & 0xfff, high >> 8 & 0xfff, high >> 20));
}

// The bits of `numbers` in the mask as the fraction of a number from 1 to 2.
static SN_RT_INLINE vf fraction(v128_t numbers, int32_t mask) {
  return wasm_v128_or(wasm_v128_and(numbers, wasm_i32x4_splat(mask)), wasm_i32x4_splat(0x3f800000));
}

static SN_RT_INLINE vf vf_unit_u12(const uint8_t *p) {
  uint32_t low, high;
  memcpy(&low, p, 4), memcpy(&high, p + 2, 4);
  return fraction(wasm_u32x4_make(low << 11, low >> 1, high << 3, high >> 9), 0xfff << 11);
}

static SN_RT_INLINE vf vf_unit_u10(const uint8_t *p, int shift) {
  v128_t v = wasm_v128_load(p);
  uint32_t left = (uint32_t)(13 - shift), right = (uint32_t)(shift - 13);
  return fraction(shift <= 13 ? wasm_i32x4_shl(v, left) : wasm_u32x4_shr(v, right), 0x3ff << 13);
}

static SN_RT_INLINE vf vf_rsqrt(vf a) { return wasm_f32x4_div(wasm_f32x4_splat(1), wasm_f32x4_sqrt(a)); }
static SN_RT_INLINE vf vf_flip(vf a, uint32_t sign) { return wasm_v128_xor(a, wasm_i32x4_splat((int32_t)sign)); }

static SN_RT_INLINE vf vf_min(vf a, vf b) { return wasm_f32x4_pmin(a, b); }
static SN_RT_INLINE vf vf_abs(vf a) { return wasm_f32x4_abs(a); }
static SN_RT_INLINE int vf_all_within(vf a, vf b) { return wasm_i32x4_all_true(wasm_f32x4_le(a, b)); }
static SN_RT_INLINE vf vf_flip_by(vf t, vf a) { return wasm_v128_xor(t, wasm_v128_and(a, wasm_f32x4_splat(-0.0f))); }

static SN_RT_INLINE void vf_load_uv(const uint8_t *p, vf *u, vf *v) {
  uint32_t pairs[4];
  for (int l = 0; l < 4; l++) memcpy(pairs + l, p + 3 * l, 4);
  v128_t all = wasm_v128_load(pairs), mask = wasm_i32x4_splat(0xfff);
  *u = wasm_f32x4_convert_i32x4(wasm_v128_and(all, mask));
  *v = wasm_f32x4_convert_i32x4(wasm_v128_and(wasm_u32x4_shr(all, 12), mask));
}

// Four rows of four floats, `stride` floats apart, into four columns.
static SN_RT_INLINE void vf_transpose(const float *rows, int stride, vf out[4]) {
  vf r0 = vf_load(rows), r1 = vf_load(rows + stride), r2 = vf_load(rows + 2 * stride),
     r3 = vf_load(rows + 3 * stride);
  vf a = wasm_i32x4_shuffle(r0, r1, 0, 4, 1, 5), b = wasm_i32x4_shuffle(r0, r1, 2, 6, 3, 7);
  vf c = wasm_i32x4_shuffle(r2, r3, 0, 4, 1, 5), d = wasm_i32x4_shuffle(r2, r3, 2, 6, 3, 7);
  out[0] = wasm_i32x4_shuffle(a, c, 0, 1, 4, 5), out[1] = wasm_i32x4_shuffle(a, c, 2, 3, 6, 7);
  out[2] = wasm_i32x4_shuffle(b, d, 0, 1, 4, 5), out[3] = wasm_i32x4_shuffle(b, d, 2, 3, 6, 7);
}

static SN_RT_INLINE void vf_scatter(vf x, vf y, vf z, char *base, const uint16_t *lanes, size_t stride) {
  vf low = wasm_i32x4_shuffle(x, y, 0, 4, 1, 5), high = wasm_i32x4_shuffle(x, y, 2, 6, 3, 7);
  char *p0 = base + lanes[0] * stride, *p1 = base + lanes[1] * stride;
  char *p2 = base + lanes[2] * stride, *p3 = base + lanes[3] * stride;
  wasm_v128_store64_lane(p0, low, 0), wasm_v128_store64_lane(p1, low, 1);
  wasm_v128_store64_lane(p2, high, 0), wasm_v128_store64_lane(p3, high, 1);
  wasm_v128_store32_lane(p0 + 8, z, 0), wasm_v128_store32_lane(p1 + 8, z, 1);
  wasm_v128_store32_lane(p2 + 8, z, 2), wasm_v128_store32_lane(p3 + 8, z, 3);
}

static SN_RT_INLINE void vf_scatter4(const vf v[4], char *base, const uint16_t *lanes, size_t stride) {
  vf xy_low = wasm_i32x4_shuffle(v[0], v[1], 0, 4, 1, 5), xy_high = wasm_i32x4_shuffle(v[0], v[1], 2, 6, 3, 7);
  vf zw_low = wasm_i32x4_shuffle(v[2], v[3], 0, 4, 1, 5), zw_high = wasm_i32x4_shuffle(v[2], v[3], 2, 6, 3, 7);
  wasm_v128_store(base + lanes[0] * stride, wasm_i32x4_shuffle(xy_low, zw_low, 0, 1, 4, 5));
  wasm_v128_store(base + lanes[1] * stride, wasm_i32x4_shuffle(xy_low, zw_low, 2, 3, 6, 7));
  wasm_v128_store(base + lanes[2] * stride, wasm_i32x4_shuffle(xy_high, zw_high, 0, 1, 4, 5));
  wasm_v128_store(base + lanes[3] * stride, wasm_i32x4_shuffle(xy_high, zw_high, 2, 3, 6, 7));
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

static SN_RT_INLINE void vf_stream_row(vf x, vf y, vf z, float *at) { vf_store_row(x, y, z, at); }

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

static SN_RT_INLINE void vf_gather_rows(const char *const at[4], vf out[4]) {
  vf a = wasm_v128_load(at[0]), b = wasm_v128_load(at[1]), c = wasm_v128_load(at[2]), d = wasm_v128_load(at[3]);
  vf low01 = wasm_i32x4_shuffle(a, b, 0, 4, 1, 5), low23 = wasm_i32x4_shuffle(c, d, 0, 4, 1, 5);
  vf high01 = wasm_i32x4_shuffle(a, b, 2, 6, 3, 7), high23 = wasm_i32x4_shuffle(c, d, 2, 6, 3, 7);
  out[0] = wasm_i32x4_shuffle(low01, low23, 0, 1, 4, 5), out[1] = wasm_i32x4_shuffle(low01, low23, 2, 3, 6, 7);
  out[2] = wasm_i32x4_shuffle(high01, high23, 0, 1, 4, 5), out[3] = wasm_i32x4_shuffle(high01, high23, 2, 3, 6, 7);
}

// Four columns.
static SN_RT_INLINE void vf_put_moved(const vf m[4], const float *place, char *at) {
  vf moved = vf_fma(m[2], vf_set(place[2]), vf_fma(m[1], vf_set(place[1]), vf_fma(m[0], vf_set(place[0]), m[3])));
  wasm_v128_store64_lane(at, moved, 0);
  wasm_v128_store32_lane(at + 8, moved, 2);
}

#include "runtime/kernel_template.h"
#include "runtime/rotreg_template.h"
#include "runtime/shade_template.h"
#include "runtime/tangent_template.h"
#include "runtime/terms_template.h"

const sn_rt_kernels sn_rt_wasm_kernels = {linear, dualquat, stretched, centres,  stretched_centres,
                                          rotreg, shade,    tangents,  mix_terms};
#endif
