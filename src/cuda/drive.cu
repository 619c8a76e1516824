// SPDX-License-Identifier: MIT
// The drives for a crowd: joints, torques or control points -> palettes; for dual quaternions, the palettes split into
// rigid motions and stretches. Joints and bones use the runtime's functions with the same rounding: this file is compiled without
// implicit fused multiply-adds, because kernels of control points cancel to many digits.
#include <string.h>

#include "cuda/device.h"
#include "cuda/product.h"
#include "cuda/rows.h"
#include "runtime/control_bone.h"
#include "runtime/dualquat.h"
#include "runtime/extra.h"
#include "runtime/local_rotation.h"
#include "runtime/rotreg_joint.h"

enum { threads = 128 };

// ---- rotations of the joints: dual quaternions and pose vectors ----------------------------------------------------------------

// One thread per character: a joint's sign depends on its parent's.
static __global__ void local_rotation_kernel(uint32_t characters, uint32_t joint_count, const float *joints,
                                             const sn_rt_reference *references, size_t rotation_floats, float *rotations) {
  uint32_t n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= characters) return;
  const float *own = joints + (size_t)n * joint_count * 12;
  float *all = rotations + n * rotation_floats;
  for (uint32_t k = 0; k < joint_count; k++) {
    sn_rt_reference r = references[k];
    const float none[4] = {0, 0, 0, 1};
    float rotation[8];
    const float *parent = r.parent == SN_RT_NO_JOINT ? none : all + 8 * (size_t)r.parent;
    sn_rt_make_local_rotation(&r, own + 12 * (size_t)r.joint, parent, NULL, rotation);
    for (int c = 0; c < 8; c++) all[8 * (size_t)r.joint + c] = rotation[c];
  }
}

static cudaError_t make_local_rotations(const crowd *c) {
  const sn_cuda_model *m = c->model;
  if (!m->sections[SN_SECTION_JOINT_REFERENCE] || !m->info.joint_count) return cudaSuccess;
  // Few characters per block: their dependency chains are long, and there are many multiprocessors.
  local_rotation_kernel<<<sn_cuda_blocks(c->count, 32), 32, 0, c->stream>>>(
    c->count, m->info.joint_count, c->input.joints, section<sn_rt_reference>(m, SN_SECTION_JOINT_REFERENCE),
    sn_cuda_rotation_floats(m), c->rotations);
  return cudaGetLastError();
}

// Named values, stored after a character's rotations.
static __global__ void load_values_kernel(size_t count, uint32_t value_count, const float *values, const float (*ranges)[2],
                                          size_t rotation_floats, float *rotations) {
  size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= count * value_count) return;
  size_t character = at / value_count, v = at % value_count;
  rotations[(character + 1) * rotation_floats - value_count + v] = sn_rt_value_in_span(ranges[v], values[at]);
}

static cudaError_t load_values(const crowd *c) {
  const sn_cuda_model *m = c->model;
  size_t all = (size_t)c->count * m->info.value_count;
  if (!all) return cudaSuccess;
  load_values_kernel<<<sn_cuda_blocks(all, threads), threads, 0, c->stream>>>(
    c->count, m->info.value_count, c->input.values, (const float(*)[2])m->sections[SN_SECTION_VALUE_RANGES],
    sn_cuda_rotation_floats(m), c->rotations);
  return cudaGetLastError();
}

// ---- joints, and half-way and scaling joints ---------------------------------------------------------------------------------

static __global__ void copy_joints_kernel(size_t count, uint32_t joint_count, uint32_t palette_count, const float4 *joints,
                                          float4 *palette) {
  size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= count * joint_count * 3) return;
  size_t character = at / (joint_count * 3), row = at % (joint_count * 3);
  palette[character * palette_count * 3 + row] = joints[at];
}

static cudaError_t copy_joints(const crowd *c) {
  const sn_rt_info *info = &c->model->info;
  size_t rows = (size_t)c->count * info->joint_count * 3;
  if (!rows) return cudaSuccess;
  copy_joints_kernel<<<sn_cuda_blocks(rows, threads), threads, 0, c->stream>>>(
    c->count, info->joint_count, info->palette_count, (const float4 *)c->input.joints, c->palette);
  return cudaGetLastError();
}

