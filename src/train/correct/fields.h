// SPDX-License-Identifier: MIT
// Reduces the per-vertex regression to a few displacement fields per patch: principal components of the displacements
// that each control causes alone. Their coefficients are sums of functions of the controls. Rate and distortion decide
// which components are kept.
#ifndef SINEW_TRAIN_CORRECT_FIELDS_H
#define SINEW_TRAIN_CORRECT_FIELDS_H

#include "train/correct/regress.h"

typedef struct sn_field_limits {
  double lost;  // squared error that dropped components may add, over all vertices and poses
  double bytes; // approximate bytes of all fields, at most; 0: no limit
} sn_field_limits;

// Patches with all their components, or (shapes > 0) one patch with the first `shapes` components. `r` must be solved.
typedef struct sn_fields sn_fields;
sn_status sn_fields_find(sn_regression *r, float (*positions)[3], int shapes, sn_fields **out);
// Keeps the components within `limits`, which on return hold the error added and the approximate bytes.
sn_status sn_fields_make(sn_fields *fields, sn_field_limits *limits, sn_corrections *out);
// Exact corrections by values alone: one field per term (shapes.c).
sn_status sn_shapes_make(sn_regression *r, sn_corrections *out);

// Segments the surface into patches of nearby vertices with similar weights (patch_of, vertex_count): k-means on
// position / diagonal and 0.3 times the weights (METHODS.md), started from `count` boxes. Patches consist of whole
// blocks of eight vertices of one run of the skin. *count becomes the number of patches (patches.c).
sn_status sn_patches_make(sn_context *ctx, const sn_residuals *m, const float (*positions)[3], int *count,
                          int *patch_of);

// Describes the model with fields within `limits` (replaced by the error added and the bytes used) and its rate. Bytes
// and time of the rate are set only if `measured`, which needs an encoding.
typedef sn_status (*sn_rate_describe)(void *user, bool measured, sn_field_limits *limits, sn_rate *rate);

// Chooses the model for report->limits. Without limits: that of `usual`; with limits on bytes and time: the one with the least
// error; with a limit on the error: the smallest within it. report->rates lists the models tried, largest first (rate.c).
sn_status sn_rate_choose(sn_context *ctx, sn_rate_describe describe, void *user, sn_field_limits usual,
                         sn_train_report *report);

#endif
