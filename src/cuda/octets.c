// SPDX-License-Identifier: MIT
// Octets of eight vertices from a model's tiles and corrections.
#include "cuda/octets.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/rows.h"

// Displacements are floats here, about four times their size in the file; beyond this many bytes the layout is not worth its
// memory.
static const size_t most_bytes = (size_t)1 << 28;

// ---- vertices of a tile, sorted by their joints ------------------------------------------------------------------------------

typedef struct member {
  sn_cuda_row row;
  uint16_t sorted[SN_RT_MAX_INFLUENCES]; // the row's joints in ascending order
  uint16_t place;
} member;

static int compare_joints(const void *a, const void *b) {
  uint16_t x = *(const uint16_t *)a, y = *(const uint16_t *)b;
  return (x > y) - (x < y);
}

static int compare_members(const void *a, const void *b) {
  const member *x = (const member *)a, *y = (const member *)b;
  for (int k = 0; k < SN_RT_MAX_INFLUENCES; k++)
    if (x->sorted[k] != y->sorted[k]) return x->sorted[k] < y->sorted[k] ? -1 : 1;
  return (x->place > y->place) - (x->place < y->place);
}

static uint32_t gather_members(const sn_rt_model *model, const sn_cuda_home *homes, uint32_t tile, member *members) {
  uint32_t first = tile * SN_CUDA_OCTET_TILE, count = 0;
  for (; count < SN_CUDA_OCTET_TILE && first + count < model->info.vertex_count; count++) {
    member *m = members + count;
    *m = (member){.row = sn_cuda_read_row(model, homes[first + count]), .place = (uint16_t)count};
    memset(m->sorted, 0xff, sizeof m->sorted);
    memcpy(m->sorted, m->row.joints, m->row.count * sizeof *m->sorted);
    qsort(m->sorted, m->row.count, sizeof *m->sorted, compare_joints);
  }
  qsort(members, count, sizeof *members, compare_members);
  return count;
}

// Vertex v of an octet but for its rest pose.
static void store_member(const member *m, size_t octet, uint32_t v, const uint16_t *local_of, sn_cuda_octets *o) {
  for (uint32_t k = 0; k < o->influences; k++) {
    size_t n = (octet * o->influences + k) * SN_CUDA_OCTET + v;
    o->weights[n] = k < m->row.count ? m->row.weights[k] : 0;
    o->locals[n] = local_of[m->row.joints[k < m->row.count ? k : 0]];
  }
  if (m->row.count > o->counts[octet]) o->counts[octet] = (uint8_t)m->row.count;
  o->places[octet * SN_CUDA_OCTET + v] = m->place;
}

static void make_tile(const sn_rt_model *model, const sn_cuda_home *homes, uint32_t tile, uint16_t *local_of,
                      sn_cuda_octets *o) {
  member members[SN_CUDA_OCTET_TILE];
  uint32_t count = gather_members(model, homes, tile, members), first = o->first_joint[tile], used = 0;
  memset(local_of, 0xff, model->info.palette_count * sizeof *local_of);
  for (uint32_t n = 0; n < count; n++) {
    size_t octet = (size_t)tile * SN_CUDA_TILE_OCTETS + n / SN_CUDA_OCTET;
    float *rest = o->rest + (octet * SN_CUDA_OCTET + n % SN_CUDA_OCTET) * 8;
    sn_cuda_read_rest(model, homes[tile * SN_CUDA_OCTET_TILE + members[n].place], rest, rest + 4, rest + 3);
    sn_cuda_number_joints(&members[n].row, local_of, o->joints + first, &used);
    store_member(members + n, octet, n % SN_CUDA_OCTET, local_of, o);
  }
  o->first_joint[tile + 1] = first + used;
  if (used > o->most_joints) o->most_joints = used;
}

static int make_tiles(const sn_rt_model *model, const sn_cuda_home *homes, sn_cuda_octets *o) {
  size_t octets = (size_t)o->tile_count * SN_CUDA_TILE_OCTETS, vertices = octets * SN_CUDA_OCTET;
  o->influences = sn_cuda_most_influences(model, homes);
  uint16_t *local_of = (uint16_t *)malloc(model->info.palette_count * sizeof *local_of);
  o->first_joint = (uint32_t *)calloc(o->tile_count + 1, sizeof *o->first_joint);
  o->joints = (uint16_t *)malloc(vertices * o->influences * sizeof *o->joints);
  o->counts = (uint8_t *)calloc(octets, 1);
  o->places = (uint16_t *)malloc(vertices * sizeof *o->places);
  o->rest = (float *)calloc(vertices, 8 * sizeof *o->rest);
  o->weights = (float *)calloc(vertices * o->influences, sizeof *o->weights);
  o->locals = (uint16_t *)calloc(vertices * o->influences, sizeof *o->locals);
  int good = local_of && o->first_joint && o->joints && o->counts && o->places && o->rest && o->weights && o->locals;
  if (good) memset(o->places, 0xff, vertices * sizeof *o->places);
  for (uint32_t tile = 0; good && tile < o->tile_count; tile++) make_tile(model, homes, tile, local_of, o);
  free(local_of);
  return good;
}

