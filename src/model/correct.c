// SPDX-License-Identifier: MIT
// Encodes corrections in blocks of eight vertices, sorted by the bases that displace them; adds corrections to a finished model.
#include "base/scope.h"
#include "model/parts.h"
#include "runtime/packed.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int row_of(const sn_model_corrections *c, int vertex) { return c->rows ? c->rows[vertex] : vertex; }

// The displacement of a vertex by a basis; NULL if there is none.
static const float *delta_of(const sn_model_corrections *c, int basis, int vertex) {
  int row = row_of(c, vertex), place = basis;
  if (basis >= c->groups.common && c->groups.first) {
    const int *first = c->groups.first + c->groups.group_of[row];
    if (basis < first[0] || basis >= first[1]) return NULL;
    place = c->groups.common + basis - first[0];
  }
  const float *d = c->deltas[(size_t)place * (size_t)c->row_count + (size_t)row];
  bool still = sn_vec3_length(sn_vec3_from(d)) <= c->least && sn_vec3_length(sn_vec3_from(d + 3)) <= c->least_normal;
  return still ? NULL : d;
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
  SN_SCRATCH(scratch, ctx);
  slot *slots = SN_NEW(ctx, &scratch, slot, count);
  if (!slots) return ctx->error.status;
  for (int n = 0; n < count; n++) {
    slots[n] = (slot){.place = n, .vertex = vertices[n]};
    if (c->groups.first) slots[n].group = c->groups.group_of[row_of(c, vertices[n])];
    for (int b = 0; b < c->basis_count && b < 64; b++)
      if (delta_of(c, b, vertices[n])) slots[n].bases |= (uint64_t)1 << b;
  }
  qsort(slots, (size_t)count, sizeof *slots, compare_slots);
  for (int n = 0; n < count; n++) vertices[n] = slots[n].vertex;
  return SN_OK;
}

// ---- entries --------------------------------------------------------------------------------------------------------

typedef struct encoder {
  sn_section_list *list;
  const sn_model_corrections *c;
  const sn_correct_blocks *blocks;
  sn_rt_correct_head head;   // of the model that is extended, whose corrections come first; zeros: none
  const uint32_t *old_start; // its entries
  const sn_rt_correct_entry *old_entries;
  const int16_t (*old_deltas)[6][SN_RT_LANES];
} encoder;

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

static void encode_entry(const encoder *e, const int *vertices, int basis, sn_rt_correct_entry *entry,
                         int16_t (*out)[SN_RT_LANES]) {
  const float *deltas[SN_RT_LANES];
  for (int l = 0; l < SN_RT_LANES; l++) deltas[l] = delta_of(e->c, basis, vertices[l]);
  *entry = (sn_rt_correct_entry){.basis = (uint16_t)(e->head.basis_count + (uint32_t)basis),
                                 .position = largest_of(deltas, 0) / 32767,
                                 .normal = largest_of(deltas, 3) / 32767};
  for (int l = 0; l < SN_RT_LANES; l++)
    for (int c = 0; deltas[l] && c < 6; c++) {
      float unit = c < 3 ? entry->position : entry->normal;
      out[c][l] = (int16_t)(unit > 0 ? lrintf(deltas[l][c] / unit) : 0);
    }
}

static uint32_t old_count(const encoder *e, uint32_t block) {
  return e->old_start ? e->old_start[block + 1] - e->old_start[block] : 0;
}

// Fills in the first entry of every block, and returns the number of entries.
static uint64_t count_entries(const encoder *e, uint32_t *start) {
  uint64_t count = 0;
  for (uint32_t b = 0; b < e->blocks->count && count <= UINT32_MAX; b++) {
    count += old_count(e, b);
    for (int basis = 0; basis < e->c->basis_count; basis++) count += !is_empty(e->c, e->blocks->vertices[b], basis);
    start[b + 1] = (uint32_t)count;
  }
  return count;
}

// The entries of a block: those of the extended model, then the new ones.
static void encode_block(const encoder *e, uint32_t block, sn_rt_correct_entry *entries,
                         int16_t (*deltas)[6][SN_RT_LANES]) {
  const int *vertices = e->blocks->vertices[block];
  uint32_t n = old_count(e, block);
  if (n) memcpy(entries, e->old_entries + e->old_start[block], n * sizeof *entries);
  if (n) memcpy(deltas, e->old_deltas + e->old_start[block], n * sizeof *deltas);
  for (int basis = 0; basis < e->c->basis_count; basis++)
    if (!is_empty(e->c, vertices, basis)) encode_entry(e, vertices, basis, entries + n, deltas[n]), n++;
}

// ---- sections -------------------------------------------------------------------------------------------------------

static void *new_section(const encoder *e, sn_rt_section_id id, uint64_t count, size_t size) {
  return sn_section_new(e->list, id, count, size, SN_RT_SECTION_REQUIRED);
}

static uint64_t old_size(const encoder *e, sn_rt_section_id id) {
  return e->blocks->before ? sn_rt_size(e->blocks->before, id) : 0;
}

// The bytes of the extended model, then the new ones. Nothing if there are no new ones.
static void *add_pose_space(const encoder *e, sn_rt_section_id id, const sn_model_section *more) {
  uint64_t old = old_size(e, id);
  uint8_t *out = new_section(e, id, old + more->size, 1);
  if (out && old) memcpy(out, sn_rt_data(e->blocks->before, id), old);
  return out && more->size ? memcpy(out + old, more->bytes, more->size) : NULL;
}

