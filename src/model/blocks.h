// SPDX-License-Identifier: MIT
// Assignment of vertices to blocks of eight: the storage order of a model file.
#ifndef SINEW_MODEL_BLOCKS_H
#define SINEW_MODEL_BLOCKS_H

#include "runtime/format.h"
#include "sinew/runtime.h"
#include "sinew/scene.h"

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

#endif
