// SPDX-License-Identifier: MIT
// Edges, 1-rings, triangle lists, components and boundary of a triangle soup.
#include "base/scope.h"
#include "sinew/scene.h"

#include <string.h>

// Rows of numbers are made in two passes: the first counts, the second fills. start[i] is then where row i begins.
static void enter(int *start, int *rows, int row, int value, bool fill) {
  if (fill)
    rows[start[row]++] = value;
  else
    start[row + 1]++;
}

static void end_pass(int *start, int n, bool fill) {
  if (fill) // from the rows' ends back to their beginnings
    memmove(start + 1, start, (size_t)n * sizeof *start), start[0] = 0;
  for (int i = 0; !fill && i < n; i++) start[i + 1] += start[i];
}

// A row of neighbours for every vertex, ascending, each repeated once per triangle at the edge. Degenerate triangles (a vertex
// twice) are skipped.
static void list_neighbours(const sn_topology *t, const sn_mesh *mesh) {
  int *start = t->ring_start, *unsorted = t->edges[0], *cursor = t->component; // not in use yet
  for (int fill = 0; fill < 2; end_pass(start, t->vertex_count, fill++))
    for (int k = 0; k < mesh->triangle_count; k++) {
      const int *v = mesh->triangles[k];
      if (v[0] == v[1] || v[1] == v[2] || v[2] == v[0]) continue;
      for (int c = 0; c < 3; c++) {
        enter(start, unsorted, v[c], v[(c + 1) % 3], fill);
        enter(start, unsorted, v[(c + 1) % 3], v[c], fill);
      }
    }
  // Neighbours are mutual: the rows, entered at their neighbours one after the other, come out sorted.
  memcpy(cursor, start, (size_t)t->vertex_count * sizeof *cursor);
  for (int i = 0; i < t->vertex_count; i++)
    for (int k = start[i]; k < start[i + 1]; k++) enter(cursor, t->ring, unsorted[k], i, true);
}

// Rings without repetitions; every neighbour with a higher index is an edge.
static void build_edges(sn_topology *t) {
  int begin = 0, kept = 0;
  for (int i = 0; i < t->vertex_count; i++) {
    int end = t->ring_start[i + 1];
    t->ring_start[i] = kept;
    for (int k = begin; k < end;) {
      int next = t->ring[k], faces = 0;
      for (; k < end && t->ring[k] == next; k++) faces++;
      t->ring[kept++] = next;
      if (next < i) continue;
      t->edges[t->edge_count][0] = i, t->edges[t->edge_count][1] = next;
      t->edge_faces[t->edge_count++] = faces;
      t->boundary_edges += faces == 1, t->nonmanifold_edges += faces > 2;
    }
    begin = end;
  }
  t->ring_start[t->vertex_count] = kept;
}

static void list_faces(const sn_topology *t, const sn_mesh *mesh) {
  for (int fill = 0; fill < 2; end_pass(t->face_start, t->vertex_count, fill++))
    for (int k = 0; k < mesh->triangle_count; k++) {
      const int *v = mesh->triangles[k];
      for (int c = 0; c < 3; c++)
        if (c == 0 || (v[c] != v[0] && v[c] != v[c - 1])) enter(t->face_start, t->faces, v[c], k, fill);
    }
}

// Components are numbered by their smallest vertices.
static void find_components(sn_topology *t, int *set) {
  for (int i = 0; i < t->vertex_count; i++) set[i] = i;
  for (int e = 0; e < t->edge_count; e++) sn_set_join(set, t->edges[e][0], t->edges[e][1]);
  for (int i = 0; i < t->vertex_count; i++) {
    int first = sn_set_first(set, i);
    t->component[i] = first == i ? t->component_count++ : t->component[first];
  }
}

sn_status sn_topology_build(sn_context *ctx, const sn_mesh *mesh, sn_topology *out) {
  size_t n = (size_t)mesh->vertex_count, corners = 3 * (size_t)mesh->triangle_count;
  *out = (sn_topology){0};
  if (corners > INT32_MAX / 2) return sn_fail(ctx, SN_BAD_INPUT, "%d triangles are too many", mesh->triangle_count);
  *out = (sn_topology){.vertex_count = mesh->vertex_count, .memory = sn_arena_new(ctx)};
  out->edges = sn_arena_alloc(ctx, &out->memory, corners, sizeof *out->edges);
  out->edge_faces = SN_NEW(ctx, &out->memory, int, corners);
  out->ring_start = SN_NEW(ctx, &out->memory, int, n + 1);
  out->ring = SN_NEW(ctx, &out->memory, int, 2 * corners);
  out->face_start = SN_NEW(ctx, &out->memory, int, n + 1);
  out->faces = SN_NEW(ctx, &out->memory, int, corners);
  out->component = SN_NEW(ctx, &out->memory, int, n);
  SN_SCRATCH(scratch, ctx);
  int *set = SN_NEW(ctx, &scratch, int, n);
  if (!out->edges || !out->edge_faces || !out->ring_start || !out->ring || !out->face_start || !out->faces ||
      !out->component || !set) {
    sn_topology_free(out);
    return ctx->error.status;
  }
  list_neighbours(out, mesh);
  build_edges(out);
  list_faces(out, mesh);
  find_components(out, set);
  return SN_OK;
}

SN_DEFINE_FREE(sn_topology);

double sn_topology_bump(const sn_topology *t, const sn_vec3 *x, int i) {
  int begin = t->ring_start[i], end = t->ring_start[i + 1];
  sn_vec3 mean = {0, 0, 0};
  if (begin == end) return 0;
  for (int e = begin; e < end; e++) mean = sn_vec3_mad(mean, x[t->ring[e]], 1.0 / (end - begin));
  return sn_vec3_length(sn_vec3_sub(x[i], mean));
}

double sn_topology_mean_edge(const sn_topology *t, const sn_vec3 *x) {
  double sum = 0;
  for (int e = 0; e < t->edge_count; e++) sum += sn_vec3_distance(x[t->edges[e][0]], x[t->edges[e][1]]);
  return t->edge_count > 0 ? sum / t->edge_count : 0;
}
