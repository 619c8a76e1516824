// SPDX-License-Identifier: MIT
// Joints, skinning weights and poses.
#include "base/scope.h"
#include "sinew/scene.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

sn_status sn_skeleton_new(sn_context *ctx, int joint_count, sn_skeleton *out) {
  *out = (sn_skeleton){.joint_count = joint_count, .memory = sn_arena_new(ctx)};
  out->names = SN_NEW(ctx, &out->memory, char *, joint_count);
  out->parents = SN_NEW(ctx, &out->memory, int, joint_count);
  out->rest = SN_NEW(ctx, &out->memory, sn_affine, joint_count);
  out->order = SN_NEW(ctx, &out->memory, int, joint_count);
  bool good = out->names && out->parents && out->rest && out->order;
  for (int j = 0; good && j < joint_count; j++) {
    char name[32];
    snprintf(name, sizeof name, "joint%d", j);
    out->names[j] = sn_arena_text(ctx, &out->memory, name);
    out->parents[j] = -1;
    out->rest[j] = sn_affine_identity();
    out->order[j] = j;
    good = out->names[j] != NULL;
  }
  if (good) return SN_OK;
  sn_skeleton_free(out);
  return ctx->error.status;
}

sn_status sn_skeleton_sort(sn_context *ctx, sn_skeleton *skeleton) {
  SN_SCRATCH(scratch, ctx);
  int n = skeleton->joint_count, placed = 0;
  bool *done = SN_NEW(ctx, &scratch, bool, n);
  int *path = SN_NEW(ctx, &scratch, int, n);
  if (!done || !path) return ctx->error.status;
  for (int j = 0; j < n; j++) {
    int depth = 0;
    for (int k = j; k >= 0 && !done[k]; k = skeleton->parents[k]) {
      if (depth == n) return sn_fail(ctx, SN_BAD_INPUT, "joint %d (%s) is its own ancestor", k, skeleton->names[k]);
      path[depth++] = k;
      if (skeleton->parents[k] < -1 || skeleton->parents[k] >= n)
        return sn_fail(ctx, SN_BAD_INPUT, "joint %d (%s): parent %d does not exist", k, skeleton->names[k],
                       skeleton->parents[k]);
    }
    while (depth > 0) {
      skeleton->order[placed++] = path[--depth];
      done[path[depth]] = true;
    }
  }
  return SN_OK;
}

int sn_skeleton_find_near(const sn_skeleton *skeleton, const char *name, int guess) {
  if (guess < skeleton->joint_count && strcmp(skeleton->names[guess], name) == 0) return guess;
  return sn_skeleton_find(skeleton, name);
}

int sn_skeleton_find(const sn_skeleton *skeleton, const char *name) {
  for (int j = 0; j < skeleton->joint_count; j++)
    if (strcmp(skeleton->names[j], name) == 0) return j;
  return -1;
}

SN_DEFINE_FREE(sn_skeleton);

sn_status sn_skin_new(sn_context *ctx, int vertex_count, int influences, sn_skin *out) {
  *out = (sn_skin){.vertex_count = vertex_count, .influences = influences, .memory = sn_arena_new(ctx)};
  size_t count = (size_t)vertex_count * (size_t)influences;
  out->joints = SN_NEW(ctx, &out->memory, uint16_t, count);
  out->weights = SN_NEW(ctx, &out->memory, float, count);
  if (out->joints && out->weights) return SN_OK;
  sn_skin_free(out);
  return ctx->error.status;
}

sn_status sn_skin_copy_rows(sn_context *ctx, const sn_skin *from, const int *rows, int count, int influences,
                            sn_skin *out) {
  sn_status status = sn_skin_new(ctx, count, influences, out);
  for (size_t i = 0, n = (size_t)influences; status == SN_OK && i < (size_t)count; i++) {
    size_t source = (rows ? (size_t)rows[i] : i) * (size_t)from->influences;
    memcpy(out->joints + i * n, from->joints + source, n * sizeof *out->joints);
    memcpy(out->weights + i * n, from->weights + source, n * sizeof *out->weights);
  }
  return status;
}

