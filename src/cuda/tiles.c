// SPDX-License-Identifier: MIT
// Tiles of 256 vertices, sorted into warps by their joints.
#include "cuda/tiles.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/rows.h"
#include "runtime/packed.h"
#include "runtime/vertex.h"

// ---- slots: the vertices of a tile, sorted by their joints ---------------------------------------------------------------

typedef struct slot {
  sn_cuda_row row;
  uint16_t place;
} slot;

static int compare_slots(const void *a, const void *b) {
  const slot *x = (const slot *)a, *y = (const slot *)b;
  if (x->row.count != y->row.count) return x->row.count < y->row.count ? -1 : 1;
  int joint_count = memcmp(x->row.joints, y->row.joints, sizeof x->row.joints);
  return joint_count ? joint_count : (x->place > y->place) - (x->place < y->place);
}

static uint32_t tile_size(const sn_rt_model *model, uint32_t tile) {
  uint32_t left = model->info.vertex_count - tile * SN_CUDA_TILE;
  return left < SN_CUDA_TILE ? left : SN_CUDA_TILE;
}

static void store_rest(const sn_rt_model *model, sn_cuda_home at, uint32_t tile, uint32_t s, sn_cuda_tiles *t) {
  float *to = t->rest + (size_t)tile * 6 * SN_CUDA_TILE + s, position[3], normal[3] = {0}, limit;
  sn_cuda_read_rest(model, at, position, normal, &limit);
  for (int c = 0; c < 3; c++) to[c * SN_CUDA_TILE] = position[c], to[(3 + c) * SN_CUDA_TILE] = normal[c];
  const float(*centres)[3][SN_RT_LANES] = (const float(*)[3][SN_RT_LANES])sn_rt_data(model, SN_SECTION_SKIN_CENTRES);
  for (size_t c = 0; t->centres && c < 3; c++)
    t->centres[((size_t)tile * 3 + c) * SN_CUDA_TILE + s] = centres[at.block][c][at.lane];
  if (t->limits) t->limits[(size_t)tile * SN_CUDA_TILE + s] = limit;
}

static void store_slot(uint32_t tile, uint32_t s, const slot *from, const uint16_t *local_of, sn_cuda_tiles *t) {
  for (uint32_t k = 0; k < t->influences; k++) {
    size_t n = ((size_t)tile * t->influences + k) * SN_CUDA_TILE + s;
    t->weights[n] = k < from->row.count ? from->row.weights[k] : 0;
    t->locals[n] = local_of[from->row.joints[k < from->row.count ? k : 0]];
  }
  t->places[(size_t)tile * SN_CUDA_TILE + s] = from->place;
  uint8_t *count = t->counts + (size_t)tile * SN_CUDA_WARPS + s / SN_CUDA_WARP;
  if (from->row.count > *count) *count = (uint8_t)from->row.count;
}

// Sorts the vertices of a tile into `slots` and numbers the joints they use, in the order of their first use.
static uint32_t sort_tile(const sn_rt_model *model, const sn_cuda_home *homes, uint32_t tile, slot *slots,
                          uint16_t *local_of, uint16_t *joints) {
  uint32_t count = tile_size(model, tile), used = 0;
  for (uint32_t i = 0; i < count; i++)
    slots[i] = (slot){.row = sn_cuda_read_row(model, homes[tile * SN_CUDA_TILE + i]), .place = (uint16_t)i};
  qsort(slots, count, sizeof *slots, compare_slots);
  memset(local_of, 0xff, model->info.palette_count * sizeof *local_of);
  for (uint32_t s = 0; s < count; s++) sn_cuda_number_joints(&slots[s].row, local_of, joints, &used);
  return used;
}

static void make_skin(const sn_rt_model *model, const sn_cuda_home *homes, uint16_t *local_of, sn_cuda_tiles *t) {
  slot slots[SN_CUDA_TILE];
  memset(t->places, 0xff, (size_t)t->tile_count * SN_CUDA_TILE * sizeof *t->places);
  for (uint32_t tile = 0; tile < t->tile_count; tile++) {
    uint32_t first = t->first_joint[tile], used = sort_tile(model, homes, tile, slots, local_of, t->joints + first);
    t->first_joint[tile + 1] = first + used;
    if (used > t->most_joints) t->most_joints = used;
    for (uint32_t s = 0; s < tile_size(model, tile); s++) {
      store_rest(model, homes[tile * SN_CUDA_TILE + slots[s].place], tile, s, t);
      store_slot(tile, s, slots + s, local_of, t);
    }
  }
}

