// SPDX-License-Identifier: MIT
// The rigging solver: bones without joints, alternation, clusters, samples, from coarse to fine, symmetry and the result.
#ifndef SINEW_RIG_SOLVE_H
#define SINEW_RIG_SOLVE_H

#include "rig/tree.h"
#include "sinew/rig.h"

// ---- bones ----------------------------------------------------------------------------------------------------------

// The rotation r that maximises tr(r h), by Newton steps from `start`; sn_mat3_kabsch where they do not apply.
sn_mat3 sn_rig_rotation_near(sn_mat3 h, sn_mat3 start);

// Rigid bones: `sweeps` rounds over the bones of every frame, each bone fitted while the others rest. Keeps the moments
// right for the new bones. `locked` bones (may be NULL) stay.
sn_status sn_rig_bones_rigid(sn_context *ctx, fit_model *m, int sweeps, const bool *locked);

// The bones that share vertices with bone j, itself included: overlap[start[j]] .. Needs m->pair. False without memory.
bool sn_rig_overlaps(sn_context *ctx, sn_arena *memory, const fit_model *m, const int **start, const int **overlap);

// Affine bones, all at once. The moments are no longer those of the model afterwards.
sn_status sn_rig_bones_affine(sn_context *ctx, fit_model *m);

// ---- alternation ----------------------------------------------------------------------------------------------------

// How a model is fitted.
typedef struct rig_way {
  rig_tree *tree; // NULL: free bones
  bool affine;
  const fit_smooth *smooth; // NULL: none
} rig_way;

// One round: bones (and joints) for the present weights, then weights. Needs the moments, and leaves those of the result.
// With `extrapolate` the bones go on by as much again as they have moved since the last round; where that does not lower
// the error it is taken back.
sn_status sn_rig_round(sn_context *ctx, fit_model *m, const rig_way *way, fit_support mode, bool extrapolate);

// Bones for the present weights; m->error is that of the new bones.
sn_status sn_rig_refit(sn_context *ctx, fit_model *m, const rig_way *way);

// Joints that are outside go inside, one after the other, while all together raise the squared error by less than `most`. Sets
// *moved where there were any: weights are to be fitted then.
sn_status sn_rig_nudge_joints(sn_context *ctx, fit_model *m, rig_tree *tree, double most, bool *moved);

// To be called when bones were added, removed or replaced: what they did before means nothing.
static inline void rig_forget_trail(fit_model *m) { m->trail_age = -1; }

// ---- clustering -----------------------------------------------------------------------------------------------------

// Fits a model with one influence per vertex (limit 1) and at most `bones` rigid bones, `rounds` of assigning and
// fitting after every split. Fewer bones come out where the data does not support them.
sn_status sn_rig_cluster(sn_context *ctx, fit_model *m, int bones, int rounds);

// Sets bone j of m to the rigid motions of a set of vertices.
void sn_rig_fit_region(const fit_problem *p, const int *vertices, int count, fit_model *m, int j);

// The `most` vertices nearest to `seed` in the rest pose, of cluster `only` or (cluster NULL) of all. Returns how many.
typedef struct rig_region {
  int seed, most;
  const uint16_t *cluster;
  int only;
} rig_region;
int sn_rig_nearest(const fit_problem *p, const rig_region *region, int *out, void *space);
size_t sn_rig_nearest_space(const fit_problem *p);

// ---- samples, and bones that come and go ------------------------------------------------------------------------------

// A sample of at most `vertices` vertices and `frames` frames of p; frames_out[q] is the frame of p behind frame q.
// `allowed` (may be NULL) says which frames may be chosen.
typedef struct rig_part {
  int vertices, frames;
  const bool *allowed;
} rig_part;
sn_status sn_rig_sample(sn_context *ctx, sn_arena *memory, const fit_problem *p, rig_part part, fit_problem *out,
                        int *frames_out);
// The squared distance of every frame to frame g (g < 0: to the rest pose), over some vertices.
void sn_rig_frame_distances(const fit_problem *p, int g, double *distance);
// The same weights over other frames of the same vertices; motions are fitted, from those of the most similar frames.
sn_status sn_rig_follow(sn_context *ctx, sn_arena *memory, const fit_model *from, const fit_problem *p,
                        const rig_tree *tree, fit_model *m);

// The bone with the smallest price (see FIT_PRICE).
int sn_rig_cheapest_bone(const fit_model *m);

// sum_i w_ij^2 of bone j, and whether that is below `bound`. Both need m->pair. A bone on which others hang is no
// sliver: it is a link of the skeleton, however few vertices it has. A bone needs about one vertex: Le and Deng prune
// below 1e-2 of the largest bone, which takes fingers and eyes from characters with a large trunk.
#define RIG_THINNEST 1.001
double sn_rig_share(const fit_model *m, int j);
bool sn_rig_is_sliver(const fit_model *m, const rig_tree *tree, int j, double bound);

// Sets one more bone, without weights as yet, where the error is largest. Not where there is no error or no room.
// A larger `spread` looks for larger regions.
sn_status sn_rig_add_bone(sn_context *ctx, fit_model *m, int spread, bool *added);

