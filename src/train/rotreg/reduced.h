// SPDX-License-Identifier: MIT
// Mesh reconstruction and its reduced form (Wang 2007, sections 4 and 5): everything between deformation gradients and a model.
#ifndef SINEW_TRAIN_ROTREG_REDUCED_H
#define SINEW_TRAIN_ROTREG_REDUCED_H

#include "solve/cholesky.h"
#include "train/cluster.h"
#include "train/rotreg/torque.h"

// What the parts of the method are fitted to.
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
  bool *adjacent;    // [bone][bone]: groups with a common edge, and every group with itself
  sn_vec3 *centre;   // of the group, in the rest pose
  sn_affine *matrix; // [pose][bone]: takes p - centre to the pose
  sn_skin skin;      // `joints` are bones; free with sn_skin_free
  double *error;     // per vertex: mean squared distance in the training poses
} sn_rotreg_bones;

// Weights and matrices in alternation, from out->group_of and out->bone_count, which are set.
sn_status sn_rotreg_bones_fit(sn_context *ctx, sn_arena *memory, const sn_rotreg_data *data, int influences,
                              sn_rotreg_bones *out);

// sn_rotreg_shift takes x to the mean of the points within h of it, of which there are some, until that stays (mean shift, flat
// kernel). `mean`: room for one point.
typedef struct sn_rotreg_points {
  int count, numbers;
  const double *points; // [point][number]
} sn_rotreg_points;
void sn_rotreg_shift(const sn_rotreg_points *z, double h, double *x, double *mean);

// Groups of triangles by mean shift of their rotations in all poses, at most `most`, as sn_cluster_cut has them.
sn_status sn_rotreg_mean_shift(sn_context *ctx, const sn_rotreg_data *data, int most, int *group_of, int *groups);

// v^_kj, or v_kj of a pose: corner j of triangle t less its first.
static inline sn_vec3 sn_rotreg_edge(const sn_mesh *mesh, const float (*positions)[3], int t, int j) {
  const int *corners = mesh->triangles[t];
  return sn_vec3_sub(sn_vec3_from(positions[corners[j]]), sn_vec3_from(positions[corners[0]]));
}

// ---- key gradients (5.2) -------------------------------------------------------------------------------------------

// D_k = sum_l beta_kl D_l. Unless published, the betas of a triangle sum to one: D_l = I everywhere gives D_k = I.
typedef struct sn_rotreg_key_gradients {
  int gradient_count, pose_count;
  sn_mat3 *sequence;                      // [gradient][pose]
  int (*index)[sn_rotreg_most_gradients]; // per triangle; -1 after the last
  double (*beta)[sn_rotreg_most_gradients];
} sn_rotreg_key_gradients;

// Coordinate descent from the proxy bones' linear parts.
sn_status sn_rotreg_key_gradients_fit(sn_context *ctx, sn_arena *memory, const sn_rotreg_data *data,
                                      const sn_rotreg_bones *bones, sn_rotreg_key_gradients *out);

// sum_l beta_kl D_l of triangle t for the values D_l of one pose.
sn_mat3 sn_rotreg_key_gradients_blend(const sn_rotreg_key_gradients *gradients, int t, const sn_mat3 *values);

// ---- anchors and the set F (4.2) -----------------------------------------------------------------------------------

// Where vertices are anchored: a prediction of their positions that is linear in the joints' matrices. The paper takes linear blend
// skinning, y = sum_b w_b T_b (y^, 1). Any y = sum_b T_b p_b with homogeneous points p_b (animation space, Merry et al. 2006)
// costs nothing more at run time, since C2 is all that is left of it.
// Row i: joints and points of vertex i. The points sum to (y^_i, 1): the rest pose stays, rigid motions are followed.
typedef struct sn_rotreg_anchors {
  int vertex_count;
  int (*joints)[sn_rotreg_anchor_slots]; // -1 after the last
  double (*points)[sn_rotreg_anchor_slots][4];
} sn_rotreg_anchors;

sn_vec3 sn_rotreg_anchor_at(const sn_rotreg_anchors *anchors, int i, const sn_affine *pose);

// Starts from the weights of `skin`, to which the joints of neighbouring vertices are added, and corrects the points by
// ridge regression over the frames of `keys`. `residual` gets the mean squared distance on held-out poses, per vertex.
sn_status sn_rotreg_anchors_fit(sn_context *ctx, sn_arena *memory, const sn_rotreg_data *data, sn_rotreg_anchors *out,
                                double *residual);

// Linear blend skinning itself, as anchors.
sn_status sn_rotreg_anchors_blend(sn_context *ctx, sn_arena *memory, const sn_rotreg_data *data,
                                  sn_rotreg_anchors *out);

// F (4.2), near-rigid vertices: those whose error under linear blend skinning (`blend`) is below a threshold in the training
// poses. As published also the best one of every component, without which its place would be open; otherwise those in no triangle.
sn_status sn_rotreg_hard_set(sn_context *ctx, const sn_rotreg_data *data, const sn_rotreg_anchors *blend,
                             bool *fixed);

// ---- predictors of all gradients, and weights of (2) and (5) -----------------------------------------

// Weights are inverse mean squares of each term's residual on held-out poses (docs/methods/rotational-regression.md).
typedef struct sn_rotreg_learned {
  const sn_rotreg_data *data;
  const sn_rotreg_rotations *rotations;
  const sn_rotreg_fit_options *fit;
  const sn_rotreg_local *local; // [gradient][joint]; NULL without a prior
  const sn_torque_loads *loads; // NULL: without torques
  const sn_rotreg_key_gradients *gradients;
  sn_rotreg_predictor *predictors; // of every gradient
  sn_torque_model torque;          // pairs instead, where there are torques
  sn_mat3 *held_out;               // [pose][gradient]: predicted without that pose
} sn_rotreg_learned;

