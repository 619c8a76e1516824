// SPDX-License-Identifier: MIT
// The table of drives.
#include "runtime/drive.h"

const sn_rt_driver *sn_rt_driver_of(const sn_rt_model *model) {
  static const sn_rt_driver *const drivers[] = {
#if !defined(SN_RT_BASIC)
    [SN_RT_DRIVE_ROTREG] = &sn_rt_driver_rotreg,
    [SN_RT_DRIVE_TORQUE] = &sn_rt_driver_torque,
    [SN_RT_DRIVE_CONTROLS] = &sn_rt_driver_controls,
#endif
    [SN_RT_DRIVE_JOINTS] = &sn_rt_driver_joints,
    [SN_RT_DRIVE_HELPERS] = &sn_rt_driver_helpers,
  };
  return drivers[model->info.drive];
}
