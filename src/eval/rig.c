// SPDX-License-Identifier: MIT
// Quality of a rig as written to files: error, joints, influences and roughness in new poses.
#include "base/scope.h"
#include "sinew/eval.h"
#include "sinew/rig.h"

sn_status sn_assess_rig(sn_context *ctx, const sn_rt_model *model, const sn_examples *rigged, const sn_skin *skin,
                        sn_arena *memory, sn_rig_figures *out) {
  const sn_mesh *rest = &rigged->rest;
  sn_figures all;
  *out = (sn_rig_figures){0};
  SN_TRY(sn_assess_figures(ctx, model, &(sn_measured){rigged, rigged, NULL}, memory, &all));
  out->error = all.error, out->frame_rms = all.frame_rms, out->vertex_rms = all.vertex_rms;
  SN_TRY(sn_assess_roughness(ctx, model, rigged, &out->roughness));
  SN_TRY(sn_rig_joints_inside(ctx, rest, &rigged->skeleton, &out->joints_inside_pct, &out->joint_outside_pct_diag,
                              &out->pieces));
  double diagonal = sn_mesh_diagonal(rest);
  out->joint_gap_pct_diag = diagonal > 0 ? 100 * sn_joint_gap(&rigged->skeleton, &rigged->poses) / diagonal : 0;
  for (int i = 0; i < skin->vertex_count; i++) out->influences[sn_skin_row_influences(skin, i)]++;
  return SN_OK;
}
