// SPDX-License-Identifier: MIT
// Quality of a rig as written to files: error, joints, influences and roughness in new poses.
#include "sinew/eval.h"
#include "sinew/rig.h"

static void count_influences(const sn_skin *skin, int histogram[9]) {
  for (int i = 0; i < skin->vertex_count; i++) {
    int count = 0;
    for (int q = 0; q < skin->influences; q++)
      count += skin->weights[(size_t)i * (size_t)skin->influences + (size_t)q] > 0;
    histogram[count]++;
  }
}

sn_status sn_assess_rig(sn_context *ctx, const sn_rt_model *model, const sn_examples *rigged, const sn_skin *skin,
                        sn_arena *memory, sn_rig_figures *out) {
  const sn_mesh *rest = &rigged->rest;
  sn_figures all;
  sn_status status = sn_assess_figures(ctx, model, &(sn_measured){rigged, rigged, NULL}, memory, &all);
  *out = (sn_rig_figures){.error = all.error, .frame_rms = all.frame_rms, .vertex_rms = all.vertex_rms};
  if (status == SN_OK) status = sn_assess_roughness(ctx, model, rigged, &out->roughness);
  if (status == SN_OK) {
    status = sn_rig_joints_inside(ctx, rest, &rigged->skeleton, &out->joints_inside_pct, &out->joint_outside_pct_diag,
                                  &out->pieces);
  }
  if (status != SN_OK) return status;
  double diagonal = sn_points_diagonal((const float(*)[3])rest->positions, rest->vertex_count);
  out->joint_gap_pct_diag = diagonal > 0 ? 100 * sn_joint_gap(&rigged->skeleton, &rigged->poses) / diagonal : 0;
  count_influences(skin, out->influences);
  return SN_OK;
}
