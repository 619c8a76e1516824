// SPDX-License-Identifier: MIT
// A skin from the skeleton and the surface alone: bone heat (Baran and Popović 2007, "Automatic rigging and animation of 3D
// characters").
#ifndef SINEW_TRAIN_SKIN_HEAT_H
#define SINEW_TRAIN_SKIN_HEAT_H

#include "sinew/scene.h"

// Fails if the skeleton does not fit the mesh: a different scale or place.
sn_status sn_heat_skin(sn_context *ctx, const sn_mesh *rest, const sn_skeleton *skeleton, int influences,
                       sn_skin *out);

#endif
