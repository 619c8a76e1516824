// SPDX-License-Identifier: MIT
// The weights of the least-squares problem that both forms solve: inverse mean squares of each term's residual on held-out poses
// (docs/methods/rotational-regression.md).
#ifndef SINEW_TRAIN_ROTREG_FLOOR_H
#define SINEW_TRAIN_ROTREG_FLOOR_H

#include <stddef.h>

// What is added to mean squares before they are inverted, so that no term counts for everything: this part of their mean.
#define SN_ROTREG_EDGE_FLOOR 0.05
#define SN_ROTREG_ANCHOR_FLOOR 0.02

double sn_rotreg_mean(const double *values, size_t count);
// `part` of the mean, and next to nothing of the mesh's size.
double sn_rotreg_floor(const double *values, size_t count, double part, double diagonal);

#endif
