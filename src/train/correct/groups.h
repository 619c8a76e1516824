// SPDX-License-Identifier: MIT
// Pose spaces of groups of vertices: vertices that hear the same joints in the same way interpolate what they miss over the poses as these
// joints have them. Poses that agree there are one, with the mean of what they ask for; all others are met.
#ifndef SINEW_TRAIN_CORRECT_GROUPS_H
#define SINEW_TRAIN_CORRECT_GROUPS_H

#include "train/correct/correct.h"

typedef struct sn_pose_group {
  int count, *vertices;
  int joint_count, *joints; // controls; none: all poses agree
  double *scales;           // of every control: what its turns count in distances; NULL: 1
} sn_pose_group;

typedef struct sn_pose_groups {
  int count;
  const sn_pose_group *groups;
  const float (*asked)[6]; // pose_count * vertex_count: what the groups have to carry
  double same;             // part of the largest distance (of a radian at least) from which on poses differ
} sn_pose_groups;

// Adds the fields of all groups to `out`, which has those of all vertices already, or none.
sn_status sn_group_fields(sn_context *ctx, sn_arena *memory, const sn_correct_options *options, const sn_residuals *m,
                          const sn_pose_groups *groups, sn_corrections *out);

#endif
