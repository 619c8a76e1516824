// SPDX-License-Identifier: MIT
// NEON (64-bit ARM): four lanes.
#include "runtime/internal.h"

#if defined(SN_RT_HAS_NEON)
#include <arm_neon.h>
#include <string.h>

typedef float32x4_t vf;
typedef uint32x4_t vi;
enum { width = 4, few_registers = 0 };

static SN_RT_INLINE vf vf_load(const float *p) { return vld1q_f32(p); }
static SN_RT_INLINE void vf_store(float *p, vf a) { vst1q_f32(p, a); }
static SN_RT_INLINE vf vf_set(float x) { return vdupq_n_f32(x); }
static SN_RT_INLINE vf vf_mul(vf a, vf b) { return vmulq_f32(a, b); }
static SN_RT_INLINE vf vf_add(vf a, vf b) { return vaddq_f32(a, b); }
static SN_RT_INLINE vf vf_sub(vf a, vf b) { return vsubq_f32(a, b); }
static SN_RT_INLINE vf vf_div(vf a, vf b) { return vdivq_f32(a, b); }
static SN_RT_INLINE vf vf_max(vf a, vf b) { return vmaxq_f32(a, b); }
static SN_RT_INLINE vf vf_fma(vf a, vf b, vf c) { return vfmaq_f32(c, a, b); }
static SN_RT_INLINE vf vf_fnma(vf a, vf b, vf c) { return vfmsq_f32(c, a, b); }
static SN_RT_INLINE vi vi_load(const void *p) { return vreinterpretq_u32_u8(vld1q_u8((const uint8_t *)p)); }
static SN_RT_INLINE vi vi_and(vi a, uint32_t mask) { return vandq_u32(a, vdupq_n_u32(mask)); }
static SN_RT_INLINE vi vi_or(vi a, uint32_t mask) { return vorrq_u32(a, vdupq_n_u32(mask)); }
static SN_RT_INLINE vi vi_shift_left(vi a, int n) { return vshlq_u32(a, vdupq_n_s32(n)); }
static SN_RT_INLINE vi vi_shift_right(vi a, int n) { return vshlq_u32(a, vdupq_n_s32(-n)); }
static SN_RT_INLINE vf vf_from(vi a) { return vcvtq_f32_s32(vreinterpretq_s32_u32(a)); }
static SN_RT_INLINE vf vf_bits(vi a) { return vreinterpretq_f32_u32(a); }
static SN_RT_INLINE vi vi_make(uint32_t a, uint32_t b, uint32_t c, uint32_t d) { return (vi){a, b, c, d}; }

static SN_RT_INLINE void vf_transpose4(vf v[4]) {
  float32x4x2_t a = vtrnq_f32(v[0], v[1]), b = vtrnq_f32(v[2], v[3]);
  v[0] = vcombine_f32(vget_low_f32(a.val[0]), vget_low_f32(b.val[0]));
  v[1] = vcombine_f32(vget_low_f32(a.val[1]), vget_low_f32(b.val[1]));
  v[2] = vcombine_f32(vget_high_f32(a.val[0]), vget_high_f32(b.val[0]));
  v[3] = vcombine_f32(vget_high_f32(a.val[1]), vget_high_f32(b.val[1]));
}

static SN_RT_INLINE void vf_store3(char *at, vf v) {
  vst1_f32((float *)(void *)at, vget_low_f32(v));
  vst1q_lane_f32((float *)(void *)at + 2, v, 2);
}

static SN_RT_INLINE vf vf_load_u16(const uint16_t *p) { return vcvtq_f32_u32(vmovl_u16(vld1_u16(p))); }
static SN_RT_INLINE vf vf_load_i16(const int16_t *p) { return vcvtq_f32_s32(vmovl_s16(vld1_s16(p))); }

static SN_RT_INLINE vf vf_load_u8(const uint8_t *p) {
  uint32_t four;
  memcpy(&four, p, 4);
  return vcvtq_f32_u32(vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(four)))));
}

// Two Newton steps on the 8-bit estimate.
static SN_RT_INLINE vf vf_rsqrt(vf a) {
  vf y = vrsqrteq_f32(a);
  y = vmulq_f32(y, vrsqrtsq_f32(vmulq_f32(a, y), y));
  return vmulq_f32(y, vrsqrtsq_f32(vmulq_f32(a, y), y));
}

static SN_RT_INLINE vf vf_flip(vf a, uint32_t sign) {
  return vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(a), vdupq_n_u32(sign)));
}

static SN_RT_INLINE vf vf_min(vf a, vf b) { return vminq_f32(a, b); }
static SN_RT_INLINE vf vf_abs(vf a) { return vabsq_f32(a); }
static SN_RT_INLINE int vf_all_within(vf a, vf b) { return vminvq_u32(vcleq_f32(a, b)) != 0; }
static SN_RT_INLINE vf vf_flip_by(vf t, vf a) {
  uint32x4_t sign = vandq_u32(vreinterpretq_u32_f32(a), vdupq_n_u32(0x80000000u));
  return vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(t), sign));
}

static SN_RT_INLINE void vf_scatter(vf x, vf y, vf z, char *base, const uint16_t *lanes, size_t stride) {
  float32x4x3_t xyz = {{x, y, z}};
  vst3q_lane_f32((float *)(void *)(base + lanes[0] * stride), xyz, 0);
  vst3q_lane_f32((float *)(void *)(base + lanes[1] * stride), xyz, 1);
  vst3q_lane_f32((float *)(void *)(base + lanes[2] * stride), xyz, 2);
  vst3q_lane_f32((float *)(void *)(base + lanes[3] * stride), xyz, 3);
}

static SN_RT_INLINE void vf_store_pairs(vf x, vf y, vf z, char *base, const uint16_t *lanes) {
  float32x2x3_t low = {{vget_low_f32(x), vget_low_f32(y), vget_low_f32(z)}};
  float32x2x3_t high = {{vget_high_f32(x), vget_high_f32(y), vget_high_f32(z)}};
  vst3_f32((float *)(void *)(base + 12 * (size_t)lanes[0]), low);
  vst3_f32((float *)(void *)(base + 12 * (size_t)lanes[2]), high);
}

static SN_RT_INLINE void vf_store_row(vf x, vf y, vf z, float *at) {
  float32x4x3_t xyz = {{x, y, z}};
  vst3q_f32(at, xyz);
}

static SN_RT_INLINE void vf_load_xyz(const float *p, vf *x, vf *y, vf *z) {
  float32x4x3_t xyz = vld3q_f32(p);
  *x = xyz.val[0], *y = xyz.val[1], *z = xyz.val[2];
}

static SN_RT_INLINE void vf_gather(const char *const at[4], vf *x, vf *y, vf *z) {
  float32x4x3_t xyz = {{vdupq_n_f32(0), vdupq_n_f32(0), vdupq_n_f32(0)}};
  xyz = vld3q_lane_f32((const float *)(const void *)at[0], xyz, 0);
  xyz = vld3q_lane_f32((const float *)(const void *)at[1], xyz, 1);
  xyz = vld3q_lane_f32((const float *)(const void *)at[2], xyz, 2);
  xyz = vld3q_lane_f32((const float *)(const void *)at[3], xyz, 3);
  *x = xyz.val[0], *y = xyz.val[1], *z = xyz.val[2];
}

#include "runtime/four_lanes.h"
#define SN_RT_KERNELS sn_rt_neon_kernels
#include "runtime/kernels.h"
#endif