static void add_pose_spaces(const encoder *e) {
  static const sn_rt_section_id ids[] = {SN_SECTION_CORRECT_FIELDS, SN_SECTION_CORRECT_JOINTS,
                                         SN_SECTION_CORRECT_NUMBERS, SN_SECTION_CORRECT_TERMS,
                                         SN_SECTION_CORRECT_MIX};
  const sn_model_section *spaces = e->c->pose_spaces;
  sn_rt_field *fields = add_pose_space(e, ids[0], spaces);
  for (int f = 0; fields && f < e->c->field_count; f++) {
    fields[f].first_basis += e->head.basis_count;
    fields[f].first_joint += (uint32_t)(old_size(e, SN_SECTION_CORRECT_JOINTS) / sizeof(uint16_t));
    if (fields[f].kernel != SN_RT_KERNEL_SUM)
      fields[f].first_number += (uint32_t)(old_size(e, SN_SECTION_CORRECT_NUMBERS) / sizeof(double));
  }
  for (int n = 1; n < 5; n++)
    if (spaces[n].size > 0) add_pose_space(e, ids[n], spaces + n);
}

static void add_limits(const encoder *e) {
  const float(*old)[SN_RT_LANES] = e->old_start ? sn_rt_data(e->blocks->before, SN_SECTION_CORRECT_LIMITS) : NULL;
  if (!e->c->limits || (e->old_start && !old)) return;
  float(*limits)[SN_RT_LANES] = new_section(e, SN_SECTION_CORRECT_LIMITS, e->blocks->count, sizeof *limits);
  for (uint32_t b = 0; limits && b < e->blocks->count; b++)
    for (int l = 0; l < SN_RT_LANES; l++)
      limits[b][l] = (old ? old[b][l] : 0) + e->c->limits[row_of(e->c, e->blocks->vertices[b][l])];
}

void sn_correct_encode(sn_section_list *list, const sn_model_corrections *c, const sn_correct_blocks *blocks) {
  encoder e = {.list = list, .c = c, .blocks = blocks};
  if (blocks->before && blocks->before->info.correct != SN_RT_CORRECT_NONE) {
    memcpy(&e.head, sn_rt_data(blocks->before, SN_SECTION_CORRECT_HEAD), sizeof e.head);
    e.old_start = sn_rt_data(blocks->before, SN_SECTION_CORRECT_START);
    e.old_entries = sn_rt_data(blocks->before, SN_SECTION_CORRECT_ENTRIES);
    e.old_deltas = sn_rt_data(blocks->before, SN_SECTION_CORRECT_DELTAS);
  }
  uint32_t bases = e.head.basis_count + (uint32_t)c->basis_count;
  sn_rt_correct_head *head = new_section(&e, SN_SECTION_CORRECT_HEAD, 1, sizeof *head);
  add_pose_spaces(&e);
  uint32_t *start = new_section(&e, SN_SECTION_CORRECT_START, (uint64_t)blocks->count + 1, sizeof *start);
  uint64_t count = start ? count_entries(&e, start) : 0;
  if (bases > 65535 || count > UINT32_MAX)
    list->status = sn_fail(list->ctx, SN_BAD_INPUT,
                           "a model has at most 65535 correction fields and %u of their blocks, not %u and %" PRIu64,
                           UINT32_MAX, bases, count);
  sn_rt_correct_entry *entries = new_section(&e, SN_SECTION_CORRECT_ENTRIES, count, sizeof *entries);
  int16_t(*deltas)[6][SN_RT_LANES] = new_section(&e, SN_SECTION_CORRECT_DELTAS, count, sizeof *deltas);
  if (!deltas) return;
  for (uint32_t b = 0; b < blocks->count; b++) encode_block(&e, b, entries + start[b], deltas + start[b]);
  *head = e.old_start ? e.head
                      : (sn_rt_correct_head){.order = c->forward ? SN_RT_ORDER_FORWARD : SN_RT_ORDER_INVERSE,
                                             .limit_after = c->limit_after};
  head->field_count += (uint32_t)c->field_count;
  head->basis_count = bases, head->entry_count = (uint32_t)count;
  add_limits(&e);
}

// ---- a finished model ------------------------------------------------------------------------------------------------

sn_status sn_model_extend(sn_context *ctx, const sn_rt_model *model, const sn_model_corrections *more,
                          const sn_model_section *given, int given_count, sn_model *out) {
  *out = (sn_model){0};
  sn_arena memory = sn_arena_new(ctx);
  sn_section_list made = {.ctx = ctx, .memory = &memory};
  int(*vertices)[SN_RT_LANES] = sn_section_alloc(&made, model->info.block_count, sizeof *vertices);
  for (sn_rt_block b = {0}; vertices && sn_rt_next_block(model, &b);)
    for (int l = 0; l < SN_RT_LANES; l++) vertices[b.block][l] = (int)b.vertex[l];
  const sn_correct_blocks blocks = {(const int(*)[SN_RT_LANES])vertices, model->info.block_count, model};
  if (more && vertices) sn_correct_encode(&made, more, &blocks);
  for (int s = 0; s < given_count; s++) sn_section_add_given(&made, given + s);
  sn_section_list list = {.ctx = ctx, .status = made.status, .instead = &made};
  sn_rt_header header = sn_sections_rewrite(&list, model, NULL, 0, NULL);
  for (const sn_section *s = made.sections; s < made.sections + made.count; s++)
    sn_section_add(&list, s->name, s->bytes, s->size, s->flags);
  if (more && header.correct == SN_RT_CORRECT_NONE) header.correct = (uint8_t)more->kind;
  sn_status status = sn_sections_assemble(&list, header, out);
  sn_arena_free(&memory);
  return status;
}