// Without joints the palette is one identity matrix: only displacements deform the rest mesh.
static __global__ void still_kernel(uint32_t characters, float4 *palette) {
  uint32_t n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= characters) return;
  for (int r = 0; r < 3; r++) palette[3 * (size_t)n + r] = make_float4(r == 0, r == 1, r == 2, 0);
}

// One thread per character: an extra joint may depend on earlier ones.
static __global__ void extra_kernel(uint32_t characters, uint32_t joint_count, uint32_t palette_count, const sn_rt_extra *extra,
                                    float4 *palette) {
  uint32_t n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= characters) return;
  float4 *own = palette + (size_t)n * palette_count * 3;
  for (uint32_t e = joint_count; e < palette_count; e++) {
    const sn_rt_extra x = extra[e - joint_count];
    float parent[16], child[16], base[16], out[16];
    load_columns((const float *)(own + 3 * (size_t)x.parent), parent);
    load_columns((const float *)(own + 3 * (size_t)x.child), child);
    load_columns((const float *)(own + 3 * (size_t)x.base), base);
    if (x.kind == SN_RT_EXTRA_HALFWAY)
      sn_rt_halfway_joint(&x, parent, child, out);
    else
      sn_rt_scaling_joint(&x, parent, child, base, out);
    store_rows(out, own + 3 * (size_t)e);
  }
}

static cudaError_t drive_joints(const crowd *c) {
  const sn_rt_info *info = &c->model->info;
  if (!c->palette) return cudaSuccess;
  if (!info->joint_count) {
    still_kernel<<<sn_cuda_blocks(c->count, threads), threads, 0, c->stream>>>(c->count, c->palette);
    return cudaGetLastError();
  }
  cudaError_t said = copy_joints(c);
  if (said != cudaSuccess) return said;
  extra_kernel<<<sn_cuda_blocks(c->count, 32), 32, 0, c->stream>>>(c->count, info->joint_count, info->palette_count,
                                                                  section<sn_rt_extra>(c->model, SN_SECTION_DRIVE_EXTRA),
                                                                  c->palette);
  return cudaGetLastError();
}

// ---- rotreg and torque: the predictors, one thread per character and bone (Wang 2007, section 3) ------------------------------

#define SN_RT_INLINE __device__ __forceinline__
typedef float vf;
enum { width = 1 };
static __device__ __forceinline__ vf vf_load(const float *p) { return *p; }
static __device__ __forceinline__ void vf_store(float *p, vf a) { *p = a; }
static __device__ __forceinline__ vf vf_set(float x) { return x; }
static __device__ __forceinline__ vf vf_mul(vf a, vf b) { return a * b; }
static __device__ __forceinline__ vf vf_add(vf a, vf b) { return a + b; }
static __device__ __forceinline__ vf vf_div(vf a, vf b) { return a / b; }
static __device__ __forceinline__ vf vf_fma(vf a, vf b, vf c) { return fmaf(a, b, c); }
static __device__ __forceinline__ vf vf_fnma(vf a, vf b, vf c) { return fmaf(-a, b, c); }
static __device__ __forceinline__ void vf_gather_rows(const char *const *at, vf *out) {
  for (int n = 0; n < 4; n++) out[n] = ((const float *)at[0])[n];
}
static __device__ __forceinline__ void vf_scatter4(const vf *v, char *base, const uint16_t *, size_t) {
  for (int n = 0; n < 4; n++) ((float *)base)[n] = v[n];
}
#include "runtime/rotreg_predict.h"

// Memory of the drive, by character.
struct rotreg_memory {
  float *rotations;   // [character][joint][8]: quaternion, logarithm
  float *blends;  // [character][joint + 1][2]: f_r, f_s
  float4 *inputs; // [character][3 bones + 4 joints]: columns of the gradients, then of the joints, padded with zeros: X of T' = C X
  uint32_t columns;
};

static size_t rotreg_floats(const sn_rt_info *info, size_t characters) {
  size_t joint_count = info->joint_count;
  return characters * (8 * joint_count + 4 * ((joint_count + 2) / 2) + 4 * (size_t)sn_cuda_solve_columns(info));
}

