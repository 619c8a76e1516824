// SPDX-License-Identifier: MIT
// Skins that are linear in the entries of the joints' matrices, with more than one coefficient per joint: linear blend
// skinning plus a ridge regression per vertex. Cross-validation chooses the ridge; an infinite ridge is linear blend
// skinning.
#ifndef SINEW_LAB_BASELINES_LINEAR_H
#define SINEW_LAB_BASELINES_LINEAR_H

#include "sinew/scene.h"
#include "train/train.h"

enum { sn_linear_slots = 6, sn_linear_most = 4 * sn_linear_slots };

// The regressors of vertex v at a pose, on `count` joints: rows x, y and z. `unit` is a length that gives points
// and weights the same prior variance.
typedef struct sn_linear_kind {
  bool per_axis; // separate coefficients for x, y and z
  int (*columns)(int count);
  void (*rows)(sn_vec3 v, const sn_affine *pose, const int *joints, int count, double unit,
               double out[3][sn_linear_most]);
} sn_linear_kind;

// Multi-weight enveloping (Wang and Phillips 2002): x_r = sum_j sum_c w_jrc M_j[r][c] v_c, twelve weights per joint.
extern const sn_linear_kind sn_linear_mwe;
// Animation space (Merry, Marais and Gain 2006): x = sum_j M_j p_j with homogeneous p_j whose last components sum to one.
extern const sn_linear_kind sn_linear_animspace;

typedef struct sn_linear_fit {
  const sn_linear_kind *kind;
  sn_skin skin; // linear blend skinning, to which numbers[i] are added
  double unit, ridge;
  int (*joints)[sn_linear_slots];        // per vertex, -1 after the last
  double (*numbers)[3 * sn_linear_most]; // per vertex: one system, or three
} sn_linear_fit;

// `memory` owns the result except the skin (sn_skin_free).
sn_status sn_linear_train(sn_context *ctx, sn_arena *memory, const sn_linear_kind *kind,
                          const sn_skin_options *options, const sn_examples *examples, const sn_keys *keys,
                          sn_linear_fit *out);
sn_vec3 sn_linear_at(const sn_linear_fit *fit, int i, sn_vec3 rest, const sn_affine *pose);

#endif
