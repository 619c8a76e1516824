// SPDX-License-Identifier: MIT
// Helper joints that explain the residual of linear blending: seeds, motion as functions of the pose, weights, and again.
#ifndef SINEW_TRAIN_HELPERS_HELPERS_H
#define SINEW_TRAIN_HELPERS_HELPERS_H

#include <stdio.h>

#include "base/scope.h"
#include "runtime/helper.h"
#include "solve/solve.h"
#include "train/folds.h"
#include "train/near.h"
#include "train/pose_space.h"
#include "train/skin/base.h"
#include "train/train.h"

// Halvings: rounds that place half of the helpers that are left, on the residual of those before.
enum { SN_HELPER_HALVINGS = 3, SN_HELPER_DRIVERS = 4, SN_HELPER_TERMS = SN_HELPER_DRIVERS * SN_RT_QUADRATIC };

typedef struct sn_helper {
  int parent, driver_count, drivers[SN_HELPER_DRIVERS];
  float centre[3];
  double mix[SN_HELPER_TERMS][SN_RT_HELPER_CHANNELS]; // of the terms of the drivers, one driver after the other
  float low[SN_RT_HELPER_CHANNELS], high[SN_RT_HELPER_CHANNELS];
  float (*channels)[SN_RT_HELPER_ROW]; // of every frame
} sn_helper;

typedef struct sn_helper_solve {
  sn_context *ctx;
  sn_arena *memory;
  const sn_examples *examples;
  sn_keys keys; // at most `most_frames` of the training frames
  int joint_count, frame_count, helper_count, placed_count, influences; // placed: of the helpers, so far
  int sample_count, *sample;                                            // vertices that motion is learned from
  sn_local_rotation *rotations;
  double *rest, *vectors; // pose vectors: of the rest pose; of every frame, minus that
  sn_near near;
  sn_skin base, skin; // without and with helpers
  sn_helper *helpers;
  sn_affine *palette;        // frame_count * (joint_count + helper_count)
  sn_mat3 *inverses;         // frame_count * joint_count: of the joints' linear parts
  float (*residuals)[3];     // frame_count * sample_count
  double diagonal, min_gain; // min_gain: of an influence, in squared distance over all frames
} sn_helper_solve;

// Clusters of points whose last three numbers are their place (k-means), which is scaled so that vertices far apart differ as
// much as the rest of their numbers are large.
typedef struct sn_helper_clusters {
  int dims, count, point_count;
  float *points;    // point_count * dims
  double *means;    // count * dims
  int *owner;       // of every point
  double *energies; // of every point, how much it counts: its numbers but the place, squared
} sn_helper_clusters;
sn_status sn_helper_cluster(sn_context *ctx, sn_arena *memory, sn_helper_clusters *c, double diagonal);

// Numbers the palette entries that have weight, and the first `kept`, anew; -1: dropped. Returns how many there are.
int sn_helper_number(const sn_skin *skin, int kept, int count, int *new_of);

static inline void sn_helper_note(sn_train_report *report, const char *text) {
  size_t used = strlen(report->note);
  snprintf(report->note + used, sizeof report->note - used, "%s%s", used ? "; " : "", text);
}

static inline sn_affine *sn_helper_palette(const sn_helper_solve *s, int frame) {
  return s->palette + (size_t)frame * (size_t)(s->joint_count + s->helper_count);
}

// Of a feature over its term (sn_rt_joint_terms): the prior deviation of squares is half that of the rotation vector.
static inline double sn_helper_feature_scale(int term) { return term < 3 ? 1 : 0.5; }

// Places and parents of `count` more helpers: clusters of similar residuals.
sn_status sn_helpers_seed(sn_helper_solve *s, int count);
// The motion of helper h, from the residuals of the vertices with weight on it. `owner` (may be NULL): its first motion, as if the
// vertices of its cluster, h - placed_count, gave it the weight of its parent.
sn_status sn_helper_move(sn_helper_solve *s, int h, const int *owner);
// Channels and matrices of helper h in all frames, by its functions. `bounded`: within its range, as the runtime has them.
void sn_helper_apply(sn_helper_solve *s, int h, bool bounded);
// Weights on joints and helpers: of the sample, or of all vertices.
sn_status sn_helpers_weigh(sn_helper_solve *s, bool all);
// Minimises q with at most `influences` weights, each at the cost `price`, and writes them and their entries into a row of a skin.
void sn_helper_solve_row(sn_simplex *q, const int *entries, double price, int influences, uint16_t *joints,
                         float *weights);
// Residuals of the sample with the present motion and weights.
void sn_helpers_residuals(sn_helper_solve *s, const sn_skin *skin);

#endif
