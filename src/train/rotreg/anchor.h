// SPDX-License-Identifier: MIT
// Where vertices are anchored: a prediction of their positions that is linear in the joints' matrices. The source takes
// linear blend skinning (4.2), y = sum_b w_b T_b (y^, 1). Any y = sum_b T_b p_b with homogeneous points p_b (Merry et
// al. 2006, animation space) serves as well and costs nothing more at run time, since C2 is all that is left of it.
#ifndef SINEW_TRAIN_ROTREG_ANCHOR_H
#define SINEW_TRAIN_ROTREG_ANCHOR_H

#include "sinew/scene.h"
#include "train/rotreg/predictor.h"

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

#endif
