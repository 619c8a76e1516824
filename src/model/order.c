// SPDX-License-Identifier: MIT
// Reorders the vertices of a finished model: by its blocks, or back to the rest file's order. Sections in block order do not
// change, nor does control.points, which has indices of the file.
#include <string.h>

#include "base/scope.h"
#include "model/parts.h"
#include "runtime/packed.h"

enum { lanes = SN_RT_LANES, unnumbered = UINT32_MAX };

typedef struct renumberer {
  const sn_rt_model *model;
  uint32_t *new_of, *old_of; // numbers of vertices
  sn_arena memory;
  sn_section_list list;
} renumberer;

static const uint32_t *order_of(const sn_rt_model *model) { return sn_rt_data(model, SN_SECTION_MESH_ORDER); }

// ---- new numbers ----------------------------------------------------------------------------------------------------

// Whether none of a block's eight vertices has a new number yet.
static bool is_full(const uint32_t *new_of, const uint32_t *vertex) {
  for (int l = 0; l < lanes; l++) {
    if (new_of[vertex[l]] != unnumbered) return false;
    for (int m = 0; m < l; m++)
      if (vertex[m] == vertex[l]) return false;
  }
  return true;
}

// Numbers vertices in the order of their first block within the chunk, full blocks first: their outputs are aligned to 32
// bytes if the chunk's is.
static void number_by_blocks(renumberer *r) {
  uint32_t next = 0;
  for (uint32_t i = 0; i < r->model->info.vertex_count; i++) r->new_of[i] = unnumbered;
  sn_rt_block first = {0}, b;
  for (bool more = sn_rt_next_block(r->model, &first); more; first = b) {
    for (int full = 1; full >= 0; full--) {
      b = first, more = true;
      for (; more && b.chunk == first.chunk; more = sn_rt_next_block(r->model, &b)) {
        if (full && !is_full(r->new_of, b.vertex)) continue;
        for (int l = 0; l < lanes; l++)
          if (r->new_of[b.vertex[l]] == unnumbered) r->new_of[b.vertex[l]] = next++;
      }
    }
  }
}

static void add_order(renumberer *r) {
  uint32_t vertices = r->model->info.vertex_count;
  uint32_t *out = sn_section_new(&r->list, SN_SECTION_MESH_ORDER, vertices, sizeof *out, SN_RT_SECTION_REQUIRED);
  for (uint32_t k = 0; out && k < vertices; k++)
    out[k] = order_of(r->model) ? order_of(r->model)[r->old_of[k]] : r->old_of[k];
}

// ---- sections with vertex indices -----------------------------------------------------------------------------------

static void renumber_lanes(void *user) {
  renumberer *r = user;
  uint16_t(*to)[lanes] = sn_section_new(&r->list, SN_SECTION_SKIN_LANES, r->model->info.block_count, sizeof *to, 0);
  for (sn_rt_block b = {0}; to && sn_rt_next_block(r->model, &b);)
    for (int l = 0; l < lanes; l++)
      to[b.block][l] = (uint16_t)(r->new_of[b.vertex[l]] - b.chunk * r->model->info.grain);
}

// Rows of neighbours without padding; `row` has room for the longest.
static size_t read_row(const renumberer *r, uint32_t i, uint32_t *row) {
  const uint32_t *start = (const uint32_t *)sn_rt_data(r->model, SN_SECTION_SHADE_START) + i / lanes;
  const void *fans = sn_rt_data(r->model, SN_SECTION_SHADE_FANS);
  bool wide = sn_rt_fan_bytes(r->model->info.vertex_count) == 4;
  size_t length = start[1] - start[0];
  for (size_t n = 0; n < length; n++) {
    size_t at = (start[0] + n) * lanes + i % lanes;
    row[n] = wide ? ((const uint32_t *)fans)[at] : ((const uint16_t *)fans)[at];
  }
  while (length > 1 && row[length - 1] == row[length - 2]) length--;
  return length == 1 && row[0] == i ? 0 : length;
}

static void renumber_fans(void *user) {
  renumberer *r = user;
  uint32_t vertices = r->model->info.vertex_count, bytes = sn_rt_fan_bytes(vertices);
  size_t steps = sn_rt_size(r->model, SN_SECTION_SHADE_FANS) / bytes;
  sn_fans fans = {.vertex_count = vertices,
                  .start = sn_section_alloc(&r->list, (size_t)vertices + 1, sizeof *fans.start),
                  .neighbours = sn_section_alloc(&r->list, steps, sizeof *fans.neighbours)};
  for (uint32_t k = 0; fans.neighbours && k < vertices; k++) {
    uint32_t *row = fans.neighbours + fans.start[k];
    size_t length = read_row(r, r->old_of[k], row);
    for (size_t n = 0; n < length; n++) row[n] = r->new_of[row[n]];
    fans.start[k + 1] = fans.start[k] + length;
  }
  if (fans.neighbours) sn_fans_add(&r->list, &fans);
}

