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

// `dqs`, `cor`, and every method whose skin is bound to the joints.
typedef struct sn_skin_options {
  int influences; // maximum joints per vertex
  sn_weights_source weights;
  double rho; // smoothness of the weights (Kim 2010)
} sn_skin_options;

typedef enum sn_extra_joints { SN_EXTRA_JOINTS_NONE, SN_EXTRA_JOINTS_HALFWAY } sn_extra_joints;

typedef struct sn_lbs_options {
  sn_skin_options skin;
  sn_extra_joints extra; // half-way and scaling joints (Mohr and Gleicher 2003)
} sn_lbs_options;

enum { SN_SIGMA_AUTO = 0, SN_SIGMA_POSE = -1 }; // named values of the option `sigma`
// One pose space per joint, summed; or one pose space of all rotations, as published.
typedef enum sn_pose_space_kind { SN_SPACE_LOCAL, SN_SPACE_WHOLE } sn_pose_space_kind;
// Displacements are added in the rest pose, or after the blend.
typedef enum sn_correct_order { SN_ORDER_INVERSE, SN_ORDER_FORWARD } sn_correct_order;
// Metric of pose vectors: Euclidean, of components divided by their standard deviations, or Mahalanobis.
typedef enum sn_distance { SN_DISTANCE_EUCLID, SN_DISTANCE_NORMALISED, SN_DISTANCE_MAHALANOBIS } sn_distance;

// Corrections as functions of the pose.
typedef struct sn_correct_options {
  sn_pose_space_kind space;
  sn_rbf_kernel kernel;
  double sigma; // > 0: width of every kernel; SN_SIGMA_AUTO: the one width with the least leave-one-out error;
                // SN_SIGMA_POSE: each pose's is a multiple of its distance to the nearest other pose
  sn_correct_order order;
  sn_distance distance;
  bool weighted;    // distances weighted by each vertex's skinning weights (weighted pose space deformation)
  bool linear;      // adds a linear term to the kernels
  bool cardinal;    // store the displacements and N x N weights, not kernel weights per vertex
  double threshold; // displacements shorter than this, in percent of the diagonal, are not stored
  bool
    bounded; // limit displacements before the blend to the length of the residual after it: proxy bones may stretch
  char joint_names[SN_OPTION_TEXT_SIZE]; // names separated by '+'; "": all moving joints
  int shapes;                            // maximum number of fields of the whole character; 0: fields per patch
  int components;                        // EigenSkin: maximum fields per pose space or patch; 0: not EigenSkin
} sn_correct_options;

// `psd` and `eigenskin`.
typedef struct sn_psd_options {
  sn_skin_options skin;
  sn_rt_blend blend; // of the skin that is corrected
  sn_correct_options correct;
} sn_psd_options;

typedef enum sn_rotreg_shade { SN_ROTREG_RECOMPUTE, SN_ROTREG_TRANSFORM } sn_rotreg_shade;
typedef enum sn_rotreg_start { SN_ROTREG_CLUSTERS, SN_ROTREG_MEANSHIFT } sn_rotreg_start;

typedef struct sn_rotreg_options {
  int bones;             // proxy bones; 0: the default, or as many as `error` needs
  double error;          // instead: target rms residual of the proxy bones in training, percent of the diagonal
  int most_joints;       // maximum joints per predictor
  int influences;        // maximum proxy bones per vertex
  sn_rotreg_shade shade; // normals from the deformed triangles, or by the blended matrix
  sn_rotreg_start start; // initial clusters of the proxy bones
  bool psd;              // corrections on top
  bool full;             // the unreduced form, which no model can store
  bool published;        // as published, without Sinew's additions
} sn_rotreg_options;

typedef struct sn_torque_options {
  sn_rotreg_options rotreg;
  int degree_r, degree_s;          // degrees of the functions of torque for rotations; for scale and shear
  char joint[SN_OPTION_TEXT_SIZE]; // only this joint's torque; "": all of them
} sn_torque_options;

typedef enum sn_affine_bones { SN_BONES_RIGID, SN_BONES_AFFINE, SN_BONES_AUTO } sn_affine_bones;
typedef enum sn_affine_places {
  SN_PLACES_PREDICTED, // translations of the bones are predicted
  SN_PLACES_POISSON,   // solved by a Poisson system with terms learnt from the training frames
  SN_PLACES_BARE       // solved by the Poisson system as published
} sn_affine_places;

typedef struct sn_affine_options {
  int bones;
  int kappa;   // reduced dimensions; 0: the default
  double beta; // kernel width, in mean squared distances of the training control vectors (published: squared file
               // units); 0: the default
  sn_affine_bones stretch; // auto: affine if `published`, else rigid
  sn_affine_places places;
  double rho;     // of the weight smoothing; -1: the default
  int influences; // maximum bones per vertex
  bool published;
} sn_affine_options;

typedef struct sn_helpers_options {
  sn_skin_options skin;
  int helpers; // maximum number of helper joints; 0: chosen by cross-validation
  int numbers; // with values: maximum number of stored numbers of all helper transforms together; 0: no limit
} sn_helpers_options;

