// SPDX-License-Identifier: MIT
// Training: examples and the spec of a method give the bytes of a model.
#ifndef SINEW_TRAIN_H
#define SINEW_TRAIN_H

#include "sinew/model.h"
#include "sinew/option.h"
#include "sinew/scene.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) // what shared libraries export

// ---- methods ---------------------------------------------------------------------------------------------------------

typedef struct sn_method sn_method;

// The last bytes of the options are sn_method_common's, whatever the method.
enum { SN_METHOD_OPTIONS_SIZE = 1024, SN_METHOD_COMMON_OFFSET = SN_METHOD_OPTIONS_SIZE - 64 };

typedef struct sn_method_common {
  bool pack;     // the model is packed (sn_model_pack)
  bool tangents; // it has tangents
  sn_vertex_order vertex_order;
} sn_method_common;

// What a model may cost. 0: no limit.
typedef struct sn_limits {
  double bytes;
  double time; // of an evaluation, times that of linear blend skinning
  double
    error; // the smallest model with at most this error on held-out poses, in percent of the diagonal; 0: the best model
  bool curve; // the models of other sizes are wanted too
  sn_status (*ratio_of)(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples,
                        double *out); // measures what `time` limits
} sn_limits;

// A parsed spec, NAME or NAME:key=value,key=value.
typedef struct sn_method_spec {
  const sn_method *method;
  char text[256]; // as given
  union {
    double aligned;
    unsigned char bytes[SN_METHOD_OPTIONS_SIZE];
  } options;        // the method's own struct, and sn_method_common
  sn_limits limits; // of methods with corrections
} sn_method_spec;

enum { SN_MOST_SCORED = 16 };

// What training chose from: a base, a correction.
typedef struct sn_scored {
  char name[64];
  double cross_validated; // enveloping error on held-out poses
  bool is_chosen;
} sn_scored;

// A model along the curve of rate and distortion.
typedef struct sn_rate {
  double bytes, ratio;                  // time against linear blend skinning; 0: not measured
  double cross_validated, rms_pct_diag; // enveloping error and rms on held-out poses
  int fields;
  bool is_chosen;
} sn_rate;

// A joint whose rotations the training poses do not cover, and what to do about it.
typedef struct sn_lack {
  int joint;
  double trained, reached; // largest rotation from the rest pose in training and in other frames, degrees
  char advice[160];
} sn_lack;
enum { SN_MOST_LACKS = 8 };

// What training tells besides the model.
typedef struct sn_train_report {
  sn_limits limits;       // those of the spec
  double seconds;         // of the solve
  double cross_validated; // enveloping error on held-out poses; 0: not known
  int candidate_count;
  sn_scored candidates[SN_MOST_SCORED];
  int rate_count;
  sn_rate rates[SN_MOST_SCORED]; // largest first
  int lack_count;
  sn_lack lacks[SN_MOST_LACKS]; // worst first
  char learned[512];            // which base and which corrections, what cross-validation found, what was not kept
  char note[1024];              // what the user should know about the result; empty where there is nothing
} sn_train_report;

// What a trainer returns: a model as plain data, and the memory that it refers to (the examples' aside).
enum { SN_PLAN_SECTIONS = 16 };
typedef struct sn_plan {
  sn_model_desc desc; // in the order of the examples; its skin, sections and corrections are the following
  sn_skin skin;
  int section_count;
  sn_model_section sections[SN_PLAN_SECTIONS];
  sn_model_corrections corrections; // SN_RT_CORRECT_NONE: none
  sn_arena memory;
} sn_plan;

struct sn_method {
  const char *name, *summary;
  const sn_option_group *options; // of its struct
  bool needs_skeleton;
  bool takes_values; // named values span its pose spaces, with a skeleton or instead of one
  bool (*needs_no_frames)(const void *options); // may be NULL: it does
  bool wants_skin; // where the skeleton file has none, one is made from the skeleton and the surface
  // What it holds at least of every vertex, and of every vertex in every training pose, in bytes: somewhat less than was measured
  // on generated bodies, in its most frugal form.
  int vertex_bytes, pose_bytes;
  // Fills a plan of the rest mesh and the skeleton. NULL where all forms of the method have no model.
  sn_status (*train)(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                     sn_plan *plan, sn_train_report *report);
  // Forms of a method that no model can hold (may be NULL): which options ask for them, and their positions, in the
  // examples' vertex order, at the frames of `wanted` after training on those of `keys`.
  bool (*has_no_model)(const void *options);
  sn_status (*predict)(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                       const sn_keys *wanted, sn_frames *out);
};

// All methods, ended by NULL.
const sn_method *const *sn_methods(void);
// One more, for the whole process; before any other call, from one thread.
void sn_methods_add(const sn_method *method);

// Fails with a suggestion on unknown methods, keys and values.
sn_status sn_method_parse(sn_context *ctx, const char *text, sn_method_spec *out);

// The frames of `spec` (as in --keys: those of sn_keys_parse, or auto:N, the ones that leave least to be guessed in the others),
// and all others: those between them, then those of the clips that are only tested on. Of examples without frames: poses.
sn_status sn_train_keys(sn_context *ctx, const sn_examples *examples, const char *spec, uint64_t seed, sn_keys *keys,
                        sn_keys *others);

// Trains on the frames of `keys`. The model's vertices are in the order of the rest file (examples->source).
sn_status sn_train(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples, const sn_keys *keys,
                   sn_model *out, sn_train_report *report);

// One vertex over all frames: the displacement in the rest pose that it needs, and the one that the model's corrections
// give it (Murtagh 2008, figures 5.4 to 5.6). It is the vertex with the largest residual of the skinning alone.
typedef struct sn_correct_trace {
  int frame_count, vertex;
  int axis;                      // 0 x, 1 y, 2 z: the component with the largest displacement
  double *angle, *truth, *given; // frame_count each; the largest turn of a joint against its parent, in radians
  sn_arena memory;
} sn_correct_trace;

// For models driven by the joints of the examples.
sn_status sn_correct_trace_make(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples,
                                sn_correct_trace *out);
void sn_correct_trace_free(sn_correct_trace *trace);

// Adds poses (the frames of `keys`) to a finished model without what it was trained on: corrections that are zero in the rest
// pose and at the poses it remembers. For models on joints or values; examples->sigmas are the widths.
sn_status sn_correct_add(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples, const sn_keys *keys,
                         sn_model *out);

// True for a spec whose model the rest mesh and the skeleton decide: `keys` may be empty.
bool sn_method_needs_no_frames(const sn_method_spec *spec);

// True for a spec that trains no model: it can only be predicted with.
bool sn_method_has_no_model(const sn_method_spec *spec);

// Trains on the frames of `keys` and evaluates those of `wanted` without a model, in the order of the rest file.
sn_status sn_train_predict(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples,
                           const sn_keys *keys, const sn_keys *wanted, sn_frames *out);

// For every vertex the joint that alone would carry it best over the frames of `keys`, and the squared distances that are left
// (the articulated rigid-body prediction of Wang 2007, 7.1). `joints` or `errors` may be NULL.
sn_status sn_best_joints(sn_context *ctx, const sn_examples *examples, const sn_keys *keys, uint16_t *joints,
                         double *errors);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
