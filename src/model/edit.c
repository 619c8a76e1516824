// SPDX-License-Identifier: MIT
// A finished model with some of its sections replaced, or with more corrections.
#include <string.h>

#include "model/correct.h"
#include "runtime/packed.h"

static bool has(const sn_section_list *list, const char *name) {
  for (int s = 0; s < list->count; s++)
    if (strcmp(list->sections[s].name, name) == 0) return true;
  return false;
}

// The model's sections but those of the same names, then `made`.
static sn_status assemble(const sn_rt_model *model, sn_rt_correct correct, const sn_section_list *made,
                          sn_model *out) {
  sn_rt_header header;
  const uint8_t *bytes = sn_rt_get_bytes(model);
  memcpy(&header, bytes, sizeof header);
  header.correct = (uint8_t)correct;
  sn_section_list list = {.ctx = made->ctx, .status = made->status};
  const sn_rt_entry *entries = (const sn_rt_entry *)(const void *)(bytes + sizeof header);
  for (const sn_rt_entry *e = entries; e < entries + header.section_count; e++)
    if (!has(made, e->name)) sn_section_add(&list, e->name, bytes + e->offset, e->size, e->flags);
  for (const sn_section *s = made->sections; s < made->sections + made->count; s++)
    sn_section_add(&list, s->name, s->bytes, s->size, s->flags);
  return sn_sections_assemble(&list, header, out);
}

sn_status sn_model_replace(sn_context *ctx, const sn_rt_model *model, sn_rt_correct correct,
                           const sn_model_section *given, int given_count, sn_model *out) {
  *out = (sn_model){0};
  sn_section_list made = {.ctx = ctx};
  for (int s = 0; s < given_count; s++) sn_section_add_given(&made, given + s);
  return assemble(model, correct, &made, out);
}

sn_status sn_model_add_corrections(sn_context *ctx, const sn_rt_model *model, const sn_model_corrections *more,
                                   const sn_model_section *given, int given_count, sn_model *out) {
  *out = (sn_model){0};
  sn_arena memory = sn_arena_new(ctx);
  sn_section_list made = {.ctx = ctx, .memory = &memory};
  int(*vertices)[SN_RT_LANES] = sn_section_alloc(&made, model->info.block_count, sizeof *vertices);
  for (sn_rt_block b = {0}; vertices && sn_rt_next_block(model, &b);)
    for (int l = 0; l < SN_RT_LANES; l++) vertices[b.block][l] = (int)b.vertex[l];
  const sn_correct_blocks blocks = {(const int(*)[SN_RT_LANES])vertices, model->info.block_count, model};
  if (vertices) sn_correct_encode(&made, more, &blocks);
  for (int s = 0; s < given_count; s++) sn_section_add_given(&made, given + s);
  sn_rt_correct own = model->info.correct;
  sn_status status = assemble(model, own == SN_RT_CORRECT_NONE ? more->kind : own, &made, out);
  sn_arena_free(&memory);
  return status;
}
