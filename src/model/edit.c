// SPDX-License-Identifier: MIT
// A finished model with some of its sections replaced.
#include <string.h>

#include "model/sections.h"

static bool is_given(const sn_model_section *given, int count, const char *name) {
  for (int s = 0; s < count; s++)
    if (strcmp(given[s].name, name) == 0) return true;
  return false;
}

sn_status sn_model_replace(sn_context *ctx, const sn_rt_model *model, sn_rt_correct correct,
                           const sn_model_section *given, int given_count, sn_model *out) {
  *out = (sn_model){0};
  sn_rt_header header;
  const uint8_t *bytes = sn_rt_get_bytes(model);
  memcpy(&header, bytes, sizeof header);
  header.correct = (uint8_t)correct;
  sn_section_list list = {.ctx = ctx};
  const sn_rt_entry *entries = (const sn_rt_entry *)(const void *)(bytes + sizeof header);
  for (const sn_rt_entry *e = entries; e < entries + header.section_count; e++)
    if (!is_given(given, given_count, e->name)) sn_section_add(&list, e->name, bytes + e->offset, e->size, e->flags);
  for (int s = 0; s < given_count; s++)
    sn_section_add(&list, given[s].name, given[s].bytes, given[s].size,
                   given[s].required ? SN_RT_SECTION_REQUIRED : 0);
  return sn_sections_assemble(&list, header, out);
}
