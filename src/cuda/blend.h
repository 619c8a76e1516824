// SPDX-License-Identifier: MIT
// The blend of a vertex's palette entries: matrices, or dual quaternions.
#ifndef SINEW_CUDA_BLEND_H
#define SINEW_CUDA_BLEND_H

#include <stdint.h>

#include "cuda/store.h"
#include "cuda/vertex.h"

// Rows of a palette entry, which identify the blend.
enum { dualquat_rows = 2, linear_rows = 3, centre_rows = 4 };

// Kernels for few influences always have a tile's palettes in shared memory; the others only if they fit.
template <int K> static constexpr bool always_staged = K < SN_RT_MAX_INFLUENCES;

// Common data of both skinning kernels.
struct blend_job {
  sn_cuda_tiles of;
  const float4 *palette;     // [character][palette_count][rows]
  const float4 *stretches;   // not for linear blends
  const uint32_t *stretched; // of each character; not for linear blends
  bool compare;              // signs of quaternions are compared at every vertex
  bool is_staged;            // palettes are copied to shared memory
  uint32_t basis_count, palette_count, vertex_count, characters;
  uint32_t rows_of_entry; // float4s
  bool forward, limit_after, turned, normals_too;
  target positions, normals;
};

static inline blend_job make_blend_job(const crowd *c) {
  const sn_cuda_model *m = c->model;
  blend_job job = {m->tiles};
  job.turned = m->info.blend != SN_RT_BLEND_LINEAR;
  job.normals_too = c->output.normals.data && m->info.shade == SN_RT_SHADE_TRANSFORM;
  job.rows_of_entry = m->info.blend == SN_RT_BLEND_DUALQUAT ? dualquat_rows : job.turned ? centre_rows : linear_rows;
  job.palette = job.turned ? c->dualquats : c->matrices, job.stretches = c->stretches, job.stretched = c->stretched;
  job.compare = !m->sections[SN_SECTION_JOINT_REFERENCE] || m->info.drive != SN_RT_DRIVE_JOINTS;
  job.basis_count = m->basis_count, job.forward = m->forward, job.limit_after = m->limit_after;
  job.palette_count = m->info.palette_count, job.vertex_count = m->info.vertex_count, job.characters = c->count;
  job.positions = make_target(&c->output.positions, m->info.vertex_count);
  job.normals = make_target(&c->output.normals, m->info.vertex_count);
  return job;
}

// How many of `count` characters one block of threads evaluates: many, to read the tile's data rarely, but at most `most`, and
// leaving `enough` blocks for all multiprocessors.
static inline uint32_t spread(uint32_t tiles, uint32_t count, uint64_t enough, uint64_t most) {
  uint64_t per = (uint64_t)tiles * count / enough;
  per = per < 1 ? 1 : per > most ? most : per;
  while ((count + per - 1) / per > 65535) per *= 2;
  return (uint32_t)per;
}

// A vertex of a tile in a thread's registers.
template <int K> struct vertex {
  float position[3], normal[3], limit, centre[3], weights[K];
  uint32_t entries
    [K]; // offsets in float4s in the tile's palette of a character, or in the character's palette if it is not staged
  uint32_t number; // of the mesh
  int influences;  // of the group
};

// Vertex v of a group; `joints`: of the tile.
template <int K, int ROWS>
static __device__ __forceinline__ vertex<K> load_vertex(const sn_cuda_tiles &t, uint32_t group, uint32_t v,
                                                        bool staged, const uint16_t *joints) {
  const uint32_t at = group * t.group + v;
  const float4 *rest = (const float4 *)t.rest + 2 * (size_t)at;
  const float4 position = __ldg(rest), normal = __ldg(rest + 1);
  vertex<K> out = {{position.x, position.y, position.z}, {normal.x, normal.y, normal.z}, position.w};
  for (int c = 0; ROWS == centre_rows && c < 3; c++) out.centre[c] = __ldg(t.centres + 3 * (size_t)at + c);
#pragma unroll
  for (int k = 0; k < K; k += 4) {
    const size_t n = (size_t)at * t.influences + (k < (int)t.influences ? k : 0);
    const float4 weights = __ldg((const float4 *)(t.weights + n));
    const ushort4 locals = __ldg((const ushort4 *)(t.locals + n));
    out.weights[k] = weights.x, out.weights[k + 1] = weights.y, out.weights[k + 2] = weights.z,
    out.weights[k + 3] = weights.w;
    out.entries[k] = locals.x, out.entries[k + 1] = locals.y, out.entries[k + 2] = locals.z,
    out.entries[k + 3] = locals.w;
  }
#pragma unroll
  for (int k = 0; k < K; k++) out.entries[k] = ROWS * (staged ? out.entries[k] : joints[out.entries[k]]);
  out.number = t.vertices[at], out.influences = t.counts[group];
  return out;
}

