// SPDX-License-Identifier: MIT
// Corrections in blocks of eight vertices: 16-bit numbers with a scale per block and basis, only where there is something
// to correct.
#ifndef SINEW_MODEL_CORRECT_H
#define SINEW_MODEL_CORRECT_H

#include "model/sections.h"

// The blocks that corrections are stored by.
typedef struct sn_correct_blocks {
  const int (*vertices)[SN_RT_LANES];
  uint32_t count;
  const sn_rt_model *before; // a model of these blocks whose corrections come first; NULL: none
} sn_correct_blocks;

// Orders the vertices of a run so that those which the same bases correct share blocks, and few lanes of an entry stay
// empty.
sn_status sn_correct_arrange(sn_context *ctx, const sn_model_corrections *corrections, int *vertices, int count);

// The slot's sections for these blocks.
void sn_correct_encode(sn_section_list *list, const sn_model_corrections *corrections,
                       const sn_correct_blocks *blocks);

#endif
