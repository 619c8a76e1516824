// SPDX-License-Identifier: MIT
// Mesh reconstruction and its reduced form (Wang 2007, sections 4 and 5): from deformation gradients to a model.
#ifndef SINEW_TRAIN_ROTREG_REDUCED_H
#define SINEW_TRAIN_ROTREG_REDUCED_H

#include "solve/cholesky.h"
#include "train/cluster.h"
#include "train/rotreg/torque.h"

// The data that all parts of the method are fitted to.
typedef struct sn_rotreg_data {
  const sn_examples *examples;
  const sn_topology *topology;
  const sn_keys *keys;
  const sn_folds *folds;
  const sn_skin *skin; // linear blend skinning on the joints
  bool published;      // see sn_rotreg_published_options
} sn_rotreg_data;

// ---- proxy bones (5.1) ---------------------------------------------------------------------------------------------

typedef struct sn_rotreg_bones {
  int bone_count, pose_count;
  int *group_of;     // per triangle
  bool *adjacent;    // [bone][bone]: groups with a common edge; true on the diagonal
  sn_vec3 *centre;   // of the group's triangles, in the rest pose
  sn_affine *matrix; // [pose][bone]: maps p - centre to the pose
  sn_skin skin;      // `joints` are bone indices; free with sn_skin_free
  double *error;     // per vertex: mean squared distance in the training poses
} sn_rotreg_bones;

// Fits weights and matrices in alternation; out->group_of and out->bone_count must be set.
sn_status sn_rotreg_bones_fit(sn_context *ctx, sn_arena *memory, const sn_rotreg_data *data, int influences,
                              sn_rotreg_bones *out);

// Mean shift with a flat kernel: moves x to the mean of the points within h, until it stays. At least one point must be
// within h. `mean`: scratch memory for one point.
typedef struct sn_rotreg_points {
  int count, numbers;
  const double *points; // [point][number]
} sn_rotreg_points;
void sn_rotreg_shift(const sn_rotreg_points *z, double h, double *x, double *mean);

// Clusters triangles by mean shift of their rotations in all poses, into at most `most` groups, numbered like sn_cluster_cut.
sn_status sn_rotreg_mean_shift(sn_context *ctx, const sn_rotreg_data *data, int most, int *group_of, int *groups);

// v^_kj, or v_kj in a pose: corner j of triangle t minus its first corner.
static inline sn_vec3 sn_rotreg_edge(const sn_mesh *mesh, const float (*positions)[3], int t, int j) {
  const int *corners = mesh->triangles[t];
  return sn_vec3_sub(sn_vec3_from(positions[corners[j]]), sn_vec3_from(positions[corners[0]]));
}

// ---- key gradients (5.2) -------------------------------------------------------------------------------------------

// D_k = sum_l beta_kl D_l. Unless published, the betas of a triangle sum to one, so that D_l = I for all l gives D_k = I.
typedef struct sn_rotreg_key_gradients {
  int gradient_count, pose_count;
  sn_mat3 *sequence;                      // [gradient][pose]
  int (*index)[sn_rotreg_most_gradients]; // per triangle; -1 after the last
  double (*beta)[sn_rotreg_most_gradients];
} sn_rotreg_key_gradients;

// Coordinate descent; starts from the proxy bones' linear parts as published, otherwise from the groups' mean gradients.
sn_status sn_rotreg_key_gradients_fit(sn_context *ctx, sn_arena *memory, const sn_rotreg_data *data,
                                      const sn_rotreg_bones *bones, sn_rotreg_key_gradients *out);

// sum_l beta_kl D_l of triangle t, with `values` the D_l of one pose.
sn_mat3 sn_rotreg_key_gradients_blend(const sn_rotreg_key_gradients *gradients, int t, const sn_mat3 *values);

// ---- anchors and the set F (4.2) -----------------------------------------------------------------------------------