// ---- displacements ---------------------------------------------------------------------------------------------------------

typedef struct gathered {
  float *all; // [basis][6][8]
  uint8_t *touched;
  size_t room; // of o->bases
} gathered;

// Column k of the three matrices: basis `deltas` is [6][8].
static void store_column(const float *deltas, uint32_t k, sn_cuda_bases *to) {
  for (uint32_t c = 0; c < 3; c++)
    for (uint32_t v = 0; v < SN_CUDA_OCTET; v++) {
      uint32_t lane = 4 * v + k % 4, r = k / 4 * 2;
      to->deltas[c][lane][r] = deltas[c * SN_CUDA_OCTET + v];
      to->deltas[c][lane][r + 1] = deltas[(3 + c) * SN_CUDA_OCTET + v];
    }
}

static int add_bases(uint32_t basis_count, size_t octet, gathered *g, sn_cuda_octets *o) {
  uint32_t next = o->first_bases[octet], k = 0;
  for (uint32_t b = 0; b < basis_count; b++) {
    if (!g->touched[b]) continue;
    float *deltas = g->all + (size_t)b * 6 * SN_CUDA_OCTET;
    if (k == 0 && next == g->room) {
      sn_cuda_bases *larger = (sn_cuda_bases *)realloc(o->bases, (2 * g->room + 64) * sizeof *larger);
      if (!larger) return 0;
      o->bases = larger, g->room = 2 * g->room + 64;
    }
    if (k == 0) o->bases[next++] = (sn_cuda_bases){0};
    store_column(deltas, k, o->bases + next - 1);
    for (uint32_t n = k; n < 8; n++) o->bases[next - 1].bases[n] = b;
    memset(deltas, 0, 6 * SN_CUDA_OCTET * sizeof *deltas);
    g->touched[b] = 0, k = (k + 1) % 8;
  }
  o->first_bases[octet + 1] = next;
  return next * sizeof *o->bases > most_bytes ? -1 : 1;
}

static int make_bases(const sn_rt_model *model, const sn_cuda_home *homes, sn_cuda_octets *o) {
  const sn_rt_correct_head *head = (const sn_rt_correct_head *)sn_rt_data(model, SN_SECTION_CORRECT_HEAD);
  sn_rt_stored_corrections c = sn_rt_stored_corrections_of(model);
  size_t octets = (size_t)o->tile_count * SN_CUDA_TILE_OCTETS, count = head->basis_count ? head->basis_count : 1;
  gathered g = {(float *)calloc(count * 6 * SN_CUDA_OCTET, sizeof *g.all), (uint8_t *)calloc(count, 1), 0};
  o->first_bases = (uint32_t *)calloc(octets + 1, sizeof *o->first_bases);
  int good = g.all && g.touched && o->first_bases;
  for (size_t octet = 0; good == 1 && octet < octets; octet++) {
    for (uint32_t v = 0; v < SN_CUDA_OCTET; v++) {
      uint16_t place = o->places[octet * SN_CUDA_OCTET + v];
      if (place == 0xffff) continue;
      sn_cuda_gather_deltas(&c, homes[octet / SN_CUDA_TILE_OCTETS * SN_CUDA_OCTET_TILE + place], v, SN_CUDA_OCTET,
                            g.all, g.touched);
    }
    good = add_bases(head->basis_count, octet, &g, o);
  }
  free(g.all), free(g.touched);
  return good;
}

// ---- all of it ----------------------------------------------------------------------------------------------------------

int sn_cuda_octets_make(const sn_rt_model *model, sn_cuda_octets *out) {
  *out = (sn_cuda_octets){0};
  if (model->info.correct == SN_RT_CORRECT_NONE || model->info.blend == SN_RT_BLEND_CENTRES) return 1;
  uint32_t vertices = model->info.vertex_count;
  out->tile_count = (vertices + SN_CUDA_OCTET_TILE - 1) / SN_CUDA_OCTET_TILE;
  sn_cuda_home *homes = (sn_cuda_home *)malloc(vertices * sizeof *homes);
  int good = homes != NULL;
  if (good) sn_cuda_find_homes(model, homes), good = make_tiles(model, homes, out);
  if (good) good = make_bases(model, homes, out);
  free(homes);
  if (good != 1 || !out->bases) sn_cuda_octets_free(out);
  return good != 0;
}

void sn_cuda_octets_free(sn_cuda_octets *o) {
  void *owned[] = {o->first_joint, o->joints, o->counts,      o->places, o->rest,
                   o->weights,     o->locals, o->first_bases, o->bases};
  for (size_t k = 0; k < sizeof owned / sizeof *owned; k++) free(owned[k]);
  memset(o, 0, sizeof *o);
}
