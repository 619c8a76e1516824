// SPDX-License-Identifier: MIT
// The correct slot, learned on top of any finished model: the model's residual at the training poses, in the rest pose,
// as a function of the pose (Murtagh 2008). `psd`, `eigenskin`, `rotreg` and `torque` are this on their models.
#ifndef SINEW_TRAIN_CORRECT_CORRECT_H
#define SINEW_TRAIN_CORRECT_CORRECT_H

#include "sinew/train.h"
#include "solve/rbf.h"
#include "train/pose_space.h"

extern const sn_option sn_correct_option_table[]; // all but `weighted` (of psd) and `components` (of eigenskin)
sn_correct_options sn_correct_options_default(void);

// Adds the correct slot to a plan of the same examples without corrections (any drive with the examples' joints, either
// blend). report->note has merged poses and of vertices where the blend could not be inverted.
sn_status sn_correct_plan(sn_context *ctx, const sn_correct_options *options, const sn_examples *examples,
                          const sn_keys *keys, sn_plan *plan, sn_train_report *report);

// The ridge of every clip, by its number: clips differ in how well functions of single joints explain them. Clips
// beyond share the last.
enum { SN_MOST_CLIPS = 8 };
typedef struct sn_clip_ridges {
  int of[SN_MOST_CLIPS];
} sn_clip_ridges;

// The trial of a plan without corrections. With `held` NULL: `ridges` become those that cross-validation chooses. Otherwise
// `squared` becomes the squared error on the keys that are held out, of corrections with these ridges that are learned from the
// others.
typedef struct sn_correct_trial {
  const bool *held;
  sn_clip_ridges ridges;
  double squared;
} sn_correct_trial;

sn_status sn_correct_try(sn_context *ctx, const sn_correct_options *options, const sn_examples *examples,
                         const sn_keys *keys, const sn_plan *plan, sn_correct_trial *trial);

// ---- parts -------------------------------------------------------------------------------------------------------------

// Runs of vertices that may share a block of the model: rows of the lanes of run r are rows[first[r]] .. rows[first[r +
// 1] - 1], some of them several times.
typedef struct sn_runs {
  int count, *first, *rows;
} sn_runs;

// The residual of a model: at every pose and vertex (of the examples), the displacement of position and normal. Pose 0
// is the rest pose.
typedef struct sn_residuals {
  int pose_count, vertex_count, joint_count, value_count;
  double *vectors;        // pose_count * sn_residuals_dims: three numbers for every joint, one for every value
  double *offsets;        // pose_count * 3 joint_count: of the joints' origins, see sn_pose_offsets
  float (*deltas)[6];     // pose_count * vertex_count: x y z, and of the normal
  const sn_turn *turns;   // joint_count
  sn_skin skin;           // as evaluated; of `palette` entries
  const sn_skin *weights; // on joints: which joints are relevant to a vertex; NULL: all are
  int *clip_of;           // of every pose
  const double *sigmas;   // of every pose: the width asked for, 0 for none; NULL: none has one
  sn_runs runs;
  float *farthest; // vertex_count: the longest residual in a pose, after the blend
  double diagonal;
} sn_residuals;

// What spans a pose space are controls: joint j is control j, value v is control joint_count + v.
static inline int sn_residuals_dims(const sn_residuals *m) { return 3 * m->joint_count + m->value_count; }
static inline int sn_control_dims(const sn_residuals *m, int control) { return control < m->joint_count ? 3 : 1; }
static inline int sn_control_first(const sn_residuals *m, int control) {
  return control < m->joint_count ? 3 * control : 2 * m->joint_count + control;
}
static inline const double *sn_control_at(const sn_residuals *m, int pose, int control) {
  return m->vectors + (size_t)pose * (size_t)sn_residuals_dims(m) + sn_control_first(m, control);
}
// Numbers of several controls together, and those of a pose.
int sn_controls_dims(const sn_residuals *m, const int *controls, int count);
void sn_controls_vector(const sn_residuals *m, int pose, const int *controls, int count, double *out);

// The blend of vertex i as an affine map, for the palette in a runtime's scratch memory; `centres` of sn_rt_rest.
sn_affine sn_blend_of(const sn_rt_model *model, const void *scratch, const sn_skin *skin, const float (*centres)[3],
                      int i);
// d with a d = r; where `a` is nearly singular only in part.
sn_vec3 sn_blend_solve(sn_mat3 a, sn_vec3 r);
// What has to be added to the rest normal for a blend with the linear part `a` to turn it into `target`.
sn_vec3 sn_normal_before(sn_mat3 a, sn_vec3 rest, sn_vec3 target);

// A displacement of a normal that matters: half a degree.
#define SN_LEAST_NORMAL (SN_PI / 360)

typedef struct sn_terms sn_terms;
typedef struct sn_term_list sn_term_list;

// Functions of a control: `count` sums of the terms of the groups first .. end - 1 of a list.
typedef struct sn_functions {
  int first, end, terms, count;
  double *matrix; // count * terms
} sn_functions;

// A pose space with its functions: see sn_rt_field in format.h.
typedef struct sn_pose_field {
  bool is_sum; // of terms: `joints` are groups of them, and of what follows only basis_count, terms and mix count
  int joint_count, *joints; // controls: joints first, then values
  sn_pose_metric metric;
  sn_rbf_kernel kernel;
  bool linear, mixed;
  int centre_count, basis_count, terms;
  const double *centres, *widths; // centre_count * axes, centre_count
  double *mix;                    // basis_count * terms, where mixed
} sn_pose_field;

// The whole slot: basis b of all fields together displaces vertex i by deltas[b * vertex_count + i]; those of groups of
// vertices by what is in the place that sn_basis_of says.
typedef struct sn_corrections {
  int field_count, basis_count, vertex_count;
  sn_pose_field *fields;
  float (*deltas)[6];
  sn_basis_groups groups;
  float *limits;             // longest displacement of every vertex; NULL: none
  bool limit_after;          // ... of what the blend makes of it
  const double *curves;      // basis_count * pose_count, where known: the functions at the poses
  bool pruned;               // what is too small to be stored is zero already
  const sn_term_list *terms; // of fields that are sums
  sn_functions *functions;   // of every control
  int control_count;
} sn_corrections;

// What a vertex is given at a pose of the clip.
void sn_corrections_at(const sn_corrections *c, int pose_count, int pose, int vertex, float out[6]);

// gram[a * count + b] = sum over the vertices of the positions' displacements at poses[a] and poses[b]; NULL: all poses.
void sn_residuals_gram(sn_context *ctx, const float (*deltas)[6], int vertex_count, const int *poses, int count,
                       double *gram);

// The pose spaces as the sections of sn_model_corrections (write.c).
sn_status sn_pose_spaces_encode(sn_context *ctx, sn_arena *memory, const sn_corrections *c, const sn_residuals *m,
                                sn_model_section sections[5]);

#endif
