// SPDX-License-Identifier: MIT
// The kernels in AVX2 with FMA, eight lanes, and the vectors that they are made of.
#include <immintrin.h>
#include <string.h>

typedef __m256 vf;
enum { width = 8 };
#if defined(SN_RT_AVX512)
enum { few_registers = 0 };
#else
enum { few_registers = 1 };
#endif

static SN_RT_INLINE vf vf_load(const float *p) { return _mm256_loadu_ps(p); }
static SN_RT_INLINE void vf_store(float *p, vf a) { _mm256_storeu_ps(p, a); }
static SN_RT_INLINE vf vf_set(float x) { return _mm256_set1_ps(x); }
static SN_RT_INLINE vf vf_mul(vf a, vf b) { return _mm256_mul_ps(a, b); }
static SN_RT_INLINE vf vf_add(vf a, vf b) { return _mm256_add_ps(a, b); }
static SN_RT_INLINE vf vf_sub(vf a, vf b) { return _mm256_sub_ps(a, b); }
static SN_RT_INLINE vf vf_div(vf a, vf b) { return _mm256_div_ps(a, b); }
static SN_RT_INLINE vf vf_max(vf a, vf b) { return _mm256_max_ps(a, b); }
static SN_RT_INLINE vf vf_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
static SN_RT_INLINE vf vf_fnma(vf a, vf b, vf c) { return _mm256_fnmadd_ps(a, b, c); }

// sn_rt_sum_parts of four vectors.
#define SN_RT_SUM_ROWS
static SN_RT_INLINE void vf_sum_rows(const vf rows[4], float *out) {
  __m128 t[4];
  for (int r = 0; r < 4; r++) t[r] = _mm_add_ps(_mm256_castps256_ps128(rows[r]), _mm256_extractf128_ps(rows[r], 1));
  _MM_TRANSPOSE4_PS(t[0], t[1], t[2], t[3]);
  _mm_storeu_ps(out, _mm_add_ps(_mm_add_ps(t[0], t[2]), _mm_add_ps(t[1], t[3])));
}

static SN_RT_INLINE vf vf_load_u16(const uint16_t *p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)));
}

static SN_RT_INLINE vf vf_load_i16(const int16_t *p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)));
}

static SN_RT_INLINE vf vf_load_even(const int16_t *p) {
  return _mm256_cvtepi32_ps(_mm256_slli_epi32(_mm256_loadu_si256((const __m256i *)(const void *)p), 16));
}

static SN_RT_INLINE vf vf_load_odd(const int16_t *p) {
  __m256i upper = _mm256_set1_epi32((int)0xffff0000u);
  return _mm256_cvtepi32_ps(_mm256_and_si256(_mm256_loadu_si256((const __m256i *)(const void *)p), upper));
}

static SN_RT_INLINE vf vf_load_u8(const uint8_t *p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p)));
}

// Sixteen bytes are read. Every lane gets the two bytes that its number is in: the lower or the upper 12 bits of them.
static SN_RT_INLINE vf vf_load_u12(const uint8_t *p) {
  const __m256i bytes = _mm256_setr_epi8(0, 1, -1, -1, 1, 2, -1, -1, 3, 4, -1, -1, 4, 5, -1, -1, 6, 7, -1, -1, 7, 8,
                                         -1, -1, 9, 10, -1, -1, 10, 11, -1, -1);
  __m256i row = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)p));
  row = _mm256_srlv_epi32(_mm256_shuffle_epi8(row, bytes), _mm256_setr_epi32(0, 4, 0, 4, 0, 4, 0, 4));
  return _mm256_cvtepi32_ps(_mm256_and_si256(row, _mm256_set1_epi32(0xfff)));
}

// The bits of `numbers` in the mask as the fraction of a number from 1 to 2.
static SN_RT_INLINE vf fraction(__m256i numbers, int mask) {
#if defined(SN_RT_AVX512)
  return _mm256_castsi256_ps(
    _mm256_ternarylogic_epi32(numbers, _mm256_set1_epi32(mask), _mm256_set1_epi32(0x3f800000), 0xea));
#else
  __m256i bits = _mm256_and_si256(numbers, _mm256_set1_epi32(mask));
  return _mm256_castsi256_ps(_mm256_or_si256(bits, _mm256_set1_epi32(0x3f800000)));
#endif
}

