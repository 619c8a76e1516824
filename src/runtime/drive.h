// SPDX-License-Identifier: MIT
// A drive makes the palette from the input. One file each: drive_*.c.
#ifndef SINEW_RUNTIME_DRIVE_H
#define SINEW_RUNTIME_DRIVE_H

#include "runtime/check.h"

typedef struct sn_rt_driver {
  // Checks its sections and the other slots; the functions below rely on it.
  sn_rt_status (*check)(sn_rt_checker *c);
  uint64_t (*scratch)(const sn_rt_model *model); // bytes of private memory; NULL: none
  uint64_t (*work)(const sn_rt_model *model);    // floating-point operations
  // Computes the palette, four columns of four floats each; the joints' matrices are already in it. `space`: `scratch` bytes,
  // 64-byte aligned.
  void (*run)(const sn_rt_model *model, const sn_rt_input *input, const sn_rt_keeping *keeping, void *space,
              float *palette);
} sn_rt_driver;

extern const sn_rt_driver sn_rt_driver_joints, sn_rt_driver_rotreg, sn_rt_driver_torque, sn_rt_driver_controls,
  sn_rt_driver_helpers;

const sn_rt_driver *sn_rt_driver_of(const sn_rt_model *model);

#endif
