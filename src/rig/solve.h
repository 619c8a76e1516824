// SPDX-License-Identifier: MIT
// The rigging solver: free bones, alternation, clusters, samples, coarse to fine, symmetry and the result.
#ifndef SINEW_RIG_SOLVE_H
#define SINEW_RIG_SOLVE_H

#include "rig/tree.h"
#include "sinew/rig.h"

// ---- bones ----------------------------------------------------------------------------------------------------------

// The rotation r that maximises tr(r h), by Newton steps from `start`; sn_mat3_kabsch where Newton fails.
sn_mat3 sn_rig_rotation_near(sn_mat3 h, sn_mat3 start);

// Rigid bones: `sweeps` rounds over the bones of every frame; each bone is fitted with the others fixed. Updates the moments.
// `locked` bones (may be NULL) do not move.
sn_status sn_rig_bones_rigid(sn_context *ctx, fit_model *m, int sweeps, const bool *locked);

// Bones that share vertices with bone j, j included: overlap[start[j]] to overlap[start[j + 1] - 1]. Needs m->pair.
bool sn_rig_overlaps(sn_context *ctx, sn_arena *memory, const fit_model *m, const int **start, const int **overlap);

// Affine bones, all solved together. Does not update the moments.
sn_status sn_rig_bones_affine(sn_context *ctx, fit_model *m);

// ---- alternation ----------------------------------------------------------------------------------------------------

// Constraints of a fit.
typedef struct rig_way {
  rig_tree *tree; // NULL: free bones
  bool affine;
  const fit_smooth *smooth; // NULL: none
} rig_way;

// One round: bones (and joints) for the present weights, then weights. Needs the moments and updates them. `extrapolate`
// repeats the bones' step since the last round, and undoes it where the error does not fall.
sn_status sn_rig_round(sn_context *ctx, fit_model *m, const rig_way *way, fit_support mode, bool extrapolate);

// Fits the bones to the present weights and updates m->error.
sn_status sn_rig_refit(sn_context *ctx, fit_model *m, const rig_way *way);

// Moves joints from outside the body to its inside, one by one, while the squared error grows by less than `most` in total.
// Sets *moved if any joint moved: the caller then fits the weights again.
sn_status sn_rig_nudge_joints(sn_context *ctx, fit_model *m, rig_tree *tree, double most, bool *moved);

// Call after adding, removing or replacing bones: resets the extrapolation of sn_rig_round.
static inline void rig_forget_trail(fit_model *m) { m->trail_age = -1; }

// ---- clustering -----------------------------------------------------------------------------------------------------

// Fits a model with one influence per vertex (limit 1) and at most `bones` rigid bones; assigns and fits `rounds` times after
// every split. Stops with fewer bones where no cluster can be split.
sn_status sn_rig_cluster(sn_context *ctx, fit_model *m, int bones, int rounds);

// Sets bone j of m to the best rigid motion of a set of vertices.
void sn_rig_fit_region(const fit_problem *p, const int *vertices, int count, fit_model *m, int j);

// Finds the `most` vertices nearest to `seed` in the rest pose, in cluster `only` or (cluster NULL) anywhere. Returns their number.
typedef struct rig_region {
  int seed, most;
  const uint16_t *cluster;
  int only;
} rig_region;
int sn_rig_nearest(const fit_problem *p, const rig_region *region, int *out, void *space);
size_t sn_rig_nearest_space(const fit_problem *p);

// ---- samples; adding and removing bones -------------------------------------------------------------------------------

// A sample of at most `vertices` vertices and `frames` frames of p; frame q of the sample is frame frames_out[q] of p.
// `allowed` (may be NULL) marks the frames that may be chosen.
typedef struct rig_part {
  int vertices, frames;
  const bool *allowed;
} rig_part;
sn_status sn_rig_sample(sn_context *ctx, sn_arena *memory, const fit_problem *p, rig_part part, fit_problem *out,
                        int *frames_out);
// The squared distance of every frame to frame g (g < 0: to the rest pose), over a sample of vertices.
void sn_rig_frame_distances(const fit_problem *p, int g, double *distance);
// Keeps the weights and fits the bones to other frames of the same vertices, starting from the most similar frames.
sn_status sn_rig_follow(sn_context *ctx, sn_arena *memory, const fit_model *from, const fit_problem *p,
                        const rig_tree *tree, fit_model *m);

// The bone with the smallest price (see FIT_PRICE).
int sn_rig_cheapest_bone(const fit_model *m);

// sum_i w_ij^2 of bone j, and whether that is below `bound`. Both need m->pair. A bone with children is never a sliver.
// A bone needs about one vertex: Le and Deng's bound, 1e-2 of the largest bone, would prune fingers and eyes of characters
// with a large trunk.
#define RIG_THINNEST 1.001
double sn_rig_share(const fit_model *m, int j);
bool sn_rig_is_sliver(const fit_model *m, const rig_tree *tree, int j, double bound);

// Adds a bone without weights where the error is largest; *added is false if there is no error or no capacity.
// `spread` scales the region that the bone is fitted to.
sn_status sn_rig_add_bone(sn_context *ctx, fit_model *m, int spread, bool *added);