// Options of the model file.
typedef struct sn_file_options {
  bool pack;     // the model is packed (sn_model_pack)
  bool tangents; // it has tangents
  sn_vertex_order vertex_order;
} sn_file_options;

// Options of the method and of its model file.
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

// Limits of a model's size, time and error. 0: no limit.
typedef struct sn_limits {
  double bytes;
  double time;  // of an evaluation, relative to linear blend skinning
  double error; // maximum on held-out poses, percent of the diagonal: the smallest such model is chosen; 0: the best
  bool curve;   // also report models of other sizes
  sn_status (*ratio_of)(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples,
                        double *out); // measures the time ratio that `time` limits
} sn_limits;

// What to train: {.method = &sn_method_psd, .options.psd = sn_psd_options_default()}, or a parsed NAME:key=value,key=value.
typedef struct sn_method_spec {
  const sn_method *method;
  char text[256]; // as given; "": the method's name
  sn_method_options options;
  sn_limits limits; // of methods with corrections
} sn_method_spec;

enum { SN_MOST_SCORED = 16 };

// A base skin or correction that training chose from.
typedef struct sn_scored {
  char name[64];
  double cross_validated; // enveloping error on held-out poses
  bool is_chosen;
} sn_scored;

// A model on the rate-distortion curve.
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

// Report of a training run.
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
  char note[1024];              // warnings and advice for the user; may be empty
} sn_train_report;

// What a trainer returns: a model as plain data, and the memory that it refers to (apart from the examples').
enum { SN_PLAN_SECTIONS = 16 };
typedef struct sn_plan {
  sn_model_desc desc; // in the order of the examples; its skin, sections and corrections are the members below
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
  bool (*needs_no_frames)(const void *options); // may be NULL: it needs frames
  bool wants_skin; // if the skeleton file has no weights, compute them from the skeleton and the surface
  // Lower bounds of training memory in bytes: per vertex, and per vertex and training pose.
  int vertex_bytes, pose_bytes;
  // Completes a plan that has the rest mesh and the skeleton. NULL if no form of the method has a model.
  sn_status (*train)(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                     sn_plan *plan, sn_train_report *report);
  // For forms of a method that no model can store (may be NULL): whether the options select one, and its positions, in the
  // examples' vertex order, at the frames of `test` after training on those of `keys`.
  bool (*has_no_model)(const void *options);
  sn_status (*predict)(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                       const sn_keys *test, sn_frames *out);
};

// All methods, ended by NULL.
const sn_method *const *sn_methods(void);
// Registers a method for the whole process; before any other call, from one thread.
void sn_methods_add(const sn_method *method);

// Fails with a suggestion on unknown methods, keys and values.
sn_status sn_method_parse(sn_context *ctx, const char *text, sn_method_spec *out);

// The frames of `spec` (as in --keys: those of sn_keys_parse, or auto:N, the N frames from which the others are predicted best),
// and all other frames: of the training clips, then of the test clips. For examples without frames: their poses.
sn_status sn_train_keys(sn_context *ctx, const sn_examples *examples, const char *spec, uint64_t seed, sn_keys *keys,
                        sn_keys *others);

// Trains on the frames of `keys`. The model's vertices are in the order of the rest file (examples->source).
sn_status sn_train(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples, const sn_keys *keys,
                   sn_model *out, sn_train_report *report);

// One vertex over all frames: its exact displacement in the rest pose, and that of the model's corrections
// (Murtagh 2008, figures 5.4 to 5.6). It is the vertex with the largest residual of the skinning without corrections.
typedef struct sn_correct_trace {
  int frame_count, vertex;
  int axis;                      // 0 x, 1 y, 2 z: the component with the largest displacement
  double *angle, *truth, *given; // frame_count each; angle: the largest local joint rotation, in radians
  sn_arena memory;
} sn_correct_trace;

// For models driven by the joints of the examples.
sn_status sn_correct_trace_make(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples,
                                sn_correct_trace *out);
void sn_correct_trace_free(sn_correct_trace *trace);

// Adds poses (the frames of `keys`) to a finished model without its training data: corrections that are zero in the rest pose
// and at the training poses stored in the model. For models on joints or values; examples->sigmas are the kernel widths.
sn_status sn_correct_add(sn_context *ctx, const sn_rt_model *model, const sn_examples *examples, const sn_keys *keys,
                         sn_model *out);

// True if the model depends on the rest mesh and the skeleton only: `keys` may be empty.
bool sn_method_needs_no_frames(const sn_method_spec *spec);

// True for a spec that has no model: use sn_train_predict.
bool sn_method_has_no_model(const sn_method_spec *spec);

// Trains on the frames of `keys` and evaluates those of `test` without a model, in the order of the rest file.
sn_status sn_train_predict(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples,
                           const sn_keys *keys, const sn_keys *test, sn_frames *out);

// For every vertex the single joint with the least squared error over the frames of `keys`, and that error (the articulated
// rigid-body prediction of Wang 2007, 7.1). `joints` or `errors` may be NULL.
sn_status sn_best_joints(sn_context *ctx, const sn_examples *examples, const sn_keys *keys, uint16_t *joints,
                         double *errors);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
