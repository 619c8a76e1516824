// SPDX-License-Identifier: MIT
// Poses of a crowd for measurements and tests: every joint rotated about its place in the rest pose by some angle of up to
// 60 degrees, parents carrying children; torques and named values between and around the trained ones; control points moved a
// little. Deterministic.
#ifndef SINEW_CUDA_POSES_H
#define SINEW_CUDA_POSES_H

#include "sinew/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

// The input of one character; arrays that the model does not need may be NULL.
void sn_cuda_pose(const sn_rt_model *model, uint32_t character, float (*joints)[12], float *torques,
                  float (*controls)[3], float *values);

#ifdef __cplusplus
}
#endif
#endif
