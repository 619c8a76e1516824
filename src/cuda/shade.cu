// SPDX-License-Identifier: MIT
// Normals from the deformed triangles around a vertex (Wang 2007, section 6) for a crowd. A lane is a character: the skinning
// kernel has written positions as rows of 32 characters. A tile and its halo (fans.h) are copied to shared memory, a warp
// computes one vertex after the other, and positions and normals are written to the caller's arrays.
#include "cuda/async.h"
#include "cuda/store.h"
#include "cuda/vertex.h"

enum { tile_size = SN_CUDA_FAN_TILE, tile_floats = 3 * tile_size };
enum { threads = 512, warps = threads / 32, own_vertices = tile_size / warps };
// Floats of a vertex and of one of its coordinates in shared memory; a coordinate's parts of 16 bytes.
enum { vertex_row = SN_CUDA_FAN_BYTES / 4, row_size = vertex_row / 3, parts = SN_CUDA_PASS / 4 };

struct shade_job {
  sn_cuda_fans fans;
  uint32_t characters, first_pass;
  const float *rows; // [pass from first_pass on][vertex][3][32]
  target positions, normals;
};

struct point {
  float x, y, z;
};

static __device__ __forceinline__ point minus(point a, point b) { return point{a.x - b.x, a.y - b.y, a.z - b.z}; }

// Location of a tile's vertices and their neighbours: shared memory, or the rows in device memory.
template <bool TILED> struct neighbourhood {
  const float *rows; // the lane's
  const uint32_t *halo;
  uint32_t first;
  __device__ __forceinline__ point at(uint32_t place) const {
    const int row = TILED ? (int)row_size : (int)SN_CUDA_PASS;
    const uint32_t number = place / SN_CUDA_FAN_BYTES;
    const float *p = TILED ? (const float *)((const char *)rows + place)
                           : rows + (size_t)(number < tile_size ? first + number : halo[number - tile_size]) * 3 * SN_CUDA_PASS;
    return point{p[0], p[row], p[2 * row]};
  }
};

// Fetches the tile and its halo, a warp per vertex.
static __device__ __forceinline__ void fetch_rows(const float *from, uint32_t first, uint32_t vertices, const uint32_t *halo,
                                                  uint32_t halo_count, float *to) {
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const float4 *own = (const float4 *)from + lane, *at = own + (size_t)(first + warp) * 3 * parts;
  float4 *place = (float4 *)(to + warp * vertex_row + lane / parts * row_size) + lane % parts;
  if (lane < 3 * parts) {
#pragma unroll
    for (uint32_t n = 0; n < own_vertices; n++, place += warps * (vertex_row / 4))
      if (warp + n * warps < vertices) copy_async(place, at + n * warps * 3 * parts);
#pragma unroll 4
    for (uint32_t n = warp; n < halo_count; n += warps, place += warps * (vertex_row / 4))
      copy_async(place, own + (size_t)__ldg(halo + n) * 3 * parts);
  }
  commit_async();
  wait_async<0>();
}

// Adds (v - p) x (w - u), two triangles: (u - p) x (v - p) + (v - p) x (w - p).
static __device__ __forceinline__ void add_triangles(point p, point u, point v, point w, float n[3]) {
  const point a = minus(v, p), b = minus(w, u);
  n[0] = fmaf(-a.z, b.y, fmaf(a.y, b.z, n[0]));
  n[1] = fmaf(-a.x, b.z, fmaf(a.z, b.x, n[1]));
  n[2] = fmaf(-a.y, b.x, fmaf(a.x, b.y, n[2]));
}

// The sum of (v_m - p) x (v_m+1 - p) over the closed row of neighbours v. Normalised; (0, 0, 1) if there is no area.
// Finally converts the computed normal to the rest file's.
template <bool TILED>
static __device__ __forceinline__ void make_normal(const shade_job &job, const neighbourhood<TILED> &of, uint32_t vertex,
                                                   float n[3]) {
  const uint32_t first = __ldg(job.fans.first_group + vertex), last = __ldg(job.fans.first_group + vertex + 1);
  const uint32_t own_place = vertex % tile_size * SN_CUDA_FAN_BYTES;
  const uint32_t closing = __ldg(job.fans.groups[last - 1] + SN_CUDA_FAN_GROUP - 1);
  const point p = of.at(own_place), start = of.at(closing);
  point u = start;
  n[0] = n[1] = n[2] = 0;
  for (uint32_t g = first; g < last; g++) {
    const uint4 near = __ldg((const uint4 *)job.fans.groups[g]), far = __ldg((const uint4 *)job.fans.groups[g] + 1);
    const point a = of.at(near.y), b = of.at(near.w);
    add_triangles(p, u, of.at(near.x), a, n), add_triangles(p, a, of.at(near.z), b, n);
    if (far.y == near.w) break; // the rest are repeated
    u = of.at(far.y);
    add_triangles(p, b, of.at(far.x), u, n);
    if (far.w == far.y) break;
    const point c = of.at(far.w);
    add_triangles(p, u, of.at(far.z), c, n);
    u = c;
  }
  float missing = 1 - (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]) * (1 / SN_RT_NO_AREA);
  sn_rt_normalise(n);
  if (missing > 0) n[2] += missing;
  if (!job.fans.own || closing == own_place) return;
  float4 from = __ldg((const float4 *)job.fans.own + vertex);
  const float own[3] = {from.x, from.y, from.z}, edge[3] = {start.x - p.x, start.y - p.y, start.z - p.z};
  sn_rt_bend(own, edge, n);
}

