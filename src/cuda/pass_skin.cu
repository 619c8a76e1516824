// SPDX-License-Identifier: MIT
// Corrected linear skins of large crowds (octets.h). A warp takes eight vertices of 32 characters: tensor cores make the sums of
// displacements, whose parts then lie where they are used. A lane has vertex lane / 4 and characters 8 t + 2 (lane % 4) and one
// more, t from 0 to 3.
#include "cuda/async.h"
#include "cuda/blend.h"
#include "cuda/store.h"
#include "runtime/vertex.h"

enum { most = SN_RT_MAX_INFLUENCES, threads = SN_CUDA_TILE_OCTETS * 32, quarters = SN_CUDA_PASS / 8 };

// Bytes of a character's part of the staging memory: 16 more than it needs, so that characters lie in other banks.
enum { staged_size = SN_CUDA_OCTET_TILE * 3 * (int)sizeof(float) + 16 };

struct octet_job {
  sn_cuda_octets of;
  const float4 *palette; // [character][palette_count][3]
  const float *values;   // [pass][basis][32]
  uint32_t basis_count, palette_count, vertex_count, characters, passes_per_block;
  bool forward, limit_after, limited;
  target positions, normals;
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

template <int K> static __device__ __forceinline__ vertex<K> load_vertex(const octet_job &job, uint32_t octet) {
  const uint32_t v = threadIdx.x % 32 / 4, at = octet * SN_CUDA_OCTET + v;
  const float4 *rest = (const float4 *)job.of.rest + 2 * (size_t)at;
  float4 position = __ldg(rest), normal = __ldg(rest + 1);
  vertex<K> out = {{position.x, position.y, position.z}, {normal.x, normal.y, normal.z}, position.w};
#pragma unroll
  for (int k = 0; k < K; k++) {
    bool there = k < (int)job.of.influences;
    size_t n = ((size_t)octet * job.of.influences + (there ? k : 0)) * SN_CUDA_OCTET + v;
    out.weights[k] = there ? __ldg(job.of.weights + n) : 0, out.entries[k] = 3 * (uint32_t)__ldg(job.of.locals + n);
  }
  out.place = job.of.places[at], out.influences = job.of.counts[octet];
  return out;
}

// The vertex of one character, displaced by d before or after the blend.
template <int K, bool NORMALS>
static __device__ __forceinline__ void move_vertex(const octet_job &job, const vertex<K> &v, const float4 *palette,
                                                   const float d[3], const float turn[3], float position[3],
                                                   float normal[3]) {
  float b[16], p[3], n[3];
  const float share = job.limited && !job.limit_after ? sn_rt_limit(d[0] * d[0] + d[1] * d[1] + d[2] * d[2], v.limit) : 1;
  const bool late = job.limited && job.limit_after;
  for (int r = 0; r < 3; r++) {
    p[r] = v.position[r] + (job.forward || late ? 0 : share * d[r]);
    n[r] = v.normal[r] + (job.forward ? 0 : turn[r]);
  }
  blend_matrices<K>(v.weights, v.influences, palette, v.entries, b);
  sn_rt_transform(b, p, position);
  if (late) sn_rt_move_limited(b, d, v.limit, position);
  for (int r = 0; r < 3; r++) position[r] += job.forward ? share * d[r] : 0;
  if (!NORMALS) return;
  sn_rt_transform_normal(b, n, normal), sn_rt_normalise(normal);
  if (!job.forward) return;
  for (int r = 0; r < 3; r++) normal[r] += turn[r];
  sn_rt_normalise(normal);
}

// ---- the kernel ------------------------------------------------------------------------------------------------------

// Float4s from one character's palette to the next: odd, so that characters lie in other banks.
static __host__ __device__ __forceinline__ uint32_t palette_stride(uint32_t joint_count) { return 3 * joint_count | 1; }

// The tile's entries of the characters of a pass, a warp per character; those beyond the crowd are the last one's.
static __device__ __forceinline__ void fetch_palettes(const octet_job &job, const uint16_t *joints, uint32_t joint_count,
                                                      uint32_t pass, float4 *to) {
  for (uint32_t m = threadIdx.x / 32; m < SN_CUDA_PASS; m += threads / 32) {
    uint32_t character = min(pass * SN_CUDA_PASS + m, job.characters - 1);
    const float4 *from = job.palette + (size_t)character * job.palette_count * 3;
    for (uint32_t row = threadIdx.x % 32; row < 3 * joint_count; row += 32)
      copy_async(to + m * palette_stride(joint_count) + row, from + 3 * (uint32_t)joints[row / 3] + row % 3);
  }
  commit_async();
}

static __device__ __forceinline__ void store_pass(const target &t, const char *staged, uint32_t first_character,
                                                  uint32_t characters, uint32_t first_vertex, uint32_t vertices) {
  for (uint32_t m = 0; m < SN_CUDA_PASS && first_character + m < characters; m++)
    copy_by_threads(t, staged + m * staged_size, first_character + m, first_vertex, vertices);
}

template <int K, bool NORMALS>
static __global__ void __launch_bounds__(threads, 2) pass_skin_kernel(const __grid_constant__ octet_job job) {
  extern __shared__ __align__(128) char shared[];
  const uint32_t tile = blockIdx.x, lane = threadIdx.x % 32, octet = tile * SN_CUDA_TILE_OCTETS + threadIdx.x / 32;
  const uint32_t first_vertex = tile * SN_CUDA_OCTET_TILE;
  const uint32_t vertices = min(job.vertex_count - first_vertex, (uint32_t)SN_CUDA_OCTET_TILE);
  char *staged_positions = shared, *staged_normals = shared + SN_CUDA_PASS * staged_size;
  float4 *palettes = (float4 *)(shared + (NORMALS ? 2 : 1) * SN_CUDA_PASS * staged_size);
  const uint16_t *joints = job.of.joints + job.of.first_joint[tile];
  const uint32_t joint_count = job.of.first_joint[tile + 1] - job.of.first_joint[tile];
  const uint32_t first = blockIdx.y * job.passes_per_block, passes = (job.characters + SN_CUDA_PASS - 1) / SN_CUDA_PASS;
  const uint32_t last = min(first + job.passes_per_block, passes);
  const bool bulk_positions = copies_in_bulk(job.positions, vertices);
  const bool bulk_normals = NORMALS && copies_in_bulk(job.normals, vertices);
  for (uint32_t pass = first; pass < last; pass++) {
    const uint32_t first_character = pass * SN_CUDA_PASS;
    fetch_palettes(job, joints, joint_count, pass, palettes);
    float d[3][quarters][4];
    sum_displacements(job, octet, pass, d);
    const vertex<K> v = load_vertex<K>(job, octet); // again in every pass: registers are dearer than the cache
    wait_async<0>();
    wait_for_copies();
    __syncthreads();
    if (v.place != 0xffff) {
#pragma unroll
      for (int n = 0; n < 2 * quarters; n++) {
        const int t = n / 2, s = n % 2;
        const uint32_t m = 8 * t + 2 * (lane % 4) + s;
        const float move[3] = {d[0][t][s], d[1][t][s], d[2][t][s]}, turn[3] = {d[0][t][2 + s], d[1][t][2 + s], d[2][t][2 + s]};
        float position[3], normal[3];
        move_vertex<K, NORMALS>(job, v, palettes + m * palette_stride(joint_count), move, turn, position, normal);
        stage(job.positions, staged_positions + m * staged_size, v.place, position);
        if (NORMALS) stage(job.normals, staged_normals + m * staged_size, v.place, normal);
      }
    }
    publish_staged();
    __syncthreads();
    if (threadIdx.x < 32 && bulk_positions && first_character + lane < job.characters)
      copy_in_bulk(job.positions, staged_positions + lane * staged_size, first_character + lane, first_vertex, vertices);
    if (threadIdx.x / 32 == 1 && bulk_normals && first_character + lane < job.characters)
      copy_in_bulk(job.normals, staged_normals + lane * staged_size, first_character + lane, first_vertex, vertices);
    if (!bulk_positions) store_pass(job.positions, staged_positions, first_character, job.characters, first_vertex, vertices);
    if (NORMALS && !bulk_normals)
      store_pass(job.normals, staged_normals, first_character, job.characters, first_vertex, vertices);
  }
}

// ---- launching -------------------------------------------------------------------------------------------------------

static size_t shared_bytes(const sn_cuda_model *m, bool normals) {
  return (normals ? 2 : 1) * SN_CUDA_PASS * (size_t)staged_size +
         SN_CUDA_PASS * (size_t)palette_stride(m->octets.most_joints) * sizeof(float4);
}

bool sn_cuda_skins_in_passes(const sn_cuda_model *m, uint32_t characters) {
  return m->octets.bases && characters >= SN_CUDA_PASS && shared_bytes(m, true) <= m->most_shared;
}

// A block keeps its tile for many passes, but there are enough blocks for all multiprocessors.
static uint32_t passes_per_block(uint32_t tiles, uint32_t passes) {
  const uint64_t enough = 132 * 2 * 8, most_passes = 16;
  uint64_t per = (uint64_t)tiles * passes / enough;
  per = per < 1 ? 1 : per > most_passes ? most_passes : per;
  while ((passes + per - 1) / per > 65535) per *= 2;
  return (uint32_t)per;
}

cudaError_t sn_cuda_pass_skin(const crowd *c) {
  const sn_cuda_model *m = c->model;
  bool normals = c->output.normals.data && m->info.shade == SN_RT_SHADE_TRANSFORM, few = m->octets.influences <= 4;
  uint32_t passes = sn_cuda_blocks(c->count, SN_CUDA_PASS);
  octet_job job = {};
  job.of = m->octets, job.palette = c->matrices, job.values = c->values, job.basis_count = m->basis_count;
  job.palette_count = m->info.palette_count, job.vertex_count = m->info.vertex_count, job.characters = c->count;
  job.passes_per_block = passes_per_block(m->octets.tile_count, passes);
  job.forward = m->forward, job.limit_after = m->limit_after, job.limited = m->tiles.limits != NULL;
  sn_cuda_array positions = c->output.positions;
  if (c->positions) positions = sn_cuda_array{c->positions, SN_CUDA_FLOAT, 0, 0};
  job.positions = make_target(&positions, m->info.vertex_count);
  job.normals = make_target(&c->output.normals, m->info.vertex_count);
  void (*run)(octet_job) = few ? (normals ? pass_skin_kernel<4, true> : pass_skin_kernel<4, false>)
                               : (normals ? pass_skin_kernel<most, true> : pass_skin_kernel<most, false>);
  size_t shared = shared_bytes(m, normals);
  cudaError_t error = cudaFuncSetAttribute((const void *)run, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
  if (error != cudaSuccess) return error;
  dim3 grid(m->octets.tile_count, sn_cuda_blocks(passes, job.passes_per_block));
  run<<<grid, threads, shared, c->stream>>>(job);
  return cudaGetLastError();
}
