// SPDX-License-Identifier: MIT
// Mesh reconstruction and its reduced form (Wang 2007, sections 4 and 5): from deformation gradients to a model.
#ifndef SINEW_TRAIN_ROTREG_REDUCED_H
#define SINEW_TRAIN_ROTREG_REDUCED_H

#include "solve/cholesky.h"
#include "train/cluster.h"
#include "train/proxy.h"
#include "train/rotreg/torque.h"

typedef struct sn_rotreg_training sn_rotreg_training; // below

// ---- proxy bones (5.1) ---------------------------------------------------------------------------------------------

// Fits weights and motions of `bones` in alternation; group_of and bone_count must be set.
sn_status sn_rotreg_bones_fit(sn_rotreg_training *t);

// Mean shift with a flat kernel: moves x to the mean of the points within h, until it stays. At least one point must be
// within h. `mean`: scratch memory for one point.
typedef struct sn_rotreg_points {
  int count, numbers;
  const double *points; // [point][number]
} sn_rotreg_points;
void sn_rotreg_shift(const sn_rotreg_points *z, double h, double *x, double *mean);

// Clusters triangles by mean shift of their rotations in all poses, into at most `most` groups, numbered like sn_cluster_cut.
sn_status sn_rotreg_mean_shift(const sn_rotreg_training *t, int most, int *group_of, int *groups);

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
sn_status sn_rotreg_key_gradients_fit(sn_rotreg_training *t);

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
// regression over the training frames. The weights become the mean squared errors on held-out poses.
sn_status sn_rotreg_anchors_fit(sn_rotreg_training *t);

// Linear blend skinning as anchors.
sn_status sn_rotreg_anchors_blend(sn_rotreg_training *t);

// F (4.2), near-rigid vertices: their error under linear blend skinning is below a threshold in training. As published,
// also the best vertex of every component, which fixes its position; otherwise vertices without triangles.
sn_status sn_rotreg_hard_set(sn_rotreg_training *t);

// ---- one training --------------------------------------------------------------------------------------------------

// The data, and what is learned from them in the order in which it is found. The first block is set by the caller; all
// memory is freed by sn_rotreg_training_free.
struct sn_rotreg_training {
  sn_context *ctx;
  const sn_examples *examples;
  const sn_keys *keys;
  const sn_rotreg_options *options;
  const sn_torque_options *torques; // `torque` only; NULL: without torques

  sn_rotreg_fit_options fit;
  sn_torque_loads loads; // joint_count 0: without torques
  double diagonal;       // of the rest mesh
  sn_topology topology;
  sn_rotreg_rotations rotations;
  sn_skin skin; // linear blend skinning on the joints
  sn_folds folds;
  sn_proxy_bones bones;              // reduced form only
  bool *adjacent;                    // [bone][bone]: groups with a common edge; true on the diagonal
  double *bone_error;                // per vertex: mean squared distance in the training poses
  sn_rotreg_local *local;            // [gradient][joint]; NULL: no prior
  sn_rotreg_key_gradients gradients; // full form: one per triangle
  sn_rotreg_predictor *predictors;   // one per gradient
  sn_torque_model torque;            // used instead if there are torques
  sn_mat3 *held_out;                 // [pose][gradient]: predicted from the other folds
  sn_rotreg_anchors anchors;
  double (*edge)[2], *anchor_weight; // e, two per triangle, and c, one per vertex
  bool *fixed;                       // F
  double *c;                         // [C1 C2], 4P x (3P + 4J), row-major
  sn_vec3 origin;       // of the rest pose in C: the centre of the mesh if the scene is far from 0, which
  bool is_far;          // single precision would not bear; otherwise 0
  sn_skin palette_skin; // on joints, then proxy bones
  sn_arena memory;
};

// Reads torques; makes topology, joint rotations, skin and folds.
sn_status sn_rotreg_training_start(sn_rotreg_training *t);
// With the key gradients: predictors, anchors, and the weights of the terms of (2) and (5).
sn_status sn_rotreg_training_finish(sn_rotreg_training *t);
// The reduced form (4.3, 5), from start to palette_skin.
sn_status sn_rotreg_reduced_train(sn_rotreg_training *t);
void sn_rotreg_training_free(sn_rotreg_training *t);

// The options of the fit of one key gradient, with its relevant joints.
sn_rotreg_fit_options sn_rotreg_fit_options_near(const sn_rotreg_training *t, int gradient);
// Fits `predictors`, `torque` and `held_out`.
sn_status sn_rotreg_predictors_fit(sn_rotreg_training *t);
// Fits the pairs of all gradients (`torque`) and their held-out predictions (`held_out`).
sn_status sn_torque_fit(sn_rotreg_training *t);

// The weight of a term is the inverse mean square of its residual on held-out poses
// (docs/methods/rotational-regression.md); as published, all edges have weight 1 and anchors keep theirs.
sn_status sn_rotreg_weigh(sn_rotreg_training *t);

double sn_rotreg_mean(const double *values, size_t count);

// C of the weighted least-squares problem (5), with anchors for the vertices that are not fixed. The solution (6) is linear
// and the same for the three coordinates: T' = C1 D' + C2 Q', C1 4P x 3P and C2 4P x 4J. Row 4b + c of C is column c of
// proxy bone b's matrix, column 3l + c is column c of key gradient l, column 3P + 4j + c is column c of joint j's matrix.
sn_status sn_rotreg_solve_c(sn_rotreg_training *t);

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

#endif
