// SPDX-License-Identifier: MIT
// What the tool and other languages do, as functions with typed options and results: they only translate.
#ifndef SINEW_JOB_JOB_H
#define SINEW_JOB_JOB_H

#include "report/report.h"
#include "sinew/eval.h"
#include "sinew/examples.h"

// ---- inputs ---------------------------------------------------------------------------------------------------------------

enum { SN_MOST_INPUTS = 256, SN_MOST_POSES = 1024 };

typedef struct sn_input_list {
  int count;
  const char *texts[SN_MOST_INPUTS];
} sn_input_list;

// The files of a set of examples, by the names that their options have: texts stay the caller's.
typedef struct sn_inputs {
  sn_load_options load; // rest, torque, values, controls, match, adjust; the rest is filled in by sn_inputs_load
  sn_input_list frames, skeletons, test_frames, test_skeletons, clips, objects;
  int pose_count;
  const char *poses[SN_MOST_POSES];
  const char *map;
} sn_inputs;

// One file, or what is said of files: "rest", "frames", "test-frames", "scale", "pose", ... False where nothing is called so.
bool sn_input_known(const char *name);
sn_status sn_inputs_add(sn_context *ctx, sn_inputs *inputs, const char *name, const char *text);
// Everything but the meshes of `pose`.
sn_status sn_inputs_load(sn_context *ctx, sn_inputs *inputs, sn_examples *out);
// Puts those into the frames; without frames, the examples become these poses alone.
sn_status sn_inputs_sculpt(sn_context *ctx, const sn_inputs *inputs, sn_examples *examples);
// Where the skeleton is not the model's (other names or lengths, or `map`), its motion is carried over to the model's; `told`
// (`size` bytes) says for which joints.
sn_status sn_inputs_retarget(sn_context *ctx, const sn_inputs *inputs, const sn_rt_model *model,
                             sn_examples *examples, char *told, size_t size);

// ---- train ----------------------------------------------------------------------------------------------------------------

typedef struct sn_train_job {
  const sn_examples *examples;
  const sn_keys *keys, *others;
  const sn_method_spec *spec; // NULL: the best within the limits
  sn_limits limits;
  const sn_rt_model *from; // poses are added to this model, and nothing else is learned
  bool measure;
} sn_train_job;

typedef struct sn_train_result {
  sn_method_spec spec; // what was trained; its method is NULL for `from`
  sn_model model;
  sn_train_report report;
  sn_scores scores;
  sn_rt_info info;
  sn_choice_table table; // of `auto`, also where it failed
  sn_arena memory;
} sn_train_result;

sn_status sn_job_train(sn_context *ctx, const sn_train_job *job, sn_train_result *out);
void sn_train_result_free(sn_train_result *result);
json_t *sn_report_training(const sn_train_result *result);

// ---- compare --------------------------------------------------------------------------------------------------------------

typedef struct sn_compare_row {
  sn_method_spec spec;
  sn_scores scores;
  double seconds, bytes, flops, us;
  double ratio;      // of us to that of the row `lbs`; NAN where there is none
  double *frame_rms; // per frame; NULL: not wanted
} sn_compare_row;

typedef struct sn_compare_job {
  const sn_examples *examples;
  const sn_keys *keys, *others;
  bool loocv;
  // What else is to be done with a row: its model is NULL where the method has none, and gone afterwards.
  sn_status (*with_model)(void *user, sn_compare_row *row, const sn_rt_model *model);
  sn_status (*finished)(void *user, sn_compare_row *row); // in the order of the rows
  void *user;
} sn_compare_job;

// Trains on the keys, opens the bytes with the runtime, and measures. The row `lbs` is the first: others are timed beside it.
sn_status sn_job_compare(sn_context *ctx, const sn_compare_job *job, sn_compare_row *rows, int count);
json_t *sn_report_compare(const sn_compare_row *row);

#endif
