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
  SN_RIG_TREE, // a connected skeleton: bones turn about their joints, only the root moves
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
  SN_RIG_WEIGHTS, // skeleton and skin: the motion is solved, but for locked joints
  SN_RIG_SKELETON // skeleton and poses as a start: weights and motion are solved, but for locked joints
} sn_rig_given;

// Who finds the rig: our own solver, the published one, or those that it was compared with (lab/baselines).
typedef enum sn_rig_solver {
  SN_RIG_OWN,
  SN_RIG_PUBLISHED, // Le and Deng 2014 as printed
  SN_RIG_SCHAEFER,  // Schaefer and Yuksel 2007
  SN_RIG_AGUIAR,    // de Aguiar and others 2008
  SN_RIG_HASLER     // Hasler and others 2010
} sn_rig_solver;

// The plane of symmetry of the rest mesh that skeleton and weights are to have: through the middle of its box.
typedef enum sn_rig_symmetry {
  SN_RIG_SYMMETRY_AUTO, // the one there is, where it costs hardly any error
  SN_RIG_SYMMETRY_X,
  SN_RIG_SYMMETRY_Y,
  SN_RIG_SYMMETRY_Z,
  SN_RIG_SYMMETRY_NONE
} sn_rig_symmetry;

typedef struct sn_rig_options {
  int bones;        // the most to use; 0: as many as pay
  bool keep_bones;  // use `bones` of them whether they pay or not; free bones always do
  double error_pct; // for bones 0: wanted root mean squared distance in percent of the rest mesh's diagonal; 0: none
  int most_bones;   // for bones 0: never more than this
  double noise_pct; // for bones 0: of the frames (sn_rig_denoise), as error_pct; bones do not explain it
  int influences;   // most bones of a vertex, 1 to 8
  sn_rig_structure structure;
  sn_rig_bone_type bone_type;
  double omega;             // weight of the rigidness Laplacian (Le and Deng's omega); 0 for none, -1 for auto
  int iterations;           // rounds of weights and bones over all the data at the end; 0: no more than pays
  sn_rig_symmetry symmetry; // of trees that are found
  sn_rig_solver solver;
  sn_rig_given given;
  const sn_skeleton *skeleton; // as `given` asks
  const sn_poses *poses;       // skinning matrices, one row per frame; needed for locked joints
  const sn_skin *skin;
  const bool *locked; // joints that keep the motion of `poses`; NULL: none
  const float *kept;  // of every vertex, 0 to 1: how much of its weights is that of `skin`; NULL: all are solved
  int helpers;        // free bones added to the given skeleton, whose joints are locked then
} sn_rig_options;

extern const sn_option_group sn_rig_option_groups[]; // of sn_rig_options; what is given is not in it
sn_rig_options sn_rig_options_default(void);

// What the solver decided. The error is that of its own arithmetic; figures of the rig as written are sn_assess_rig's (sinew/eval.h).
typedef struct sn_rig_report {
  int bones, bones_wanted; // wanted: 0 where none were asked for
  int pruned;              // bones asked for that do not pay
  bool symmetric;          // joints and weights are their own mirror images
  char symmetry[256];      // what came of the symmetry of the rest mesh; empty where it has none
  char reason[256];        // why there are fewer bones than wanted; empty otherwise
  int iterations;          // rounds over all the data
  double rms;              // root mean squared distance, file units
  double rms_pct_diag;
  int curve_count, curve_choice; // numbers of bones tried; 0 where their number was given
  double *
    curve; // cross-validated error of 1, 2, ... free bones, in percent of the diagonal: on frames not used to find them
} sn_rig_report;

typedef struct sn_rig_result {
  sn_skeleton skeleton;
  sn_poses poses; // skinning matrices
  sn_skin skin;
  sn_rig_report report;
  sn_arena memory;
} sn_rig_result;

// The frames are taken as one set: several clips are rigged together by putting their frames one after the other.
sn_status sn_rig(sn_context *ctx, const sn_mesh *rest, const sn_frames *frames, const sn_rig_options *options,
                 sn_rig_result *out);
void sn_rig_result_free(sn_rig_result *result);

// The part of the joints with a parent that is inside the rest mesh (winding number above 1/2; 100 where there are none), and the
// largest distance of one of the others to the surface. `pieces` (may be NULL): parts of the mesh that share no vertices.
sn_status sn_rig_joints_inside(sn_context *ctx, const sn_mesh *rest, const sn_skeleton *skeleton, double *inside_pct,
                               double *outside_pct_diag, int *pieces);

// The frame from which the others are reached with the least bending: a rest pose where none is given.
int sn_rig_rest_frame(const sn_frames *frames);

// Noise of vertices that is independent from frame to frame: root mean squared distances in percent of the diagonal; 0 where bending hides it.
typedef struct sn_rig_noise {
  double rest_pct_diag, frames_pct_diag;
  int wrong_count,
    *wrong; // frames that are not the mesh: many times farther from it, patch by patch, than the others
} sn_rig_noise;

// Makes noisy data ready for sn_rig: a noisy rest mesh becomes the mean of all frames' patches, a wrong frame that of the good one before.
// Data without noise stays as it is, to the bit.
sn_status sn_rig_denoise(sn_context *ctx, sn_mesh *rest, sn_frames *frames, sn_arena *memory, sn_rig_noise *out);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
