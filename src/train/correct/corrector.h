// SPDX-License-Identifier: MIT
// What the steps of learning corrections share: the model and its residuals at the training poses.
#ifndef SINEW_TRAIN_CORRECT_CORRECTOR_H
#define SINEW_TRAIN_CORRECT_CORRECTOR_H

#include "train/correct/correct.h"
#include "train/train.h"

typedef struct sn_corrector {
  sn_context *ctx;
  const sn_correct_options *options;
  const sn_examples *examples;
  const sn_keys *keys;
  sn_train_report *report;
  sn_arena memory;
  sn_model base; // without corrections
  sn_rt_model model;
  sn_residuals residuals;
  sn_turn *turns;
  int *joints, joint_count; // of the pose space
  int *merged;              // training frames of every pose
  int *pose_of;             // of every training frame
  float (*ranges)[2];       // of the values
  double *sigmas;           // of the poses; NULL: none is asked for
  double rigid;             // squared error of the best joints, over all training frames
  double scatter;           // squared residuals' distances from the means of their poses, over all training frames
} sn_corrector;

// Adds to the report's note what fits.
void sn_corrector_note(sn_corrector *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

// The model's palette in a training frame (residual.c).
typedef struct sn_poser {
  float (*input)[12], *torques;
  void *scratch;
} sn_poser;
sn_status sn_poser_new(const sn_corrector *c, sn_arena *memory, sn_poser *out);
void sn_poser_set(const sn_corrector *c, const sn_poser *at, int frame);

// The residuals of the model at all training frames: a pose for each, behind the rest pose.
sn_status sn_residuals_measure(sn_corrector *c);

// The controls (poses.c): the joints named in the options, or all that rotate; and the values.
sn_status sn_controls_choose(sn_corrector *c);
// Averages frames in the same pose. Pose 0 is the rest pose, which needs no correction: a training frame there takes its place.
void sn_poses_merge(sn_corrector *c);
// Poses of long clips are similar to each other: thins them out evenly.
void sn_poses_thin(sn_corrector *c);

// The published pose spaces: one for all joints (published.c), by each vertex's weights, by principal components.
sn_status sn_psd_fields(sn_corrector *c, sn_corrections *out);
sn_status sn_weighted_fields(sn_corrector *c, sn_corrections *out);
sn_status sn_eigenskin_fields(sn_corrector *c, sn_corrections *out);

// What a pose space interpolates: data at `count` of the poses, whose gram matrix is given, by the rotations of these joints.
typedef struct sn_pose_data {
  const int *joints, *poses;
  int joint_count, count;
  const double *gram;
} sn_pose_data;

// The pose space, and its cardinal functions in `rbf`. Centres and widths of the field are those of rbf.
sn_status sn_field_make(sn_corrector *c, const sn_pose_data *data, sn_pose_field *field, sn_rbf *rbf);
// The widths and cardinal functions of a field that has its metric and centres; `sigmas`: of every centre, NULL: none.
sn_status sn_field_solve(sn_corrector *c, const double *sigmas, const double *gram, sn_pose_field *field,
                         sn_rbf *rbf);

// Limits of displacement (limits.c) by what the vertices are given at the training poses, before the blend or after it.
sn_status sn_corrections_limit(sn_corrector *c, sn_corrections *out);

// The values and the joints' references and ranges in the plan of the model, where it has none; then the corrections in place of
// any before (write.c).
sn_status sn_correct_describe_inputs(sn_corrector *c, sn_plan *plan);
sn_status sn_correct_describe(sn_corrector *c, const sn_corrections *corrections, sn_plan *plan);

#endif
