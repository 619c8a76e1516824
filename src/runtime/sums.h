// SPDX-License-Identifier: MIT
// The pose spaces of the CPU that are sums of terms (terms.c).
#ifndef SINEW_RUNTIME_SUMS_H
#define SINEW_RUNTIME_SUMS_H

#include "runtime/internal.h"
#include "runtime/pose_space.h"

// The terms, then the values of the pose spaces that are sums of them; what no joint moves in stays where `again`.
void sn_rt_make_sums(const sn_rt_model *model, const sn_rt_pose_spaces *spaces, const sn_rt_scratch *scratch,
                     int again);

#endif