static SN_RT_INLINE vf vf_unit_u12(const uint8_t *p) {
  const __m256i bytes = _mm256_setr_epi8(0, 1, -1, -1, 1, 2, -1, -1, 3, 4, -1, -1, 4, 5, -1, -1, 6, 7, -1, -1, 7, 8,
                                         -1, -1, 9, 10, -1, -1, 10, 11, -1, -1);
  __m256i row = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)p));
  row = _mm256_sllv_epi32(_mm256_shuffle_epi8(row, bytes), _mm256_setr_epi32(11, 7, 11, 7, 11, 7, 11, 7));
  return fraction(row, 0xfff << 11);
}

static SN_RT_INLINE vf vf_unit_u10(const uint8_t *p, int shift) {
  __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)p);
  return fraction(shift <= 13 ? _mm256_slli_epi32(v, 13 - shift) : _mm256_srli_epi32(v, shift - 13), 0x3ff << 13);
}

// One Newton step on the 12-bit estimate.
static SN_RT_INLINE vf vf_rsqrt(vf a) {
  vf y = _mm256_rsqrt_ps(a), half = _mm256_mul_ps(a, _mm256_set1_ps(0.5f));
  return _mm256_mul_ps(y, _mm256_fnmadd_ps(_mm256_mul_ps(half, y), y, _mm256_set1_ps(1.5f)));
}

static SN_RT_INLINE vf vf_flip(vf a, uint32_t sign) {
  return _mm256_xor_ps(a, _mm256_castsi256_ps(_mm256_set1_epi32((int)sign)));
}

static SN_RT_INLINE vf vf_min(vf a, vf b) { return _mm256_min_ps(a, b); }
static SN_RT_INLINE int vf_all_within(vf a, vf b) {
  return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_LE_OQ)) == 0xff;
}
static SN_RT_INLINE vf vf_abs(vf a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
static SN_RT_INLINE vf vf_flip_by(vf t, vf a) { return _mm256_xor_ps(t, _mm256_and_ps(a, _mm256_set1_ps(-0.0f))); }

// Four pairs from the first twelve bytes, four from the next.
static SN_RT_INLINE void vf_load_uv(const uint8_t *p, vf *u, vf *v) {
  const __m256i bytes = _mm256_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1, 0, 1, 2, -1, 3, 4, 5,
                                         -1, 6, 7, 8, -1, 9, 10, 11, -1);
  __m256i pairs = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)p));
  pairs = _mm256_inserti128_si256(pairs, _mm_loadu_si128((const __m128i *)(const void *)(p + 12)), 1);
  pairs = _mm256_shuffle_epi8(pairs, bytes);
  *u = _mm256_cvtepi32_ps(_mm256_and_si256(pairs, _mm256_set1_epi32(0xfff)));
  *v = _mm256_cvtepi32_ps(_mm256_srli_epi32(pairs, 12));
}

// Eight rows of eight floats, `stride` floats apart, into eight columns.
static SN_RT_INLINE void vf_transpose(const float *rows, int stride, vf out[8]) {
  vf a[4], b[4], c[4], d[4];
  for (int n = 0; n < 4; n++) { // the two halves of rows n and n + 4 side by side
    __m128 low = _mm_loadu_ps(rows + n * stride), high = _mm_loadu_ps(rows + n * stride + 4);
    a[n] = _mm256_insertf128_ps(_mm256_castps128_ps256(low), _mm_loadu_ps(rows + (n + 4) * stride), 1);
    b[n] = _mm256_insertf128_ps(_mm256_castps128_ps256(high), _mm_loadu_ps(rows + (n + 4) * stride + 4), 1);
  }
  for (int n = 0; n < 2; n++) {
    c[n] = _mm256_unpacklo_ps(a[2 * n], a[2 * n + 1]), c[2 + n] = _mm256_unpackhi_ps(a[2 * n], a[2 * n + 1]);
    d[n] = _mm256_unpacklo_ps(b[2 * n], b[2 * n + 1]), d[2 + n] = _mm256_unpackhi_ps(b[2 * n], b[2 * n + 1]);
  }
  for (int n = 0; n < 2; n++) {
    out[2 * n] = _mm256_shuffle_ps(c[2 * n], c[2 * n + 1], 0x44);
    out[2 * n + 1] = _mm256_shuffle_ps(c[2 * n], c[2 * n + 1], 0xee);
    out[4 + 2 * n] = _mm256_shuffle_ps(d[2 * n], d[2 * n + 1], 0x44);
    out[4 + 2 * n + 1] = _mm256_shuffle_ps(d[2 * n], d[2 * n + 1], 0xee);
  }
}

