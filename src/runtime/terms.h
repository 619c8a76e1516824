// SPDX-License-Identifier: MIT
// Terms of joints, of pairs of joints and of values, for terms.c and the GPU. Only additions, multiplications and a division, in
// a fixed order: every machine gets the same bits.
#ifndef SINEW_RUNTIME_TERMS_H
#define SINEW_RUNTIME_TERMS_H

#include <string.h>

#include "runtime/pose_space.h"

// 2^-y for y >= 0, by the Taylor series about the nearest integer n. At least 2^-126, also for NaN.
// Compares integers, so that loops vectorise.
SN_RT_BOTH float sn_rt_half_power(float y) {
  const float round = 12582912.0f; // 1.5 * 2^23: the last bits of round - y are -n
  const int32_t most = 0x42fc0000; // 126
  int32_t bits;
  memcpy(&bits, &y, sizeof bits);
  bits &= 0x7fffffff;
  bits = bits < most ? bits : most;
  float inside, scale, shifted, x;
  memcpy(&inside, &bits, sizeof inside);
  shifted = round - inside, x = round - shifted - inside;
  uint32_t exponent;
  memcpy(&exponent, &shifted, sizeof exponent);
  exponent = (exponent << 23) + 0x3f800000u;
  memcpy(&scale, &exponent, sizeof scale);
  float sum = 1.5252734e-5f;
  sum = sum * x + 1.5403530e-4f;
  sum = sum * x + 1.3333558e-3f;
  sum = sum * x + 9.6181291e-3f;
  sum = sum * x + 5.5504109e-2f;
  sum = sum * x + 2.4022651e-1f;
  sum = sum * x + 6.9314718e-1f;
  return (sum * x + 1) * scale;
}

// The factor of |p - centre|^2 in the exponent: log2(e) / (2 width^2).
SN_RT_BOTH float sn_rt_gauss_factor(float width) { return 0.72134752f / (width * width); }

// The exponent y of a Gaussian 2^-y.
SN_RT_BOTH float sn_rt_gauss_exponent(const float p[3], const float centre[3], float factor) {
  float x = p[0] - centre[0], y = p[1] - centre[1], z = p[2] - centre[2];
  return factor * (x * x + y * y + z * z);
}

// The pose vector of an entry of joint.reference, minus that of the rest pose.
SN_RT_BOTH void sn_rt_term_vector(const sn_rt_pose_spaces *s, uint32_t index, const float rest[3],
                                  const float *rotations, float out[3]) {
  const float *vector = rotations + 8 * (size_t)s->references[index].joint + 4;
  for (int c = 0; c < 3; c++) out[c] = vector[c] - rest[c];
}

SN_RT_BOTH void sn_rt_joint_terms(const float p[3], float out[SN_RT_QUADRATIC]) {
  out[0] = p[0], out[1] = p[1], out[2] = p[2];
  out[3] = p[0] * p[0], out[4] = p[0] * p[1], out[5] = p[0] * p[2];
  out[6] = p[1] * p[1], out[7] = p[1] * p[2], out[8] = p[2] * p[2];
}

SN_RT_BOTH void sn_rt_pair_terms(const float p[3], const float q[3], float out[SN_RT_QUADRATIC]) {
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++) out[3 * r + c] = p[r] * q[c];
}

// A value of the pose, minus that of the rest pose.
SN_RT_BOTH float sn_rt_term_value(const sn_rt_pose_spaces *s, const sn_rt_terms *t, const float *rotations) {
  return rotations[8 * (size_t)s->joint_count + t->a] - t->rest[0][0];
}

// The terms of a joint, pair or value: at most SN_RT_QUADRATIC.
SN_RT_BOTH void sn_rt_plain_terms(const sn_rt_pose_spaces *s, const sn_rt_terms *t, const float *rotations,
                                  float *out) {
  float p[3], q[3];
  if (t->kind != SN_RT_TERMS_VALUE) sn_rt_term_vector(s, t->a, t->rest[0], rotations, p);
  if (t->kind == SN_RT_TERMS_JOINT) sn_rt_joint_terms(p, out);
  if (t->kind == SN_RT_TERMS_PAIR) sn_rt_term_vector(s, t->b, t->rest[1], rotations, q), sn_rt_pair_terms(p, q, out);
  if (t->kind == SN_RT_TERMS_VALUE) out[0] = sn_rt_term_value(s, t, rotations);
  if (t->kind == SN_RT_TERMS_VALUE && t->count > 1) out[1] = out[0] * out[0];
}

// On the CPU: all terms, then the coefficients of the pose spaces that sum them; with `again`, unchanged ones are reused.
struct sn_rt_scratch;
void sn_rt_make_sums(const sn_rt_model *model, const sn_rt_pose_spaces *spaces, const struct sn_rt_scratch *scratch,
                     int again);

#endif
