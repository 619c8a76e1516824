// SPDX-License-Identifier: MIT
// Half-way and scaling joints (Mohr and Gleicher 2003): palette entries derived from others, four columns of four floats each.
#ifndef SINEW_RUNTIME_EXTRA_H
#define SINEW_RUNTIME_EXTRA_H

#include "runtime/format.h"
#include "runtime/smallmath.h"
#include "runtime/vertex.h"

SN_RT_BOTH void sn_rt_halfway_joint(const sn_rt_extra *x, const float parent[16], const float child[16],
                                    float out[16]) {
  float r[9], qp[4], qc[4], q[4], centre[3];
  sn_rt_rotation_of(parent, r), sn_rt_quat_from_rotation(r, qp);
  sn_rt_rotation_of(child, r), sn_rt_quat_from_rotation(r, qc);
  sn_rt_slerp(qp, qc, x->amount, q);
  sn_rt_rotation_from_quat(q, r);
  sn_rt_transform(child, x->centre, centre);
  sn_rt_make_about(r, x->centre, centre, out);
}

// sin^2(bend / 2), where bend is the angle by which the child rotates `direction` relative to the parent, or the angle of the
// whole relative rotation if there is no direction.
SN_RT_BOTH float sn_rt_bend_of(const sn_rt_extra *x, const float parent[16], const float child[16]) {
  float rp[9], rc[9], cosine = 0;
  sn_rt_rotation_of(parent, rp), sn_rt_rotation_of(child, rc);
  const float *d = x->direction;
  float length = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
  if (length > 0) {
    for (int r = 0; r < 3; r++) {
      float p = rp[3 * r] * d[0] + rp[3 * r + 1] * d[1] + rp[3 * r + 2] * d[2];
      float c = rc[3 * r] * d[0] + rc[3 * r + 1] * d[1] + rc[3 * r + 2] * d[2];
      cosine += p * c / length;
    }
  } else {
    for (int n = 0; n < 9; n++) cosine += rp[n] * rc[n]; // trace of rp^T rc = 1 + 2 cos(angle)
    cosine = (cosine - 1) / 2;
  }
  return (1 - cosine) / 2;
}

SN_RT_BOTH void sn_rt_scaling_joint(const sn_rt_extra *x, const float parent[16], const float child[16],
                                    const float base[16], float out[16]) {
  const float *s = x->stretch;
  float bend = sn_rt_bend_of(x, parent, child), a[9], product[9], centre[3];
  float stretch[9] = {1 + bend * s[0], bend * s[3], bend * s[4], bend * s[3],    1 + bend * s[1],
                      bend * s[5],     bend * s[4], bend * s[5], 1 + bend * s[2]};
  sn_rt_linear_part(base, a);
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++)
      product[3 * r + c] = a[3 * r] * stretch[c] + a[3 * r + 1] * stretch[3 + c] + a[3 * r + 2] * stretch[6 + c];
  sn_rt_transform(base, x->centre, centre);
  sn_rt_make_about(product, x->centre, centre, out);
}

#endif
