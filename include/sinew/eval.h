// SPDX-License-Identifier: MIT
// Error and speed of models, as evaluated by the runtime.
#ifndef SINEW_EVAL_H
#define SINEW_EVAL_H

#include "sinew/model.h"
#include "sinew/scene.h"
#include "sinew/train.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) // what shared libraries export

// Error metrics of every report; names and definitions as in docs/reference/metrics.md. NAN if one does not apply.
typedef struct sn_metrics {
  int frame_count;     // 0: no frames, all metrics NAN
  double rms;          // root mean squared vertex distance
  double rms_pct_diag; // the same in percent of the rest mesh's bounding-box diagonal
  double p99_pct_diag; // the distance that 99 of 100 vertices and frames stay below
  double max_pct_diag; // the largest distance
  double e_rms;        // 1000 |X - Y|_F / sqrt(3 N F)
  double ee;           // enveloping error (Wang 2007, 7.1); needs a skeleton
  double std_pct_diag; // standard deviation over the vertices of each vertex's rms error (Wang 2007, figure 11)
  double normal_deg;   // mean angle between normals and those of the frames' meshes
} sn_metrics;

// Evaluates the model on frames of the examples: out has keys->count frames, in the model's vertex order. `normals`
// may be NULL.
sn_status sn_assess_evaluate(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples,
                             const sn_keys *keys, sn_frames *positions, sn_frames *normals);

// Number of frames at which a torque or a named value is outside its training range and is clamped.
typedef struct sn_clamped {
  const char *kind, *name; // "torque of " and a joint, or "value " and its name
  float range[2];
  int frames, outside; // all frames; those outside the range
} sn_clamped;
// For input k of the model: torques by joint, then values.
sn_clamped sn_assess_clamped(const sn_rt_model *model, const sn_examples *examples, uint32_t k);

// How many degrees each joint is outside its training range at every frame of the examples: frame_count * joint_count numbers
// (`memory` owns them), 0 within the range. NULL if the model does not store its training range.
sn_status sn_assess_outside(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples, sn_arena *memory,
                            double **out);

// A model in the poses of `input`, against the frames `keys` (NULL: all) of `truth`, which may be the same examples.
typedef struct sn_measured {
  const sn_examples *input, *truth;
  const sn_keys *keys;
} sn_measured;

typedef struct sn_figures {
  sn_metrics error;
  double *frame_rms, *vertex_rms; // root mean squared distances of all frames of `truth`, and of its vertices
} sn_figures;
sn_status sn_assess_figures(sn_context *ctx, const sn_rt_model *model, const sn_measured *of, sn_arena *memory,
                            sn_figures *out);

// Roughness in new poses, each with one joint rotated by 30 degrees about one axis: rms change of a vertex's distance to the
// centroid of its neighbours, in percent of the mean edge. NAN if the model is driven by more than joints.
sn_status sn_assess_roughness(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples, double *out);

// A rig as written, evaluated by the runtime.
typedef struct sn_rig_figures {
  sn_metrics error; // of all frames
  double roughness;
  double joint_gap_pct_diag;      // largest sn_joint_gap over all frames
  double joints_inside_pct;       // non-root joints inside the rest mesh, in percent
  double joint_outside_pct_diag;  // largest distance of an outside joint to the surface
  int pieces;                     // connected components of the rest mesh
  int influences[9];              // vertices by number of influences
  double *frame_rms, *vertex_rms; // root mean squared distances
} sn_rig_figures;
// `rigged` has the skeleton and poses of the file, `skin` the weights of its vertices; `memory` owns the arrays.
sn_status sn_assess_rig(sn_context *ctx, const sn_rt_model *model, const sn_examples *rigged, const sn_skin *skin,
                        sn_arena *memory, sn_rig_figures *out);

// Sums from which the metrics of any union of frames are computed. Zeroed: no frames.
typedef struct sn_errors {
  int vertex_count, frame_count; // vertices of the rest file
  double *squared;               // per vertex, over the frames
  uint64_t *bins;                // of squared distances, in units of the squared diagonal (sn_percentile)
  double largest, angle_sum;     // largest distance; sum of normal angles in radians
  double *frame_squared;         // per frame of `keys`, over the vertices
  int *frames;                   // the frames of `keys`
  const sn_examples *examples;   // which must outlive this
  sn_arena memory;
} sn_errors;

// `positions` and `normals` (may be NULL) as from sn_assess_evaluate.
sn_status sn_errors_measure(sn_context *ctx, const sn_examples *examples, const sn_keys *keys,
                            const sn_frames *positions, const sn_frames *normals, sn_errors *out);
// The same of a model.
sn_status sn_errors_of_model(sn_context *ctx, const sn_rt_model *model, const sn_measured *of, bool normals,
                             sn_errors *out);
