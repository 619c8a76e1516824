// SPDX-License-Identifier: MIT
// How good a model is: its error on named frames, as evaluated by the runtime.
#ifndef SINEW_EVAL_H
#define SINEW_EVAL_H

#include "sinew/model.h"
#include "sinew/scene.h"
#include "sinew/train.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) // what shared libraries export

// The figures of every report; names and definitions as in docs/reference/metrics.md. NAN where one does not apply.
typedef struct sn_metrics {
  int frame_count;     // 0: no frames, all figures NAN
  double rms;          // root mean squared vertex distance
  double rms_pct_diag; // the same in percent of the rest mesh's bounding-box diagonal
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

// Root mean squared distance of every vertex over the frames of `keys`; out has examples->rest.vertex_count numbers.
sn_status sn_assess_vertices(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples,
                             const sn_keys *keys, double *out);

// Frames at which a torque or a named value is outside the range of the training, so that the nearest number within is used.
typedef struct sn_clamped {
  const char *kind, *name; // "torque of " and a joint, or "value " and its name
  float range[2];
  int frames, outside; // of so many, so many
} sn_clamped;
// Of input k of the model: its torques by joint, then its values.
sn_clamped sn_assess_clamped(const sn_rt_model *model, const sn_examples *examples, uint32_t k);

// By how many degrees every joint of the model is outside the range of the training, at every frame of the examples: frame_count *
// joint_count numbers (`memory` owns them), 0 within. NULL where the model does not know.
sn_status sn_assess_outside(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples, sn_arena *memory,
                            double **out);

// Figures over all frames of `truth`, in the poses of `input` (which may be the same); `memory` owns the arrays.
typedef struct sn_figures {
  sn_metrics error;
  double *frame_rms, *vertex_rms; // root mean squared distances
} sn_figures;
sn_status sn_assess_all(sn_context *ctx, const sn_rt_model *model, const sn_examples *input, const sn_examples *truth,
                        sn_arena *memory, sn_figures *out);

// What people see: how far off all but one in a hundred vertices and frames stay; and bumps of new poses, every joint turned alone
// by 30 degrees about each axis: root mean squared change of a vertex's distance to the middle of its neighbours, in percent of
// the mean edge. NAN where there are no frames, or where the model is driven by more than joints.
typedef struct sn_visible {
  double p99_pct_diag, roughness;
} sn_visible;
sn_status sn_assess_visible(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples, sn_visible *out);

// A rig as written, evaluated by the runtime.
typedef struct sn_rig_figures {
  sn_metrics error; // of all frames
  sn_visible visible;
  double joint_gap_pct_diag;      // largest distance between the two ends of a joint over all frames
  double joints_inside_pct;       // joints with a parent inside the rest mesh, in percent
  double joint_outside_pct_diag;  // the largest distance of one of the others to the surface
  int pieces;                     // of the rest mesh that share no vertices
  int influences[9];              // vertices by number of influences
  double *frame_rms, *vertex_rms; // root mean squared distances
} sn_rig_figures;
// `rigged` has the skeleton and poses of the file, `skin` the weights of its vertices; `memory` owns the arrays.
sn_status sn_assess_rig(sn_context *ctx, const sn_rt_model *model, const sn_examples *rigged, const sn_skin *skin,
                        sn_arena *memory, sn_rig_figures *out);

// Sums from which the figures of any union of frames follow. Zeroed: no frames.
typedef struct sn_errors {
  int vertex_count, frame_count; // every vertex of the rest file counts
  double *squared;               // per vertex, over the frames
  double largest, angle_sum;     // largest distance; sum of normal angles in radians
  double *frame_squared;         // per frame of `keys`, over the vertices
  int *frames;                   // the frames of `keys`
  const sn_examples *examples;   // which must outlive this
  sn_arena memory;
} sn_errors;

// `positions` and `normals` (may be NULL) as from sn_assess_evaluate.
sn_status sn_errors_measure(sn_context *ctx, const sn_examples *examples, const sn_keys *keys,
                            const sn_frames *positions, const sn_frames *normals, sn_errors *out);
// The same in windows: from none of `frame_count` frames, those of `keys` are added as the `first` and following ones. The
// figures are those of one window, bit for bit.
sn_status sn_errors_begin(sn_context *ctx, const sn_examples *examples, int frame_count, sn_errors *out);
sn_status sn_errors_window(sn_context *ctx, const sn_keys *keys, int first, const sn_frames *positions,
                           const sn_frames *normals, sn_errors *errors);
// Adds the frames of b (same mesh, same joints) to a; a zeroed `a` becomes a copy.
sn_status sn_errors_add(sn_context *ctx, sn_errors *a, const sn_errors *b);
void sn_errors_free(sn_errors *errors);
// The enveloping error is against the best single joints, which are looked for here.
sn_status sn_metrics_of(sn_context *ctx, const sn_errors *errors, double diagonal, sn_metrics *out);

// Training, test and all frames. With clips that are only tested on, `test` is theirs, and `between` has the other frames that
// were not trained on.
typedef struct sn_scores {
  sn_metrics train, test, between, all;
} sn_scores;

// Frames of the examples that scores are of; those of `test` ascend.
typedef struct sn_scored_frames {
  const sn_keys *train, *test;
  double *frame_rms; // filled in: root mean squared distance of each of the examples' frames; NULL: not wanted
} sn_scored_frames;

sn_status sn_assess(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples,
                    const sn_scored_frames *frames, sn_scores *out);

// The same for a spec without a model (sn_method_has_no_model): training and evaluation are one step.
sn_status sn_assess_predict(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples,
                            const sn_scored_frames *frames, sn_scores *out, sn_train_report *report);

// Leave-one-out cross-validation over the frames of `keys`: `test` has each frame predicted by the model trained on the others
// (`between` where clips are only tested on); `train` is the mean over the folds of their training figures. Folds run in
// parallel.
sn_status sn_assess_loocv(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples,
                          const sn_keys *keys, sn_scores *out, double *seconds);

// ---- the choice of a method ----------------------------------------------------------------------------------------

// A method that was tried: its error on held-out poses.
typedef struct sn_candidate {
  sn_method_spec spec;
  sn_metrics held_out; // zeroed where it was refused
  int folds;           // that it was tried on; fewer than others: it was far behind
  double bytes, ratio; // of its largest model; time against linear blend skinning, NAN where there is no such limit
  double seconds;      // of all its trainings
  char refused[256];   // why it cannot be chosen; empty: it can
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
// 0 where is_fit. The table is filled as far as it came where this fails.
sn_status sn_train_chosen(sn_context *ctx, const sn_examples *examples, const sn_keys *keys, sn_choice_table *table,
                          sn_model *out, sn_train_report *report);
void sn_choice_table_free(sn_choice_table *table);

// Time of one evaluation (positions and normals, one thread), in microseconds.
typedef struct sn_timing {
  double median, low, high; // low and high: 10th and 90th percentile
  int repeats;
} sn_timing;

// Times `model` for about `seconds`, with the examples' poses in turn (NULL or without poses: the rest pose).
sn_status sn_assess_time(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples, bool normals,
                         double seconds, sn_timing *out);

// The same with normals, `model` and `other` (may be NULL: ratio is NAN) in turn, so that a disturbance of the machine falls on
// both: the median in microseconds, and its ratio to that of `other`.
sn_status sn_assess_time_beside(sn_context *ctx, const sn_rt_model *model, const sn_rt_model *other,
                                const sn_examples *examples, double *us, double *ratio);

// Time of copying `bytes` bytes, in microseconds: what memory alone would need.
sn_status sn_assess_copy_time(sn_context *ctx, size_t bytes, double seconds, sn_timing *out);

// Linear blend skinning of the model's mesh to be timed beside it, as `lbs` would be trained: on the joints (for control points:
// on the model's bones), with the four largest weights.
sn_status sn_assess_plain_lbs(sn_context *ctx, const sn_rt_model *model, sn_model *out);

// Time of one evaluation over that of sn_assess_plain_lbs: they take turns, so that a disturbance of the machine falls on both.
sn_status sn_assess_ratio(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples, double *out);

// ---- plots -------------------------------------------------------------------------------------------------------

typedef struct sn_plot_line {
  const char *name;
  int count;
  const double *x, *y; // points that are not finite are left out
} sn_plot_line;

typedef struct sn_plot {
  const char *title, *x_title, *y_title;
  const sn_plot_line *lines;
  int line_count;
} sn_plot;

// A line chart as SVG, readable in black and white: every line has a separate dash pattern.
sn_status sn_plot_write(sn_context *ctx, const char *path, const sn_plot *plot);

// The models of other sizes that a training report has; lines across end in the choice.
sn_status sn_plot_rates(sn_context *ctx, const char *path, const sn_train_report *report);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
