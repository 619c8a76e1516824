// SPDX-License-Identifier: MIT
// Weighted pose-space deformation (Kurihara and Miyata 2004; Murtagh 2008, 2.3.3): a vertex measures the distance of
// poses by the joints it hangs on, d_v^2 = sum_j s_jv |x_j - y_j|^2. s_jv, its share of joint j, is its weight there, and a little
// of that on j's parent (a muscle on the upper arm knows the elbow), divided by their sum. Vertices with about the same shares have one
// system together.
#include <math.h>
#include <string.h>

#include "runtime/format.h"
#include "train/correct/groups.h"

// Poses that a vertex cannot tell apart, closer than this part of its largest distance, are averaged: a joint is not heard from a share
// of a ten thousandth on.
static const double same_pose = 1e-2;

// Vertices are of one group within this distance of the roots of their shares, which scale turns.
static const double same_shares = 0.5;
enum { most_groups = 128 };

typedef struct sharing {
  const sn_residuals *m;
  const int *joints;
  int joint_count;
  double *roots; // vertex_count * joint_count: of the shares
  int *group;    // of every vertex
  double *apart; // from the vertex its group began with
  int count;     // of groups
} sharing;

// What a joint's turn counts for vertices on its parent's bone; 1 for those on its own.
static const double parent_share = 0.01;

// Vertices on joints that do not turn hear all the same.
static void find_roots(const sharing *s, const int *parents, int i, double *out) {
  const sn_skin *skin = &s->m->skin;
  double sum = 0;
  for (int k = 0; k < s->joint_count; k++) {
    out[k] = 0;
    for (int n = 0; n < skin->influences; n++) {
      size_t at = (size_t)i * (size_t)skin->influences + (size_t)n;
      if (!(skin->weights[at] > 0)) continue;
      if (skin->joints[at] == s->joints[k]) out[k] += skin->weights[at];
      if (skin->joints[at] == parents[k]) out[k] += parent_share * skin->weights[at];
    }
    sum += out[k];
  }
  for (int k = 0; k < s->joint_count; k++) out[k] = sum > 0 ? sqrt(out[k] / sum) : sqrt(1.0 / s->joint_count);
}

// The next group begins with the vertex farthest from those there are, and has all that are nearer to it.
static void add_group(sharing *s, int first) {
  int width = s->joint_count;
  for (int i = 0; i < s->m->vertex_count; i++) {
    double sum = 0;
    for (int k = 0; k < width; k++) {
      double d =
        s->roots[(size_t)i * (size_t)width + (size_t)k] - s->roots[(size_t)first * (size_t)width + (size_t)k];
      sum += d * d;
    }
    if (sum < s->apart[i]) s->apart[i] = sum, s->group[i] = s->count;
  }
  s->count++;
}

static void find_groups(sharing *s) {
  for (int i = 0; i < s->m->vertex_count; i++) s->apart[i] = INFINITY;
  for (int first = 0; s->count < most_groups;) {
    add_group(s, first);
    for (int i = 0; i < s->m->vertex_count; i++)
      if (s->apart[i] > s->apart[first]) first = i;
    if (s->apart[first] <= same_shares * same_shares) return;
  }
}

// The joints that its vertices hear, each with the root of their mean share.
static void fill_group(const sharing *s, int g, int *vertices, sn_pose_group *out) {
  size_t width = (size_t)s->joint_count;
  out->vertices = vertices;
  for (int i = 0; i < s->m->vertex_count; i++)
    if (s->group[i] == g) out->vertices[out->count++] = i;
  for (size_t k = 0; k < width; k++) {
    double sum = 0;
    for (int n = 0; n < out->count; n++) {
      double root = s->roots[(size_t)out->vertices[n] * width + k];
      sum += root * root / out->count;
    }
    if (!(sum > same_pose * same_pose)) continue;
    out->scales[out->joint_count] = sqrt(sum), out->joints[out->joint_count++] = s->joints[k];
  }
}

static sn_status make_groups(sn_context *ctx, sn_arena *memory, sharing *s, sn_pose_groups *out) {
  size_t n = (size_t)s->m->vertex_count, width = (size_t)s->joint_count;
  int *parents = SN_NEW(ctx, memory, int, width), *vertices = SN_NEW(ctx, memory, int, n);
  s->roots = SN_NEW(ctx, memory, double, n *width), s->apart = SN_NEW(ctx, memory, double, n);
  s->group = SN_NEW(ctx, memory, int, n);
  if (!parents || !vertices || !s->roots || !s->apart || !s->group) return ctx->error.status;
  for (size_t k = 0; k < width; k++)
    for (int t = 0; t < s->m->joint_count; t++)
      if (s->m->turns[t].joint == s->joints[k]) parents[k] = s->m->turns[t].parent;
  for (size_t i = 0; i < n; i++) find_roots(s, parents, (int)i, s->roots + i * width);
  find_groups(s);
  sn_pose_group *groups = SN_NEW(ctx, memory, sn_pose_group, s->count);
  int *joints = SN_NEW(ctx, memory, int, (size_t)s->count *width);
  double *scales = SN_NEW(ctx, memory, double, (size_t)s->count *width);
  if (!groups || !joints || !scales) return ctx->error.status;
  for (int g = 0; g < s->count; g++) {
    groups[g].joints = joints + (size_t)g * width, groups[g].scales = scales + (size_t)g * width;
    fill_group(s, g, vertices, groups + g);
    vertices += groups[g].count;
  }
  *out = (sn_pose_groups){s->count, groups, (const float(*)[6])s->m->deltas, same_pose};
  return SN_OK;
}

sn_status sn_weighted_fields(sn_context *ctx, sn_arena *memory, const sn_correct_options *o, const sn_residuals *m,
                             const int *joints, int joint_count, sn_corrections *out) {
  *out = (sn_corrections){.vertex_count = m->vertex_count};
  sharing s = {.m = m, .joints = joints, .joint_count = joint_count};
  sn_pose_groups groups;
  sn_status status = make_groups(ctx, memory, &s, &groups);
  if (status == SN_OK) status = sn_group_fields(ctx, memory, o, m, &groups, out);
  return status == SN_OK ? sn_corrections_prune(ctx, o, m, out) : status;
}
