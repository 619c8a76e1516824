// SPDX-License-Identifier: MIT
// Poisson mesh reconstruction (4.1) with soft constraints in the place of fixed vertices (4.2):
//     minimise  sum_k sum_j=2,3  e_kj |D_k v^_kj - v_kj|^2  +  sum_a c_a |y_a - lbs_a|^2
#ifndef SINEW_TRAIN_ROTREG_POISSON_H
#define SINEW_TRAIN_ROTREG_POISSON_H

#include "sinew/scene.h"
#include "solve/cholesky.h"

typedef struct rotreg_poisson {
  const sn_mesh *rest;
  const double (*edges)[2]; // e: two per triangle
  const double *anchors;    // c: one per vertex, positive somewhere in every component
  sn_cholesky factor;
} rotreg_poisson;

sn_status rotreg_poisson_factor(sn_context *ctx, const sn_mesh *rest, const double (*edges)[2], const double *anchors,
                                rotreg_poisson *out);
// One pose: gradients[t] and the linear blend give the vertices. `work`: rotreg_poisson_work numbers.
void rotreg_poisson_solve(const rotreg_poisson *p, const sn_mat3 *gradients, const sn_vec3 *blend, double *work,
                          float (*out)[3]);
size_t rotreg_poisson_work(const sn_mesh *rest);
void rotreg_poisson_free(rotreg_poisson *p);

#endif
