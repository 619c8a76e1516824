// SPDX-License-Identifier: MIT
// The functions behind the tool and the language bindings, with typed options and results; those only translate.
#ifndef SINEW_JOB_JOB_H
#define SINEW_JOB_JOB_H

#include "report/report.h"
#include "sinew/eval.h"
#include "sinew/examples.h"
#include "sinew/rig.h"

// ---- inputs ---------------------------------------------------------------------------------------------------------------

enum { SN_MOST_INPUTS = 1024 };

typedef struct sn_input_list {
  int count;
  const char *texts[SN_MOST_INPUTS];
} sn_input_list;

// Files and options of jobs, by their command-line names. The caller owns the texts.
typedef struct sn_inputs {
  sn_load_options load; // rest, torque, values, controls, match, adjust, fps; sn_inputs_load fills in the others
  sn_input_list frames, skeletons, test_frames, test_skeletons, clips, objects, poses;
  const char *map;
  const char *keys;       // "all": all frames
  const char *mirror;     // training: axis across which frames are mirrored; NULL: none
  sn_limits limits;       // training
  const char *solve;      // rigging with the examples' skeleton: "weights", "motion" or "both"; NULL: without it
  const char *lock;       // rigging: joints that keep their motion, by name; NULL: none
  const char *rest_frame; // rigging: frame that is the rest pose, or "auto"; NULL: the rest mesh is
  const char *models;     // comparing: folder for the models; NULL: not written
  bool keep_weights;      // rigging: keep the skeleton file's weights where vertex colours are white
  bool keep_bones, heat;  // rigging: exactly `bones` bones; write the error of every vertex as its colour
  bool unordered;         // evaluation: each frame independently
  uint64_t seed;
  // Callbacks, may be NULL: a line for the user; a check of the loaded examples.
  void (*note)(void *user, const char *line);
  sn_status (*loaded)(void *user, sn_examples *examples);
  void *user;
} sn_inputs;

// Sets one file or option: "rest", "frames", "test-frames", "scale", "pose", "keys", ... Any text, even NULL, sets a switch.
bool sn_input_known(const char *name);
sn_status sn_inputs_add(sn_context *ctx, sn_inputs *inputs, const char *name, const char *text);
void sn_inputs_note(const sn_inputs *inputs, const char *format, ...) __attribute__((format(printf, 2, 3)));
// The choice (clip, objects, adjustments) for a single file.
sn_choice sn_inputs_choice(const sn_inputs *inputs, sn_file_kind kind);
// Loads everything but the meshes of `pose`.
sn_status sn_inputs_load(sn_context *ctx, sn_inputs *inputs, sn_examples *out);
// Puts the meshes of `pose` into the frames; without frames, the examples become these poses alone. Fails if there are none.
sn_status sn_inputs_sculpt(sn_context *ctx, const sn_inputs *inputs, sn_examples *examples);
// Retargets the motion to the model's skeleton if the examples' differs (names or lengths), or as `map` says.
sn_status sn_inputs_retarget(sn_context *ctx, const sn_inputs *inputs, const sn_rt_model *model,
                             sn_examples *examples);

bool sn_is_scene(const char *path); // formats for a skinned mesh with its motion: .glb, .gltf, .fbx

// An open model file.
typedef struct sn_opened {
  sn_file file;
  sn_rt_model model;
  sn_model as_file; // from sn_open_as_file, if the model was renumbered
} sn_opened;

sn_status sn_open_model(sn_context *ctx, const char *path, sn_opened *out);
// Opens a model with its vertices in the order of the rest file.
sn_status sn_open_as_file(sn_context *ctx, const char *path, sn_opened *out);
void sn_opened_close(sn_opened *opened);

// ---- train ----------------------------------------------------------------------------------------------------------------

// Training data, for training and comparing.
typedef struct sn_training {
  const sn_inputs *inputs;
  sn_examples *examples; // loaded from the inputs, or given; sculpted poses and mirror images are added
  sn_keys keys, others;  // filled in
  sn_status (*ready)(void *user, const sn_method_spec *spec); // called before a method is trained; may be NULL
  void *user;
} sn_training;

void sn_training_free(sn_training *training);

typedef struct sn_train_job {
  sn_training data;
  const sn_method_spec *spec; // NULL: choose the best within the limits
  const sn_rt_model *from;    // add poses to this model and train nothing else
  bool measure;
} sn_train_job;

enum {
  SN_POOR_RMS = 2,
  SN_POOR_LARGEST = 20
}; // percent of the diagonal: models and rigs with a larger error are reported as poor
typedef struct sn_train_result {
  sn_method_spec spec; // what was trained; its method is NULL for `from`
  sn_model model;
  sn_train_report report;
  sn_scores scores;
  sn_rt_info info;
  sn_choice_table table; // of `auto`, even if it failed
} sn_train_result;

sn_status sn_job_train(sn_context *ctx, sn_train_job *job, sn_train_result *out);
void sn_train_result_free(sn_train_result *result);
json_t *sn_report_training(const sn_train_result *result);

// ---- compare --------------------------------------------------------------------------------------------------------------