#if defined(SN_RT_AVX512)
// Three of four numbers in one store.
static SN_RT_INLINE void vf_scatter(vf x, vf y, vf z, char *base, const uint16_t *lanes, size_t stride) {
  vf xy_low = _mm256_unpacklo_ps(x, y), xy_high = _mm256_unpackhi_ps(x, y);
  vf rows[4] = {_mm256_shuffle_ps(xy_low, z, 0x04), _mm256_shuffle_ps(xy_low, z, 0x1e),
                _mm256_shuffle_ps(xy_high, z, 0x24), _mm256_shuffle_ps(xy_high, z, 0x3e)};
  for (int n = 0; n < 4; n++) {
    _mm_mask_storeu_ps(base + lanes[n] * stride, 7, _mm256_castps256_ps128(rows[n]));
    _mm_mask_storeu_ps(base + lanes[n + 4] * stride, 7, _mm256_extractf128_ps(rows[n], 1));
  }
}
#else
// x y of two lanes and z of four from each half.
static SN_RT_INLINE void scatter_half(__m128 xy_low, __m128 xy_high, __m128 z, char *base, const uint16_t *lanes,
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

static SN_RT_INLINE void vf_scatter(vf x, vf y, vf z, char *base, const uint16_t *lanes, size_t stride) {
  vf low = _mm256_unpacklo_ps(x, y), high = _mm256_unpackhi_ps(x, y);
  scatter_half(_mm256_castps256_ps128(low), _mm256_castps256_ps128(high), _mm256_castps256_ps128(z), base, lanes,
               stride);
  scatter_half(_mm256_extractf128_ps(low, 1), _mm256_extractf128_ps(high, 1), _mm256_extractf128_ps(z, 1), base,
               lanes + 4, stride);
}
#endif

// Rows of four: lanes 0 and 4, 1 and 5, ... side by side.
static SN_RT_INLINE void vf_scatter4(const vf v[4], char *base, const uint16_t *lanes, size_t stride) {
  vf xz_low = _mm256_unpacklo_ps(v[0], v[2]), xz_high = _mm256_unpackhi_ps(v[0], v[2]);
  vf yw_low = _mm256_unpacklo_ps(v[1], v[3]), yw_high = _mm256_unpackhi_ps(v[1], v[3]);
  vf rows[4] = {_mm256_unpacklo_ps(xz_low, yw_low), _mm256_unpackhi_ps(xz_low, yw_low),
                _mm256_unpacklo_ps(xz_high, yw_high), _mm256_unpackhi_ps(xz_high, yw_high)};
  for (int n = 0; n < 4; n++) {
    _mm_storeu_ps((float *)(void *)(base + lanes[n] * stride), _mm256_castps256_ps128(rows[n]));
    _mm_storeu_ps((float *)(void *)(base + lanes[n + 4] * stride), _mm256_extractf128_ps(rows[n], 1));
  }
}

// a, b and c hold x y z of four lanes in a row: x0 y0 z0 x1, y1 z1 x2 y2, z2 x3 y3 z3.
static SN_RT_INLINE void store_two_pairs(__m128 a, __m128 b, __m128 c, char *base, const uint16_t *lanes) {
  float *p = (float *)(void *)(base + 12 * (size_t)lanes[0]), *q = (float *)(void *)(base + 12 * (size_t)lanes[2]);
  _mm_storeu_ps(p, a), _mm_storel_pi((__m64 *)(void *)(p + 4), b);
  _mm_storeh_pi((__m64 *)(void *)q, b), _mm_storeu_ps(q + 2, c);
}

static SN_RT_INLINE void rows_of_four(vf x, vf y, vf z, vf out[3]) {
  vf xy = _mm256_shuffle_ps(x, y, 0x88), yz = _mm256_shuffle_ps(y, z, 0xdd), zx = _mm256_shuffle_ps(z, x, 0xd8);
  out[0] = _mm256_shuffle_ps(xy, zx, 0x88), out[1] = _mm256_shuffle_ps(yz, xy, 0xd8);
  out[2] = _mm256_shuffle_ps(zx, yz, 0xdd);
}

static SN_RT_INLINE void vf_store_pairs(vf x, vf y, vf z, char *base, const uint16_t *lanes) {
  vf r[3];
  rows_of_four(x, y, z, r);
  store_two_pairs(_mm256_castps256_ps128(r[0]), _mm256_castps256_ps128(r[1]), _mm256_castps256_ps128(r[2]), base,
                  lanes);
  store_two_pairs(_mm256_extractf128_ps(r[0], 1), _mm256_extractf128_ps(r[1], 1), _mm256_extractf128_ps(r[2], 1),
                  base, lanes + 4);
}

static SN_RT_INLINE void rows_of_eight(vf x, vf y, vf z, vf out[3]) {
  vf r[3];
  rows_of_four(x, y, z, r);
  out[0] = _mm256_insertf128_ps(r[0], _mm256_castps256_ps128(r[1]), 1);
  out[1] = _mm256_permute2f128_ps(r[2], r[0], 0x30), out[2] = _mm256_permute2f128_ps(r[1], r[2], 0x31);
}

static SN_RT_INLINE void vf_store_row(vf x, vf y, vf z, float *at) {
  vf r[3];
  rows_of_eight(x, y, z, r);
  vf_store(at, r[0]), vf_store(at + 8, r[1]), vf_store(at + 16, r[2]);
}

static SN_RT_INLINE void vf_stream_row(vf x, vf y, vf z, float *at) {
  vf r[3];
  rows_of_eight(x, y, z, r);
  _mm256_stream_ps(at, r[0]), _mm256_stream_ps(at + 8, r[1]), _mm256_stream_ps(at + 16, r[2]);
}

// Lanes 0 to 3 in the lower halves, 4 to 7 in the upper ones.
static SN_RT_INLINE void vf_load_xyz(const float *p, vf *x, vf *y, vf *z) {
  vf m[3];
  for (int n = 0; n < 3; n++)
    m[n] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p + 4 * n)), _mm_loadu_ps(p + 12 + 4 * n), 1);
  vf xy = _mm256_shuffle_ps(m[1], m[2], 0x9e), yz = _mm256_shuffle_ps(m[0], m[1], 0x49);
  *x = _mm256_shuffle_ps(m[0], xy, 0x8c), *y = _mm256_shuffle_ps(yz, xy, 0xd8);
  *z = _mm256_shuffle_ps(yz, m[2], 0xcd);
}

