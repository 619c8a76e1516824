// SPDX-License-Identifier: MIT
// A model's vertices, laid out for the GPU: tiles of consecutive vertices of the rest mesh, so that a tile's results are contiguous
// in the output. Within a tile vertices are sorted into groups by their joints. Plain C, tested without a GPU.
//
// For models with corrections or recomputed normals, a group is an octet, which a warp evaluates for many characters: the
// displacements of an octet are a matrix of 48 numbers by its bases, which tensor cores multiply by the bases' coefficients.
// Otherwise a group is a warp of vertices, which read the same palette entries at once.
//
// If normals are recomputed, results are not contiguous anyway: tiles are of vertices with the same joints, anywhere in the mesh.
#ifndef SINEW_CUDA_TILES_H
#define SINEW_CUDA_TILES_H

#include "sinew/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SN_CUDA_NO_VERTEX UINT32_MAX

enum {
  SN_CUDA_OCTET = 8,
  SN_CUDA_OCTET_TILE = 64,
  SN_CUDA_WARP = 32,
  SN_CUDA_WARP_TILE = 256,
  SN_CUDA_TILE_GROUPS = 8, // of either kind
  SN_CUDA_PASS = 32        // characters whose coefficients and positions are interleaved
};

// Eight bases of an octet and their displacements: for coordinate c the matrix of rows position 0..7, normal 0..7 and eight
// columns, in the layout of a warp's lanes (PTX ISA, mma.m16n8k8, operand A): number r of lane l is row l / 4 + 8 (r % 2),
// column l % 4 + 4 (r / 2).
typedef struct sn_cuda_bases {
  float deltas[3][32][4];
  uint32_t bases[8]; // padded by repeating the last basis, with zero displacements
} sn_cuda_bases;

typedef struct sn_cuda_tiles {
  uint32_t group;                  // vertices: an octet or a warp
  uint32_t tile_count, influences; // influences: of any vertex, rounded up to a multiple of four
  uint32_t most_joints;            // of any tile
  uint32_t *first_joint;           // [tile_count + 1]
  uint16_t *joints;                // palette entries of each tile
  uint8_t *counts;                 // [group]: influences of its vertices
  uint32_t *vertices;              // [group][vertex]; beyond the mesh: SN_CUDA_NO_VERTEX
  float *rest;                     // [group][vertex][8]: position, limit of the displacement (0: none), normal, 0
  float *weights;                  // [group][vertex][influences]
  uint16_t *locals;                // [group][vertex][influences]: into the tile's joints
  float *centres;                  // [group][vertex][3]: of rotation; NULL for other blends
  uint32_t *first_bases;           // [octet + 1]; NULL for warps
  sn_cuda_bases *bases;
} sn_cuda_tiles;

// 0: no memory.
int sn_cuda_tiles_make(const sn_rt_model *model, sn_cuda_tiles *out);
void sn_cuda_tiles_free(sn_cuda_tiles *tiles);

#ifdef __cplusplus
}
#endif
#endif
