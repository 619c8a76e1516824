// SPDX-License-Identifier: MIT
// Isotropic remeshing on an implicit surface: short edges collapse until exactly the target number of vertices is
// left; between the collapses edges flip towards even valence and vertices slide along the surface (the scheme of
// Botsch and Kobbelt 2004, without splits since the start is finer than the goal).
#include <string.h>
#include <stdlib.h>
#include "lab/gen/figure.h"

// Half-edge 3t+k runs from corner k of triangle t to the next. Dead triangles have from[3t] = -1.
typedef struct web {
  int vertex_count, half_count, live; // live: vertices left
  sn_vec3 *at, *moved, *normal;
  double *size, *weight; // target edge length (relative), and area of the ring / size^2, per vertex
  int *from, *twin, *out;
  int *stamp; // the pass in which a vertex was last part of a collapse
  const sn_surface *surface;
} web;

typedef struct edge_length {
  double length;
  int half;
} edge_length;

static int next(int h) { return h % 3 == 2 ? h - 2 : h + 1; }
static int prev(int h) { return h % 3 == 0 ? h + 2 : h - 1; }
static int to(const web *w, int h) { return w->from[next(h)]; }
static int around(const web *w, int h) { return w->twin[prev(h)]; } // the next half-edge that leaves the same vertex

static int valence(const web *w, int v) {
  int count = 0, h = w->out[v];
  do count++, h = around(w, h);
  while (h != w->out[v]);
  return count;
}

static bool adjacent(const web *w, int a, int b) {
  int h = w->out[a];
  do {
    if (to(w, h) == b) return true;
    h = around(w, h);
  } while (h != w->out[a]);
  return false;
}

static sn_vec3 cross_of(sn_vec3 a, sn_vec3 b, sn_vec3 c) {
  return sn_vec3_cross(sn_vec3_sub(b, a), sn_vec3_sub(c, a));
}

// Pairs every half-edge with its opposite, through the list of half-edges that leave each vertex.
static sn_status web_pair(sn_context *ctx, web *w) {
  sn_arena scratch = sn_arena_new(ctx);
  int *start = SN_NEW(ctx, &scratch, int, w->vertex_count + 2), *list = SN_NEW(ctx, &scratch, int, w->half_count);
  sn_status status = start && list ? SN_OK : ctx->error.status;
  if (status == SN_OK) {
    for (int h = 0; h < w->half_count; h++) start[w->from[h] + 2]++;
    for (int v = 0; v < w->vertex_count; v++) start[v + 2] += start[v + 1];
    for (int h = 0; h < w->half_count; h++) list[start[w->from[h] + 1]++] = h;
    for (int h = 0; h < w->half_count; h++) {
      w->twin[h] = -1;
      int end = to(w, h);
      for (int k = start[end]; k < start[end + 1]; k++)
        if (to(w, list[k]) == w->from[h]) w->twin[h] = list[k];
      w->out[w->from[h]] = h;
      if (w->twin[h] < 0) status = sn_fail(ctx, SN_BAD_INPUT, "the surface is not closed");
    }
  }
  sn_arena_free(&scratch);
  return status;
}

static sn_status web_make(sn_context *ctx, const sn_surface *surface, sn_soup *soup, sn_arena *memory, web *w) {
  int n = soup->vertex_count, halves = 3 * soup->triangle_count;
  *w = (web){.vertex_count = n,
             .half_count = halves,
             .live = n,
             .surface = surface,
             .at = soup->points,
             .from = soup->corners};
  w->moved = SN_NEW(ctx, memory, sn_vec3, n);
  w->normal = SN_NEW(ctx, memory, sn_vec3, n);
  w->size = SN_NEW(ctx, memory, double, n);
  w->weight = SN_NEW(ctx, memory, double, n);
  w->out = SN_NEW(ctx, memory, int, n);
  w->stamp = SN_NEW(ctx, memory, int, n);
  w->twin = SN_NEW(ctx, memory, int, halves);
  if (!w->moved || !w->normal || !w->size || !w->weight || !w->out || !w->stamp || !w->twin) return ctx->error.status;
  return web_pair(ctx, w);
}

// ---- sliding along the surface ---------------------------------------------------------------------------------------

