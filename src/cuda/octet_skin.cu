// SPDX-License-Identifier: MIT
// The blend and correct slots for a crowd (tiles.h). A warp evaluates eight vertices of 16 characters: tensor cores sum the
// displacements, and leave them in the lanes that use them. A lane has vertex lane / 4 and characters 8 t + 2 (lane % 4) and
// the next, t from 0 to 1.
#include "cuda/async.h"
#include "cuda/blend.h"
#include "cuda/product.h"

enum { most = SN_RT_MAX_INFLUENCES, threads = SN_CUDA_TILE_GROUPS * 32, characters = SN_CUDA_PASS / 2, eights = characters / 8 };

// Bytes of a character in the staging memory: padded by 16 to avoid bank conflicts between characters.
enum { staged_size = SN_CUDA_OCTET_TILE * 3 * (int)sizeof(float) + 16 };

struct octet_job : blend_job {
  const float *values; // [pass][basis][32]
  float *rows;         // [pass][vertex][3][32]: positions for recomputed normals; NULL: results go to the caller's arrays
  uint32_t first_step, steps, steps_per_block; // a step is half a pass
  bool limited;
};

// Specialised kernels for frequent jobs: corrections before the blend, and either positions and normals as floats to the caller's
// arrays, or positions to rows.
enum { any_job, arrays_job, rows_job };

struct choices {
  bool normals, to_rows, forward, late;
};

template <int JOB> static __device__ __forceinline__ choices choose(const octet_job &job) {
  const bool late = job.limited && job.limit_after;
  if (JOB == arrays_job) return choices{true, false, false, false};
  if (JOB == rows_job) return choices{false, true, false, late};
  return choices{job.normals_too, job.rows != NULL, job.forward, late};
}

// ---- displacements: D = A B --------------------------------------------------------------------------------------------

// out[c][t]: coordinate c of the lane's position for its two characters of eight t, then of its normal.
static __device__ __forceinline__ void sum_displacements(const octet_job &job, uint32_t octet, uint32_t step,
                                                         float out[3][eights][4]) {
  const uint32_t lane = threadIdx.x % 32;
  const float *values = job.values + ((size_t)(step / 2) * job.basis_count * 2 + step % 2) * characters + lane / 4;
#pragma unroll
  for (int c = 0; c < 3; c++)
#pragma unroll
    for (int t = 0; t < eights; t++)
#pragma unroll
      for (int r = 0; r < 4; r++) out[c][t][r] = 0;
  const uint32_t last = job.of.first_bases[octet + 1];
  for (uint32_t n = job.of.first_bases[octet]; n < last; n++) {
    const sn_cuda_bases *bases = job.of.bases + n;
    const float *first = values + (size_t)__ldg(bases->bases + lane % 4) * SN_CUDA_PASS;
    const float *second = values + (size_t)__ldg(bases->bases + lane % 4 + 4) * SN_CUDA_PASS;
    factor<2> b[eights];
#pragma unroll
    for (int t = 0; t < eights; t++) b[t].set(0, __ldg(first + 8 * t)), b[t].set(1, __ldg(second + 8 * t));
#pragma unroll
    for (int c = 0; c < 3; c++) {
      const float4 delta = __ldg((const float4 *)bases->deltas[c][lane]);
      factor<4> a;
      a.set(0, delta.x), a.set(1, delta.y), a.set(2, delta.z), a.set(3, delta.w);
#pragma unroll
      for (int t = 0; t < eights; t++) multiply_exactly(out[c][t], a, b[t]);
    }
  }
}

// ---- vertices --------------------------------------------------------------------------------------------------------

// The vertex of one character, displaced by d before or after the blend.
template <int K, int ROWS, bool STRETCH>
static __device__ __forceinline__ point move_vertex(const octet_job &job, const choices &is, const vertex<K> &v,
                                                    const float4 *palette, uint32_t character, point d) {
  point p;
  const float *m = d.position;
  const float share = job.limited && !is.late ? sn_rt_limit(m[0] * m[0] + m[1] * m[1] + m[2] * m[2], v.limit) : 1;
  for (int r = 0; r < 3; r++) {
    d.position[r] *= share;
    p.position[r] = v.position[r] + (is.forward || is.late ? 0 : d.position[r]);
    p.normal[r] = v.normal[r] + (is.forward ? 0 : d.normal[r]);
  }
  if (ROWS == linear_rows) {
    move_linear<K>(v, palette, is.late, d, is.normals, &p);
  } else {
    move_turned<K, ROWS, STRETCH>(job, v, palette, character, is.normals, &p);
  }
  if (ROWS != linear_rows || is.forward) add_correction(is.forward, is.normals, d, &p);
  return p;
}

