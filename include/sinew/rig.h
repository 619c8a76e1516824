// SPDX-License-Identifier: MIT
// Rigging from mesh sequences (Le and Deng 2014): skeleton, skinning weights and motion from a rest mesh and frames
// without a skeleton.
#ifndef SINEW_RIG_H
#define SINEW_RIG_H

#include "sinew/option.h"
#include "sinew/scene.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) // what shared libraries export

// ---- rigging -----------------------------------------------------------------------------------------------------------

typedef enum sn_rig_structure {
  SN_RIG_TREE, // a connected skeleton: bones rotate about their joints, only the root translates
  SN_RIG_FREE  // bones without a skeleton (smooth skinning decomposition, Le and Deng 2012)
} sn_rig_structure;

typedef enum sn_rig_bone_type {
  SN_RIG_RIGID,
  SN_RIG_AFFINE // with SN_RIG_FREE only
} sn_rig_bone_type;

// What is known beforehand. With a skeleton, joints keep their names, parents and rest positions.
typedef enum sn_rig_given {
  SN_RIG_NOTHING,
  SN_RIG_MOTION,  // skeleton and poses: weights are solved
  SN_RIG_WEIGHTS, // skeleton and weights: the motion is solved, except of locked joints
  SN_RIG_SKELETON // skeleton and poses as initial values: solves weights and motion, except of locked joints
} sn_rig_given;

// Sinew's solver, the published one, or a published baseline (lab/baselines).
typedef enum sn_rig_solver {
  SN_RIG_OWN,
  SN_RIG_PUBLISHED, // Le and Deng 2014 as printed
  SN_RIG_SCHAEFER,  // Schaefer and Yuksel 2007
  SN_RIG_AGUIAR,    // de Aguiar and others 2008
  SN_RIG_HASLER     // Hasler and others 2010
} sn_rig_solver;

// Axis normal to the symmetry plane of skeleton and weights; the plane goes through the centre of the rest mesh's bounding box.
typedef enum sn_rig_symmetry {
  SN_RIG_SYMMETRY_AUTO, // detected; used only if it hardly increases the error
  SN_RIG_SYMMETRY_X,
  SN_RIG_SYMMETRY_Y,
  SN_RIG_SYMMETRY_Z,
  SN_RIG_SYMMETRY_NONE
} sn_rig_symmetry;

typedef struct sn_rig_options {
  int bones;        // maximum number; 0: chosen by the solver
  bool keep_bones;  // use exactly `bones`, even if some hardly reduce the error; always so for SN_RIG_FREE
  double error_pct; // for bones 0: target rms distance in percent of the rest mesh's diagonal; 0: none
  int most_bones;   // for bones 0: maximum number
  double noise_pct; // for bones 0: noise of the frames (sn_rig_denoise), in the unit of error_pct; not fitted
  int influences;   // maximum bones per vertex, 1 to 8
  sn_rig_structure structure;
  sn_rig_bone_type bone_type;
  double omega;   // weight of the rigidness Laplacian (Le and Deng's omega); 0 for none, -1 for auto
  int iterations; // final alternations of weights and bones over all the data; 0: until the error stops falling
  sn_rig_symmetry symmetry; // of solved trees
  sn_rig_solver solver;
  sn_rig_given given;
  const sn_skeleton *skeleton; // as `given` requires
  const sn_poses *poses;       // skinning matrices, one row per frame; needed for locked joints
  const sn_skin *skin;
  const bool *locked; // joints that keep the motion of `poses`; NULL: none
  const float *kept;  // per vertex, 0 to 1: blend of solved weights (0) and those of `skin` (1); NULL: all are solved
  int helpers;        // free bones added to the given skeleton, whose joints are locked then
} sn_rig_options;

extern const sn_option_group sn_rig_option_groups[]; // of sn_rig_options, without `given` and its inputs
sn_rig_options sn_rig_options_default(void);

// The solver's result. Its error is measured in double precision; sn_assess_rig (sinew/eval.h) measures the rig as written.
typedef struct sn_rig_report {
  int bones, bones_wanted; // bones_wanted: number requested; 0: none
  int pruned;              // requested bones that were removed because they hardly reduce the error
  bool symmetric;          // joints and weights are their own mirror images
  char symmetry[256];      // whether the rest mesh's symmetry was used, and why not; empty if it has none
  char reason[256];        // why there are fewer bones than requested; empty otherwise
  int iterations;          // alternations over all the data
  double rms;              // root mean squared distance, file units
  double rms_pct_diag;
  int curve_count, curve_choice; // numbers of bones tried; 0 if `bones` was given
  double *curve;                 // cross-validated error of 1, 2, ... free bones, in percent of the diagonal
} sn_rig_report;

typedef struct sn_rig_result {
  sn_skeleton skeleton;
  sn_poses poses; // skinning matrices
  sn_skin skin;
  sn_rig_report report;
  sn_arena memory;
} sn_rig_result;

// To rig several clips together, concatenate their frames.
sn_status sn_rig(sn_context *ctx, const sn_mesh *rest, const sn_frames *frames, const sn_rig_options *options,
                 sn_rig_result *out);
void sn_rig_result_free(sn_rig_result *result);

// Percentage of the non-root joints that are inside the rest mesh (winding number above 1/2; 100 if there are none), and the
// largest distance of an outside joint to the surface. `pieces` (may be NULL): number of connected components of the mesh.
sn_status sn_rig_joints_inside(sn_context *ctx, const sn_mesh *rest, const sn_skeleton *skeleton, double *inside_pct,
                               double *outside_pct_diag, int *pieces);

// The frame with the least total deformation to all others: the rest pose if none is given.
int sn_rig_rest_frame(const sn_frames *frames);

// Per-vertex noise, independent between frames: rms distance in percent of the diagonal; 0 if deformation hides it.
typedef struct sn_rig_noise {
  double rest_pct_diag, frames_pct_diag;
  int wrong_count, *wrong; // outlier frames: their patches fit the mesh many times worse than those of other frames
} sn_rig_noise;

// Prepares noisy data for sn_rig: replaces a noisy rest mesh by the mean of all frames' aligned patches, and an outlier frame
// by the last good frame. Data without noise is not changed.
sn_status sn_rig_denoise(sn_context *ctx, sn_mesh *rest, sn_frames *frames, sn_arena *memory, sn_rig_noise *out);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
