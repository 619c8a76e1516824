// SPDX-License-Identifier: MIT
// Options that `psd` and `eigenskin` have in common.
#ifndef SINEW_TRAIN_CORRECT_OPTIONS_H
#define SINEW_TRAIN_CORRECT_OPTIONS_H

#include "sinew/train.h"

// clang-format off
#define SN_CORRECT_OPTIONS \
  {"blend", SN_OPTION_CHOICE, "linear", 0, 0, "linear|dualquat", "the skinning underneath: lbs or dqs"}, \
  {"kernel", SN_OPTION_CHOICE, "gauss", 0, 0, "gauss|thinplate|bspline|shepard", "of the interpolation in pose space"}, \
  {"sigma", SN_OPTION_REAL, "auto", 1e-6, 1e6, "auto|pose", "width of the kernels in radians (shepard: the power); auto: by leave-one-out error; pose: each its own"}, \
  {"order", SN_OPTION_CHOICE, "inverse", 0, 0, "inverse|forward", "corrections before or after skinning"}, \
  {"distance", SN_OPTION_CHOICE, "euclid", 0, 0, "euclid|normalised|mahalanobis", "between poses"}, \
  {"weighted", SN_OPTION_INT, "0", 0, 1, NULL, "1: distances by each vertex's skinning weights"}, \
  {"linear", SN_OPTION_INT, "0", 0, 1, NULL, "1: a hyperplane under the kernels"}, \
  {"cardinal", SN_OPTION_INT, "1", 0, 1, NULL, "1: N x N weights and the displacements themselves (Shape by Example); 0: kernel weights per vertex"}, \
  {"threshold", SN_OPTION_REAL, "0.005", 0, 100, NULL, "corrections below this, in % of the diagonal, are not stored"}, \
  {"joints", SN_OPTION_TEXT, "", 0, 0, NULL, "joints of the pose space, NAME+NAME; all that turn unless told"}, \
  {"influences", SN_OPTION_INT, "4", 1, 8, NULL, "most joints of a vertex"}, \
  {"weights", SN_OPTION_CHOICE, "fit", 0, 0, "fit|given", "fitted to the frames, or those of the skeleton file"}, \
  {"smooth", SN_OPTION_REAL, "0", 0, 1e6, NULL, "pull of neighbouring vertices' weights on each other"}
// clang-format on

// Trains the skinning underneath and adds the corrections; `components` 0: without compression.
sn_status sn_correct_method(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples,
                            const sn_keys *keys, int components, sn_model *out, sn_train_report *report);

#endif
