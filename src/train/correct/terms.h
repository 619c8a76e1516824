// SPDX-License-Identifier: MIT
// The functions of the pose that corrections are sums of. A joint with the rotation vector theta (relative to its
// parent, zero in the rest pose) has the polynomials of degree 2 in theta and Gaussians at its training poses; a joint
// and its parent have the products of their components; a named value v has v, and v^2 where training shows more than
// one level of it.
#ifndef SINEW_TRAIN_CORRECT_TERMS_H
#define SINEW_TRAIN_CORRECT_TERMS_H

#include "runtime/format.h"
#include "train/correct/correct.h"

enum { SN_MOST_FEATURES = 16 }; // of a group of terms

// Terms of a joint, of two or of a value. With `features` Phi (pose_count * rank) their prior covariance over the poses
// is Phi Phi^T.
struct sn_terms {
  uint16_t kind;    // SN_RT_TERMS_...
  int a, b;         // controls; b: of products
  int owner;        // its number among the controls
  int count, rank;  // terms at run time; features
  double *features; // pose_count * rank
  double *centres;  // Gaussians: count * 3, the last is the rest pose
  double *corner;   // Gaussians: rank * rank, lower, L of the centres' kernel L L^T
  bool hidden;      // of the joint's translation: it explains training poses and is no term of the model
  double scale;     // of a feature over its term (squares: a part of it); of Gaussians over L^-1 k
};

// The terms of every control (joints of the pose space, then values), one control after the other: its own, then the
// products with the parent. Behind these `count` are the hidden ones.
struct sn_term_list {
  int count, all;
  sn_terms *groups;
};

sn_status sn_terms_make(sn_context *ctx, sn_arena *memory, const sn_residuals *m, const int *controls,
                        int control_count, sn_term_list *out);

// The joint that a joint's rotation is relative to; -1: none.
int sn_terms_parent(const sn_residuals *m, int joint);

// From weights of the features to weights of the terms (count numbers).
void sn_terms_mix(const sn_terms *terms, const double *weights, double *mix);

#endif
