// SPDX-License-Identifier: MIT
// The neighbours of a model's vertices, of which normals are recomputed: tiles of 64 consecutive vertices, and of each the vertices
// of other tiles that its fans touch, its halo. Plain C, tested without a GPU.
#ifndef SINEW_CUDA_FANS_H
#define SINEW_CUDA_FANS_H

#include "sinew/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

// Vertices of a tile; bytes of a vertex in shared memory: x, y and z of 32 characters, each 16 bytes more, so that four characters
// of eight numbers are read without conflicts.
enum { SN_CUDA_FAN_TILE = 64, SN_CUDA_FAN_BYTES = 3 * (32 * 4 + 16) };

// All NULL and 0 where normals are not recomputed.
typedef struct sn_cuda_fans {
  uint32_t vertex_count, tile_count, most_halo;
  uint32_t *first_halo; // [tile_count + 1]
  uint32_t *halo;       // vertices, in ascending order
  uint32_t *first_pair; // [vertex_count + 1]
  // Of each vertex: its second and third neighbour, its fourth and fifth, and so on; the first closes the fan. They are bytes from
  // the beginning of the tile, which its halo follows.
  uint32_t (*pairs)[2];
  float *own; // [vertex_count][4]: shade.own; NULL where it is missing
} sn_cuda_fans;

// 0: no memory.
int sn_cuda_fans_make(const sn_rt_model *model, sn_cuda_fans *out);
void sn_cuda_fans_free(sn_cuda_fans *fans);

#ifdef __cplusplus
}
#endif
#endif
