// SPDX-License-Identifier: MIT
// Pose spaces that are sums of terms (runtime/terms.h), laid out for the GPU: the indices of their terms, and their mix term by
// term, with four bases per float4.
#ifndef SINEW_CUDA_SUMS_H
#define SINEW_CUDA_SUMS_H

#include "runtime/format.h"
#include "sinew/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sn_cuda_sum {
  uint32_t first_place, count; // terms, padded to a multiple of SN_RT_PARTS by repeating the last with zeros
  uint32_t first_basis, basis_count;
  uint32_t first_quad, quads; // in `mix`, for every term
} sn_cuda_sum;

typedef struct sn_cuda_sums {
  uint32_t sum_count, group_count, term_count; // pose spaces, entries of correct.terms, terms of all of them
  sn_cuda_sum *sums;
  uint32_t *first_term; // of every group, and the end
  uint32_t place_count, quad_count;
  uint32_t *places; // of a sum's terms among all terms
  float (*mix)[4];
} sn_cuda_sums;

// False if memory runs out.
int sn_cuda_sums_make(const sn_rt_model *model, sn_cuda_sums *out);
void sn_cuda_sums_free(sn_cuda_sums *sums);

#ifdef __cplusplus
}
#endif
#endif
