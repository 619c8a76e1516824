// SPDX-License-Identifier: MIT
// The drive `torque` (Kim, Park and Jung, section III): as `rotreg`, with two predictors per proxy bone, at the minimum and
// maximum torque, blended by functions of a joint's torque.
#include <string.h>

#include "runtime/rotreg.h"
#include "runtime/rotreg_joint.h"

_Static_assert(sizeof(sn_rt_torque) == 32, "the blending functions of a joint are 32 bytes in the file");
_Static_assert(sizeof(sn_rt_torque_block) == 6144, "eight pairs of predictors are 6144 bytes in the file");

// f_r and f_s of every joint, and a final pair of zeros for bones without a torque.
// Joints whose pair changed since the last frame are marked as rotated.
static void make_blends(const sn_rt_model *model, const float *torques, int again, float (*out)[2],
                        uint8_t *rotated) {
  const sn_rt_torque *torque = sn_rt_data(model, SN_SECTION_DRIVE_TORQUES);
  const float *offsets = sn_rt_data(model, SN_SECTION_DRIVE_OFFSETS);
  uint32_t joint_count = model->info.joint_count;
  for (uint32_t j = 0; j < joint_count; j++) {
    float pair[2];
    sn_rt_torque_blend(torque + j, offsets ? offsets + 2 * j : offsets, torques[j], pair);
    if (again && !sn_rt_same(out[j], pair, 2)) rotated[j] = 1;
    memcpy(out[j], pair, sizeof pair);
  }
  out[joint_count][0] = out[joint_count][1] = 0;
}

int sn_rt_torque_range(const sn_rt_model *model, uint32_t joint, float range[2]) {
  const sn_rt_torque *torque = sn_rt_data(model, SN_SECTION_DRIVE_TORQUES);
  if (joint >= model->info.torque_count || !(torque[joint].high > torque[joint].low)) return 0;
  range[0] = torque[joint].low, range[1] = torque[joint].high;
  return 1;
}

static int pair_changed(const sn_rt_torque_block *pair, const uint8_t *rotated) {
  int any =
    sn_rt_rotreg_block_rotated(&pair->ends[0], rotated) || sn_rt_rotreg_block_rotated(&pair->ends[1], rotated);
  for (int l = 0; l < SN_RT_LANES; l++) any |= pair->load[l] != SN_RT_NO_JOINT && rotated[pair->load[l]];
  return any;
}

static void run(const sn_rt_model *model, const sn_rt_input *input, const sn_rt_keeping *keeping, void *space,
                float *palette) {
  sn_rt_rotreg_job job = sn_rt_rotreg_prepare(model, keeping, space, palette);
  make_blends(model, input->torques, keeping->moved != NULL, job.blends, job.rotated);
  job.pairs = sn_rt_data(model, SN_SECTION_DRIVE_PAIRS);
  for (uint32_t b = 0; keeping->moved && b < sn_rt_rotreg_blocks(job.bone_count); b++)
    sn_rt_rotreg_stale(&job)[b] = (uint8_t)pair_changed(job.pairs + b, job.rotated);
  sn_rt_rotreg_run(model, input, keeping, &job);
}

static uint64_t work(const sn_rt_model *model) { return sn_rt_rotreg_work(model, 2); }

// ---- checks ------------------------------------------------------------------------------------------------------------

static int good_pair(const sn_rt_torque_block *b, uint32_t joint_count) {
  for (int l = 0; l < SN_RT_LANES; l++)
    if (b->load[l] >= joint_count && b->load[l] != SN_RT_NO_JOINT) return 0;
  return sn_rt_rotreg_good_block(&b->ends[0], joint_count) && sn_rt_rotreg_good_block(&b->ends[1], joint_count);
}

static sn_rt_status check(sn_rt_checker *c) {
  uint32_t joint_count = c->model->info.joint_count;
  uint32_t blocks = sn_rt_rotreg_blocks(c->model->info.palette_count - joint_count);
  SN_RT_TRY(sn_rt_rotreg_check(c));
  SN_RT_TRY(sn_rt_need_floats(c, SN_SECTION_DRIVE_TORQUES, joint_count * sizeof(sn_rt_torque) / sizeof(float)));
  SN_RT_TRY(sn_rt_need(c, SN_SECTION_DRIVE_PAIRS, blocks * sizeof(sn_rt_torque_block)));
  SN_RT_TRY(sn_rt_need_floats_if_there(c, SN_SECTION_DRIVE_OFFSETS, 2 * (uint64_t)joint_count));
  const sn_rt_torque *torque = sn_rt_data(c->model, SN_SECTION_DRIVE_TORQUES);
  for (uint32_t j = 0; j < joint_count; j++)
    if (torque[j].high < torque[j].low) return SN_RT_BAD(c, "the torque of joint %u is out of range", j);
  const sn_rt_torque_block *pairs = sn_rt_data(c->model, SN_SECTION_DRIVE_PAIRS);
  for (uint32_t b = 0; b < blocks; b++)
    if (!good_pair(pairs + b, joint_count))
      return SN_RT_BAD(c, "a pair of predictors of block %u is out of range", b);
  return SN_RT_OK;
}

const sn_rt_driver sn_rt_driver_torque = {check, sn_rt_rotreg_scratch, work, run};
