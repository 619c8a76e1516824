// SPDX-License-Identifier: MIT
// The pose spaces of the CPU that are sums of terms (terms.c).
#ifndef SINEW_RUNTIME_SUMS_H
#define SINEW_RUNTIME_SUMS_H

#include "runtime/internal.h"
#include "runtime/pose_space.h"

// The terms that all sums share; those of joints that did not turn stay where `again`.
void sn_rt_make_terms(const sn_rt_model *model, const sn_rt_pose_spaces *spaces, const sn_rt_scratch *scratch,
                      int again);
int sn_rt_sum_has_changed(const sn_rt_pose_spaces *s, const sn_rt_field *f, const sn_rt_scratch *scratch);
void sn_rt_sum_values(const sn_rt_pose_spaces *s, const sn_rt_field *f, const sn_rt_scratch *scratch);

#endif