// Adds the frames of b (same mesh, same joints) to a; a zeroed `a` becomes a copy.
sn_status sn_errors_add(sn_context *ctx, sn_errors *a, const sn_errors *b);
void sn_errors_free(sn_errors *errors);
// The enveloping error is relative to the best single joints, which this function computes.
sn_status sn_metrics_of(sn_context *ctx, const sn_errors *errors, sn_metrics *out);

// Errors of the training, test and all frames. With test clips, `test` is their error, and `between` that of the other frames
// not used in training.
typedef struct sn_scores {
  sn_metrics train, test, between, all;
} sn_scores;

// Training and test frames of the examples; those of `test` ascend.
typedef struct sn_scored_frames {
  const sn_keys *train, *test;
  double *frame_rms; // output: root mean squared distance of each of the examples' frames; NULL: none
} sn_scored_frames;

sn_status sn_assess(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples,
                    const sn_scored_frames *frames, sn_scores *out);

// The same for a spec without a model (sn_method_has_no_model): training and evaluation are one step.
sn_status sn_assess_predict(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples,
                            const sn_scored_frames *frames, sn_scores *out, sn_train_report *report);

// Leave-one-out cross-validation over the frames of `keys`: `test` has each frame predicted by the model trained on the others
// (`between` if there are test clips); `train` is the mean of the folds' training errors. Folds run in parallel.
sn_status sn_assess_loocv(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples,
                          const sn_keys *keys, sn_scores *out, double *seconds);

// ---- the choice of a method ----------------------------------------------------------------------------------------

// A method that was tried: its error on held-out poses.
typedef struct sn_candidate {
  sn_method_spec spec;
  sn_metrics held_out; // zeroed where it was refused
  int folds;           // that were evaluated; fewer than for others: stopped early because its error was much larger
  double bytes, ratio; // of its largest model; time against linear blend skinning, NAN where there is no such limit
  double seconds;      // of all its trainings
  char refused[256];   // why it cannot be chosen; empty otherwise
} sn_candidate;

typedef struct sn_choice_table {
  sn_limits limits; // given
  sn_arena memory;
  int count;
  sn_candidate *candidates;
  const sn_candidate *chosen; // NULL: none, and sn_train_chosen failed
  bool is_fit; // too few poses to hold some out: the candidates' errors are those on the training poses
} sn_choice_table;

// Cross-validates the methods that the examples allow, and trains the best within table->limits on all frames of `keys`.
// report->cross_validated is the larger of its enveloping error on held-out poses and the one its training found;
// 0 where is_fit. On failure, the table has the candidates evaluated so far.
sn_status sn_train_chosen(sn_context *ctx, const sn_examples *examples, const sn_keys *keys, sn_choice_table *table,
                          sn_model *out, sn_train_report *report);
void sn_choice_table_free(sn_choice_table *table);

// Time of one evaluation (positions and normals, one thread), in microseconds.
typedef struct sn_timing {
  double median, low, high; // low and high: 10th and 90th percentile
  int repeats;
} sn_timing;

// Times `model` for about `seconds`, cycling through the examples' poses (NULL or without poses: the rest pose).
sn_status sn_assess_time(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples, bool normals,
                         double seconds, sn_timing *out);

// The same with normals, alternating `model` and `other` (in the rest pose; NULL: ratio is NAN), so that other load on the machine
// affects both: medians of three rounds, in microseconds and relative to `other`.
sn_status sn_assess_time_beside(sn_context *ctx, const sn_rt_model *model, const sn_rt_model *other,
                                const sn_examples *examples, double *us, double *ratio);

// Time of copying `bytes` bytes, in microseconds: the memory-bandwidth limit.
sn_status sn_assess_copy_time(sn_context *ctx, size_t bytes, double seconds, sn_timing *out);

// Linear blend skinning of the model's mesh, as a reference for timing: on the joints (for control points: on the model's bones),
// with the four largest weights.
sn_status sn_assess_plain_lbs(sn_context *ctx, const sn_rt_model *model, sn_model *out);

// Time of one evaluation relative to sn_assess_plain_lbs, measured in alternation.
sn_status sn_assess_ratio(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples, double *out);

// ---- plots -------------------------------------------------------------------------------------------------------

typedef struct sn_plot_line {
  const char *name;
  int count;
  const double *x, *y; // non-finite points are not drawn
} sn_plot_line;

typedef struct sn_plot {
  const char *title, *x_title, *y_title;
  const sn_plot_line *lines;
  int line_count;
} sn_plot;

// A line chart as SVG, readable in black and white: every line has a separate dash pattern.
sn_status sn_plot_write(sn_context *ctx, const char *path, const sn_plot *plot);

// The rate-distortion curve of a training report; a second line marks the chosen model.
sn_status sn_plot_rates(sn_context *ctx, const char *path, const sn_train_report *report);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
