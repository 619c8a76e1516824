// SPDX-License-Identifier: MIT
// Pose space (Murtagh 2008, 4.2.1): local rotations of all joints as rotation vectors. The logarithm is relative to a reference
// per joint, the mean rotation of the training poses, so that its cut locus (an angle of pi) is far from them.
#ifndef SINEW_TRAIN_POSE_SPACE_H
#define SINEW_TRAIN_POSE_SPACE_H

#include "sinew/train.h"

// The local rotation of `joint` is relative to `parent` (-1: world). The first root has no parent; other roots are relative to
// the first, so that the pose does not depend on the orientation of the whole character.
typedef struct sn_local_rotation {
  int joint, parent;
  sn_quat reference;
  bool apart; // moves away from its parent of the skeleton in training, and shares vertices with `parent`
} sn_local_rotation;

// Rotations below this, in radians, count as zero; poses nearer than this part of the largest distance count as equal; rms gaps
// between a joint and its parent below this part of the diagonal count as none.
static const double sn_least_motion = 1e-3;
// Defaults of functions of rotations: width of a joint's Gaussian kernel in radians; ridge relative to the mean diagonal of
// the kernel matrix.
static const double sn_usual_width = 2, sn_usual_ridge = 1e-3;
// In the published pose spaces, rotations, distances and deviations below this part of the largest count as zero.
static const double sn_hardly_any = 1e-2;

// One local rotation per joint, parents first. A joint that moves away from its parent and shares no vertices with it becomes
// relative to the joint that shares vertices with it and stays nearest: rigs with inverse kinematics make the feet children of
// the root. `memory` owns the result.
sn_status sn_local_rotations_make(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                                  sn_local_rotation **out);

// Add the joints' references, and the ranges of their pose vectors over the rest pose and the frames of `keys`, to a plan.
sn_status sn_plan_references(sn_context *ctx, sn_plan *plan, const sn_local_rotation *rotations, int joint_count);
sn_status sn_plan_reference_joints(sn_context *ctx, sn_plan *plan, const sn_examples *examples, const sn_keys *keys);
sn_status sn_plan_ranges(sn_context *ctx, sn_plan *plan, const sn_local_rotation *rotations, const sn_poses *poses,
                         const sn_keys *keys);

// The pose vector of a pose (skinning matrices; NULL: the rest pose): a rotation vector per joint, by joint index.
void sn_pose_vector(const sn_local_rotation *rotations, int joint_count, const sn_affine *pose, double *out);
// Displacement of every joint's origin from its rest position, in the frame of its parent; zero unless `apart`.
void sn_pose_offsets(const sn_local_rotation *rotations, const sn_skeleton *skeleton, const sn_affine *pose,
                     double *out);

// A distance between pose vectors of `dims` components: the Euclidean distance of their images under sn_pose_axes.
typedef struct sn_pose_metric {
  sn_distance kind;
  int dims, axes;
  double *numbers; // normalised: dims; Mahalanobis: axes * dims
} sn_pose_metric;

// Fills a metric whose kind and dims are set from `count` pose vectors: by the deviations of the components, or by the covariance
// without its directions of near-zero variance.
sn_status sn_pose_metric_make(sn_context *ctx, sn_arena *memory, int count, const double *vectors,
                              sn_pose_metric *out);
void sn_pose_axes(const sn_pose_metric *metric, const double *vector, double *axes);

#endif