// ---- the kernel ------------------------------------------------------------------------------------------------------

// Float4s from one character's palette to the next: odd, to avoid bank conflicts between characters.
static __host__ __device__ __forceinline__ uint32_t palette_stride(uint32_t rows, uint32_t joint_count) {
  return rows * joint_count | 1;
}

// Fetches the tile's palette entries of a step's characters, a warp per character; past the crowd, repeats the last character.
template <int ROWS>
static __device__ __forceinline__ void fetch_palettes(const octet_job &job, const uint16_t *joints, uint32_t joint_count,
                                                      uint32_t step, float4 *to) {
  const uint32_t stride = palette_stride(ROWS, joint_count);
  for (uint32_t m = threadIdx.x / 32; m < characters; m += threads / 32) {
    uint32_t character = min(step * characters + m, job.characters - 1);
    const float4 *from = job.palette + (size_t)character * job.palette_count * ROWS;
    for (uint32_t row = threadIdx.x % 32; row < ROWS * joint_count; row += 32)
      copy_async(to + m * stride + row, from + ROWS * (uint32_t)joints[row / ROWS] + row % ROWS);
  }
  commit_async();
}

// Stores positions of the lane's two characters of eight t to rows: a sector of eight characters per vertex.
static __device__ __forceinline__ void store_pair(const octet_job &job, uint32_t vertex, uint32_t step, int t, const point p[2],
                                                  const bool mine[2]) {
  const size_t at = ((size_t)((step - job.first_step) / 2) * job.vertex_count + vertex) * 3;
  float *to = job.rows + at * SN_CUDA_PASS + step % 2 * characters + 8 * t + 2 * (threadIdx.x % 4);
#pragma unroll
  for (int r = 0; r < 3; r++, to += SN_CUDA_PASS) {
    if (mine[0] && mine[1])
      *(float2 *)to = float2{p[0].position[r], p[1].position[r]};
    else if (mine[0] || mine[1])
      to[mine[1]] = mine[1] ? p[1].position[r] : p[0].position[r];
  }
}

template <int K, int ROWS, bool STRETCH, int JOB>
static __global__ void __launch_bounds__(threads, 4) octet_kernel(const __grid_constant__ octet_job job) {
  extern __shared__ __align__(128) char shared[];
  const choices is = choose<JOB>(job);
  const uint32_t tile = blockIdx.x, lane = threadIdx.x % 32, octet = tile * SN_CUDA_TILE_GROUPS + threadIdx.x / 32;
  const uint32_t vertices = min(job.vertex_count - tile * SN_CUDA_OCTET_TILE, (uint32_t)SN_CUDA_OCTET_TILE);
  char *staged_positions = shared, *staged_normals = shared + characters * staged_size;
  float4 *palettes = (float4 *)(shared + (is.to_rows ? 0 : is.normals ? 2 : 1) * characters * staged_size);
  const uint16_t *joints = job.of.joints + job.of.first_joint[tile];
  const uint32_t joint_count = job.of.first_joint[tile + 1] - job.of.first_joint[tile];
  const uint32_t first = job.first_step + blockIdx.y * job.steps_per_block;
  const uint32_t last = min(first + job.steps_per_block, job.first_step + job.steps);
  const uint32_t stride = palette_stride(ROWS, joint_count);
  target to_positions = job.positions, to_normals = job.normals;
  if (JOB != any_job) to_positions.size = to_normals.size = 4;
  if (!has_any<ROWS, STRETCH>(job, first * characters, last * characters)) return;
  const bool staged = always_staged<K> || job.is_staged;
  for (uint32_t step = first; step < last; step++) {
    const uint32_t first_character = step * characters;
    if (staged) fetch_palettes<ROWS>(job, joints, joint_count, step, palettes);
    float d[3][eights][4];
    sum_displacements(job, octet, step, d);
    // Reloaded in every step: registers are scarcer than cache bandwidth.
    const vertex<K> v = load_vertex<K, ROWS>(job.of, octet, lane / 4, staged, joints);
    wait_async<0>();
    wait_for_copies();
    __syncthreads();
    const uint32_t place = v.number - tile * SN_CUDA_OCTET_TILE;
    if (v.number != SN_CUDA_NO_VERTEX) {
#pragma unroll
      for (int t = 0; t < eights; t++) {
        point p[2];
        bool mine[2];
#pragma unroll
        for (int s = 0; s < 2; s++) {
          const uint32_t m = 8 * t + 2 * (lane % 4) + s, character = first_character + m;
          mine[s] = ROWS == linear_rows || is_mine<ROWS, STRETCH>(job, character);
          if (!mine[s]) continue;
          const point move = {{d[0][t][s], d[1][t][s], d[2][t][s]}, {d[0][t][2 + s], d[1][t][2 + s], d[2][t][2 + s]}};
          const float4 *palette = staged ? palettes + m * stride
                                         : job.palette + (size_t)min(character, job.characters - 1) * job.palette_count * ROWS;
          p[s] = move_vertex<K, ROWS, STRETCH>(job, is, v, palette, character, move);
          if (is.to_rows) continue;
          stage(to_positions, staged_positions + m * staged_size, place, p[s].position);
          if (is.normals) stage(to_normals, staged_normals + m * staged_size, place, p[s].normal);
        }
        if (is.to_rows) store_pair(job, v.number, step, t, p, mine);
      }
    }
    publish_staged();
    __syncthreads();
    if (is.to_rows) continue;
    const staged_tile done = {shared, staged_size, first_character, characters, tile * SN_CUDA_OCTET_TILE, vertices};
    store_tile<ROWS, STRETCH>(job, to_positions, 0, 0, done);
    if (is.normals) store_tile<ROWS, STRETCH>(job, to_normals, 1, characters * staged_size, done);
  }
}

