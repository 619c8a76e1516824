// SPDX-License-Identifier: MIT
// Writes a trained rotational regression as sections of a plan.
#include "train/rotreg/rotreg.h"

#include <string.h>

#include "base/scope.h"
#include "runtime/format.h"
#include "train/pose_space.h"
#include "train/train.h"

enum { lanes = SN_RT_LANES, rows = SN_RT_ROTREG_ROWS };

static sn_status add_joints(const sn_rotreg_training *t, sn_plan *plan) {
  const sn_rotreg_rotations *rotations = &t->rotations;
  sn_rt_rotreg_joint *to =
    sn_plan_section(t->ctx, plan, SN_SECTION_DRIVE_JOINTS, (size_t)rotations->joint_count, sizeof *to);
  for (int j = 0; to && j < rotations->joint_count; j++) {
    to[j].base = (uint32_t)rotations->base[j];
    sn_vec3_store(rotations->reference[j], to[j].reference);
  }
  return to ? SN_OK : t->ctx->error.status;
}

static sn_status add_solve(const sn_rotreg_training *t, sn_plan *plan) {
  uint32_t joint_count = (uint32_t)t->rotations.joint_count, bones = (uint32_t)t->bones.bone_count;
  size_t count = sn_rt_rotreg_solve_count(joint_count, bones), columns = 3 * (size_t)bones + 4 * (size_t)joint_count;
  float *to = sn_plan_section(t->ctx, plan, SN_SECTION_DRIVE_SOLVE, count, sizeof *to);
  for (size_t row = 0; to && row < 4 * (size_t)bones; row++)
    for (size_t c = 0; c < columns; c++)
      to[(row / rows * columns + c) * rows + row % rows] = (float)t->c[row * columns + c];
  return to ? SN_OK : t->ctx->error.status;
}

static void store_predictor(const sn_rotreg_predictor *p, int lane, sn_rt_rotreg_block *to) {
  to->base[lane] = (uint16_t)p->base;
  for (int k = 0; k < 2; k++) to->shear_joint[k][lane] = (uint16_t)p->shear_joints[k];
  if ((uint32_t)p->factor_count > to->factor_count) to->factor_count = (uint32_t)p->factor_count;
  for (int k = 0; k < p->factor_count; k++) {
    to->joint[k][lane] = (uint16_t)p->factors[k].joint;
    for (int m = 0; m < 9; m++) to->map[k][m][lane] = (float)p->factors[k].map.m[m / 3][m % 3];
  }
  for (int c = 0; c < 6; c++)
    for (int m = 0; m < sn_rotreg_shear_terms; m++) to->shear[c][m][lane] = (float)p->h[c][m];
  for (int c = 0; c < 3; c++)
    for (int m = 0; m < sn_rotreg_shear_terms; m++) to->tilt[c][m][lane] = (float)p->tilt[c][m];
}

static sn_status add_predictors(const sn_rotreg_training *t, sn_plan *plan) {
  size_t blocks = sn_rt_rotreg_blocks((uint32_t)t->bones.bone_count);
  sn_rt_rotreg_block *to = sn_plan_section(t->ctx, plan, SN_SECTION_DRIVE_KEYS, blocks, sizeof *to);
  for (int k = 0; to && k < t->bones.bone_count; k++) store_predictor(&t->predictors[k], k % lanes, &to[k / lanes]);
  return to ? SN_OK : t->ctx->error.status;
}

// ---- torques --------------------------------------------------------------------------------------------------------

static void store_pair(const sn_torque_pair *pair, int lane, sn_rt_torque_block *to) {
  to->load[lane] = pair->load < 0 ? SN_RT_NO_JOINT : (uint16_t)pair->load;
  for (int end = 0; end < 2; end++) store_predictor(&pair->ends[end], lane, &to->ends[end]);
}

static sn_status add_pairs(const sn_rotreg_training *t, sn_plan *plan) {
  size_t blocks = sn_rt_rotreg_blocks((uint32_t)t->bones.bone_count);
  sn_rt_torque_block *to = sn_plan_section(t->ctx, plan, SN_SECTION_DRIVE_PAIRS, blocks, sizeof *to);
  for (size_t b = 0; to && b < blocks; b++) memset(to[b].load, 0xff, sizeof to[b].load);
  for (int k = 0; to && k < t->bones.bone_count; k++) store_pair(&t->torque.pairs[k], k % lanes, &to[k / lanes]);
  return to ? SN_OK : t->ctx->error.status;
}

static bool is_used(const sn_rotreg_training *t, int joint) {
  for (int k = 0; k < t->bones.bone_count; k++)
    if (t->torque.pairs[k].load == joint) return true;
  return false;
}

// Joints whose torque no bone follows get an empty range.
static sn_status add_torques(const sn_rotreg_training *t, sn_plan *plan) {
  const sn_torque_loads *loads = &t->loads;
  sn_rt_torque *to = sn_plan_section(t->ctx, plan, SN_SECTION_DRIVE_TORQUES, (size_t)loads->joint_count, sizeof *to);
  for (int j = 0; to && j < loads->joint_count; j++) {
    if (!is_used(t, j)) continue;
    to[j].low = (float)loads->range[j][0], to[j].high = (float)loads->range[j][1];
    for (int k = 0; k < sn_torque_most_degree; k++) {
      to[j].rotation[k] = (float)t->torque.functions[j].rotation[k];
      to[j].shear[k] = (float)t->torque.functions[j].shear[k];
    }
  }
  return to ? SN_OK : t->ctx->error.status;
}

// The constants of the published blending functions; no section if all are zero.
static sn_status add_offsets(const sn_rotreg_training *t, sn_plan *plan) {
  int used = 0, joint_count = t->loads.joint_count;
  for (int n = 0; n < 2 * joint_count; n++) used += t->torque.functions[n / 2].offset[n % 2] != 0;
  if (used == 0) return SN_OK;
  float *to = sn_plan_section(t->ctx, plan, SN_SECTION_DRIVE_OFFSETS, 2 * (size_t)joint_count, sizeof *to);
  for (int n = 0; to && n < 2 * joint_count; n++) to[n] = (float)t->torque.functions[n / 2].offset[n % 2];
  return to ? SN_OK : t->ctx->error.status;
}

// ---- the drive ------------------------------------------------------------------------------------------------------

static sn_status add_centre(const sn_rotreg_training *t, sn_plan *plan) {
  float *to = sn_plan_section(t->ctx, plan, SN_SECTION_DRIVE_CENTRE, 3, sizeof *to);
  if (to) sn_vec3_store(t->origin, to);
  return to ? SN_OK : t->ctx->error.status;
}

sn_status sn_rotreg_describe(const sn_rotreg_training *t, sn_plan *plan) {
  sn_local_rotation *rotations;
  plan->desc.drive = t->torques ? SN_RT_DRIVE_TORQUE : SN_RT_DRIVE_ROTREG;
  plan->desc.palette_count = t->rotations.joint_count + t->bones.bone_count;
  SN_TRY(add_joints(t, plan));
  SN_TRY(add_solve(t, plan));
  SN_TRY((t->torques ? add_pairs : add_predictors)(t, plan));
  if (t->torques) SN_TRY(add_torques(t, plan));
  if (t->torques) SN_TRY(add_offsets(t, plan));
  if (t->is_far) SN_TRY(add_centre(t, plan));
  SN_TRY(sn_local_rotations_make(t->ctx, &plan->memory, t->examples, t->keys, &rotations));
  return sn_plan_ranges(t->ctx, plan, rotations, &t->examples->poses, t->keys);
}