// sum_k w_k M_k, as columns of four
template <int K>
static __device__ __forceinline__ void blend_matrices(const float *weights, int influences, const float4 *palette,
                                                      const uint32_t *entries, float b[16]) {
  float4 rows[3] = {};
#pragma unroll
  for (int k = 0; k < K; k++) {
    if (k >= influences) break;
#pragma unroll
    for (int r = 0; r < 3; r++) {
      float4 m = palette[entries[k] + r];
      rows[r].x += weights[k] * m.x, rows[r].y += weights[k] * m.y;
      rows[r].z += weights[k] * m.z, rows[r].w += weights[k] * m.w;
    }
  }
#pragma unroll
  for (int r = 0; r < 3; r++) b[r] = rows[r].x, b[4 + r] = rows[r].y, b[8 + r] = rows[r].z, b[12 + r] = rows[r].w;
}

// sum_k w_k s_k q_k, s_k = -1 if q_k is in the opposite hemisphere of the pivot, the first joint. For the blend `centres` only
// the real part, which is the last row.
template <int K, int ROWS, bool COMPARE, class V>
static __device__ __forceinline__ void sum_dualquats(const V &v, const float4 *palette, float b[8]) {
  const int row = ROWS == centre_rows ? 3 : 0;
  float4 pivot = palette[v.entries[0] + row], real = {}, dual = {};
#pragma unroll
  for (int k = 0; k < K; k++) {
    if (k >= v.influences) break;
    float4 q = palette[v.entries[k] + row], d = ROWS == dualquat_rows ? palette[v.entries[k] + 1] : float4{};
    float w = v.weights[k];
    if (COMPARE && q.x * pivot.x + q.y * pivot.y + q.z * pivot.z + q.w * pivot.w < 0) w = -w;
    real.x += w * q.x, real.y += w * q.y, real.z += w * q.z, real.w += w * q.w;
    dual.x += w * d.x, dual.y += w * d.y, dual.z += w * d.z, dual.w += w * d.w;
  }
  b[0] = real.x, b[1] = real.y, b[2] = real.z, b[3] = real.w;
  b[4] = dual.x, b[5] = dual.y, b[6] = dual.z, b[7] = dual.w;
}

template <int K, int ROWS, class V>
static __device__ __forceinline__ void sum_rotations(bool compare, const V &v, const float4 *palette, float q[8]) {
  if (compare)
    sum_dualquats<K, ROWS, true>(v, palette, q);
  else
    sum_dualquats<K, ROWS, false>(v, palette, q);
}

// Stretches are rare: they are read from device memory. `joints`: the tile's list, if entries are indices of the tile.
template <int K, int ROWS, class V>
static __device__ __forceinline__ void blend_stretches(const V &v, const float4 *stretches, const uint16_t *joints,
                                                       float b[16]) {
  uint32_t entries[K];
  for (int k = 0; k < K; k++) entries[k] = 3 * (joints ? joints[v.entries[k] / ROWS] : v.entries[k] / ROWS);
  blend_matrices<K>(v.weights, v.influences, stretches, entries, b);
}

// Position and normal of a vertex during evaluation.
struct point {
  float position[3], normal[3];
};

// `late`: the displacement d is limited after the blend.
template <int K, class V>
static __device__ __forceinline__ void move_linear(const V &v, const float4 *palette, bool late, const point &d,
                                                   bool normals, point *p) {
  float b[16];
  const point from = *p;
  blend_matrices<K>(v.weights, v.influences, palette, v.entries, b);
  sn_rt_transform(b, from.position, p->position);
  if (late) sn_rt_move_limited(b, d.position, v.limit, p->position);
  if (normals) sn_rt_transform_normal(b, from.normal, p->normal), sn_rt_normalise(p->normal);
}

