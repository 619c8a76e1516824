// SPDX-License-Identifier: MIT
// The neighbours of every tile, its halo among them, as passes of 32 characters read them.
#include "cuda/passes.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/rows.h"
#include "runtime/vertex.h"

// Grows an array to hold at least `needed` elements.
static int grow(void **array, size_t *room, size_t needed, size_t size) {
  if (needed <= *room) return 1;
  void *larger = realloc(*array, 2 * needed * size);
  if (!larger) return 0;
  *array = larger, *room = 2 * needed;
  return 1;
}

// A vertex's neighbours without the repetitions at the end.
static uint32_t read_fan(const sn_cuda_fans *f, uint32_t vertex, uint32_t *out, uint32_t room) {
  uint32_t count = sn_cuda_fan_size(f, vertex), lane = vertex % SN_RT_LANES;
  if (count > room) return 0;
  for (uint32_t s = 0; s < count; s++)
    out[s] = sn_cuda_fan_neighbour(f, (size_t)f->start[vertex / SN_RT_LANES] + s, lane);
  while (count > 1 && out[count - 1] == out[count - 2]) count--;
  return count == 1 && out[0] == vertex ? 0 : count;
}

static int compare_vertices(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

typedef struct walk {
  sn_cuda_fans fans;
  uint32_t *fan;  // room for the longest
  uint32_t *mark; // [vertex]: the tile that last touched it, plus 1
  uint32_t longest;
  size_t halo_room, step_room;
} walk;

// Vertices of other tiles that this one's fans touch, ascending.
static int find_halo(uint32_t tile, uint32_t first, uint32_t last, walk *w, sn_cuda_passes *p) {
  uint32_t count = p->first_halo[tile];
  for (uint32_t i = first; i < last; i++) {
    uint32_t size = read_fan(&w->fans, i, w->fan, w->longest);
    for (uint32_t s = 0; s < size; s++) {
      uint32_t v = w->fan[s];
      if (v / SN_CUDA_FAN_TILE == tile || w->mark[v] == tile + 1) continue;
      if (!grow((void **)&p->halo, &w->halo_room, count + 1u, sizeof *p->halo)) return 0;
      w->mark[v] = tile + 1, p->halo[count++] = v;
    }
  }
  uint32_t size = count - p->first_halo[tile];
  if (size) qsort(p->halo + p->first_halo[tile], size, sizeof *p->halo, compare_vertices);
  p->first_halo[tile + 1] = count;
  if (size > p->most_halo) p->most_halo = size;
  return 1;
}

static uint32_t number_in_tile(const sn_cuda_passes *p, uint32_t tile, uint32_t vertex) {
  if (vertex / SN_CUDA_FAN_TILE == tile) return vertex % SN_CUDA_FAN_TILE;
  const uint32_t *halo = p->halo + p->first_halo[tile];
  const uint32_t *at = (const uint32_t *)bsearch(&vertex, halo, p->first_halo[tile + 1] - p->first_halo[tile],
                                                 sizeof *halo, compare_vertices);
  return SN_CUDA_FAN_TILE + (uint32_t)(at - halo);
}

// The first neighbour, then two by two; an odd one is its own second, and the first closes the fan.
static int store_steps(uint32_t tile, uint32_t vertex, walk *w, sn_cuda_passes *p) {
  uint32_t size = read_fan(&w->fans, vertex, w->fan, w->longest), next = p->first_step[vertex];
  if (!grow((void **)&p->steps, &w->step_room, next + size + 2u, sizeof *p->steps)) return 0;
  for (uint32_t s = 0; s < size; s++) w->fan[s] = number_in_tile(p, tile, w->fan[s]);
  if (size) p->steps[next++] = w->fan[0];
  for (uint32_t s = 0; s < size; s += 2) {
    uint32_t middle = w->fan[s + 1 < size ? s + 1 : size - 1], after = w->fan[s + 2 < size ? s + 2 : 0];
    p->steps[next++] = middle | after << 16;
  }
  p->first_step[vertex + 1] = next;
  return 1;
}

static int make_own(const sn_rt_model *model, sn_cuda_passes *p) {
  const int16_t(*own)[3][SN_RT_LANES] = (const int16_t(*)[3][SN_RT_LANES])sn_rt_data(model, SN_SECTION_SHADE_OWN);
  if (!own) return 1;
  p->own = (float *)calloc((size_t)p->tile_count * SN_CUDA_FAN_TILE, 4 * sizeof *p->own);
  for (uint32_t i = 0; p->own && i < model->info.vertex_count; i++)
    for (uint32_t c = 0; c < 3; c++)
      p->own[4 * (size_t)i + c] = SN_RT_OWN_UNIT * own[i / SN_RT_LANES][c][i % SN_RT_LANES];
  return p->own != NULL;
}

static int make_fans(const sn_rt_model *model, sn_cuda_passes *p) {
  uint32_t vertices = model->info.vertex_count;
  walk w = {.fans = sn_cuda_fans_of(model), .longest = 1};
  p->tile_count = (vertices + SN_CUDA_FAN_TILE - 1) / SN_CUDA_FAN_TILE;
  for (uint32_t i = 0; i < vertices; i += SN_RT_LANES)
    if (sn_cuda_fan_size(&w.fans, i) > w.longest) w.longest = sn_cuda_fan_size(&w.fans, i);
  w.fan = (uint32_t *)malloc(w.longest * sizeof *w.fan), w.mark = (uint32_t *)calloc(vertices, sizeof *w.mark);
  p->first_halo = (uint32_t *)calloc(p->tile_count + 1, sizeof *p->first_halo);
  p->first_step = (uint32_t *)calloc((size_t)p->tile_count * SN_CUDA_FAN_TILE + 1, sizeof *p->first_step);
  int good = w.fan && w.mark && p->first_halo && p->first_step && make_own(model, p) &&
             grow((void **)&p->halo, &w.halo_room, 1, sizeof *p->halo) &&
             grow((void **)&p->steps, &w.step_room, 1, sizeof *p->steps);
  for (uint32_t tile = 0; good && tile < p->tile_count; tile++) {
    uint32_t first = tile * SN_CUDA_FAN_TILE,
             last = first + SN_CUDA_FAN_TILE < vertices ? first + SN_CUDA_FAN_TILE : vertices;
    good = find_halo(tile, first, last, &w, p);
    if (good && SN_CUDA_FAN_TILE + p->most_halo > 0xffff) good = -1;
    for (uint32_t i = first; good == 1 && i < last; i++) good = store_steps(tile, i, &w, p);
    if (good < 0) break;
  }
  for (size_t i = vertices; good == 1 && i < (size_t)p->tile_count * SN_CUDA_FAN_TILE; i++)
    p->first_step[i + 1] = p->first_step[i];
  free(w.fan);
  free(w.mark);
  return good;
}

int sn_cuda_passes_make(const sn_rt_model *model, sn_cuda_passes *out) {
  *out = (sn_cuda_passes){0};
  if (model->info.shade != SN_RT_SHADE_RECOMPUTE) return 1;
  int good = make_fans(model, out);
  if (good != 1) sn_cuda_passes_free(out);
  return good != 0;
}

void sn_cuda_passes_free(sn_cuda_passes *p) {
  void *owned[] = {p->first_halo, p->halo, p->first_step, p->steps, p->own};
  for (size_t k = 0; k < sizeof owned / sizeof *owned; k++) free(owned[k]);
  memset(p, 0, sizeof *p);
}
