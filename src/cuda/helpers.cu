// SPDX-License-Identifier: MIT
// The drive `helpers` for a crowd: a thread per character and helper joint. It uses the runtime's functions; without fused
// multiply-adds, the rounding is the same.
#include "cuda/device.h"
#include "runtime/helper.h"

enum { threads = 128 };

struct helpers_job {
  sn_rt_pose_spaces spaces;
  const sn_rt_helper *helpers;
  const sn_rt_linear *linear;
  uint32_t characters, helper_count, linear_count;
  const float *rotations; // [character]: [joint][8], then the named values
  size_t rotation_floats; // of a character
  float4 *palette;    // [character][joint, then helper][3]: rows
};

// The first number of drive.linear (sorted by helper) that belongs to helper n or a later one.
static __device__ __forceinline__ const sn_rt_linear *first_linear(const helpers_job &job, uint32_t n) {
  uint32_t low = 0;
  for (uint32_t high = job.linear_count; low < high;) {
    const uint32_t middle = (low + high) / 2;
    const bool before = job.linear[middle].place / SN_RT_LINEAR_PLACES < n;
    low = before ? middle + 1 : low, high = before ? high : middle;
  }
  return job.linear + low;
}

static __global__ void helpers_kernel(const __grid_constant__ helpers_job job) {
  const size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x, character = at / job.helper_count;
  const uint32_t n = (uint32_t)(at % job.helper_count), joint_count = job.spaces.joint_count;
  if (character >= job.characters) return;
  const sn_rt_helper *h = job.helpers + n;
  const float *rotations = job.rotations + character * job.rotation_floats;
  float4 *own = job.palette + 3 * character * (joint_count + job.helper_count);
  float channels[SN_RT_HELPER_ROW], added[SN_RT_LINEAR_PLACES], local[12], parent[16], out[16];
  sn_rt_helper_channels(h, &job.spaces, rotations, channels);
  sn_rt_helper_local(h->centre, channels, local);
  if (job.linear) {
    sn_rt_helper_linear(first_linear(job, n), job.linear + job.linear_count, n, rotations + 8 * (size_t)joint_count, added);
    sn_rt_helper_add(h->centre, added, local);
  }
  const bool follows = h->parent != SN_RT_NO_JOINT;
  if (follows) load_columns((const float *)(own + 3 * (size_t)h->parent), parent);
  sn_rt_helper_matrix(follows ? parent : NULL, local, out);
  store_rows(out, own + 3 * (size_t)(joint_count + n));
}

cudaError_t sn_cuda_helpers(const crowd *c) {
  const sn_cuda_model *m = c->model;
  const uint32_t helpers = m->info.palette_count - m->info.joint_count;
  helpers_job job = {{}, section<sn_rt_helper>(m, SN_SECTION_DRIVE_HELPERS), section<sn_rt_linear>(m, SN_SECTION_DRIVE_LINEAR),
                     c->count, helpers, m->linear_count, c->rotations, sn_cuda_rotation_floats(m), c->palette};
  job.spaces.references = section<sn_rt_reference>(m, SN_SECTION_JOINT_REFERENCE);
  job.spaces.joint_count = m->info.joint_count;
  job.spaces.terms = section<sn_rt_terms>(m, SN_SECTION_DRIVE_TERMS), job.spaces.mix = section<float>(m, SN_SECTION_DRIVE_MIX);
  if (!job.helper_count) return cudaSuccess;
  helpers_kernel<<<sn_cuda_blocks((size_t)c->count * job.helper_count, threads), threads, 0, c->stream>>>(job);
  return cudaGetLastError();
}
