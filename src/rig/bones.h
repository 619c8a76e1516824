// SPDX-License-Identifier: MIT
#ifndef SINEW_RIG_BONES_H
#define SINEW_RIG_BONES_H

#include "rig/solver.h"

// The rotation r that maximises tr(r h), by Newton steps from `start`; sn_mat3_kabsch where they do not apply.
sn_mat3 rig_rotation_near(sn_mat3 h, sn_mat3 start);

// Rigid bones: `sweeps` rounds over the bones of every frame, each bone fitted while the others rest. Keeps the moments
// right for the new bones. `locked` bones (may be NULL) stay.
sn_status rig_bones_rigid(sn_context *ctx, rig_model *m, int sweeps, const bool *locked);

// Affine bones, all at once. The moments are no longer those of the model afterwards.
sn_status rig_bones_affine(sn_context *ctx, rig_model *m);

#endif
