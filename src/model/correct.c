// SPDX-License-Identifier: MIT
// Corrections as blocks of eight vertices, sorted by the bases that move them.
#include "model/correct.h"

#include <math.h>
#include <stdlib.h>

static double length3(const float *v) {
  return sqrt((double)v[0] * v[0] + (double)v[1] * v[1] + (double)v[2] * v[2]);
}

// The displacement of a vertex by a basis; NULL where there is none.
static const float *delta_of(const sn_model_corrections *c, int basis, int vertex) {
  int row = c->rows ? c->rows[vertex] : vertex, place = basis;
  if (basis >= c->groups.common && c->groups.first) {
    const int *first = c->groups.first + c->groups.group_of[row];
    if (basis < first[0] || basis >= first[1]) return NULL;
    place = c->groups.common + basis - first[0];
  }
  const float *d = c->deltas[(size_t)place * (size_t)c->row_count + (size_t)row];
  return length3(d) <= c->least && length3(d + 3) <= c->least_normal ? NULL : d;
}

// ---- order of the vertices ------------------------------------------------------------------------------------------

typedef struct slot {
  int group;
  uint64_t bases; // the first 64
  int place, vertex;
} slot;

static int compare_slots(const void *a, const void *b) {
  const slot *x = a, *y = b;
  if (x->group != y->group) return x->group < y->group ? -1 : 1;
  return x->bases != y->bases ? (x->bases < y->bases ? -1 : 1) : x->place - y->place;
}

sn_status sn_correct_arrange(sn_context *ctx, const sn_model_corrections *c, int *vertices, int count) {
  sn_arena scratch = sn_arena_new(ctx);
  slot *slots = SN_NEW(ctx, &scratch, slot, count);
  for (int n = 0; slots && n < count; n++) {
    slots[n] = (slot){.place = n, .vertex = vertices[n]};
    if (c->groups.first) slots[n].group = c->groups.group_of[c->rows ? c->rows[vertices[n]] : vertices[n]];
    for (int b = 0; b < c->basis_count && b < 64; b++)
      if (delta_of(c, b, vertices[n])) slots[n].bases |= (uint64_t)1 << b;
  }
  if (slots) qsort(slots, (size_t)count, sizeof *slots, compare_slots);
  for (int n = 0; slots && n < count; n++) vertices[n] = slots[n].vertex;
  sn_arena_free(&scratch);
  return slots ? SN_OK : ctx->error.status;
}

// ---- entries --------------------------------------------------------------------------------------------------------

static float largest_of(const float *const *deltas, int first) {
  float largest = 0;
  for (int l = 0; l < SN_RT_LANES; l++)
    for (int c = first; deltas[l] && c < first + 3; c++) largest = fmaxf(largest, fabsf(deltas[l][c]));
  return largest;
}

static bool is_empty(const sn_model_corrections *c, const int *vertices, int basis) {
  for (int l = 0; l < SN_RT_LANES; l++)
    if (delta_of(c, basis, vertices[l])) return false;
  return true;
}

// One entry; false where it is not kept. With NULL only looks.
static bool encode_entry(const sn_model_corrections *corrections, const int *vertices, int basis,
                         sn_rt_correct_entry *entry, int16_t (*out)[SN_RT_LANES]) {
  const float *deltas[SN_RT_LANES];
  if (is_empty(corrections, vertices, basis)) return false;
  if (!entry) return true;
  for (int l = 0; l < SN_RT_LANES; l++) deltas[l] = delta_of(corrections, basis, vertices[l]);
  *entry = (sn_rt_correct_entry){(uint16_t)basis, 0, largest_of(deltas, 0) / 32767, largest_of(deltas, 3) / 32767};
  for (int l = 0; l < SN_RT_LANES; l++)
    for (int c = 0; deltas[l] && c < 6; c++) {
      float unit = c < 3 ? entry->position : entry->normal;
      out[c][l] = (int16_t)(unit > 0 ? lrintf(deltas[l][c] / unit) : 0);
    }
  return true;
}

