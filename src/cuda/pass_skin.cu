// SPDX-License-Identifier: MIT
// Corrected skins of large crowds (octets.h). A warp takes eight vertices of 32 characters: tensor cores make the sums of
// displacements, whose parts then lie where they are used. A lane has vertex lane / 4 and characters 8 t + 2 (lane % 4) and one
// more, t from 0 to 3.
#include "cuda/async.h"
#include "cuda/blend.h"

enum { most = SN_RT_MAX_INFLUENCES, threads = SN_CUDA_TILE_OCTETS * 32, quarters = SN_CUDA_PASS / 8 };

// Bytes of a character's part of the staging memory: 16 more than it needs, so that characters lie in other banks.
enum { staged_size = SN_CUDA_OCTET_TILE * 3 * (int)sizeof(float) + 16 };

struct octet_job : blend_job {
  sn_cuda_octets of;
  const float *values; // [pass][basis][32]
  uint32_t passes_per_block;
  bool limited;
};

// ---- displacements: D = A B, in three products of numbers with 11 bits -----------------------------------------------

// A float as two numbers of 11 bits: what the tensor cores see of it, and what they would not.
static __device__ __forceinline__ void split(float x, uint32_t *high, uint32_t *low) {
  *high = __float_as_uint(x) & 0xffffe000u;
  *low = __float_as_uint(x - __uint_as_float(*high));
}

// D += A B of a warp: A is 16 by 8, B 8 by 8. A lane has rows lane / 4 and 8 more of A and D, columns lane % 4 and 4 more of A,
// the same rows of B and its column lane / 4, columns 2 (lane % 4) and the next of D.
static __device__ __forceinline__ void multiply(float d[4], const uint32_t a[4], const uint32_t b[2]) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#elif defined SN_CUDA_EMULATED
  sn_emulated_multiply(d, a, b);
#elif defined __CUDA_ARCH__
#error "the tensor cores of compute capability 8.0 or later are needed"
#endif
}

// out[c][t]: coordinate c of the lane's position for its two characters of quarter t, then of its normal.
static __device__ __forceinline__ void sum_displacements(const octet_job &job, uint32_t octet, uint32_t pass,
                                                         float out[3][quarters][4]) {
  const uint32_t lane = threadIdx.x % 32;
  const float *values = job.values + (size_t)pass * job.basis_count * SN_CUDA_PASS + lane / 4;
#pragma unroll
  for (int c = 0; c < 3; c++)
#pragma unroll
    for (int t = 0; t < quarters; t++)
#pragma unroll
      for (int r = 0; r < 4; r++) out[c][t][r] = 0;
  const uint32_t last = job.of.first_bases[octet + 1];
  for (uint32_t n = job.of.first_bases[octet]; n < last; n++) {
    const sn_cuda_bases *bases = job.of.bases + n;
    const float *first = values + (size_t)__ldg(bases->bases + lane % 4) * SN_CUDA_PASS;
    const float *second = values + (size_t)__ldg(bases->bases + lane % 4 + 4) * SN_CUDA_PASS;
    uint32_t b_high[quarters][2], b_low[quarters][2];
#pragma unroll
    for (int t = 0; t < quarters; t++) {
      split(__ldg(first + 8 * t), &b_high[t][0], &b_low[t][0]);
      split(__ldg(second + 8 * t), &b_high[t][1], &b_low[t][1]);
    }
#pragma unroll
    for (int c = 0; c < 3; c++) {
      float4 a = __ldg((const float4 *)bases->deltas[c][lane]);
      uint32_t high[4], low[4];
      split(a.x, high, low), split(a.y, high + 1, low + 1), split(a.z, high + 2, low + 2), split(a.w, high + 3, low + 3);
#pragma unroll
      for (int t = 0; t < quarters; t++) {
        multiply(out[c][t], low, b_high[t]);
        multiply(out[c][t], high, b_low[t]);
        multiply(out[c][t], high, b_high[t]);
      }
    }
  }
}

// ---- vertices --------------------------------------------------------------------------------------------------------

template <int K> struct vertex {
  float position[3], normal[3], limit, weights[K];
  uint32_t entries[K]; // float4s from the beginning of a character's palette
  uint32_t place;
  int influences; // of the octet
};

