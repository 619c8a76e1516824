// SPDX-License-Identifier: MIT
// Blend shapes as bones (after Kavan and others 2024): M_h = I + sum_s v_s D_hs, D_hs of few numbers, v_s a value or, where the
// frames show it, a product of two.
// Errors r_s of single shapes add up in mixtures: with v uniform in its range, of mean m and variance 1/12, the expected squared
// error is sum_s |r_s|^2 / 12 + |sum_s m_s r_s|^2. Single shapes count as much: together 2 sum_s |r_s|^2 + 12 |sum_s m_s r_s|^2,
// and the second is one more shape, the mean mixture.
#ifndef SINEW_TRAIN_HELPERS_FACES_H
#define SINEW_TRAIN_HELPERS_FACES_H

#include "train/helpers/helpers.h"

enum { SN_FACE_CHANNELS = SN_RT_LINEAR_CHANNELS };

typedef struct sn_face_solve {
  sn_context *ctx;
  sn_arena *memory;
  const sn_examples *examples;
  const sn_keys *keys;
  const sn_helpers_options *options;
  int value_count, *values;      // those that change
  float (*ranges)[2];            // of these; v is the value minus that of the rest mesh, over the length of its range
  int shape_count, (*shapes)[2]; // a value each, then products of two; -1: 1
  double *factors;               // c_s = sqrt(6) m_s: of the shapes in the mean mixture
  double *regression;            // shape_count * keys->count: the shapes are these sums of the frames
  sn_affine *unpose;             // of the joint, in every frame; NULL: there is none
  int sample_count, *sample;
  float *targets;   // sample_count * sn_face_dims: how far the shapes, then the mean mixture, move the vertices
  double *energies; // of the targets, squared
  sn_skin skin;     // of the sample
  int bone_count;   // so far; bone 0 does not move
  float (*centres)[3];
  double diagonal, mean_energy;
  double *x;    // bone, shape, channel: D_hs about the centre
  float *moves; // bone, shape or mean mixture: the matrix of D_hs, three rows of four
  bool *kept;   // shape, bone, channel: numbers that may differ from 0; NULL: all
} sn_face_solve;

static inline size_t sn_face_dims(const sn_face_solve *s) { return 3 * (size_t)(s->shape_count + 1); }

static inline double *sn_face_x(const sn_face_solve *s, int bone, int shape) {
  return s->x + ((size_t)bone * (size_t)s->shape_count + (size_t)shape) * SN_FACE_CHANNELS;
}

// The best D for the weights of the sample. `choose`: with the `numbers` that lower the error most, chosen anew.
sn_status sn_face_transforms(sn_face_solve *s, bool choose);

// The method for examples with values, without a skeleton or with one joint.
sn_status sn_faces_train(sn_context *ctx, const sn_helpers_options *options, const sn_examples *examples,
                         const sn_keys *keys, sn_plan *plan, sn_train_report *report);

#endif
