// SPDX-License-Identifier: MIT
// What instruction sets of four lanes share, from their vi, vf_turn (transposes in place) and vf_store3.
// No include guard: every such instruction set includes it once.
#include <string.h>

static SN_RT_INLINE vf vf_load_even(const int16_t *p) { return vf_from(vi_shift_left(vi_load(p), 16)); }
static SN_RT_INLINE vf vf_load_odd(const int16_t *p) { return vf_from(vi_and(vi_load(p), 0xffff0000u)); }

// Six bytes, four lanes.
static SN_RT_INLINE vf vf_load_u12(const uint8_t *p) {
  uint32_t low, high;
  memcpy(&low, p, 4), memcpy(&high, p + 2, 4);
  return vf_from(vi_make(low & 0xfff, low >> 12 & 0xfff, high >> 8 & 0xfff, high >> 20));
}

// The bits of `numbers` in the mask as the fraction of a number from 1 to 2.
static SN_RT_INLINE vf fraction(vi numbers, uint32_t mask) {
  return vf_bits(vi_or(vi_and(numbers, mask), 0x3f800000u));
}

static SN_RT_INLINE vf vf_unit_u12(const uint8_t *p) {
  uint32_t low, high;
  memcpy(&low, p, 4), memcpy(&high, p + 2, 4);
  return fraction(vi_make(low << 11, low >> 1, high << 3, high >> 9), 0xfffu << 11);
}

static SN_RT_INLINE vf vf_unit_u10(const uint8_t *p, int shift) {
  vi v = vi_load(p);
  return fraction(shift <= 13 ? vi_shift_left(v, 13 - shift) : vi_shift_right(v, shift - 13), 0x3ffu << 13);
}

static SN_RT_INLINE void vf_load_uv(const uint8_t *p, vf *u, vf *v) {
  uint32_t pairs[4];
  for (int l = 0; l < 4; l++) memcpy(pairs + l, p + 3 * l, 4);
  vi all = vi_load(pairs);
  *u = vf_from(vi_and(all, 0xfff)), *v = vf_from(vi_and(vi_shift_right(all, 12), 0xfff));
}

// Four rows of four floats, `stride` floats apart, into four columns.
static SN_RT_INLINE void vf_transpose(const float *rows, int stride, vf out[4]) {
  for (int n = 0; n < 4; n++) out[n] = vf_load(rows + n * stride);
  vf_turn(out);
}

static SN_RT_INLINE void vf_gather_rows(const char *const at[4], vf out[4]) {
  for (int n = 0; n < 4; n++) out[n] = vf_load((const float *)(const void *)at[n]);
  vf_turn(out);
}

static SN_RT_INLINE void vf_scatter4(const vf v[4], char *base, const uint16_t *lanes, size_t stride) {
  vf rows[4] = {v[0], v[1], v[2], v[3]};
  vf_turn(rows);
  for (int n = 0; n < 4; n++) vf_store((float *)(void *)(base + lanes[n] * stride), rows[n]);
}

static SN_RT_INLINE void vf_stream_row(vf x, vf y, vf z, float *at) { vf_store_row(x, y, z, at); }

// Four columns.
static SN_RT_INLINE void vf_put_moved(const vf m[4], const float *place, char *at) {
  vf_store3(at, vf_fma(m[2], vf_set(place[2]), vf_fma(m[1], vf_set(place[1]), vf_fma(m[0], vf_set(place[0]), m[3]))));
}

#include "runtime/kernel_template.h"
#include "runtime/shade_template.h"
#if !defined(SN_RT_BASIC)
#include "runtime/rotreg_template.h"
#include "runtime/terms_template.h"
#endif
