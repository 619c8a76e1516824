// SPDX-License-Identifier: MIT
// The two-layer regression of one bone (Kim 2010, sections 3.2 and 3.3), for training and for leaving out frames.
#ifndef SINEW_TRAIN_AFFINE_PREDICT_H
#define SINEW_TRAIN_AFFINE_PREDICT_H

#include "solve/kcca.h"
#include "train/affine/affine.h"

enum { SN_CONTROL_OUTPUTS = 4 + 6 + 3, SN_CONTROL_COMPONENTS = 2 * SN_KCCA_OUTPUTS };

// The numbers of one bone at the training frames as the regression needs them, in the basis of the kernel matrix.
typedef struct sn_control_moments {
  double mean[SN_CONTROL_OUTPUTS];
  double *x;                                            // frames * outputs: the centred numbers X
  double gram[SN_CONTROL_OUTPUTS * SN_CONTROL_OUTPUTS]; // X^T X, `outputs` apart
  double *y;                                            // rank * outputs: Q^T X
} sn_control_moments;

// What is learnt: numbers = mean + sum_p effect_p (forward_p . t), t = Q^T (xi - mean of the kernel).
typedef struct sn_control_map {
  int components;
  double *forward; // components * rank
  double effect[SN_CONTROL_COMPONENTS][SN_CONTROL_OUTPUTS];
} sn_control_map;

// Room for regressions on up to `frames` frames; one per thread.
typedef struct sn_control_space {
  sn_kcca kcca;
  sn_control_moments moments, left; // of the bone, and what a layer leaves of them
  sn_control_map map;
} sn_control_space;

#endif
