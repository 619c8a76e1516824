// SPDX-License-Identifier: MIT
// The sparse normal equations of mesh reconstruction, factored once per mesh.
#include "train/rotreg/reduced.h"

#include "base/scope.h"

sn_status sn_rotreg_poisson_factor(sn_context *ctx, const sn_mesh *rest, const double (*edges)[2],
                                   const double *anchor_weight, sn_rotreg_poisson *out) {
  *out = (sn_rotreg_poisson){.rest = rest, .edges = edges, .anchor_weight = anchor_weight};
  int64_t count = 6 * (int64_t)rest->triangle_count + rest->vertex_count, at = 0;
  SN_SCRATCH(scratch, ctx);
  sn_triplet *entries = SN_NEW(ctx, &scratch, sn_triplet, count);
  if (!entries) return ctx->error.status;
  for (int n = 0; n < 2 * rest->triangle_count; n++) {
    int a = rest->triangles[n / 2][0], b = rest->triangles[n / 2][1 + n % 2];
    double e = edges[n / 2][n % 2];
    if (a == b) continue;
    entries[at++] = (sn_triplet){a, a, e}, entries[at++] = (sn_triplet){b, b, e};
    entries[at++] = (sn_triplet){a < b ? a : b, a < b ? b : a, -e};
  }
  for (int i = 0; i < rest->vertex_count; i++) entries[at++] = (sn_triplet){i, i, anchor_weight[i]};
  return sn_cholesky_factor(ctx, rest->vertex_count, entries, at, &out->factor);
}

size_t sn_rotreg_poisson_work(const sn_mesh *rest) { return 4 * (size_t)rest->vertex_count; }

static void add_edge(const sn_rotreg_poisson *p, int t, int j, const sn_mat3 *gradient, double *right) {
  const sn_mesh *rest = p->rest;
  size_t n = (size_t)rest->vertex_count;
  int a = rest->triangles[t][0], b = rest->triangles[t][j + 1];
  sn_vec3 edge = sn_vec3_sub(sn_vec3_from(rest->positions[b]), sn_vec3_from(rest->positions[a]));
  sn_vec3 v = sn_vec3_scale(sn_mat3_apply(*gradient, edge), p->edges[t][j]);
  right[b] += v.x, right[n + (size_t)b] += v.y, right[2 * n + (size_t)b] += v.z;
  right[a] -= v.x, right[n + (size_t)a] -= v.y, right[2 * n + (size_t)a] -= v.z;
}

void sn_rotreg_poisson_solve(const sn_rotreg_poisson *p, const sn_mat3 *gradients, const sn_vec3 *blend, double *work,
                             float (*out)[3]) {
  size_t n = (size_t)p->rest->vertex_count;
  for (size_t i = 0; i < n; i++) {
    double c = p->anchor_weight[i];
    work[i] = c * blend[i].x, work[n + i] = c * blend[i].y, work[2 * n + i] = c * blend[i].z;
  }
  for (int t = 0; t < p->rest->triangle_count; t++)
    for (int j = 0; j < 2; j++) add_edge(p, t, j, &gradients[t], work);
  for (size_t c = 0; c < 3; c++) {
    sn_cholesky_solve(&p->factor, work + c * n, work + 3 * n);
    for (size_t i = 0; i < n; i++) out[i][c] = (float)work[c * n + i];
  }
}

void sn_rotreg_poisson_free(sn_rotreg_poisson *p) { sn_cholesky_free(&p->factor); }