static void sort_row(uint16_t *joints, float *weights, int count) {
  for (int k = 1; k < count; k++) {
    float weight = weights[k];
    uint16_t joint = joints[k];
    int at = k;
    for (; at > 0 && (weights[at - 1] < weight || (weights[at - 1] == weight && joints[at - 1] > joint)); at--)
      weights[at] = weights[at - 1], joints[at] = joints[at - 1];
    weights[at] = weight, joints[at] = joint;
  }
}

void sn_skin_sort(sn_skin *skin) {
  for (size_t i = 0, n = (size_t)skin->influences; i < (size_t)skin->vertex_count; i++)
    sort_row(skin->joints + i * n, skin->weights + i * n, skin->influences);
}

int sn_skin_row_influences(const sn_skin *skin, int i) {
  int k = 0;
  while (k < skin->influences && skin->weights[(size_t)i * (size_t)skin->influences + (size_t)k] > 0) k++;
  return k;
}

bool sn_skin_is_placeholder(const sn_skin *skin) {
  for (int i = 0; i < skin->vertex_count; i++)
    if (sn_skin_row_influences(skin, i) > 1 || skin->joints[(size_t)i * (size_t)skin->influences] != skin->joints[0])
      return false;
  return true;
}

sn_vec3 sn_skin_blend(const sn_skin *skin, int i, const sn_affine *matrices, sn_vec3 p) {
  const uint16_t *joints = skin->joints + (size_t)i * (size_t)skin->influences;
  const float *weights = skin->weights + (size_t)i * (size_t)skin->influences;
  sn_vec3 sum = {0, 0, 0};
  for (int k = 0; k < skin->influences && weights[k] > 0; k++)
    sum = sn_vec3_mad(sum, sn_affine_apply(matrices[joints[k]], p), (double)weights[k]);
  return sum;
}

void sn_skin_normalize(sn_skin *skin) {
  for (int i = 0; i < skin->vertex_count; i++) {
    uint16_t *joints = skin->joints + (size_t)i * (size_t)skin->influences;
    float *weights = skin->weights + (size_t)i * (size_t)skin->influences;
    double sum = 0;
    for (int k = 0; k < skin->influences; k++) {
      if (!(weights[k] > 0) || isinf(weights[k])) weights[k] = 0, joints[k] = 0;
      sum += weights[k];
    }
    sort_row(joints, weights, skin->influences);
    if (!(sum > 0)) weights[0] = 1, joints[0] = 0, sum = 1;
    for (int k = 0; k < skin->influences; k++) weights[k] = (float)(weights[k] / sum);
  }
}

SN_DEFINE_FREE(sn_skin);

sn_status sn_poses_new(sn_context *ctx, int joint_count, int frame_count, sn_poses *out) {
  *out = (sn_poses){.joint_count = joint_count, .frame_count = frame_count, .memory = sn_arena_new(ctx)};
  size_t count = (size_t)joint_count * (size_t)frame_count;
  out->matrices = SN_NEW(ctx, &out->memory, sn_affine, count);
  if (!out->matrices) {
    sn_poses_free(out);
    return ctx->error.status;
  }
  for (size_t k = 0; k < count; k++) out->matrices[k] = sn_affine_identity();
  return SN_OK;
}

SN_DEFINE_FREE(sn_poses);

double sn_joint_gap(const sn_skeleton *skeleton, const sn_poses *poses) {
  double largest = 0;
  for (int f = 0; f < poses->frame_count; f++)
    for (int j = 0; j < skeleton->joint_count; j++) {
      if (skeleton->parents[j] < 0) continue;
      sn_vec3 c = sn_affine_translation(skeleton->rest[j]);
      const sn_affine *pose = sn_pose(poses, f);
      double gap = sn_vec3_distance(sn_affine_apply(pose[j], c), sn_affine_apply(pose[skeleton->parents[j]], c));
      if (gap > largest) largest = gap;
    }
  return largest;
}
