// SPDX-License-Identifier: MIT
// Encodes F = Q W of a bone as numbers d: the quaternion q and the upper six entries w of W (Kim 2010, section 3.2).
#include "train/affine/affine.h"

#include <math.h>

#include "base/scope.h"

int sn_control_outputs(const sn_affine_options *options) {
  int stretch = options->stretch ? 6 : 0;
  return 4 + stretch + (options->places != SN_PLACES_PREDICTED ? 0 : sn_control_dual(options) ? 4 : 3);
}

bool sn_control_dual(const sn_affine_options *options) {
  return !options->stretch && options->places == SN_PLACES_PREDICTED;
}

static double alignment(const double *quaternions, int stride, int a, int b) {
  const double *p = quaternions + (size_t)a * (size_t)stride, *q = quaternions + (size_t)b * (size_t)stride;
  return p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3];
}

static void negate(double *numbers, int count) {
  for (int n = 0; n < count; n++) numbers[n] = -numbers[n];
}

void sn_control_align_signs(double *quaternions, int count, int stride, int dual, double *space) {
  double *cost = space, *parent = space + count, *done = space + 2 * (size_t)count, scalar = 0;
  for (int f = 0; f < count; f++) cost[f] = f ? 2 : 0, parent[f] = -1, done[f] = 0;
  for (int step = 0; step < count; step++) { // Prim's algorithm: adds the nearest frame to the tree
    int next = -1;
    for (int f = 0; f < count; f++)
      if (done[f] == 0 && (next < 0 || cost[f] < cost[next])) next = f;
    done[next] = 1;
    if (parent[next] >= 0 && alignment(quaternions, stride, next, (int)parent[next]) < 0) {
      negate(quaternions + (size_t)next * (size_t)stride, 4 + dual);
    }
    for (int f = 0; f < count; f++) {
      double c = 1 - fabs(alignment(quaternions, stride, f, next));
      if (done[f] == 0 && c < cost[f]) cost[f] = c, parent[f] = next;
    }
  }
  for (int f = 0; f < count; f++) scalar += quaternions[(size_t)f * (size_t)stride + 3];
  for (int f = 0; f < count && scalar < 0; f++) negate(quaternions + (size_t)f * (size_t)stride, 4 + dual);
}

// The dual part of the dual quaternion with real part q and translation t: (t, 0) q / 2.
static void store_dual(sn_quat q, sn_vec3 t, double out[4]) {
  sn_quat dual = sn_quat_scale(sn_quat_mul((sn_quat){t.x, t.y, t.z, 0}, q), 0.5);
  out[0] = dual.x, out[1] = dual.y, out[2] = dual.z, out[3] = dual.w;
}

static void encode_bone(const sn_proxy_bones *bones, const sn_affine_options *o, int b, int f, double *out) {
  sn_affine motion = bones->motion[(size_t)f * (size_t)bones->bone_count + (size_t)b];
  sn_vec3 centre = bones->centre[b], moved = sn_vec3_sub(sn_affine_apply(motion, centre), centre);
  sn_mat3 r, w;
  sn_mat3_polar(sn_affine_linear(motion), &r, &w);
  sn_quat q = sn_quat_from_mat3(r);
  out[0] = q.x, out[1] = q.y, out[2] = q.z, out[3] = q.w;
  if (o->stretch) {
    out[4] = w.m[0][0], out[5] = w.m[0][1], out[6] = w.m[0][2];
    out[7] = w.m[1][1], out[8] = w.m[1][2], out[9] = w.m[2][2];
  }
  if (sn_control_dual(o)) {
    store_dual(q, moved, out + 4);
  } else if (o->places == SN_PLACES_PREDICTED) {
    double *place = out + (o->stretch ? 4 + 6 : 4);
    place[0] = moved.x, place[1] = moved.y, place[2] = moved.z;
  }
}

sn_status sn_control_encode(sn_context *ctx, const sn_proxy_bones *bones, const sn_affine_options *options,
                            double *out) {
  SN_SCRATCH(scratch, ctx);
  int outputs = sn_control_outputs(options), frames = bones->keys->count;
  double *space = SN_NEW(ctx, &scratch, double, 3 * (size_t)frames);
  if (!space) return ctx->error.status;
  for (int b = 0; b < bones->bone_count; b++) {
    double *own = out + (size_t)b * (size_t)frames * (size_t)outputs;
    for (int f = 0; f < frames; f++) encode_bone(bones, options, b, f, own + (size_t)f * (size_t)outputs);
    sn_control_align_signs(own, frames, outputs, sn_control_dual(options) ? 4 : 0, space);
  }
  return SN_OK;
}
