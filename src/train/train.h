// SPDX-License-Identifier: MIT
// Functions shared by the training methods.
#ifndef SINEW_TRAIN_TRAIN_H
#define SINEW_TRAIN_TRAIN_H

#include "runtime/format.h"
#include "sinew/train.h"

// The option group that every method has.
extern const sn_option sn_file_option_table[];
#define SN_METHOD_COMMON                                                                                             \
  { sn_file_option_table, offsetof(sn_method_options, file) }

// The plan of a linear blend of the examples' joints, without weights yet; it points into the examples.
sn_plan sn_plan_new(sn_context *ctx, const sn_examples *examples);
void sn_plan_free(sn_plan *plan);
// Add a required section: of given bytes, or of zeroed bytes in the plan's memory (NULL: no memory).
void sn_plan_add(sn_plan *plan, sn_rt_section_id id, const void *bytes, size_t size);
void *sn_plan_section(sn_context *ctx, sn_plan *plan, sn_rt_section_id id, size_t count, size_t size);
// Encodes the model in the vertex order of the rest file.
sn_status sn_plan_encode(sn_context *ctx, const sn_plan *plan, const sn_examples *examples, sn_model *out);
// The plan's model with a single vertex, opened: its palettes are those of the whole. The caller frees `out`.
sn_status sn_plan_palette_model(sn_context *ctx, const sn_plan *plan, sn_model *out, sn_rt_model *opened);
// Its bytes and, where that is limited, its time over that of linear blending.
sn_status sn_plan_measure(sn_context *ctx, const sn_plan *plan, const sn_examples *examples, const sn_limits *limits,
                          double *bytes, double *ratio);

extern const sn_option sn_skin_option_table[];

// Memory of training per pose and vertex: residuals in single and in double precision.
enum { SN_RESIDUAL_BYTES = sizeof(float[6]) + sizeof(double[6]) };

// Whether the weights need no training frames. `options` is a struct that begins with sn_skin_options.
bool sn_skin_needs_no_frames(const void *options);

// Where the file has no weights, or all on one joint, those of bone heat replace them (examples->skin_made) if the skeleton is
// inside the mesh. The caller frees them.
sn_status sn_skin_make(sn_context *ctx, sn_examples *examples);

// A skin to fit to the frames of `keys`.
typedef struct sn_skin_task {
  const sn_skin_options *options;
  const sn_examples *examples;
  sn_rt_blend blend;
  const sn_keys *keys;
} sn_skin_task;

// The skin of the options.
sn_status sn_train_skin(sn_context *ctx, const sn_skin_task *task, sn_skin *out);

// Weights on any joints of `poses` for linear blending, without a prior.
sn_status sn_free_weights(sn_context *ctx, const sn_skin_options *options, const sn_examples *examples,
                          const sn_poses *poses, const sn_keys *keys, sn_skin *out);

// `lbs`, `dqs` and `cor` with sn_skin_options only: the base skins of `psd` and `eigenskin`. `report` may be NULL.
sn_status sn_lbs_train(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                       sn_plan *plan, sn_train_report *report);
sn_status sn_dqs_train(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                       sn_plan *plan, sn_train_report *report);
sn_status sn_cor_train(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                       sn_plan *plan, sn_train_report *report);

// Lists joints whose range of motion the training poses do not cover in report->lacks, worst first.
sn_status sn_train_lacks(sn_context *ctx, const sn_examples *examples, const sn_keys *keys, sn_train_report *report);

// Adds a candidate of a choice by cross-validation to the report; ignored if the report is full.
void sn_train_report_add(sn_train_report *report, const char *name, double cross_validated, bool is_chosen);

#endif
