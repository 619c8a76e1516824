// SPDX-License-Identifier: MIT
// Mean squares as weights.
#ifndef SINEW_TRAIN_ROTREG_FLOOR_H
#define SINEW_TRAIN_ROTREG_FLOOR_H

#include <stddef.h>

double sn_rotreg_mean(const double *values, size_t count);
// What is added to mean squares before they are inverted into weights, so that no term counts for everything: `part` of
// their mean, and next to nothing of the mesh's size.
double sn_rotreg_floor(const double *values, size_t count, double part, double diagonal);

#endif
