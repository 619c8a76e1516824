// SPDX-License-Identifier: MIT
// A beam of three bones, whose two ends bend each on its own and bulge as they do: two independent joints.
#ifndef SINEW_TEST_PSD_FIXTURE_H
#define SINEW_TEST_PSD_FIXTURE_H

#include <math.h>

#include "lab/gen/gen.h"
#include "sinew/scene.h"

enum { two_ends_steps = 5 }; // angles 0, 20, 40, 60, 80 degrees at either end; frame = left * steps + right

// How much a point goes with the end beyond the joint at `at` (side -1 the left one), softly over half a unit.
static inline double two_ends_share(double x, double at, double side, double *beyond) {
  *beyond = fmin(1, fmax(-1, side * (x - at) / 0.25));
  return 0.5 + 0.5 * sin(0.5 * SN_PI * *beyond);
}

// That end rotated by `angle`, and thicker where it bends.
static inline sn_vec3 two_ends_bend(sn_vec3 p, double at, double side, double angle) {
  double beyond, share = two_ends_share(p.x, at, side, &beyond), window = 1 - beyond * beyond;
  double swell = 1 + 0.5 * sin(angle) * window * window;
  sn_vec3 local = {p.x - at, p.y * swell, p.z * swell};
  local = sn_mat3_apply(sn_rotation_exp(sn_vec3_make(0, 0, side * share * angle)), local);
  return sn_vec3_make(local.x + at, local.y, local.z);
}

static inline sn_affine two_ends_joint(double at, double side, double angle) {
  return sn_affine_about(sn_rotation_exp(sn_vec3_make(0, 0, side * angle)), sn_vec3_make(at, 0, 0));
}

// Frames over the grid of both angles. Frees nothing on failure: for tests.
static inline sn_status two_ends(sn_context *ctx, int vertices, sn_examples *out) {
  sn_gen_options options = sn_gen_options_default();
  options.set = "bar", options.vertices = vertices;
  sn_examples bar;
  sn_status status = sn_gen(ctx, &options, &bar);
  if (status != SN_OK) return status;
  *out = (sn_examples){.rest = bar.rest};
  bar.rest = (sn_mesh){0};
  sn_examples_free(&bar);
  int n = out->rest.vertex_count, frames = two_ends_steps * two_ends_steps;
  static const char *const names[] = {"middle", "left", "right"};
  const double at[3] = {1, 0.6, 1.4}, side[3] = {0, -1, 1};
  if (sn_skeleton_new(ctx, 3, &out->skeleton) != SN_OK || sn_frames_new(ctx, n, frames, &out->frames) != SN_OK ||
      sn_poses_new(ctx, 3, frames, &out->poses) != SN_OK || sn_skin_new(ctx, n, 2, &out->skin) != SN_OK)
    return ctx->error.status;
  for (int j = 0; j < 3; j++) {
    out->skeleton.names[j] = sn_arena_text(ctx, &out->skeleton.memory, names[j]);
    out->skeleton.parents[j] = j ? 0 : -1;
    out->skeleton.rest[j] = sn_affine_make(sn_mat3_identity(), sn_vec3_make(at[j], 0, 0));
  }
  status = sn_skeleton_sort(ctx, &out->skeleton);
  for (int i = 0; i < n; i++) {
    double x = out->rest.positions[i][0], beyond;
    int j = x < 1 ? 1 : 2;
    out->skin.joints[2 * i + 1] = (uint16_t)j;
    out->skin.weights[2 * i + 1] = (float)two_ends_share(x, at[j], side[j], &beyond);
    out->skin.weights[2 * i] = 1 - out->skin.weights[2 * i + 1];
  }
  sn_skin_normalize(&out->skin);
  for (int f = 0; status == SN_OK && f < frames; f++) {
    double angles[3] = {0, f / two_ends_steps * SN_PI / 9, f % two_ends_steps * SN_PI / 9};
    for (int j = 1; j < 3; j++) sn_pose(&out->poses, f)[j] = two_ends_joint(at[j], side[j], angles[j]);
    for (int i = 0; i < n; i++) {
      sn_vec3 p = sn_vec3_from(out->rest.positions[i]);
      int j = p.x < 1 ? 1 : 2;
      sn_vec3_store(two_ends_bend(p, at[j], side[j], angles[j]), sn_frame_mutable(&out->frames, f)[i]);
    }
  }
  return status;
}

#endif
