// SPDX-License-Identifier: MIT
// The kernels in AVX2 with FMA, eight lanes; with SN_RT_AVX512, twice the registers hold a blended matrix and its operands. The
// instruction set is enabled for the functions below only, so that one binary has all kernels.
#if defined(SN_RT_AVX512)
#define SN_RT_KERNELS sn_rt_avx512_kernels
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,avx512f,avx512vl,avx512dq,avx512bw"))),                 \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512vl,avx512dq,avx512bw")
#endif
enum { few_registers = 0 };
#else
#define SN_RT_KERNELS sn_rt_avx2_kernels
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
enum { few_registers = 1 };
#endif
#include <immintrin.h>

typedef __m256 vf;
typedef __m256i vi;
enum { width = 8 };

#define V(op) _mm256_##op
#define VI(op) _mm256_##op##_si256
static SN_RT_INLINE vf vf_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
static SN_RT_INLINE vf vf_fnma(vf a, vf b, vf c) { return _mm256_fnmadd_ps(a, b, c); }
#include "runtime/vf_x86.h"

static SN_RT_INLINE vf vf_bits(vi a) { return _mm256_castsi256_ps(a); }
static SN_RT_INLINE int vf_all_within(vf a, vf b) {
  return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_LE_OQ)) == 0xff;
}

// The two halves of a vector.
static SN_RT_INLINE __m128 lower(vf a) { return _mm256_castps256_ps128(a); }
static SN_RT_INLINE __m128 upper(vf a) { return _mm256_extractf128_ps(a, 1); }

// sn_rt_sum_parts of four vectors.
#define SN_RT_SUM_ROWS
static SN_RT_INLINE void vf_sum_rows(const vf rows[4], float *out) {
  __m128 t[4];
  for (int r = 0; r < 4; r++) t[r] = _mm_add_ps(lower(rows[r]), upper(rows[r]));
  _MM_TRANSPOSE4_PS(t[0], t[1], t[2], t[3]);
  _mm_storeu_ps(out, _mm_add_ps(_mm_add_ps(t[0], t[2]), _mm_add_ps(t[1], t[3])));
}

static SN_RT_INLINE vf vf_load_u16(const uint16_t *p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)));
}

static SN_RT_INLINE vf vf_load_i16(const int16_t *p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)));
}

static SN_RT_INLINE vf vf_load_u8(const uint8_t *p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p)));
}

// Sixteen bytes are read. Every lane gets the two bytes that its number is in: the lower or the upper 12 bits of them.
static SN_RT_INLINE vi load_u12_bytes(const uint8_t *p) {
  const vi bytes = _mm256_setr_epi8(0, 1, -1, -1, 1, 2, -1, -1, 3, 4, -1, -1, 4, 5, -1, -1, 6, 7, -1, -1, 7, 8, -1,
                                    -1, 9, 10, -1, -1, 10, 11, -1, -1);
  vi row = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)p));
  return _mm256_shuffle_epi8(row, bytes);
}

static SN_RT_INLINE vf vf_load_u12(const uint8_t *p) {
  vi row = _mm256_srlv_epi32(load_u12_bytes(p), _mm256_setr_epi32(0, 4, 0, 4, 0, 4, 0, 4));
  return vf_from(vi_and(row, 0xfff));
}

static SN_RT_INLINE vi vi_shifted_u12(const uint8_t *p) {
  return _mm256_sllv_epi32(load_u12_bytes(p), _mm256_setr_epi32(11, 7, 11, 7, 11, 7, 11, 7));
}

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

// Four rows of which each is two side by side, n and n + 4, into columns.
static SN_RT_INLINE void columns_of(const vf r[4], vf out[4]) {
  vf low01 = _mm256_unpacklo_ps(r[0], r[1]), low23 = _mm256_unpacklo_ps(r[2], r[3]);
  vf high01 = _mm256_unpackhi_ps(r[0], r[1]), high23 = _mm256_unpackhi_ps(r[2], r[3]);
  out[0] = _mm256_shuffle_ps(low01, low23, 0x44), out[1] = _mm256_shuffle_ps(low01, low23, 0xee);
  out[2] = _mm256_shuffle_ps(high01, high23, 0x44), out[3] = _mm256_shuffle_ps(high01, high23, 0xee);
}

