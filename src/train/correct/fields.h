// SPDX-License-Identifier: MIT
// From the regression of every vertex to a few displacement fields per patch: the principal components of the
// displacements that the controls cause one by one, with coefficients that are sums of functions of the controls. What
// is kept is decided by rate and distortion.
#ifndef SINEW_TRAIN_CORRECT_FIELDS_H
#define SINEW_TRAIN_CORRECT_FIELDS_H

#include "train/correct/regress.h"

typedef struct sn_field_limits {
  double lost;  // squared error, over all vertices and poses, that may be added
  double bytes; // of all fields, about, at most; 0: any number
} sn_field_limits;

// Patches of several sizes with all their components, or the first `shapes` of all vertices. `r` is solved.
typedef struct sn_fields sn_fields;
sn_status sn_fields_find(sn_regression *r, float (*positions)[3], int shapes, sn_fields **out);
// Those within the limits, which are replaced by what is lost and by the bytes of the fields, about.
sn_status sn_fields_make(sn_fields *fields, sn_field_limits *limits, sn_corrections *out);
// Corrections by values alone, exactly: a field for every term (shapes.c).
sn_status sn_shapes_make(sn_regression *r, sn_corrections *out);

#endif
