// SPDX-License-Identifier: MIT
// Clusters triangles bottom-up by E_A->B (Wang 2007, 5.1).
#include "train/cluster.h"

#include <math.h>
#include <string.h>

#include "base/scope.h"
#include "solve/solve.h"

// Once `linked_at` groups are left, a group may join its nearest groups of other components. More than any number of bones:
// otherwise a large component would become one group before small components can join it.
enum { nearest_groups = 8, linked_at = 1024, most_poses = 32 };

typedef struct neighbour {
  struct neighbour *next;
  int group; // may have been joined to another: see `owner`
} neighbour;

// Moments of a group: X = sum of p p^T over its points p = (y^, 1), and per pose Z = sum of p y^T.
typedef struct group {
  double x[4][4];
  double *z;      // [4][3 * poses]
  double squares; // sum |y|^2
  neighbour *neighbours;
  int stamp; // number of joins; heap entries with another stamp are stale
} group;

typedef struct join {
  double cost;
  int a, b, stamp_a, stamp_b;
} join;

typedef struct clustering {
  sn_context *ctx;
  sn_arena *memory;
  const sn_mesh *rest;
  int poses, group_count, alive;
  bool linked; // link_components has run
  group *groups;
  int *owner;        // union-find: the group that a group was joined to, or itself
  double *positions; // [pose][vertex][3], centred
  double *t[2];      // T_A and T_B: [4][3 * poses]
  join *heap;
  size_t heap_count, heap_capacity;
  int *marks, mark; // to remove duplicates from lists of neighbours
} clustering;

static bool is_gone(const clustering *c, int g) { return c->owner[g] != g; }

