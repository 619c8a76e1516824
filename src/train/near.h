// SPDX-License-Identifier: MIT
// The joints that are relevant to a vertex: in a clip all joints move at once, and an unrelated one explains it as well.
#ifndef SINEW_TRAIN_NEAR_H
#define SINEW_TRAIN_NEAR_H

#include "sinew/scene.h"

// Joints with a weight above this carry the vertex; less is what painting and exporters leave behind (METHODS.md, "New motion").
#define SN_NEAR_WEIGHT 0.02f

// The number of joints that carry vertex i: the first of its row, at least one.
int sn_near_carrying(const sn_skin *skin, int i);

// Joints are neighbours that are parent and child, or that carry a vertex together: rigs of several roots have no parents
// where their parts meet.
typedef struct sn_neighbours {
  int count, room;
  uint16_t *joints; // ascending
} sn_neighbours;

typedef struct sn_near {
  const sn_skin *skin;
  sn_neighbours *beside; // of every joint
} sn_near;

// The skin must outlive it. A skeleton without parents: only joints that carry a vertex together are neighbours.
sn_status sn_near_new(sn_context *ctx, sn_arena *memory, const sn_skeleton *skeleton, const sn_skin *skin,
                      sn_near *out);

bool sn_near_beside(const sn_near *near, int joint, int other);

// The joints that carry vertex i, largest weight first, then their neighbours: at most `most` of them.
int sn_near_joints(const sn_near *near, int i, int most, uint16_t *out);

// Lists of `most` joints at the most, -1 behind the last one: how many are in it; puts one in where it is not and has room.
int sn_joints_count(const int *list, int most);
void sn_joints_add(int *list, int most, int joint);

#endif
