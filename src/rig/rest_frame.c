// SPDX-License-Identifier: MIT
// Chooses a frame as rest pose: the one from which the other frames deviate least, up to rigid motions.
#include <math.h>

#include "sinew/rig.h"

enum { probes = 300 }; // vertices for the distance between frames

// Squared residual of the best rigid motion from frame a to frame b, over the probes.
static double bending(const sn_frames *frames, int a, int b) {
  const float(*x)[3] = sn_frame(frames, a), (*y)[3] = sn_frame(frames, b);
  int count = frames->vertex_count < probes ? frames->vertex_count : probes;
  sn_vec3 from = {0, 0, 0}, to = {0, 0, 0};
  sn_mat3 h = {0};
  double sum = 0;
  for (int q = 0; q < count; q++) {
    int i = (int)((int64_t)q * frames->vertex_count / count);
    from = sn_vec3_mad(from, sn_vec3_from(x[i]), 1.0 / count), to = sn_vec3_mad(to, sn_vec3_from(y[i]), 1.0 / count);
  }
  for (int pass = 0; pass < 2; pass++) {
    sn_mat3 turn = pass ? sn_mat3_kabsch(h) : sn_mat3_identity();
    for (int q = 0; q < count; q++) {
      int i = (int)((int64_t)q * frames->vertex_count / count);
      sn_vec3 u = sn_vec3_sub(sn_vec3_from(x[i]), from), v = sn_vec3_sub(sn_vec3_from(y[i]), to);
      sn_vec3 d = sn_vec3_sub(sn_mat3_apply(turn, u), v);
      double us[3] = {u.x, u.y, u.z}, vs[3] = {v.x, v.y, v.z};
      for (int r = 0; r < 3 && pass == 0; r++)
        for (int k = 0; k < 3; k++) h.m[r][k] += us[r] * vs[k];
      if (pass) sum += sn_vec3_dot(d, d);
    }
  }
  return sum;
}

int sn_rig_rest_frame(const sn_frames *frames) {
  int best = 0, step = 1 + frames->frame_count / 200;
  double least = INFINITY;
  for (int a = 0; a < frames->frame_count; a += step) {
    double sum = 0;
    for (int b = 0; b < frames->frame_count; b += step) sum += bending(frames, a, b);
    if (sum < least) least = sum, best = a;
  }
  return best;
}
