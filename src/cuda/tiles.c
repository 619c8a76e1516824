// SPDX-License-Identifier: MIT
// Tiles of a model's vertices, their groups and the displacements of octets.
#include "cuda/tiles.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/rows.h"

// ---- vertices of a tile, sorted by their joints ------------------------------------------------------------------------------

typedef struct member {
  sn_cuda_row row;
  uint16_t sorted[SN_RT_MAX_INFLUENCES]; // the row's joints in ascending order
  uint32_t vertex;
} member;

static int compare_joints(const void *a, const void *b) {
  uint16_t x = *(const uint16_t *)a, y = *(const uint16_t *)b;
  return (x > y) - (x < y);
}

static int compare_members(const void *a, const void *b) {
  const member *x = (const member *)a, *y = (const member *)b;
  if (x->row.count != y->row.count) return x->row.count < y->row.count ? -1 : 1;
  for (int k = 0; k < SN_RT_MAX_INFLUENCES; k++)
    if (x->sorted[k] != y->sorted[k]) return x->sorted[k] < y->sorted[k] ? -1 : 1;
  return (x->vertex > y->vertex) - (x->vertex < y->vertex);
}

// All vertices, sorted by their joints in runs of `run` vertices.
static member *make_members(const sn_rt_model *model, const sn_cuda_home *homes, uint32_t run) {
  const uint32_t count = model->info.vertex_count;
  member *members = (member *)malloc(count * sizeof *members);
  for (uint32_t n = 0; members && n < count; n++) {
    member *m = members + n;
    *m = (member){.row = sn_cuda_read_row(model, homes[n]), .vertex = n};
    memset(m->sorted, 0xff, sizeof m->sorted);
    memcpy(m->sorted, m->row.joints, m->row.count * sizeof *m->sorted);
    qsort(m->sorted, m->row.count, sizeof *m->sorted, compare_joints);
  }
  for (uint32_t n = 0; members && n < count; n += run)
    qsort(members + n, count - n < run ? count - n : run, sizeof *members, compare_members);
  return members;
}

static void store_member(const sn_rt_model *model, sn_cuda_home at, const member *m, size_t slot,
                         const uint16_t *local_of, sn_cuda_tiles *t) {
  const float(*centres)[3][SN_RT_LANES] = (const float(*)[3][SN_RT_LANES])sn_rt_data(model, SN_SECTION_SKIN_CENTRES);
  size_t group = slot / t->group;
  for (uint32_t k = 0; k < t->influences; k++) {
    t->weights[slot * t->influences + k] = k < m->row.count ? m->row.weights[k] : 0;
    t->locals[slot * t->influences + k] = local_of[m->row.joints[k < m->row.count ? k : 0]];
  }
  if (m->row.count > t->counts[group]) t->counts[group] = (uint8_t)m->row.count;
  t->vertices[slot] = m->vertex;
  sn_cuda_read_rest(model, at, t->rest + 8 * slot, t->rest + 8 * slot + 4, t->rest + 8 * slot + 3);
  for (uint32_t c = 0; t->centres && c < 3; c++) t->centres[3 * slot + c] = centres[at.block][c][at.lane];
}

static void make_tile(const sn_rt_model *model, const sn_cuda_home *homes, const member *members, uint32_t tile,
                      uint16_t *local_of, sn_cuda_tiles *t) {
  uint32_t size = t->group * SN_CUDA_TILE_GROUPS, begin = tile * size, left = model->info.vertex_count - begin,
           used = 0;
  const uint32_t first = t->first_joint[tile];
  memset(local_of, 0xff, model->info.palette_count * sizeof *local_of);
  for (uint32_t n = begin; n < begin + (left < size ? left : size); n++) {
    sn_cuda_number_joints(&members[n].row, local_of, t->joints + first, &used);
    store_member(model, homes[members[n].vertex], members + n, n, local_of, t);
  }
  t->first_joint[tile + 1] = first + used;
  if (used > t->most_joints) t->most_joints = used;
}

static int make_groups(const sn_rt_model *model, const sn_cuda_home *homes, const member *members, sn_cuda_tiles *t) {
  size_t groups = (size_t)t->tile_count * SN_CUDA_TILE_GROUPS, slots = groups * t->group;
  const bool about = model->info.blend == SN_RT_BLEND_CENTRES;
  t->influences = (sn_cuda_most_influences(model, homes) + 3) / 4 * 4;
  uint16_t *local_of = (uint16_t *)malloc(model->info.palette_count * sizeof *local_of);
  t->first_joint = (uint32_t *)calloc(t->tile_count + 1, sizeof *t->first_joint);
  t->joints = (uint16_t *)malloc(slots * t->influences * sizeof *t->joints);
  t->counts = (uint8_t *)calloc(groups, 1);
  t->vertices = (uint32_t *)malloc(slots * sizeof *t->vertices);
  t->rest = (float *)calloc(slots, 8 * sizeof *t->rest);
  t->weights = (float *)calloc(slots * t->influences, sizeof *t->weights);
  t->locals = (uint16_t *)calloc(slots * t->influences, sizeof *t->locals);
  if (about) t->centres = (float *)calloc(slots, 3 * sizeof *t->centres);
  int good = (t->centres || !about) && local_of && t->first_joint && t->joints && t->counts && t->vertices &&
             t->rest && t->weights && t->locals;
  if (good) memset(t->vertices, 0xff, slots * sizeof *t->vertices);
  for (uint32_t tile = 0; good && tile < t->tile_count; tile++) make_tile(model, homes, members, tile, local_of, t);
  free(local_of);
  return good;
}

