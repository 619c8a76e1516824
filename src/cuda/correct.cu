// SPDX-License-Identifier: MIT
// The values of the displacement fields for a crowd: a block of threads per character. Its pose spaces come one after the
// other: axes, then the kernels of the centres, then what the bases make of them (Murtagh 2008, 2.3.2 and 4.2).
#include "cuda/device.h"
#include "runtime/pose_space.h"

enum { threads = 64, group = 4 }; // characters whose values lie side by side

struct values_job {
  sn_rt_pose_spaces spaces;
  uint32_t joint_count, field_count, basis_count, most_axes;
  const float *turns; // [character][joint][8]
  float *values;      // [character / 4][basis][4]
};

static __global__ void values_kernel(const values_job job) {
  extern __shared__ double shared[];
  __shared__ double total;
  double *axes = shared, *terms = shared + job.most_axes;
  const uint32_t n = blockIdx.x;
  const float *turns = job.turns + 8 * (size_t)n * job.joint_count;
  float *values = job.values + (size_t)(n / group) * job.basis_count * group + n % group;
  for (uint32_t index = 0; index < job.field_count; index++) {
    const sn_rt_field *f = job.spaces.fields + index;
    uint32_t count = sn_rt_field_terms(f);
    for (uint32_t a = threadIdx.x; a < f->axis_count; a += threads) axes[a] = sn_rt_axis(&job.spaces, f, turns, a);
    __syncthreads();
    for (uint32_t t = threadIdx.x; t < count; t += threads) terms[t] = sn_rt_term(&job.spaces, f, axes, t);
    __syncthreads();
    if (f->kernel == SN_RT_KERNEL_SHEPARD) {
      if (threadIdx.x == 0) total = sn_rt_shepard_total(f, terms);
      __syncthreads();
      for (uint32_t t = threadIdx.x; t < f->centre_count; t += threads) terms[t] /= total;
      __syncthreads();
    }
    for (uint32_t b = threadIdx.x; b < f->basis_count; b += threads)
      values[(size_t)(f->first_basis + b) * group] = (float)sn_rt_basis(&job.spaces, f, terms, b);
    __syncthreads();
  }
}

size_t sn_cuda_correct_shared(const sn_cuda_model *model) {
  return ((size_t)model->most_axes + model->most_terms) * sizeof(double);
}

cudaError_t sn_cuda_correct(const crowd *c) {
  const sn_cuda_model *m = c->model;
  if (!m->basis_count) return cudaSuccess;
  values_job job = {};
  job.spaces.fields = (const sn_rt_field *)m->sections[SN_SECTION_CORRECT_FIELDS];
  job.spaces.joints = (const uint16_t *)m->sections[SN_SECTION_CORRECT_JOINTS];
  job.spaces.numbers = (const double *)m->sections[SN_SECTION_CORRECT_NUMBERS];
  job.spaces.references = (const sn_rt_reference *)m->sections[SN_SECTION_JOINT_REFERENCE];
  job.joint_count = m->info.joint_count, job.field_count = m->field_count, job.basis_count = m->basis_count;
  job.most_axes = m->most_axes, job.turns = c->turns, job.values = c->values;
  size_t shared = sn_cuda_correct_shared(m);
  cudaError_t said = cudaFuncSetAttribute((const void *)values_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
  if (said != cudaSuccess) return said;
  values_kernel<<<c->count, threads, shared, c->stream>>>(job);
  return cudaGetLastError();
}