static rotreg_memory lay_out_rotreg(const crowd *c) {
  size_t joint_count = c->model->info.joint_count;
  rotreg_memory m;
  m.inputs = (float4 *)c->drive, m.columns = sn_cuda_solve_columns(&c->model->info);
  m.rotations = (float *)(m.inputs + (size_t)c->count * m.columns);
  m.blends = m.rotations + c->count * 8 * joint_count;
  return m;
}

// Image of drive.centre under a character's first joint.
static __device__ __forceinline__ void find_there(const float *joints, const float *centre, double there[3]) {
  float first[16];
  load_columns(joints, first);
  sn_rt_image(first, centre, there);
}

static __global__ void rotation_kernel(size_t count, uint32_t joint_count, uint32_t bone_count, const float *joints,
                                       const float *centre, rotreg_memory to) {
  size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= count * joint_count) return;
  size_t character = at / joint_count, j = at % joint_count;
  float m[16], r[9];
  load_columns(joints + 12 * at, m);
  sn_rt_rotation_of(m, r);
  sn_rt_quat_from_rotation(r, to.rotations + 8 * at);
  if (centre) {
    double there[3];
    find_there(joints + 12 * character * joint_count, centre, there);
    sn_rt_bring_home(centre, there, m);
  }
  float4 *out = to.inputs + character * to.columns + 3 * (size_t)bone_count + 4 * j;
  for (int c = 0; c < 4; c++) out[c] = make_float4(m[4 * c], m[4 * c + 1], m[4 * c + 2], 0);
  for (uint32_t c = 3 * bone_count + 4 * joint_count; j == 0 && c < to.columns; c++)
    to.inputs[character * to.columns + c] = make_float4(0, 0, 0, 0);
}

// Input of the torque functions; `joints` NULL: no torques.
struct torque_input {
  const sn_rt_torque *joints;
  const float *offsets, *torques; // torques: [character][joint]
};

// Logarithms, and f_r and f_s of the torques: joint_count pairs, and one more for bones without a torque.
static __global__ void logarithm_kernel(size_t count, uint32_t joint_count, const sn_rt_rotreg_joint *joint, torque_input by,
                                        rotreg_memory to) {
  size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= count * joint_count) return;
  size_t character = at / joint_count, j = at % joint_count;
  float *rotations = to.rotations + 8 * character * joint_count;
  float base[4], own[4], out[3];
  for (int n = 0; n < 4; n++) base[n] = rotations[8 * (size_t)joint[j].base + n], own[n] = rotations[8 * j + n];
  sn_rt_relative_log(base, own, joint[j].reference, out);
  for (int n = 0; n < 3; n++) rotations[8 * j + 4 + n] = out[n];
  rotations[8 * j + 7] = 0;
  if (!by.joints) return;
  float *blends = to.blends + 2 * character * (joint_count + 1);
  sn_rt_torque_blend(by.joints + j, by.offsets ? by.offsets + 2 * j : NULL, by.torques[at], blends + 2 * j);
  if (j == 0) blends[2 * joint_count] = blends[2 * joint_count + 1] = 0;
}

static __global__ void predict_kernel(size_t count, uint32_t joint_count, uint32_t bone_count, const sn_rt_rotreg_block *blocks,
                                      const sn_rt_torque_block *pairs, rotreg_memory to) {
  size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= count * bone_count) return;
  size_t character = at / bone_count;
  uint32_t bone = (uint32_t)(at % bone_count), block = bone / SN_RT_LANES;
  int lane = (int)(bone % SN_RT_LANES);
  const float(*rotations)[8] = (const float(*)[8])(to.rotations + 8 * character * joint_count);
  float out[12];
  if (pairs) {
    const float(*blends)[2] = (const float(*)[2])(to.blends + 2 * character * (joint_count + 1));
    rr_blend(rotations, blends, joint_count, pairs + block, lane, out);
  } else {
    rr_predict(blocks + block, lane, rotations, out);
  }
  float4 *to_input = to.inputs + character * to.columns + 3 * (size_t)bone;
  for (int c = 0; c < 3; c++) to_input[c] = make_float4(out[4 * c], out[4 * c + 1], out[4 * c + 2], 0);
}

// ---- the reduced solve for all characters at once: T' = C X (4.3, 5) ----------------------------------------------------------

