// SPDX-License-Identifier: MIT
// Edges, 1-rings, triangle lists, components and boundary of a triangle soup.
#include "sinew/scene.h"

#include <stdlib.h>
#include <string.h>

static int compare_ints(const void *a, const void *b) {
  const int *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

static void sort_ints(int *values, int count) {
  enum { few = 32 };
  if (count > few) {
    qsort(values, (size_t)count, sizeof *values, compare_ints);
    return;
  }
  for (int k = 1; k < count; k++) {
    int value = values[k], at = k;
    for (; at > 0 && values[at - 1] > value; at--) values[at] = values[at - 1];
    values[at] = value;
  }
}

// Turns counts in start[1..n] into offsets.
static void accumulate(int *start, int n) {
  for (int i = 0; i < n; i++) start[i + 1] += start[i];
}

// Moves offsets that were used as cursors (each now at its row's end) back to the rows' starts.
static void rewind_rows(int *start, int n) {
  memmove(start + 1, start, (size_t)n * sizeof *start);
  start[0] = 0;
}

static void append(const sn_topology *t, int of, int at) { t->ring[t->ring_start[of]++] = at; }

// A row of neighbours for every vertex, each repeated once per triangle at the edge. Degenerate triangles (a vertex twice) are
// skipped.
static void fill_rows(const sn_topology *t, const sn_mesh *mesh) {
  for (int fill = 0; fill < 2; fill++) {
    for (int k = 0; k < mesh->triangle_count; k++) {
      const int *v = mesh->triangles[k];
      if (v[0] == v[1] || v[1] == v[2] || v[2] == v[0]) continue;
      for (int c = 0; c < 3; c++)
        if (fill)
          append(t, v[c], v[(c + 1) % 3]), append(t, v[(c + 1) % 3], v[c]);
        else
          t->ring_start[v[c] + 1] += 2;
    }
    if (!fill) accumulate(t->ring_start, t->vertex_count);
  }
  rewind_rows(t->ring_start, t->vertex_count);
}

// Sorts rows to ascending rings without repetitions; every neighbour with a higher index is an edge.
static void build_edges(sn_topology *t) {
  int begin = 0, kept = 0;
  for (int i = 0; i < t->vertex_count; i++) {
    int end = t->ring_start[i + 1];
    sort_ints(t->ring + begin, end - begin);
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

static bool is_first_mention(const int *corner, int c) {
  for (int k = 0; k < c; k++)
    if (corner[k] == corner[c]) return false;
  return true;
}

static void build_faces(sn_topology *topology, const sn_mesh *mesh) {
  for (int t = 0; t < mesh->triangle_count; t++)
    for (int c = 0; c < 3; c++) {
      const int *corner = mesh->triangles[t];
      if (is_first_mention(corner, c)) topology->face_start[corner[c] + 1]++;
    }
  accumulate(topology->face_start, topology->vertex_count);
  for (int t = 0; t < mesh->triangle_count; t++)
    for (int c = 0; c < 3; c++) {
      const int *corner = mesh->triangles[t];
      if (is_first_mention(corner, c)) topology->faces[topology->face_start[corner[c]]++] = t;
    }
  rewind_rows(topology->face_start, topology->vertex_count);
}

static void find_components(sn_topology *topology, int *stack) {
  int n = topology->vertex_count;
  for (int i = 0; i < n; i++) topology->component[i] = -1;
  for (int seed = 0; seed < n; seed++) {
    if (topology->component[seed] >= 0) continue;
    int label = topology->component_count++, top = 0;
    topology->component[seed] = label;
    stack[top++] = seed;
    while (top > 0) {
      int i = stack[--top];
      for (int k = topology->ring_start[i]; k < topology->ring_start[i + 1]; k++) {
        int next = topology->ring[k];
        if (topology->component[next] >= 0) continue;
        topology->component[next] = label;
        stack[top++] = next;
      }
    }
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
  int *stack = SN_NEW(ctx, &out->memory, int, n);
  if (!out->edges || !out->edge_faces || !out->ring_start || !out->ring || !out->face_start || !out->faces ||
      !out->component || !stack) {
    sn_topology_free(out);
    return ctx->error.status;
  }
  fill_rows(out, mesh);
  build_edges(out);
  build_faces(out, mesh);
  find_components(out, stack);
  return SN_OK;
}

void sn_topology_free(sn_topology *topology) {
  sn_arena_free(&topology->memory);
  *topology = (sn_topology){0};
}

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
