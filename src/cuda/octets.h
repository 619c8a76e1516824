// SPDX-License-Identifier: MIT
// A corrected model's vertices as a large crowd reads them: octets of eight vertices, moved for a pass of 32 characters at once.
// The displacements of an octet are a matrix of 48 numbers by its bases, which tensor cores multiply with the bases' values of all
// 32 characters. Plain C, tested without a GPU.
#ifndef SINEW_CUDA_OCTETS_H
#define SINEW_CUDA_OCTETS_H

#include "sinew/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  SN_CUDA_OCTET = 8,
  SN_CUDA_OCTET_TILE = 64, // consecutive vertices, whose results are one stretch of the output
  SN_CUDA_TILE_OCTETS = SN_CUDA_OCTET_TILE / SN_CUDA_OCTET
};

// Eight bases of an octet and what they add: for coordinate c the matrix of rows position 0..7, normal 0..7 and eight columns, in
// the order in which the lanes of a warp hold it (PTX ISA, mma.m16n8k8, operand A): number r of lane l is row l / 4 + 8 (r % 2),
// column l % 4 + 4 (r / 2).
typedef struct sn_cuda_bases {
  float deltas[3][32][4];
  uint32_t bases[8]; // of a list that ends before, the last is repeated, and adds nothing
} sn_cuda_bases;

// All NULL and 0 where there are no corrections or they would take too much memory.
typedef struct sn_cuda_octets {
  uint32_t tile_count, influences; // influences: of any vertex
  uint32_t most_joints;            // of any tile
  uint32_t *first_joint;           // [tile_count + 1]
  uint16_t *joints;                // palette entries of each tile
  uint8_t *counts;                 // [octet]: influences of its vertices
  uint16_t *places;                // [octet][8]: within the tile; beyond the mesh: 0xffff
  float *rest;                     // [octet][8][8]: position, limit of the displacement (0: none), normal, 0
  float *weights;                  // [octet][influences][8]
  uint16_t *locals;                // [octet][influences][8]: into the tile's joints
  uint32_t *first_bases;           // [octet + 1]
  sn_cuda_bases *bases;
} sn_cuda_octets;

// 0: no memory.
int sn_cuda_octets_make(const sn_rt_model *model, sn_cuda_octets *out);
void sn_cuda_octets_free(sn_cuda_octets *octets);

#ifdef __cplusplus
}
#endif
#endif