static double dot(const double *a, const double *b, int count) {
  double sum[4] = {0, 0, 0, 0};
  int n = 0;
  for (; n + 4 <= count; n += 4)
    for (int l = 0; l < 4; l++) sum[l] += a[n + l] * b[n + l];
  for (; n < count; n++) sum[0] += a[n] * b[n];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// T_B = X_B^-1 Z_B.
static void solve_t(const clustering *c, const group *b, double *t) {
  double x[4][4];
  memcpy(t, b->z, 12 * (size_t)c->poses * sizeof *t);
  memcpy(x, b->x, sizeof x);
  sn_spd_solve(4, 4, x[0], 3 * c->poses, t);
}

// E_A->B (5.1): sum |y - T_B p|^2 over the vertices of A.
static double join_error(const clustering *c, const group *a, const double *t) {
  int count = 3 * c->poses;
  double sum = a->squares;
  for (int p = 0; p < 4; p++)
    for (int q = p; q < 4; q++) {
      sum += (p == q ? 1 : 2) * a->x[p][q] * dot(t + p * count, t + q * count, count);
      if (p == q) sum -= 2 * dot(t + p * count, a->z + p * count, count);
    }
  return fmax(sum, 0);
}

// ---- the heap -------------------------------------------------------------------------------------------------------

static bool before(const join *a, const join *b) {
  if (a->cost != b->cost) return a->cost < b->cost;
  return a->a != b->a ? a->a < b->a : a->b < b->b;
}

static sn_status push(clustering *c, join entry) {
  if (c->heap_count == c->heap_capacity) {
    size_t capacity = 2 * c->heap_capacity + 1024;
    join *grown = SN_NEW(c->ctx, c->memory, join, capacity);
    if (!grown) return c->ctx->error.status;
    if (c->heap_count) memcpy(grown, c->heap, c->heap_count * sizeof *grown);
    c->heap = grown, c->heap_capacity = capacity;
  }
  size_t at = c->heap_count++;
  for (; at > 0 && before(&entry, &c->heap[(at - 1) / 2]); at = (at - 1) / 2) c->heap[at] = c->heap[(at - 1) / 2];
  c->heap[at] = entry;
  return SN_OK;
}

static join pop(clustering *c) {
  join top = c->heap[0], last = c->heap[--c->heap_count];
  size_t at = 0;
  for (size_t child; (child = 2 * at + 1) < c->heap_count; at = child) {
    if (child + 1 < c->heap_count && before(&c->heap[child + 1], &c->heap[child])) child++;
    if (!before(&c->heap[child], &last)) break;
    c->heap[at] = c->heap[child];
  }
  c->heap[at] = last;
  return top;
}

// Pushes the join of a and b. c->t[0] must be T_a.
static sn_status offer(clustering *c, int a, int b) {
  const group *ga = &c->groups[a], *gb = &c->groups[b];
  solve_t(c, gb, c->t[1]);
  double cost = fmin(join_error(c, ga, c->t[1]), join_error(c, gb, c->t[0]));
  return push(c, a < b ? (join){cost, a, b, ga->stamp, gb->stamp} : (join){cost, b, a, gb->stamp, ga->stamp});
}

// ---- the start: every triangle --------------------------------------------------------------------------------------

static void add_point(const clustering *c, group *g, const double rest[3], const double *posed, double weight) {
  const double p[4] = {rest[0], rest[1], rest[2], 1};
  for (int n = 0; n < 16; n++) g->x[n / 4][n % 4] += weight * p[n / 4] * p[n % 4];
  for (int m = 0; m < 3 * c->poses; m++) {
    for (int r = 0; r < 4; r++) g->z[r * 3 * c->poses + m] += weight * p[r] * posed[m];
    g->squares += weight * posed[m] * posed[m];
  }
}

// The three corners, and with little weight a fourth point along the normal, without which T is undetermined across the plane.
static void start_group(const clustering *c, int t, const double *rest, double *posed) {
  const int *corners = c->rest->triangles[t];
  int n = c->rest->vertex_count;
  double point[3];
  for (int j = 0; j < 3; j++) {
    for (int f = 0; f < c->poses; f++)
      memcpy(posed + 3 * f, c->positions + 3 * ((size_t)f * (size_t)n + (size_t)corners[j]), sizeof point);
    add_point(c, &c->groups[t], rest + 3 * corners[j], posed, 1);
  }
  for (int f = -1; f < c->poses; f++) {
    const double *from = f < 0 ? rest : c->positions + 3 * (size_t)f * (size_t)n;
    const double *a = from + 3 * corners[0], *b = from + 3 * corners[1], *d = from + 3 * corners[2];
    sn_vec3 p = {a[0], a[1], a[2]}, e2 = {b[0] - a[0], b[1] - a[1], b[2] - a[2]},
            e3 = {d[0] - a[0], d[1] - a[1], d[2] - a[2]};
    sn_vec3 normal = sn_vec3_cross(e2, e3);
    double length = sn_vec3_length(normal);
    if (length > 0) p = sn_vec3_mad(p, normal, 1 / sqrt(length));
    double *to = f < 0 ? point : posed + 3 * f;
    to[0] = p.x, to[1] = p.y, to[2] = p.z;
  }
  add_point(c, &c->groups[t], point, posed, 1e-7);
}

static sn_vec3 centroid(const float (*positions)[3], int n) {
  sn_vec3 sum = {0, 0, 0};
  for (int i = 0; i < n; i++) sum = sn_vec3_add(sum, sn_vec3_from(positions[i]));
  return sn_vec3_scale(sum, n ? 1.0 / n : 0);
}

static void centre(const float (*positions)[3], int n, double *out) {
  sn_vec3 middle = centroid(positions, n);
  for (int i = 0; i < n; i++) {
    sn_vec3 p = sn_vec3_sub(sn_vec3_from(positions[i]), middle);
    out[3 * i] = p.x, out[3 * i + 1] = p.y, out[3 * i + 2] = p.z;
  }
}

static sn_status start_groups(clustering *c, const sn_frames *frames, const sn_keys *keys) {
  int n = c->rest->vertex_count;
  size_t numbers = 3 * (size_t)c->poses;
  double *middle = SN_NEW(c->ctx, c->memory, double, 3 * (size_t)n);
  double *posed = SN_NEW(c->ctx, c->memory, double, numbers);
  double *z = SN_NEW(c->ctx, c->memory, double, 4 * numbers * (size_t)c->group_count);
  c->positions = SN_NEW(c->ctx, c->memory, double, numbers *(size_t)n);
  if (!middle || !posed || !z || !c->positions) return c->ctx->error.status;
  centre((const float(*)[3])c->rest->positions, n, middle);
  for (int f = 0; f < c->poses; f++) {
    int frame = keys->frames[(int64_t)f * keys->count / c->poses];
    centre(sn_frame(frames, frame), n, c->positions + 3 * (size_t)f * (size_t)n);
  }
  for (int t = 0; t < c->group_count; t++) {
    c->groups[t].z = z + 4 * numbers * (size_t)t, c->owner[t] = t;
    start_group(c, t, middle, posed);
  }
  return SN_OK;
}

static sn_status add_neighbour(clustering *c, int a, int b) {
  neighbour *entry = SN_NEW(c->ctx, c->memory, neighbour, 1);
  if (!entry) return c->ctx->error.status;
  *entry = (neighbour){c->groups[a].neighbours, b};
  c->groups[a].neighbours = entry;
  return SN_OK;
}

// Neighbours are triangles with a common edge.
static sn_status start_neighbours(clustering *c) {
  SN_FREED_BY(sn_topology_free) sn_topology topology = {0};
  SN_TRY(sn_topology_build(c->ctx, c->rest, &topology));
  for (int t = 0; t < c->group_count; t++) {
    const int *corners = c->rest->triangles[t];
    int mark = ++c->mark;
    solve_t(c, &c->groups[t], c->t[0]);
    for (int j = 0; j < 3; j++) {
      int a = corners[j], b = corners[(j + 1) % 3];
      for (int n = topology.face_start[a]; n < topology.face_start[a + 1]; n++) {
        int other = topology.faces[n];
        const int *o = c->rest->triangles[other];
        if (other == t || c->marks[other] == mark || (o[0] != b && o[1] != b && o[2] != b)) continue;
        c->marks[other] = mark;
        SN_TRY(add_neighbour(c, t, other));
        if (t < other) SN_TRY(offer(c, t, other));
      }
    }
  }
  return SN_OK;
}

// ---- joining --------------------------------------------------------------------------------------------------------

// Joins group b to group a, and pushes the joins with the neighbours of both.
static sn_status unite(clustering *c, int a, int b) {
  group *ga = &c->groups[a], *gb = &c->groups[b];
  for (int n = 0; n < 16; n++) ga->x[n / 4][n % 4] += gb->x[n / 4][n % 4];
  for (int m = 0; m < 12 * c->poses; m++) ga->z[m] += gb->z[m];
  ga->squares += gb->squares, ga->stamp++, c->owner[b] = a, c->alive--;
  neighbour **at = &ga->neighbours;
  while (*at) at = &(*at)->next;
  *at = gb->neighbours;
  int mark = ++c->mark;
  solve_t(c, ga, c->t[0]);
  for (at = &ga->neighbours; *at;) {
    int other = (*at)->group = sn_set_first(c->owner, (*at)->group);
    if (other == a || c->marks[other] == mark) {
      *at = (*at)->next;
      continue;
    }
    c->marks[other] = mark, at = &(*at)->next;
    SN_TRY(offer(c, a, other));
  }
  return SN_OK;
}

static bool is_stale(const clustering *c, const join *j) {
  return is_gone(c, j->a) || is_gone(c, j->b) || c->groups[j->a].stamp != j->stamp_a ||
         c->groups[j->b].stamp != j->stamp_b;
}

// Connected components of the groups.
static void find_components(clustering *c, int *component) {
  for (int g = 0; g < c->group_count; g++) component[g] = g;
  for (int g = 0; g < c->group_count; g++)
    for (const neighbour *n = is_gone(c, g) ? NULL : c->groups[g].neighbours; n; n = n->next)
      component[sn_set_first(component, sn_set_first(c->owner, n->group))] = sn_set_first(component, g);
  for (int g = 0; g < c->group_count; g++) component[g] = sn_set_first(component, g);
}

static sn_status link_groups(clustering *c, int a, int b) {
  for (const neighbour *n = c->groups[a].neighbours; n; n = n->next)
    if (sn_set_first(c->owner, n->group) == b) return SN_OK;
  SN_TRY(add_neighbour(c, a, b));
  SN_TRY(add_neighbour(c, b, a));
  solve_t(c, &c->groups[a], c->t[0]);
  return offer(c, a, b);
}

// The groups of other components with the nearest centroids. Returns how many.
static int find_nearest(const clustering *c, const int *component, int a, int nearest[nearest_groups]) {
  int count = 0;
  double distance[nearest_groups];
  for (int b = 0; b < c->group_count; b++) {
    if (is_gone(c, b) || component[b] == component[a]) continue;
    const double(*x)[4] = c->groups[a].x, (*y)[4] = c->groups[b].x;
    double d[3];
    for (int r = 0; r < 3; r++) d[r] = x[r][3] / x[3][3] - y[r][3] / y[3][3];
    count = sn_least_enter(nearest_groups, count, hypot(hypot(d[0], d[1]), d[2]), b, distance, nearest);
  }
  return count;
}

static sn_status link_components(clustering *c) {
  int *component = SN_NEW(c->ctx, c->memory, int, c->group_count), nearest[nearest_groups];
  if (!component) return c->ctx->error.status;
  find_components(c, component);
  for (int a = 0; a < c->group_count; a++) {
    int count = is_gone(c, a) ? 0 : find_nearest(c, component, a, nearest);
    for (int n = 0; n < count; n++) SN_TRY(link_groups(c, a, nearest[n]));
  }
  c->linked = true;
  return SN_OK;
}

static sn_status join_all(clustering *c, sn_cluster_tree *out) {
  int joined = 0;
  while (c->alive > 1) {
    if (c->heap_count == 0 || (!c->linked && c->alive <= linked_at)) SN_TRY(link_components(c));
    join next = pop(c);
    if (is_stale(c, &next)) continue;
    out->joins[joined][0] = next.a, out->joins[joined][1] = next.b;
    out->costs[joined++] = next.cost;
    SN_TRY(unite(c, next.a, next.b));
  }
  return SN_OK;
}

sn_status sn_cluster_triangles(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                               sn_cluster_tree *out) {
  int leaves = examples->rest.triangle_count;
  *out = (sn_cluster_tree){.leaf_count = leaves};
  out->joins = sn_arena_alloc(ctx, memory, (size_t)leaves, sizeof *out->joins);
  out->costs = SN_NEW(ctx, memory, double, leaves);
  SN_SCRATCH(scratch, ctx);
  clustering c = {.ctx = ctx, .memory = &scratch, .rest = &examples->rest, .group_count = leaves, .alive = leaves};
  c.poses = keys->count < most_poses ? keys->count : most_poses;
  for (int k = 0; k < 2; k++) c.t[k] = SN_NEW(ctx, &scratch, double, 12 * (size_t)c.poses);
  c.groups = SN_NEW(ctx, &scratch, group, leaves);
  c.owner = SN_NEW(ctx, &scratch, int, leaves), c.marks = SN_NEW(ctx, &scratch, int, leaves);
  if (!out->joins || !out->costs || !c.groups || !c.owner || !c.marks || !c.t[0] || !c.t[1]) return ctx->error.status;
  SN_TRY(start_groups(&c, &examples->frames, keys));
  SN_TRY(start_neighbours(&c));
  return join_all(&c, out);
}

sn_status sn_cluster_cut(sn_context *ctx, const sn_cluster_tree *tree, int count, int *group_of, int *group_count) {
  SN_SCRATCH(scratch, ctx);
  int leaves = tree->leaf_count;
  int *parent = SN_NEW(ctx, &scratch, int, leaves), *number = SN_NEW(ctx, &scratch, int, leaves);
  *group_count = 0;
  if (!parent || !number) return ctx->error.status;
  for (int t = 0; t < leaves; t++) parent[t] = t, number[t] = -1;
  for (int j = 0; j < leaves - count; j++)
    parent[sn_set_first(parent, tree->joins[j][1])] = sn_set_first(parent, tree->joins[j][0]);
  for (int t = 0; t < leaves; t++) {
    int root = sn_set_first(parent, t);
    if (number[root] < 0) number[root] = (*group_count)++;
    group_of[t] = number[root];
  }
  return SN_OK;
}