// Anchors predict vertex positions linearly from the joints' matrices. The paper uses linear blend skinning,
// y = sum_b w_b T_b (y^, 1). Any y = sum_b T_b p_b with homogeneous points p_b (animation space, Merry et al. 2006) costs the
// same at run time, because only C2 depends on it. Row i: joints and points of vertex i. The points sum to (y^_i, 1):
// this keeps the rest pose and follows rigid motions.
typedef struct sn_rotreg_anchors {
  int vertex_count;
  int (*joints)[sn_rotreg_anchor_slots]; // -1 after the last
  double (*points)[sn_rotreg_anchor_slots][4];
} sn_rotreg_anchors;

sn_vec3 sn_rotreg_anchor_at(const sn_rotreg_anchors *anchors, int i, const sn_affine *pose);

// Starts from the weights of the skin, adds the joints of neighbouring vertices, and corrects the points by ridge
// regression over the training frames. `residual`: per vertex, the mean squared error on held-out poses.
sn_status sn_rotreg_anchors_fit(sn_context *ctx, sn_arena *memory, const sn_rotreg_data *data, sn_rotreg_anchors *out,
                                double *residual);

// Linear blend skinning as anchors.
sn_status sn_rotreg_anchors_blend(sn_context *ctx, sn_arena *memory, const sn_rotreg_data *data,
                                  sn_rotreg_anchors *out);

// F (4.2), near-rigid vertices: their error under linear blend skinning (`blend`) is below a threshold in training. As
// published, also the best vertex of every component, which fixes its position; otherwise vertices without triangles.
sn_status sn_rotreg_hard_set(sn_context *ctx, const sn_rotreg_data *data, const sn_rotreg_anchors *blend,
                             bool *fixed);

// ---- predictors of all gradients, and weights of (2) and (5) -----------------------------------------

// The weight of a term is the inverse mean square of its residual on held-out poses (docs/methods/rotational-regression.md).
typedef struct sn_rotreg_learned {
  const sn_rotreg_data *data;
  const sn_rotreg_rotations *rotations;
  const sn_rotreg_fit_options *fit;
  const sn_rotreg_local *local; // [gradient][joint]; NULL: no prior
  const sn_torque_loads *loads; // NULL: without torques
  const sn_rotreg_key_gradients *gradients;
  sn_rotreg_predictor *predictors; // one per gradient
  sn_torque_model torque;          // used instead if there are torques
  sn_mat3 *held_out;               // [pose][gradient]: predicted from the other folds
} sn_rotreg_learned;

// Fits `predictors`, `torque` and `held_out`.
sn_status sn_rotreg_predictors_fit(sn_context *ctx, sn_arena *memory, sn_rotreg_learned *learned);

// Weights of the edges (triangle_count) and of the anchors; `anchor` holds their mean squared residuals on entry. As
// published, all edges have the same weight and `anchor` is not changed.
sn_status sn_rotreg_weigh(sn_context *ctx, const sn_rotreg_learned *learned, double (*edge)[2], double *anchor);

double sn_rotreg_mean(const double *values, size_t count);

// Training state shared by the full and the reduced form.
typedef struct sn_rotreg_training {
  sn_arena *memory;
  sn_rotreg_fit_options fit;
  sn_topology topology;
  sn_skin skin; // linear blend skinning on the joints
  sn_folds folds;
  sn_rotreg_data data; // points to the above
  sn_rotreg_rotations rotations;
  sn_rotreg_key_gradients gradients;
  sn_rotreg_learned learned; // points to the above
  sn_rotreg_anchors anchors;
  double (*edge)[2], *anchor_weight; // e and c
} sn_rotreg_training;

// Makes topology, skin, folds and joint rotations. Then set the key gradients and call _finish. Free it even on failure.
sn_status sn_rotreg_training_start(sn_context *ctx, sn_arena *memory, const sn_examples *examples,
                                   const sn_keys *keys, sn_rotreg_training *t);