// A warp computes 32 rows of T' (eight bones) for 16 characters on tensor cores: D = X C^t with characters as rows, for each
// coordinate. C is in strips of 32 rows (sn_cuda_lay_out_solve). A block of threads computes some strips of the same characters.
enum { solve_characters = 16, solve_warps = 4, solve_rows = 32 };

struct solve_job {
  const float4 *c; // [strip][eight columns][lane][2]
  const float4 *x; // [character][columns]
  float4 *palette; // [character][palette_count][3]
  uint32_t columns, strips, characters, joint_count, bone_count;
};

// A lane's numbers of eight columns: of X columns lane % 4 and four more of characters lane / 4 and eight more, of C two by four.
struct solve_step {
  float4 x[4], c[2];
};

static __device__ __forceinline__ solve_step load_step(const float4 *const x[2], const float4 *c) {
  return solve_step{{__ldg(x[0]), __ldg(x[1]), __ldg(x[0] + 4), __ldg(x[1] + 4)}, {__ldg(c), __ldg(c + 1)}};
}

static __device__ __forceinline__ void add_step(const solve_step &from, float sum[solve_rows / 8][3][4]) {
  factor<4> a[3];
#pragma unroll
  for (int n = 0; n < 4; n++) a[0].set(n, from.x[n].x), a[1].set(n, from.x[n].y), a[2].set(n, from.x[n].z);
#pragma unroll
  for (int n = 0; n < solve_rows / 8; n++) {
    const float4 c = from.c[n / 2];
    factor<2> b;
    b.set(0, n % 2 ? c.z : c.x), b.set(1, n % 2 ? c.w : c.y);
#pragma unroll
    for (int r = 0; r < 3; r++) multiply_exactly(sum[n][r], a[r], b);
  }
}

// A lane has two numbers of a matrix row of one bone, of two characters.
static __device__ __forceinline__ void store_bones(const solve_job &job, uint32_t who, uint32_t row, const float sum[3][4]) {
  const uint32_t bone = row / 4;
  if (bone >= job.bone_count) return;
#pragma unroll
  for (int m = 0; m < 2; m++) {
    if (who + 8 * m >= job.characters) continue;
    float4 *out = job.palette + ((size_t)(who + 8 * m) * (job.joint_count + job.bone_count) + job.joint_count + bone) * 3;
#pragma unroll
    for (int r = 0; r < 3; r++) *(float2 *)((float *)(out + r) + row % 4) = float2{sum[r][2 * m], sum[r][2 * m + 1]};
  }
}

static __global__ void __launch_bounds__(solve_warps * 32, 4) solve_kernel(const __grid_constant__ solve_job job) {
  const uint32_t lane = threadIdx.x % 32, strip = blockIdx.x * solve_warps + threadIdx.x / 32, steps = job.columns / 8;
  const uint32_t who = blockIdx.y * solve_characters + lane / 4;
  if (strip >= job.strips) return;
  const float4 *x[2], *c = job.c + ((size_t)strip * steps * 32 + lane) * 2;
  for (int n = 0; n < 2; n++) x[n] = job.x + (size_t)min(who + 8 * n, job.characters - 1) * job.columns + lane % 4;
  float sum[solve_rows / 8][3][4] = {};
  solve_step next = load_step(x, c);
  for (uint32_t step = 0; step < steps; step++) { // the next columns are read while these are multiplied
    const solve_step now = next;
    if (step + 1 < steps) x[0] += 8, x[1] += 8, c += 64;
    next = load_step(x, c);
    add_step(now, sum);
  }
#pragma unroll
  for (int n = 0; n < solve_rows / 8; n++) store_bones(job, who, strip * solve_rows + 8 * n + 2 * (lane % 4), sum[n]);
}

static __global__ void bring_back_kernel(size_t count, uint32_t joint_count, uint32_t bone_count, const float *joints,
                                         const float *centre, float4 *palette) {
  size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= count * bone_count) return;
  size_t character = at / bone_count, bone = at % bone_count;
  float4 *own = palette + (character * (joint_count + bone_count) + joint_count + bone) * 3;
  double there[3];
  float m[16];
  find_there(joints + 12 * character * joint_count, centre, there);
  load_columns((const float *)own, m);
  sn_rt_bring_back(centre, there, m);
  store_rows(m, own);
}

