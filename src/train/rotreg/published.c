// SPDX-License-Identifier: MIT
// Options of published=1 and its hard set F.
#include "train/rotreg/published.h"

#include <math.h>
#include <stdlib.h>

// Of a joint's vertices. The paper gives no number.
static const double hard_share = 0.3;

sn_rotreg_fit_options sn_rotreg_published_options(void) {
  sn_rotreg_fit_options out = sn_rotreg_fit_options_default();
  out.published = true, out.map_ridge = INFINITY, out.tilt_ridge = out.rest_weight = 0;
  out.shear_ridge = 1e-3; // published: epsilon, without a number
  return out;
}

// Vertices of one component that follow one joint above all.
typedef struct scored {
  int component, joint, vertex;
  double miss;
} scored;

static bool same_region(const scored *a, const scored *b) {
  return a->component == b->component && a->joint == b->joint;
}

static int by_miss(const void *a, const void *b) {
  const scored *p = a, *q = b;
  if (p->component != q->component) return p->component < q->component ? -1 : 1;
  if (p->joint != q->joint) return p->joint < q->joint ? -1 : 1;
  if (p->miss != q->miss) return p->miss < q->miss ? -1 : 1;
  return p->vertex < q->vertex ? -1 : 1;
}

sn_status sn_rotreg_hard_set(sn_context *ctx, const sn_examples *examples, const sn_topology *topology,
                             const sn_keys *keys, const sn_rotreg_anchors *blend, bool *fixed) {
  int n = examples->rest.vertex_count;
  sn_arena scratch = sn_arena_new(ctx);
  scored *order = SN_NEW(ctx, &scratch, scored, n);
  for (int i = 0; order && i < n; i++) {
    order[i] = (scored){topology->component[i], blend->joints[i][0], i, 0};
    for (int k = 0; k < keys->count; k++) {
      int f = keys->frames[k];
      sn_vec3 at = sn_rotreg_anchor_at(blend, i, sn_pose(&examples->poses, f));
      sn_vec3 d = sn_vec3_sub(at, sn_vec3_from(sn_frame(&examples->frames, f)[i]));
      order[i].miss += sn_vec3_dot(d, d);
    }
  }
  if (order) qsort(order, (size_t)n, sizeof *order, by_miss);
  for (int first = 0, end; order && first < n; first = end) {
    for (end = first; end < n && same_region(&order[end], &order[first]);) end++;
    int count = (int)ceil(hard_share * (end - first));
    for (int k = 0; k < count; k++) fixed[order[first + k].vertex] = true;
  }
  sn_arena_free(&scratch);
  return order ? SN_OK : ctx->error.status;
}
