// SPDX-License-Identifier: MIT
// Pose space (Murtagh 2008, 4.2.1): how far every joint is turned against its parent, as axis-angle vectors. The
// logarithm is taken relative to a reference rotation per joint, the mean of the training poses', so that its cut lies
// opposite to them.
#ifndef SINEW_TRAIN_POSE_SPACE_H
#define SINEW_TRAIN_POSE_SPACE_H

#include "sinew/train.h"

// The local rotation of `joint` is relative to `parent` (-1: to the world). A skeleton's first root has no parent; other roots are
// turned against the first, so that moving the whole character is no change of pose.
typedef struct sn_turn {
  int joint, parent;
  sn_quat reference;
  bool joined; // shares skin with the parent
} sn_turn;

// A joint that turns less, in radians, does not turn; and poses nearer than this part of the largest distance are one.
static const double sn_least_turn = 1e-3;
// Of functions of rotations: the width of a joint's Gaussian, radians; the ridge where the data cannot decide, relative
// to the mean diagonal of their covariance.
static const double sn_usual_width = 2, sn_usual_ridge = 1e-3;
// In the published pose spaces, rotations, distances and spreads below this part of the largest count as none.
static const double sn_hardly_any = 1e-2;

// One local rotation per joint, relative to its parent; parents first. A joint that shares no skin with its parent is
// relative to the one that shares skin with it and stays nearest: feet that inverse kinematics moves are children of
// the root. `memory` owns the result.
sn_status sn_turns_make(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                        sn_turn **out);

// The joints' references and the range of their pose vectors over the rest pose and the frames of `keys`, in the plan of a model.
sn_status sn_plan_references(sn_context *ctx, sn_plan *plan, const sn_turn *turns, int joint_count);
sn_status sn_plan_ranges(sn_context *ctx, sn_plan *plan, const sn_turn *turns, const sn_poses *poses,
                         const sn_keys *keys);

// The pose vector of a pose (skinning matrices; NULL: the rest pose): three numbers per joint, by joint.
void sn_pose_vector(const sn_turn *turns, int joint_count, const sn_affine *pose, double *out);
// How far the parent sees the origin of every joint moved from its place in the rest pose; zero where they share no skin.
void sn_pose_offsets(const sn_turn *turns, const sn_skeleton *skeleton, const sn_affine *pose, double *out);

// A distance between pose vectors of `dims` components: Euclidean between axes = metric applied to the vector.
typedef struct sn_pose_metric {
  sn_distance kind;
  int dims, axes;
  double *numbers; // normalised: dims; Mahalanobis: axes * dims
} sn_pose_metric;

// Of a metric with its kind and dimensions, from `count` pose vectors: deviations of the components, or their covariance, of which
// directions without spread are dropped.
sn_status sn_pose_metric_make(sn_context *ctx, sn_arena *memory, int count, const double *vectors,
                              sn_pose_metric *out);
void sn_pose_axes(const sn_pose_metric *metric, const double *vector, double *axes);

#endif