// ---- corrections ----------------------------------------------------------------------------------------------------------

static float largest(const float *values, uint32_t count) {
  float most = 0;
  for (uint32_t n = 0; n < count; n++) most = fabsf(values[n]) > most ? fabsf(values[n]) : most;
  return most;
}

static void store_entry(uint32_t basis, const float *deltas, sn_cuda_entry *entry, uint16_t *out) {
  const uint32_t half = 3 * SN_CUDA_WARP;
  float scale[2] = {largest(deltas, half) / 32767, largest(deltas + half, half) / 32767};
  *entry = (sn_cuda_entry){basis, scale[0], scale[1], 0};
  for (uint32_t n = 0; n < 2 * half; n++) {
    float unit = scale[n / half];
    uint32_t r = n / SN_CUDA_WARP, lane = n % SN_CUDA_WARP;
    out[(r / 2 * SN_CUDA_WARP + lane) * 2 + r % 2] = (uint16_t)(32768 + (unit > 0 ? lrintf(deltas[n] / unit) : 0));
  }
}

static int make_corrections(const sn_rt_model *model, const sn_cuda_home *homes, sn_cuda_tiles *t) {
  const sn_rt_correct_head *head = (const sn_rt_correct_head *)sn_rt_data(model, SN_SECTION_CORRECT_HEAD);
  sn_rt_stored_corrections c = sn_rt_stored_corrections_of(model);
  uint32_t basis_count = head->basis_count;
  size_t warps = (size_t)t->tile_count * SN_CUDA_WARPS, room = 0, row = 6 * SN_CUDA_WARP;
  float *all = (float *)calloc(basis_count ? basis_count : 1, row * sizeof *all);
  uint8_t *touched = (uint8_t *)calloc(basis_count ? basis_count : 1, 1);
  t->first_entry = (uint32_t *)calloc(warps + 1, sizeof *t->first_entry);
  int good = all && touched && t->first_entry;
  for (size_t w = 0; good && w < warps; w++) {
    const uint16_t *places = t->places + w * SN_CUDA_WARP;
    uint32_t first = t->first_entry[w], count = 0, base = (uint32_t)(w / SN_CUDA_WARPS) * SN_CUDA_TILE;
    for (uint32_t l = 0; l < SN_CUDA_WARP; l++)
      if (places[l] != 0xffff) sn_cuda_gather_deltas(&c, homes[base + places[l]], l, SN_CUDA_WARP, all, touched);
    for (uint32_t b = 0; b < basis_count; b++) count += touched[b];
    if (first + count > room) {
      room = 2 * (first + count);
      sn_cuda_entry *entries = (sn_cuda_entry *)realloc(t->entries, room * sizeof *entries);
      if (entries) t->entries = entries;
      uint16_t *deltas = (uint16_t *)realloc(t->deltas, room * row * sizeof *deltas);
      if (deltas) t->deltas = deltas;
      good = entries && deltas;
    }
    for (uint32_t b = 0; good && b < basis_count; b++) {
      if (!touched[b]) continue;
      store_entry(b, all + b * row, t->entries + first, t->deltas + (size_t)first * row);
      memset(all + b * row, 0, row * sizeof *all);
      touched[b] = 0, first++;
    }
    t->first_entry[w + 1] = first;
  }
  free(all), free(touched);
  return good;
}

// ---- recomputed normals: fans of neighbours within a tile and its halo -----------------------------------------------------

// Vertices of other tiles that a tile's fans touch; number_of[vertex] is their place among them, counted from 1.
typedef struct halo_list {
  uint32_t *number_of, *halo, count;
} halo_list;

// The number of a vertex within the tile or its halo.
static uint32_t local_number(uint32_t tile, uint32_t vertex, halo_list *h) {
  if (vertex / SN_CUDA_TILE == tile) return vertex % SN_CUDA_TILE;
  if (!h->number_of[vertex]) h->halo[h->count++] = vertex, h->number_of[vertex] = h->count;
  return SN_CUDA_TILE + h->number_of[vertex] - 1;
}

