// SPDX-License-Identifier: MIT
// Coefficients of the displacement fields for a crowd: a block of threads per character, a warp per pose space: axes, then the
// kernels of the centres, then the bases (Murtagh 2008, 2.3.2 and 4.2).
#include "cuda/device.h"
#include "runtime/pose_space.h"

enum { lanes = 32, warps = 4 };

struct values_job {
  sn_rt_pose_spaces spaces;
  uint32_t field_count, basis_count, most_axes, most_terms;
  const float *rotations; // [character]: [joint][8], then the named values
  size_t rotation_floats; // of a character
  float *values;          // [character / 32][basis][32]
};

static __device__ __forceinline__ void evaluate_field(const values_job &job, const sn_rt_field *f, const float *rotations,
                                                      double *axes, double *terms, float *values) {
  const uint32_t lane = threadIdx.x % lanes, count = sn_rt_field_terms(f);
  for (uint32_t a = lane; a < f->axis_count; a += lanes) axes[a] = sn_rt_axis(&job.spaces, f, rotations, a);
  __syncwarp();
  for (uint32_t t = lane; t < count; t += lanes) terms[t] = sn_rt_term(&job.spaces, f, axes, t);
  __syncwarp();
  if (f->kernel == SN_RT_KERNEL_SHEPARD) {
    double total = sn_rt_shepard_total(f, terms); // the same sum in every lane
    __syncwarp();
    for (uint32_t t = lane; t < f->centre_count; t += lanes) terms[t] /= total;
    __syncwarp();
  }
  for (uint32_t b = lane; b < f->basis_count; b += lanes)
    values[(size_t)(f->first_basis + b) * SN_CUDA_PASS] = (float)sn_rt_basis(&job.spaces, f, terms, b);
  __syncwarp();
}

static __global__ void __launch_bounds__(warps *lanes) values_kernel(const __grid_constant__ values_job job) {
  extern __shared__ double shared[];
  double *axes = shared + threadIdx.x / lanes * (job.most_axes + job.most_terms), *terms = axes + job.most_axes;
  const uint32_t n = blockIdx.x;
  const float *rotations = job.rotations + n * job.rotation_floats;
  float *values = job.values + (size_t)(n / SN_CUDA_PASS) * job.basis_count * SN_CUDA_PASS + n % SN_CUDA_PASS;
  for (uint32_t index = threadIdx.x / lanes; index < job.field_count; index += warps)
    if (job.spaces.fields[index].kernel != SN_RT_KERNEL_SUM)
      evaluate_field(job, job.spaces.fields + index, rotations, axes, terms, values);
}

size_t sn_cuda_correct_shared(const sn_cuda_model *model) {
  return warps * ((size_t)model->most_axes + model->most_terms) * sizeof(double);
}

cudaError_t sn_cuda_correct(const crowd *c) {
  const sn_cuda_model *m = c->model;
  if (!m->basis_count) return cudaSuccess;
  values_job job = {};
  job.spaces.fields = (const sn_rt_field *)m->sections[SN_SECTION_CORRECT_FIELDS];
  job.spaces.joints = (const uint16_t *)m->sections[SN_SECTION_CORRECT_JOINTS];
  job.spaces.numbers = (const double *)m->sections[SN_SECTION_CORRECT_NUMBERS];
  job.spaces.references = (const sn_rt_reference *)m->sections[SN_SECTION_JOINT_REFERENCE];
  job.spaces.terms = (const sn_rt_terms *)m->sections[SN_SECTION_CORRECT_TERMS];
  job.spaces.mix = (const float *)m->sections[SN_SECTION_CORRECT_MIX];
  job.spaces.joint_count = m->info.joint_count, job.field_count = m->field_count, job.basis_count = m->basis_count;
  job.most_axes = m->most_axes, job.most_terms = m->most_terms, job.rotations = c->rotations;
  job.rotation_floats = sn_cuda_rotation_floats(m), job.values = c->values;
  cudaError_t said = sn_cuda_sum_terms(c, &job.spaces);
  if (said != cudaSuccess || m->field_count == m->sums.sum_count) return said;
  size_t shared = sn_cuda_correct_shared(m);
  said = cudaFuncSetAttribute((const void *)values_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
  if (said != cudaSuccess) return said;
  values_kernel<<<c->count, warps * lanes, shared, c->stream>>>(job);
  return cudaGetLastError();
}
