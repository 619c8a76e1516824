// SPDX-License-Identifier: MIT
// The weights of the least-squares problem that both forms solve: inverse mean squares of what each term misses on poses
// left out (docs/methods/rotational-regression.md), and lambda, the anchors' say against the edges'.
#ifndef SINEW_TRAIN_ROTREG_FLOOR_H
#define SINEW_TRAIN_ROTREG_FLOOR_H

#include <stddef.h>

// What is added to mean squares before they are inverted, so that no term counts for everything: this part of their mean.
// Tuned on cheburashka-pose, every fourth frame: enveloping error 0.145, with edges that weigh alike 0.159. Half and twice of either change
// the error on the generated sets (reduced.c) by 1 %.
#define SN_ROTREG_EDGE_FLOOR 0.05
#define SN_ROTREG_ANCHOR_FLOOR 0.02

// Among these lambda is chosen by poses left out. There 1 gave 0.145, ten times more 0.20, ten times less 0.16.
enum { sn_rotreg_lambda_count = 9 };
extern const double sn_rotreg_lambdas[sn_rotreg_lambda_count];

double sn_rotreg_mean(const double *values, size_t count);
// `part` of the mean, and next to nothing of the mesh's size.
double sn_rotreg_floor(const double *values, size_t count, double part, double diagonal);

#endif
