// SPDX-License-Identifier: MIT
// For tests that damage a model: its sections, and whether it is refused.
#ifndef SINEW_TEST_SECTION_FIXTURE_H
#define SINEW_TEST_SECTION_FIXTURE_H

#include "check.h"
#include "runtime/format.h"
#include "sinew/model.h"

static inline sn_rt_entry *entry_of(const sn_model *model, const char *name) {
  sn_rt_header *h = (sn_rt_header *)(void *)model->bytes;
  sn_rt_entry *entries = (sn_rt_entry *)(void *)(model->bytes + sizeof *h);
  for (uint32_t s = 0; s < h->section_count; s++)
    if (!strcmp(entries[s].name, name)) return entries + s;
  fail_msg("no section %s", name);
  return NULL;
}

static inline void refuses(const sn_model *model, const char *message) {
  sn_rt_model opened;
  sn_rt_error error;
  assert_true(sn_model_seal(model->bytes, model->size));
  assert_int_equal(sn_rt_open(model->bytes, model->size, &opened, &error), SN_RT_BAD_MODEL);
  if (!strstr(error.message, message)) fail_msg("'%s' instead of '%s'", error.message, message);
}

#endif
