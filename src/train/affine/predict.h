// SPDX-License-Identifier: MIT
// The two-layer regression of one bone (Kim 2010, sections 3.2 and 3.3), for training and for leaving out frames.
#ifndef SINEW_TRAIN_AFFINE_PREDICT_H
#define SINEW_TRAIN_AFFINE_PREDICT_H

#include "solve/kcca.h"
#include "train/affine/affine.h"

enum { SN_AFFINE_OUTPUTS = 13, SN_AFFINE_COMPONENTS = 2 * SN_KCCA_OUTPUTS };

// The numbers of one bone at the training frames as the regression needs them, in the basis of the kernel matrix.
typedef struct sn_affine_moments {
  double mean[SN_AFFINE_OUTPUTS];
  double *x;                                          // frames * outputs: the centred numbers X
  double gram[SN_AFFINE_OUTPUTS * SN_AFFINE_OUTPUTS]; // X^T X, `outputs` apart
  double *y;                                          // rank * outputs: Q^T X
} sn_affine_moments;

// What is learnt: numbers = mean + sum_p effect_p (forward_p . t), t = Q^T (xi - mean of the kernel).
typedef struct sn_affine_map {
  int components;
  double *forward; // components * rank
  double effect[SN_AFFINE_COMPONENTS][SN_AFFINE_OUTPUTS];
} sn_affine_map;

// Room for regressions on up to `frames` frames; one per thread.
typedef struct sn_affine_space {
  sn_kcca kcca;
  sn_affine_moments moments, left; // of the bone, and what a layer leaves of them
  sn_affine_map map;
} sn_affine_space;

sn_status sn_affine_space_new(sn_context *ctx, sn_arena *memory, int frames, int outputs, sn_affine_space *out);

// space->moments from frames * outputs numbers.
void sn_affine_moments_of(const sn_kcca_basis *basis, const double *numbers, int outputs, sn_affine_space *space);

// space->map from space->moments, at most kappa components; `ridge` relative to the mean eigenvalue.
void sn_affine_reduce(const sn_kcca_basis *basis, const sn_affine_options *options, int outputs, double ridge,
                      int kappa, sn_affine_space *space);

// The kernel matrix (minus 1) of the control vectors, frames * frames; and the kernel vector of another one.
void sn_affine_kernel(const double *controls, int numbers, int frames, double width, double *out);
void sn_affine_kernel_vector(const double *control, const double *controls, int numbers, int frames, double width,
                             double *out);

#endif