typedef struct sn_compare_row {
  sn_method_spec spec;
  sn_scores scores;
  double seconds, bytes, flops, us;
  double ratio;      // of `us` to that of the row `lbs`; NAN: no such row
  double *frame_rms; // per frame
} sn_compare_row;

typedef struct sn_compare_job {
  sn_training data;
  bool loocv;
  void (*begin)(void *user); // called once examples and keys are known; may be NULL, like those below
  // Further work with a row's model, which is freed afterwards; not called for methods without a model.
  sn_status (*with_model)(void *user, sn_compare_row *row, const sn_rt_model *model);
  sn_status (*finished)(void *user, sn_compare_row *row); // called in the order of the rows
  sn_arena memory;                                        // holds frame_rms
} sn_compare_job;

// Trains on the keys, opens the model with the runtime and measures it. The row `lbs` runs first: others are timed against it.
sn_status sn_job_compare(sn_context *ctx, sn_compare_job *job, sn_compare_row *rows, int count);
void sn_compare_job_free(sn_compare_job *job);
json_t *sn_report_compare(const sn_compare_row *row);

// ---- rig ------------------------------------------------------------------------------------------------------------------

typedef struct sn_rig_job {
  const sn_inputs *inputs; // source of the examples: a document's materials are kept
  sn_examples *examples;   // keeps only the frames of `keys`; the rest pose may change
  sn_rig_options options;  // the job fills in `given` and its inputs
  const char *path;        // output file; NULL: none
} sn_rig_job;

typedef struct sn_rig_done {
  sn_rig_result rig;
  sn_model model;         // linear blend skinning with the weights
  sn_rig_figures figures; // of the file as written, or of the model
  double seconds;
  int rest_frame; // the chosen one; -1: none
  sn_rig_noise noise;
  char poor[256]; // advice if the rig's error is large; else ""
  sn_arena memory;
} sn_rig_done;

sn_status sn_job_rig(sn_context *ctx, sn_rig_job *job, sn_rig_done *out);
sn_status sn_job_write_rig(sn_context *ctx, sn_rig_job *job, sn_rig_done *done, const char *path);
void sn_rig_done_free(sn_rig_done *done);
json_t *sn_report_rigging(const sn_rig_job *job, const sn_rig_done *done);

// ---- evaluate -------------------------------------------------------------------------------------------------------------

typedef struct sn_eval_job {
  const sn_rt_model *model;
  const char *name;  // for messages
  sn_inputs *inputs; // inputs that drive the model; `frames` are the ground truth
  const char *path;  // output: deformed vertices, or a linear skin with its animation (sn_is_scene)
} sn_eval_job;

typedef struct sn_eval_result {
  int frames;
  sn_metrics error; // against the ground truth; frame_count 0: none given
  json_t *clamped;  // by joint or value: number of frames outside the training range
  json_t *outside;  // by joint: frames outside that range, the largest distance in degrees, and its frame
} sn_eval_result;

sn_status sn_job_eval(sn_context *ctx, const sn_eval_job *job, sn_eval_result *out);
// Takes ownership of the result.
json_t *sn_report_eval(const sn_eval_job *job, sn_eval_result *result);
// Notes torques and values outside the training range; returns the number of such frames by joint or value.
json_t *sn_report_clamped(const sn_inputs *inputs, const char *name, const sn_rt_model *model,
                          const sn_examples *examples);

// ---- time -----------------------------------------------------------------------------------------------------------------

typedef struct sn_bench_result {
  sn_timing full, positions, lbs, copy; // with normals; without; plain lbs with normals; a copy of the bytes touched
  size_t bytes;                         // touched
} sn_bench_result;

sn_status sn_job_bench(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples, double seconds,
                       sn_bench_result *out);
json_t *sn_report_bench(const sn_rt_model *model, const sn_bench_result *result);

// ---- view -----------------------------------------------------------------------------------------------------------------

// A page of models, together with those of earlier pages.
typedef struct sn_view_job {
  int count, page_count;
  const char *const *models, *const *pages; // files
  sn_inputs *inputs;
  const char *title, *path; // title NULL: the name of the only model, or of `path`
  const char *page;         // the HTML template
  size_t page_size;
} sn_view_job;

sn_status sn_job_view(sn_context *ctx, const sn_view_job *job, json_t **input);
// A method's spec as a file name: '-' replaces characters that do not belong in one.
void sn_spec_name(const char *spec, char *out, size_t size);

// ---- files ----------------------------------------------------------------------------------------------------------------

// The contents of a file, as text and as a report.
typedef struct sn_info_result {
  char *text;
  size_t size;
  json_t *report;
} sn_info_result;

sn_status sn_job_info(sn_context *ctx, const char *path, sn_info_result *out);
void sn_info_result_free(sn_info_result *result);

enum { SN_WHAT_SIZE = 200 };

// Converts a file; `inputs` give rest mesh, clip, objects, rate and adjustments. `what` (SN_WHAT_SIZE) describes what was written;
// "" if a document was copied whole.
sn_status sn_job_convert(sn_context *ctx, const char *from, const char *to, const sn_inputs *inputs, char *what);

// Packs a trained model, with its vertices in the order "file" or "blocks"; NULL: unchanged.
sn_status sn_job_pack(sn_context *ctx, const sn_rt_model *model, const char *order, sn_model *out);

#endif