static void renumber_own(void *user) {
  renumberer *r = user;
  uint32_t vertices = r->model->info.vertex_count, blocks = sn_rt_blocks_of(vertices);
  const int16_t(*from)[3][lanes] = sn_rt_data(r->model, SN_SECTION_SHADE_OWN);
  int16_t(*to)[3][lanes] = sn_section_new(&r->list, SN_SECTION_SHADE_OWN, blocks, sizeof *to, 0);
  for (uint32_t k = 0; to && k < blocks * lanes; k++) {
    uint32_t i = k < vertices ? r->old_of[k] : k;
    for (int c = 0; c < 3; c++) to[k / lanes][c][k % lanes] = from[i / lanes][c][i % lanes];
  }
}

static void renumber_triangles(void *user) {
  renumberer *r = user;
  size_t count = r->model->info.triangle_count;
  uint32_t(*out)[3] = sn_section_alloc(&r->list, count, sizeof *out);
  if (!out) return;
  sn_rt_get_triangles(r->model, out);
  for (size_t n = 0; n < 3 * count; n++) out[n / 3][n % 3] = r->new_of[out[n / 3][n % 3]];
  if (sn_rt_data(r->model, SN_SECTION_PACK_TRIANGLES))
    return sn_section_pack_triangles(&r->list, (const uint32_t(*)[3])out, count);
  sn_section_add(&r->list, sn_rt_section_name(SN_SECTION_MESH_TRIANGLES), out, count * sizeof *out, 0);
}

// ---- all sections ---------------------------------------------------------------------------------------------------

// Sections without a function are written together with another one, or at the end.
static const sn_section_rule rules[] = {{SN_SECTION_SKIN_LANES, renumber_lanes},
                                        {SN_SECTION_SHADE_START, renumber_fans},
                                        {SN_SECTION_SHADE_FANS, NULL},
                                        {SN_SECTION_SHADE_OWN, renumber_own},
                                        {SN_SECTION_MESH_TRIANGLES, renumber_triangles},
                                        {SN_SECTION_PACK_TRIANGLES, renumber_triangles},
                                        {SN_SECTION_MESH_ORDER, NULL}};

sn_status sn_model_reorder(sn_context *ctx, const sn_rt_model *model, sn_vertex_order order, sn_model *out) {
  *out = (sn_model){0};
  size_t vertices = model->info.vertex_count;
  renumberer r = {.model = model, .memory = sn_arena_new(ctx)};
  r.list = (sn_section_list){.ctx = ctx, .memory = &r.memory};
  r.new_of = sn_section_alloc(&r.list, vertices, sizeof *r.new_of);
  r.old_of = sn_section_alloc(&r.list, vertices, sizeof *r.old_of);
  if (r.old_of) {
    if (order == SN_VERTEX_ORDER_BLOCKS)
      number_by_blocks(&r);
    else
      sn_rt_get_order(model, r.new_of);
    for (size_t i = 0; i < vertices; i++) r.old_of[r.new_of[i]] = (uint32_t)i;
  }
  sn_rt_header header = sn_sections_rewrite(&r.list, model, rules, sizeof rules / sizeof *rules, &r);
  if (order == SN_VERTEX_ORDER_BLOCKS) add_order(&r);
  sn_status status = sn_sections_assemble(&r.list, header, out);
  sn_arena_free(&r.memory);
  return status;
}

sn_status sn_model_set_order(sn_context *ctx, sn_model *model, sn_vertex_order order) {
  sn_rt_model opened;
  sn_model renumbered = {0};
  sn_status status = sn_model_open(ctx, "model", model->bytes, model->size, &opened);
  if (status == SN_OK) status = sn_model_reorder(ctx, &opened, order, &renumbered);
  sn_model_free(model);
  *model = renumbered;
  return status;
}

sn_status sn_model_open_as_file(sn_context *ctx, const char *name, const sn_rt_model *model, sn_model *bytes,
                                sn_rt_model *out) {
  SN_TRY(sn_model_reorder(ctx, model, SN_VERTEX_ORDER_FILE, bytes));
  return sn_model_open(ctx, name, bytes->bytes, bytes->size, out);
}

sn_status sn_model_to_file(sn_context *ctx, const sn_rt_model *model, void *rows, size_t size, size_t count) {
  const uint32_t *order = order_of(model);
  size_t vertices = model->info.vertex_count;
  if (!order || vertices == 0) return SN_OK;
  SN_SCRATCH(scratch, ctx);
  uint8_t *copy = SN_NEW(ctx, &scratch, uint8_t, vertices * size), *to = rows;
  for (size_t n = 0; copy && n < count; n++, to += vertices * size) {
    memcpy(copy, to, vertices * size);
    for (size_t k = 0; k < vertices; k++) memcpy(to + order[k] * size, copy + k * size, size);
  }
  return copy ? SN_OK : ctx->error.status;
}
