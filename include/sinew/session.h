// SPDX-License-Identifier: MIT
// Interface for other languages (python/sinew uses it): handles, arrays by pointer, reports as JSON text.
// It only wraps the functions of the other headers.
//
// Input arrays belong to the caller and must stay unchanged until the session is freed. Output arrays belong to the session. Only
// one thread at a time may use a session, except for sn_session_progress.
#ifndef SINEW_SESSION_H
#define SINEW_SESSION_H

#include "sinew/base.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) // what shared libraries export

// ---- examples, rigs, training -----------------------------------------------------------------------------------------

typedef struct sn_session sn_session;
typedef struct sn_evaluator sn_evaluator; // an opened model, below

sn_session *sn_session_new(void); // NULL: no memory
void sn_session_free(sn_session *session);

// Threads and stop as in sn_context.
void sn_session_run_with(sn_session *session, int threads, uint64_t seed, const int *stop);
// Progress of the call that another thread is making: the task (32 bytes), and the completed fraction, 0 to 1.
double sn_session_progress(sn_session *session, char *task);
const char *sn_session_message(const sn_session *session); // of the last failure
const char *sn_session_report(const sn_session *session);  // JSON of the last success; "" if there is none

// Sets an option for the next call, by its command-line name without dashes: files of examples ("rest", "frames", "skeleton",
// "test-frames", ...; repeatable where the command line's are), "scale", "axes", "offset" and "fps" of those and of single files,
// and "keys", "mirror", "max-bytes", "max-time", "error", "models", "solve", "lock", "rest-frame", "keep-bones", "keep-weights",
// "heat", "unordered" and "curve", the points of train's --plot (the last five are switches: any text sets them).
sn_status sn_session_option(sn_session *session, const char *name, const char *text);
// Reads the files of examples as the command line does. `still`: the skeleton needs no motion.
sn_status sn_session_load_files(sn_session *session, bool still);

// A single file: a mesh, frames, or a skeleton with its poses, the mesh in its bind pose and that mesh's skin.
sn_status sn_session_read_mesh(sn_session *session, const char *path);
sn_status sn_session_read_frames(sn_session *session, const char *path);
sn_status sn_session_read_skeleton(sn_session *session, const char *path, bool still);

// Examples in memory, in the order of the mesh. `split`: weld vertices that are split at seams, as in glTF; `normals` (may be
// NULL) are those of the mesh.
typedef struct sn_session_mesh {
  int vertices, triangles;
  const float *positions, *normals;
  const int *corners;
  bool split;
} sn_session_mesh;
void sn_session_give_mesh(sn_session *session, const sn_session_mesh *mesh);
// Clip c is frames clip_start[c] .. clip_start[c + 1] - 1; the last `test_clips` clips are not used in training.
typedef struct sn_session_frames {
  int frames, vertices;
  const float *positions;
  int clips, test_clips;
  const int *clip_start;
} sn_session_frames;
sn_status sn_session_give_frames(sn_session *session, const sn_session_frames *frames);
// `rest` and `poses` are 3x4 matrices, row-major: joint to world in the rest pose; rest pose to pose, a row per frame.
typedef struct sn_session_skeleton {
  int joints, frames;
  const char *const *names;
  const int *parents;
  const double *rest, *poses;
} sn_session_skeleton;
sn_status sn_session_give_skeleton(sn_session *session, const sn_session_skeleton *skeleton);
void sn_session_give_skin(sn_session *session, int vertices, int influences, const uint16_t *joints,
                          const float *weights);
void sn_session_give_torques(sn_session *session, int frames, const double *values, const bool *has);
// `values` has a row per frame, `rest` the rest mesh's.
sn_status sn_session_give_values(sn_session *session, int count, const char *const *names, int frames,
                                 const double *values, const double *rest);
sn_status sn_session_give_controls(sn_session *session, int count, const int *vertices, int target);
// After all sn_session_give_ calls: welds seams and checks the examples.
sn_status sn_session_load_given(sn_session *session);

// Array "keys": the frames of option "keys" among `frame_count`, or (negative) among the examples' frames.
sn_status sn_session_keys(sn_session *session, int frame_count);
// A finished model to which sn_session_train adds the files of option "pose", instead of training a new model.
void sn_session_from(sn_session *session, const void *model, size_t size);
// Array "model"; report as of `sinew train`. Without `measure` the model is not evaluated.
sn_status sn_session_train(sn_session *session, const char *method, bool measure);
// Arrays "skeleton...", "poses", "skin...", "model" (linear blend skinning with the weights), "frame_rms", "vertex_rms"; report
// as of `sinew rig`. `options` are "bones=20,...". Uses a given skeleton if option "solve" is set.
sn_status sn_session_rig(sn_session *session, const char *options);
sn_status sn_session_write_rig(sn_session *session, const char *path, double fps);
// One row for each method; report as of `sinew compare`.
sn_status sn_session_compare(sn_session *session, int methods, const char *const *specs, bool loocv);
// The model's error over all frames of the examples: arrays "vertex_rms" and "frame_rms"; the report has the metrics under "all".
sn_status sn_session_errors(sn_session *session, const sn_evaluator *model);

