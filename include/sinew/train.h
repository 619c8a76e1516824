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
extern const sn_method sn_method_rigid, sn_method_lbs, sn_method_dqs, sn_method_cor, sn_method_psd,
  sn_method_eigenskin, sn_method_rotreg, sn_method_torque, sn_method_affine, sn_method_helpers;

// ---- their options: a struct each, and a function for its defaults -----------------------------------------------------

typedef enum sn_weights_source {
  SN_WEIGHTS_FIT,     // fitted to the training frames, for the method's blend
  SN_WEIGHTS_GIVEN,   // those of the skeleton file
  SN_WEIGHTS_LBS,     // fitted for linear blending
  SN_WEIGHTS_SKELETON // from the skeleton and the surface: bone heat
} sn_weights_source;

// `dqs`, `cor`, and every method with a skin on the joints.
typedef struct sn_skin_options {
  int influences; // most joints of a vertex
  sn_weights_source weights;
  double rho; // smoothness of the weights (Kim 2010)
  int base;   // 1 + the sn_base_kind to take; 0: chosen by cross-validation. Not an option of a user's
} sn_skin_options;

typedef enum sn_extra_joints { SN_EXTRA_JOINTS_NONE, SN_EXTRA_JOINTS_HALFWAY } sn_extra_joints;

typedef struct sn_lbs_options {
  sn_skin_options skin;
  sn_extra_joints extra; // half-way and scaling joints (Mohr and Gleicher 2003)
} sn_lbs_options;

enum { SN_SIGMA_AUTO = 0, SN_SIGMA_POSE = -1 }; // the words of the option `sigma`
// A sum over joints, or one function of all rotations, as published.
typedef enum sn_pose_space_kind { SN_SPACE_LOCAL, SN_SPACE_WHOLE } sn_pose_space_kind;
// In the rest pose, or after the blend.
typedef enum sn_correct_order { SN_ORDER_INVERSE, SN_ORDER_FORWARD } sn_correct_order;
// Between pose vectors: Euclidean, of components over their deviations, or by their covariance.
typedef enum sn_distance { SN_DISTANCE_EUCLID, SN_DISTANCE_NORMALISED, SN_DISTANCE_MAHALANOBIS } sn_distance;

// Corrections as functions of the pose.
typedef struct sn_correct_options {
  sn_pose_space_kind space;
  sn_rbf_kernel kernel;
  double sigma; // > 0: width of every kernel; SN_SIGMA_AUTO: the one width with the least leave-one-out error;
                // SN_SIGMA_POSE: each pose's is a multiple of its distance to the nearest other pose
  sn_correct_order order;
  sn_distance distance;
  bool weighted;    // distances by each vertex's own weights
  bool linear;      // a hyperplane under the kernels
  bool cardinal;    // store the displacements and N x N weights, not kernel weights per vertex
  double threshold; // displacements below this, in percent of the diagonal, are left out
  bool bounded; // a displacement before the blend is no longer than the residual after it: proxy bones may stretch
  char joint_names[SN_OPTION_TEXT_SIZE]; // names separated by '+'; "" is all that move
  int shapes;                            // fields of the whole character, at most; 0: fields of patches
  int components;                        // EigenSkin's fields per pose space or patch at most; 0: as many as it takes
} sn_correct_options;

// `psd` and `eigenskin`.
typedef struct sn_psd_options {
  sn_skin_options skin;
  sn_rt_blend blend; // of the skinning underneath
  sn_correct_options correct;
} sn_psd_options;

typedef enum sn_rotreg_shade { SN_ROTREG_RECOMPUTE, SN_ROTREG_TRANSFORM } sn_rotreg_shade;
typedef enum sn_rotreg_start { SN_ROTREG_CLUSTERS, SN_ROTREG_MEANSHIFT } sn_rotreg_start;

typedef struct sn_rotreg_options {
  int bones;             // proxy bones; 0: the default, or as `error` asks
  double error;          // instead: rms distance that the proxy bones may leave in training, percent of the diagonal
  int most_joints;       // most joints of a predictor
  int influences;        // most proxy bones of a vertex
  sn_rotreg_shade shade; // normals from the deformed triangles, or by the blended matrix
  sn_rotreg_start start; // of the proxy bones
  bool psd;              // corrections on top
  bool full;             // the unreduced form, which has no model
  bool published;        // as printed, without what Sinew adds
} sn_rotreg_options;

typedef struct sn_torque_options {
  sn_rotreg_options rotreg;
  int degree_r, degree_s;          // of the functions that blend rotations, and scale and shear
  char joint[SN_OPTION_TEXT_SIZE]; // only this joint's torque; "": all of them
} sn_torque_options;

typedef enum sn_affine_bones { SN_BONES_RIGID, SN_BONES_AFFINE, SN_BONES_AUTO } sn_affine_bones;
typedef enum sn_affine_places {
  SN_PLACES_PREDICTED, // places of the bones are predicted
  SN_PLACES_POISSON,   // solved for, with what the training frames tell about them
  SN_PLACES_BARE       // solved for as published: nothing about it is learnt
} sn_affine_places;

typedef struct sn_affine_options {
  int bones;
  int kappa; // reduced dimensions
  double
    beta; // kernel width in mean squared distances of the training control vectors; as published in squared file units;
          // 0: the default
  sn_affine_bones stretch; // auto: affine as published, else rigid
  sn_affine_places places;
  double rho;     // of the weight smoothing; -1: the default
  int influences; // most bones of a vertex
  bool published;
} sn_affine_options;

typedef struct sn_helpers_options {
  sn_skin_options skin;
  int helpers; // helper joints at most; 0: by cross-validation
  int numbers; // with values: numbers in all bones' transforms together at most; 0: no limit
} sn_helpers_options;

// The file that is written.
typedef struct sn_file_options {
  bool pack;     // the model is packed (sn_model_pack)
  bool tangents; // it has tangents
  sn_vertex_order vertex_order;
} sn_file_options;

// Those of the method, and those of its file.
typedef struct sn_method_options {
  union {
    sn_skin_options skin; // dqs, cor
    sn_lbs_options lbs;
    sn_psd_options psd; // psd, eigenskin
    sn_rotreg_options rotreg;
    sn_torque_options torque;
    sn_affine_options affine;
    sn_helpers_options helpers;
  };
  sn_file_options file;
} sn_method_options;

sn_lbs_options sn_lbs_options_default(void);
sn_skin_options sn_dqs_options_default(void), sn_cor_options_default(void);
sn_psd_options sn_psd_options_default(void), sn_eigenskin_options_default(void);
sn_rotreg_options sn_rotreg_options_default(void);
sn_torque_options sn_torque_options_default(void);
sn_affine_options sn_affine_options_default(void);
sn_helpers_options sn_helpers_options_default(void);

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

// What to train: {.method = &sn_method_psd, .options.psd = sn_psd_options_default()}, or a parsed NAME:key=value,key=value.
typedef struct sn_method_spec {
  const sn_method *method;
  char text[256]; // as given; "": the method's name
  sn_method_options options;
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
  const sn_option_group *options; // of sn_method_options
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