// ---- launching -------------------------------------------------------------------------------------------------------

template <int K> static auto choose_kernel(uint32_t rows, bool stretch) {
  if (rows == dualquat_rows)
    return stretch ? octet_kernel<K, dualquat_rows, true, any_job> : octet_kernel<K, dualquat_rows, false, any_job>;
  if (rows == centre_rows)
    return stretch ? octet_kernel<K, centre_rows, true, any_job> : octet_kernel<K, centre_rows, false, any_job>;
  return octet_kernel<K, linear_rows, false, any_job>;
}

// Specialised kernels for frequent jobs; NULL: none for this job.
static auto choose_frequent(const octet_job &job, bool stretch) -> void (*)(octet_job) {
  const uint32_t rows = job.rows_of_entry;
  if (job.forward || stretch) return NULL;
  if (job.rows) return rows == linear_rows ? octet_kernel<4, linear_rows, false, rows_job> : NULL;
  if ((job.limited && job.limit_after) || !job.normals_too || job.positions.size != 4 || job.normals.size != 4) return NULL;
  if (rows == dualquat_rows) return octet_kernel<4, dualquat_rows, false, arrays_job>;
  return rows == linear_rows ? octet_kernel<4, linear_rows, false, arrays_job> : NULL;
}

cudaError_t sn_cuda_octet_skin(const crowd *c, uint32_t first_pass, uint32_t passes, float *rows) {
  const sn_cuda_model *m = c->model;
  octet_job job = {make_blend_job(c)};
  job.values = c->values, job.limited = m->limited, job.rows = rows;
  job.first_step = 2 * first_pass, job.steps = min(2 * passes, sn_cuda_blocks(c->count, characters) - job.first_step);
  job.steps_per_block = spread(m->tiles.tile_count, job.steps, 132 * 4 * 8, 32);
  const size_t staging = (rows ? 0 : job.normals_too ? 2 : 1) * characters * (size_t)staged_size;
  const size_t palettes = characters * (size_t)palette_stride(job.rows_of_entry, m->tiles.most_joints) * sizeof(float4);
  job.is_staged = staging + palettes <= m->most_shared;
  const size_t shared = staging + (job.is_staged ? palettes : 0);
  const dim3 grid(m->tiles.tile_count, sn_cuda_blocks(job.steps, job.steps_per_block));
  const bool few = m->tiles.influences <= 4 && job.is_staged;
  for (int stretch = 0; stretch <= (job.turned ? 1 : 0); stretch++) {
    auto run = few ? choose_frequent(job, stretch) : NULL;
    if (!run) run = few ? choose_kernel<4>(job.rows_of_entry, stretch) : choose_kernel<most>(job.rows_of_entry, stretch);
    cudaError_t error = cudaFuncSetAttribute((const void *)run, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
    if (error != cudaSuccess) return error;
    run<<<grid, threads, shared, c->stream>>>(job);
  }
  return cudaGetLastError();
}