// Newton steps back to the surface; remembers direction and detail found there.
static sn_vec3 onto_surface(web *w, int64_t v, sn_vec3 p, double reach) {
  for (int step = 0; step < 2; step++) {
    sn_vec3 g;
    double d = sn_surface_distance(w->surface, p, &g, &w->size[v]), g2 = sn_vec3_dot(g, g);
    if (g2 < 1e-6) break;
    w->normal[v] = sn_vec3_scale(g, 1 / sqrt(g2));
    double back = fmin(fmax(d / g2, -reach), reach);
    p = sn_vec3_mad(p, g, -back);
    if (fabs(back) < 0.02 * reach) break;
  }
  return p;
}

static void measure_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  web *w = user;
  for (int64_t v = begin; v < end; v++) {
    if (w->out[v] < 0) continue;
    double area = 0;
    int h = w->out[v];
    do {
      area += sn_vec3_length(cross_of(w->at[v], w->at[to(w, h)], w->at[w->from[prev(h)]]));
      h = around(w, h);
    } while (h != w->out[v]);
    w->weight[v] = area / (w->size[v] * w->size[v]);
  }
}

// Towards the centroid of the neighbours, larger rings pulling more, in the tangent plane, then back to the surface.
static void slide_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  web *w = user;
  for (int64_t v = begin; v < end; v++) {
    if (w->out[v] < 0) continue;
    sn_vec3 sum = sn_xyz(0, 0, 0), n = w->normal[v];
    double weight = 0, reach = 0;
    int h = w->out[v], ring = 0;
    do {
      int u = to(w, h);
      sum = sn_vec3_mad(sum, w->at[u], w->weight[u]);
      weight += w->weight[u];
      reach += sn_vec3_distance(w->at[u], w->at[v]);
      ring++;
      h = around(w, h);
    } while (h != w->out[v]);
    sn_vec3 step = sn_vec3_sub(sn_vec3_scale(sum, 1 / weight), w->at[v]);
    step = sn_vec3_mad(step, n, -sn_vec3_dot(step, n));
    w->moved[v] = onto_surface(w, v, sn_vec3_mad(w->at[v], step, 0.6), 0.5 * reach / ring);
  }
}

static void slide(sn_context *ctx, web *w, int rounds) {
  for (int k = 0; k < rounds; k++) {
    sn_parallel_for(ctx, w->vertex_count, 512, measure_range, w);
    sn_parallel_for(ctx, w->vertex_count, 512, slide_range, w);
    sn_vec3 *swap = w->at;
    w->at = w->moved;
    w->moved = swap;
  }
}

// ---- collapsing ------------------------------------------------------------------------------------------------------

// Would the triangles around v (but those on edge v-other) keep their side if v moved to p?
static bool keeps_sides(const web *w, int v, int other, sn_vec3 p) {
  int h = w->out[v];
  do {
    int a = to(w, h), b = w->from[prev(h)];
    if (a != other && b != other) {
      sn_vec3 before = cross_of(w->at[v], w->at[a], w->at[b]), after = cross_of(p, w->at[a], w->at[b]);
      if (sn_vec3_dot(before, after) <= 0.3 * sn_vec3_length(before) * sn_vec3_length(after)) return false;
    }
    h = around(w, h);
  } while (h != w->out[v]);
  return true;
}

// The link condition: two ends have the two opposite corners in common and nothing else.
static bool may_collapse(const web *w, int half, sn_vec3 p) {
  int u = w->from[half], v = to(w, half), common = 0;
  if (valence(w, w->from[prev(half)]) <= 4 || valence(w, w->from[prev(w->twin[half])]) <= 4) return false;
  if (valence(w, u) + valence(w, v) > 13) return false;
  int h = w->out[u];
  do {
    if (to(w, h) != v && adjacent(w, v, to(w, h))) common++;
    h = around(w, h);
  } while (h != w->out[u]);
  return common == 2 && keeps_sides(w, u, v, p) && keeps_sides(w, v, u, p);
}