static cudaError_t drive_rotreg(const crowd *c) {
  const sn_cuda_model *m = c->model;
  uint32_t joint_count = m->info.joint_count, bones = m->info.palette_count - joint_count;
  bool paired = m->info.drive == SN_RT_DRIVE_TORQUE;
  rotreg_memory memory = lay_out_rotreg(c);
  const torque_input torques = {paired ? section<sn_rt_torque>(m, SN_SECTION_DRIVE_TORQUES) : NULL,
                                section<float>(m, SN_SECTION_DRIVE_OFFSETS), c->input.torques};
  const float *centre = section<float>(m, SN_SECTION_DRIVE_CENTRE);
  size_t rotations = (size_t)c->count * joint_count, predictors = (size_t)c->count * bones;
  rotation_kernel<<<sn_cuda_blocks(rotations, threads), threads, 0, c->stream>>>(
    c->count, joint_count, bones, c->input.joints, centre, memory);
  logarithm_kernel<<<sn_cuda_blocks(rotations, threads), threads, 0, c->stream>>>(
    c->count, joint_count, section<sn_rt_rotreg_joint>(m, SN_SECTION_DRIVE_JOINTS), torques, memory);
  predict_kernel<<<sn_cuda_blocks(predictors, threads), threads, 0, c->stream>>>(
    c->count, joint_count, bones, section<sn_rt_rotreg_block>(m, SN_SECTION_DRIVE_KEYS),
    paired ? section<sn_rt_torque_block>(m, SN_SECTION_DRIVE_PAIRS) : NULL, memory);
  solve_job job = {};
  job.c = section<float4>(m, SN_SECTION_DRIVE_SOLVE), job.x = memory.inputs, job.palette = c->palette;
  job.columns = sn_cuda_solve_columns(&m->info), job.strips = sn_cuda_blocks(bones, 8), job.characters = c->count;
  job.joint_count = joint_count, job.bone_count = bones;
  const dim3 grid(sn_cuda_blocks(job.strips, solve_warps), sn_cuda_blocks(c->count, solve_characters));
  solve_kernel<<<grid, solve_warps * 32, 0, c->stream>>>(job);
  if (centre) {
    bring_back_kernel<<<sn_cuda_blocks(predictors, threads), threads, 0, c->stream>>>(c->count, joint_count, bones, c->input.joints,
                                                                                      centre, c->palette);
  }
  return copy_joints(c);
}

// ---- control points (Kim 2010): a block of threads per character --------------------------------------------------------------

struct control_job {
  sn_rt_control head;
  uint32_t bones, points;
  const float *frames, *centres, *map, *solve;
  const float *controls; // [character][points][3]
  float4 *palette;
};

// Row `row` of a matrix in strips of eight rows, times x with stride `stride`. Columns are added to SUMS sums in turn, in the
// runtime's order: the kernel's columns cancel to many digits, so that another order would change the result.
template <int SUMS>
static __device__ float strip_product(const float *matrix, uint32_t rows, uint32_t columns, uint32_t row, const float *x,
                                      uint32_t stride) {
  uint32_t first = row / SN_RT_STRIP * SN_RT_STRIP, width_of = min(rows - first, (uint32_t)SN_RT_STRIP);
  const float *at = matrix + (size_t)first * columns + row % SN_RT_STRIP;
  float sums[SUMS] = {};
  uint32_t k = 0;
  for (; width_of == SN_RT_STRIP && k + SUMS <= columns; k += SUMS)
#pragma unroll
    for (int n = 0; n < SUMS; n++) sums[n] += at[(size_t)(k + n) * width_of] * x[(size_t)(k + n) * stride];
  for (; k < columns; k++) sums[0] += at[(size_t)k * width_of] * x[(size_t)k * stride];
#pragma unroll
  for (int half = 1; half < SUMS; half *= 2)
#pragma unroll
    for (int n = 0; n + half < SUMS; n += 2 * half) sums[n] += sums[n + half];
  return sums[0];
}