// By the blended dual quaternion q, after the blended stretch; NULL: none.
static __device__ __forceinline__ void move_dualquat(const float q[8], const float *stretch, bool normals, point *p) {
  point from = *p;
  if (stretch) sn_rt_transform(stretch, p->position, from.position);
  sn_rt_apply_dualquat(q, from.position, 1, p->position);
  if (!normals) return;
  if (stretch) sn_rt_transform_normal(stretch, p->normal, from.normal), sn_rt_normalise(from.normal);
  sn_rt_apply_dualquat(q, from.normal, 0, p->normal);
}

// About the vertex's centre of rotation, which the blended matrix transforms.
template <int K, class V>
static __device__ __forceinline__ void move_centre(const V &v, const float4 *palette, const float q[8],
                                                   const float *stretch, bool normals, point *p) {
  float b[16];
  point from = *p;
  blend_matrices<K>(v.weights, v.influences, palette, v.entries, b);
  sn_rt_apply_centre(b, q, stretch, v.centre, from.position, p->position);
  if (!normals) return;
  if (stretch) sn_rt_transform_normal(stretch, p->normal, from.normal), sn_rt_normalise(from.normal);
  sn_rt_apply_dualquat(q, from.normal, 0, p->normal);
}

// By blended rotations.
template <int K, int ROWS, bool STRETCH>
static __device__ __forceinline__ void move_turned(const blend_job &job, const vertex<K> &v, const float4 *palette,
                                                   uint32_t character, bool normals, point *p) {
  float q[8], stretch[16];
  sum_rotations<K, ROWS>(job.compare, v, palette, q);
  const uint16_t *joints = job.is_staged ? job.of.joints + job.of.first_joint[blockIdx.x] : NULL;
  if (STRETCH)
    blend_stretches<K, ROWS>(v, job.stretches + (size_t)character * job.palette_count * 3, joints, stretch);
  if (ROWS == centre_rows)
    move_centre<K>(v, palette, q, STRETCH ? stretch : NULL, normals, p);
  else
    move_dualquat(q, STRETCH ? stretch : NULL, normals, p);
}

// Adds a correction after the blend (order `forward`).
static __device__ __forceinline__ void add_correction(bool after, bool normals, const point &c, point *p) {
  for (int r = 0; r < 3; r++) p->position[r] += after ? c.position[r] : 0;
  if (!normals) return;
  sn_rt_normalise(p->normal);
  if (!after) return;
  for (int r = 0; r < 3; r++) p->normal[r] += c.normal[r];
  sn_rt_normalise(p->normal);
}

// Characters with stretches have a separate kernel, because it needs more registers.
template <int ROWS, bool STRETCH, class JOB>
static __device__ __forceinline__ bool is_mine(const JOB &job, uint32_t character) {
  return character < job.characters && (ROWS == linear_rows || (job.stretched[character] != 0) == STRETCH);
}

// Whether a block of threads has a character for this kernel (with or without stretch).
template <int ROWS, bool STRETCH, class JOB>
static __device__ __forceinline__ bool has_any(const JOB &job, uint32_t first, uint32_t last) {
  bool any = ROWS == linear_rows;
  if (any) return any;
  for (uint32_t n = first + threadIdx.x; n < last; n += blockDim.x) any |= is_mine<ROWS, STRETCH>(job, n);
  return __syncthreads_or(any);
}

// A tile's results of some characters in a block's staging memory, `size` bytes each.
struct staged_tile {
  const char *data;
  uint32_t size, character, count, vertex, vertices;
};

// Copies to the caller's array: by the copy engine, one lane of this warp per character, or by all threads.
template <int ROWS, bool STRETCH>
static __device__ __forceinline__ void store_tile(const blend_job &job, const target &t, uint32_t warp, uint32_t from,
                                                  const staged_tile &s) {
  const bool bulk = copies_in_bulk(t, s.vertices);
  const uint32_t first = !bulk ? 0 : threadIdx.x / 32 == warp ? threadIdx.x % 32 : s.count;
  for (uint32_t m = first; m < s.count; m += bulk ? 32 : 1) {
    if (!is_mine<ROWS, STRETCH>(job, s.character + m)) continue;
    if (bulk)
      copy_in_bulk(t, s.data + from + m * s.size, s.character + m, s.vertex, s.vertices);
    else
      copy_by_threads(t, s.data + from + m * s.size, s.character + m, s.vertex, s.vertices);
  }
}

#endif