// As `sinew eval`, `info`, `convert`, `pack` and `export`, with their reports. pack returns array "model"; its `order` may be NULL.
// export reads its character from option "skeleton".
sn_status sn_session_eval(sn_session *session, const sn_evaluator *model, const char *path);
sn_status sn_session_info(sn_session *session, const char *path);
sn_status sn_session_convert(sn_session *session, const char *from, const char *to);
sn_status sn_session_pack(sn_session *session, const void *model, size_t size, const char *order);
sn_status sn_session_export(sn_session *session, const sn_evaluator *model, const char *tool, const char *path);
// A line chart as SVG: struct sn_plot is that of sinew/eval.h.
struct sn_plot;
sn_status sn_session_plot(sn_session *session, const char *path, const struct sn_plot *plot);
// Writes bytes as a file, atomically.
sn_status sn_session_write_file(sn_session *session, const char *path, const void *bytes, size_t size);
// Writes frames in the format of the extension, as sn_frames_write, with the given mesh's triangles.
sn_status sn_session_write_frames(sn_session *session, const char *path, double fps);

// An array by name. False if there is none.
typedef struct sn_session_array {
  const void *data;
  char kind; // 'f' float, 'd' double, 'i' int, 'H' uint16_t, 'B' uint8_t
  int dimensions;
  int64_t shape[4];
} sn_session_array;
bool sn_session_get(const sn_session *session, const char *name, sn_session_array *out);
const char *sn_session_joint_name(const sn_session *session, int joint);
double sn_session_rate(const sn_session *session); // frames per second of the frames; 0 where unknown
bool sn_session_is_split(const sn_session *session);

// The names of all methods with their summaries and options, as JSON. Free it with sn_session_text_free.
char *sn_session_describe_methods(void);
void sn_session_text_free(char *text);

// ---- evaluation ----------------------------------------------------------------------------------------------------------

// A model opened by the runtime. Vertices are in the order of the rest file, even if the model was reordered. Its bytes belong to
// the caller. Any number of threads may use it, each with separate scratch memory. NULL, with the reason in `message`, if the
// bytes are not a model.
sn_evaluator *sn_evaluator_new(const void *bytes, size_t size, char *message, size_t message_size);
void sn_evaluator_free(sn_evaluator *evaluator);
size_t sn_evaluator_scratch(const sn_evaluator *evaluator); // bytes
size_t sn_evaluator_state(const sn_evaluator *evaluator);   // bytes of one character's state; 0: the model uses none
// Its contents as JSON: counts, slots, joints with names and parents. Free it with sn_session_text_free.
char *sn_evaluator_describe(const sn_evaluator *evaluator);
// Input and output as in sn_rt_input and sn_rt_output.
typedef struct sn_evaluator_call {
  const sn_evaluator *evaluator;
  const float *joints, *controls, *torques, *values;
  void *state, *scratch;
  float *positions;
  size_t position_stride;
  float *normals;
  size_t normal_stride;
  float *tangents; // NULL: none; they need normals
  size_t tangent_stride;
  char message[240]; // filled where the status is not 0
} sn_evaluator_call;
int sn_evaluator_run(sn_evaluator_call *call);
// Seconds of one such call, the fastest of `repeats`.
double sn_evaluator_time(sn_evaluator_call *call, int repeats);
// Computes the palette only: its matrices into `out`, 12 floats each.
int sn_evaluator_palette(sn_evaluator_call *call, float *out);
// Palette indices and weights of every vertex, `influences` each, as sn_rt_get_rest.
int sn_evaluator_weights(const sn_evaluator *evaluator, uint16_t *joints, float *weights, uint32_t influences,
                         char *message);
// As sn_rt_bind without `space`.
int sn_evaluator_bind(const sn_evaluator *evaluator, const float *bind, float *to_rest, char *message);
// Retargets the motion of the session's skeleton to the model's, by joint names or option "map": arrays "poses", ...
sn_status sn_session_retarget(sn_session *session, const sn_evaluator *evaluator);
sn_status sn_session_read_model_mesh(sn_session *session, const sn_evaluator *evaluator);
// Joint-to-world matrices in the rest pose, joint_count x 12: arrays "skeleton...".
sn_status sn_session_read_model_skeleton(sn_session *session, const sn_evaluator *evaluator);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
