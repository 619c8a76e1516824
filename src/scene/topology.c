// SPDX-License-Identifier: MIT
// Edges, 1-rings, triangle lists, components and boundary of any heap of triangles.
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

// The three edges of every triangle, first < second. A triangle that names a vertex twice has none: its neighbours meet
// directly. Returns how many.
static int collect_edges(const sn_mesh *mesh, int (*edges)[2]) {
  int count = 0;
  for (int t = 0; t < mesh->triangle_count; t++)
    for (int c = 0; c < 3; c++) {
      const int *corner = mesh->triangles[t];
      int a = corner[c], b = corner[(c + 1) % 3];
      if (corner[0] == corner[1] || corner[1] == corner[2] || corner[2] == corner[0]) break;
      edges[count][0] = a < b ? a : b;
      edges[count++][1] = a < b ? b : a;
    }
  return count;
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

// By first, then by second vertex: first into rows, in what the rings will be in, then every row by itself.
static void sort_edges(sn_topology *topology, int count) {
  int(*edges)[2] = topology->edges, n = topology->vertex_count, *start = topology->ring_start, *row = topology->ring;
  for (int e = 0; e < count; e++) start[edges[e][0] + 1]++;
  accumulate(start, n);
  for (int e = 0; e < count; e++) row[start[edges[e][0]]++] = edges[e][1];
  rewind_rows(start, n);
  for (int i = 0; i < n; i++) {
    sort_ints(row + start[i], start[i + 1] - start[i]);
    for (int k = start[i]; k < start[i + 1]; k++) edges[k][0] = i, edges[k][1] = row[k];
  }
  memset(start, 0, ((size_t)n + 1) * sizeof *start);
}

// Merges equal edges in place and counts how many triangles meet at each.
static void merge_edges(sn_topology *topology, int count) {
  int(*edges)[2] = topology->edges;
  sort_edges(topology, count);
  for (int e = 0; e < count; e++) {
    int last = topology->edge_count - 1;
    if (last >= 0 && edges[last][0] == edges[e][0] && edges[last][1] == edges[e][1]) {
      topology->edge_faces[last]++;
      continue;
    }
    memcpy(edges[++last], edges[e], sizeof *edges);
    topology->edge_faces[last] = 1;
    topology->edge_count++;
  }
  for (int e = 0; e < topology->edge_count; e++) {
    topology->boundary_edges += topology->edge_faces[e] == 1;
    topology->nonmanifold_edges += topology->edge_faces[e] > 2;
  }
}

// Sorted edges give ascending rings: first all smaller neighbours are appended, in order, then all larger ones.
static void build_rings(sn_topology *topology) {
  int n = topology->vertex_count;
  for (int e = 0; e < topology->edge_count; e++) {
    topology->ring_start[topology->edges[e][0] + 1]++;
    topology->ring_start[topology->edges[e][1] + 1]++;
  }
  accumulate(topology->ring_start, n);
  for (int e = 0; e < topology->edge_count; e++) {
    int high = topology->edges[e][1];
    topology->ring[topology->ring_start[high]++] = topology->edges[e][0];
  }
  for (int e = 0; e < topology->edge_count; e++) {
    int low = topology->edges[e][0];
    topology->ring[topology->ring_start[low]++] = topology->edges[e][1];
  }
  rewind_rows(topology->ring_start, n);
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
  merge_edges(out, collect_edges(mesh, out->edges));
  build_rings(out);
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
