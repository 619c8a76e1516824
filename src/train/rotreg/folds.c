// SPDX-License-Identifier: MIT
#include "train/rotreg/folds.h"

sn_status rotreg_folds_make(sn_context *ctx, sn_arena *memory, int pose_count, rotreg_folds *out) {
  *out = (rotreg_folds){.fold_count = pose_count < rotreg_most_folds ? pose_count : rotreg_most_folds};
  out->folds = SN_NEW(ctx, memory, rotreg_fold, out->fold_count);
  if (!out->folds) return ctx->error.status;
  for (int n = 0; n < out->fold_count; n++) {
    rotreg_fold *fold = &out->folds[n];
    fold->poses = SN_NEW(ctx, memory, int, pose_count + 1);
    if (!fold->poses) return ctx->error.status;
    for (int k = 0; k < pose_count; k++)
      if (k % out->fold_count != n || pose_count == 1) fold->poses[fold->outside_count++] = k;
    fold->count = fold->outside_count;
    for (int k = n; k < pose_count; k += out->fold_count) fold->poses[fold->count++] = k;
  }
  return SN_OK;
}

double rotreg_mean(const double *values, size_t count) {
  double sum = 0;
  for (size_t k = 0; k < count; k++) sum += values[k];
  return count ? sum / (double)count : 0;
}

double rotreg_floor(const double *values, size_t count, double part, double diagonal) {
  return part * rotreg_mean(values, count) + 1e-24 * diagonal * diagonal + 1e-300;
}