static SN_RT_INLINE void vf_gather_rows(const char *const at[8], vf out[4]) {
  vf r[4];
  for (int n = 0; n < 4; n++)
    r[n] = _mm256_loadu2_m128((const float *)(const void *)at[n + 4], (const float *)(const void *)at[n]);
  columns_of(r, out);
}

static SN_RT_INLINE void vf_transpose(const float *rows, int stride, vf out[8]) {
  const char *at[8];
  for (int half = 0; half < 2; half++) {
    for (int n = 0; n < 8; n++) at[n] = (const char *)(rows + n * stride + 4 * half);
    vf_gather_rows(at, out + 4 * half);
  }
}

#if defined(SN_RT_AVX512)
static SN_RT_INLINE void store_first_three(void *at, __m128 v) { _mm_mask_storeu_ps(at, 7, v); } // in one store

static SN_RT_INLINE void vf_scatter(vf x, vf y, vf z, char *base, const uint16_t *lanes, size_t stride) {
  vf xy_low = _mm256_unpacklo_ps(x, y), xy_high = _mm256_unpackhi_ps(x, y);
  vf rows[4] = {_mm256_shuffle_ps(xy_low, z, 0x04), _mm256_shuffle_ps(xy_low, z, 0x1e),
                _mm256_shuffle_ps(xy_high, z, 0x24), _mm256_shuffle_ps(xy_high, z, 0x3e)};
  for (int n = 0; n < 4; n++) {
    store_first_three(base + lanes[n] * stride, lower(rows[n]));
    store_first_three(base + lanes[n + 4] * stride, upper(rows[n]));
  }
}
#else
static SN_RT_INLINE void store_first_three(void *at, __m128 v) { store_three(at, v); }

static SN_RT_INLINE void vf_scatter(vf x, vf y, vf z, char *base, const uint16_t *lanes, size_t stride) {
  vf low = _mm256_unpacklo_ps(x, y), high = _mm256_unpackhi_ps(x, y);
  scatter_four(lower(low), lower(high), lower(z), base, lanes, stride);
  scatter_four(upper(low), upper(high), upper(z), base, lanes + 4, stride);
}
#endif

// Rows of four: lanes 0 and 4, 1 and 5, ... side by side.
static SN_RT_INLINE void vf_scatter4(const vf v[4], char *base, const uint16_t *lanes, size_t stride) {
  vf xz_low = _mm256_unpacklo_ps(v[0], v[2]), xz_high = _mm256_unpackhi_ps(v[0], v[2]);
  vf yw_low = _mm256_unpacklo_ps(v[1], v[3]), yw_high = _mm256_unpackhi_ps(v[1], v[3]);
  vf rows[4] = {_mm256_unpacklo_ps(xz_low, yw_low), _mm256_unpackhi_ps(xz_low, yw_low),
                _mm256_unpacklo_ps(xz_high, yw_high), _mm256_unpackhi_ps(xz_high, yw_high)};
  for (int n = 0; n < 4; n++) {
    _mm_storeu_ps((float *)(void *)(base + lanes[n] * stride), lower(rows[n]));
    _mm_storeu_ps((float *)(void *)(base + lanes[n + 4] * stride), upper(rows[n]));
  }
}

static SN_RT_INLINE void vf_store_pairs(vf x, vf y, vf z, char *base, const uint16_t *lanes) {
  vf r[3];
  rows_of_four(x, y, z, r);
  store_two_pairs(lower(r[0]), lower(r[1]), lower(r[2]), base, lanes);
  store_two_pairs(upper(r[0]), upper(r[1]), upper(r[2]), base, lanes + 4);
}

static SN_RT_INLINE void rows_of_eight(vf x, vf y, vf z, vf out[3]) {
  vf r[3];
  rows_of_four(x, y, z, r);
  out[0] = _mm256_insertf128_ps(r[0], lower(r[1]), 1);
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
  columns_of_three(m, x, y, z);
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

static SN_RT_INLINE void vf_put_moved(const vf m[2], const float *place, char *at) {
  vf p = _mm256_broadcast_ps((const __m128 *)(const void *)place);
  vf xy = _mm256_permutevar_ps(p, _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1));
  vf z1 = _mm256_permutevar_ps(p, _mm256_setr_epi32(2, 2, 2, 2, 3, 3, 3, 3));
  vf sum = _mm256_fmadd_ps(m[1], z1, _mm256_mul_ps(m[0], xy));
  __m128 moved = _mm_add_ps(lower(sum), upper(sum));
  store_first_three(at, moved);
}

#include "runtime/kernels.h"

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
