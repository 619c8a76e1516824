// SPDX-License-Identifier: MIT
// The scalar path: the same kernels with vectors in plain C and one loop per blend.
#include <math.h>

#include "runtime/internal.h"

#if !defined(SN_RT_BASIC)

// Functions instead of unrolled loops: small rather than fast.
#undef SN_RT_INLINE
#define SN_RT_INLINE
#define SN_RT_DIRECT 1

typedef struct vf {
  float v[4];
} vf;
typedef struct vi {
  uint32_t v[4];
} vi;
enum { width = 4, few_registers = 1 };

// Defines a function that returns a vector with `value` in lane l.
#define LANES(type, name, value, ...)                                                                                \
  static SN_RT_INLINE type name(__VA_ARGS__) {                                                                       \
    type lanes;                                                                                                      \
    for (int l = 0; l < width; l++) lanes.v[l] = (value);                                                            \
    return lanes;                                                                                                    \
  }

LANES(vf, vf_load, p[l], const float *p)
LANES(vf, vf_load_u16, (float)p[l], const uint16_t *p)
LANES(vf, vf_load_i16, (float)p[l], const int16_t *p)
LANES(vf, vf_load_u8, (float)p[l], const uint8_t *p)
LANES(vf, vf_set, x, float x)
LANES(vf, vf_mul, a.v[l] * b.v[l], vf a, vf b)
LANES(vf, vf_add, a.v[l] + b.v[l], vf a, vf b)
LANES(vf, vf_sub, a.v[l] - b.v[l], vf a, vf b)
LANES(vf, vf_div, a.v[l] / b.v[l], vf a, vf b)
LANES(vf, vf_max, a.v[l] > b.v[l] ? a.v[l] : b.v[l], vf a, vf b)
LANES(vf, vf_min, a.v[l] < b.v[l] ? a.v[l] : b.v[l], vf a, vf b)
LANES(vf, vf_fma, a.v[l] * b.v[l] + c.v[l], vf a, vf b, vf c)
LANES(vf, vf_fnma, c.v[l] - a.v[l] * b.v[l], vf a, vf b, vf c)
LANES(vf, vf_rsqrt, 1 / sqrtf(a.v[l]), vf a)
LANES(vf, vf_abs, fabsf(a.v[l]), vf a)
LANES(vf, vf_flip, sign ? -a.v[l] : a.v[l], vf a, uint32_t sign)
LANES(vf, vf_flip_by, a.v[l] < 0 ? -t.v[l] : t.v[l], vf t, vf a)
LANES(vf, vf_from, (float)(int32_t)a.v[l], vi a)
LANES(vi, vi_and, a.v[l] & mask, vi a, uint32_t mask)
LANES(vi, vi_or, a.v[l] | mask, vi a, uint32_t mask)
LANES(vi, vi_shift_left, a.v[l] << n, vi a, int n)
LANES(vi, vi_shift_right, a.v[l] >> n, vi a, int n)

static SN_RT_INLINE vi vi_make(uint32_t a, uint32_t b, uint32_t c, uint32_t d) { return (vi){{a, b, c, d}}; }
static SN_RT_INLINE vi vi_load(const void *p) {
  vi lanes;
  memcpy(&lanes, p, sizeof lanes);
  return lanes;
}
static SN_RT_INLINE vf vf_bits(vi a) {
  vf lanes;
  memcpy(&lanes, &a, sizeof lanes);
  return lanes;
}
static SN_RT_INLINE void vf_store(float *p, vf a) { memcpy(p, &a, sizeof a); }
static SN_RT_INLINE void vf_store3(char *at, vf a) { memcpy(at, &a, 3 * sizeof(float)); }
static SN_RT_INLINE int vf_all_within(vf a, vf b) {
  int within = 1;
  for (int l = 0; l < width; l++) within &= a.v[l] <= b.v[l];
  return within;
}
static SN_RT_INLINE void vf_transpose4(vf v[4]) {
  vf rows[4] = {v[0], v[1], v[2], v[3]};
  for (int n = 0; n < 4; n++) v[n] = (vf){{rows[0].v[n], rows[1].v[n], rows[2].v[n], rows[3].v[n]}};
}

static SN_RT_INLINE void vf_scatter(vf x, vf y, vf z, char *base, const uint16_t *lanes, size_t stride) {
  for (int l = 0; l < width; l++) {
    const float xyz[3] = {x.v[l], y.v[l], z.v[l]};
    memcpy(base + lanes[l] * stride, xyz, sizeof xyz);
  }
}
static SN_RT_INLINE void vf_store_pairs(vf x, vf y, vf z, char *base, const uint16_t *lanes) {
  vf_scatter(x, y, z, base, lanes, 12);
}
static SN_RT_INLINE void vf_store_row(vf x, vf y, vf z, float *at) {
  static const uint16_t in_order[] = {0, 1, 2, 3};
  vf_scatter(x, y, z, (char *)at, in_order, 12);
}
static SN_RT_INLINE void vf_gather(const char *const at[4], vf *x, vf *y, vf *z) {
  for (int l = 0; l < width; l++) {
    const float *xyz = (const float *)(const void *)at[l];
    x->v[l] = xyz[0], y->v[l] = xyz[1], z->v[l] = xyz[2];
  }
}
static SN_RT_INLINE void vf_load_xyz(const float *p, vf *x, vf *y, vf *z) {
  vf_gather(
    (const char *const[]){(const char *)p, (const char *)(p + 3), (const char *)(p + 6), (const char *)(p + 9)}, x, y,
    z);
}

#include "runtime/four_lanes.h"
#include "runtime/kernel_template.h"
#include "runtime/product_template.h"
#include "runtime/rotreg_template.h"
#include "runtime/shade_template.h"
#include "runtime/terms_template.h"

const sn_rt_kernels sn_rt_scalar_kernels = {linear_any, dualquat_any, centres_any, rotreg,
                                            shade,      tangents_any, mix_terms,   product};
#endif
