// SPDX-License-Identifier: MIT
// Common code of instruction sets with four lanes; uses their vi, vf_transpose4 (transposes in place) and vf_store3.
// No include guard: every such instruction set includes it once.
#include <string.h>

// Six bytes, four lanes.
static SN_RT_INLINE vf vf_load_u12(const uint8_t *p) {
  uint32_t low, high;
  memcpy(&low, p, 4), memcpy(&high, p + 2, 4);
  return vf_from(vi_make(low & 0xfff, low >> 12 & 0xfff, high >> 8 & 0xfff, high >> 20));
}

static SN_RT_INLINE vi vi_shifted_u12(const uint8_t *p) {
  uint32_t low, high;
  memcpy(&low, p, 4), memcpy(&high, p + 2, 4);
  return vi_make(low << 11, low >> 1, high << 3, high >> 9);
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
  vf_transpose4(out);
}

static SN_RT_INLINE void vf_gather_rows(const char *const at[4], vf out[4]) {
  for (int n = 0; n < 4; n++) out[n] = vf_load((const float *)(const void *)at[n]);
  vf_transpose4(out);
}

static SN_RT_INLINE void vf_scatter4(const vf v[4], char *base, const uint16_t *lanes, size_t stride) {
  vf rows[4] = {v[0], v[1], v[2], v[3]};
  vf_transpose4(rows);
  for (int n = 0; n < 4; n++) vf_store((float *)(void *)(base + lanes[n] * stride), rows[n]);
}

static SN_RT_INLINE void vf_stream_row(vf x, vf y, vf z, float *at) { vf_store_row(x, y, z, at); }

// Four columns.
static SN_RT_INLINE void vf_put_moved(const vf m[4], const float *place, char *at) {
  vf_store3(at, vf_fma(m[2], vf_set(place[2]), vf_fma(m[1], vf_set(place[1]), vf_fma(m[0], vf_set(place[0]), m[3]))));
}
