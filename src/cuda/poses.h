// SPDX-License-Identifier: MIT
// Deterministic poses of a crowd for measurements and tests: every joint is rotated about its rest position by up to 60 degrees
// relative to its parent; torques and named values are within and slightly outside their training ranges; control points are
// displaced a little.
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
