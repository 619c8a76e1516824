// SPDX-License-Identifier: MIT
// Neighbours in vertex order, from the model's blocks of eight vertices.
#include "cuda/fans.h"

#include <stdlib.h>

#include "runtime/format.h"
#include "runtime/vertex.h"

// The fan of one vertex: neighbours in a row, the lanes of eight vertices side by side.
typedef struct fan {
  const void *indices;
  size_t first;
  uint32_t size, index_bytes;
} fan;

static uint32_t neighbour(const fan *f, uint32_t n) {
  size_t at = f->first + (size_t)n * SN_RT_LANES;
  return f->index_bytes == 2 ? ((const uint16_t *)f->indices)[at] : ((const uint32_t *)f->indices)[at];
}

// Without padding; a vertex without triangles has an empty fan.
static fan read_fan(const sn_rt_model *model, uint32_t vertex) {
  const uint32_t *start = (const uint32_t *)sn_rt_data(model, SN_SECTION_SHADE_START) + vertex / SN_RT_LANES;
  fan f = {sn_rt_data(model, SN_SECTION_SHADE_FANS), (size_t)start[0] * SN_RT_LANES + vertex % SN_RT_LANES,
           start[1] - start[0], sn_rt_fan_bytes(model->info.vertex_count)};
  while (f.size > 1 && neighbour(&f, f.size - 1) == neighbour(&f, f.size - 2)) f.size--;
  if (f.size == 1 && neighbour(&f, 0) == vertex) f.size = 0;
  return f;
}

static int compare_vertices(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

// Counts a tile's halo (out NULL), or writes it in ascending order; mark[vertex]: the last tile that visited it, plus 1.
static uint32_t find_halo(const sn_rt_model *model, uint32_t tile, uint32_t *mark, uint32_t *out) {
  uint32_t first = tile * SN_CUDA_FAN_TILE, count = 0, vertices = model->info.vertex_count;
  for (uint32_t i = first; i < first + SN_CUDA_FAN_TILE && i < vertices; i++) {
    fan f = read_fan(model, i);
    for (uint32_t n = 0; n < f.size; n++) {
      uint32_t v = neighbour(&f, n);
      if (v / SN_CUDA_FAN_TILE == tile || mark[v] == tile + 1) continue;
      mark[v] = tile + 1;
      if (out) out[count] = v;
      count++;
    }
  }
  if (out && count) qsort(out, count, sizeof *out, compare_vertices);
  return count;
}

static int make_halos(const sn_rt_model *model, sn_cuda_fans *f) {
  uint32_t *mark = calloc(f->vertex_count, sizeof *mark);
  f->first_halo = calloc((size_t)f->tile_count + 1, sizeof *f->first_halo);
  int good = mark && f->first_halo;
  for (uint32_t t = 0; good && t < f->tile_count; t++) {
    uint32_t count = find_halo(model, t, mark, NULL);
    f->first_halo[t + 1] = f->first_halo[t] + count;
    if (count > f->most_halo) f->most_halo = count;
  }
  if (good) f->halo = calloc((size_t)f->first_halo[f->tile_count] + 1, sizeof *f->halo), good = f->halo != NULL;
  for (uint32_t v = 0; good && v < f->vertex_count; v++) mark[v] = 0;
  for (uint32_t t = 0; good && t < f->tile_count; t++) find_halo(model, t, mark, f->halo + f->first_halo[t]);
  free(mark);
  return good;
}

static uint32_t place_in_tile(const sn_cuda_fans *f, uint32_t tile, uint32_t vertex) {
  if (vertex / SN_CUDA_FAN_TILE == tile) return vertex % SN_CUDA_FAN_TILE * SN_CUDA_FAN_BYTES;
  const uint32_t *halo = f->halo + f->first_halo[tile], size = f->first_halo[tile + 1] - f->first_halo[tile];
  const uint32_t *at = bsearch(&vertex, halo, size, sizeof *halo, compare_vertices);
  return (SN_CUDA_FAN_TILE + (uint32_t)(at - halo)) * SN_CUDA_FAN_BYTES;
}

static int make_groups(const sn_rt_model *model, sn_cuda_fans *f) {
  f->first_group = calloc((size_t)f->vertex_count + 1, sizeof *f->first_group);
  for (uint32_t i = 0; f->first_group && i < f->vertex_count; i++) {
    const uint32_t size = read_fan(model, i).size;
    f->first_group[i + 1] = f->first_group[i] + (size ? (size + SN_CUDA_FAN_GROUP - 1) / SN_CUDA_FAN_GROUP : 1);
  }
  if (f->first_group) f->groups = calloc((size_t)f->first_group[f->vertex_count] + 1, sizeof *f->groups);
  for (uint32_t i = 0; f->groups && i < f->vertex_count; i++) {
    const fan from = read_fan(model, i);
    uint32_t *to = f->groups[f->first_group[i]];
    for (uint32_t n = 1; to < f->groups[f->first_group[i + 1]]; n++, to++)
      *to = place_in_tile(f, i / SN_CUDA_FAN_TILE, from.size ? neighbour(&from, n < from.size ? n : 0) : i);
  }
  return f->groups != NULL;
}

static int make_own(const sn_rt_model *model, sn_cuda_fans *f) {
  const int16_t(*own)[3][SN_RT_LANES] = sn_rt_data(model, SN_SECTION_SHADE_OWN);
  if (!own) return 1;
  f->own = calloc(f->vertex_count, 4 * sizeof *f->own);
  for (uint32_t i = 0; f->own && i < f->vertex_count; i++)
    for (uint32_t c = 0; c < 3; c++)
      f->own[4 * (size_t)i + c] = SN_RT_OWN_UNIT * own[i / SN_RT_LANES][c][i % SN_RT_LANES];
  return f->own != NULL;
}

int sn_cuda_fans_make(const sn_rt_model *model, sn_cuda_fans *out) {
  *out = (sn_cuda_fans){0};
  if (model->info.shade != SN_RT_SHADE_RECOMPUTE) return 1;
  out->vertex_count = model->info.vertex_count;
  out->tile_count = (out->vertex_count + SN_CUDA_FAN_TILE - 1) / SN_CUDA_FAN_TILE;
  if (make_halos(model, out) && make_groups(model, out) && make_own(model, out)) return 1;
  sn_cuda_fans_free(out);
  return 0;
}

void sn_cuda_fans_free(sn_cuda_fans *f) {
  free(f->first_halo), free(f->halo), free(f->first_group), free(f->groups), free(f->own);
  *f = (sn_cuda_fans){0};
}