// Fills the last three.
sn_status sn_rotreg_predictors_fit(sn_context *ctx, sn_arena *memory, sn_rotreg_learned *learned);

// Weights of the edges (triangle_count) and of the anchors, whose `anchor` are mean squared residuals before. As published edges
// weigh alike, and anchors are not touched.
sn_status sn_rotreg_weigh(sn_context *ctx, const sn_rotreg_learned *learned, double (*edge)[2], double *anchor);

double sn_rotreg_mean(const double *values, size_t count);

// What the full and the reduced form learn from the same way.
typedef struct sn_rotreg_training {
  sn_arena *memory;
  sn_rotreg_fit_options fit;
  sn_topology topology;
  sn_skin skin; // linear blend skinning on the joints
  sn_folds folds;
  sn_rotreg_data data; // of the above
  sn_rotreg_rotations rotations;
  sn_rotreg_key_gradients gradients;
  sn_rotreg_learned learned; // of the above
  sn_rotreg_anchors anchors;
  double (*edge)[2], *anchor_weight; // e and c
} sn_rotreg_training;

// Topology, skin, folds and joint rotations; then key gradients are set; then predictors, anchors and weights. Free it either way.
sn_status sn_rotreg_training_start(sn_context *ctx, sn_arena *memory, const sn_examples *examples,
                                   const sn_keys *keys, sn_rotreg_training *t);
sn_status sn_rotreg_training_finish(sn_context *ctx, sn_rotreg_training *t);
void sn_rotreg_training_free(sn_rotreg_training *t);

// ---- mesh reconstruction (4.1, 4.2) --------------------------------------------------------------------------------

// Poisson mesh reconstruction (1) with soft constraints in the place of fixed vertices (2):
//     minimise  sum_k sum_j=2,3  e_kj |D_k v^_kj - v_kj|^2  +  sum_a c_a |y_a - anchor_a|^2
typedef struct sn_rotreg_poisson {
  const sn_mesh *rest;
  const double (*edges)[2];    // e: two per triangle
  const double *anchor_weight; // c: one per vertex, positive somewhere in every component
  sn_cholesky factor;
} sn_rotreg_poisson;

sn_status sn_rotreg_poisson_factor(sn_context *ctx, const sn_mesh *rest, const double (*edges)[2],
                                   const double *anchor_weight, sn_rotreg_poisson *out);
// One pose: gradients[t] and the linear blend give the vertices. `work`: sn_rotreg_poisson_work numbers.
void sn_rotreg_poisson_solve(const sn_rotreg_poisson *p, const sn_mat3 *gradients, const sn_vec3 *blend, double *work,
                             float (*out)[3]);
size_t sn_rotreg_poisson_work(const sn_mesh *rest);
void sn_rotreg_poisson_free(sn_rotreg_poisson *p);

// ---- reduced mesh reconstruction (4.3) -----------------------------------------------------------------------------

// The least-squares problem (5), with weights, and anchors for the vertices that are not fixed. Its solution (6) is linear, and the
// same for the three coordinates: T' = C1 D' + C2 Q' with C1 4P x 3P and C2 4P x 4J.
typedef struct sn_rotreg_reduction {
  const sn_examples *examples;
  const sn_rotreg_bones *bones;
  const sn_rotreg_key_gradients *gradients;
  const sn_rotreg_anchors *anchors;
  const bool *fixed;           // vertices that follow `skin` exactly
  const sn_skin *skin;         // of the joints
  const double (*edge)[2];     // e, two per triangle
  const double *anchor_weight; // c, per vertex
  double ridge;                // of the bones' linear parts, relative to the mean diagonal
} sn_rotreg_reduction;

// C = [C1 C2], row-major, 4P x (3P + 4J): row 4b + c is column c of proxy bone b's matrix, column 3l + c is column c of
// key gradient l, column 3P + 4j + c is column c of joint j's matrix.
sn_status sn_rotreg_solve_c(sn_context *ctx, sn_arena *memory, const sn_rotreg_reduction *r, double **c);

// ---- all of it -----------------------------------------------------------------------------------------------------

typedef struct sn_rotreg_reduced {
  sn_rotreg_rotations rotations;
  sn_rotreg_bones bones;
  sn_rotreg_predictor *predictors; // one per bone
  sn_torque_model torque;          // pairs instead, where there are torques
  double *c;                       // [C1 C2], 4P x (3P + 4J), row-major
  sn_skin skin;                    // on the palette: joints, then proxy bones
} sn_rotreg_reduced;

typedef struct sn_rotreg_reduced_options {
  int bones; // proxy bones, 0: as many as `error` asks for
  double
    error; // largest rms distance that the proxy bones may leave in the training poses, in percent of the diagonal
  int influences;
  bool mean_shift; // groups to start from: by mean shift instead of E_A->B
  sn_rotreg_fit_options fit;
  const sn_torque_loads *loads; // torques of the training poses, or NULL
} sn_rotreg_reduced_options;

// Memory comes from `memory`, except the skins (free them with sn_skin_free).
sn_status sn_rotreg_reduced_train(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                                  const sn_rotreg_reduced_options *options, sn_rotreg_reduced *out);

#endif
