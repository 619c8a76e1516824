// SPDX-License-Identifier: MIT
// Smoothing groups and normals of the rest file, transferred to deformed positions.
#include "base/scope.h"
#include "sinew/scene.h"

#include <string.h>

// File normals at the same position closer than this are one smoothing group: exporters round them to bytes.
static const double same_group = 1 - 1e-3; // cosine of 2.6 degrees

// The unit vector perpendicular to r in the direction of `edge`; false if it is undefined.
static bool direction(sn_vec3 r, sn_vec3 edge, sn_vec3 *out) {
  sn_vec3 flat = sn_vec3_mad(edge, r, -sn_vec3_dot(edge, r));
  double length = sn_vec3_length(flat);
  *out = sn_vec3_scale(flat, length > 0 ? 1 / length : 0);
  return length > 1e-6 * sn_vec3_length(edge);
}

sn_vec3 sn_normal_coordinates(sn_vec3 normal, sn_vec3 r, sn_vec3 edge) {
  sn_vec3 n = sn_vec3_normalize(normal, sn_vec3_make(0, 0, 0)), t;
  if (sn_vec3_length(n) == 0 || sn_vec3_length(r) == 0 || !direction(r, edge, &t)) return sn_vec3_make(1, 0, 0);
  return sn_vec3_make(sn_vec3_dot(n, r), sn_vec3_dot(n, t), sn_vec3_dot(n, sn_vec3_cross(r, t)));
}

// The edge from file vertex s to the vertex that fixes its direction t.
static sn_vec3 edge_of(const sn_examples *e, const float (*positions)[3], int s) {
  return sn_vec3_sub(sn_vec3_from(positions[e->shading.toward[s]]),
                     sn_vec3_from(positions[sn_examples_vertex(e, s)]));
}

// ---- groups ----------------------------------------------------------------------------------------------------------

// The first file vertex at the same position with the same normal; `next` links the first vertices of groups.
static int find_group(const float (*normals)[3], const int *next, int first, int s) {
  for (int k = first; k >= 0; k = next[k]) {
    if (!normals) return k;
    if (sn_vec3_dot(sn_vec3_from(normals[k]), sn_vec3_from(normals[s])) >= same_group) return k;
  }
  return s;
}

static void find_neighbours(const sn_examples *e, int *toward) {
  for (int s = 0; s < e->source_count; s++) toward[s] = -1;
  for (int t = 0; t < e->rest.triangle_count; t++)
    for (int c = 0; c < 3; c++) {
      int s = e->source_triangles[t][c], next = e->source_triangles[t][(c + 1) % 3];
      if (toward[s] < 0 && sn_examples_vertex(e, s) != sn_examples_vertex(e, next))
        toward[s] = sn_examples_vertex(e, next);
    }
}

// The file's normals in the frames of the computed ones. A vertex without a frame keeps the computed normal.
static void store_own(sn_examples *e, const float (*normals)[3], const float (*computed)[3], float (*own)[3]) {
  for (int s = 0; s < e->source_count; s++) {
    own[s][0] = 1, own[s][1] = own[s][2] = 0;
    if (e->shading.toward[s] < 0) continue;
    sn_vec3 edge = edge_of(e, (const float(*)[3])e->rest.positions, s);
    sn_vec3_store(sn_normal_coordinates(sn_vec3_from(normals[s]), sn_vec3_from(computed[s]), edge), own[s]);
  }
}

sn_status sn_examples_shade(sn_context *ctx, sn_examples *e, const float (*normals)[3]) {
  int count = e->source_count;
  SN_SCRATCH(scratch, ctx);
  int *first = SN_NEW(ctx, &scratch, int, e->rest.vertex_count), *next = SN_NEW(ctx, &scratch, int, count);
  float(*computed)[3] = sn_arena_alloc(ctx, &scratch, (size_t)count, sizeof *computed);
  float(*own)[3] = normals ? sn_arena_alloc(ctx, &e->memory, (size_t)count, sizeof *own) : NULL;
  int *class_of = SN_NEW(ctx, &e->memory, int, count), *toward = SN_NEW(ctx, &e->memory, int, count);
  if (!first || !next || !computed || !class_of || !toward || (normals && !own)) return ctx->error.status;
  for (int i = 0; i < e->rest.vertex_count; i++) first[i] = -1;
  for (int s = 0; s < count; s++) {
    int *head = &first[sn_examples_vertex(e, s)];
    class_of[s] = find_group(normals, next, *head, s);
    if (class_of[s] == s) next[s] = *head, *head = s;
  }
  find_neighbours(e, toward);
  e->shading = (sn_shading){class_of, toward, NULL};
  sn_examples_normals(e, (const float(*)[3])e->rest.positions, computed);
  if (normals) store_own(e, normals, (const float(*)[3])computed, own);
  e->shading.own = own;
  return SN_OK;
}

// ---- normals ---------------------------------------------------------------------------------------------------------

static sn_vec3 bend(const sn_examples *e, const float (*positions)[3], int s, sn_vec3 r) {
  const float *own = e->shading.own[s];
  sn_vec3 t;
  if (e->shading.toward[s] < 0 || !direction(r, edge_of(e, positions, s), &t)) return r;
  sn_vec3 n = sn_vec3_mad(sn_vec3_scale(r, own[0]), t, own[1]);
  return sn_vec3_normalize(sn_vec3_mad(n, sn_vec3_cross(r, t), own[2]), r);
}

void sn_examples_normals(const sn_examples *e, const float (*positions)[3], float (*out)[3]) {
  if (!e->shading.class_of) {
    sn_mesh_normals(&e->rest, positions, out);
    return;
  }
  memset(out, 0, (size_t)e->source_count * sizeof *out);
  sn_mesh_sum_normals(&e->rest, positions, (const int(*)[3])e->source_triangles, e->shading.class_of, out);
  for (int s = e->source_count - 1; s >= 0; s--) { // backwards: the first vertex of a group holds its sum
    sn_vec3 r = sn_vec3_normalize(sn_vec3_from(out[e->shading.class_of[s]]), sn_vec3_make(0, 0, 1));
    sn_vec3_store(e->shading.own ? bend(e, positions, s, r) : r, out[s]);
  }
}
