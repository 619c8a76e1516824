// SPDX-License-Identifier: MIT
// A trained rotational regression as the sections of a model file.
#include "train/rotreg/write.h"

#include <string.h>

#include "runtime/format.h"
#include "train/pose_space.h"
#include "train/train.h"

enum { lanes = SN_RT_LANES, rows = SN_RT_ROTREG_ROWS };

static sn_status joint_section(sn_context *ctx, sn_arena *memory, const sn_rotreg_rotations *rotations,
                               sn_model_section *out) {
  sn_rt_rotreg_joint *to = SN_NEW(ctx, memory, sn_rt_rotreg_joint, rotations->joint_count);
  if (!to) return ctx->error.status;
  for (int j = 0; j < rotations->joint_count; j++) {
    to[j].base = (uint32_t)rotations->base[j];
    sn_vec3_store(rotations->reference[j], to[j].reference);
  }
  *out = (sn_model_section){sn_rt_section_name(SN_SECTION_DRIVE_JOINTS), to,
                            (size_t)rotations->joint_count * sizeof *to, true};
  return SN_OK;
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
    for (int m = 0; m < sn_rotreg_shear_terms; m++) to->shear[c][m][lane] = (float)p->shear[c][m];
  for (int c = 0; c < 3; c++)
    for (int m = 0; m < sn_rotreg_shear_terms; m++) to->tilt[c][m][lane] = (float)p->tilt[c][m];
}

static sn_status predictor_section(sn_context *ctx, sn_arena *memory, const sn_rotreg_reduced *r,
                                   sn_model_section *out) {
  size_t blocks = sn_rt_rotreg_blocks((uint32_t)r->bones.bone_count);
  sn_rt_rotreg_block *to = SN_NEW(ctx, memory, sn_rt_rotreg_block, blocks);
  if (!to) return ctx->error.status;
  for (int k = 0; k < r->bones.bone_count; k++) {
    store_predictor(&r->predictors[k], k % lanes, &to[k / lanes]);
  }
  *out = (sn_model_section){sn_rt_section_name(SN_SECTION_DRIVE_KEYS), to, blocks * sizeof *to, true};
  return SN_OK;
}

static sn_status solve_section(sn_context *ctx, sn_arena *memory, const sn_rotreg_reduced *r, sn_model_section *out) {
  uint32_t joint_count = (uint32_t)r->rotations.joint_count, bones = (uint32_t)r->bones.bone_count;
  size_t count = sn_rt_rotreg_solve_count(joint_count, bones), columns = 3 * (size_t)bones + 4 * (size_t)joint_count;
  float *to = SN_NEW(ctx, memory, float, count);
  if (!to) return ctx->error.status;
  for (size_t row = 0; row < 4 * (size_t)bones; row++)
    for (size_t c = 0; c < columns; c++) {
      to[(row / rows * columns + c) * rows + row % rows] = (float)r->c[row * columns + c];
    }
  *out = (sn_model_section){sn_rt_section_name(SN_SECTION_DRIVE_SOLVE), to, count * sizeof *to, true};
  return SN_OK;
}

// ---- torques --------------------------------------------------------------------------------------------------------

static void store_pair(const sn_torque_pair *pair, int lane, sn_rt_torque_block *to) {
  to->load[lane] = pair->load < 0 ? SN_RT_NO_JOINT : (uint16_t)pair->load;
  for (int end = 0; end < 2; end++) store_predictor(&pair->ends[end], lane, &to->ends[end]);
}

static sn_status pair_section(sn_context *ctx, sn_arena *memory, const sn_rotreg_reduced *r, sn_model_section *out) {
  size_t blocks = sn_rt_rotreg_blocks((uint32_t)r->bones.bone_count);
  sn_rt_torque_block *to = SN_NEW(ctx, memory, sn_rt_torque_block, blocks);
  if (!to) return ctx->error.status;
  for (size_t b = 0; b < blocks; b++) memset(to[b].load, 0xff, sizeof to[b].load);
  for (int k = 0; k < r->bones.bone_count; k++) store_pair(&r->torque.pairs[k], k % lanes, &to[k / lanes]);
  *out = (sn_model_section){sn_rt_section_name(SN_SECTION_DRIVE_PAIRS), to, blocks * sizeof *to, true};
  return SN_OK;
}

static bool is_used(const sn_rotreg_reduced *r, int joint) {
  for (int k = 0; k < r->bones.bone_count; k++)
    if (r->torque.pairs[k].load == joint) return true;
  return false;
}

