// SPDX-License-Identifier: MIT
// Local pose spaces: what a vertex misses is a sum over joints of a function of that joint's turn alone,
//
//     d_i(pose) = sum_j a_ij g_ij(theta_j),   g_ij in the space of a Gaussian kernel's functions that vanish in the rest pose,
//
// fitted for all joints together by kernel ridge regression (docs/psd.md). Joints near a vertex in the rig have a_ij = 1, the
// others little: they explain only what the near ones cannot. As little has one function of all turns, which is zero but near
// the poses of the clip: what joints do only together.
#ifndef SINEW_TRAIN_CORRECT_LOCAL_H
#define SINEW_TRAIN_CORRECT_LOCAL_H

#include "train/correct/correct.h"

// A clip of more poses is long: it is not treated by all pairs of its poses, which takes a time that grows with their square.
enum { SN_LOCAL_LONG = 256 };

// Functions of the turns of one joint, or of all: those that `rank` of the poses span, as an orthonormal basis.
typedef struct sn_local_space {
  int joint_count, dims, rank;
  const int *joints;
  double width;
  double *turns;   // pose_count * dims; the first is the rest pose, where the functions are zero
  double *centres; // rank * dims
  double *corner;  // rank * rank, lower: kernel of the centres = corner corner^T
  double *values;  // pose_count * rank: the basis functions at the poses
} sn_local_space;

// Vertices that listen to the same joints in the same way.
typedef struct sn_local_set {
  int count, *vertices;
  double *relevance; // of every space
} sn_local_set;

typedef struct sn_local {
  sn_context *ctx;
  sn_arena *memory;
  const sn_correct_options *options;
  const sn_misses *m;
  int joint_count, space_count, set_count; // a space for every joint, and where there are several one of all
  const int *joints;
  sn_local_set *sets;
} sn_local;

typedef struct sn_local_form {
  double width; // of the kernels, in radians
  bool whole;   // with the function of all turns; without, that space has rank 0
} sn_local_form;

// The basis of every space's functions.
sn_status sn_local_spaces(const sn_local *l, sn_arena *memory, sn_local_form form, sn_local_space **out);

// Between two points of a space.
double sn_local_kernel_of(const sn_local_space *space, const double *x, const double *y);

// kernel[p * pose_count + q] = sum_j relevance_j k_j(p, q); returns its trace.
double sn_local_kernel(const sn_local *l, const sn_local_space *spaces, const sn_local_set *set, double *kernel);

// Form and ridge (a part of the kernel's trace) with the least error on poses left out, where the options do not say.
// `expected` gets the squared error of all vertices and poses that this leaves when they are left out; INFINITY ridge: no
// correction is better than any.
sn_status sn_local_choose(const sn_local *l, sn_local_form *form, double *ridge, double *expected);

// Joints that are not near count nothing.
void sn_local_forget_far(const sn_local *l);

#endif
