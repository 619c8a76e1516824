// SPDX-License-Identifier: MIT
// The method `psd`, and `eigenskin`, which is the same with compressed corrections.
#ifndef SINEW_TRAIN_CORRECT_PSD_H
#define SINEW_TRAIN_CORRECT_PSD_H

#include "train/correct/correct.h"
#include "train/train.h"

typedef struct sn_psd_options {
  sn_skin_options skin;
  sn_rt_blend blend; // of the skinning underneath
  sn_correct_options correct;
} sn_psd_options;

extern const sn_option sn_psd_option_table[];

// Trains the skinning underneath and adds the corrections.
sn_status sn_psd_train(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                       sn_plan *plan, sn_train_report *report);

#endif