static __global__ void control_kernel(const control_job job) {
  extern __shared__ float space[];
  const uint32_t n = blockIdx.x, bones = job.bones, frames = job.head.frames, outputs = job.head.outputs;
  float *xi = space, *predicted = xi + frames + 1;
  float *columns = predicted + (size_t)bones * outputs; // [3 bones + points][4]
  const float *controls = job.controls + 3 * (size_t)n * job.points;
  for (uint32_t f = threadIdx.x; f <= frames; f += blockDim.x)
    xi[f] = f < frames ? sn_rt_control_kernel(&job.head, job.points, controls, job.frames + 3 * (size_t)f * job.points) : 1;
  __syncthreads();
  for (uint32_t r = threadIdx.x; r < bones * outputs; r += blockDim.x)
    predicted[r] = strip_product<4>(job.map, bones * outputs, frames + 1, r, xi, 1);
  __syncthreads();
  for (uint32_t b = threadIdx.x; b < bones; b += blockDim.x)
    sn_rt_bone_gradient(predicted + (size_t)b * outputs, job.head.flags, (float(*)[4])(columns + 12 * (size_t)b));
  for (uint32_t p = threadIdx.x; p < 3 * job.points; p += blockDim.x)
    columns[4 * (3 * (size_t)bones + p / 3) + p % 3] = controls[p];
  __syncthreads();
  for (uint32_t b = threadIdx.x; b < bones; b += blockDim.x) {
    float place[4], matrix[16];
    const float *centre = job.centres + 3 * (size_t)b;
    if (job.head.flags & SN_RT_CONTROL_POISSON) {
      for (int c = 0; c < 3; c++) place[c] = strip_product<2>(job.solve, bones, 3 * bones + job.points, b, columns + c, 4);
    } else {
      sn_rt_predicted_place(predicted + (size_t)b * outputs, job.head.flags, centre, place);
    }
    sn_rt_store_bone((const float(*)[4])(columns + 12 * (size_t)b), place, centre, matrix);
    store_rows(matrix, job.palette + ((size_t)n * bones + b) * 3);
  }
}

size_t sn_cuda_control_shared(const sn_rt_control *head, uint32_t bones, uint32_t points) {
  return sizeof(float) * (head->frames + 1 + (size_t)bones * head->outputs + 4 * (3 * (size_t)bones + points));
}

static cudaError_t drive_controls(const crowd *c) {
  const sn_cuda_model *m = c->model;
  control_job job = {};
  job.head = m->control, job.bones = m->info.palette_count, job.points = m->info.control_count;
  job.frames = section<float>(m, SN_SECTION_CONTROL_FRAMES), job.centres = section<float>(m, SN_SECTION_CONTROL_CENTRES);
  job.map = section<float>(m, SN_SECTION_CONTROL_MAP), job.solve = section<float>(m, SN_SECTION_CONTROL_SOLVE);
  job.controls = c->input.controls, job.palette = c->palette;
  size_t shared = sn_cuda_control_shared(&job.head, job.bones, job.points);
  cudaError_t said = cudaFuncSetAttribute((const void *)control_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
  if (said != cudaSuccess) return said;
  control_kernel<<<c->count, threads, shared, c->stream>>>(job);
  return cudaGetLastError();
}

// ---- dual quaternions ----------------------------------------------------------------------------------------------------------

struct split_job {
  uint32_t characters, joint_count, palette_count;
  const float4 *palette;
  const float *rotations; // NULL: signs are compared at every vertex
  size_t rotation_floats; // of a character
  const float *rest;  // [joint][12] or NULL
  const sn_rt_extra *extra;
  float4 *dualquats, *stretches;
  uint32_t *stretched;
  bool about; // blend `centres`: the matrices are stored before the quaternions
};

// One entry: the fixed point of its stretch, its two parts, the hemisphere of its joint. True if it is rigid.
static __device__ __forceinline__ bool split_entry(const split_job &job, size_t character, uint32_t e, float common) {
  size_t at = character * job.palette_count + e;
  uint32_t joint = e < job.joint_count ? e : job.extra[e - job.joint_count].child;
  float m[16], centre[3], q[8], stretch[16];
  load_columns((const float *)(job.palette + 3 * at), m);
  for (int c = 0; c < 3; c++)
    centre[c] = e >= job.joint_count ? job.extra[e - job.joint_count].centre[c] : job.rest ? job.rest[12 * e + 4 * c + 3] : 0;
  bool rigid = sn_rt_split_matrix(m, centre, common, q, stretch);
  if (job.rotations) {
    const float *rotation = job.rotations + character * job.rotation_floats + 8 * joint;
    if (q[0] * rotation[0] + q[1] * rotation[1] + q[2] * rotation[2] + q[3] * rotation[3] < 0)
      for (int n = 0; n < 8; n++) q[n] = -q[n];
  }
  if (job.about) {
    for (int r = 0; r < 3; r++) job.dualquats[4 * at + r] = job.palette[3 * at + r];
    job.dualquats[4 * at + 3] = make_float4(q[0], q[1], q[2], q[3]);
  } else {
    job.dualquats[2 * at] = make_float4(q[0], q[1], q[2], q[3]);
    job.dualquats[2 * at + 1] = make_float4(q[4], q[5], q[6], q[7]);
  }
  store_rows(stretch, job.stretches + 3 * at);
  return rigid;
}

static __global__ void split_kernel(const split_job job) {
  size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= (size_t)job.characters * job.palette_count) return;
  size_t character = at / job.palette_count;
  if (!split_entry(job, character, (uint32_t)(at % job.palette_count), 1)) job.stretched[character] = 1;
}

