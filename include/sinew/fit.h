// SPDX-License-Identifier: MIT
// Skinning weights for known poses: the solver that training and rigging share.
#ifndef SINEW_FIT_H
#define SINEW_FIT_H

#include "sinew/scene.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) // what shared libraries export

typedef struct sn_weights_options {
  int influences;      // maximum joints per vertex, 1 to 8
  double omega;        // weight of the rigidness Laplacian, 0 for none; 1e-4 is Dem Bones' choice
  double rho;          // of the weight smoothing of Kim 2010 (section 4), for a mesh of unit radius; 0 for none
  int rounds;          // passes over the data; a few are enough, more only matter with smoothing
  const sn_keys *keys; // frames to use; NULL: all
} sn_weights_options;

sn_weights_options sn_weights_options_default(void); // 4, 0, 0, 3, all

// Least-squares skinning weights for known poses: non-negative, with sum 1, at most `influences` per vertex, chosen by error.
// Row f of poses belongs to frame f.
sn_status sn_solve_weights(sn_context *ctx, const sn_mesh *rest, const sn_frames *frames, const sn_poses *poses,
                           const sn_weights_options *options, sn_skin *out);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
