// SPDX-License-Identifier: MIT
// The sections of a model while it is put together, and the bytes they become.
#ifndef SINEW_MODEL_SECTIONS_H
#define SINEW_MODEL_SECTIONS_H

#include "runtime/format.h"
#include "sinew/model.h"

typedef struct sn_section {
  char name[16];
  const void *bytes;
  uint64_t size;
  uint32_t flags;
} sn_section;

// After a failure nothing more is added, so that `status` need be looked at only once.
typedef struct sn_section_list {
  sn_context *ctx;
  sn_status status;
  sn_arena *memory; // of sections made here
  const struct sn_section_list
    *instead; // sections of these names are not copied by sn_sections_rewrite; NULL: all are
  int count;
  sn_section sections[SN_RT_MAX_SECTIONS];
} sn_section_list;

// Bytes stay where they are until the model is assembled.
void sn_section_add(sn_section_list *list, const char *name, const void *bytes, uint64_t size, uint32_t flags);
void sn_section_add_given(sn_section_list *list, const sn_model_section *given);
void *sn_section_alloc(sn_section_list *list, uint64_t count, size_t size); // zeroed memory; NULL after a failure
// A zeroed section: its bytes, or NULL.
void *sn_section_new(sn_section_list *list, sn_rt_section_id id, uint64_t count, size_t size, uint32_t flags);
// pack.triangles; nothing where there are none.
void sn_section_pack_triangles(sn_section_list *list, const uint32_t (*triangles)[3], size_t triangle_count);

// What becomes of a section of a model that is written anew; all others are copied.
typedef struct sn_section_rule {
  sn_rt_section_id from;
  void (*write)(void *user); // NULL: nothing
} sn_section_rule;

// Returns the model's header.
sn_rt_header sn_sections_rewrite(sn_section_list *list, const sn_rt_model *model, const sn_section_rule *rules,
                                 size_t count, void *user);
bool sn_section_exists(const sn_section_list *list, const char *name);
// The file; counts and slots of `header` are the caller's, the rest is filled in.
sn_status sn_sections_assemble(const sn_section_list *list, sn_rt_header header, sn_model *out);

#endif
