// SPDX-License-Identifier: MIT
// Corrections in blocks of eight vertices: 16-bit numbers with a scale per block and basis, only where there is something
// to correct.
#ifndef SINEW_MODEL_CORRECT_H
#define SINEW_MODEL_CORRECT_H

#include "runtime/format.h"
#include "sinew/model.h"

typedef struct sn_correct_sections {
  sn_rt_correct_head head;
  sn_model_section head_section;
  int block_section_count;
  sn_model_section blocks[4]; // correct.start, .entries, .deltas, and .limits where there are any
} sn_correct_sections;

// Orders the vertices of a run so that those which the same bases correct share blocks, and few lanes of an entry stay
// empty.
sn_status sn_correct_arrange(sn_context *ctx, const sn_model_corrections *corrections, int *vertices, int count);

// The slot's sections for these blocks; `memory` owns their bytes, and out->head must stay where it is.
sn_status sn_correct_encode(sn_context *ctx, sn_arena *memory, const sn_model_corrections *corrections,
                            const int (*vertices)[SN_RT_LANES], uint32_t block_count, sn_correct_sections *out);

// Gives `model` a copy of its description.
sn_status sn_model_keep_desc(sn_context *ctx, const sn_model_desc *desc, sn_model *model);

#endif
