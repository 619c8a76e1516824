// SPDX-License-Identifier: MIT
// Options of published=1 and its hard set F.
#include "train/rotreg/published.h"

#include <math.h>

// Error of a vertex in F, over the rms of all vertices. Section 4.2 has a threshold without a number.
static const double threshold = 0.5;

sn_rotreg_fit_options sn_rotreg_published_options(void) {
  sn_rotreg_fit_options out = sn_rotreg_fit_options_default();
  out.published = true, out.map_ridge = INFINITY, out.tilt_ridge = out.rest_weight = 0;
  out.shear_ridge = 1e-3; // published: least squares (3.3), which fewer than seven poses leave open
  return out;
}

sn_status sn_rotreg_hard_set(sn_context *ctx, const sn_examples *examples, const sn_topology *topology,
                             const sn_keys *keys, const sn_rotreg_anchors *blend, bool *fixed) {
  int n = examples->rest.vertex_count;
  sn_arena scratch = sn_arena_new(ctx);
  double *error = SN_NEW(ctx, &scratch, double, n), mean = 0;
  int *best = SN_NEW(ctx, &scratch, int, n); // 1 + the best vertex of a component
  bool ready = error && best;
  for (int i = 0; ready && i < n; i++) {
    for (int k = 0; k < keys->count; k++) {
      int f = keys->frames[k];
      sn_vec3 at = sn_rotreg_anchor_at(blend, i, sn_pose(&examples->poses, f));
      sn_vec3 d = sn_vec3_sub(at, sn_vec3_from(sn_frame(&examples->frames, f)[i]));
      error[i] += sn_vec3_dot(d, d);
    }
    mean += error[i] / n;
    int *first = &best[topology->component[i]];
    if (*first == 0 || error[i] < error[*first - 1]) *first = i + 1;
  }
  for (int i = 0; ready && i < n; i++)
    fixed[i] = sqrt(error[i]) <= threshold * sqrt(mean) || best[topology->component[i]] == i + 1;
  sn_arena_free(&scratch);
  return ready ? SN_OK : ctx->error.status;
}
