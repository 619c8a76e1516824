// SPDX-License-Identifier: MIT
// An order of vertices and frames that depends on what they are and not on how they are numbered or where the mesh stands: the
// solver works in it, so that a permutation permutes its result.
#include "rig/solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct curve_key {
  uint32_t code;
  double at[3]; // in the mesh's own axes
  int vertex;
} curve_key;

static int by_code(const void *a, const void *b) {
  const curve_key *x = a, *y = b;
  if (x->code != y->code) return x->code < y->code ? -1 : 1;
  for (int c = 0; c < 3; c++)
    if (x->at[c] != y->at[c]) return x->at[c] < y->at[c] ? -1 : 1;
  return (x->vertex > y->vertex) - (x->vertex < y->vertex);
}

// The main axes of the vertices about their mean, as rows. A direction is that to which fewer, farther vertices lie; where that
// is least clear (across a plane of symmetry), the hand decides.
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

static const double grains = 1e8; // to the size of the mesh

static void fill_keys(const sn_mesh *rest, curve_key *keys) {
  int n = rest->vertex_count;
  sn_vec3 mean = {0, 0, 0};
  double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, size = 0;
  for (int i = 0; i < n; i++) mean = sn_vec3_mad(mean, sn_vec3_from(rest->positions[i]), 1.0 / n);
  sn_mat3 axes = own_axes(rest, mean);
  for (int i = 0; i < n; i++) {
    sn_vec3 d = sn_mat3_apply(axes, sn_vec3_sub(sn_vec3_from(rest->positions[i]), mean));
    keys[i] = (curve_key){.at = {d.x, d.y, d.z}, .vertex = i};
    for (int c = 0; c < 3; c++) low[c] = fmin(low[c], keys[i].at[c]), high[c] = fmax(high[c], keys[i].at[c]);
  }
  for (int c = 0; c < 3; c++) size = fmax(size, high[c] - low[c]);
  double grain =
    size > 0 ? grains / size : 0; // what is nothing but rounding, as across a plane of symmetry, decides nothing
  for (int i = 0; i < n; i++) {
    double cell[3];
    for (int c = 0; c < 3; c++) {
      keys[i].at[c] = round(keys[i].at[c] * grain);
      cell[c] = fmin(fmax((keys[i].at[c] - round(low[c] * grain)) / grains, 0), 1);
    }
    keys[i].code = fit_curve_code(cell);
  }
}

sn_status sn_rig_sort_vertices(sn_context *ctx, sn_arena *memory, const sn_mesh *rest, int **vertex, sn_mesh *out) {
  int n = rest->vertex_count;
  sn_arena scratch = sn_arena_new(ctx);
  curve_key *keys = SN_NEW(ctx, &scratch, curve_key, n);
  int *place = SN_NEW(ctx, &scratch, int, n);
  *vertex = SN_NEW(ctx, memory, int, n);
  *out = (sn_mesh){0};
  sn_status status = keys && place && *vertex ? SN_OK : ctx->error.status;
  if (status == SN_OK) status = sn_mesh_new(ctx, n, rest->triangle_count, out);
  if (status == SN_OK) {
    fill_keys(rest, keys);
    qsort(keys, (size_t)n, sizeof *keys, by_code);
    for (int q = 0; q < n; q++) {
      int i = (*vertex)[q] = keys[q].vertex;
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
