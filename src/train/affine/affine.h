// SPDX-License-Identifier: MIT
// Shared declarations of the method `affine` (Kim, Feng and Yu 2010).
//
// Index letters: b bone, f training frame, i vertex, c control point.
#ifndef SINEW_TRAIN_AFFINE_AFFINE_H
#define SINEW_TRAIN_AFFINE_AFFINE_H

#include "sinew/train.h"
#include "train/proxy.h"

// ---- bones (bones.c) ------------------------------------------------------------------------------------------------

// Bones and weights, smoothed (section 4), for b->examples and the frames of b->keys. The caller frees b->skin.
sn_status sn_control_bones_make(sn_context *ctx, sn_arena *memory, const sn_affine_options *options,
                                sn_proxy_bones *b);

// ---- numbers to predict (motion.c) ----------------------------------------------------------------------------------

// Outputs per bone: quaternion 4, stretch 6, and translation 3 (4 for the dual part of rigid bones) unless Poisson solves for it.
int sn_control_outputs(const sn_affine_options *options);

// True if the outputs are a dual quaternion.
bool sn_control_dual(const sn_affine_options *options);

// out: [bone][frame][outputs]. The quaternions of a bone have consistent signs.
sn_status sn_control_encode(sn_context *ctx, const sn_proxy_bones *bones, const sn_affine_options *options,
                            double *out);

// Makes the signs of `count` quaternions, `stride` numbers apart, consistent along a minimum spanning tree of
// 1 - |q . q'|. The `dual` numbers after each change sign with it. `space`: 3 * count numbers of scratch memory.
void sn_control_align_signs(double *quaternions, int count, int stride, int dual, double *space);

// ---- prediction (predict.c) -----------------------------------------------------------------------------------------

typedef struct sn_control_data {
  const sn_proxy_bones *bones;
  const sn_affine_options *options;
  int outputs;
  const double *numbers; // [bone][frame][outputs]
  int control_count;
  const int *vertices;    // vertex of every control point
  const double *controls; // [frame][3 * control_count]: positions
  const double *solve;    // P, see sn_control_poisson; NULL: translations are predicted
  const sn_examples *examples;
  const sn_keys *keys;
} sn_control_data;

// The kernel width beta in squared file units.
double sn_control_width(const sn_control_data *data);

// The predictor M (section 3.3): [bone][outputs][frames + 1]. Columns are xi_c - 1 of the frames' kernels, then the constant.
sn_status sn_control_predictor(sn_context *ctx, const sn_control_data *data, double *out);

// ---- translations (poisson.c) ---------------------------------------------------------------------------------------

// P, bones x (3 bones + controls): maps the columns of all F and the control points to the bones' positions (section
// 3.3). `stiffness`: weight of a control point, relative to the mean weight of a bone's edge equations.
sn_status sn_control_poisson(sn_context *ctx, const sn_control_data *data, double stiffness, double *out);

// A row of the least-squares system behind P: bone positions on the left; on the right columns 3 b + k (column k of
// F_b) and 3 bones + c (control point c).
enum { sn_control_most_terms = 16 };
typedef struct sn_control_row {
  int count, right_count;
  int bones[sn_control_most_terms], columns[3 * sn_control_most_terms + 1];
  double x[sn_control_most_terms], right[3 * sn_control_most_terms + 1];
} sn_control_row;

// Calls `row` for every row of the system.
typedef void (*sn_control_row_fn)(void *user, const sn_control_row *row, double weight);
sn_status sn_control_poisson_rows(sn_context *ctx, const sn_control_data *data, double stiffness,
                                  sn_control_row_fn row, void *user);

// Adds to P a ridge regression of its residual at the training frames and in the rest pose, on the same inputs. P stays
// equivariant to translations of the whole scene.
sn_status sn_control_poisson_fit(sn_context *ctx, const sn_control_data *data, double *solve);

// ---- control points (controls.c) ------------------------------------------------------------------------------------

// Greedily chooses the `count` vertices that best predict the rest of the mesh on held-out frames.
sn_status sn_control_choose_controls(sn_context *ctx, const sn_examples *examples, const sn_keys *keys, int count,
                                     int *out);

#endif
