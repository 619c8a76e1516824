// SPDX-License-Identifier: MIT
// Computes the palette with the drive. For blends of rotations, splits every matrix into a rigid motion and a stretch.
#include <math.h>
#include <string.h>

#include "runtime/drive.h"
#include "runtime/dualquat.h"
#include "runtime/pose_space.h"

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

// Palette matrices are stored as four columns of four floats.
static void load_matrix(const float row_major[12], float columns[16]) {
  for (int c = 0; c < 4; c++) {
    for (int r = 0; r < 3; r++) columns[4 * c + r] = row_major[4 * r + c];
    columns[4 * c + 3] = 0;
  }
}

static void load_joints(const sn_rt_model *model, const sn_rt_input *input, const sn_rt_scratch *s, int again) {
  for (uint32_t j = 0; j < model->info.joint_count; j++) {
    float columns[16], *matrix = s->matrices + 16 * (size_t)j;
    load_matrix(input->joints[j], columns);
    s->moved[j] = !again || !sn_rt_same(matrix, columns, 16);
    memcpy(matrix, columns, sizeof columns);
  }
}

// The model's checksum: identifies whose results are in the scratch memory.
static uint32_t stamp_of(const sn_rt_model *model) {
  uint32_t checksum = ((const sn_rt_header *)(const void *)sn_rt_at(model)->bytes)->checksum;
  return checksum ? checksum : 1;
}

// ---- dual quaternions --------------------------------------------------------------------------------------------------

// Fixed point of a palette entry's stretch in the rest pose: the joint's centre.
static void entry_centre(const sn_rt_model *model, uint32_t entry, float centre[3]) {
  const float(*rest)[12] = sn_rt_data(model, SN_SECTION_JOINT_REST);
  const sn_rt_extra *extra = sn_rt_data(model, SN_SECTION_DRIVE_EXTRA);
  uint32_t joint_count = model->info.joint_count;
  for (int c = 0; c < 3; c++)
    centre[c] = entry >= joint_count ? extra[entry - joint_count].centre[c] : rest ? rest[entry][4 * c + 3] : 0;
}

// The joint that determines a palette entry's hemisphere.
static uint32_t entry_joint(const sn_rt_model *model, uint32_t entry) {
  const sn_rt_extra *extra = sn_rt_data(model, SN_SECTION_DRIVE_EXTRA);
  uint32_t joint_count = model->info.joint_count;
  return entry < joint_count ? entry : extra[entry - joint_count].child;
}

// Moves every dual quaternion to the hemisphere of its joint's signed quaternion (local_rotations.c).
static void sign_dualquats(const sn_rt_model *model, const sn_rt_scratch *s) {
  for (uint32_t e = 0; e < model->info.palette_count; e++) {
    float *q = s->dualquats + 8 * (size_t)e;
    const float *rotation = s->rotations + 8 * (size_t)entry_joint(model, e);
    if (q[0] * rotation[0] + q[1] * rotation[1] + q[2] * rotation[2] + q[3] * rotation[3] >= 0) continue;
    for (int n = 0; n < 8; n++) q[n] = -q[n];
  }
  *s->flags |= SN_RT_SIGNED;
}

// Returns whether all entries are rigid.
static int split_palette(const sn_rt_model *model, const sn_rt_scratch *s, float common) {
  float centre[3];
  int rigid = 1;
  for (uint32_t e = 0; e < model->info.palette_count; e++) {
    entry_centre(model, e, centre);
    rigid &= sn_rt_split_matrix(s->matrices + 16 * (size_t)e, centre, common, s->dualquats + 8 * (size_t)e,
                                s->stretches + 16 * (size_t)e);
  }
  return rigid;
}

static void make_dualquats(const sn_rt_model *model, const sn_rt_scratch *s) {
  int rigid = split_palette(model, s, 1);
  int dual = model->info.blend == SN_RT_BLEND_DUALQUAT; // other blends take translations from the matrices
  float common = rigid || !dual ? 1 : sn_rt_common_scale(s->stretches, model->info.palette_count, 16);
  if (fabsf(common - 1) > 1e-4f) split_palette(model, s, common);
  *s->flags = rigid ? SN_RT_RIGID : 0;
  if (model->info.drive == SN_RT_DRIVE_JOINTS && sn_rt_data(model, SN_SECTION_JOINT_REFERENCE))
    sign_dualquats(model, s);
}

// Stored after the rotations.
static void load_values(const sn_rt_model *model, const float *values, float *out) {
  const float(*ranges)[2] = sn_rt_data(model, SN_SECTION_VALUE_RANGES);
  for (uint32_t v = 0; v < model->info.value_count; v++) out[v] = sn_rt_value_in_span(ranges[v], values[v]);
}

