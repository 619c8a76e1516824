// SPDX-License-Identifier: MIT
// Sorts vertices and frames by their contents, independent of numbering and of the mesh's position and orientation. The solver
// works in this order, so that permuting the input permutes the result.
#include "rig/solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// The principal axes of the vertices, as rows. The sign of an axis makes its third moment positive; the axis with the smallest
// normalised third moment (across a plane of symmetry) gets the sign that makes the axes right-handed.
static sn_mat3 own_axes(const sn_mesh *rest, sn_vec3 mean) {
  sn_mat3 cov = {0}, u, v;
  sn_vec3 size;
  double lean[3] = {0};
  for (int i = 0; i < rest->vertex_count; i++) {
    sn_vec3 d = sn_vec3_sub(sn_vec3_from(rest->positions[i]), mean);
    double x[3] = {d.x, d.y, d.z};
    for (int r = 0; r < 3; r++)
      for (int c = 0; c < 3; c++) cov.m[r][c] += x[r] * x[c];
  }
  sn_mat3_svd(cov, &u, &size, &v);
  sn_mat3 axes = sn_mat3_transpose(u);
  for (int i = 0; i < rest->vertex_count; i++) {
    sn_vec3 d = sn_mat3_apply(axes, sn_vec3_sub(sn_vec3_from(rest->positions[i]), mean));
    lean[0] += d.x * d.x * d.x, lean[1] += d.y * d.y * d.y, lean[2] += d.z * d.z * d.z;
  }
  double spread[3] = {size.x, size.y, size.z};
  int least = 0;
  for (int c = 0; c < 3; c++) {
    if (lean[c] < 0)
      for (int k = 0; k < 3; k++) axes.m[c][k] = -axes.m[c][k];
    lean[c] = fabs(lean[c]) / (spread[c] * sqrt(spread[c]) + 1e-300);
    if (lean[c] < lean[least]) least = c;
  }
  if (sn_mat3_determinant(axes) < 0)
    for (int k = 0; k < 3; k++) axes.m[least][k] = -axes.m[least][k];
  return axes;
}

// Vertices in their principal axes, then rotated so that rows of vertices and mirror images are not aligned with an axis.
static void place_vertices(const sn_mesh *rest, double (*at)[4]) {
  int n = rest->vertex_count;
  sn_vec3 mean = {0, 0, 0};
  for (int i = 0; i < n; i++) mean = sn_vec3_mad(mean, sn_vec3_from(rest->positions[i]), 1.0 / n);
  sn_mat3 axes = sn_mat3_mul(sn_quat_to_mat3((sn_quat){1.0 / 2, 1.0 / 3, 1.0 / 6, 1}), own_axes(rest, mean));
  for (int i = 0; i < n; i++) {
    sn_vec3 d = sn_mat3_apply(axes, sn_vec3_sub(sn_vec3_from(rest->positions[i]), mean));
    at[i][0] = d.x, at[i][1] = d.y, at[i][2] = d.z;
  }
}

sn_status sn_rig_sort_vertices(sn_context *ctx, sn_arena *memory, const sn_mesh *rest, int **vertex, sn_mesh *out) {
  int n = rest->vertex_count;
  sn_arena scratch = sn_arena_new(ctx);
  double(*at)[4] = sn_arena_alloc(ctx, &scratch, (size_t)n, sizeof *at);
  int *place = SN_NEW(ctx, &scratch, int, n);
  *vertex = SN_NEW(ctx, memory, int, n);
  *out = (sn_mesh){0};
  sn_status status = at && place && *vertex ? SN_OK : ctx->error.status;
  if (status == SN_OK) status = sn_mesh_new(ctx, n, rest->triangle_count, out);
  if (status == SN_OK) {
    place_vertices(rest, at);
    for (int i = 0; i < n; i++) (*vertex)[i] = i;
    sn_fit_order((const double(*)[4])at, *vertex, n);
    for (int q = 0; q < n; q++) {
      int i = (*vertex)[q];
      place[i] = q;
      memcpy(out->positions[q], rest->positions[i], sizeof *out->positions);
    }
    for (int t = 0; t < rest->triangle_count; t++)
      for (int c = 0; c < 3; c++) out->triangles[t][c] = place[rest->triangles[t][c]];
  }
  sn_arena_free(&scratch);
  return status;
}

typedef struct frame_key {
  const sn_frames *frames;
  const int *vertex;
  int frame;
} frame_key;

static int by_content(const void *a, const void *b) {
  const frame_key *x = a, *y = b;
  const float(*p)[3] = sn_frame(x->frames, x->frame), (*q)[3] = sn_frame(y->frames, y->frame);
  for (int k = 0; k < x->frames->vertex_count; k++) {
    int i = x->vertex ? x->vertex[k] : k, order = memcmp(p[i], q[i], sizeof *p);
    if (order) return order;
  }
  return (x->frame > y->frame) - (x->frame < y->frame);
}

sn_status sn_rig_sort_frames(sn_context *ctx, const sn_frames *frames, const int *vertex, int *order) {
  sn_arena scratch = sn_arena_new(ctx);
  frame_key *keys = SN_NEW(ctx, &scratch, frame_key, frames->frame_count);
  if (keys) {
    for (int f = 0; f < frames->frame_count; f++) keys[f] = (frame_key){frames, vertex, f};
    qsort(keys, (size_t)frames->frame_count, sizeof *keys, by_content);
    for (int f = 0; f < frames->frame_count; f++) order[f] = keys[f].frame;
  }
  sn_arena_free(&scratch);
  return keys ? SN_OK : ctx->error.status;
}
