// SPDX-License-Identifier: MIT
// The blend slot for a crowd without corrections (tiles.h, groups of a warp). A block of threads holds one tile of vertices in
// registers and iterates over characters, a few at a time: their palette entries are copied to shared memory, their results are
// written from there as contiguous parts of the output. Every byte of the output is written once; of the input, only palettes
// are read again for every tile.
#include "cuda/async.h"
#include "cuda/blend.h"

enum { most = SN_RT_MAX_INFLUENCES, batch = 4, threads = SN_CUDA_WARP_TILE, most_staged_bytes = 96 * 1024 };

struct skin_job : blend_job {
  uint32_t characters_per_block;
};

// ---- palettes: from device memory into shared memory ----------------------------------------------------------------------

// A thread's part of fetching a batch of characters: its first float4, computed once because divisions are slow.
struct errand {
  uint32_t m, offset; // character of the batch; float4s from the beginning of its palette
};

// A tile's entries.
struct tile_joints {
  const uint16_t *joints;
  uint32_t count;
};

template <int ROWS> static __device__ __forceinline__ errand plan_errand(const tile_joints &of, uint32_t n) {
  uint32_t each = of.count * ROWS, row = n % each;
  return errand{n / each, (uint32_t)of.joints[row / ROWS] * ROWS + row % ROWS};
}

// Fetches the tile's palette entries of the characters from `first` on; past the crowd, repeats the last character.
template <int ROWS>
static __device__ __forceinline__ void fetch_palettes(const skin_job &job, const tile_joints &of, uint32_t first, errand e,
                                                      float4 *to) {
  for (uint32_t n = threadIdx.x; n < batch * of.count * ROWS; n += threads) {
    if (n != threadIdx.x) e = plan_errand<ROWS>(of, n);
    uint32_t character = min(first + e.m, job.characters - 1);
    copy_async(to + n, job.palette + (size_t)character * job.palette_count * ROWS + e.offset);
  }
  commit_async();
}

// ---- the kernel ------------------------------------------------------------------------------------------------------------

// FLOATS: positions and normals as floats, the most frequent case.
template <int K, int ROWS, bool STRETCH, bool FLOATS>
static __global__ void __launch_bounds__(threads) skin_kernel(const __grid_constant__ skin_job job) {
  extern __shared__ __align__(128) char shared[];
  const uint32_t tile = blockIdx.x, first_vertex = tile * threads, staged_size = threads * 3 * sizeof(float);
  const uint32_t vertices = min(job.vertex_count - first_vertex, (uint32_t)threads);
  const bool normals = FLOATS || job.normals_too, staged = always_staged<K> || job.is_staged;
  char *staged_positions = shared, *staged_normals = shared + batch * staged_size;
  float4 *palettes = (float4 *)(shared + (normals ? 2 : 1) * batch * staged_size);
  const tile_joints of = {job.of.joints + job.of.first_joint[tile], job.of.first_joint[tile + 1] - job.of.first_joint[tile]};
  const uint32_t buffer = batch * job.of.most_joints * ROWS, first = blockIdx.y * job.characters_per_block;
  const uint32_t last = min(first + job.characters_per_block, job.characters);
  target to_positions = job.positions, to_normals = job.normals;
  if (FLOATS) to_positions.size = to_normals.size = 4;

  if (!has_any<ROWS, STRETCH>(job, first, last)) return;
  const errand mine_to_fetch = plan_errand<ROWS>(of, threadIdx.x);
  if (staged) fetch_palettes<ROWS>(job, of, first, mine_to_fetch, palettes);
  const uint32_t warp = tile * SN_CUDA_TILE_GROUPS + threadIdx.x / 32;
  const vertex<K> v = load_vertex<K, ROWS>(job.of, warp, threadIdx.x % 32, staged, of.joints);

  for (uint32_t character = first, side = 0; character < last; character += batch, side ^= 1) {
    if (staged && character + batch < last)
      fetch_palettes<ROWS>(job, of, character + batch, mine_to_fetch, palettes + (side ^ 1) * buffer);
    else
      commit_async();
    wait_async<1>();
    wait_for_copies();
    __syncthreads();
    if (v.number != SN_CUDA_NO_VERTEX) {
#pragma unroll
      for (uint32_t m = 0; m < batch; m++) {
        if (character + m >= last) break;
        if (!is_mine<ROWS, STRETCH>(job, character + m)) continue;
        const float4 *palette = staged ? palettes + side * buffer + m * of.count * ROWS
                                       : job.palette + (size_t)(character + m) * job.palette_count * ROWS;
        point p = {{v.position[0], v.position[1], v.position[2]}, {v.normal[0], v.normal[1], v.normal[2]}};
        if (ROWS == linear_rows)
          move_linear<K>(v, palette, false, p, normals, &p);
        else
          move_turned<K, ROWS, STRETCH>(job, v, palette, character + m, normals, &p);
        stage(to_positions, staged_positions + m * staged_size, v.number - first_vertex, p.position);
        if (normals) stage(to_normals, staged_normals + m * staged_size, v.number - first_vertex, p.normal);
      }
    }
    publish_staged();
    __syncthreads();
    const staged_tile done = {shared, staged_size, character, batch, first_vertex, vertices};
    store_tile<ROWS, STRETCH>(job, to_positions, 0, 0, done);
    if (normals) store_tile<ROWS, STRETCH>(job, to_normals, 1, batch * staged_size, done);
  }
}

// ---- launching -------------------------------------------------------------------------------------------------------------

template <int K> static auto choose_kernel(uint32_t rows, bool stretch) {
  if (rows == dualquat_rows)
    return stretch ? skin_kernel<K, dualquat_rows, true, false> : skin_kernel<K, dualquat_rows, false, false>;
  if (rows == centre_rows)
    return stretch ? skin_kernel<K, centre_rows, true, false> : skin_kernel<K, centre_rows, false, false>;
  return skin_kernel<K, linear_rows, false, false>;
}

// Specialised kernels for frequent jobs; NULL: none for this job.
static auto choose_frequent(const skin_job &job, bool stretch) -> void (*)(skin_job) {
  if (stretch || !job.normals_too || job.positions.size != 4 || job.normals.size != 4) return NULL;
  if (job.rows_of_entry == dualquat_rows) return skin_kernel<4, dualquat_rows, false, true>;
  return job.rows_of_entry == linear_rows ? skin_kernel<4, linear_rows, false, true> : NULL;
}

cudaError_t sn_cuda_skin(const crowd *c) {
  const sn_cuda_model *m = c->model;
  if (m->tiles.group == SN_CUDA_OCTET) return sn_cuda_octet_skin(c, 0, sn_cuda_blocks(c->count, SN_CUDA_PASS), NULL);
  skin_job job = {make_blend_job(c)};
  job.characters_per_block = batch * spread(m->tiles.tile_count, sn_cuda_blocks(c->count, batch), 132 * 8 * 4, 128 / batch);
  const size_t staging = (job.normals_too ? 2 : 1) * batch * threads * 3 * sizeof(float);
  const size_t palettes = 2ull * batch * m->tiles.most_joints * job.rows_of_entry * sizeof(float4);
  job.is_staged = staging + palettes <= most_staged_bytes;
  const size_t shared = staging + (job.is_staged ? palettes : 0);
  const dim3 grid(m->tiles.tile_count, sn_cuda_blocks(c->count, job.characters_per_block));
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
