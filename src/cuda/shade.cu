// SPDX-License-Identifier: MIT
// Normals from the deformed triangles around a vertex (Wang 2007, section 6) for a crowd. A tile and the vertices around it
// come into shared memory, where every vertex walks round its neighbours.
#include "cuda/store.h"
#include "runtime/vertex.h"

enum { batch = 2, most_tiled_vertices = 2048 };

struct shade_job {
  sn_cuda_tiles tiles;
  uint32_t vertex_count, characters, characters_per_block;
  const char *positions;
  size_t stride, pitch;
  target normals, copies; // copies: positions once more, in half precision; data NULL: none
};

struct point {
  float x, y, z;
};

static __device__ __forceinline__ point load_position(const shade_job &job, uint32_t character, uint32_t vertex) {
  const float *at = (const float *)(job.positions + character * job.pitch + vertex * job.stride);
  return point{at[0], at[1], at[2]};
}

static __device__ __forceinline__ point minus(point a, point b) { return point{a.x - b.x, a.y - b.y, a.z - b.z}; }

static __device__ __forceinline__ void add_cross(float sum[3], point a, point b) {
  sum[0] += a.y * b.z - a.z * b.y, sum[1] += a.z * b.x - a.x * b.z, sum[2] += a.x * b.y - a.y * b.x;
}

// Where a tile's vertices and their neighbours are: in shared memory, or in the caller's array.
template <bool TILED> struct neighbourhood {
  const shade_job *job;
  const float *local; // TILED: x of all, then y, then z
  uint32_t room;
  uint32_t character, tile;
  __device__ __forceinline__ point at(uint32_t number) const {
    if (TILED) return point{local[number], local[number + room], local[number + 2 * room]};
    uint32_t vertex = number < SN_CUDA_TILE
                        ? tile * SN_CUDA_TILE + number
                        : job->tiles.halo[job->tiles.first_halo[tile] + number - SN_CUDA_TILE];
    return load_position(*job, character, vertex);
  }
};

// The sum of (v_m - p) x (v_m+1 - p) over the closed row of neighbours v, two triangles at a time:
// (u - p) x (v - p) + (v - p) x (w - p) = (v - p) x (w - u).
template <bool TILED>
static __device__ __forceinline__ void fan_sums(const neighbourhood<TILED> of[batch], const uint16_t *steps, uint32_t count,
                                                uint32_t own, float sums[batch][3]) {
  point p[batch], first[batch], u[batch];
#pragma unroll
  for (int m = 0; m < batch; m++) {
    p[m] = of[m].at(own), first[m] = u[m] = of[m].at(count ? steps[0] : own);
    sums[m][0] = sums[m][1] = sums[m][2] = 0;
  }
  for (uint32_t s = 0; s < count; s += 2) {
    uint32_t middle = steps[min(s + 1, count - 1) * SN_CUDA_WARP];
    bool ends = s + 2 >= count;
    uint32_t next = ends ? 0 : steps[(s + 2) * SN_CUDA_WARP];
#pragma unroll
    for (int m = 0; m < batch; m++) {
      point w = ends ? first[m] : of[m].at(next);
      add_cross(sums[m], minus(of[m].at(middle), p[m]), minus(w, u[m]));
      u[m] = w;
    }
  }
}

// Unit length; (0, 0, 1) where there is no area.
static __device__ __forceinline__ void finish_normal(float n[3]) {
  float missing = 1 - (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]) * (1 / SN_RT_NO_AREA);
  sn_rt_normalise(n);
  if (missing > 0) n[2] += missing;
}

// The rest file's own normal in place of the computed one.
template <bool TILED>
static __device__ __forceinline__ void bend(const neighbourhood<TILED> &of, uint32_t neighbour, uint32_t number,
                                            const float *from, float n[3]) {
  point e = minus(of.at(neighbour), of.at(number));
  const float edge[3] = {e.x, e.y, e.z}, own[3] = {from[0], from[SN_CUDA_TILE], from[2 * SN_CUDA_TILE]};
  sn_rt_bend(own, edge, n);
}

// A tile and its halo into shared memory. The tile is one stretch where the array is tight.
static __device__ __forceinline__ void fetch_positions(const shade_job &job, uint32_t character, uint32_t first,
                                                       uint32_t count, const uint32_t *halo, uint32_t halo_count,
                                                       uint32_t room, float *to) {
  if (job.stride == 12) {
    const float *from = (const float *)(job.positions + character * job.pitch) + 3 * (size_t)first;
    for (uint32_t n = threadIdx.x; n < 3 * count; n += SN_CUDA_TILE) to[n % 3 * room + n / 3] = from[n];
  } else if (threadIdx.x < count) {
    point p = load_position(job, character, first + threadIdx.x);
    to[threadIdx.x] = p.x, to[room + threadIdx.x] = p.y, to[2 * room + threadIdx.x] = p.z;
  }
  for (uint32_t h = threadIdx.x; h < halo_count; h += SN_CUDA_TILE) {
    point p = load_position(job, character, halo[h]);
    float *at = to + SN_CUDA_TILE + h;
    at[0] = p.x, at[room] = p.y, at[2 * room] = p.z;
  }
}

