// SPDX-License-Identifier: MIT
// The regression of corrections. The rest-pose residual of a vertex is a sum of terms (terms.h) with a Gaussian prior
// on their weights: variance 1 for the joints relevant to the vertex (weight above 0.02, their parents and children),
// `far` for all others. With K the prior covariance over the poses, alpha = (K + lambda)^-1 residual. lambda is
// diagonal: a ridge per clip, relative to the mean diagonal of the relevant joints' part of K, chosen by
// cross-validation (METHODS.md).
#ifndef SINEW_TRAIN_CORRECT_REGRESS_H
#define SINEW_TRAIN_CORRECT_REGRESS_H

#include "train/correct/terms.h"
#include "train/folds.h"

// Vertices with the same relevant controls.
typedef struct sn_vertex_set {
  int count, *vertices;
  bool *relevant; // one per control
} sn_vertex_set;

enum { SN_RIDGE_COUNT = 5 };
// Ridge k: powers of ten around the usual ridge, relative to the mean diagonal of the relevant joints' covariance.
double sn_ridge(int k);

typedef struct sn_regression {
  sn_context *ctx;
  sn_arena *memory;
  const sn_residuals *m;
  const int *controls;
  int control_count, set_count;
  sn_term_list terms;
  sn_vertex_set *sets;
  sn_folds folds;
  double *far; // pose_count * pose_count: covariance of all single-control terms with variance `far`
  double scores[SN_RIDGE_COUNT]; // squared cross-validated errors with one ridge for all clips
  double uncorrected;            // squared residuals of the held-out poses
  sn_priors priors;              // as chosen
  double score;                  // squared cross-validated error with `priors`, over all vertices and poses
  bool as_model;                 // cross-validate the model, which lacks the hidden terms; otherwise the regression
  bool undecided;                // no ridge beats the uncorrected skin, or too few poses: the usual ridge is used
  float (*alpha)[6];             // pose_count * vertex_count: position and normal
  double *unit;                  // of every set: the unit of its ridges; 0 if no relevant control moves
  int *set_of;                   // the set of every vertex
} sn_regression;

// The ridge of a pose, in units of its set.
double sn_regression_ridge(const sn_regression *r, int pose);

// Finds the sets of vertices and chooses the priors.
sn_status sn_regression_choose(sn_regression *r);
// Solves for alpha from all poses, with the chosen priors.
sn_status sn_regression_solve(sn_regression *r);

// Prior variance of a group of terms for a set of vertices.
double sn_regression_variance(const sn_regression *r, const sn_priors *priors, const sn_vertex_set *set, int group);

#endif
