// SPDX-License-Identifier: MIT
// Models along one curve of rate and distortion: more displacement fields, more bytes, less cross-validated error.
#ifndef SINEW_TRAIN_CORRECT_RATE_H
#define SINEW_TRAIN_CORRECT_RATE_H

#include "train/correct/fields.h"

// Describes the model with fields within `limits` (replaced by what they lose and take) and says what it costs: its bytes and
// time only where they are `measured`, which takes an encoding.
typedef sn_status (*sn_rate_describe)(void *user, bool measured, sn_field_limits *limits, sn_rate *rate);

// The model that report->limits ask for: without any that of `usual`; within bytes and time the one with the least
// error; with an error the smallest that reaches it. What was tried becomes report->rates, largest first.
sn_status sn_rate_choose(sn_context *ctx, sn_rate_describe describe, void *user, sn_field_limits usual,
                         sn_train_report *report);

#endif
