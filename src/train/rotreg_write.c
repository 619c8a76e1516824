// SPDX-License-Identifier: MIT
#include "train/rotreg_write.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/rotreg.h"
#include "train/correct.h"
#include "train/train.h"

enum { lanes = SN_RT_LANES, rows = SN_RT_ROTREG_ROWS };

static sn_status joint_section(sn_context *ctx, sn_arena *memory, const rotreg_joints *joints,
                               sn_model_section *out) {
  sn_rt_rotreg_joint *to = SN_NEW(ctx, memory, sn_rt_rotreg_joint, joints->joint_count);
  if (!to) return ctx->error.status;
  for (int j = 0; j < joints->joint_count; j++) {
    to[j].base = (uint32_t)joints->base[j];
    sn_vec3_store(joints->reference[j], to[j].reference);
  }
  *out =
    (sn_model_section){sn_rt_section_name(SN_RT_ROTREG_JOINTS), to, (size_t)joints->joint_count * sizeof *to, true};
  return SN_OK;
}

static void store_predictor(const rotreg_predictor *p, int lane, sn_rt_rotreg_block *to) {
  to->base[lane] = (uint16_t)p->base;
  for (int k = 0; k < 2; k++) to->shear_joint[k][lane] = (uint16_t)p->shear_joints[k];
  if ((uint32_t)p->turn_count > to->turn_count) to->turn_count = (uint32_t)p->turn_count;
  for (int k = 0; k < p->turn_count; k++) {
    to->joint[k][lane] = (uint16_t)p->turns[k].joint;
    for (int m = 0; m < 9; m++) to->map[k][m][lane] = (float)p->turns[k].map.m[m / 3][m % 3];
  }
  for (int c = 0; c < 6; c++)
    for (int m = 0; m < rotreg_shear_terms; m++) to->shear[c][m][lane] = (float)p->shear[c][m];
  for (int c = 0; c < 3; c++)
    for (int m = 0; m < rotreg_shear_terms; m++) to->tilt[c][m][lane] = (float)p->tilt[c][m];
}

static sn_status key_section(sn_context *ctx, sn_arena *memory, const rotreg_reduced *r, sn_model_section *out) {
  size_t blocks = sn_rt_rotreg_blocks((uint32_t)r->bones.bone_count);
  sn_rt_rotreg_block *to = SN_NEW(ctx, memory, sn_rt_rotreg_block, blocks);
  if (!to) return ctx->error.status;
  for (int k = 0; k < r->bones.bone_count; k++) {
    store_predictor(&r->predictors[k], k % lanes, &to[k / lanes]);
  }
  *out = (sn_model_section){sn_rt_section_name(SN_RT_ROTREG_KEYS), to, blocks * sizeof *to, true};
  return SN_OK;
}

static sn_status solve_section(sn_context *ctx, sn_arena *memory, const rotreg_reduced *r, sn_model_section *out) {
  uint32_t joints = (uint32_t)r->joints.joint_count, bones = (uint32_t)r->bones.bone_count;
  size_t count = sn_rt_rotreg_solve_count(joints, bones), columns = 3 * (size_t)bones + 4 * (size_t)joints;
  float *to = SN_NEW(ctx, memory, float, count);
  if (!to) return ctx->error.status;
  for (size_t row = 0; row < 4 * (size_t)bones; row++)
    for (size_t c = 0; c < columns; c++) {
      to[(row / rows * columns + c) * rows + row % rows] = (float)r->c[row * columns + c];
    }
  *out = (sn_model_section){sn_rt_section_name(SN_RT_ROTREG_SOLVE), to, count * sizeof *to, true};
  return SN_OK;
}

// ---- torques -------------------------------------------------------------------------------------------------------------

static void store_pair(const torque_pair *pair, int lane, sn_rt_torque_block *to) {
  to->load[lane] = pair->load < 0 ? SN_RT_NO_JOINT : (uint16_t)pair->load;
  for (int end = 0; end < 2; end++) store_predictor(&pair->ends[end], lane, &to->ends[end]);
}

static sn_status pair_section(sn_context *ctx, sn_arena *memory, const rotreg_reduced *r, sn_model_section *out) {
  size_t blocks = sn_rt_rotreg_blocks((uint32_t)r->bones.bone_count);
  sn_rt_torque_block *to = SN_NEW(ctx, memory, sn_rt_torque_block, blocks);
  if (!to) return ctx->error.status;
  for (size_t b = 0; b < blocks; b++) memset(to[b].load, 0xff, sizeof to[b].load);
  for (int k = 0; k < r->bones.bone_count; k++) store_pair(&r->torque.pairs[k], k % lanes, &to[k / lanes]);
  *out = (sn_model_section){sn_rt_section_name(SN_RT_TORQUE_KEYS), to, blocks * sizeof *to, true};
  return SN_OK;
}

static bool is_used(const rotreg_reduced *r, int joint) {
  for (int k = 0; k < r->bones.bone_count; k++)
    if (r->torque.pairs[k].load == joint) return true;
  return false;
}

