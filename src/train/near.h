// SPDX-License-Identifier: MIT
// The relevant joints of a vertex. In a clip all joints move together, so a regression would also pick unrelated joints.
#ifndef SINEW_TRAIN_NEAR_H
#define SINEW_TRAIN_NEAR_H

#include "sinew/scene.h"

// Joints with a weight above this carry the vertex; smaller ones are artefacts of painting and export (METHODS.md, "New motion").
#define SN_NEAR_WEIGHT 0.02f

// The number of joints that carry vertex i, at least one; they are the first influences of the vertex.
int sn_near_carrying(const sn_skin *skin, int i);

// Neighbours: parent and child, or joints that carry a common vertex. The latter connect the parts of rigs with several roots.
typedef struct sn_neighbours {
  int count, room;
  uint16_t *joints; // ascending
} sn_neighbours;

typedef struct sn_near {
  const sn_skin *skin;
  sn_neighbours *beside; // of every joint
} sn_near;

// The skin must outlive `out`. With skeleton->parents NULL, only joints that carry a common vertex are neighbours.
sn_status sn_near_new(sn_context *ctx, sn_arena *memory, const sn_skeleton *skeleton, const sn_skin *skin,
                      sn_near *out);

bool sn_near_beside(const sn_near *near, int joint, int other);

// The joints that carry vertex i, largest weight first, then their neighbours; at most `most`. Returns their number.
int sn_near_joints(const sn_near *near, int i, int most, uint16_t *out);

// A list of at most `most` joints, padded with -1: its length; adds a joint unless present or the list is full.
int sn_joints_count(const int *list, int most);
void sn_joints_add(int *list, int most, int joint);

#endif