// Copies the tile's rows to the caller's array: a lane has four characters of one number.
template <bool TIGHT>
static __device__ __forceinline__ void store_rows(const target &t, const float *rows, uint32_t first_character, uint32_t characters,
                                                  uint32_t first_vertex, uint32_t vertices) {
  char *tile = t.data + (size_t)first_vertex * t.stride;
#pragma unroll
  for (uint32_t k = 0; k < tile_floats / 32 * parts / warps; k++) {
    const uint32_t unit = threadIdx.x / 32 + k * warps, row = unit % (tile_floats / 32) * 32 + threadIdx.x % 32;
    const uint32_t part = unit / (tile_floats / 32), first = first_character + 4 * part;
    if (!TIGHT && (row >= 3 * vertices || first >= characters)) continue;
    const float4 from = *(const float4 *)(rows + row * row_size + 4 * part);
    const float of[4] = {from.x, from.y, from.z, from.w};
    char *to = tile + (size_t)first * t.pitch + (TIGHT ? 4 * row : row / 3 * t.stride + row % 3 * t.size);
#pragma unroll
    for (uint32_t n = 0; n < 4; n++, to += t.pitch) {
      if (TIGHT || (first + n < characters && t.size == 4))
        *(float *)to = of[n];
      else if (first + n < characters)
        *(__half *)to = __float2half_rn(of[n]);
    }
  }
}

static __device__ __forceinline__ void store_any(const target &t, const float *rows, uint32_t first_character, uint32_t characters,
                                                 uint32_t first_vertex, uint32_t vertices) {
  if (t.size == 4 && t.stride == 12 && vertices == tile_size && first_character + SN_CUDA_PASS <= characters)
    store_rows<true>(t, rows, first_character, characters, first_vertex, vertices);
  else
    store_rows<false>(t, rows, first_character, characters, first_vertex, vertices);
}

template <bool TILED>
static __global__ void __launch_bounds__(threads, 2) shade_kernel(const __grid_constant__ shade_job job) {
  extern __shared__ __align__(128) float rows[];
  const uint32_t tile = blockIdx.x, lane = threadIdx.x % 32, own = threadIdx.x / 32 * own_vertices, first = tile * tile_size;
  const uint32_t vertices = min(job.fans.vertex_count - first, (uint32_t)tile_size);
  const uint32_t *halo = job.fans.halo + job.fans.first_halo[tile];
  const float *from = job.rows + (size_t)blockIdx.y * job.fans.vertex_count * 3 * SN_CUDA_PASS;
  const uint32_t first_character = (job.first_pass + blockIdx.y) * SN_CUDA_PASS;
  fetch_rows(from, first, vertices, halo, TILED ? job.fans.first_halo[tile + 1] - job.fans.first_halo[tile] : 0, rows);
  __syncthreads();
  store_any(job.positions, rows, first_character, job.characters, first, vertices);
  const neighbourhood<TILED> of = {(TILED ? rows : from) + lane, halo, first};
  float normals[own_vertices][3];
#pragma unroll
  for (int v = 0; v < own_vertices; v++)
    if (own + v < vertices) make_normal<TILED>(job, of, first + own + v, normals[v]);
  __syncthreads();
#pragma unroll
  for (int v = 0; v < own_vertices; v++) // where the positions were
    for (int c = 0; c < 3; c++) rows[(own + v) * vertex_row + c * row_size + lane] = normals[v][c];
  __syncthreads();
  if (job.normals.data) store_any(job.normals, rows, first_character, job.characters, first, vertices);
}

// Skin and normals, some passes at a time, which reuse the memory of the rows.
cudaError_t sn_cuda_shade(const crowd *c) {
  const sn_cuda_model *m = c->model;
  const uint32_t vertices = m->info.vertex_count, passes = sn_cuda_blocks(c->count, SN_CUDA_PASS);
  shade_job job = {m->fans, c->count, 0, c->rows};
  job.positions = make_target(&c->output.positions, vertices), job.normals = make_target(&c->output.normals, vertices);
  const size_t vertex_bytes = vertex_row * sizeof(float), all = (tile_size + (size_t)m->fans.most_halo) * vertex_bytes;
  const bool tiled = all <= m->most_shared;
  const size_t shared = tiled ? all : tile_size * vertex_bytes;
  void (*run)(shade_job) = tiled ? shade_kernel<true> : shade_kernel<false>;
  cudaError_t error = cudaFuncSetAttribute((const void *)run, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
  for (; error == cudaSuccess && job.first_pass < passes; job.first_pass += c->row_passes) {
    const uint32_t count = min(c->row_passes, passes - job.first_pass);
    error = sn_cuda_octet_skin(c, job.first_pass, count, c->rows);
    if (error == cudaSuccess) run<<<dim3(m->fans.tile_count, count), threads, shared, c->stream>>>(job);
    if (error == cudaSuccess) error = cudaGetLastError();
  }
  return error;
}
