// SPDX-License-Identifier: MIT
// The functions of the pose whose weighted sums are the corrections. A joint with rotation vector theta (relative to
// its parent, zero in the rest pose) has polynomials of degree 2 in theta and Gaussians centred at training poses. A
// joint and its parent have the products of their components. A named value v has v, and v^2 if training has more than
// one level.
#ifndef SINEW_TRAIN_CORRECT_TERMS_H
#define SINEW_TRAIN_CORRECT_TERMS_H

#include "runtime/format.h"
#include "train/correct/correct.h"

enum { SN_MOST_FEATURES = 16 }; // of a group of terms

// A group of terms: of a joint, of a joint and its parent, or of a value. Its features Phi (pose_count * rank) have the
// prior covariance Phi Phi^T over the poses.
struct sn_terms {
  uint16_t kind;    // SN_RT_TERMS_...
  int a, b;         // controls; b: the parent in products
  int owner;        // index of the control in the list of controls
  int count, rank;  // terms at run time; features in training
  double *features; // pose_count * rank
  double *centres;  // Gaussians: count * 3, the last is the rest pose
  double *corner;   // Gaussians: rank * rank, lower: L of the centres' kernel matrix L L^T
  bool hidden;      // function of the joint's translation: explains training poses, is not written to the model
  double scale;     // of feature / term (products: see scale_of); of Gaussians: feature / (L^-1 k)
};

// The terms of all controls (joints of the pose space, then values), control by control: single-control terms, then
// products with the parent. The groups count .. all - 1 are the hidden ones.
struct sn_term_list {
  int count, all;
  sn_terms *groups;
};

sn_status sn_terms_make(sn_context *ctx, sn_arena *memory, const sn_residuals *m, const int *controls,
                        int control_count, sn_term_list *out);

// The joint that a joint's rotation is relative to; -1: none.
int sn_terms_parent(const sn_residuals *m, int joint);

// Converts weights of the features to weights of the terms (`count` numbers).
void sn_terms_mix(const sn_terms *terms, const double *weights, double *mix);

#endif