template <int K, int ROWS> static __device__ __forceinline__ vertex<K> load_vertex(const octet_job &job, uint32_t octet) {
  const uint32_t v = threadIdx.x % 32 / 4, at = octet * SN_CUDA_OCTET + v;
  const float4 *rest = (const float4 *)job.of.rest + 2 * (size_t)at;
  float4 position = __ldg(rest), normal = __ldg(rest + 1);
  vertex<K> out = {{position.x, position.y, position.z}, {normal.x, normal.y, normal.z}, position.w};
#pragma unroll
  for (int k = 0; k < K; k++) {
    bool there = k < (int)job.of.influences;
    size_t n = ((size_t)octet * job.of.influences + (there ? k : 0)) * SN_CUDA_OCTET + v;
    out.weights[k] = there ? __ldg(job.of.weights + n) : 0, out.entries[k] = ROWS * (uint32_t)__ldg(job.of.locals + n);
  }
  out.place = job.of.places[at], out.influences = job.of.counts[octet];
  return out;
}

// The vertex of one character, displaced by d before or after the blend.
template <int K, int ROWS, bool NORMALS, bool STRETCH>
static __device__ __forceinline__ point move_vertex(const octet_job &job, const vertex<K> &v, const float4 *palette,
                                                    uint32_t character, point d) {
  point p;
  const bool late = job.limited && job.limit_after;
  const float *m = d.position, share = job.limited && !late ? sn_rt_limit(m[0] * m[0] + m[1] * m[1] + m[2] * m[2], v.limit) : 1;
  for (int r = 0; r < 3; r++) {
    d.position[r] *= share;
    p.position[r] = v.position[r] + (job.forward || late ? 0 : d.position[r]);
    p.normal[r] = v.normal[r] + (job.forward ? 0 : d.normal[r]);
  }
  if (ROWS == linear_rows) {
    move_linear<K, NORMALS>(v, palette, late, d, v.limit, &p);
  } else {
    float q[8], stretch[16];
    sum_rotations<K, ROWS>(job.compare, v, palette, q);
    const uint16_t *joints = job.of.joints + job.of.first_joint[blockIdx.x];
    if (STRETCH) blend_stretches<K, ROWS>(v, job.stretches + (size_t)character * job.palette_count * 3, joints, stretch);
    move_dualquat<NORMALS>(q, STRETCH ? stretch : NULL, &p);
  }
  if (ROWS != linear_rows || job.forward) add_correction<NORMALS>(job.forward, d, &p);
  return p;
}

// ---- the kernel ------------------------------------------------------------------------------------------------------

// Float4s from one character's palette to the next: odd, so that characters lie in other banks.
static __host__ __device__ __forceinline__ uint32_t palette_stride(uint32_t rows, uint32_t joint_count) {
  return rows * joint_count | 1;
}

// The tile's entries of the characters of a pass, a warp per character; those beyond the crowd are the last one's.
template <int ROWS>
static __device__ __forceinline__ void fetch_palettes(const octet_job &job, const uint16_t *joints, uint32_t joint_count,
                                                      uint32_t pass, float4 *to) {
  for (uint32_t m = threadIdx.x / 32; m < SN_CUDA_PASS; m += threads / 32) {
    uint32_t character = min(pass * SN_CUDA_PASS + m, job.characters - 1);
    const float4 *from = job.palette + (size_t)character * job.palette_count * ROWS;
    for (uint32_t row = threadIdx.x % 32; row < ROWS * joint_count; row += 32)
      copy_async(to + m * palette_stride(ROWS, joint_count) + row, from + ROWS * (uint32_t)joints[row / ROWS] + row % ROWS);
  }
  commit_async();
}

