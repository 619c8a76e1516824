// SPDX-License-Identifier: MIT
// The correct slot, learned on top of any finished model: the model's residual at the training poses, moved to the rest pose and
// fitted as a function of the pose (Murtagh 2008). `psd`, `eigenskin`, `rotreg` and `torque` add it to their models.
#ifndef SINEW_TRAIN_CORRECT_CORRECT_H
#define SINEW_TRAIN_CORRECT_CORRECT_H

#include "sinew/train.h"
#include "solve/rbf.h"
#include "train/pose_space.h"

extern const sn_option sn_correct_option_table[]; // all options but `weighted` (psd) and `components` (eigenskin)
sn_correct_options sn_correct_options_default(void);

// Adds corrections to a plan that has none (any drive with the examples' joints, either blend). report->note lists
// merged poses and vertices whose blend could not be inverted.
sn_status sn_correct_plan(sn_context *ctx, const sn_correct_options *options, const sn_examples *examples,
                          const sn_keys *keys, sn_plan *plan, sn_train_report *report);

// The ridge of every clip, by clip number: clips differ in how well functions of single joints explain them. Clips from
// number SN_MOST_CLIPS - 1 on share one ridge. Last, the prior variance of pairs of joints: 10^-of[SN_PAIRS].
enum { SN_MOST_CLIPS = 8, SN_PAIRS = SN_MOST_CLIPS };
typedef struct sn_priors {
  int of[SN_MOST_CLIPS + 1];
} sn_priors;

// ---- parts -------------------------------------------------------------------------------------------------------------

// Runs of vertices that may share a block of the model. Run r holds the vertices rows[first[r]] ..
// rows[first[r + 1] - 1], one per lane; a vertex may occur several times.
typedef struct sn_runs {
  int count, *first, *rows;
} sn_runs;

// The residual of a model at every pose and example vertex: displacement of position and normal. Pose 0 is the rest
// pose.
typedef struct sn_residuals {
  int pose_count, vertex_count, joint_count, value_count;
  double *vectors;    // pose_count * sn_residuals_dims: a rotation vector per joint, one number per value
  double *offsets;    // pose_count * 3 joint_count: translations of the joints' origins, see sn_pose_offsets
  float (*deltas)[6]; // pose_count * vertex_count: x y z of the position, x y z of the normal
  const sn_local_rotation *rotations; // joint_count
  sn_skin skin;                       // the evaluated weights, on palette entries
  const sn_skin *weights;             // on joints: decide which joints are relevant to a vertex; NULL: all are
  int *clip_of;                       // the clip of every pose
  const double *sigmas;               // kernel width of every pose, 0: not set; NULL: none is set
  sn_runs runs;
  double diagonal;
} sn_residuals;

// The axes of a pose space are controls: joint j is control j, value v is control joint_count + v.
static inline int sn_residuals_dims(const sn_residuals *m) { return 3 * m->joint_count + m->value_count; }
static inline int sn_control_dims(const sn_residuals *m, int control) { return control < m->joint_count ? 3 : 1; }
static inline int sn_control_first(const sn_residuals *m, int control) {
  return control < m->joint_count ? 3 * control : 2 * m->joint_count + control;
}
static inline const double *sn_control_at(const sn_residuals *m, int pose, int control) {
  return m->vectors + (size_t)pose * (size_t)sn_residuals_dims(m) + sn_control_first(m, control);
}
// Dimensions of several controls together, and their vector at a pose.
int sn_controls_dims(const sn_residuals *m, const int *controls, int count);
void sn_controls_vector(const sn_residuals *m, int pose, const int *controls, int count, double *out);

// The blend of vertex i as an affine map, for the palette in the runtime's scratch memory; `centres` as in sn_rt_rest.
sn_affine sn_blend_of(const sn_rt_model *model, const void *scratch, const sn_skin *skin, const float (*centres)[3],
                      int i);
// Solves a d = r for d; directions where `a` is nearly singular are damped.
sn_vec3 sn_blend_solve(sn_mat3 a, sn_vec3 r);
// The displacement of the rest normal that makes a blend with linear part `a` produce the normal `target`.
sn_vec3 sn_normal_before(sn_mat3 a, sn_vec3 rest, sn_vec3 target);

// The smallest displacement of a normal that is stored: half a degree.
#define SN_LEAST_NORMAL (SN_PI / 360)

typedef struct sn_terms sn_terms;
typedef struct sn_term_list sn_term_list;

// Functions of one control: `count` linear combinations of the terms in groups first .. end - 1 of a term list.
typedef struct sn_functions {
  int first, end, terms, count;
  double *matrix; // count * terms
} sn_functions;

// A pose space with its functions: see sn_rt_field in format.h.
typedef struct sn_pose_field {
  bool is_sum; // a sum of functions: `joints` index the controls, and only basis_count, terms and mix are used
  int joint_count, *joints; // controls: joints first, then values
  sn_pose_metric metric;
  sn_rbf_kernel kernel;
  bool linear, mixed;
  int centre_count, basis_count, terms;
  const double *centres, *widths; // centre_count * axes, centre_count
  double *mix;                    // basis_count * terms, if mixed
} sn_pose_field;

// All corrections of a model. Basis b displaces vertex i by deltas[b * vertex_count + i]. With groups of vertices, row n
// of vertex i is instead of basis sn_basis_of(&groups, i, n).
typedef struct sn_corrections {
  int field_count, basis_count, vertex_count;
  sn_pose_field *fields;
  float (*deltas)[6];
  sn_basis_groups groups;
  float *limits;             // largest displacement of every vertex; NULL: no limit
  bool limit_after;          // the limit applies after the blend
  const double *curves;      // basis_count * pose_count, if known: the coefficients at the poses
  bool pruned;               // displacements too small to be stored are zero already
  const sn_term_list *terms; // of the fields that are sums
  sn_functions *functions;   // of every control
  int control_count;
} sn_corrections;

// The correction of a vertex (position, normal) at a training pose.
void sn_corrections_at(const sn_corrections *c, int pose_count, int pose, int vertex, float out[6]);

// gram[a * count + b] = sum over the vertices of the dot products of position residuals at poses[a] and poses[b]; NULL: all poses.
void sn_residuals_gram(sn_context *ctx, const float (*deltas)[6], int vertex_count, const int *poses, int count,
                       double *gram);

// Encodes the pose spaces as the sections of sn_model_corrections (write.c).
sn_status sn_pose_spaces_encode(sn_context *ctx, sn_arena *memory, const sn_corrections *c, const sn_residuals *m,
                                sn_model_section sections[5]);

#endif
