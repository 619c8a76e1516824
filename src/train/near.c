// SPDX-License-Identifier: MIT
#include "train/near.h"

static int carrying(const sn_skin *skin, int i) {
  const float *weights = skin->weights + (size_t)i * (size_t)skin->influences;
  int count = 1;
  while (count < skin->influences && weights[count] > SN_NEAR_WEIGHT) count++;
  return count;
}

sn_status sn_near_new(sn_context *ctx, sn_arena *memory, const sn_skeleton *skeleton, const sn_skin *skin,
                      sn_near *out) {
  size_t n = (size_t)skeleton->joint_count;
  bool *beside = SN_NEW(ctx, memory, bool, n *n);
  if (!beside) return ctx->error.status;
  *out = (sn_near){skin, skeleton->joint_count, beside};
  for (size_t j = 0; j < n; j++) {
    if (skeleton->parents[j] < 0) continue;
    size_t p = (size_t)skeleton->parents[j];
    beside[j * n + p] = beside[p * n + j] = true;
  }
  for (int i = 0; i < skin->vertex_count; i++) {
    const uint16_t *joints = skin->joints + (size_t)i * (size_t)skin->influences;
    int count = carrying(skin, i);
    for (int a = 0; a < count; a++)
      for (int b = 0; b < count; b++) beside[joints[a] * n + joints[b]] = true;
  }
  return SN_OK;
}

int sn_near_joints(const sn_near *near, int i, int most, uint16_t *out) {
  const uint16_t *joints = near->skin->joints + (size_t)i * (size_t)near->skin->influences;
  int first = carrying(near->skin, i), count = 0;
  if (first > most) first = most;
  for (; count < first; count++) out[count] = joints[count];
  for (int j = 0; j < near->joint_count && count < most; j++) {
    bool beside = false, there = false;
    for (int k = 0; k < first; k++) {
      beside = beside || near->beside[(size_t)out[k] * (size_t)near->joint_count + (size_t)j];
      there = there || out[k] == j;
    }
    if (beside && !there) out[count++] = (uint16_t)j;
  }
  return count;
}

int sn_joints_count(const int *list, int most) {
  int count = 0;
  while (count < most && list[count] >= 0) count++;
  return count;
}

void sn_joints_add(int *list, int most, int joint) {
  for (int s = 0; s < most; s++) {
    if (list[s] == joint) return;
    if (list[s] >= 0) continue;
    list[s] = joint;
    return;
  }
}
