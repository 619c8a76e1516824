// SPDX-License-Identifier: MIT
// Nearest vertices by a k-d tree.
#include "base/scope.h"
#include "sinew/scene.h"

typedef struct kd_tree {
  const float (*points)[3];
  int *order; // the root of [begin, end) is at its middle
} kd_tree;

static int widest_axis(const kd_tree *tree, int begin, int end) {
  float low[3], high[3];
  for (int c = 0; c < 3; c++) low[c] = high[c] = tree->points[tree->order[begin]][c];
  for (int k = begin; k < end; k++)
    for (int c = 0; c < 3; c++) {
      float x = tree->points[tree->order[k]][c];
      if (x < low[c]) low[c] = x;
      if (x > high[c]) high[c] = x;
    }
  float x = high[0] - low[0], y = high[1] - low[1], z = high[2] - low[2];
  return x >= y && x >= z ? 0 : y >= z ? 1 : 2;
}

// Quickselect by `axis`: puts the element of rank `middle` of [begin, end) in its place.
static void select_middle(const kd_tree *tree, int begin, int end, int middle, int axis) {
  int *order = tree->order;
  while (end - begin > 1) {
    float pivot = tree->points[order[begin + (end - begin) / 2]][axis];
    int low = begin, high = end - 1;
    while (low <= high) {
      while (tree->points[order[low]][axis] < pivot) low++;
      while (tree->points[order[high]][axis] > pivot) high--;
      if (low > high) break;
      int keep = order[low];
      order[low++] = order[high], order[high--] = keep;
    }
    if (middle <= high)
      end = high + 1;
    else if (middle >= low)
      begin = low;
    else
      return;
  }
}

static void build(const kd_tree *tree, unsigned char *axes, int begin, int end) {
  while (end - begin > 1) {
    int middle = begin + (end - begin) / 2, axis = widest_axis(tree, begin, end);
    select_middle(tree, begin, end, middle, axis);
    axes[middle] = (unsigned char)axis;
    build(tree, axes, begin, middle);
    begin = middle + 1;
  }
}

typedef struct kd_query {
  const float *point;
  double best; // squared
  int nearest;
} kd_query;

static void visit(const kd_tree *tree, const unsigned char *axes, int begin, int end, kd_query *query) {
  while (begin < end) {
    int middle = begin + (end - begin) / 2, vertex = tree->order[middle];
    sn_vec3 d = sn_vec3_sub(sn_vec3_from(tree->points[vertex]), sn_vec3_from(query->point));
    double distance = sn_vec3_dot(d, d);
    if (distance < query->best || (distance == query->best && vertex < query->nearest))
      query->best = distance, query->nearest = vertex;
    int axis = axes[middle];
    double side = (double)query->point[axis] - tree->points[vertex][axis];
    int near_begin = side < 0 ? begin : middle + 1, near_end = side < 0 ? middle : end;
    visit(tree, axes, near_begin, near_end, query);
    if (side * side > query->best) return;
    *(side < 0 ? &begin : &end) = side < 0 ? middle + 1 : middle;
  }
}

sn_status sn_nearest_vertices(sn_context *ctx, sn_points among, sn_points points, int *nearest, double *distances) {
  SN_SCRATCH(scratch, ctx);
  kd_tree tree = {among.positions, SN_NEW(ctx, &scratch, int, among.count)};
  unsigned char *axes = SN_NEW(ctx, &scratch, unsigned char, among.count);
  if (!tree.order || !axes) return ctx->error.status;
  if (among.count == 0) return sn_fail(ctx, SN_BAD_INPUT, "no vertices to match");
  for (int k = 0; k < among.count; k++) tree.order[k] = k;
  build(&tree, axes, 0, among.count);
  for (int i = 0; i < points.count; i++) {
    kd_query query = {points.positions[i], INFINITY, 0};
    visit(&tree, axes, 0, among.count, &query);
    nearest[i] = query.nearest;
    if (distances) distances[i] = sqrt(query.best);
  }
  return SN_OK;
}