static void close_side(web *w, int half) {
  int a = w->twin[next(half)], b = w->twin[prev(half)];
  w->twin[a] = b;
  w->twin[b] = a;
  w->out[w->from[a]] = a;
  w->out[w->from[b]] = b;
  int first = half - half % 3;
  w->from[first] = w->from[first + 1] = w->from[first + 2] = -1;
}

// Merges the start of `half` into its end, at p.
static void collapse(web *w, int half, sn_vec3 p) {
  int u = w->from[half], v = to(w, half), twin = w->twin[half];
  int first = w->out[u], h = first, list[64], n = 0;
  do {
    if (n < 64) list[n++] = h;
    h = around(w, h);
  } while (h != first);
  for (int k = 0; k < n; k++) w->from[list[k]] = v;
  close_side(w, half);
  close_side(w, twin);
  w->out[u] = -1;
  w->at[v] = p;
  w->live--;
}

static int shorter(const void *a, const void *b) {
  const edge_length *x = a, *y = b;
  if (x->length != y->length) return x->length < y->length ? -1 : 1;
  return x->half - y->half;
}

// One pass over the edges, shortest first; every vertex takes part at most once. Returns how many collapsed.
static int collapse_pass(web *w, int pass, int goal, int most, edge_length *edges) {
  int count = 0, before = w->live;
  for (int h = 0; h < w->half_count; h++) {
    int u = w->from[h], v = u < 0 ? -1 : to(w, h);
    if (u < 0 || u > v) continue;
    edges[count++] = (edge_length){sn_vec3_distance(w->at[u], w->at[v]) / (0.5 * (w->size[u] + w->size[v])), h};
  }
  qsort(edges, (size_t)count, sizeof *edges, shorter);
  for (int k = 0; k < count && w->live > goal && before - w->live < most; k++) {
    int h = edges[k].half, u = w->from[h];
    if (u < 0) continue;
    int v = to(w, h);
    sn_vec3 p = sn_vec3_lerp(w->at[u], w->at[v], 0.5);
    if (w->stamp[u] == pass || w->stamp[v] == pass || !may_collapse(w, h, p)) continue;
    collapse(w, h, p);
    w->stamp[v] = pass;
  }
  return before - w->live;
}

// ---- flipping --------------------------------------------------------------------------------------------------------

// Sum of the cotangents of the angles opposite an edge: negative where it is not Delaunay.
static double cotangents(sn_vec3 a, sn_vec3 b, sn_vec3 left, sn_vec3 right) {
  double sum = 0;
  const sn_vec3 corners[2] = {left, right};
  for (int k = 0; k < 2; k++) {
    sn_vec3 x = sn_vec3_sub(a, corners[k]), y = sn_vec3_sub(b, corners[k]);
    sum += sn_vec3_dot(x, y) / (sn_vec3_length(sn_vec3_cross(x, y)) + 1e-15);
  }
  return sum;
}

static int off(int valence_now) { return (valence_now - 6) * (valence_now - 6); }

static bool wants_flip(const web *w, int half, bool delaunay) {
  int twin = w->twin[half], u = w->from[half], v = to(w, half), a = w->from[prev(half)], b = w->from[prev(twin)];
  int du = valence(w, u), dv = valence(w, v), da = valence(w, a), db = valence(w, b);
  if (du <= 4 || dv <= 4 || adjacent(w, a, b)) return false;
  const sn_vec3 *p = w->at;
  if (delaunay) {
    if (cotangents(p[u], p[v], p[a], p[b]) >= -1e-6) return false;
  } else if (off(du - 1) + off(dv - 1) + off(da + 1) + off(db + 1) >= off(du) + off(dv) + off(da) + off(db)) {
    return false;
  }
  sn_vec3 n0 = cross_of(p[u], p[v], p[a]), n1 = cross_of(p[v], p[u], p[b]), n = sn_vec3_add(n0, n1);
  sn_vec3 m0 = cross_of(p[a], p[b], p[v]), m1 = cross_of(p[b], p[a], p[u]);
  double size = sn_vec3_length(n);
  return sn_vec3_dot(m0, n) > 0.7 * size * sn_vec3_length(m0) &&
         sn_vec3_dot(m1, n) > 0.7 * size * sn_vec3_length(m1) &&
         sn_vec3_dot(n0, n1) > 0.5 * sn_vec3_length(n0) * sn_vec3_length(n1);
}

