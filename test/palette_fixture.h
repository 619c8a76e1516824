// SPDX-License-Identifier: MIT
// The proxy bones' matrices that the runtime makes, against T' = C x in double precision (Wang 2007, 4.3).
#ifndef SINEW_TEST_PALETTE_FIXTURE_H
#define SINEW_TEST_PALETTE_FIXTURE_H

#include "check.h"
#include "train/rotreg/reduced.h"

// On every path that this machine has; x: the columns of the key gradients, then of the joints' matrices.
static inline void check_palettes(const sn_rt_model *rt, const sn_rt_input *input, const sn_rotreg_training *r,
                                  const double (*x)[3]) {
  int bones = r->bones.bone_count, joints = r->rotations.joint_count, columns = 3 * bones + 4 * joints;
  for (int path = SN_RT_PATH_SCALAR; path < SN_RT_PATH_COUNT; path++) {
    sn_rt_model copy = *rt;
    if (!sn_rt_use_path(&copy, (sn_rt_path)path)) continue;
    void *scratch = malloc(sn_rt_scratch_size(rt));
    assert_int_equal(sn_rt_palette(&copy, input, scratch, NULL), SN_RT_OK);
    for (int b = 0; b < bones; b++) {
      float m[12];
      sn_rt_palette_matrix(&copy, scratch, (uint32_t)(joints + b), m);
      for (int k = 0; k < 12; k++) {
        double sum = 0;
        for (int c = 0; c < columns; c++)
          sum += r->c[(size_t)(4 * b + k % 4) * (size_t)columns + (size_t)c] * x[c][k / 4];
        assert_near((double)m[k], sum, 2e-4);
      }
    }
    free(scratch);
  }
}

#endif
