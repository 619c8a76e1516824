// SPDX-License-Identifier: MIT
// Methods of other papers for comparison. They are not part of libsinew: a program adds them once when it starts.
#ifndef SINEW_LAB_BASELINES_BASELINES_H
#define SINEW_LAB_BASELINES_BASELINES_H

#include "train/train.h"

void sn_lab_add_methods(void); // rows of `compare`: mwe, animspace, mohr, sbs, hejl, alexa, wpsd
void sn_lab_add_solvers(void); // `rig --solver`: published, schaefer, aguiar, hasler

// For the table of methods.
bool sn_lab_has_no_model(const void *options);
extern const sn_method sn_lab_wpsd;

#endif
