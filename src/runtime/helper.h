// SPDX-License-Identifier: MIT
// One helper joint: the channels (sums over terms of the pose) and the palette entry that they make of its parent's.
#ifndef SINEW_RUNTIME_HELPER_H
#define SINEW_RUNTIME_HELPER_H

#include "runtime/smallmath.h"
#include "runtime/terms.h"

SN_RT_LANES(sn_rt_four, 4);

SN_RT_BOTH sn_rt_four sn_rt_load_four(const float *p) {
  sn_rt_four out;
  memcpy(&out, p, sizeof out);
  return out;
}

// Adds the terms of one joint (sn_rt_joint_terms) times their rows, by Horner's rule: p_r (row_r + sum_q p_q row_rq).
SN_RT_BOTH void sn_rt_helper_add_joint(const float p[3], const float *rows, float sum[SN_RT_HELPER_ROW]) {
  for (int c = 0; c < SN_RT_HELPER_ROW; c += 4, rows += 4) {
    sn_rt_four out = sn_rt_load_four(sum + c);
    for (int r = 0, k = 3; r < 3; r++) {
      sn_rt_four factor = sn_rt_load_four(rows + SN_RT_HELPER_ROW * r);
      for (int q = r; q < 3; q++, k++) SN_RT_ADD_PRODUCT(factor, sn_rt_load_four(rows + SN_RT_HELPER_ROW * k), p[q]);
      SN_RT_ADD_PRODUCT(out, factor, p[r]);
    }
    memcpy(sum + c, &out, sizeof out);
  }
}

SN_RT_BOTH void sn_rt_helper_channels(const sn_rt_helper *h, const sn_rt_pose_spaces *s, const float *rotations,
                                      float out[SN_RT_HELPER_ROW]) {
  const float *row = h->group_count ? s->mix + SN_RT_HELPER_ROW * (size_t)h->first_row : s->mix;
  float terms[SN_RT_QUADRATIC], sum[SN_RT_HELPER_ROW] = {0};
  for (uint32_t g = 0; g < h->group_count; g++) {
    const sn_rt_terms *t = s->terms + h->first_group + g;
    if (t->kind == SN_RT_TERMS_JOINT) {
      sn_rt_term_vector(s, t->a, t->rest[0], rotations, terms);
      sn_rt_helper_add_joint(terms, row, sum);
    } else {
      sn_rt_plain_terms(s, t, rotations, terms);
      for (int k = 0; k < SN_RT_HELPER_ROW * t->count; k++)
        sum[k % SN_RT_HELPER_ROW] += terms[k / SN_RT_HELPER_ROW] * row[k];
    }
    row += SN_RT_HELPER_ROW * t->count;
  }
  for (int c = 0; c < SN_RT_HELPER_CHANNELS; c++) { // also for what is no number
    float most = h->high[c], inside = sum[c] > h->low[c] ? sum[c] : h->low[c];
    out[c] = inside < most ? inside : most;
  }
  out[SN_RT_HELPER_CHANNELS] = 0;
}

// The local motion, in the parent's rest pose: x -> s R (x - centre) + centre + t, as rows. R is that of the quaternion (r / 2, 1).
SN_RT_BOTH void sn_rt_helper_local(const float centre[3], const float channels[SN_RT_HELPER_ROW], float out[12]) {
  const float *t = channels, *r = channels + 3;
  float q[4] = {r[0] / 2, r[1] / 2, r[2] / 2, 1}, m[9], scale = 1 + channels[6];
  sn_rt_rotation_from_quat(q, m);
  for (int i = 0; i < 3; i++) {
    out[4 * i + 3] = centre[i] + t[i];
    for (int k = 0; k < 3; k++) {
      out[4 * i + k] = scale * m[3 * i + k];
      out[4 * i + 3] -= out[4 * i + k] * centre[k];
    }
  }
}

// What values and products of values add: t + r x (x - centre) + s (x - centre), s along the axes. Returns the next helper's.
SN_RT_BOTH const sn_rt_linear *sn_rt_helper_linear(const sn_rt_linear *at, const sn_rt_linear *end, uint32_t helper,
                                                   const float *values, float out[SN_RT_LINEAR_PLACES]) {
  float factor = 1;
  for (int c = 0; c < SN_RT_LINEAR_PLACES; c++) out[c] = 0;
  for (; at < end && at->place / SN_RT_LINEAR_PLACES == helper; at++) {
    int place = at->place % SN_RT_LINEAR_PLACES;
    factor *= at->number * (at->value == SN_RT_NO_JOINT ? 1 : values[at->value]);
    if (place == SN_RT_LINEAR_FACTOR) continue;
    out[place] += factor, factor = 1;
  }
  return at;
}

SN_RT_BOTH void sn_rt_helper_add(const float centre[3], const float channels[SN_RT_LINEAR_PLACES], float local[12]) {
  const float *t = channels, *r = channels + 3, *s = channels + 6;
  const float m[3][3] = {{s[0], -r[2], r[1]}, {r[2], s[1], -r[0]}, {-r[1], r[0], s[2]}};
  for (int i = 0; i < 3; i++) {
    for (int k = 0; k < 3; k++) local[4 * i + k] += m[i][k];
    local[4 * i + 3] += t[i] - (m[i][0] * centre[0] + m[i][1] * centre[1] + m[i][2] * centre[2]);
  }
}

// The palette entry: parent times local. `parent`: four columns of four floats, NULL: it stays where it is.
SN_RT_BOTH void sn_rt_helper_matrix(const float *parent, const float local[12], float out[16]) {
  const float still[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, *p = parent ? parent : still;
  for (int c = 0; c < 4; c++) {
    sn_rt_four column = sn_rt_load_four(c == 3 ? p + 12 : still + 12);
    for (int k = 0; k < 3; k++) SN_RT_ADD_PRODUCT(column, sn_rt_load_four(p + 4 * k), local[4 * k + c]);
    memcpy(out + 4 * c, &column, sizeof column);
  }
}

#endif
