// SPDX-License-Identifier: MIT
// Rigging from mesh sequences (Le and Deng 2014), and the solver of skinning weights that training shares with it.
#ifndef SINEW_RIG_H
#define SINEW_RIG_H

#include "sinew/scene.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- weights for known poses -----------------------------------------------------------------------------------------

typedef struct sn_weights_options {
  int influences; // most joints of a vertex, 1 to 8
  double smooth;  // weight of the rigidness Laplacian, 0 for none; 1e-4 is Dem Bones' choice
  int rounds;     // passes over the data; a few are enough, more only matter with smoothing
} sn_weights_options;

sn_weights_options sn_weights_options_default(void); // 4, 0, 3

// The skinning weights that take `rest` to the frames best for given poses, in the sense of least squares: not negative,
// summing to 1, at most `influences` per vertex, chosen by error. Row f of poses belongs to frame f. `keys` (may be
// NULL: all) chooses frames.
sn_status sn_solve_weights(sn_context *ctx, const sn_mesh *rest, const sn_frames *frames, const sn_poses *poses,
                           const sn_keys *keys, const sn_weights_options *options, sn_skin *out);

#ifdef __cplusplus
}
#endif
#endif
