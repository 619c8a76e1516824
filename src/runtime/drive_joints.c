// SPDX-License-Identifier: MIT
// The drive `joints`: the joints, and half-way and scaling joints derived from them (Mohr and Gleicher 2003).
#include "runtime/drive.h"
#include "runtime/extra.h"

static uint32_t extra_count(const sn_rt_model *model) { return model->info.palette_count - model->info.joint_count; }

// Without joints the palette is one identity matrix: only displacements deform the rest mesh.
static int is_still(const sn_rt_model *model) {
  return model->info.joint_count == 0 && model->info.palette_count == 1;
}

static sn_rt_status check(sn_rt_checker *c) {
  uint32_t joint_count = c->model->info.joint_count, count = extra_count(c->model);
  if (count == 0) return SN_RT_OK;
  if (is_still(c->model) && c->model->info.blend != SN_RT_BLEND_LINEAR)
    return SN_RT_BAD(c, "rotations are blended, and no joint rotates");
  if (is_still(c->model)) return SN_RT_OK;
  SN_RT_TRY(sn_rt_need(c, SN_SECTION_DRIVE_EXTRA, (uint64_t)count * sizeof(sn_rt_extra)));
  const sn_rt_extra *extra = sn_rt_data(c->model, SN_SECTION_DRIVE_EXTRA);
  for (uint32_t e = 0; e < count; e++) {
    const sn_rt_extra *x = extra + e;
    if (x->kind != SN_RT_EXTRA_HALFWAY && x->kind != SN_RT_EXTRA_SCALING)
      return sn_rt_fail(c->error, SN_RT_UNSUPPORTED,
                        "extra joint %u is of a kind (%u) that this runtime does not know", e, (unsigned)x->kind);
    if (x->parent >= joint_count || x->child >= joint_count || x->base >= joint_count + e)
      return SN_RT_BAD(c, "extra joint %u is made from joints that do not exist", e);
  }
  return SN_RT_OK;
}

// About 150 operations per extra joint.
static uint64_t work(const sn_rt_model *model) { return is_still(model) ? 0 : 150 * (uint64_t)extra_count(model); }

static void run(const sn_rt_model *model, const sn_rt_input *input, const sn_rt_keeping *keeping, void *space,
                float *palette) {
  const sn_rt_extra *extra = sn_rt_data(model, SN_SECTION_DRIVE_EXTRA);
  (void)input, (void)space;
  int moved = keeping->moved == NULL;
  for (uint32_t j = 0; !moved && j < model->info.joint_count; j++) moved = keeping->moved[j];
  if (!moved) return;
  for (int n = 0; is_still(model) && n < 16; n++) palette[n] = n == 0 || n == 5 || n == 10;
  if (is_still(model)) return;
  for (uint32_t e = 0; e < extra_count(model); e++) {
    float *out = palette + 16 * (size_t)(model->info.joint_count + e);
    const float *parent = palette + 16 * extra[e].parent, *child = palette + 16 * extra[e].child;
    if (extra[e].kind == SN_RT_EXTRA_HALFWAY)
      sn_rt_halfway_joint(extra + e, parent, child, out);
    else
      sn_rt_scaling_joint(extra + e, parent, child, palette + 16 * extra[e].base, out);
  }
}

const sn_rt_driver sn_rt_driver_joints = {check, NULL, work, run};
