// SPDX-License-Identifier: MIT
// Methods of other papers to measure against. They are no part of libsinew: a program that wants them adds them, once, as it begins.
#ifndef SINEW_LAB_BASELINES_BASELINES_H
#define SINEW_LAB_BASELINES_BASELINES_H

void sn_lab_add_methods(void); // rows of `compare`: mwe, animspace, mohr, sbs
void sn_lab_add_solvers(void); // `rig --solver`: published, schaefer, aguiar, hasler

#endif