// A block per character: if most of its joints have a common scale, splits them again relative to it.
static __global__ void rescale_kernel(const split_job job) {
  __shared__ float common;
  size_t character = blockIdx.x;
  if (!job.stretched[character]) return;
  const float *stretches = (const float *)(job.stretches + 3 * character * job.palette_count);
  if (threadIdx.x == 0) common = sn_rt_common_scale(stretches, job.palette_count, 12);
  __syncthreads();
  if (!(fabsf(common - 1) > 1e-4f)) return;
  for (uint32_t e = threadIdx.x; e < job.palette_count; e += blockDim.x) split_entry(job, character, e, common);
}

static cudaError_t split_palettes(const crowd *c) {
  const sn_cuda_model *m = c->model;
  bool is_signed = m->info.drive == SN_RT_DRIVE_JOINTS && m->sections[SN_SECTION_JOINT_REFERENCE];
  split_job job = {c->count,
                   m->info.joint_count,
                   m->info.palette_count,
                   c->matrices,
                   is_signed ? c->rotations : NULL,
                   sn_cuda_rotation_floats(m),
                   section<float>(m, SN_SECTION_JOINT_REST),
                   section<sn_rt_extra>(m, SN_SECTION_DRIVE_EXTRA),
                   c->dualquats,
                   c->stretches,
                   c->stretched,
                   m->info.blend == SN_RT_BLEND_CENTRES};
  cudaError_t said = cudaMemsetAsync(c->stretched, 0, c->count * sizeof *c->stretched, c->stream);
  if (said != cudaSuccess) return said;
  split_kernel<<<sn_cuda_blocks((size_t)c->count * m->info.palette_count, threads), threads, 0, c->stream>>>(job);
  if (!job.about) rescale_kernel<<<c->count, 32, 0, c->stream>>>(job);
  return cudaGetLastError();
}

// ---- all of it -----------------------------------------------------------------------------------------------------------------

size_t sn_cuda_drive_floats(const sn_cuda_model *model, uint32_t characters) {
  bool proxies = model->info.drive == SN_RT_DRIVE_ROTREG || model->info.drive == SN_RT_DRIVE_TORQUE;
  return proxies ? rotreg_floats(&model->info, characters) : 0;
}

cudaError_t sn_cuda_drive(const crowd *c) {
  const uint32_t drive = c->model->info.drive;
  cudaError_t said = make_local_rotations(c);
  if (said == cudaSuccess) said = load_values(c);
  if (said == cudaSuccess && drive == SN_RT_DRIVE_HELPERS) said = copy_joints(c);
  if (said != cudaSuccess) return said;
  said = drive == SN_RT_DRIVE_JOINTS     ? drive_joints(c)
         : drive == SN_RT_DRIVE_CONTROLS ? drive_controls(c)
         : drive == SN_RT_DRIVE_HELPERS  ? sn_cuda_helpers(c)
                                         : drive_rotreg(c);
  return said == cudaSuccess && c->dualquats ? split_palettes(c) : said;
}
