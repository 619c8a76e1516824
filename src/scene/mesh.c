// SPDX-License-Identifier: MIT
// Meshes: memory, checks, copies.
#include "sinew/scene.h"

#include <math.h>
#include <string.h>

sn_status sn_mesh_new(sn_context *ctx, int vertex_count, int triangle_count, sn_mesh *out) {
  *out = (sn_mesh){.vertex_count = vertex_count, .triangle_count = triangle_count, .memory = sn_arena_new(ctx)};
  out->positions = sn_arena_alloc(ctx, &out->memory, (size_t)vertex_count, sizeof *out->positions);
  out->triangles = sn_arena_alloc(ctx, &out->memory, (size_t)triangle_count, sizeof *out->triangles);
  if (out->positions && out->triangles) return SN_OK;
  sn_mesh_free(out);
  return ctx->error.status;
}

SN_DEFINE_FREE(sn_mesh);

static bool is_finite3(const float p[3]) { return isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2]); }

sn_status sn_mesh_check(sn_context *ctx, const sn_mesh *mesh) {
  for (int i = 0; i < mesh->vertex_count; i++)
    if (!is_finite3(mesh->positions[i])) return sn_fail(ctx, SN_BAD_INPUT, "vertex %d: position is not finite", i);
  for (int t = 0; t < mesh->triangle_count; t++)
    for (int c = 0; c < 3; c++) {
      int i = mesh->triangles[t][c];
      if (i < 0 || i >= mesh->vertex_count)
        return sn_fail(ctx, SN_BAD_INPUT, "triangle %d: vertex %d does not exist (there are %d)", t, i,
                       mesh->vertex_count);
    }
  return SN_OK;
}

void sn_points_bounds(const float (*positions)[3], int count, sn_vec3 *low, sn_vec3 *high) {
  float least[3] = {0}, most[3] = {0};
  for (int i = 0; i < count; i++)
    for (int c = 0; c < 3; c++) {
      float x = positions[i][c];
      if (i == 0 || x < least[c]) least[c] = x;
      if (i == 0 || x > most[c]) most[c] = x;
    }
  *low = sn_vec3_from(least), *high = sn_vec3_from(most);
}

double sn_points_diagonal(const float (*positions)[3], int count) {
  sn_vec3 low, high;
  sn_points_bounds(positions, count, &low, &high);
  return sn_vec3_distance(low, high);
}

void sn_mesh_sum_normals(const sn_mesh *mesh, const float (*positions)[3], const int (*corners)[3],
                         const int *class_of, float (*out)[3]) {
  for (int t = 0; t < mesh->triangle_count; t++) {
    const int *v = mesh->triangles[t];
    sn_vec3 a = sn_vec3_from(positions[v[0]]), b = sn_vec3_from(positions[v[1]]), c = sn_vec3_from(positions[v[2]]);
    sn_vec3 n = sn_vec3_cross(sn_vec3_sub(b, a), sn_vec3_sub(c, a));
    for (int k = 0; k < 3; k++) {
      float *sum = out[class_of ? class_of[corners[t][k]] : v[k]];
      sum[0] += (float)n.x, sum[1] += (float)n.y, sum[2] += (float)n.z;
    }
  }
}

void sn_mesh_normals(const sn_mesh *mesh, const float (*positions)[3], float (*out)[3]) {
  memset(out, 0, (size_t)mesh->vertex_count * sizeof *out);
  sn_mesh_sum_normals(mesh, positions, NULL, NULL, out);
  for (int i = 0; i < mesh->vertex_count; i++)
    sn_vec3_store(sn_vec3_normalize(sn_vec3_from(out[i]), sn_vec3_make(0, 0, 1)), out[i]);
}