// Steps of one vertex; a row that is shorter than its warp's repeats its last neighbour, which changes nothing. A vertex
// without neighbours has only itself.
static int store_fan(const sn_cuda_fans *f, uint32_t tile, uint32_t vertex, uint32_t steps, halo_list *h,
                     uint16_t *out) {
  uint32_t own = sn_cuda_fan_size(f, vertex), number = vertex % SN_CUDA_TILE;
  for (uint32_t s = 0; s < steps; s++, out += SN_CUDA_WARP) {
    if (s < own) {
      uint32_t v = sn_cuda_fan_neighbour(f, (size_t)f->start[vertex / SN_RT_LANES] + s, vertex % SN_RT_LANES);
      number = local_number(tile, v, h);
    }
    if (number > 0xffff) return 0;
    *out = (uint16_t)number;
  }
  return 1;
}

// Which vertex each thread takes: a lane keeps its places modulo 32, so that a warp writes to shared memory without conflicts,
// and its eight vertices go to the warps by the number of their neighbours, so that a warp's fans are equally long.
static void sort_fans(const sn_cuda_fans *f, uint32_t tile, uint16_t *fan_places) {
  for (uint32_t lane = 0; lane < SN_CUDA_WARP; lane++) {
    uint32_t order[SN_CUDA_WARPS];
    for (uint32_t w = 0; w < SN_CUDA_WARPS; w++) {
      uint32_t i = w * SN_CUDA_WARP + lane, size = sn_cuda_fan_size(f, tile * SN_CUDA_TILE + i), at = w;
      for (; at > 0 && sn_cuda_fan_size(f, tile * SN_CUDA_TILE + order[at - 1]) > size; at--)
        order[at] = order[at - 1];
      order[at] = i;
    }
    for (uint32_t w = 0; w < SN_CUDA_WARPS; w++) fan_places[w * SN_CUDA_WARP + lane] = (uint16_t)order[w];
  }
}

static uint32_t warp_steps(const sn_cuda_fans *f, uint32_t tile, const uint16_t *fan_places) {
  uint32_t most = 0;
  for (uint32_t l = 0; l < SN_CUDA_WARP; l++) {
    uint32_t count = sn_cuda_fan_size(f, tile * SN_CUDA_TILE + fan_places[l]);
    if (count > most) most = count;
  }
  return most;
}

static int make_own(const int16_t (*own)[3][SN_RT_LANES], uint32_t vertex_count, sn_cuda_tiles *t) {
  t->own = (float *)calloc((size_t)t->tile_count * 3 * SN_CUDA_TILE, sizeof *t->own);
  if (!t->own) return 0;
  for (uint32_t n = 0; n < t->tile_count * SN_CUDA_TILE; n++) {
    uint32_t tile = n / SN_CUDA_TILE, vertex = tile * SN_CUDA_TILE + t->fan_places[n];
    for (uint32_t c = 0; c < 3 && vertex < vertex_count; c++)
      t->own[(tile * 3 + c) * (size_t)SN_CUDA_TILE + n % SN_CUDA_TILE] =
        SN_RT_OWN_UNIT * own[vertex / SN_RT_LANES][c][vertex % SN_RT_LANES];
  }
  return 1;
}

