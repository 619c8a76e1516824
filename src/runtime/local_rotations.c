// SPDX-License-Identifier: MIT
// Local rotations: a signed quaternion and the pose vector of every joint. Sign and branch of the logarithm are nearest to the
// joint's reference rotation, the centre of the training poses; with a state, nearest to the last frame's.
#include <math.h>
#include <string.h>

#include "runtime/check.h"
#include "runtime/local_rotation.h"

static const float no_rotation[4] = {0, 0, 0, 1};

void sn_rt_make_local_rotations(const sn_rt_model *model, const float (*joints)[12], float *state,
                                const sn_rt_scratch *scratch, int again) {
  const sn_rt_reference *references = sn_rt_data(model, SN_SECTION_JOINT_REFERENCE);
  float *rotations = scratch->rotations;
  for (uint32_t n = 0; n < sn_rt_at(model)->rotation_count; n++) {
    const sn_rt_reference *r = references + n;
    const float *parent = r->parent == SN_RT_NO_JOINT ? no_rotation : rotations + 8 * (size_t)r->parent;
    float *rotation = rotations + 8 * (size_t)r->joint, before[8];
    if (again) memcpy(before, rotation, sizeof before);
    sn_rt_make_local_rotation(r, joints[r->joint], parent, state ? state + 8 * (size_t)r->joint : NULL, rotation);
    scratch->rotated[r->joint] = !again || !sn_rt_same(before, rotation, 8);
    if (state) memcpy(state + 8 * (size_t)r->joint, rotation, sizeof before);
  }
}

uint32_t sn_rt_find_rotation_count(const sn_rt_model *model) {
  const sn_rt_terms *t = sn_rt_data(model, SN_SECTION_DRIVE_TERMS), *end;
  uint32_t count = 0, joints = sn_rt_data(model, SN_SECTION_JOINT_REFERENCE) ? model->info.joint_count : 0;
  if (!t || model->info.correct != SN_RT_CORRECT_NONE) return joints;
  for (end = t + sn_rt_size(model, SN_SECTION_DRIVE_TERMS) / sizeof *t; t < end; t++) {
    uint32_t last = t->a > t->b ? t->a : t->b;
    count = last >= count ? last + 1 : count;
  }
  return count < joints ? count : joints;
}

size_t sn_rt_state_size(const sn_rt_model *model) {
  return sn_rt_data(model, SN_SECTION_JOINT_REFERENCE) ? (size_t)model->info.joint_count * 8 * sizeof(float) : 0;
}

sn_rt_status sn_rt_check_references(sn_rt_checker *c) {
  const sn_rt_reference *references = sn_rt_data(c->model, SN_SECTION_JOINT_REFERENCE);
  uint32_t joint_count = c->model->info.joint_count;
  SN_RT_TRY(sn_rt_need_if_there(c, SN_SECTION_JOINT_REFERENCE, (uint64_t)joint_count * sizeof *references));
  if (!references) return SN_RT_OK;
  uint8_t seen[SN_RT_MAX_JOINTS / 8 + 1] = {0};
  for (uint32_t n = 0; n < joint_count; n++) {
    const sn_rt_reference *r = references + n;
    int again = r->joint < joint_count && (seen[r->joint / 8] >> r->joint % 8 & 1);
    int orphan =
      r->parent != SN_RT_NO_JOINT && (r->parent >= joint_count || !(seen[r->parent / 8] >> r->parent % 8 & 1));
    float length = sn_rt_dot4(r->rotation, r->rotation);
    if (r->joint >= joint_count || again || orphan || !(length > 0.99f && length < 1.01f))
      return SN_RT_BAD(c, "reference %u is not one of a joint after its parent's", n);
    seen[r->joint / 8] |= (uint8_t)(1u << r->joint % 8);
  }
  return SN_RT_OK;
}
