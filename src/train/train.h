// SPDX-License-Identifier: MIT
// What the methods share.
#ifndef SINEW_TRAIN_TRAIN_H
#define SINEW_TRAIN_TRAIN_H

#include "runtime/format.h"
#include "sinew/train.h"

// A group of every method's options.
extern const sn_option sn_file_option_table[];
#define SN_METHOD_COMMON                                                                                             \
  { sn_file_option_table, offsetof(sn_method_options, file) }

// The plan of a linear blend of the examples' joints, without weights; it refers to the examples.
sn_plan sn_plan_new(sn_context *ctx, const sn_examples *examples);
void sn_plan_free(sn_plan *plan);
// One more required section: of bytes in the plan's memory, or of zeroed ones (NULL: there is no memory).
void sn_plan_add(sn_plan *plan, sn_rt_section_id id, const void *bytes, size_t size);
void *sn_plan_section(sn_context *ctx, sn_plan *plan, sn_rt_section_id id, size_t count, size_t size);
// The model, in the vertex order of the rest file.
sn_status sn_plan_encode(sn_context *ctx, const sn_plan *plan, const sn_examples *examples, sn_model *out);
// Its bytes and, where that is limited, its time over that of linear blending.
sn_status sn_plan_measure(sn_context *ctx, const sn_plan *plan, const sn_examples *examples, const sn_limits *limits,
                          double *bytes, double *ratio);

extern const sn_option sn_skin_option_table[];

// Memory that training takes per pose and vertex, for residuals in single and in double precision.
enum { SN_RESIDUAL_BYTES = sizeof(float[6]) + sizeof(double[6]) };

// True for weights that are known without frames. `options` is a struct that begins with sn_skin_options.
bool sn_skin_needs_no_frames(const void *options);

// Weights from the skeleton and the surface (bone heat) as examples->made, which the caller frees; none where the skeleton is
// not inside the mesh. They stand in for a skin that the skeleton file lacks (examples->skin_made).
sn_status sn_skin_make(sn_context *ctx, sn_examples *examples);

// A skin to learn from the frames of `keys`.
typedef struct sn_skin_task {
  const sn_skin_options *options;
  const sn_examples *examples;
  sn_rt_blend blend;
  const sn_keys *keys;
} sn_skin_task;

// The skin that the options ask for; fitted ones are of the base that cross-validates best (skin/base.h). `report` may be
// NULL.
sn_status sn_train_skin(sn_context *ctx, const sn_skin_task *task, sn_skin *out, sn_train_report *report);

// Weights on any joints of `poses` by linear blending, without a prior.
sn_status sn_free_weights(sn_context *ctx, const sn_skin_options *options, const sn_examples *examples,
                          const sn_poses *poses, const sn_keys *keys, sn_skin *out);

// `lbs`, `dqs` and `cor` by sn_skin_options, without their own: what `psd` and `eigenskin` stand on. `report` may be NULL.
sn_status sn_lbs_train(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                       sn_plan *plan, sn_train_report *report);
sn_status sn_dqs_train(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                       sn_plan *plan, sn_train_report *report);
sn_status sn_cor_train(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                       sn_plan *plan, sn_train_report *report);

// Joints whose rotations the training poses lack, worst first, in report->lacks.
sn_status sn_train_lacks(sn_context *ctx, const sn_examples *examples, const sn_keys *keys, sn_train_report *report);

// One more candidate of what training chose from; dropped when the report has no room.
void sn_train_report_add(sn_train_report *report, const char *name, double cross_validated, bool is_chosen);

#endif
