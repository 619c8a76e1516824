// SPDX-License-Identifier: MIT
// The blend and correct slots for a crowd. A block of threads takes one tile of vertices and keeps what the rest pose
// knows of it in registers, while characters pass by, a few at a time: their palette entries come into shared memory, their
// vertices leave it as whole stretches of the output. So every byte of the output is written once, and of the
// input only palettes are read again for every tile.
#include "cuda/async.h"
#include "cuda/blend.h"

enum { most = SN_RT_MAX_INFLUENCES, most_staged_bytes = 96 * 1024 };

// Characters at a time: more where displacements are read, because what is read of them serves all.
enum { plain_batch = 4, corrected_batch = 8 };
template <bool CORRECT> static constexpr uint32_t batch_of = CORRECT ? corrected_batch : plain_batch;

struct skin_job : blend_job {
  sn_cuda_tiles tiles;
  const float4 *values; // [character / 8][basis][2]: of four characters each
  uint32_t characters_per_block;
};

// A vertex of the tile, as this thread keeps it.
template <int K> struct vertex {
  float position[3], normal[3], centre[3], weights[K];
  uint32_t entries[K]; // where the palette entries are: float4s from the beginning of the tile's (or the character's)
  uint32_t place;
  int influences; // of the warp
};

template <int K, int ROWS, bool STAGED>
static __device__ __forceinline__ vertex<K> load_vertex(const skin_job &job, uint32_t tile, uint32_t slot) {
  vertex<K> v;
  const sn_cuda_tiles &t = job.tiles;
  const float *rest = t.rest + (size_t)tile * 6 * SN_CUDA_TILE + slot;
  const uint16_t *joints = t.joints + t.first_joint[tile];
  for (int c = 0; c < 3; c++) {
    v.position[c] = rest[c * SN_CUDA_TILE], v.normal[c] = rest[(3 + c) * SN_CUDA_TILE];
    if (ROWS == centre_rows) v.centre[c] = t.centres[((size_t)tile * 3 + c) * SN_CUDA_TILE + slot];
  }
  v.influences = t.counts[tile * SN_CUDA_WARPS + slot / SN_CUDA_WARP];
#pragma unroll
  for (int k = 0; k < K; k++) {
    bool there = k < (int)t.influences;
    size_t at = ((size_t)tile * t.influences + (there ? k : 0)) * SN_CUDA_TILE + slot;
    uint32_t local = t.locals[at];
    v.weights[k] = there ? t.weights[at] : 0;
    v.entries[k] = ROWS * (STAGED ? local : joints[local]);
  }
  v.place = t.places[(size_t)tile * SN_CUDA_TILE + slot];
  return v;
}

// ---- palettes: from device memory into shared memory ----------------------------------------------------------------------

// What a thread fetches of a batch of characters: its first float4, found once (divisions are slow), and the others.
struct errand {
  uint32_t m, offset; // character of the batch; float4s from the beginning of its palette
};

template <int ROWS>
static __device__ __forceinline__ errand plan_errand(const uint16_t *joints, uint32_t joint_count, uint32_t n) {
  uint32_t each = joint_count * ROWS, row = n % each;
  return errand{n / each, (uint32_t)joints[row / ROWS] * ROWS + row % ROWS};
}

// The tile's entries of `batch` characters from `first` on; those beyond the crowd are the last one's.
template <int ROWS>
static __device__ __forceinline__ void fetch_palettes(const skin_job &job, const uint16_t *joints, uint32_t joint_count,
                                                      uint32_t batch, uint32_t first, errand e, float4 *to) {
  for (uint32_t n = threadIdx.x; n < batch * joint_count * ROWS; n += SN_CUDA_TILE) {
    if (n != threadIdx.x) e = plan_errand<ROWS>(joints, joint_count, n);
    uint32_t character = min(first + e.m, job.characters - 1);
    copy_async(to + n, job.palette + (size_t)character * job.palette_count * ROWS + e.offset);
  }
  commit_async();
}

// ---- corrections -------------------------------------------------------------------------------------------------------------