sn_status sn_rotreg_training_finish(sn_context *ctx, sn_rotreg_training *t);
void sn_rotreg_training_free(sn_rotreg_training *t);

// ---- mesh reconstruction (4.1, 4.2) --------------------------------------------------------------------------------

// Poisson mesh reconstruction (1) with the soft constraints (2) instead of fixed vertices:
//     minimise  sum_k sum_j=2,3  e_kj |D_k v^_kj - v_kj|^2  +  sum_a c_a |y_a - anchor_a|^2
typedef struct sn_rotreg_poisson {
  const sn_mesh *rest;
  const double (*edges)[2];    // e: two per triangle
  const double *anchor_weight; // c: one per vertex; every component needs a positive one
  sn_cholesky factor;
} sn_rotreg_poisson;

sn_status sn_rotreg_poisson_factor(sn_context *ctx, const sn_mesh *rest, const double (*edges)[2],
                                   const double *anchor_weight, sn_rotreg_poisson *out);
// One pose: the vertices from gradients[t] and the linear blend. `work`: sn_rotreg_poisson_work numbers.
void sn_rotreg_poisson_solve(const sn_rotreg_poisson *p, const sn_mat3 *gradients, const sn_vec3 *blend, double *work,
                             float (*out)[3]);
size_t sn_rotreg_poisson_work(const sn_mesh *rest);
void sn_rotreg_poisson_free(sn_rotreg_poisson *p);

// ---- reduced mesh reconstruction (4.3) -----------------------------------------------------------------------------

// The weighted least-squares problem (5), with anchors for the vertices that are not fixed. Its solution (6) is linear
// and the same for the three coordinates: T' = C1 D' + C2 Q', C1 4P x 3P and C2 4P x 4J.
typedef struct sn_rotreg_reduction {
  const sn_examples *examples;
  const sn_rotreg_bones *bones;
  const sn_rotreg_key_gradients *gradients;
  const sn_rotreg_anchors *anchors;
  const bool *fixed;           // vertices that follow `skin` exactly
  const sn_skin *skin;         // on the joints
  const double (*edge)[2];     // e, two per triangle
  const double *anchor_weight; // c, per vertex
  double ridge;                // of the bones' linear parts, relative to the mean diagonal
  sn_vec3 origin;              // of the rest pose's coordinates in C
} sn_rotreg_reduction;

// C = [C1 C2], row-major, 4P x (3P + 4J): row 4b + c is column c of proxy bone b's matrix, column 3l + c is column c of
// key gradient l, column 3P + 4j + c is column c of joint j's matrix.
sn_status sn_rotreg_solve_c(sn_context *ctx, sn_arena *memory, const sn_rotreg_reduction *r, double **c);

// ---- all of it -----------------------------------------------------------------------------------------------------

typedef struct sn_rotreg_reduced {
  sn_rotreg_rotations rotations;
  sn_rotreg_bones bones;
  sn_rotreg_predictor *predictors; // one per bone
  sn_torque_model torque;          // used instead if there are torques
  double *c;                       // [C1 C2], 4P x (3P + 4J), row-major
  sn_vec3 origin;                  // of the rest pose in C: the centre of the mesh if the scene is far from 0, which
  bool is_far;                     // single precision would not bear; otherwise 0
  sn_skin skin;                    // on the palette: joints, then proxy bones
} sn_rotreg_reduced;

typedef struct sn_rotreg_reduced_options {
  int bones;    // proxy bones; 0: the default, or as many as `error` needs
  double error; // largest rms error of the proxy bones in training, % of the diagonal
  int influences;
  bool mean_shift; // initial groups by mean shift instead of E_A->B
  sn_rotreg_fit_options fit;
  const sn_torque_loads *loads; // torques of the training poses, or NULL
} sn_rotreg_reduced_options;

// Memory comes from `memory`, except the skins (free them with sn_skin_free).
sn_status sn_rotreg_reduced_train(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                                  const sn_rotreg_reduced_options *options, sn_rotreg_reduced *out);

#endif
