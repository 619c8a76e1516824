// SPDX-License-Identifier: MIT
// The one regression of corrections. The residual of a vertex in the rest pose is a sum of terms (terms.h) with a
// Gaussian prior on their weights: variance 1 for the relevant joints of the vertex (weight above 0.02, their parents
// and children), `far` for all others. With K the prior's covariance over the poses, alpha = (K + lambda)^-1 residual;
// lambda is diagonal, a ridge for every clip relative to the mean diagonal of the relevant joints' part of K, and
// cross-validation chooses it (METHODS.md, "One regression for corrections").
#ifndef SINEW_TRAIN_CORRECT_REGRESS_H
#define SINEW_TRAIN_CORRECT_REGRESS_H

#include "train/correct/terms.h"
#include "train/folds.h"

// Vertices with the same relevant controls.
typedef struct sn_vertex_set {
  int count, *vertices;
  bool *relevant; // of every control
} sn_vertex_set;

enum { SN_RIDGE_COUNT = 5 };
// Powers of ten about the usual one, relative to the mean diagonal of the relevant joints' covariance.
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
  double *far;                   // pose_count * pose_count: the covariance of all joints' terms times `far`
  double scores[SN_RIDGE_COUNT]; // squared cross-validated errors with one ridge for all clips
  double uncorrected;            // squared residuals of held-out poses
  sn_clip_ridges ridges;         // the chosen ones
  double score;                  // their squared cross-validated error, of all vertices and poses
  bool as_model;     // errors are those of the model, which has no hidden terms; else those of the regression
  bool undecided;    // no ridge beats the uncorrected skin: the usual ridge
  float (*alpha)[6]; // pose_count * vertex_count: of positions and normals
  double *unit;      // of every set: what its ridges are relative to; 0 where nothing that is relevant moves
  int *set_of;       // of every vertex
} sn_regression;

// The ridge of a pose, relative to a set's unit.
double sn_regression_ridge(const sn_regression *r, int pose);

// The sets and the ridges.
sn_status sn_regression_choose(sn_regression *r);
// The squared error on poses that are held out (pose_count), learned from the others with r->ridges.
sn_status sn_regression_held_out(sn_regression *r, const bool *held, double *squared);
// alpha at the chosen ridges, from all poses.
sn_status sn_regression_solve(sn_regression *r);

// Prior variance of a group of terms for a set of vertices.
double sn_regression_variance(const sn_regression *r, const sn_vertex_set *set, int group);

#endif