// Removes bone j; later bones are renumbered. Needs m->pair; invalidates moments and errors.
void sn_rig_remove_bone(const sn_context *ctx, fit_model *m, int j);
// The same for all bones marked in `gone`; at least one must stay.
void sn_rig_remove_bones(const sn_context *ctx, fit_model *m, const bool *gone);

// Copies bones, weights, moments, prices and errors. Both models have the same problem, limit and capacity.
void sn_rig_copy(const fit_model *from, fit_model *to);

// ---- from coarse to fine --------------------------------------------------------------------------------------------

typedef struct rig_plan {
  int bones, limit;
  bool tree, affine;
  bool keep;            // keep all bones, even those that hardly lower the error
  double nothing;       // mean squared error below which a bone may be removed
  int iterations;       // most rounds over all the data
  fit_smooth *smooth;   // for all the data; NULL: none
  bool smooth_auto;     // `smooth` was built for a squared error of 1: scale it by the error
  const rig_body *body; // NULL: the mesh has no inside
  const sn_mesh *rest;  // in the order of the problem
  int most;             // most bones, for baselines that choose the number themselves (bones 0)
  double omega;         // of the options, for baselines
  int *rounds;          // counts the rounds over all the data
} rig_plan;

// Initialises `m` by clustering: as many bones as its capacity, and weights.
sn_status sn_rig_start_clusters(sn_context *ctx, sn_arena *memory, const rig_way *way, fit_model *m);

// Removes up to `count` bones with the smallest prices, then fits weights and bones. Of bones that share vertices it removes
// only one: without it the prices of the others rise.
sn_status sn_rig_remove_cheapest(sn_context *ctx, fit_model *m, const rig_way *way, int count);

// Options of sn_rig_count_bones.
typedef struct rig_count {
  int most, limit;  // most bones, most influences per vertex
  double percent;   // one solver unit in percent of the diagonal
  double error_pct; // target rms error in percent of the diagonal; 0: none
  double noise_pct; // rms noise of the frames in percent of the diagonal
} rig_count;
// Chooses the number of bones by cross-validation, with free bones on a sample; more bones where error_pct requires them.
// The report's curve is the cross-validated error of 1, 2, ... bones in percent of the diagonal.
enum { RIG_MOST_COUNTED = 96 };
sn_status sn_rig_count_bones(sn_context *ctx, sn_arena *memory, const fit_problem *p, const rig_count *how,
                             sn_rig_report *report);
// Errors below this, in percent of the diagonal, count as zero.
#define RIG_NO_ERROR 0.015

// Bones, weights and (plan->tree) skeleton for problem p. `m` and `tree` live in `memory`. m->bones may be fewer than
// planned where the data does not support more.
sn_status sn_rig_solve(sn_context *ctx, sn_arena *memory, const fit_problem *p, const rig_plan *plan, fit_model *m,
                       rig_tree *tree);

// The same by a published method; NULL unless the program links lab/baselines, which sets it.
typedef sn_status rig_baseline(sn_context *ctx, sn_arena *memory, const fit_problem *p, const rig_plan *plan,
                               sn_rig_solver solver, fit_model *m, rig_tree *tree);
extern rig_baseline *sn_rig_baseline;

// ---- the solver's order of vertices and frames

// The rest mesh with its vertices sorted (sn_fit_order): vertex i of `out` is vertex[i] of `rest`.
sn_status sn_rig_sort_vertices(sn_context *ctx, sn_arena *memory, const sn_mesh *rest, int **vertex, sn_mesh *out);
// Sorts the frames by their contents, so that permuting the frames permutes the result exactly. `vertex`: as above, or NULL
// for the caller's order.
sn_status sn_rig_sort_frames(sn_context *ctx, const sn_frames *frames, const int *vertex, int *order);

// ---- weights of the result

// Smooths the weights over the rest mesh, then removes influences (FIT_THIN) that hardly lower the error.
sn_status sn_rig_thin(sn_context *ctx, const sn_mesh *rest, fit_model *m, const fit_smooth *smooth);

// ---- known skeletons ------------------------------------------------------------------------------------------------

// Makes skeleton and weights symmetric if the rest mesh is, and writes the outcome to the report.
sn_status sn_rig_symmetrise(sn_context *ctx, const sn_mesh *rest, const sn_frames *frames, const sn_rig_options *o,
                            sn_rig_result *result);

// Rigs with a given skeleton. allowed > 0: skeleton, o->poses and o->skin are a result of sn_rig with moved joints; the
// solver starts from them and stops early if the rms error cannot reach `allowed`.
sn_status sn_rig_with_skeleton(sn_context *ctx, const sn_mesh *rest, const sn_frames *frames, const sn_rig_options *o,
                               double allowed, sn_rig_result *out);

// ---- result ---------------------------------------------------------------------------------------------------------

// Rounds local translations, rotations (quaternions) and scales to single precision, as in a file; joints stay connected.
// With `affine` the matrices themselves are rounded.
void sn_rig_round_poses(const sn_skeleton *skeleton, bool affine, sn_poses *poses);

// Writes number of bones and rms error of the model, whose errors must be current, to the report. `rest` is in the caller's units.
void sn_rig_report_error(const fit_model *m, double scale, const sn_mesh *rest, sn_rig_report *report);

#endif