// Rows n and n + 4 side by side, then as in vf_transpose.
static SN_RT_INLINE void columns_of(const vf r[4], vf out[4]) {
  vf low01 = _mm256_unpacklo_ps(r[0], r[1]), low23 = _mm256_unpacklo_ps(r[2], r[3]);
  vf high01 = _mm256_unpackhi_ps(r[0], r[1]), high23 = _mm256_unpackhi_ps(r[2], r[3]);
  out[0] = _mm256_shuffle_ps(low01, low23, 0x44), out[1] = _mm256_shuffle_ps(low01, low23, 0xee);
  out[2] = _mm256_shuffle_ps(high01, high23, 0x44), out[3] = _mm256_shuffle_ps(high01, high23, 0xee);
}

// Three floats and nothing after them. Two loads: qemu reads all four of a masked one.
static SN_RT_INLINE __m128 load_three(const char *at) {
  __m128 xy = _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(const void *)at));
  return _mm_insert_ps(xy, _mm_load_ss((const float *)(const void *)at + 2), 0x28);
}

static SN_RT_INLINE void vf_gather(const char *const at[8], vf *x, vf *y, vf *z) {
  vf r[4], columns[4];
  for (int n = 0; n < 4; n++) r[n] = _mm256_set_m128(load_three(at[n + 4]), load_three(at[n]));
  columns_of(r, columns);
  *x = columns[0], *y = columns[1], *z = columns[2];
}

static SN_RT_INLINE void vf_gather_rows(const char *const at[8], vf out[4]) {
  vf r[4];
  for (int n = 0; n < 4; n++)
    r[n] = _mm256_loadu2_m128((const float *)(const void *)at[n + 4], (const float *)(const void *)at[n]);
  columns_of(r, out);
}

static SN_RT_INLINE void vf_put_moved(const vf m[2], const float *place, char *at) {
  vf p = _mm256_broadcast_ps((const __m128 *)(const void *)place);
  vf xy = _mm256_permutevar_ps(p, _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1));
  vf z1 = _mm256_permutevar_ps(p, _mm256_setr_epi32(2, 2, 2, 2, 3, 3, 3, 3));
  vf sum = _mm256_fmadd_ps(m[1], z1, _mm256_mul_ps(m[0], xy));
  __m128 moved = _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps(sum, 1));
#if defined(SN_RT_AVX512)
  _mm_mask_storeu_ps(at, 7, moved);
#else
  _mm_storel_pi((__m64 *)(void *)at, moved);
  _mm_store_ss((float *)(void *)at + 2, _mm_unpackhi_ps(moved, moved));
#endif
}

#include "runtime/kernel_template.h"
#include "runtime/rotreg_template.h"
#include "runtime/shade_template.h"
#include "runtime/terms_template.h"
