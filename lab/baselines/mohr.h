// SPDX-License-Identifier: MIT
// Linear blend skinning with fitted rest positions (Mohr and Gleicher 2003, section 3): weights of influence sets and
// rest positions in alternation.
#ifndef SINEW_LAB_BASELINES_MOHR_H
#define SINEW_LAB_BASELINES_MOHR_H

#include "sinew/scene.h"

typedef struct sn_mohr_fit {
  sn_skin skin;
  float (*rest)[3]; // fitted rest positions
  double error;     // mean squared distance in the training frames
} sn_mohr_fit;

// `rest` comes from `memory`, the skin is freed with sn_skin_free.
sn_status sn_mohr_train(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                        int influences, int rounds, sn_mohr_fit *out);

// The influence set of vertex i: the joints in whose frames it moves least, by the variance of M_j^-1 x_f over the poses (section 3.2).
// Returns how many, at most sn_mohr_set.
enum { sn_mohr_set = 8 };
int sn_mohr_influences(const sn_examples *examples, const sn_keys *keys, int i, int *out);

// The blended matrix of vertex i: its linear part and translation.
void sn_mohr_blend(const sn_skin *skin, int i, const sn_affine *pose, sn_mat3 *linear, sn_vec3 *move);

#endif