static sn_status count_entries(sn_context *ctx, const sn_model_corrections *c, const int (*vertices)[SN_RT_LANES],
                               uint32_t block_count, uint32_t *start) {
  uint64_t count = 0;
  for (uint32_t b = 0; b < block_count; b++) {
    for (int basis = 0; basis < c->basis_count; basis++) count += encode_entry(c, vertices[b], basis, NULL, NULL);
    if (count > UINT32_MAX) return sn_fail(ctx, SN_BAD_INPUT, "too many corrections for a model");
    start[b + 1] = (uint32_t)count;
  }
  return SN_OK;
}

static sn_model_section section(sn_rt_section_id id, const void *bytes, size_t size) {
  return (sn_model_section){sn_rt_section_name(id), bytes, size, true};
}

static sn_status encode_limits(sn_context *ctx, sn_arena *memory, const sn_model_corrections *c,
                               const int (*vertices)[SN_RT_LANES], uint32_t block_count, sn_correct_sections *out) {
  float(*limits)[SN_RT_LANES] = sn_arena_alloc(ctx, memory, block_count, sizeof *limits);
  if (!limits) return ctx->error.status;
  for (uint32_t b = 0; b < block_count; b++)
    for (int l = 0; l < SN_RT_LANES; l++)
      limits[b][l] = c->limits[c->rows ? c->rows[vertices[b][l]] : vertices[b][l]];
  out->blocks[out->block_section_count++] = section(SN_SECTION_CORRECT_LIMITS, limits, block_count * sizeof *limits);
  return SN_OK;
}

sn_status sn_correct_encode(sn_context *ctx, sn_arena *memory, const sn_model_corrections *c,
                            const int (*vertices)[SN_RT_LANES], uint32_t block_count, sn_correct_sections *out) {
  if (c->basis_count > 65535)
    return sn_fail(ctx, SN_BAD_INPUT, "%d correction fields are more than the 65535 a model can have",
                   c->basis_count);
  uint32_t *start = SN_NEW(ctx, memory, uint32_t, (size_t)block_count + 1);
  if (!start) return ctx->error.status;
  sn_status status = count_entries(ctx, c, vertices, block_count, start);
  if (status != SN_OK) return status;
  size_t count = start[block_count];
  sn_rt_correct_entry *entries = SN_NEW(ctx, memory, sn_rt_correct_entry, count);
  int16_t(*deltas)[6][SN_RT_LANES] = sn_arena_alloc(ctx, memory, count, sizeof *deltas);
  if (!entries || !deltas) return ctx->error.status;
  for (uint32_t b = 0; b < block_count; b++) {
    uint32_t at = start[b];
    for (int basis = 0; at < start[b + 1]; basis++)
      at += encode_entry(c, vertices[b], basis, entries + at, deltas[at]);
  }
  out->head = (sn_rt_correct_head){.order = c->forward ? SN_RT_ORDER_FORWARD : SN_RT_ORDER_INVERSE,
                                   .field_count = (uint32_t)c->field_count,
                                   .basis_count = (uint32_t)c->basis_count,
                                   .entry_count = (uint32_t)count,
                                   .limit_after = c->limit_after};
  out->head_section = section(SN_SECTION_CORRECT_HEAD, &out->head, sizeof out->head);
  out->blocks[0] = section(SN_SECTION_CORRECT_START, start, ((size_t)block_count + 1) * sizeof *start);
  out->blocks[1] = section(SN_SECTION_CORRECT_ENTRIES, entries, count * sizeof *entries);
  out->blocks[2] = section(SN_SECTION_CORRECT_DELTAS, deltas, count * sizeof *deltas);
  out->block_section_count = 3;
  return c->limits ? encode_limits(ctx, memory, c, vertices, block_count, out) : SN_OK;
}
