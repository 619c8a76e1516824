// SPDX-License-Identifier: MIT
#ifndef SINEW_RIG_RESULT_H
#define SINEW_RIG_RESULT_H

#include "rig/problem.h"
#include "rig/tree.h"
#include "sinew/rig.h"

// Rotations by quaternions and translations in single precision, as a file holds them; joints stay together. With
// `affine` the matrices themselves are rounded.
void rig_round_poses(const sn_skeleton *skeleton, bool affine, sn_poses *poses);

// Fills the figures of out->report from out's skeleton, poses and skin.
sn_status rig_report(sn_context *ctx, const sn_mesh *rest, const sn_frames *frames, sn_rig_result *out);

#endif