// Takes bone j out; the numbers of later bones fall by one. Needs m->pair; moments and errors are void afterwards.
void sn_rig_remove_bone(const sn_context *ctx, fit_model *m, int j);
// The same for all that are gone; at least one stays.
void sn_rig_remove_bones(const sn_context *ctx, fit_model *m, const bool *gone);

// Copies bones, weights, moments, prices and errors. Both models have the same problem, limit and capacity.
void sn_rig_copy(const fit_model *from, fit_model *to);

// ---- from coarse to fine --------------------------------------------------------------------------------------------

typedef struct rig_plan {
  int bones, limit;
  bool tree, affine;
  bool keep;            // all bones, whether they pay or not
  double nothing;       // squared error of a vertex in a frame that counts as none
  int iterations;       // most rounds over all the data
  fit_smooth *smooth;   // for all the data; NULL: none
  bool smooth_auto;     // its edge weights are for a squared error of 1 and follows the error
  const rig_body *body; // NULL: the mesh has no inside
  const sn_mesh *rest;  // in the order of the problem
  int most;             // for a method that chooses the number itself, with bones 0: never more
  double omega;         // as the options have it, for a method of others
  int *rounds;          // counts the rounds over all the data
} rig_plan;

// Clusters, as bones with weights: as many as the new `m` has room for.
sn_status sn_rig_start_clusters(sn_context *ctx, sn_arena *memory, const rig_way *way, fit_model *m);

// Takes out up to `count` bones with the smallest prices, and lets the others settle. Of bones that share vertices only
// one goes at a time: the price of the other rises then.
sn_status sn_rig_remove_cheapest(sn_context *ctx, fit_model *m, const rig_way *way, int count);

// How bones are counted.
typedef struct rig_count {
  int most, limit;  // bones to choose, influences
  double percent;   // of the diagonal for a distance of one
  double error_pct; // that is wished for; 0: none
  double noise_pct; // of the frames, as error_pct
} rig_count;
// The number of bones that explain held-out frames well enough, as free bones on a sample; more where error_pct wants it. The
// report's curve is the cross-validated error of 1, 2, ... bones in percent of the diagonal.
enum { RIG_MOST_COUNTED = 96 };
sn_status sn_rig_count_bones(sn_context *ctx, sn_arena *memory, const fit_problem *p, const rig_count *how,
                             sn_rig_report *report);
// The error that counts as none, in percent of the diagonal.
#define RIG_NO_ERROR 0.015

// Bones, weights and (plan->tree) skeleton for problem p. `m` and `tree` live in `memory`. m->bones may be fewer than
// planned where the data does not support more.
sn_status sn_rig_solve(sn_context *ctx, sn_arena *memory, const fit_problem *p, const rig_plan *plan, fit_model *m,
                       rig_tree *tree);

// The same by a method of others; NULL where the program has none (lab/baselines sets it).
typedef sn_status rig_baseline(sn_context *ctx, sn_arena *memory, const fit_problem *p, const rig_plan *plan,
                               sn_rig_solver solver, fit_model *m, rig_tree *tree);
extern rig_baseline *sn_rig_baseline;

// ---- the order of the solver

// The rest mesh with its vertices sorted (sn_fit_order): vertex i of `out` is vertex[i] of `rest`.
sn_status sn_rig_sort_vertices(sn_context *ctx, sn_arena *memory, const sn_mesh *rest, int **vertex, sn_mesh *out);
// An order of the frames that depends on their contents only, so that permuting them permutes the result exactly. `vertex`: as
// above, or NULL for the caller's order.
sn_status sn_rig_sort_frames(sn_context *ctx, const sn_frames *frames, const int *vertex, int *order);

// ---- weights of the result

// Evens the weights out over the rest mesh of m's problem, then FIT_THIN at a price per influence that costs hardly any error.
sn_status sn_rig_thin(sn_context *ctx, const sn_mesh *rest, fit_model *m, const fit_smooth *smooth);

// ---- known skeletons ------------------------------------------------------------------------------------------------

// Makes a tree and its weights symmetric where the rest mesh is, and tells in the report what came of it.
sn_status sn_rig_symmetrise(sn_context *ctx, const sn_mesh *rest, const sn_frames *frames, const sn_rig_options *o,
                            sn_rig_result *result);

// Where `allowed` is not 0, the skeleton, o->poses and o->skin are what sn_rig has found, but for joints that have
// moved. Motion and weights go on from there while their root mean squared distance may still come below `allowed`. 0:
// nothing was found.
sn_status sn_rig_with_skeleton(sn_context *ctx, const sn_mesh *rest, const sn_frames *frames, const sn_rig_options *o,
                               double allowed, sn_rig_result *out);

// ---- result ---------------------------------------------------------------------------------------------------------

// Rotations by quaternions and translations in single precision, as a file holds them; joints stay together. With
// `affine` the matrices themselves are rounded.
void sn_rig_round_poses(const sn_skeleton *skeleton, bool affine, sn_poses *poses);

// Fills the error of out->report with that of the model, which needs its errors. `rest` is in the caller's units.
void sn_rig_report_error(const fit_model *m, double scale, const sn_mesh *rest, sn_rig_report *report);

#endif
