// SPDX-License-Identifier: MIT
// Pose spaces that are sums of terms, for a crowd (sums.h). A lane is a character: first a warp per entry of correct.terms
// computes its terms, functions after the others; then a warp per pose space computes eight partial sums of four bases at a time,
// like the runtime. Compiled without fused multiply-adds, for the same bits.
#include "cuda/device.h"
#include "runtime/terms.h"

enum { lanes = SN_CUDA_PASS, warps = 4 };

struct terms_job {
  sn_rt_pose_spaces spaces;
  sn_cuda_sums sums;
  uint32_t characters, basis_count;
  const float *rotations; // [character]: [joint][8], then the named values
  size_t rotation_floats; // of a character
  float *terms;       // [character / 32][term][32]
  float *values;          // [character / 32][basis][32]
};

static __device__ __forceinline__ void write_terms(const float *from, uint32_t count, float *out) {
#pragma unroll
  for (uint32_t k = 0; k < SN_RT_QUADRATIC; k++)
    if (k < count) out[k * lanes] = from[k];
}

static __global__ void __launch_bounds__(warps *lanes) terms_kernel(const __grid_constant__ terms_job job) {
  const uint32_t n = blockIdx.x * lanes + threadIdx.x % lanes, g = blockIdx.y * warps + threadIdx.x / lanes;
  if (n >= job.characters || g >= job.sums.group_count) return;
  const sn_rt_terms *t = job.spaces.terms + g;
  if (t->kind == SN_RT_TERMS_FUNCTIONS) return; // functions_kernel computes them
  const float *rotations = job.rotations + n * job.rotation_floats;
  float *out = job.terms + ((size_t)blockIdx.x * job.sums.term_count + job.sums.first_term[g]) * lanes + threadIdx.x % lanes;
  float p[3], q[3], made[SN_RT_QUADRATIC];
  if (t->kind == SN_RT_TERMS_VALUE) {
    made[0] = sn_rt_term_value(&job.spaces, t, rotations), made[1] = made[0] * made[0];
    write_terms(made, t->count, out);
    return;
  }
  sn_rt_term_vector(&job.spaces, t->a, t->rest[0], rotations, p);
  if (t->kind == SN_RT_TERMS_GAUSS) {
    const float *centre = job.spaces.mix + t->first, factor = sn_rt_gauss_factor(t->width);
    for (uint32_t k = 0; k < t->count; k++, centre += 3)
      out[(size_t)k * lanes] = sn_rt_half_power(sn_rt_gauss_exponent(p, centre, factor));
    return;
  }
  if (t->kind == SN_RT_TERMS_PAIR) {
    sn_rt_term_vector(&job.spaces, t->b, t->rest[1], rotations, q);
    sn_rt_pair_terms(p, q, made);
  } else {
    sn_rt_joint_terms(p, made);
  }
  write_terms(made, SN_RT_QUADRATIC, out);
}

// Functions: a warp per entry of correct.terms, sums of the terms of entries before it.
static __global__ void __launch_bounds__(warps *lanes) functions_kernel(const __grid_constant__ terms_job job) {
  const uint32_t n = blockIdx.x * lanes + threadIdx.x % lanes, g = blockIdx.y * warps + threadIdx.x / lanes;
  if (n >= job.characters || g >= job.sums.group_count) return;
  const sn_rt_terms *t = job.spaces.terms + g;
  if (t->kind != SN_RT_TERMS_FUNCTIONS) return;
  float *all = job.terms + (size_t)blockIdx.x * job.sums.term_count * lanes + threadIdx.x % lanes;
  const uint32_t first = job.sums.first_term[t->a], count = job.sums.first_term[t->a + t->b] - first;
  const float *mix = job.spaces.mix + t->first;
  for (uint32_t k = 0; k < t->count; k++, mix += count) {
    float parts[SN_RT_PARTS] = {};
    for (uint32_t m = 0; m < count; m += SN_RT_PARTS)
#pragma unroll
      for (int part = 0; part < SN_RT_PARTS; part++)
        if (m + part < count) parts[part] += __ldg(mix + m + part) * all[(size_t)(first + m + part) * lanes];
    all[(size_t)(job.sums.first_term[g] + k) * lanes] = sn_rt_sum_parts(parts);
  }
}

// Up to four bases of a sum from `first` on, for the lane's character.
static __device__ __forceinline__ void sum_bases(const terms_job &job, const sn_cuda_sum &s, const float *terms, uint32_t first,
                                                 float *values) {
  float parts[4][SN_RT_PARTS] = {};
  const uint32_t *places = job.sums.places + s.first_place;
  const float(*mix)[4] = job.sums.mix + s.first_quad + first / 4;
  for (uint32_t t = 0; t < s.count; t += SN_RT_PARTS) {
#pragma unroll
    for (int k = 0; k < SN_RT_PARTS; k++) {
      const float term = terms[(size_t)__ldg(places + t + k) * lanes];
      const float4 m = __ldg((const float4 *)mix[(size_t)(t + k) * s.quads]);
      parts[0][k] += m.x * term, parts[1][k] += m.y * term, parts[2][k] += m.z * term, parts[3][k] += m.w * term;
    }
  }
#pragma unroll
  for (int b = 0; b < 4; b++)
    if (first + b < s.basis_count) values[(size_t)(s.first_basis + first + b) * lanes] = sn_rt_sum_parts(parts[b]);
}

static __global__ void __launch_bounds__(warps *lanes, 8) sums_kernel(const __grid_constant__ terms_job job) {
  const uint32_t index = blockIdx.y * warps + threadIdx.x / lanes;
  if (blockIdx.x * lanes + threadIdx.x % lanes >= job.characters || index >= job.sums.sum_count) return;
  const sn_cuda_sum s = job.sums.sums[index];
  const float *terms = job.terms + (size_t)blockIdx.x * job.sums.term_count * lanes + threadIdx.x % lanes;
  float *values = job.values + (size_t)blockIdx.x * job.basis_count * lanes + threadIdx.x % lanes;
  for (uint32_t first = 0; first < s.basis_count; first += 4) sum_bases(job, s, terms, first, values);
}

cudaError_t sn_cuda_sum_terms(const crowd *c, const sn_rt_pose_spaces *spaces) {
  const sn_cuda_model *m = c->model;
  const uint32_t passes = sn_cuda_blocks(c->count, lanes);
  terms_job job = {};
  job.spaces = *spaces, job.sums = m->sums, job.characters = c->count, job.basis_count = m->basis_count;
  job.rotations = c->rotations, job.rotation_floats = sn_cuda_rotation_floats(m), job.terms = c->terms, job.values = c->values;
  if (!m->sums.sum_count) return cudaSuccess;
  const uint32_t groups = sn_cuda_blocks(m->sums.group_count, warps), sums = sn_cuda_blocks(m->sums.sum_count, warps);
  if (groups) terms_kernel<<<dim3(passes, groups), warps * lanes, 0, c->stream>>>(job);
  if (groups) functions_kernel<<<dim3(passes, groups), warps * lanes, 0, c->stream>>>(job);
  sums_kernel<<<dim3(passes, sums), warps * lanes, 0, c->stream>>>(job);
  return cudaGetLastError();
}
