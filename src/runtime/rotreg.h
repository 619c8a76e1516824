// SPDX-License-Identifier: MIT
// The drives `rotreg` (Wang 2007) and `torque` (Kim, Park and Jung): joints to proxy bones. What their kernels work on.
#ifndef SINEW_RUNTIME_ROTREG_H
#define SINEW_RUNTIME_ROTREG_H

#include "runtime/format.h"
#include "sinew/runtime.h"

typedef struct sn_rt_rotreg_job {
  const sn_rt_rotreg_block *blocks; // predictors, eight at a time; NULL for the drive `torque`
  const sn_rt_torque_block *pairs;  // its predictors
  const float (*blends)[2];         // per joint, and one more for bones without a torque: f_r, f_s
  const float *solve;               // C, in blocks of 32 rows
  uint32_t joint_count, bone_count;
  float (*turns)[8]; // per joint: rotation as a quaternion, its logarithm as seen from the base, 0
  float *gradients;  // [3 keys][4]: columns of the key gradients
  float *matrices;   // the palette: joints, then proxy bones
} sn_rt_rotreg_job;

typedef void (*sn_rt_rotreg_kernel)(const sn_rt_rotreg_job *job);

void sn_rt_rotreg_scalar(const sn_rt_rotreg_job *job);

// Blocks of eight proxy bones (and predictors: there are as many).
static inline uint32_t sn_rt_rotreg_blocks(uint32_t bones) { return (bones + SN_RT_LANES - 1) / SN_RT_LANES; }

// Numbers of C, bytes of scratch memory beyond the palette, floating-point operations.
uint64_t sn_rt_rotreg_solve_count(uint32_t joints, uint32_t bones);
size_t sn_rt_rotreg_scratch(uint32_t joints, uint32_t bones);
uint64_t sn_rt_rotreg_flops(const sn_rt_info *info);

// The palette for these joints; `torques` for the drive `torque` only. `memory`: sn_rt_rotreg_scratch bytes, 64-byte
// aligned.
void sn_rt_drive_rotreg(const sn_rt_model *model, sn_rt_rotreg_kernel kernel, const float *torques, float *matrices,
                        void *memory);

// True for the drives that these functions serve.
static inline int sn_rt_has_proxies(sn_rt_drive drive) {
  return drive == SN_RT_DRIVE_ROTREG || drive == SN_RT_DRIVE_TORQUE;
}

// Checks the sections of the drive, whose sizes are right, for indices and numbers that are not. NULL: nothing wrong.
const char *sn_rt_rotreg_check(const sn_rt_model *model);

#endif
