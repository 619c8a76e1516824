// SPDX-License-Identifier: MIT
// Vectorised normals from deformed triangles, after kernel_template.h: a vertex per lane, and in every step one of its
// neighbours. Needs two more functions of the instruction set:
//
//     vf_gather(at, x, y, z)    three floats from each of `width` places, and nothing beyond them
//     vf_load_xyz(p, x, y, z)   the same from `width` places in a row
#include "runtime/vertex.h"

// Vertex positions. The stride is a constant 12 in most loops, which saves multiplications. `near`: the last vertex is not read,
// so that loads may read a fourth number.
typedef struct vertices {
  const char *base;
  size_t stride;
  int near;
} vertices;

static SN_RT_INLINE vf3 gather(vertices of, const uint32_t index[width]) {
  const char *at[width];
  for (int l = 0; l < width; l++) at[l] = of.base + index[l] * of.stride;
  vf columns[4];
  if (of.near)
    vf_gather_rows(at, columns);
  else
    vf_gather(at, columns, columns + 1, columns + 2);
  return (vf3){columns[0], columns[1], columns[2]};
}

// `width` vertices from `first` on; lanes after the last vertex repeat it.
static SN_RT_INLINE vf3 own_vertices(vertices of, uint32_t first, uint32_t last) {
  uint32_t index[width];
  if (first + width - 1 <= last && of.stride == 12) {
    vf3 v;
    vf_load_xyz((const float *)(const void *)(of.base + (size_t)12 * first), &v.x, &v.y, &v.z);
    return v;
  }
  for (uint32_t l = 0; l < width; l++) index[l] = first + l <= last ? first + l : last;
  return gather(of, index);
}

// The neighbours of `width` lanes in one step.
static SN_RT_INLINE vf3 gather_step(vertices of, const char *step, int index_bytes) {
  uint32_t index[width];
  for (int l = 0; l < width; l++) {
    index[l] =
      index_bytes == 2 ? ((const uint16_t *)(const void *)step)[l] : ((const uint32_t *)(const void *)step)[l];
  }
  return gather(of, index);
}

// sum + a x b
static SN_RT_INLINE vf3 add_cross(vf3 sum, vf3 a, vf3 b) {
  return (vf3){vf_fnma(a.z, b.y, vf_fma(a.y, b.z, sum.x)), vf_fnma(a.x, b.z, vf_fma(a.z, b.x, sum.y)),
               vf_fnma(a.y, b.x, vf_fma(a.x, b.y, sum.z))};
}

// The sum of (v_m - p) x (v_m+1 - p) over the closed row of neighbours v, two triangles at a time:
// (u - p) x (v - p) + (v - p) x (w - p) = (v - p) x (w - u). The sum does not depend on p: with few registers, v_0 is used for p.
// `edge` becomes v_0 - p, or v_0.
static SN_RT_INLINE vf3 fan_sum(vertices of, vf3 p, const char *step, int index_bytes, uint32_t count, vf3 *edge) {
  vf3 sum = {vf_set(0), vf_set(0), vf_set(0)};
  *edge = sum;
  if (count == 0) return sum;
  size_t row = (size_t)SN_RT_LANES * (size_t)index_bytes;
  vf3 first = gather_step(of, step, index_bytes), last = first;
  if (few_registers) p = first;
  *edge = few_registers ? first : less(first, p);
  for (step += row; count > 2; count -= 2, step += 2 * row) {
    vf3 middle = less(gather_step(of, step, index_bytes), p), next = gather_step(of, step + row, index_bytes);
    sum = add_cross(sum, middle, less(next, last));
    last = next;
  }
  vf3 middle = count == 2 ? gather_step(of, step, index_bytes) : last;
  return add_cross(sum, less(middle, p), less(first, last));
}

