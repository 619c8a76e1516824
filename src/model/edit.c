// SPDX-License-Identifier: MIT
// Adds corrections to a finished model and replaces sections.
#include "model/correct.h"
#include "runtime/packed.h"

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
