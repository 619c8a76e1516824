// SPDX-License-Identifier: MIT
// A model's vertices as the GPU reads them: tiles of 256 consecutive vertices of the rest mesh, so that a tile's results
// are one stretch of the output. Within a tile vertices are sorted into warps by their joints: the lanes of a warp then read the
// same palette entries, which shared memory hands to all of them at once. Plain C, tested without a GPU.
#ifndef SINEW_CUDA_TILES_H
#define SINEW_CUDA_TILES_H

#include "sinew/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SN_CUDA_TILE = 256, SN_CUDA_WARP = 32, SN_CUDA_WARPS = SN_CUDA_TILE / SN_CUDA_WARP };

// What a basis of the correct slot adds to the 32 vertices of a warp.
typedef struct sn_cuda_entry {
  uint32_t basis;
  float position, normal; // scales of the integers
  uint32_t reserved;      // 16 bytes: one load
} sn_cuda_entry;

typedef struct sn_cuda_tiles {
  uint32_t tile_count, influences; // influences: of any vertex
  uint32_t most_joints;            // of any tile
  uint32_t *first_joint;           // [tile_count + 1]
  uint16_t *joints;                // palette entries of each tile
  uint8_t *counts;                 // [tile][warp]: influences of the warp's vertices
  uint16_t *places; // [tile][256]: the vertex of each slot, within the tile; slots beyond the mesh: 0xffff
  float *rest;      // [tile][6][256]: position, normal
  float *centres;   // [tile][3][256]: of rotation; NULL for other blends
  float *weights;   // [tile][influences][256]
  uint16_t *locals; // [tile][influences][256]: into the tile's joints
  // corrections; NULL without
  float *limits;         // [tile][256]: the longest displacement of each slot's vertex; NULL where there are none
  uint32_t *first_entry; // [tile * warps + 1]
  sn_cuda_entry *entries;
  uint16_t *deltas; // [entry][3][32][2]: x y, z nx, ny nz of every lane, plus 32768
  // recomputed normals; NULL without
  uint16_t *fan_places; // [tile][256]: the vertex of each thread, within the tile
  float *own;           // [tile][3][256]: shade.own of each thread's vertex; NULL where it is missing
  uint32_t most_halo;   // vertices of other tiles that a tile's fans touch
  uint32_t *first_halo; // [tile_count + 1]
  uint32_t *halo;       // vertices
  uint32_t *first_step; // [tile * warps + 1]
  uint16_t *steps;      // [step][32]: neighbours, below 256 in the tile, from 256 on in its halo
} sn_cuda_tiles;

// 0: no memory. -1: the fans of a tile touch more vertices than 16 bits can number.
int sn_cuda_tiles_make(const sn_rt_model *model, sn_cuda_tiles *out);
void sn_cuda_tiles_free(sn_cuda_tiles *tiles);

#ifdef __cplusplus
}
#endif
#endif
