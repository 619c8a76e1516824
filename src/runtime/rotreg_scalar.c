// SPDX-License-Identifier: MIT
// The kernels of the drive `rotreg` and of sums of terms without vectors: the same templates with one lane.
#include "runtime/internal.h"

typedef float vf;
enum { width = 1 };

static SN_RT_INLINE vf vf_load(const float *p) { return *p; }
static SN_RT_INLINE vf vf_load_even(const int16_t *p) { return SN_RT_PAIR * p[0]; }
static SN_RT_INLINE vf vf_load_odd(const int16_t *p) { return SN_RT_PAIR * p[1]; }
static SN_RT_INLINE void vf_store(float *p, vf a) { *p = a; }
static SN_RT_INLINE vf vf_set(float x) { return x; }
static SN_RT_INLINE vf vf_mul(vf a, vf b) { return a * b; }
static SN_RT_INLINE vf vf_add(vf a, vf b) { return a + b; }
static SN_RT_INLINE vf vf_div(vf a, vf b) { return a / b; }
static SN_RT_INLINE vf vf_fma(vf a, vf b, vf c) { return a * b + c; }
static SN_RT_INLINE vf vf_fnma(vf a, vf b, vf c) { return c - a * b; }
static SN_RT_INLINE void vf_gather_rows(const char *const at[1], vf out[4]) { memcpy(out, at[0], 4 * sizeof *out); }
static SN_RT_INLINE void vf_scatter4(const vf v[4], char *base, const uint16_t *lanes, size_t stride) {
  memcpy(base + lanes[0] * stride, v, 4 * sizeof *v);
}

#include "runtime/rotreg_template.h"
#include "runtime/terms_template.h"

void sn_rt_rotreg_scalar(const sn_rt_rotreg_job *job) { rotreg(job); }
void sn_rt_mix_scalar(const sn_rt_mix_job *job) { mix_terms(job); }