// A joint whose torque no bone follows gets no range.
static sn_status range_section(sn_context *ctx, sn_arena *memory, const sn_rotreg_reduced *r,
                               const sn_torque_loads *loads, sn_model_section *out) {
  sn_rt_torque *to = SN_NEW(ctx, memory, sn_rt_torque, loads->joint_count);
  if (!to) return ctx->error.status;
  for (int j = 0; j < loads->joint_count; j++) {
    if (!is_used(r, j)) continue;
    to[j].low = (float)loads->range[j][0], to[j].high = (float)loads->range[j][1];
    for (int k = 0; k < sn_torque_most_degree; k++) {
      to[j].rotation[k] = (float)r->torque.functions[j].rotation[k];
      to[j].shear[k] = (float)r->torque.functions[j].shear[k];
    }
  }
  size_t size = (size_t)loads->joint_count * sizeof *to;
  *out = (sn_model_section){sn_rt_section_name(SN_SECTION_DRIVE_TORQUES), to, size, true};
  return SN_OK;
}

// What blending functions as published are without load.
static sn_status offset_section(sn_context *ctx, sn_arena *memory, const sn_rotreg_reduced *r, int joint_count,
                                sn_model_section *out) {
  float *to = SN_NEW(ctx, memory, float, 2 * joint_count);
  if (!to) return ctx->error.status;
  for (int n = 0; n < 2 * joint_count; n++) to[n] = (float)r->torque.functions[n / 2].offset[n % 2];
  size_t size = 2 * (size_t)joint_count * sizeof *to;
  *out = (sn_model_section){sn_rt_section_name(SN_SECTION_DRIVE_OFFSETS), to, size, true};
  return SN_OK;
}

static bool has_offsets(const sn_rotreg_reduced *r, int joint_count) {
  for (int n = 0; n < 2 * joint_count; n++)
    if (r->torque.functions[n / 2].offset[n % 2] != 0) return true;
  return false;
}

// ---- the model ------------------------------------------------------------------------------------------------------

static sn_status trained_range(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                               sn_model_section *out) {
  sn_turn *turns;
  void *bytes;
  size_t size;
  sn_status status = sn_turns_make(ctx, memory, examples, keys, &turns);
  if (status == SN_OK) status = sn_ranges_section(ctx, memory, turns, &examples->poses, keys, &bytes, &size);
  if (status == SN_OK) *out = (sn_model_section){SN_RT_RANGE_NAME, bytes, size, false};
  return status;
}

sn_status sn_rotreg_build(sn_context *ctx, sn_arena *memory, const sn_rotreg_plan *plan, sn_model *out) {
  const sn_examples *examples = plan->examples;
  const sn_rotreg_reduced *r = plan->reduced;
  const sn_torque_loads *loads = plan->loads;
  sn_model_section sections[7], range;
  bool offsets = loads && has_offsets(r, loads->joint_count);
  sn_status status = joint_section(ctx, memory, &r->rotations, &sections[0]);
  if (status == SN_OK) status = solve_section(ctx, memory, r, &sections[1]);
  if (status == SN_OK) status = (loads ? pair_section : predictor_section)(ctx, memory, r, &sections[2]);
  if (status == SN_OK && loads) status = range_section(ctx, memory, r, loads, &sections[3]);
  if (status == SN_OK && offsets) status = offset_section(ctx, memory, r, loads->joint_count, &sections[4]);
  if (status == SN_OK) status = trained_range(ctx, memory, examples, plan->keys, &range);
  if (status != SN_OK) return status;
  sn_model_desc desc = sn_model_desc_default();
  desc.drive = loads ? SN_RT_DRIVE_TORQUE : SN_RT_DRIVE_ROTREG, desc.shade = plan->shade;
  desc.rest = &examples->rest, desc.skeleton = &examples->skeleton, desc.skin = &r->skin;
  desc.palette_count = r->rotations.joint_count + r->bones.bone_count;
  desc.section_count = 3 + (loads != NULL) + offsets, desc.sections = sections;
  if (plan->centre) {
    sections[desc.section_count++] =
      (sn_model_section){sn_rt_section_name(SN_SECTION_DRIVE_CENTRE), plan->centre, 3 * sizeof *plan->centre, true};
  }
  sections[desc.section_count++] = range;
  return sn_train_build(ctx, examples, desc, out);
}
