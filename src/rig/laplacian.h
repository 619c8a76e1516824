// SPDX-License-Identifier: MIT
#ifndef SINEW_RIG_LAPLACIAN_H
#define SINEW_RIG_LAPLACIAN_H

#include "rig/solver.h"
#include "sinew/scene.h"

// Bone-vertex weight smoothing (Kim 2010, section 4): lowers
//
//   sum_i sum_f |x_i^f - sum_j w_ij T_j^f u_i|^2  +  rho F sum_j |L w_j|^2,   (L w)_i = mean of the neighbours' w - w_i
//
// by `sweeps` rounds over the vertices, each solved exactly while the others rest; no step raises it. rho is that of the
// source, for a mesh of unit radius. Errors, moments and pairs of the model are those of before.
sn_status rig_smooth_weights(sn_context *ctx, const sn_mesh *rest, rig_model *m, double rho, int sweeps);

#endif
