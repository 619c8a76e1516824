// SPDX-License-Identifier: MIT
// Normals from the deformed triangles around a vertex (Wang 2007, section 6) for large crowds: lanes are characters (passes.h). A
// tile and the vertices around it come into shared memory, a row for each coordinate of a vertex and in it the characters; a warp
// walks round one vertex after the other, and reads its neighbours without conflicts.
#include "cuda/async.h"
#include "cuda/store.h"
#include "runtime/vertex.h"

// Floats of a row: one of each lane, and one more, so that a column, too, lies in 32 banks.
enum { pass_row = SN_CUDA_PASS + 1, vertex_row = 3 * pass_row };
enum { threads = 512, warps = threads / 32, own_vertices = SN_CUDA_FAN_TILE / warps, tile_floats = 3 * SN_CUDA_FAN_TILE };

struct pass_job {
  sn_cuda_passes of;
  uint32_t vertex_count, characters, passes_per_block;
  const char *positions;
  size_t stride, pitch;
  target normals, copies; // copies: positions once more, in half precision; data NULL: none
};

// ---- a tile's rows ---------------------------------------------------------------------------------------------------

// All of a tile's numbers are on their way at once: memory is far, and little else is there to do meanwhile.
// A tile and its halo, character by character. Those beyond the crowd are the last one's. `halo` are places of single numbers.
static __device__ __forceinline__ void fetch_rows(const pass_job &job, uint32_t pass, uint32_t first, uint32_t vertices,
                                                  const uint32_t *halo, uint32_t halo_floats, float *rows) {
  const uint32_t lane = threadIdx.x % 32, step = (uint32_t)(job.stride / sizeof(float));
  for (uint32_t m = threadIdx.x / 32; m < SN_CUDA_PASS; m += warps) {
    uint32_t character = min(pass * SN_CUDA_PASS + m, job.characters - 1);
    const float *from = (const float *)(job.positions + character * job.pitch);
    float *to = rows + lane * pass_row + m;
    if (step == 3 && vertices == SN_CUDA_FAN_TILE) {
      const float *at = from + 3 * (size_t)first + lane;
#pragma unroll
      for (uint32_t n = 0; n < tile_floats; n += 32) copy_async(to + n * pass_row, at + n);
    } else {
      for (uint32_t n = lane; n < 3 * vertices; n += 32)
        copy_async(rows + n * pass_row + m, from + (size_t)(first + n / 3) * step + n % 3);
    }
    to += tile_floats * pass_row;
#pragma unroll 4
    for (uint32_t n = lane; n < halo_floats; n += 32, to += 32 * pass_row) copy_async(to, from + halo[n]);
  }
  commit_async();
  wait_async<0>();
}

static __device__ __forceinline__ void store_number(const target &t, char *character, uint32_t n, float value) {
  char *at = character + (size_t)(n / 3) * t.stride + n % 3 * t.size;
  if (t.size == 4)
    *(float *)at = value;
  else
    *(__half *)at = __float2half_rn(value);
}

// The tile's rows to the caller's array: a warp writes a character's stretch.
static __device__ __forceinline__ void store_rows(const target &t, const float *rows, uint32_t first_character, uint32_t characters,
                                                  uint32_t first_vertex, uint32_t vertices) {
  const uint32_t lane = threadIdx.x % 32;
  const bool tight = t.size == 4 && t.stride == 12 && vertices == SN_CUDA_FAN_TILE;
  for (uint32_t m = threadIdx.x / 32; m < SN_CUDA_PASS && first_character + m < characters; m += warps) {
    char *to = t.data + (size_t)(first_character + m) * t.pitch + (size_t)first_vertex * t.stride;
    if (tight) {
      const float *from = rows + lane * pass_row + m;
#pragma unroll
      for (uint32_t n = 0; n < tile_floats; n += 32) ((float *)to)[n + lane] = from[n * pass_row];
    } else {
      for (uint32_t n = lane; n < 3 * vertices; n += 32) store_number(t, to, n, rows[n * pass_row + m]);
    }
  }
}

// ---- a vertex of 32 characters ---------------------------------------------------------------------------------------

struct point {
  float x, y, z;
};

static __device__ __forceinline__ point at_number(const float *rows, uint32_t number) {
  const float *at = rows + number * vertex_row;
  return point{at[0], at[pass_row], at[2 * pass_row]};
}

static __device__ __forceinline__ point minus(point a, point b) { return point{a.x - b.x, a.y - b.y, a.z - b.z}; }

// The sum of (v_m - p) x (v_m+1 - p) over the closed row of neighbours v, two triangles at a time:
// (u - p) x (v - p) + (v - p) x (w - p) = (v - p) x (w - u).
static __device__ __forceinline__ void fan_sum(const float *rows, const uint32_t *steps, uint32_t count, point p, point u,
                                               float sum[3]) {
#pragma unroll 3
  for (uint32_t s = 0; s < count; s++) {
    uint32_t pair = __ldg(steps + s);
    point w = at_number(rows, pair >> 16), a = minus(at_number(rows, pair & 0xffff), p), b = minus(w, u);
    sum[0] += a.y * b.z - a.z * b.y, sum[1] += a.z * b.x - a.x * b.z, sum[2] += a.x * b.y - a.y * b.x;
    u = w;
  }
}