template <bool TILED>
static __global__ void __launch_bounds__(SN_CUDA_TILE) shade_kernel(const __grid_constant__ shade_job job) {
  extern __shared__ __align__(128) char shared[];
  const uint32_t tile = blockIdx.x, i = threadIdx.x, first_vertex = tile * SN_CUDA_TILE;
  const uint32_t vertices = min(job.vertex_count - first_vertex, (uint32_t)SN_CUDA_TILE);
  const uint32_t staged_size = SN_CUDA_TILE * 3 * sizeof(float);
  char *staged_normals = shared, *staged_copies = shared + batch * staged_size;
  float *local = (float *)(shared + (job.copies.data ? 2 : 1) * batch * staged_size);
  const uint32_t *halo = job.tiles.halo + job.tiles.first_halo[tile];
  const uint32_t halo_count = job.tiles.first_halo[tile + 1] - job.tiles.first_halo[tile];
  const uint32_t room = (SN_CUDA_TILE + job.tiles.most_halo) | 1, // odd: x, y and z of a vertex lie in three banks
                  warp = tile * SN_CUDA_WARPS + i / SN_CUDA_WARP;
  const uint16_t *steps = job.tiles.steps + (size_t)job.tiles.first_step[warp] * SN_CUDA_WARP + i % SN_CUDA_WARP;
  const uint32_t count = job.tiles.first_step[warp + 1] - job.tiles.first_step[warp];
  const uint32_t own = job.tiles.fan_places[(size_t)tile * SN_CUDA_TILE + i];
  const uint32_t first = blockIdx.y * job.characters_per_block;
  const uint32_t last = min(first + job.characters_per_block, job.characters);
  const bool bulk = copies_in_bulk(job.normals, vertices);

  for (uint32_t character = first; character < last; character += batch) {
    wait_for_copies();
    __syncthreads();
    neighbourhood<TILED> of[batch];
#pragma unroll
    for (int m = 0; m < batch; m++) {
      float *here = local + m * 3 * room;
      of[m].job = &job, of[m].local = here, of[m].room = room, of[m].tile = tile;
      of[m].character = min(character + m, last - 1);
      if (TILED) fetch_positions(job, of[m].character, first_vertex, vertices, halo, halo_count, room, here);
    }
    if (TILED) __syncthreads();
    float sums[batch][3];
    if (own < vertices) {
      fan_sums<TILED>(of, steps, count, own, sums);
#pragma unroll
      for (int m = 0; m < batch; m++) {
        finish_normal(sums[m]);
        if (job.tiles.own && count) bend<TILED>(of[m], steps[0], own, job.tiles.own + tile * 3 * SN_CUDA_TILE + i, sums[m]);
        stage(job.normals, staged_normals + m * staged_size, own, sums[m]);
        if (job.copies.data) {
          point p = of[m].at(own);
          const float position[3] = {p.x, p.y, p.z};
          stage(job.copies, staged_copies + m * staged_size, own, position);
        }
      }
    }
    publish_staged();
    __syncthreads();
    if (i < batch && bulk && character + i < last)
      copy_in_bulk(job.normals, staged_normals + i * staged_size, character + i, first_vertex, vertices);
    for (uint32_t m = 0; m < batch && character + m < last; m++) {
      if (!bulk) copy_by_threads(job.normals, staged_normals + m * staged_size, character + m, first_vertex, vertices);
      if (job.copies.data)
        copy_by_threads(job.copies, staged_copies + m * staged_size, character + m, first_vertex, vertices);
    }
  }
}

cudaError_t sn_cuda_shade(const crowd *c) {
  const sn_cuda_model *model = c->model;
  if (model->info.shade != SN_RT_SHADE_RECOMPUTE || !c->output.normals.data) return cudaSuccess;
  if (sn_cuda_shades_in_passes(model, c->count)) return sn_cuda_pass_shade(c);
  shade_job job = {};
  job.tiles = model->tiles, job.vertex_count = model->info.vertex_count, job.characters = c->count;
  job.normals = make_target(&c->output.normals, job.vertex_count);
  target from = positions_to_read(c, &job.copies);
  job.positions = from.data, job.stride = from.stride, job.pitch = from.pitch;
  job.characters_per_block = 32;
  while (sn_cuda_blocks(c->count, job.characters_per_block) > 65535) job.characters_per_block *= 2;
  bool tiled = SN_CUDA_TILE + model->tiles.most_halo <= most_tiled_vertices;
  size_t staging = (job.copies.data ? 2 : 1) * batch * SN_CUDA_TILE * 3 * sizeof(float);
  size_t shared = staging + (tiled ? batch * 3 * ((SN_CUDA_TILE + model->tiles.most_halo) | 1) * sizeof(float) : 0);
  void (*run)(shade_job) = tiled ? shade_kernel<true> : shade_kernel<false>;
  cudaError_t error = cudaFuncSetAttribute((const void *)run, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
  if (error != cudaSuccess) return error;
  dim3 grid(model->tiles.tile_count, sn_cuda_blocks(c->count, job.characters_per_block));
  run<<<grid, SN_CUDA_TILE, shared, c->stream>>>(job);
  return cudaGetLastError();
}
