// SPDX-License-Identifier: MIT
// Common parts of the drives `rotreg` (Wang 2007) and `torque` (Kim, Park and Jung).
#ifndef SINEW_RUNTIME_ROTREG_H
#define SINEW_RUNTIME_ROTREG_H

#include "runtime/drive.h"

// A job with the joints' matrices and rotations; the caller adds the predictors. `space` as in sn_rt_driver.
sn_rt_rotreg_job sn_rt_rotreg_prepare(const sn_rt_model *model, const sn_rt_keeping *keeping, void *space,
                                      float *palette);

// With results of the last frame: one byte per block of predictors, whether they changed. Fill in before sn_rt_rotreg_run.
static inline uint8_t *sn_rt_rotreg_stale(const sn_rt_rotreg_job *job) { return job->rotated + job->joint_count; }
int sn_rt_rotreg_block_rotated(const sn_rt_rotreg_block *b, const uint8_t *rotated);

// Runs the kernel of the model's path; relative to drive.centre for models far from the origin.
void sn_rt_rotreg_run(const sn_rt_model *model, const sn_rt_input *input, const sn_rt_keeping *keeping,
                      sn_rt_rotreg_job *job);

// Checks the sections of both drives; whether indices and numbers of a block of predictors are in range.
sn_rt_status sn_rt_rotreg_check(sn_rt_checker *c);
int sn_rt_rotreg_good_block(const sn_rt_rotreg_block *b, uint32_t joint_count);

uint64_t sn_rt_rotreg_scratch(const sn_rt_model *model);
uint64_t sn_rt_rotreg_work(const sn_rt_model *model, int ends); // predictors per proxy bone: 1 or 2

#endif