// Unit length; (0, 0, 1) where there is no area. Then the rest file's own normal in place of the computed one.
static __device__ __forceinline__ void make_normal(const pass_job &job, const float *rows, uint32_t vertex, float n[3]) {
  uint32_t first = __ldg(job.of.first_step + vertex), last = __ldg(job.of.first_step + vertex + 1);
  n[0] = n[1] = n[2] = 0;
  point p = at_number(rows, vertex % SN_CUDA_FAN_TILE), u = p;
  if (first < last) u = at_number(rows, __ldg(job.of.steps + first)), first++;
  fan_sum(rows, job.of.steps + first, last - first, p, u, n);
  float missing = 1 - (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]) * (1 / SN_RT_NO_AREA);
  sn_rt_normalise(n);
  if (missing > 0) n[2] += missing;
  if (!job.of.own || first >= last) return;
  float4 from = __ldg((const float4 *)job.of.own + vertex);
  const float own[3] = {from.x, from.y, from.z}, edge[3] = {u.x - p.x, u.y - p.y, u.z - p.z};
  sn_rt_bend(own, edge, n);
}

static __global__ void __launch_bounds__(threads, 2) pass_shade_kernel(const __grid_constant__ pass_job job) {
  extern __shared__ __align__(128) float rows[];
  const uint32_t tile = blockIdx.x, lane = threadIdx.x % 32, first_vertex = tile * SN_CUDA_FAN_TILE;
  const uint32_t vertices = min(job.vertex_count - first_vertex, (uint32_t)SN_CUDA_FAN_TILE);
  const uint32_t halo_floats = 3 * (job.of.first_halo[tile + 1] - job.of.first_halo[tile]);
  uint32_t *halo = (uint32_t *)(rows + (SN_CUDA_FAN_TILE + job.of.most_halo) * vertex_row);
  const uint32_t first = blockIdx.y * job.passes_per_block, passes = (job.characters + SN_CUDA_PASS - 1) / SN_CUDA_PASS;
  const uint32_t last = min(first + job.passes_per_block, passes), own = threadIdx.x / 32 * own_vertices;
  for (uint32_t n = threadIdx.x; n < halo_floats; n += threads)
    halo[n] = job.of.halo[job.of.first_halo[tile] + n / 3] * (uint32_t)(job.stride / sizeof(float)) + n % 3;
  for (uint32_t pass = first; pass < last; pass++) {
    __syncthreads();
    fetch_rows(job, pass, first_vertex, vertices, halo, halo_floats, rows);
    __syncthreads();
    if (job.copies.data) store_rows(job.copies, rows, pass * SN_CUDA_PASS, job.characters, first_vertex, vertices);
    float normals[own_vertices][3];
#pragma unroll
    for (int v = 0; v < own_vertices; v++)
      if (own + v < vertices) make_normal(job, rows + lane, first_vertex + own + v, normals[v]);
    __syncthreads();
#pragma unroll
    for (int v = 0; v < own_vertices; v++) { // where the positions were
      float *to = rows + (own + v) * vertex_row + lane;
      to[0] = normals[v][0], to[pass_row] = normals[v][1], to[2 * pass_row] = normals[v][2];
    }
    __syncthreads();
    store_rows(job.normals, rows, pass * SN_CUDA_PASS, job.characters, first_vertex, vertices);
  }
}

// ---- launching -------------------------------------------------------------------------------------------------------

static size_t shared_bytes(const sn_cuda_model *m) {
  return sizeof(float) * ((SN_CUDA_FAN_TILE + (size_t)m->passes.most_halo) * vertex_row + 3 * (size_t)m->passes.most_halo);
}

bool sn_cuda_shades_in_passes(const sn_cuda_model *m, uint32_t characters) {
  return m->passes.steps && characters >= SN_CUDA_PASS && shared_bytes(m) <= m->most_shared;
}

cudaError_t sn_cuda_pass_shade(const crowd *c) {
  const sn_cuda_model *m = c->model;
  pass_job job = {};
  job.of = m->passes, job.vertex_count = m->info.vertex_count, job.characters = c->count;
  job.normals = make_target(&c->output.normals, job.vertex_count);
  target from = positions_to_read(c, &job.copies);
  job.positions = from.data, job.stride = from.stride, job.pitch = from.pitch;
  uint32_t passes = sn_cuda_blocks(c->count, SN_CUDA_PASS);
  job.passes_per_block = 4;
  while (sn_cuda_blocks(passes, job.passes_per_block) > 65535) job.passes_per_block *= 2;
  size_t shared = shared_bytes(m);
  cudaError_t error = cudaFuncSetAttribute((const void *)pass_shade_kernel,
                                           cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
  if (error != cudaSuccess) return error;
  dim3 grid(m->passes.tile_count, sn_cuda_blocks(passes, job.passes_per_block));
  pass_shade_kernel<<<grid, threads, shared, c->stream>>>(job);
  return cudaGetLastError();
}
