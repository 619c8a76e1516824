// SPDX-License-Identifier: MIT
// The figures of a rig as written: its error, its joints, its influences and how new poses look.
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
  sn_keys all = {0}, none = {0};
  sn_scores scores;
  *out = (sn_rig_figures){.frame_rms = SN_NEW(ctx, memory, double, rigged->frames.frame_count),
                          .vertex_rms = SN_NEW(ctx, memory, double, rest->vertex_count)};
  sn_status status = out->frame_rms && out->vertex_rms
                       ? sn_keys_parse(ctx, "all", rigged->frames.frame_count, 1, &all, NULL)
                       : ctx->error.status;
  if (status == SN_OK)
    status = sn_assess(ctx, model, rigged, &(sn_scored_frames){&all, &none, out->frame_rms}, &scores);
  if (status == SN_OK) status = sn_assess_vertices(ctx, model, rigged, &all, out->vertex_rms);
  if (status == SN_OK) status = sn_assess_visible(ctx, model, rigged, &out->visible);
  if (status == SN_OK) {
    status = sn_rig_joints_inside(ctx, rest, &rigged->skeleton, &out->joints_inside_pct, &out->joint_outside_pct_diag,
                                  &out->pieces);
  }
  sn_keys_free(&all);
  if (status != SN_OK) return status;
  double diagonal = sn_points_diagonal((const float(*)[3])rest->positions, rest->vertex_count);
  out->error = scores.all;
  out->joint_gap_pct_diag = diagonal > 0 ? 100 * sn_joint_gap(&rigged->skeleton, &rigged->poses) / diagonal : 0;
  count_influences(skin, out->influences);
  return SN_OK;
}
