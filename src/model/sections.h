// SPDX-License-Identifier: MIT
// The sections of a model under construction, and their assembly into a file.
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

// After a failure nothing more is added, so that checking `status` once at the end suffices.
typedef struct sn_section_list {
  sn_context *ctx;
  sn_status status;
  sn_arena *memory; // of sections made here
  const struct sn_section_list
    *instead; // sections with these names are not copied by sn_sections_rewrite; NULL: all are copied
  int count;
  sn_section sections[SN_RT_MAX_SECTIONS];
} sn_section_list;

// Does not copy: the bytes must stay valid until the model is assembled.
void sn_section_add(sn_section_list *list, const char *name, const void *bytes, uint64_t size, uint32_t flags);
void sn_section_add_given(sn_section_list *list, const sn_model_section *given);
void *sn_section_alloc(sn_section_list *list, uint64_t count, size_t size); // zeroed memory; NULL after a failure
// A zeroed section: its bytes, or NULL.
void *sn_section_new(sn_section_list *list, sn_rt_section_id id, uint64_t count, size_t size, uint32_t flags);
// pack.triangles; nothing if there are no triangles.
void sn_section_pack_triangles(sn_section_list *list, const uint32_t (*triangles)[3], size_t triangle_count);

// How a section of a rewritten model is replaced; sections without a rule are copied.
typedef struct sn_section_rule {
  sn_rt_section_id from;
  void (*write)(void *user); // NULL: dropped
} sn_section_rule;

// Returns the model's header.
sn_rt_header sn_sections_rewrite(sn_section_list *list, const sn_rt_model *model, const sn_section_rule *rules,
                                 size_t count, void *user);
bool sn_section_exists(const sn_section_list *list, const char *name);
// Assembles the file; the caller sets counts and slots of `header`, the rest is filled in.
sn_status sn_sections_assemble(const sn_section_list *list, sn_rt_header header, sn_model *out);

#endif
