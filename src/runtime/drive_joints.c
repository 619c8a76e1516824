// SPDX-License-Identifier: MIT
// The drive `joints`: the joints themselves, and half-way and scaling joints made from them (Mohr and Gleicher 2003).
#include "runtime/drive.h"
#include "runtime/smallmath.h"

_Static_assert(sizeof(sn_rt_extra) == 64, "an extra joint is 64 bytes in the file");

static uint32_t extra_count(const sn_rt_model *model) { return model->info.palette_count - model->info.joint_count; }

static sn_rt_status check(sn_rt_checker *c) {
  uint32_t joints = c->model->info.joint_count, count = extra_count(c->model);
  if (count == 0) return SN_RT_OK;
  sn_rt_status status = sn_rt_need(c, SN_SECTION_DRIVE_EXTRA, (uint64_t)count * sizeof(sn_rt_extra));
  const sn_rt_extra *extra = c->model->sections[SN_SECTION_DRIVE_EXTRA];
  for (uint32_t e = 0; !status && e < count; e++) {
    const sn_rt_extra *x = extra + e;
    if (x->kind != SN_RT_EXTRA_HALFWAY && x->kind != SN_RT_EXTRA_SCALING) {
      return sn_rt_fail(c->error, SN_RT_UNSUPPORTED,
                        "extra joint %u is of a kind (%u) that this runtime does not know", e, (unsigned)x->kind);
    }
    if (x->parent >= joints || x->child >= joints || x->base >= joints + e)
      return SN_RT_BAD(c, "extra joint %u is made from joints that do not exist", e);
  }
  return status;
}

static uint64_t scratch(const sn_rt_model *model) {
  (void)model;
  return 0;
}

static uint64_t work(const sn_rt_model *model) { return 150 * (uint64_t)extra_count(model); } // about

static void halfway_joint(const sn_rt_extra *x, const float *palette, float out[16]) {
  const float *parent = palette + 16 * x->parent, *child = palette + 16 * x->child;
  float r[9], qp[4], qc[4], q[4], centre[3];
  sn_rt_rotation_of(parent, r), sn_rt_quat_from_rotation(r, qp);
  sn_rt_rotation_of(child, r), sn_rt_quat_from_rotation(r, qc);
  sn_rt_slerp(qp, qc, x->amount, q);
  sn_rt_rotation_from_quat(q, r);
  sn_rt_apply(child, x->centre, centre);
  sn_rt_make_about(r, x->centre, centre, out);
}

// sin^2(bend / 2), where bend is how far the child turns `direction` relative to the parent, or the angle of the
// whole relative rotation where there is no direction.
static float bend_of(const sn_rt_extra *x, const float *palette) {
  float rp[9], rc[9], cosine = 0;
  sn_rt_rotation_of(palette + 16 * x->parent, rp), sn_rt_rotation_of(palette + 16 * x->child, rc);
  const float *d = x->direction;
  float length = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
  if (length > 0) {
    for (int r = 0; r < 3; r++) {
      float p = rp[3 * r] * d[0] + rp[3 * r + 1] * d[1] + rp[3 * r + 2] * d[2];
      float c = rc[3 * r] * d[0] + rc[3 * r + 1] * d[1] + rc[3 * r + 2] * d[2];
      cosine += p * c / length;
    }
  } else {
    for (int n = 0; n < 9; n++) cosine += rp[n] * rc[n]; // trace of rp^T rc = 1 + 2 cos(angle)
    cosine = (cosine - 1) / 2;
  }
  return (1 - cosine) / 2;
}

static void scaling_joint(const sn_rt_extra *x, const float *palette, float out[16]) {
  const float *base = palette + 16 * x->base, *s = x->stretch;
  float bend = bend_of(x, palette), a[9], product[9], centre[3];
  float stretch[9] = {1 + bend * s[0], bend * s[3], bend * s[4], bend * s[3],    1 + bend * s[1],
                      bend * s[5],     bend * s[4], bend * s[5], 1 + bend * s[2]};
  sn_rt_linear_part(base, a);
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++) {
      product[3 * r + c] = a[3 * r] * stretch[c] + a[3 * r + 1] * stretch[3 + c] + a[3 * r + 2] * stretch[6 + c];
    }
  sn_rt_apply(base, x->centre, centre);
  sn_rt_make_about(product, x->centre, centre, out);
}

static void run(const sn_rt_model *model, const sn_rt_input *input, void *space, float *palette) {
  const sn_rt_extra *extra = model->sections[SN_SECTION_DRIVE_EXTRA];
  (void)input, (void)space;
  for (uint32_t e = 0; e < extra_count(model); e++) {
    float *out = palette + 16 * (size_t)(model->info.joint_count + e);
    (extra[e].kind == SN_RT_EXTRA_HALFWAY ? halfway_joint : scaling_joint)(extra + e, palette, out);
  }
}

const sn_rt_driver sn_rt_driver_joints = {check, scratch, work, run};
