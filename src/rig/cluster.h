// SPDX-License-Identifier: MIT
#ifndef SINEW_RIG_CLUSTER_H
#define SINEW_RIG_CLUSTER_H

#include "rig/solver.h"

// Fits a model with one influence per vertex (limit 1) and at most `bones` rigid bones, `rounds` of assigning and
// fitting after every split. Fewer bones come out where the data does not support them.
sn_status rig_cluster(sn_context *ctx, rig_model *m, int bones, int rounds);

// Sets bone j of m to the rigid motions of a set of vertices.
void rig_fit_region(const rig_problem *p, const int *vertices, int count, rig_model *m, int j);

// The `most` vertices nearest to `seed` in the rest pose, of cluster `only` or (cluster NULL) of all. Returns how many.
int rig_nearest(const rig_problem *p, const uint16_t *cluster, int only, int seed, int most, int *out, void *space);
size_t rig_nearest_space(const rig_problem *p);

#endif