static void scale_matrices(const sn_rt_model *model, const sn_rt_scratch *s) {
  float unit = 1 / sn_rt_weight_total(model->info.weight_bits);
  if (s->scaled == s->matrices) return;
  for (size_t n = 0; n < 16 * (size_t)model->info.palette_count; n++) s->scaled[n] = unit * s->matrices[n];
}

// ---- entry points --------------------------------------------------------------------------------------------------------

static sn_rt_status check_input(const sn_rt_model *model, const sn_rt_input *input, sn_rt_error *error) {
  static const sn_rt_input nothing;
  const sn_rt_info *info = &model->info;
  if (!input) input = &nothing;
  const struct {
    const void *given;
    uint32_t stated, needed;
    const char *what, *of;
  } parts[] = {{input->joints, input->joint_count, info->joint_count, "the matrices of its", "joints"},
               {input->controls, input->control_count, info->control_count, "the positions of its", "control points"},
               {input->torques, input->torque_count, info->torque_count, "the torques of its", "joints"},
               {input->values, input->value_count, info->value_count, "its", "named values"}};
  for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
    uint32_t needed = parts[p].needed, stated = parts[p].stated;
    if (needed && (!parts[p].given || (stated && stated != needed)))
      return sn_rt_fail(error, SN_RT_BAD_ARGUMENT,
                        parts[p].given ? "the model needs %s %u %s, not %u" : "the model needs %s %u %s",
                        parts[p].what, needed, parts[p].of, stated);
  }
  unsigned long long size = sn_rt_scratch_size(model), given = input->scratch_size;
  if (given && given < size)
    return sn_rt_fail(error, SN_RT_BAD_ARGUMENT, "the model needs %llu bytes of scratch memory, not %llu", size,
                      given);
  return SN_RT_OK;
}

sn_rt_status sn_rt_palette(const sn_rt_model *model, const sn_rt_input *input, void *scratch, sn_rt_error *error) {
  if (!sn_rt_at(model)->bytes) return sn_rt_fail(error, SN_RT_BAD_ARGUMENT, "the model is not open");
  if (!scratch) return sn_rt_fail(error, SN_RT_BAD_ARGUMENT, "there is no scratch memory");
  sn_rt_status status = check_input(model, input, error);
  if (status) return status;
  sn_rt_scratch s = sn_rt_scratch_at(model, scratch);
  int keep = input && (input->flags & SN_RT_CONTINUE);
  int again = keep && *s.stamp == stamp_of(model) && *s.path == (uint32_t)sn_rt_at(model)->path;
  *s.path = (uint32_t)sn_rt_at(model)->path, *s.stamp = 0; // until everything is there
  load_joints(model, input, &s, again);
  if (sn_rt_at(model)->rotation_count) sn_rt_make_local_rotations(model, input->joints, input->state, &s, again);
  if (model->info.value_count) load_values(model, input->values, s.rotations + 8 * (size_t)model->info.joint_count);
  sn_rt_keeping keeping = {keep, again ? s.moved : NULL, s.rotations};
  sn_rt_driver_of(model)->run(model, input, &keeping, s.drive, s.matrices);
  if (!SN_RT_IS_BASIC && model->info.correct != SN_RT_CORRECT_NONE) sn_rt_make_values(model, &s, again);
  if (model->info.blend != SN_RT_BLEND_LINEAR) *s.flags = 0, make_dualquats(model, &s);
  scale_matrices(model, &s);
  if (keep) *s.stamp = stamp_of(model);
  return SN_RT_OK;
}

static void to_rows(const float *columns, float out[12]) {
  for (int n = 0; n < 12; n++) out[n] = columns[4 * (n % 4) + n / 4];
}

void sn_rt_palette_matrix(const sn_rt_model *model, const void *scratch, uint32_t index, float out[12]) {
  memset(out, 0, 12 * sizeof *out);
  if (index >= model->info.palette_count) return;
  to_rows(sn_rt_scratch_at(model, scratch).matrices + 16 * (size_t)index, out);
}

int sn_rt_palette_split(const sn_rt_model *model, const void *scratch, uint32_t index, float dualquat[8],
                        float stretch[12]) {
  sn_rt_scratch s = sn_rt_scratch_at(model, scratch);
  memset(dualquat, 0, 8 * sizeof *dualquat), memset(stretch, 0, 12 * sizeof *stretch);
  if (index >= model->info.palette_count || model->info.blend == SN_RT_BLEND_LINEAR) return 0;
  memcpy(dualquat, s.dualquats + 8 * (size_t)index, 8 * sizeof *dualquat);
  to_rows(s.stretches + 16 * (size_t)index, stretch);
  return (*s.flags & SN_RT_SIGNED) != 0;
}
