// SPDX-License-Identifier: MIT
// The neighbours of a model's vertices, for recomputed normals: tiles of 64 consecutive vertices, each with its halo, the vertices
// of other tiles that are neighbours. Plain C, tested without a GPU.
#ifndef SINEW_CUDA_FANS_H
#define SINEW_CUDA_FANS_H

#include "sinew/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

// Vertices of a tile; bytes of a vertex in shared memory: x, y and z of 32 characters, each padded by 16 bytes to avoid bank
// conflicts when four characters of eight numbers are read.
enum { SN_CUDA_FAN_TILE = 64, SN_CUDA_FAN_BYTES = 3 * (32 * 4 + 16), SN_CUDA_FAN_GROUP = 8 };

// All NULL and 0 if normals are not recomputed.
typedef struct sn_cuda_fans {
  uint32_t vertex_count, tile_count, most_halo;
  uint32_t *first_halo;  // [tile_count + 1]
  uint32_t *halo;        // vertices, in ascending order
  uint32_t *first_group; // [vertex_count + 1]
  // Per vertex: its second neighbour and so on; the first closes the fan, and is repeated. They are byte offsets in the tile,
  // which is followed by its halo. A vertex without triangles has itself.
  uint32_t (*groups)[SN_CUDA_FAN_GROUP];
  float *own; // [vertex_count][4]: shade.own; NULL if it is missing
} sn_cuda_fans;

// 0: no memory.
int sn_cuda_fans_make(const sn_rt_model *model, sn_cuda_fans *out);
void sn_cuda_fans_free(sn_cuda_fans *fans);

#ifdef __cplusplus
}
#endif
#endif