// A stored 16-bit number: its bits as the lowest of a float above 2^23, less what that and the storing added. Conversions from
// integers are an eighth as fast as additions.
static __device__ __forceinline__ float unpack(uint32_t pair, uint32_t selector) {
  return __uint_as_float(__byte_perm(pair, 0x4b000000u, selector)) - (8388608.0f + 32768.0f);
}

static __device__ __forceinline__ float low(uint32_t pair) { return unpack(pair, 0x7610); }
static __device__ __forceinline__ float high(uint32_t pair) { return unpack(pair, 0x7632); }

// Sums of all bases for a batch of characters.
static __device__ __forceinline__ void sum_corrections(const skin_job &job, uint32_t tile, uint32_t slot, uint32_t first,
                                                       point out[corrected_batch]) {
  uint32_t warp = tile * SN_CUDA_WARPS + slot / SN_CUDA_WARP, lane = slot % SN_CUDA_WARP;
  const float4 *values = job.values + (size_t)(first / corrected_batch) * job.basis_count * 2;
  const uint32_t *deltas = (const uint32_t *)job.tiles.deltas;
  const uint4 *entries = (const uint4 *)job.tiles.entries;
#pragma unroll
  for (int m = 0; m < corrected_batch; m++)
    for (int r = 0; r < 3; r++) out[m].position[r] = out[m].normal[r] = 0;
  uint32_t last = job.tiles.first_entry[warp + 1];
#pragma unroll 2
  for (uint32_t e = job.tiles.first_entry[warp]; e < last; e++) {
    uint4 entry = __ldg(entries + e);
    const uint32_t *at = deltas + (size_t)e * 3 * SN_CUDA_WARP + lane;
    uint32_t a = __ldg(at), b = __ldg(at + SN_CUDA_WARP), c = __ldg(at + 2 * SN_CUDA_WARP);
    float4 four = __ldg(values + 2 * (size_t)entry.x), more = __ldg(values + 2 * (size_t)entry.x + 1);
    const float of[corrected_batch] = {four.x, four.y, four.z, four.w, more.x, more.y, more.z, more.w};
    const float position = __uint_as_float(entry.y), normal = __uint_as_float(entry.z);
    const float move[3] = {position * low(a), position * high(a), position * low(b)};
    const float normal_delta[3] = {normal * high(b), normal * low(c), normal * high(c)};
#pragma unroll
    for (int m = 0; m < corrected_batch; m++)
      for (int r = 0; r < 3; r++) out[m].position[r] += of[m] * move[r], out[m].normal[r] += of[m] * normal_delta[r];
  }
  if (!job.tiles.limits || job.limit_after) return;
  float limit = job.tiles.limits[(size_t)tile * SN_CUDA_TILE + slot];
#pragma unroll
  for (int m = 0; m < corrected_batch; m++) {
    float *d = out[m].position, share = sn_rt_limit(d[0] * d[0] + d[1] * d[1] + d[2] * d[2], limit);
    for (int r = 0; r < 3; r++) d[r] *= share;
  }
}

// ---- blends ---------------------------------------------------------------------------------------------------------------

template <int K, bool NORMALS>
static __device__ __forceinline__ void move_centre(const vertex<K> &v, const float4 *palette, const float q[8],
                                                   const float *stretch, point *p) {
  float b[16];
  point from = *p;
  blend_matrices<K>(v.weights, v.influences, palette, v.entries, b);
  sn_rt_apply_centre(b, q, stretch, v.centre, from.position, p->position);
  if (!NORMALS) return;
  if (stretch) sn_rt_transform_normal(stretch, p->normal, from.normal), sn_rt_normalise(from.normal);
  sn_rt_apply_dualquat(q, from.normal, 0, p->normal);
}

