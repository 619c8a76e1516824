// SPDX-License-Identifier: MIT
// Any bytes as a torque table for a skeleton of three joints.
#include "sinew/formats.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  sn_context ctx = sn_context_default();
  sn_skeleton skeleton;
  sn_torques torques;
  if (sn_skeleton_new(&ctx, 3, &skeleton) != SN_OK) abort();
  if (sn_torques_parse(&ctx, "fuzz.csv", (const char *)bytes, size, &skeleton, &torques) == SN_OK) {
    if (torques.frame_count < 1 || torques.joint_count != 3) abort();
    for (int k = 0; k < 3 * torques.frame_count; k++)
      if (!isfinite(torques.values[k]) || (!torques.has[k % 3] && torques.values[k] != 0)) abort();
  } else if (!ctx.error.message[0] || torques.values) {
    abort();
  }
  sn_torques_free(&torques);
  sn_skeleton_free(&skeleton);
  return 0;
}
