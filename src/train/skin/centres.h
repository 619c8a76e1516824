// SPDX-License-Identifier: MIT
// Optimised centres of rotation (Le and Hodgins 2016): the centre of the surface with weights similar to a vertex's.
#ifndef SINEW_TRAIN_SKIN_CENTRES_H
#define SINEW_TRAIN_SKIN_CENTRES_H

#include "sinew/scene.h"

// With s(w, w') = sum_{j != k} w_j w_k w'_j w'_k exp(-(w_j w'_k - w_k w'_j)^2 / sigma^2), the centre of vertex i is the
// mean of the triangles' centroids, weighted by area_t s(w_i, mean of the corners' weights). Where these weights are
// all zero, as with a single joint, the vertex is its centre. Rows of `skin` must sum to one.
sn_status sn_centres(sn_context *ctx, const sn_mesh *rest, const sn_skin *skin, float (*out)[3]);

#endif