// Edge u-v of triangles (u v a), (v u b) becomes a-b: triangles (a b v), (b a u).
static void flip(web *w, int half) {
  int twin = w->twin[half], u = w->from[half], v = to(w, half), a = w->from[prev(half)], b = w->from[prev(twin)];
  int va = w->twin[next(half)], au = w->twin[prev(half)], ub = w->twin[next(twin)], bv = w->twin[prev(twin)];
  int x = half - half % 3, y = twin - twin % 3;
  const int left[3] = {a, b, v}, right[3] = {b, a, u}, left_twins[3] = {y, bv, va}, right_twins[3] = {x, au, ub};
  for (int k = 0; k < 3; k++) {
    w->from[x + k] = left[k], w->twin[x + k] = left_twins[k], w->twin[left_twins[k]] = x + k;
    w->from[y + k] = right[k], w->twin[y + k] = right_twins[k], w->twin[right_twins[k]] = y + k;
  }
  w->out[a] = x, w->out[b] = y, w->out[v] = x + 2, w->out[u] = y + 2;
}

static void flip_pass(web *w, bool delaunay) {
  for (int h = 0; h < w->half_count; h++)
    if (w->from[h] >= 0 && w->from[h] < to(w, h) && wants_flip(w, h, delaunay)) flip(w, h);
}

// ---- all of it ---------------------------------------------------------------------------------------------------------

static sn_status web_mesh(sn_context *ctx, const web *w, sn_arena *scratch, sn_mesh *out) {
  int *index = SN_NEW(ctx, scratch, int, w->vertex_count), triangles = 0, vertices = 0;
  if (!index) return ctx->error.status;
  for (int h = 0; h < w->half_count; h += 3) triangles += w->from[h] >= 0;
  if (sn_mesh_new(ctx, w->live, triangles, out) != SN_OK) return ctx->error.status;
  for (int v = 0; v < w->vertex_count; v++) {
    if (w->out[v] < 0) continue;
    index[v] = vertices;
    sn_vec3_store(w->at[v], out->positions[vertices++]);
  }
  triangles = 0;
  for (int h = 0; h < w->half_count; h += 3) {
    if (w->from[h] < 0) continue;
    for (int k = 0; k < 3; k++) out->triangles[triangles][k] = index[w->from[h + k]];
    triangles++;
  }
  return SN_OK;
}

static void remesh(sn_context *ctx, web *w, int vertices, edge_length *edges) {
  for (int v = 0; v < w->vertex_count; v++) w->size[v] = 1;
  slide(ctx, w, 3);
  for (int pass = 1, stuck = 0; w->live > vertices && stuck < 20; pass++) {
    int most = w->live / (w->live > 2 * vertices ? 4 : 7) + 1;
    stuck = collapse_pass(w, pass, vertices, most, edges) == 0 ? stuck + 1 : 0;
    flip_pass(w, pass % 2 == 0);
    slide(ctx, w, 1);
  }
  for (int k = 0; k < 8; k++) {
    flip_pass(w, k >= 4);
    slide(ctx, w, 2);
  }
  flip_pass(w, true);
  flip_pass(w, true);
}

sn_status sn_remesh(sn_context *ctx, const sn_surface *surface, int vertices, sn_soup *soup, sn_mesh *out) {
  sn_arena scratch = sn_arena_new(ctx);
  web w;
  *out = (sn_mesh){0};
  sn_status status = web_make(ctx, surface, soup, &scratch, &w);
  edge_length *edges = status == SN_OK ? SN_NEW(ctx, &scratch, edge_length, w.half_count / 2 + 1) : NULL;
  if (status == SN_OK && !edges) status = ctx->error.status;
  if (status == SN_OK) {
    remesh(ctx, &w, vertices, edges);
    if (w.live != vertices)
      status = sn_fail(ctx, SN_UNSUPPORTED,
                       "a surface of %d vertices is too coarse for this shape; ask for %d or more", vertices, w.live);
  }
  if (status == SN_OK) status = web_mesh(ctx, &w, &scratch, out);
  if (status != SN_OK) sn_mesh_free(out);
  sn_arena_free(&scratch);
  return status;
}
