// SPDX-License-Identifier: MIT
// What the methods share.
#ifndef SINEW_TRAIN_TRAIN_H
#define SINEW_TRAIN_TRAIN_H

#include "sinew/train.h"

extern const sn_method sn_method_rigid, sn_method_lbs, sn_method_dqs, sn_method_psd, sn_method_eigenskin,
  sn_method_rotreg, sn_method_affine, sn_method_torque;

// desc->rest and desc->skin in the examples' order become a model in the order of the rest file.
sn_status sn_train_build(sn_context *ctx, const sn_examples *examples, sn_model_desc desc, sn_model *out);

// The skin that the options ask for: fitted to the training frames for `poses` (whose joints are the palette), or the
// one of the skeleton file.
sn_status sn_train_fit_skin(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples,
                            const sn_poses *poses, const sn_keys *keys, sn_skin *out);
sn_status sn_train_given_skin(sn_context *ctx, const sn_method_spec *spec, const sn_examples *examples, sn_skin *out);

#endif
