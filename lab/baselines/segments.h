// SPDX-License-Identifier: MIT
// Segmentation of a mesh sequence into rigid parts by the methods that Le and Deng compare with: of[i] is the part of
// vertex i, from 0. And the rotations of the parts about their joints.
#ifndef SINEW_LAB_BASELINES_SEGMENTS_H
#define SINEW_LAB_BASELINES_SEGMENTS_H

#include "rig/solve.h"

// Schaefer and Yuksel 2007: merges neighbours greedily by the increase of the error of one rigid motion.
sn_status sn_rig_merged_segments(sn_context *ctx, const fit_problem *p, const sn_topology *topology, int count,
                                 int *of);

// De Aguiar and others 2008: spectral clustering of vertices by the changes of their mutual distances.
sn_status sn_rig_distance_segments(sn_context *ctx, const fit_problem *p, int count, int *of);

// Hasler and others 2010: spectral clustering of the surface's rotation sequences.
sn_status sn_rig_rotation_segments(sn_context *ctx, const fit_problem *p, const sn_topology *topology, int count,
                                   int *of);

// Normalised spectral clustering of n items with these distances (n x n) and local scaling (Zelnik-Manor and Perona
// 2004).
sn_status sn_rig_spectral(sn_context *ctx, int n, const double *distances, int count, int *of);

// Its affinities: exp(-d^2 / (s_i s_k)) between different items, s the distance to the seventh neighbour, over the square roots of
// the sums of row and column. `scale` and `row` have n entries.
void sn_rig_affinity(int n, const double *distances, double *a, double *scale, double *row);

// Motions of vertices in `frames` of the frames, evenly spaced; `rotation` ([vertex][frame][9]) is that of their one-rings.
typedef struct sn_rig_motions {
  const fit_problem *p;
  int frames;
  const float *rotation;
} sn_rig_motions;

// How unlike two vertices of `motions` move. De Aguiar and others: the standard deviation of their distance, and 0.02 of its mean,
// which keeps parts compact.
double sn_rig_distance_changes(const void *motions, int i, int k);
// Hasler and others: the rms angle (2 sin of its half) between their rotations, and their distance in the rest pose, which separates
// limbs that rotate alike.
double sn_rig_rotation_differs(const void *motions, int i, int k);

// The rotation of bone j about c, mapped to psi in frame f, that best fits the residual of the other bones. Needs the moments of m.
sn_mat3 sn_rig_rotation_about(const fit_model *m, int j, int f, sn_vec3 c, sn_vec3 psi);
// T_j = psi - R_j C_jk with psi = [R_k | T_k] C_jk, from the root outwards. `refit`: refits rotations about the joints.
void sn_rig_close_joints(fit_model *m, const rig_tree *tree, int f, bool refit);

#endif
