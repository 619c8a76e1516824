// SPDX-License-Identifier: MIT
#ifndef SINEW_RIG_GIVEN_H
#define SINEW_RIG_GIVEN_H

#include "sinew/rig.h"

// sn_rig for options with a given skeleton.
sn_status rig_with_skeleton(sn_context *ctx, const sn_mesh *rest, const sn_frames *frames, const sn_rig_options *o,
                            sn_rig_result *out);

#endif