static int make_fans(const sn_rt_model *model, sn_cuda_tiles *t) {
  sn_cuda_fans f = sn_cuda_fans_of(model);
  size_t warps = (size_t)t->tile_count * SN_CUDA_WARPS, total = 0;
  t->first_step = (uint32_t *)calloc(warps + 1, sizeof *t->first_step);
  t->first_halo = (uint32_t *)calloc(t->tile_count + 1, sizeof *t->first_halo);
  t->fan_places = (uint16_t *)malloc(warps * SN_CUDA_WARP * sizeof *t->fan_places);
  if (!t->first_step || !t->first_halo || !t->fan_places) return 0;
  for (uint32_t tile = 0; tile < t->tile_count; tile++)
    sort_fans(&f, tile, t->fan_places + (size_t)tile * SN_CUDA_TILE);
  for (size_t w = 0; w < warps; w++) {
    total += warp_steps(&f, (uint32_t)(w / SN_CUDA_WARPS), t->fan_places + w * SN_CUDA_WARP);
    t->first_step[w + 1] = (uint32_t)total;
  }
  const int16_t(*own)[3][SN_RT_LANES] = (const int16_t(*)[3][SN_RT_LANES])sn_rt_data(model, SN_SECTION_SHADE_OWN);
  if (own && !make_own(own, f.vertex_count, t)) return 0;
  uint32_t *number_of = (uint32_t *)calloc(f.vertex_count, sizeof *number_of);
  t->steps = (uint16_t *)malloc((total + 1) * SN_CUDA_WARP * sizeof *t->steps);
  t->halo = (uint32_t *)malloc((total + 1) * SN_CUDA_WARP * sizeof *t->halo);
  int good = number_of && t->steps && t->halo ? 1 : 0;
  for (uint32_t tile = 0; good == 1 && tile < t->tile_count; tile++) {
    halo_list h = {number_of, t->halo + t->first_halo[tile], 0};
    for (uint32_t i = 0; i < SN_CUDA_TILE && good == 1; i++) {
      size_t w = (size_t)tile * SN_CUDA_WARPS + i / SN_CUDA_WARP;
      uint32_t steps = t->first_step[w + 1] - t->first_step[w];
      uint32_t vertex = tile * SN_CUDA_TILE + t->fan_places[(size_t)tile * SN_CUDA_TILE + i];
      uint16_t *out = t->steps + (size_t)t->first_step[w] * SN_CUDA_WARP + i % SN_CUDA_WARP;
      if (!store_fan(&f, tile, vertex, steps, &h, out)) good = -1;
    }
    for (uint32_t n = 0; n < h.count; n++) number_of[h.halo[n]] = 0;
    t->first_halo[tile + 1] = t->first_halo[tile] + h.count;
    if (h.count > t->most_halo) t->most_halo = h.count;
  }
  free(number_of);
  return good;
}

// ---- all of it ----------------------------------------------------------------------------------------------------------

static int make_room(const sn_rt_model *model, sn_cuda_tiles *t) {
  size_t slots = (size_t)t->tile_count * SN_CUDA_TILE, rows = slots * t->influences;
  t->first_joint = (uint32_t *)calloc(t->tile_count + 1, sizeof *t->first_joint);
  t->joints = (uint16_t *)malloc(rows * sizeof *t->joints);
  t->counts = (uint8_t *)calloc((size_t)t->tile_count * SN_CUDA_WARPS, 1);
  t->places = (uint16_t *)malloc(slots * sizeof *t->places);
  t->rest = (float *)calloc(slots * 6, sizeof *t->rest);
  t->weights = (float *)calloc(rows, sizeof *t->weights);
  t->locals = (uint16_t *)calloc(rows, sizeof *t->locals);
  bool limited = sn_rt_stored_corrections_of(model).limits != NULL, about = model->info.blend == SN_RT_BLEND_CENTRES;
  if (limited) t->limits = (float *)calloc(slots, sizeof *t->limits);
  if (about) t->centres = (float *)calloc(slots * 3, sizeof *t->centres);
  return (t->limits || !limited) && (t->centres || !about) && t->first_joint && t->joints && t->counts && t->places &&
         t->rest && t->weights && t->locals;
}

int sn_cuda_tiles_make(const sn_rt_model *model, sn_cuda_tiles *out) {
  uint32_t vertices = model->info.vertex_count;
  *out = (sn_cuda_tiles){.tile_count = vertices / SN_CUDA_TILE + (vertices % SN_CUDA_TILE != 0)};
  sn_cuda_home *homes = (sn_cuda_home *)malloc(vertices * sizeof *homes);
  uint16_t *local_of = (uint16_t *)malloc(model->info.palette_count * sizeof *local_of);
  int good = homes && local_of;
  if (good) sn_cuda_find_homes(model, homes), out->influences = sn_cuda_most_influences(model, homes);
  if (good) good = make_room(model, out);
  if (good) make_skin(model, homes, local_of, out);
  if (good && model->info.correct != SN_RT_CORRECT_NONE) good = make_corrections(model, homes, out);
  if (good && model->info.shade == SN_RT_SHADE_RECOMPUTE) good = make_fans(model, out);
  free(homes), free(local_of);
  if (good != 1) sn_cuda_tiles_free(out);
  return good;
}

void sn_cuda_tiles_free(sn_cuda_tiles *t) {
  void *owned[] = {t->centres,    t->limits,  t->first_joint, t->joints,      t->counts,     t->places,
                   t->rest,       t->weights, t->locals,      t->first_entry, t->entries,    t->deltas,
                   t->first_halo, t->halo,    t->first_step,  t->steps,       t->fan_places, t->own};
  for (size_t k = 0; k < sizeof owned / sizeof *owned; k++) free(owned[k]);
  memset(t, 0, sizeof *t);
}