// A vertex of one character, in this slot of the tile, corrected by c before or after the blend.
template <int K, int ROWS, bool NORMALS, bool CORRECT, bool STAGED, bool STRETCH>
static __device__ __forceinline__ point move_vertex(const skin_job &job, const vertex<K> &v, uint32_t slot, uint32_t character,
                                                    const float4 *palette, const point &c) {
  point p;
  const bool late = CORRECT && ROWS == linear_rows && job.limit_after && job.tiles.limits;
  for (int r = 0; r < 3; r++) {
    p.position[r] = v.position[r] + (CORRECT && !job.forward && !late ? c.position[r] : 0);
    p.normal[r] = v.normal[r] + (CORRECT && !job.forward ? c.normal[r] : 0);
  }
  if (ROWS == linear_rows) {
    move_linear<K, NORMALS>(v, palette, late, c, late ? job.tiles.limits[(size_t)blockIdx.x * SN_CUDA_TILE + slot] : 0, &p);
  } else {
    float q[8], stretch[16];
    sum_rotations<K, ROWS>(job.compare, v, palette, q);
    if (STRETCH)
      blend_stretches<K, ROWS>(v, job.stretches + (size_t)character * job.palette_count * 3,
                               STAGED ? job.tiles.joints + job.tiles.first_joint[blockIdx.x] : NULL, stretch);
    if (ROWS == centre_rows)
      move_centre<K, NORMALS>(v, palette, q, STRETCH ? stretch : NULL, &p);
    else
      move_dualquat<NORMALS>(q, STRETCH ? stretch : NULL, &p);
  }
  if (CORRECT) add_correction<NORMALS>(job.forward, c, &p);
  return p;
}

// ---- the kernel ------------------------------------------------------------------------------------------------------------

template <int K, int ROWS, bool NORMALS, bool CORRECT, bool STAGED, bool STRETCH>
static __global__ void __launch_bounds__(SN_CUDA_TILE) skin_kernel(const __grid_constant__ skin_job job) {
  extern __shared__ __align__(128) char shared[];
  constexpr uint32_t batch = batch_of<CORRECT>;
  const uint32_t tile = blockIdx.x, slot = threadIdx.x, first_vertex = tile * SN_CUDA_TILE;
  const uint32_t vertices = min(job.vertex_count - first_vertex, (uint32_t)SN_CUDA_TILE);
  const uint32_t staged_size = SN_CUDA_TILE * 3 * sizeof(float);
  char *staged_positions = shared, *staged_normals = shared + batch * staged_size;
  float4 *palettes = (float4 *)(shared + (NORMALS ? 2 : 1) * batch * staged_size);
  const uint16_t *joints = job.tiles.joints + job.tiles.first_joint[tile];
  const uint32_t joint_count = job.tiles.first_joint[tile + 1] - job.tiles.first_joint[tile];
  const uint32_t buffer = batch * job.tiles.most_joints * ROWS;
  const uint32_t first = blockIdx.y * job.characters_per_block;
  const uint32_t last = min(first + job.characters_per_block, job.characters);

  if (!has_any<ROWS, STRETCH>(job, first, last)) return;
  errand mine_to_fetch = plan_errand<ROWS>(joints, joint_count, threadIdx.x);
  if (STAGED) fetch_palettes<ROWS>(job, joints, joint_count, batch, first, mine_to_fetch, palettes);
  vertex<K> v = load_vertex<K, ROWS, STAGED>(job, tile, slot);

  for (uint32_t character = first, side = 0; character < last; character += batch, side ^= 1) {
    if (STAGED) {
      if (character + batch < last)
        fetch_palettes<ROWS>(job, joints, joint_count, batch, character + batch, mine_to_fetch,
                             palettes + (side ^ 1) * buffer);
      else
        commit_async();
      wait_async<1>();
    }
    wait_for_copies();
    __syncthreads();
    if (v.place != 0xffff) {
      point c[CORRECT ? batch : 1];
      if (CORRECT) sum_corrections(job, tile, slot, character, c);
#pragma unroll
      for (uint32_t m = 0; m < batch; m++) {
        if (character + m >= last) break;
        if (!is_mine<ROWS, STRETCH>(job, character + m)) continue;
        const float4 *palette = STAGED ? palettes + side * buffer + m * joint_count * ROWS
                                       : job.palette + (size_t)(character + m) * job.palette_count * ROWS;
        const point &d = c[CORRECT ? m : 0];
        const point p = move_vertex<K, ROWS, NORMALS, CORRECT, STAGED, STRETCH>(job, v, slot, character + m, palette, d);
        stage(job.positions, staged_positions + m * staged_size, v.place, p.position);
        if (NORMALS) stage(job.normals, staged_normals + m * staged_size, v.place, p.normal);
      }
    }
    publish_staged();
    __syncthreads();
    const staged_tile done = {shared, staged_size, character, batch, first_vertex, vertices};
    store_tile<ROWS, STRETCH>(job, job.positions, 0, 0, done);
    if (NORMALS) store_tile<ROWS, STRETCH>(job, job.normals, 1, batch * staged_size, done);
  }
}

