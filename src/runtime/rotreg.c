// SPDX-License-Identifier: MIT
// The drives `rotreg` (Wang 2007) and `torque` (Kim, Park and Jung): joint rotations and their logarithms, the blending
// functions of torques; sizes and checks of their sections.
#include "runtime/rotreg.h"

#include <math.h>

#include "runtime/smallmath.h"

_Static_assert(sizeof(sn_rt_rotreg_joint) == 16, "a joint of rotreg is 16 bytes in the file");
_Static_assert(sizeof(sn_rt_rotreg_block) == 3040, "eight predictors are 3040 bytes in the file");
_Static_assert(sizeof(sn_rt_torque) == 32, "the blending functions of a joint are 32 bytes in the file");
_Static_assert(sizeof(sn_rt_torque_block) == 6144, "eight pairs of predictors are 6144 bytes in the file");

static size_t aligned(size_t bytes) { return (bytes + SN_RT_ALIGNMENT - 1) / SN_RT_ALIGNMENT * SN_RT_ALIGNMENT; }

uint64_t sn_rt_rotreg_solve_count(uint32_t joints, uint32_t bones) {
  return (uint64_t)sn_rt_rotreg_blocks(bones) * SN_RT_ROTREG_ROWS * (3 * (uint64_t)bones + 4 * (uint64_t)joints);
}

static size_t turn_bytes(uint32_t joints) { return aligned((size_t)joints * 8 * sizeof(float)); }

static size_t blend_bytes(uint32_t joints) { return aligned(((size_t)joints + 1) * 2 * sizeof(float)); }

size_t sn_rt_rotreg_scratch(uint32_t joints, uint32_t bones) {
  return turn_bytes(joints) + blend_bytes(joints) +
         aligned((size_t)sn_rt_rotreg_blocks(bones) * SN_RT_LANES * 12 * sizeof(float));
}

uint64_t sn_rt_rotreg_flops(const sn_rt_info *info) {
  uint64_t joints = info->joint_count, bones = info->palette_count - joints,
           solve = 24 * bones * (3 * bones + 4 * joints);
  uint64_t turn = 15 + 5 + 28 + 4 + 3 + 2 * 12 + 28, rest = 45 + 72 + 45; // per turn; rotation, shear, product
  uint64_t tilt = 36 - 15 + turn, predict = 2 * turn + tilt + rest, mix = 100 + 18;
  if (info->drive == SN_RT_DRIVE_TORQUE) predict = 2 * (2 * turn + tilt + 72) + mix + rest - 72;
  return solve + bones * predict + 60 * joints;
}

// ---- joints (3.2.1) ----------------------------------------------------------------------------------------------------

static void rotation_of(const float columns[16], float q[4]) {
  float a[9], r[9], s[9];
  for (int n = 0; n < 9; n++) a[n] = columns[4 * (n % 3) + n / 3];
  sn_rt_polar(a, r, s);
  sn_rt_quat_from_rotation(r, q);
}

// The logarithm of base^-1 q, on the branch nearest to `reference`.
static void relative_log(const float base[4], const float q[4], const float reference[3], float out[3]) {
  float x = base[3] * q[0] - base[0] * q[3] - base[1] * q[2] + base[2] * q[1];
  float y = base[3] * q[1] - base[1] * q[3] - base[2] * q[0] + base[0] * q[2];
  float z = base[3] * q[2] - base[2] * q[3] - base[0] * q[1] + base[1] * q[0];
  float w = base[3] * q[3] + base[0] * q[0] + base[1] * q[1] + base[2] * q[2];
  if (w < 0) x = -x, y = -y, z = -z, w = -w;
  const float whole = 6.28318530717958647692f;
  float sine = sqrtf(x * x + y * y + z * z), angle = 2 * atan2f(sine, w), factor = 2;
  if (sine > 1e-6f) {
    float along = (x * reference[0] + y * reference[1] + z * reference[2]) / sine;
    factor = (angle + whole * rintf((along - angle) / whole)) / sine;
  }
  out[0] = factor * x, out[1] = factor * y, out[2] = factor * z;
}

// ---- torques (Kim, Park and Jung, section III) ---------------------------------------------------------------------------

static float within_unit(float x) { return x > 0 ? (x < 1 ? x : 1) : 0; }

static float blending_function(const float c[3], float x) { return within_unit(x * (c[0] + x * (c[1] + x * c[2]))); }

// f_r and f_s of every joint, and a last pair of zeros for bones that follow no torque.
static void make_blends(const sn_rt_model *model, const float *torques, float (*out)[2]) {
  const sn_rt_torque *torque = model->sections[SN_RT_TORQUE_RANGES];
  uint32_t joints = model->info.joint_count;
  for (uint32_t j = 0; j < joints; j++) {
    float range = torque[j].high - torque[j].low;
    float x = range > 0 ? within_unit((torques[j] - torque[j].low) / range) : 0;
    out[j][0] = blending_function(torque[j].rotation, x), out[j][1] = blending_function(torque[j].shear, x);
  }
  out[joints][0] = out[joints][1] = 0;
}

int sn_rt_torque_range(const sn_rt_model *model, uint32_t joint, float range[2]) {
  const sn_rt_torque *torque = model->sections[SN_RT_TORQUE_RANGES];
  if (joint >= model->info.torque_count || !(torque[joint].high > torque[joint].low)) return 0;
  range[0] = torque[joint].low, range[1] = torque[joint].high;
  return 1;
}

