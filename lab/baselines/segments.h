// SPDX-License-Identifier: MIT
// Rigid parts of a moving mesh, as the methods that Le and Deng compare with find them: of[i] is the part of vertex i, from 0. And
// how they rotate once they are joined.
#ifndef SINEW_LAB_BASELINES_SEGMENTS_H
#define SINEW_LAB_BASELINES_SEGMENTS_H

#include "rig/solve.h"

// Schaefer and Yuksel 2007: neighbours are merged in the order of what one rigid motion for both costs.
sn_status sn_rig_merged_segments(sn_context *ctx, const fit_problem *p, const sn_topology *topology, int count,
                                 int *of);

// De Aguiar and others 2008: spectral clustering of vertices whose distances to each other change alike.
sn_status sn_rig_distance_segments(sn_context *ctx, const fit_problem *p, int count, int *of);

// Hasler and others 2010: spectral clustering of the surface's rotation sequences.
sn_status sn_rig_rotation_segments(sn_context *ctx, const fit_problem *p, const sn_topology *topology, int count,
                                   int *of);

// Normalised spectral clustering of n things with these distances (n x n), each seen at the scale of its own neighbourhood
// (Zelnik-Manor and Perona 2004).
sn_status sn_rig_spectral(sn_context *ctx, int n, const double *distances, int count, int *of);

// The rotation of bone j about c, which frame f has at psi, that fits best what the other bones leave. Needs the moments of m.
sn_mat3 sn_rig_rotation_about(const fit_model *m, int j, int f, sn_vec3 c, sn_vec3 psi);
// T_j = psi - R_j C_jk with psi = [R_k | T_k] C_jk, from the root outwards. `refit`: rotations are those about the joints.
void sn_rig_close_joints(fit_model *m, const rig_tree *tree, int f, bool refit);

#endif
