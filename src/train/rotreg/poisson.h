// SPDX-License-Identifier: MIT
// Poisson mesh reconstruction (4.1) with soft constraints in the place of fixed vertices (4.2):
//     minimise  sum_k sum_j=2,3  e_kj |D_k v^_kj - v_kj|^2  +  sum_a c_a |y_a - lbs_a|^2
#ifndef SINEW_TRAIN_ROTREG_POISSON_H
#define SINEW_TRAIN_ROTREG_POISSON_H

#include "sinew/scene.h"
#include "solve/cholesky.h"

typedef struct sn_rotreg_poisson {
  const sn_mesh *rest;
  const double (*edges)[2];    // e: two per triangle
  const double *anchor_weight; // c: one per vertex, positive somewhere in every component
  sn_cholesky factor;
} sn_rotreg_poisson;

sn_status sn_rotreg_poisson_factor(sn_context *ctx, const sn_mesh *rest, const double (*edges)[2],
                                   const double *anchor_weight, sn_rotreg_poisson *out);
// One pose: gradients[t] and the linear blend give the vertices. `work`: sn_rotreg_poisson_work numbers.
void sn_rotreg_poisson_solve(const sn_rotreg_poisson *p, const sn_mat3 *gradients, const sn_vec3 *blend, double *work,
                             float (*out)[3]);
size_t sn_rotreg_poisson_work(const sn_mesh *rest);
void sn_rotreg_poisson_free(sn_rotreg_poisson *p);

#endif
