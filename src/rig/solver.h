// SPDX-License-Identifier: MIT
// What the files of the rigging solver share: the data in the solver's own units and the model being fitted.
//
//   x_i^f  ~  sum_j w_ij T_j^f u~_i ,      u~ = (u, 1)
//
// Index letters: i vertex, j and k bones, f frame, c component of u~ (0..3), r coordinate (0..2).
#ifndef SINEW_RIG_SOLVER_H
#define SINEW_RIG_SOLVER_H

#include "sinew/base.h"
#include "sinew/math.h"

// Rest positions and frames, centred, scaled and with the rigid motion of the whole mesh taken out of every frame, so
// that single precision serves for the bulk of the arithmetic. A problem may hold a sample of vertices and frames.
typedef struct rig_problem {
  int n, f;       // vertices, frames
  float *x;       // n rows of 3 f: x[i * 3f + 3 * frame + r]
  double (*u)[4]; // n: (u, 1)
  int *order;     // n: the vertices along a space-filling curve, so that neighbours in it are neighbours in space
  double *moment; // 4 rows of 3 f: sum_i u~_ic x_i; what the choice of the root needs
  double rest_cov[10]; // sum_i of the monomials of u~_i
} rig_problem;

// Monomials of u~ in this order: xx xy xz x yy yz y zz z 1, so that v~^T G v~ is a dot product of length 10.
enum { RIG_MONOMIALS = 10 };

typedef struct rig_model {
  int bones, capacity;
  int limit;            // most influences of a vertex
  const rig_problem *p; // of which t and the weights are
  double *t;            // capacity * 4 rows of 3 f: row 4 j + c, column 3 f + r
  float *t32;           // the same in single precision, for the products over all vertices
  double *gram;         // bones * bones * 10: v~^T gram_jk v~ = sum_f (T_j v~) . (T_k v~)
  uint16_t *joint;      // n * limit
  double *weight;       // n * limit; zeros at the end
  double *moment;       // bones * 4 rows of 3 f: sum_i w_ij u~_ic (x_i - prediction), at the current weights and t
  double *pair;         // bones * bones * 10: sum_i w_ij w_ik monomials(u~_i)
  double *price;        // bones, see RIG_PRICE
  double *vertex_error; // n: sum over frames of the squared distance
  double error;         // their sum
  double *trail;        // like t: the bones after the last update, from which rig_round goes on
  int trail_age;        // updates since; rises to 1 before the trail is good for anything
  struct pass_space *space; // of rig_pass
} rig_model;

// Pulls every vertex's weights towards those of its neighbours: energy sum_edges pull |w_i - w_k|^2.
typedef struct rig_smooth {
  const int *start, *ring; // neighbours of i: ring[start[i]] ..
  const float *pull;       // one per entry of ring, symmetric; NULL: no smoothing
} rig_smooth;

typedef enum rig_support {
  RIG_KEEP,    // weights stay; only moments and errors are computed
  RIG_ADJUST,  // from the present weights, exchanging influences with the most promising bones
  RIG_EXPLORE, // the same, with all bones instead of those in use nearby
  RIG_EXHAUST, // from all bones, to the best set of influences
  RIG_PRICE    // weights stay; price[j] becomes what the error would rise by without bone j
} rig_support;

sn_status rig_model_new(sn_context *ctx, sn_arena *memory, const rig_problem *p, int capacity, int limit,
                        rig_model *out);
// One pass over the data: weights (by `mode`), then moments, pairs and errors for the new weights.
sn_status rig_pass(sn_context *ctx, rig_model *m, rig_support mode, const rig_smooth *smooth);
// The weights as written: single precision, normalised.
struct sn_skin;
sn_status rig_store_skin(sn_context *ctx, const rig_model *m, struct sn_skin *out);
// To be called when t has changed: single-precision copy and Gram matrices.
void rig_model_refresh(const sn_context *ctx, rig_model *m);

// sn_parallel_for over independent items where there is enough to do: `work` is a rough count of operations in all.
static inline void rig_parallel(const sn_context *ctx, int count, int grain, double work, sn_range_fn body,
                                void *user) {
  if (work < 2e5) {
    body(user, 0, count, 0);
  } else {
    sn_parallel_for(ctx, count, grain, body, user);
  }
}

static inline void rig_monomials(const double u[4], double out[RIG_MONOMIALS]) {
  out[0] = u[0] * u[0], out[1] = u[0] * u[1], out[2] = u[0] * u[2], out[3] = u[0] * u[3], out[4] = u[1] * u[1];
  out[5] = u[1] * u[2], out[6] = u[1] * u[3], out[7] = u[2] * u[2], out[8] = u[2] * u[3], out[9] = u[3] * u[3];
}

// The symmetric 4x4 matrix of moments stored as monomials.
static inline void rig_unpack(const double s[RIG_MONOMIALS], double out[4][4]) {
  out[0][0] = s[0], out[0][1] = out[1][0] = s[1], out[0][2] = out[2][0] = s[2], out[0][3] = out[3][0] = s[3];
  out[1][1] = s[4], out[1][2] = out[2][1] = s[5], out[1][3] = out[3][1] = s[6], out[2][2] = s[7];
  out[2][3] = out[3][2] = s[8], out[3][3] = s[9];
}

static inline double *rig_pair(const rig_model *m, int j, int k) {
  return m->pair + ((size_t)j * (size_t)m->bones + (size_t)k) * RIG_MONOMIALS;
}

static inline double *rig_gram(const rig_model *m, int j, int k) {
  return m->gram + ((size_t)j * (size_t)m->bones + (size_t)k) * RIG_MONOMIALS;
}

#endif
