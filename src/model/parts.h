// SPDX-License-Identifier: MIT
// What the files of this folder share: the sections of a model under construction and their assembly into a file; the assignment
// of vertices to blocks of eight; corrections in those blocks; the triangles around every vertex.
#ifndef SINEW_MODEL_PARTS_H
#define SINEW_MODEL_PARTS_H

#include "runtime/format.h"
#include "sinew/model.h"

// ---- sections.c ------------------------------------------------------------------------------------------------------

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

// ---- blocks.c: the storage order of a model file -----------------------------------------------------------------------

// A run of vertices that becomes one group: a shared one has the joints below, a loose one separate joints per vertex.
typedef struct sn_block_run {
  int first, count; // vertices order[first .. first + count)
  int influences;
  sn_rt_group_kind kind;
  uint16_t joints[SN_RT_LANES];
} sn_block_run;

typedef struct sn_block_plan {
  int *order; // every vertex once, chunk after chunk
  int run_count;
  sn_block_run *runs;
  int chunk_count, *chunk_start; // runs of chunk c: chunk_start[c] .. chunk_start[c + 1]
} sn_block_plan;

// `skin` has rows sorted by weight, without zeros before the last positive weight. With `pivot`, only vertices whose
// largest weight is at the same joint are in one block (dual quaternions), and that joint comes first.
sn_status sn_block_plan_make(sn_context *ctx, sn_arena *memory, const sn_skin *skin, bool pivot, int grain,
                             sn_block_plan *out);

// ---- correct.c: 16-bit numbers with a scale per block and basis; blocks that a basis does not displace have no entry ----

// The blocks that corrections are stored by.
typedef struct sn_correct_blocks {
  const int (*vertices)[SN_RT_LANES];
  uint32_t count;
  const sn_rt_model *before; // model with these blocks that is extended: its corrections come first; NULL: none
} sn_correct_blocks;

// Orders the vertices of a run so that vertices displaced by the same bases are in the same blocks, and few lanes of an
// entry are empty.
sn_status sn_correct_arrange(sn_context *ctx, const sn_model_corrections *corrections, int *vertices, int count);

// The slot's sections for these blocks.
void sn_correct_encode(sn_section_list *list, const sn_model_corrections *corrections,
                       const sn_correct_blocks *blocks);

// ---- fans.c: rows of neighbours, from which the runtime computes normals (shade.fans) ------------------------------------

typedef struct sn_fans {
  uint32_t vertex_count;
  size_t *start; // vertex i: neighbours[start[i] .. start[i + 1])
  uint32_t *neighbours;
} sn_fans;

// Smoothing groups, and groups of vertices at the same position; each entry is the first vertex of its group. NULL: no groups.
typedef struct sn_fan_groups {
  const int *class_of, *place_of;
} sn_fan_groups;

// Degenerate triangles (two corners at the same position) are skipped.
sn_status sn_fans_make(sn_context *ctx, sn_arena *memory, const sn_mesh *mesh, const sn_fan_groups *groups,
                       sn_fans *out);

// shade.start and shade.fans.
void sn_fans_add(sn_section_list *list, const sn_fans *fans);

#endif
