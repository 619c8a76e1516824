// SPDX-License-Identifier: MIT
// Blends of rigid motions: spheres (Kavan and Zara 2005), quaternions and translations (Hejl 2004), logarithms (Alexa 2002).
#ifndef SINEW_LAB_BASELINES_SPHERE_H
#define SINEW_LAB_BASELINES_SPHERE_H

#include "sinew/scene.h"

// The centre r whose images under the matrices are closest: least squares of M_a r - M_b r over all pairs. Where r is
// undetermined (along a common axis, or everywhere), the solution nearest to `near`.
sn_vec3 sn_sphere_centre(int count, const sn_affine *matrices, sn_vec3 near);

// v' = Q (v - r) + sum_j w_j M_j r, with Q the normalised sum of w_j q_j, signs aligned with the first.
sn_vec3 sn_sphere_at(int count, const sn_affine *matrices, const double *weights, sn_vec3 near, sn_vec3 v);

// v' = Q v + sum_j w_j t_j: rotates about the origin, so the result depends on the coordinate system.
sn_vec3 sn_hejl_at(int count, const sn_affine *matrices, const double *weights, sn_vec3 near, sn_vec3 v);

// v' = exp(sum_j w_j log M_j) v.
sn_vec3 sn_alexa_at(int count, const sn_affine *matrices, const double *weights, sn_vec3 near, sn_vec3 v);

#endif
