// SPDX-License-Identifier: MIT
// The neighbours of a model's vertices as a large crowd reads them. A pass takes 32 characters at once, one to each lane of a
// warp: neighbours are then the same in all lanes, and their positions are read from shared memory without conflicts. Plain C,
// tested without a GPU.
#ifndef SINEW_CUDA_PASSES_H
#define SINEW_CUDA_PASSES_H

#include "sinew/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SN_CUDA_PASS = 32, SN_CUDA_FAN_TILE = 64 }; // characters of a pass; consecutive vertices of a tile

// All NULL and 0 where normals are not recomputed, or a tile's fans touch too many vertices.
typedef struct sn_cuda_passes {
  uint32_t tile_count, most_halo; // most_halo: vertices of other tiles that a tile's fans touch
  uint32_t *first_halo;           // [tile_count + 1]
  uint32_t *halo;                 // vertices, in ascending order
  uint32_t *first_step;           // [tile_count * 64 + 1]
  // Of each vertex: its first neighbour, then pairs of the next two (the second << 16), the first again; from 64 on in the halo.
  uint32_t *steps;
  float *own; // [tile_count * 64][4]: shade.own; NULL where it is missing
} sn_cuda_passes;

// 0: no memory.
int sn_cuda_passes_make(const sn_rt_model *model, sn_cuda_passes *out);
void sn_cuda_passes_free(sn_cuda_passes *passes);

#ifdef __cplusplus
}
#endif
#endif
