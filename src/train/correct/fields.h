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

// Patches with all their components, or the first `shapes` of all vertices. `r` is solved.
typedef struct sn_fields sn_fields;
sn_status sn_fields_find(sn_regression *r, float (*positions)[3], int shapes, sn_fields **out);
// Those within the limits, which are replaced by what is lost and by the bytes of the fields, about.
sn_status sn_fields_make(sn_fields *fields, sn_field_limits *limits, sn_corrections *out);
// Corrections by values alone, exactly: a field for every term (shapes.c).
sn_status sn_shapes_make(sn_regression *r, sn_corrections *out);

// Patches of the surface, vertices that are near each other and have similar weights (patch_of, vertex_count): k-means on
// the position over the diagonal and 0.3 times the weights (METHODS.md), from `count` boxes, of whole blocks of eight
// vertices that the skin lets share a block. Returns how many patches have vertices in *count (patches.c).
sn_status sn_patches_make(sn_context *ctx, const sn_residuals *m, const float (*positions)[3], int *count,
                          int *patch_of);

// Describes the model with fields within `limits` (replaced by what they lose and take) and says what it costs: its bytes and
// time only where they are `measured`, which takes an encoding.
typedef sn_status (*sn_rate_describe)(void *user, bool measured, sn_field_limits *limits, sn_rate *rate);

// The model that report->limits ask for: without any that of `usual`; within bytes and time the one with the least
// error; with an error the smallest that reaches it. What was tried becomes report->rates, largest first (rate.c).
sn_status sn_rate_choose(sn_context *ctx, sn_rate_describe describe, void *user, sn_field_limits usual,
                         sn_train_report *report);

#endif
