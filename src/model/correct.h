// SPDX-License-Identifier: MIT
// Corrections in blocks of eight vertices: 16-bit numbers with a scale per block and basis. Blocks that a basis does not
// displace have no entry.
#ifndef SINEW_MODEL_CORRECT_H
#define SINEW_MODEL_CORRECT_H

#include "model/sections.h"

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

#endif
