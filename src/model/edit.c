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
  memcpy(&header, model->bytes, sizeof header);
  header.correct = (uint8_t)correct;
  sn_section_list list = {.ctx = ctx};
  const sn_rt_entry *entries = (const sn_rt_entry *)(const void *)(model->bytes + sizeof header);
  sn_status status = SN_OK;
  for (uint32_t s = 0; status == SN_OK && s < header.section_count; s++) {
    const sn_rt_entry *e = entries + s;
    if (!is_given(given, given_count, e->name))
      status = sn_section_add(&list, e->name, model->bytes + e->offset, e->size, e->flags);
  }
  for (int s = 0; status == SN_OK && s < given_count; s++)
    status = sn_section_add(&list, given[s].name, given[s].bytes, given[s].size,
                            given[s].required ? SN_RT_SECTION_REQUIRED : 0);
  return status == SN_OK ? sn_sections_assemble(&list, header, out) : status;
}