// ---- the drive --------------------------------------------------------------------------------------------------------

void sn_rt_drive_rotreg(const sn_rt_model *model, sn_rt_rotreg_kernel kernel, const float *torques, float *matrices,
                        void *memory) {
  const sn_rt_rotreg_joint *joint = model->sections[SN_RT_ROTREG_JOINTS];
  uint32_t joints = model->info.joint_count;
  float(*blends)[2] = (float(*)[2])(void *)((char *)memory + turn_bytes(joints));
  int paired =
    model->info.drive == SN_RT_DRIVE_TORQUE; // a section of another drive is there for nothing, and unchecked
  if (paired) make_blends(model, torques, blends);
  sn_rt_rotreg_job job = {.blocks = paired ? (const void *)0 : model->sections[SN_RT_ROTREG_KEYS],
                          .pairs = paired ? model->sections[SN_RT_TORQUE_KEYS] : (const void *)0,
                          .blends = (const float(*)[2])blends,
                          .solve = model->sections[SN_RT_ROTREG_SOLVE],
                          .joint_count = joints,
                          .bone_count = model->info.palette_count - joints,
                          .turns = memory,
                          .gradients = (float *)(void *)((char *)memory + turn_bytes(joints) + blend_bytes(joints)),
                          .matrices = matrices};
  for (uint32_t j = 0; j < joints; j++) rotation_of(matrices + 16 * (size_t)j, job.turns[j]);
  for (uint32_t j = 0; j < joints; j++) {
    relative_log(job.turns[joint[j].base], job.turns[j], joint[j].reference, job.turns[j] + 4);
    job.turns[j][7] = 0;
  }
  kernel(&job);
}

// ---- checks ---------------------------------------------------------------------------------------------------------------

static int all_finite(const float *values, uint64_t count) {
  for (uint64_t n = 0; n < count; n++)
    if (!isfinite(values[n])) return 0;
  return 1;
}

static int all_below(const uint16_t *values, uint32_t limit) {
  for (int l = 0; l < SN_RT_LANES; l++)
    if (values[l] >= limit) return 0;
  return 1;
}

static int good_block(const sn_rt_rotreg_block *b, uint32_t joints) {
  if (b->turn_count > SN_RT_ROTREG_TURNS || !all_below(b->base, joints)) return 0;
  if (!all_below(b->shear_joint[0], joints) || !all_below(b->shear_joint[1], joints)) return 0;
  for (int k = 0; k < SN_RT_ROTREG_TURNS; k++)
    if (!all_below(b->joint[k], joints)) return 0;
  return all_finite(&b->map[0][0][0], SN_RT_ROTREG_TURNS * 9 * SN_RT_LANES) &&
         all_finite(&b->shear[0][0][0], 6 * 7 * SN_RT_LANES) && all_finite(&b->tilt[0][0][0], 3 * 7 * SN_RT_LANES);
}

static int good_pair(const sn_rt_torque_block *b, uint32_t joints) {
  for (int l = 0; l < SN_RT_LANES; l++)
    if (b->load[l] >= joints && b->load[l] != SN_RT_NO_JOINT) return 0;
  return good_block(&b->ends[0], joints) && good_block(&b->ends[1], joints);
}

static const char *check_pairs(const sn_rt_model *model, uint32_t joints, uint32_t bones) {
  const sn_rt_torque *torque = model->sections[SN_RT_TORQUE_RANGES];
  for (uint32_t j = 0; j < joints; j++) {
    if (!all_finite((const float *)(const void *)&torque[j], 8) || torque[j].high < torque[j].low)
      return "the torque of a joint";
  }
  const sn_rt_torque_block *pairs = model->sections[SN_RT_TORQUE_KEYS];
  for (uint32_t b = 0; b < sn_rt_rotreg_blocks(bones); b++) {
    if (!good_pair(pairs + b, joints)) return "a pair of predictors";
  }
  return (const char *)0;
}

static const char *check_blocks(const sn_rt_model *model, uint32_t joints, uint32_t bones) {
  const sn_rt_rotreg_block *blocks = model->sections[SN_RT_ROTREG_KEYS];
  for (uint32_t b = 0; b < sn_rt_rotreg_blocks(bones); b++) {
    if (!good_block(blocks + b, joints)) return "a predictor";
  }
  return (const char *)0;
}

const char *sn_rt_rotreg_check(const sn_rt_model *model) {
  uint32_t joints = model->info.joint_count, bones = model->info.palette_count - joints;
  const sn_rt_rotreg_joint *joint = model->sections[SN_RT_ROTREG_JOINTS];
  for (uint32_t j = 0; j < joints; j++) {
    if (joint[j].base >= joints || !all_finite(joint[j].reference, 3)) return "a joint of the drive";
  }
  const char *wrong = (model->info.torque_count ? check_pairs : check_blocks)(model, joints, bones);
  if (wrong) return wrong;
  const float *solve = model->sections[SN_RT_ROTREG_SOLVE];
  return all_finite(solve, sn_rt_rotreg_solve_count(joints, bones)) ? (const char *)0 : "a number of drive.solve";
}
