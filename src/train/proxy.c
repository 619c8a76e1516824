// SPDX-License-Identifier: MIT
// Motions of proxy bones, from their triangles and for given weights.
#include "train/proxy.h"

#include "base/scope.h"
#include "solve/bones.h"
#include "train/cluster.h"

static sn_vec3 rest_of(const sn_proxy_bones *b, int i) { return sn_vec3_from(b->examples->rest.positions[i]); }

sn_status sn_proxy_start(sn_context *ctx, sn_arena *memory, sn_proxy_bones *b) {
  const sn_mesh *rest = &b->examples->rest;
  size_t all = 3 * (size_t)rest->triangle_count;
  SN_SCRATCH(scratch, ctx);
  int *corners = SN_NEW(ctx, &scratch, int, all);
  sn_vec3 *x = SN_NEW(ctx, &scratch, sn_vec3, all), *y = SN_NEW(ctx, &scratch, sn_vec3, all);
  b->centre = SN_NEW(ctx, memory, sn_vec3, b->bone_count);
  b->motion = SN_NEW(ctx, memory, sn_affine, (size_t)b->bone_count * (size_t)b->keys->count);
  if (!corners || !x || !y || !b->centre || !b->motion) return ctx->error.status;
  for (int g = 0; g < b->bone_count; g++) {
    int count = 0;
    sn_vec3 sum = {0, 0, 0};
    for (int n = 0; n < 3 * rest->triangle_count; n++)
      if (b->group_of[n / 3] == g) corners[count++] = rest->triangles[n / 3][n % 3];
    for (int m = 0; m < count; m++) x[m] = rest_of(b, corners[m]), sum = sn_vec3_add(sum, x[m]);
    b->centre[g] = sn_vec3_scale(sum, 1.0 / count);
    for (int k = 0; k < b->keys->count; k++) {
      for (int m = 0; m < count; m++) y[m] = sn_proxy_target(b, k, corners[m]);
      sn_proxy_motions(b, k)[g] = sn_procrustes(count, x, y, NULL);
    }
  }
  return SN_OK;
}

sn_vec3 sn_proxy_residual(const sn_proxy_bones *b, int pose, int i) {
  return sn_vec3_sub(sn_proxy_target(b, pose, i),
                     sn_skin_blend(&b->skin, i, sn_proxy_motions(b, pose), rest_of(b, i)));
}

// The equation of vertex i: alpha_b (p - centre_b, 1) for its bones.
static void row_of(const void *user, int i, sn_bone_row *out) {
  const sn_proxy_bones *b = user;
  if (b->topology && b->topology->face_start[i] == b->topology->face_start[i + 1]) return;
  for (int k = 0; k < b->skin.influences; k++) {
    size_t at = (size_t)i * (size_t)b->skin.influences + (size_t)k;
    double w = (double)b->skin.weights[at], *u = out->u[out->count];
    if (!(w > 0)) break;
    sn_vec3 p = sn_vec3_sub(rest_of(b, i), b->centre[b->skin.joints[at]]);
    out->bone[out->count++] = b->skin.joints[at];
    u[0] = w * p.x, u[1] = w * p.y, u[2] = w * p.z, u[3] = w;
  }
}

static void residual_of(const void *user, int i, const sn_bone_row *row, int pose, double y[3]) {
  (void)row;
  sn_vec3 d = sn_proxy_residual(user, pose, i);
  y[0] = d.x, y[1] = d.y, y[2] = d.z;
}

sn_status sn_proxy_refit(sn_context *ctx, const sn_proxy_bones *b, double ridge) {
  SN_SCRATCH(scratch, ctx);
  sn_bone_system s;
  const sn_bone_equations equations = {b->bone_count, b->keys->count,  b->skin.vertex_count, row_of, residual_of, b,
                                       ridge,         sn_bone_rounding};
  SN_TRY(sn_bone_equations_solve(ctx, &scratch, &equations, &s));
  for (int n = 0; n < b->keys->count * b->bone_count; n++) {
    int pose = n / b->bone_count, g = n % b->bone_count;
    const double c[3] = {b->centre[g].x, b->centre[g].y, b->centre[g].z};
    for (int e = 0; e < 12; e++) {
      double step = sn_bone_step(&s, g, pose, e / 4, e % 4);
      b->motion[n].m[e / 4][e % 4] += step;
      if (e % 4 < 3) b->motion[n].m[e / 4][3] -= step * c[e % 4];
    }
  }
  return SN_OK;
}