template <int K, int ROWS, bool NORMALS, bool STRETCH>
static __global__ void __launch_bounds__(threads, 2) pass_skin_kernel(const __grid_constant__ octet_job job) {
  extern __shared__ __align__(128) char shared[];
  const uint32_t tile = blockIdx.x, lane = threadIdx.x % 32, octet = tile * SN_CUDA_TILE_OCTETS + threadIdx.x / 32;
  const uint32_t vertices = min(job.vertex_count - tile * SN_CUDA_OCTET_TILE, (uint32_t)SN_CUDA_OCTET_TILE);
  char *staged_positions = shared, *staged_normals = shared + SN_CUDA_PASS * staged_size;
  float4 *palettes = (float4 *)(shared + (NORMALS ? 2 : 1) * SN_CUDA_PASS * staged_size);
  const uint16_t *joints = job.of.joints + job.of.first_joint[tile];
  const uint32_t joint_count = job.of.first_joint[tile + 1] - job.of.first_joint[tile];
  const uint32_t first = blockIdx.y * job.passes_per_block, passes = (job.characters + SN_CUDA_PASS - 1) / SN_CUDA_PASS;
  const uint32_t last = min(first + job.passes_per_block, passes);
  if (!has_any<ROWS, STRETCH>(job, first * SN_CUDA_PASS, last * SN_CUDA_PASS)) return;
  for (uint32_t pass = first; pass < last; pass++) {
    const uint32_t first_character = pass * SN_CUDA_PASS;
    fetch_palettes<ROWS>(job, joints, joint_count, pass, palettes);
    float d[3][quarters][4];
    sum_displacements(job, octet, pass, d);
    const vertex<K> v = load_vertex<K, ROWS>(job, octet); // again in every pass: registers are dearer than the cache
    wait_async<0>();
    wait_for_copies();
    __syncthreads();
    if (v.place != 0xffff) {
#pragma unroll
      for (int n = 0; n < 2 * quarters; n++) {
        const int t = n / 2, s = n % 2;
        const uint32_t m = 8 * t + 2 * (lane % 4) + s;
        if (ROWS != linear_rows && !is_mine<ROWS, STRETCH>(job, first_character + m)) continue;
        const point move = {{d[0][t][s], d[1][t][s], d[2][t][s]}, {d[0][t][2 + s], d[1][t][2 + s], d[2][t][2 + s]}};
        const float4 *palette = palettes + m * palette_stride(ROWS, joint_count);
        const point p = move_vertex<K, ROWS, NORMALS, STRETCH>(job, v, palette, first_character + m, move);
        stage(job.positions, staged_positions + m * staged_size, v.place, p.position);
        if (NORMALS) stage(job.normals, staged_normals + m * staged_size, v.place, p.normal);
      }
    }
    publish_staged();
    __syncthreads();
    const staged_tile done = {shared, staged_size, first_character, SN_CUDA_PASS, tile * SN_CUDA_OCTET_TILE, vertices};
    store_tile<ROWS, STRETCH>(job, job.positions, 0, 0, done);
    if (NORMALS) store_tile<ROWS, STRETCH>(job, job.normals, 1, SN_CUDA_PASS * staged_size, done);
  }
}

// ---- launching -------------------------------------------------------------------------------------------------------

static size_t shared_bytes(const sn_cuda_model *m, bool normals) {
  uint32_t rows = m->info.blend == SN_RT_BLEND_LINEAR ? linear_rows : dualquat_rows;
  return (normals ? 2 : 1) * SN_CUDA_PASS * (size_t)staged_size +
         SN_CUDA_PASS * (size_t)palette_stride(rows, m->octets.most_joints) * sizeof(float4);
}

bool sn_cuda_skins_in_passes(const sn_cuda_model *m, uint32_t characters) {
  return m->octets.bases && characters >= SN_CUDA_PASS && shared_bytes(m, true) <= m->most_shared;
}

template <int ROWS, bool STRETCH> static auto choose_kernel(bool few, bool normals) {
  if (few) return normals ? pass_skin_kernel<4, ROWS, true, STRETCH> : pass_skin_kernel<4, ROWS, false, STRETCH>;
  return normals ? pass_skin_kernel<most, ROWS, true, STRETCH> : pass_skin_kernel<most, ROWS, false, STRETCH>;
}

cudaError_t sn_cuda_pass_skin(const crowd *c) {
  const sn_cuda_model *m = c->model;
  octet_job job = {make_blend_job(c)};
  const bool normals = job.normals_too, few = m->octets.influences <= 4;
  uint32_t passes = sn_cuda_blocks(c->count, SN_CUDA_PASS);
  job.of = m->octets, job.values = c->values, job.limited = m->tiles.limits != NULL;
  job.passes_per_block = spread(m->octets.tile_count, passes, 132 * 2 * 8, 16);
  size_t shared = shared_bytes(m, normals);
  dim3 grid(m->octets.tile_count, sn_cuda_blocks(passes, job.passes_per_block));
  for (int stretch = 0; stretch <= (job.turned ? 1 : 0); stretch++) {
    auto run = stretch ? choose_kernel<dualquat_rows, true>(few, normals) : choose_kernel<dualquat_rows, false>(few, normals);
    if (!job.turned) run = choose_kernel<linear_rows, false>(few, normals);
    cudaError_t error = cudaFuncSetAttribute((const void *)run, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
    if (error != cudaSuccess) return error;
    run<<<grid, threads, shared, c->stream>>>(job);
  }
  return cudaGetLastError();
}
