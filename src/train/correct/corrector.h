// SPDX-License-Identifier: MIT
// State shared by the steps that learn corrections: the model and its residuals at the training poses.
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
  sn_local_rotation *rotations;
  int *joints, joint_count; // controls of the pose space
  int *merged;              // number of training frames averaged into every pose
  int *pose_of;             // the pose of every training frame
  float (*ranges)[2];       // minimum and maximum of every value
  double *sigmas;           // kernel width of every pose; NULL: none is set
  double rigid;             // squared error of the best rigid joints, over all training frames
  double scatter;           // squared distances of residuals from the mean of their pose, over all training frames
} sn_corrector;

// Appends to the report's note, as far as there is room.
void sn_corrector_note(sn_corrector *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Computes the model's palette in a training frame (residual.c).
typedef struct sn_poser {
  float (*input)[12], *torques;
  void *scratch;
} sn_poser;
sn_status sn_poser_new(const sn_corrector *c, sn_arena *memory, sn_poser *out);
void sn_poser_set(const sn_corrector *c, const sn_poser *at, int frame);

// Measures the model's residuals: pose 0 is the rest pose, then one pose per training frame.
sn_status sn_residuals_measure(sn_corrector *c);

// Chooses the controls (poses.c): the joints named in the options, or all that rotate; and the values.
sn_status sn_controls_choose(sn_corrector *c);
// Averages frames in the same pose. Pose 0 is the rest pose with zero residual; training frames in the rest pose replace it.
void sn_poses_merge(sn_corrector *c);
// Thins the poses of long clips evenly, because neighbouring frames are similar.
void sn_poses_thin(sn_corrector *c);

// The published pose spaces: one for all joints (published.c), by each vertex's weights, and by principal components.
sn_status sn_psd_fields(sn_corrector *c, sn_corrections *out);
sn_status sn_weighted_fields(sn_corrector *c, sn_corrections *out);
sn_status sn_eigenskin_fields(sn_corrector *c, sn_corrections *out);

// The data of an interpolation in pose space: `count` poses, the Gram matrix of their residuals, and the controls that span it.
typedef struct sn_pose_data {
  const int *joints, *poses;
  int joint_count, count;
  const double *gram;
} sn_pose_data;

// Makes the pose space; its cardinal functions go to `rbf`. The field's centres and widths are those of rbf.
sn_status sn_field_make(sn_corrector *c, const sn_pose_data *data, sn_pose_field *field, sn_rbf *rbf);
// Chooses widths and solves for the cardinal functions of a field with metric and centres; `sigmas`: set widths, or NULL.
sn_status sn_field_solve(sn_corrector *c, const double *sigmas, const double *gram, sn_pose_field *field,
                         sn_rbf *rbf);

// Limits the displacement of every vertex by its displacements at the training poses, before or after the blend (limits.c).
sn_status sn_corrections_limit(sn_corrector *c, sn_corrections *out);

// Writes values, joint references and joint ranges to the plan if it lacks them; sn_correct_describe replaces the
// plan's corrections (write.c).
sn_status sn_correct_describe_inputs(sn_corrector *c, sn_plan *plan);
sn_status sn_correct_describe(sn_corrector *c, const sn_corrections *corrections, sn_plan *plan);

#endif
