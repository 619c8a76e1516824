// SPDX-License-Identifier: MIT
// The relevant joints of a vertex: sorted lists of neighbours.
#include "train/near.h"

#include <string.h>

int sn_near_carrying(const sn_skin *skin, int i) {
  const float *weights = skin->weights + (size_t)i * (size_t)skin->influences;
  int count = 1;
  while (count < skin->influences && weights[count] > SN_NEAR_WEIGHT) count++;
  return count;
}

// Index of `joint` in the sorted list, or where to insert it.
static int place_in(const sn_neighbours *list, int joint) {
  int low = 0, high = list->count;
  while (low < high) {
    int middle = (low + high) / 2;
    if (list->joints[middle] < joint)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static bool contains(const sn_neighbours *list, int joint) {
  int at = place_in(list, joint);
  return at < list->count && list->joints[at] == joint;
}

static sn_status add(sn_context *ctx, sn_arena *memory, sn_neighbours *list, int joint) {
  if (contains(list, joint)) return SN_OK;
  if (list->count == list->room) {
    int room = 2 * list->room + 4;
    uint16_t *joints = SN_NEW(ctx, memory, uint16_t, room);
    if (!joints) return ctx->error.status;
    if (list->count > 0) memcpy(joints, list->joints, (size_t)list->count * sizeof *joints);
    list->joints = joints, list->room = room;
  }
  int at = place_in(list, joint);
  memmove(list->joints + at + 1, list->joints + at, (size_t)(list->count - at) * sizeof *list->joints);
  list->joints[at] = (uint16_t)joint, list->count++;
  return SN_OK;
}

sn_status sn_near_new(sn_context *ctx, sn_arena *memory, const sn_skeleton *skeleton, const sn_skin *skin,
                      sn_near *out) {
  *out = (sn_near){skin, SN_NEW(ctx, memory, sn_neighbours, skeleton->joint_count)};
  sn_status status = out->beside ? SN_OK : ctx->error.status;
  for (int j = 0; status == SN_OK && skeleton->parents && j < skeleton->joint_count; j++) {
    int p = skeleton->parents[j];
    if (p < 0) continue;
    status = add(ctx, memory, &out->beside[j], p);
    if (status == SN_OK) status = add(ctx, memory, &out->beside[p], j);
  }
  for (int i = 0; status == SN_OK && i < skin->vertex_count; i++) {
    const uint16_t *joints = skin->joints + (size_t)i * (size_t)skin->influences;
    int count = sn_near_carrying(skin, i);
    for (int a = 0; a < count; a++)
      for (int b = 0; b < count && status == SN_OK; b++)
        status = add(ctx, memory, &out->beside[joints[a]], joints[b]);
  }
  return status;
}

bool sn_near_beside(const sn_near *near, int joint, int other) { return contains(&near->beside[joint], other); }

int sn_near_joints(const sn_near *near, int i, int most, uint16_t *out) {
  const uint16_t *joints = near->skin->joints + (size_t)i * (size_t)near->skin->influences;
  int first = sn_near_carrying(near->skin, i), count = 0, last = -1;
  if (first > most) first = most;
  for (; count < first; count++) out[count] = joints[count];
  while (count < most) { // merges the sorted lists of neighbours
    int next = -1;
    for (int k = 0; k < first; k++) {
      const sn_neighbours *list = &near->beside[out[k]];
      int at = place_in(list, last + 1);
      if (at < list->count && (next < 0 || list->joints[at] < next)) next = list->joints[at];
    }
    if (next < 0) break;
    bool there = false;
    for (int k = 0; k < first; k++) there = there || out[k] == next;
    if (!there) out[count++] = (uint16_t)next;
    last = next;
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