// A joint whose torque no bone follows gets no range.
static sn_status range_section(sn_context *ctx, sn_arena *memory, const rotreg_reduced *r, const torque_loads *loads,
                               sn_model_section *out) {
  sn_rt_torque *to = SN_NEW(ctx, memory, sn_rt_torque, loads->joint_count);
  if (!to) return ctx->error.status;
  for (int j = 0; j < loads->joint_count; j++) {
    if (!is_used(r, j)) continue;
    to[j].low = (float)loads->range[j][0], to[j].high = (float)loads->range[j][1];
    for (int k = 0; k < torque_most_degree; k++) {
      to[j].rotation[k] = (float)r->torque.functions[j].rotation[k];
      to[j].shear[k] = (float)r->torque.functions[j].shear[k];
    }
  }
  size_t size = (size_t)loads->joint_count * sizeof *to;
  *out = (sn_model_section){sn_rt_section_name(SN_RT_TORQUE_RANGES), to, size, true};
  return SN_OK;
}

// ---- the model -------------------------------------------------------------------------------------------------------------

static sn_status build(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const rotreg_reduced *r,
                       const torque_loads *loads, sn_rt_shade shade, sn_model *out) {
  sn_model_section sections[4];
  sn_status status = joint_section(ctx, memory, &r->joints, &sections[0]);
  if (status == SN_OK) status = solve_section(ctx, memory, r, &sections[1]);
  if (status == SN_OK) status = (loads ? pair_section : key_section)(ctx, memory, r, &sections[2]);
  if (status == SN_OK && loads) status = range_section(ctx, memory, r, loads, &sections[3]);
  if (status != SN_OK) return status;
  sn_model_desc desc = sn_model_desc_default();
  desc.drive = loads ? SN_RT_DRIVE_TORQUE : SN_RT_DRIVE_ROTREG, desc.shade = shade;
  desc.rest = &examples->rest, desc.skeleton = &examples->skeleton, desc.skin = &r->skin;
  desc.palette_count = r->joints.joint_count + r->bones.bone_count;
  desc.section_count = loads ? 4 : 3, desc.sections = sections;
  return sn_train_build(ctx, examples, desc, out);
}

// Section 8: where training poses need to be met exactly, a displacement correction on top.
static sn_status add_corrections(sn_context *ctx, const sn_examples *examples, const sn_keys *keys, sn_model *model,
                                 sn_train_report *report) {
  sn_correct_options correct = sn_correct_options_default();
  sn_model base = *model;
  sn_status status = sn_correct_model(ctx, &correct, examples, keys, &base, model, report);
  sn_model_free(&base);
  return status;
}

bool rotreg_has_no_model(const sn_method_spec *spec) { return sn_method_number(spec, "full") != 0; }

// Which torques move bones, and how the ends were found.
static void note_torques(const sn_examples *examples, const rotreg_reduced *r, sn_train_report *report) {
  char *note = report->note;
  int size = (int)sizeof report->note, used = snprintf(note, (size_t)size, "proxy bones that follow a torque:");
  for (int j = 0; j < examples->skeleton.joint_count; j++) {
    int count = 0;
    for (int k = 0; k < r->bones.bone_count; k++) count += r->torque.pairs[k].load == j;
    if (count > 0 && used < size) {
      used += snprintf(note + used, (size_t)(size - used), " %s %d,", examples->skeleton.names[j], count);
    }
  }
  if (used < size) {
    snprintf(note + used, (size_t)(size - used),
             " of %d; predictors fitted %s; on frames left out they miss %.0f %% of what they would without torques",
             r->bones.bone_count,
             r->torque.together ? "together from all examples" : "at the ends of the torque ranges",
             100 * sqrt(r->torque.gain));
  }
}

sn_status rotreg_train(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples, const sn_keys *keys,
                       const torque_loads *loads, sn_model *out, sn_train_report *report) {
  if (examples->rest.triangle_count == 0) {
    return sn_fail(ctx, SN_BAD_INPUT, "%s: the rest mesh has no triangles to learn from", spec->text);
  }
  rotreg_reduced_options options = {.bones = (int)sn_method_number(spec, "bones"),
                                    .error = sn_method_number(spec, "error"),
                                    .influences = (int)sn_method_number(spec, "influences"),
                                    .fit = rotreg_fit_options_default(),
                                    .loads = loads};
  options.fit.turns = (int)sn_method_number(spec, "joints");
  sn_arena memory = sn_arena_new(ctx);
  rotreg_reduced reduced;
  sn_status status = rotreg_reduced_train(ctx, &memory, examples, keys, &options, &reduced);
  const sn_rt_shade shades[] = {SN_RT_SHADE_RECOMPUTE, SN_RT_SHADE_TRANSFORM};
  sn_rt_shade shade = shades[(int)sn_method_number(spec, "shade")];
  if (status == SN_OK && loads) note_torques(examples, &reduced, report);
  if (status == SN_OK) status = build(ctx, &memory, examples, &reduced, loads, shade, out);
  if (status == SN_OK && sn_method_number(spec, "psd") != 0) {
    status = add_corrections(ctx, examples, keys, out, report);
  }
  sn_skin_free(&reduced.bones.skin);
  sn_skin_free(&reduced.skin);
  sn_arena_free(&memory);
  return status;
}
