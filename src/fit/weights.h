// SPDX-License-Identifier: MIT
// The model (bones and weights) fitted to a problem, the pass over the data that improves the weights, and their smoothness.
#ifndef SINEW_FIT_WEIGHTS_H
#define SINEW_FIT_WEIGHTS_H

#include "fit/problem.h"

// The 1000 bones of the options, with room for an over-complete start.
enum { FIT_MOST_BONES = 4096, FIT_MOST_INFLUENCES = 8 };

typedef struct fit_model {
  int bones, capacity;
  int limit; // most influences of a vertex
  const fit_problem *p;
  double *t;            // capacity * 4 rows of 3 f: row 4 j + c, column 3 f + r
  float *t32;           // the same in single precision, for the products over all vertices
  double *gram;         // bones * bones * 10: u~^T G_jk u~ = sum_f (T_j u~) . (T_k u~)
  uint16_t *joint;      // n * limit
  double *weight;       // n * limit; unused slots of a vertex come last, with weight 0
  double *moment;       // bones * 4 rows of 3 f: sum_i w_ij u~_ic (x_i - prediction), at the current weights and t
  double *pair;         // bones * bones * 10: sum_i w_ij w_ik monomials(u~_i)
  double *price;        // bones, see FIT_PRICE
  double *vertex_error; // n: sum over frames of the squared distance
  double error;         // their sum
  double min_gain;      // FIT_THIN: least gain of an influence, relative to the mean squared error of a vertex
  double *trail;        // like t: the bones after the last update, from which sn_rig_round extrapolates
  int trail_age;        // updates since the last reset; extrapolation needs at least 1
  struct pass_space *space; // scratch of sn_fit_pass
} fit_model;

// Smoothness of the weights between neighbours: energy sum_edges c_ik |w_i - w_k|^2.
typedef struct fit_smooth {
  const int *start, *ring; // neighbours of i: ring[start[i]] to ring[start[i + 1] - 1]
  float *edge_weight;      // c_ik: one per entry of ring, symmetric; NULL: no smoothing
  bool steady;             // damp the simultaneous (Jacobi) updates of the vertices, so that they do not overshoot
} fit_smooth;

typedef enum fit_support {
  FIT_KEEP,    // keep the weights; compute moments and errors only
  FIT_ADJUST,  // from the present weights; may exchange influences with the most promising bones of the same chunk
  FIT_EXPLORE, // the same with all bones (many bones: those used nearby, and unused ones)
  FIT_THIN,    // like FIT_ADJUST, then drop influences that gain less than `min_gain`
  FIT_EXHAUST, // solve for the best set of influences among all bones
  FIT_PRICE    // keep the weights; price[j] = increase of the squared error without bone j
} fit_support;

sn_status sn_fit_model_new(sn_context *ctx, sn_arena *memory, const fit_problem *p, int capacity, int limit,
                           fit_model *out);
// One pass over the data: weights (by `mode`), then moments, pairs and errors for the new weights.
sn_status sn_fit_pass(sn_context *ctx, fit_model *m, fit_support mode, const fit_smooth *smooth);
// The weights as stored in files: single precision, normalised.
struct sn_skin;
sn_status sn_fit_store_skin(sn_context *ctx, const fit_model *m, struct sn_skin *out);
// Call after changing t: updates the single-precision copy and the Gram matrices.
void sn_fit_model_refresh(const sn_context *ctx, fit_model *m);

static inline double *fit_pair(const fit_model *m, int j, int k) {
  return m->pair + ((size_t)j * (size_t)m->bones + (size_t)k) * FIT_MONOMIALS;
}

static inline double *fit_gram(const fit_model *m, int j, int k) {
  return m->gram + ((size_t)j * (size_t)m->bones + (size_t)k) * FIT_MONOMIALS;
}

sn_affine sn_fit_bone(const fit_model *m, int j, int f);
void sn_fit_set_bone(fit_model *m, int j, int f, sn_affine a);

// ---- smoothness -----------------------------------------------------------------------------------------------------

// The rigidness Laplacian of Le and Deng 2014 in its symmetric form, for the frames of `p`.
// `strength` is relative to the squared size of the mesh times the number of frames.
sn_status sn_fit_smooth_build(sn_context *ctx, sn_arena *memory, const sn_mesh *rest, const fit_problem *p,
                              double strength, fit_smooth *out);

// Bone-vertex weight smoothing (Kim 2010, section 4): lowers
//
//   sum_i sum_f |x_i^f - sum_j w_ij T_j^f u_i|^2  +  rho F sum_j |L w_j|^2,   (L w)_i = mean of the neighbours' w - w_i
//
// by `sweeps` rounds over the vertices, each solved exactly with the others fixed. rho as in the paper, for a mesh of unit
// radius. Does not update errors, moments and pairs of the model.
sn_status sn_fit_smooth_weights(sn_context *ctx, const sn_mesh *rest, fit_model *m, double rho, int sweeps);

// Multiplies all edge weights c_ik by `factor`.
void sn_fit_smooth_scale(fit_smooth *smooth, int n, double factor);
// Scales edge weights built for a squared error of 1 to the present error.
void sn_fit_smooth_by_error(const fit_model *m, fit_smooth *smooth);
// sum_(i, k) c_ik |w_i - w_k|^2 over the edges.
double sn_fit_smooth_energy(const fit_model *m, const fit_smooth *smooth);

#endif