// Unit length; (0, 0, 1) where there is no area.
static SN_RT_INLINE vf3 unit_normal(vf3 sum) {
  vf squared = dot3(sum, sum);
  vf3 n = scale(vf_rsqrt(vf_max(squared, vf_set(SN_RT_NO_AREA))), sum);
  n.z = vf_add(n.z, vf_max(vf_fnma(squared, vf_set(1 / SN_RT_NO_AREA), vf_set(1)), vf_set(0)));
  return n;
}

// The rest file's normals (SN_RT_OWN_UNIT) instead of the computed ones n.
static SN_RT_INLINE vf3 bend(const int16_t (*own)[SN_RT_LANES], int lane, vf3 edge, vf3 n) {
  vf3 o = scale(vf_set(SN_RT_OWN_UNIT), load_delta(own, lane)), zero = {vf_set(0), vf_set(0), vf_set(0)};
  vf along = dot3(n, edge);
  vf3 t = normalise((vf3){vf_fnma(along, n.x, edge.x), vf_fnma(along, n.y, edge.y), vf_fnma(along, n.z, edge.z)});
  vf3 across = scale(o.z, add_cross(zero, n, t));
  return normalise((vf3){vf_fma(o.x, n.x, vf_fma(o.y, t.x, across.x)), vf_fma(o.x, n.y, vf_fma(o.y, t.y, across.y)),
                         vf_fma(o.x, n.z, vf_fma(o.y, t.z, across.z))});
}

// Sums of several blocks first, then their normals: the latency of a normalisation would stall the next block's sum.
enum { batch = 8 };
static SN_RT_INLINE void shade_blocks(const sn_rt_shade_job *job, size_t stride, int index_bytes) {
  static const uint16_t in_order[SN_RT_LANES] = {0, 1, 2, 3, 4, 5, 6, 7};
  float sums[batch][3][SN_RT_LANES], edges[batch][3][SN_RT_LANES];
  vertices of = {job->positions, stride, 0}, near = {job->positions, stride, 1};
  target to = {job->normals, job->normal_stride};
  for (uint32_t first = job->first_block, end; first < job->last_block; first = end) {
    end = job->last_block - first < batch ? job->last_block : first + batch;
    for (uint32_t b = first; b < end; b++) {
      size_t start = job->start[b];
      const char *steps = (const char *)job->fans + start * (size_t)(SN_RT_LANES * index_bytes);
      uint32_t count = job->start[b + 1] - job->start[b];
      int last = stride != 12 || (job->beside_last >> b % 64 & 1);
      for (int lane = 0; lane < SN_RT_LANES; lane += width) {
        uint32_t i = SN_RT_LANES * b + (uint32_t)lane;
        vf3 p = {vf_set(0), vf_set(0), vf_set(0)}, edge, sum;
        if (!few_registers) p = own_vertices(of, i, job->last_vertex);
        const char *at = steps + lane * index_bytes;
        sum = last ? fan_sum(of, p, at, index_bytes, count, &edge) : fan_sum(near, p, at, index_bytes, count, &edge);
        store3(sums[b - first][0] + lane, sum);
        if (few_registers && job->own) edge = less(edge, own_vertices(of, i, job->last_vertex));
        if (job->own) store3(edges[b - first][0] + lane, edge);
      }
    }
    for (uint32_t b = first; b < end; b++, to.base += SN_RT_LANES * to.stride)
      for (int lane = 0; lane < SN_RT_LANES; lane += width) {
        vf3 n = unit_normal(load3(sums[b - first][0] + lane));
        if (job->own) n = bend(job->own[b], lane, load3(edges[b - first][0] + lane), n);
        put(to, layout_row, in_order + lane, n);
      }
  }
}

static void shade(const sn_rt_shade_job *job) {
  size_t stride = job->position_stride;
  if (job->index_bytes == 2)
    if (stride == 12)
      shade_blocks(job, 12, 2);
    else
      shade_blocks(job, stride, 2);
  else if (stride == 12)
    shade_blocks(job, 12, 4);
  else
    shade_blocks(job, stride, 4);
}