// ---- launching -------------------------------------------------------------------------------------------------------------

typedef void (*kernel)(skin_job);

struct choice {
  bool normals, correct, staged, stretch;
};

template <int K, int ROWS, bool NORMALS, bool CORRECT> static kernel choose_last(choice c) {
  if constexpr (ROWS != linear_rows)
    if (c.stretch)
      return c.staged ? skin_kernel<K, ROWS, NORMALS, CORRECT, true, true> : skin_kernel<K, ROWS, NORMALS, CORRECT, false, true>;
  return c.staged ? skin_kernel<K, ROWS, NORMALS, CORRECT, true, false> : skin_kernel<K, ROWS, NORMALS, CORRECT, false, false>;
}

template <int K, int ROWS> static kernel choose_rest(choice c) {
  if (c.normals) return c.correct ? choose_last<K, ROWS, true, true>(c) : choose_last<K, ROWS, true, false>(c);
  return c.correct ? choose_last<K, ROWS, false, true>(c) : choose_last<K, ROWS, false, false>(c);
}

static kernel choose_kernel(const sn_cuda_model *model, choice c) {
  bool few = model->tiles.influences <= 4;
  switch (model->info.blend) {
  case SN_RT_BLEND_DUALQUAT:
    return few ? choose_rest<4, dualquat_rows>(c) : choose_rest<most, dualquat_rows>(c);
  case SN_RT_BLEND_CENTRES:
    return few ? choose_rest<4, centre_rows>(c) : choose_rest<most, centre_rows>(c);
  default:
    return few ? choose_rest<4, linear_rows>(c) : choose_rest<most, linear_rows>(c);
  }
}

cudaError_t sn_cuda_skin(const crowd *c) {
  const sn_cuda_model *model = c->model;
  if (sn_cuda_skins_in_passes(model, c->count)) return sn_cuda_pass_skin(c);
  skin_job job = {make_blend_job(c)};
  size_t rows = model->info.blend == SN_RT_BLEND_DUALQUAT ? dualquat_rows : job.turned ? centre_rows : linear_rows;
  const bool normals = job.normals_too;
  const uint32_t batch = model->tiles.entries ? batch_of<true> : batch_of<false>;
  job.tiles = model->tiles, job.values = (const float4 *)c->values;
  job.characters_per_block = batch * spread(model->tiles.tile_count, sn_cuda_blocks(c->count, batch), 132 * 8 * 4, 128 / batch);
  size_t staging = (normals ? 2 : 1) * batch * SN_CUDA_TILE * 3 * sizeof(float);
  size_t palettes = 2ull * batch * model->tiles.most_joints * rows * sizeof(float4);
  bool staged = staging + palettes <= most_staged_bytes;
  size_t shared = staging + (staged ? palettes : 0);
  dim3 grid(model->tiles.tile_count, sn_cuda_blocks(c->count, job.characters_per_block));
  for (int stretch = 0; stretch <= (job.turned ? 1 : 0); stretch++) {
    choice which = {normals, model->tiles.entries != NULL, staged, stretch != 0};
    kernel run = choose_kernel(model, which);
    cudaError_t error = cudaFuncSetAttribute((const void *)run, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
    if (error != cudaSuccess) return error;
    run<<<grid, SN_CUDA_TILE, shared, c->stream>>>(job);
  }
  return cudaGetLastError();
}