// ---- displacements ---------------------------------------------------------------------------------------------------------

typedef struct gathered {
  float *all; // [basis][6][8]
  uint8_t *touched;
  size_t room; // of t->bases
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

static int add_bases(uint32_t basis_count, size_t octet, gathered *g, sn_cuda_tiles *t) {
  uint32_t next = t->first_bases[octet], k = 0;
  for (uint32_t b = 0; b < basis_count; b++) {
    if (!g->touched[b]) continue;
    float *deltas = g->all + (size_t)b * 6 * SN_CUDA_OCTET;
    if (k == 0 && next == g->room) {
      sn_cuda_bases *larger = (sn_cuda_bases *)realloc(t->bases, (2 * g->room + 64) * sizeof *larger);
      if (!larger) return 0;
      t->bases = larger, g->room = 2 * g->room + 64;
    }
    if (k == 0) t->bases[next++] = (sn_cuda_bases){0};
    store_column(deltas, k, t->bases + next - 1);
    for (uint32_t n = k; n < 8; n++) t->bases[next - 1].bases[n] = b;
    memset(deltas, 0, 6 * SN_CUDA_OCTET * sizeof *deltas);
    g->touched[b] = 0, k = (k + 1) % 8;
  }
  t->first_bases[octet + 1] = next;
  return 1;
}

static int make_bases(const sn_rt_model *model, const sn_cuda_home *homes, sn_cuda_tiles *t) {
  const sn_rt_correct_head *head = (const sn_rt_correct_head *)sn_rt_data(model, SN_SECTION_CORRECT_HEAD);
  const uint32_t basis_count = model->info.correct == SN_RT_CORRECT_NONE ? 0 : head->basis_count;
  size_t octets = (size_t)t->tile_count * SN_CUDA_TILE_GROUPS;
  t->first_bases = (uint32_t *)calloc(octets + 1, sizeof *t->first_bases);
  if (!t->first_bases || !basis_count) return t->first_bases != NULL;
  sn_rt_stored_corrections c = sn_rt_stored_corrections_of(model);
  gathered g = {(float *)calloc(basis_count, 6 * SN_CUDA_OCTET * sizeof *g.all), (uint8_t *)calloc(basis_count, 1),
                0};
  int good = g.all && g.touched;
  for (size_t octet = 0; good && octet < octets; octet++) {
    for (uint32_t v = 0; v < SN_CUDA_OCTET; v++) {
      uint32_t vertex = t->vertices[octet * SN_CUDA_OCTET + v];
      if (vertex == SN_CUDA_NO_VERTEX) continue;
      sn_cuda_gather_deltas(&c, homes[vertex], v, SN_CUDA_OCTET, g.all, g.touched);
    }
    good = add_bases(basis_count, octet, &g, t);
  }
  free(g.all), free(g.touched);
  return good;
}

// ---- all of it ----------------------------------------------------------------------------------------------------------

int sn_cuda_tiles_make(const sn_rt_model *model, sn_cuda_tiles *out) {
  const bool rows = model->info.shade == SN_RT_SHADE_RECOMPUTE,
             octets = model->info.correct != SN_RT_CORRECT_NONE || rows;
  const uint32_t vertices = model->info.vertex_count, size = octets ? SN_CUDA_OCTET_TILE : SN_CUDA_WARP_TILE;
  *out = (sn_cuda_tiles){.group = size / SN_CUDA_TILE_GROUPS, .tile_count = vertices / size + (vertices % size != 0)};
  sn_cuda_home *homes = (sn_cuda_home *)malloc(vertices * sizeof *homes);
  if (homes) sn_cuda_find_homes(model, homes);
  member *members = homes ? make_members(model, homes, rows ? vertices : size) : NULL;
  int good = members && make_groups(model, homes, members, out) && (!octets || make_bases(model, homes, out));
  free(homes), free(members);
  if (!good) sn_cuda_tiles_free(out);
  return good;
}

void sn_cuda_tiles_free(sn_cuda_tiles *t) {
  void *owned[] = {t->first_joint, t->joints, t->counts,  t->vertices,    t->rest,
                   t->weights,     t->locals, t->centres, t->first_bases, t->bases};
  for (size_t k = 0; k < sizeof owned / sizeof *owned; k++) free(owned[k]);
  memset(t, 0, sizeof *t);
}
