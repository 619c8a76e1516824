// SPDX-License-Identifier: MIT
// Clusters of triangles, joined bottom-up by the error of one affine map per group and pose.
#include "train/cluster.h"

#include <math.h>
#include <string.h>

#include "solve/solve.h"

// Nearest groups of other components that a group may be joined with, once `linked_at` groups are left: more than any
// number of bones, so that a mesh of many parts does not have its body joined before its buttons.
enum {
  nearest_groups = 8,
  linked_at = 1024,
  most_poses = 32,
  pairs = 10
}; // pairs: entries of an upper triangle of 4 x 4

// What is known of a group: X = sum of p p^T over its points p = (y^, 1), and per pose Z = sum of p y^T. The best affine
// maps leave  sum |y|^2 - <X^-1, sum over poses of Z Z^T>.
typedef struct group {
  double x[pairs]; // upper triangle of X
  double k[pairs]; // upper triangle of sum Z Z^T
  double squares;  // sum |y|^2
  double error;
  double *z; // [4][3 * poses]
  int *neighbours, neighbour_count;
  int stamp; // joins so far; entries of the heap with another stamp are stale
  bool gone;
} group;

typedef struct join {
  double cost;
  int a, b, stamp_a, stamp_b;
} join;

typedef struct clustering {
  sn_context *ctx;
  sn_arena memory;
  const sn_mesh *rest;
  int poses, group_count, alive;
  bool linked; // groups of different components
  bool published;
  group *groups;
  double *positions;      // [pose][vertex][3], centred
  double *transformation; // room for T_B: [4][3 * poses]
  join *heap;
  size_t heap_count, heap_capacity;
  int *marks, mark; // for uniting lists of neighbours
} clustering;

static const int upper[pairs][2] = {{0, 0}, {0, 1}, {0, 2}, {0, 3}, {1, 1}, {1, 2}, {1, 3}, {2, 2}, {2, 3}, {3, 3}};

// ---- what a group, or two groups together, cannot follow ------------------------------------------------------------

// <A^-1, K> for symmetric positive definite A, by Cholesky: tr(L^-1 K L^-T).
static double inverse_product(const double a[pairs], const double k[pairs]) {
  double l[4][4] = {{0}}, m[4][4], trace = a[0] + a[4] + a[7] + a[9], sum = 0;
  for (int n = 0; n < pairs; n++) {
    l[upper[n][1]][upper[n][0]] = a[n];
    m[upper[n][0]][upper[n][1]] = m[upper[n][1]][upper[n][0]] = k[n];
  }
  for (int j = 0; j < 4; j++) {
    l[j][j] += 1e-12 * trace;
    for (int c = 0; c < j; c++) l[j][j] -= l[j][c] * l[j][c];
    l[j][j] = sqrt(fmax(l[j][j], 1e-14 * trace + 1e-300));
    for (int i = j + 1; i < 4; i++) {
      for (int c = 0; c < j; c++) l[i][j] -= l[i][c] * l[j][c];
      l[i][j] /= l[j][j];
    }
  }
  for (int c = 0; c < 4; c++) // m <- L^-1 m
    for (int i = 0; i < 4; i++) {
      for (int n = 0; n < i; n++) m[i][c] -= l[i][n] * m[n][c];
      m[i][c] /= l[i][i];
    }
  for (int r = 0; r < 4; r++) { // the diagonal of m L^-T
    double row[4];
    for (int c = 0; c <= r; c++) {
      row[c] = m[r][c];
      for (int n = 0; n < c; n++) row[c] -= l[c][n] * row[n];
      row[c] /= l[c][c];
    }
    sum += row[r];
  }
  return sum;
}

static double dot(const double *a, const double *b, int count) {
  double sum[4] = {0, 0, 0, 0};
  int n = 0;
  for (; n + 4 <= count; n += 4)
    for (int l = 0; l < 4; l++) sum[l] += a[n + l] * b[n + l];
  for (; n < count; n++) sum[0] += a[n] * b[n];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static double united_error(const clustering *c, const group *a, const group *b, double k[pairs]) {
  double x[pairs];
  int count = 3 * c->poses;
  for (int n = 0; n < pairs; n++) {
    int p = upper[n][0], q = upper[n][1];
    double cross = dot(a->z + p * count, b->z + q * count, count);
    if (p != q) cross += dot(b->z + p * count, a->z + q * count, count);
    k[n] = a->k[n] + b->k[n] + (p == q ? 2 * cross : cross);
    x[n] = a->x[n] + b->x[n];
  }
  return fmax(a->squares + b->squares - inverse_product(x, k), 0);
}

// E_A->B (5.1): sum |y - T_B p|^2 over the vertices of A, with T_B = X_B^-1 Z_B.
static double error_under(const clustering *c, const group *a, const group *b) {
  int count = 3 * c->poses;
  double x[4][4], *t = c->transformation, sum = a->squares;
  memcpy(t, b->z, 4 * (size_t)count * sizeof *t);
  for (int n = 0; n < pairs; n++) x[upper[n][1]][upper[n][0]] = b->x[n];
  sn_spd_solve(4, 4, x[0], count, t);
  for (int n = 0; n < pairs; n++) {
    int p = upper[n][0], q = upper[n][1];
    sum += (p == q ? 1 : 2) * a->x[n] * dot(t + p * count, t + q * count, count);
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
    join *grown = SN_NEW(c->ctx, &c->memory, join, capacity);
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

static sn_status offer(clustering *c, int a, int b) {
  if (a > b) {
    int keep = a;
    a = b, b = keep;
  }
  const group *ga = &c->groups[a], *gb = &c->groups[b];
  double k[pairs], cost = 0;
  if (c->published) {
    cost = fmin(error_under(c, ga, gb), error_under(c, gb, ga));
  } else {
    cost = united_error(c, ga, gb, k) - ga->error - gb->error;
  }
  return push(c, (join){cost, a, b, ga->stamp, gb->stamp});
}

// ---- the start: every triangle --------------------------------------------------------------------------------------

static void add_point(const clustering *c, group *g, const double rest[3], const double *posed, double weight) {
  const double p[4] = {rest[0], rest[1], rest[2], 1};
  for (int n = 0; n < pairs; n++) g->x[n] += weight * p[upper[n][0]] * p[upper[n][1]];
  for (int m = 0; m < 3 * c->poses; m++) {
    for (int r = 0; r < 4; r++) g->z[r * 3 * c->poses + m] += weight * p[r] * posed[m];
    g->squares += weight * posed[m] * posed[m];
  }
}

// The three corners; and, with a small weight, a fourth point above the triangle, without which a flat group leaves open
// what happens across its plane.
// Weight of the point above a triangle beside its corners.
static const double normal_share = 0.05;

static void start_group(const clustering *c, int t, const double *rest, const double *valence, double *posed) {
  group *g = &c->groups[t];
  const int *corners = c->rest->triangles[t];
  int n = c->rest->vertex_count;
  double point[3];
  for (int j = 0; j < 3; j++) {
    for (int f = 0; f < c->poses; f++)
      memcpy(posed + 3 * f, c->positions + 3 * ((size_t)f * (size_t)n + (size_t)corners[j]), sizeof point);
    add_point(c, g, rest + 3 * corners[j], posed, c->published ? 1 : 1 / valence[corners[j]]);
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
  add_point(c, g, point, posed, c->published ? 1e-7 : normal_share);
  for (int m = 0; m < pairs; m++) {
    int count = 3 * c->poses;
    g->k[m] = dot(g->z + upper[m][0] * count, g->z + upper[m][1] * count, count);
  }
  g->error = fmax(g->squares - inverse_product(g->x, g->k), 0);
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
  const sn_mesh *rest = c->rest;
  int n = rest->vertex_count;
  size_t numbers = 3 * (size_t)c->poses;
  double *middle = SN_NEW(c->ctx, &c->memory, double, 3 * (size_t)n),
         *valence = SN_NEW(c->ctx, &c->memory, double, n);
  double *posed = SN_NEW(c->ctx, &c->memory, double, numbers);
  double *z = SN_NEW(c->ctx, &c->memory, double, 4 * numbers * (size_t)c->group_count);
  c->positions = SN_NEW(c->ctx, &c->memory, double, numbers *(size_t)n);
  if (!middle || !valence || !posed || !z || !c->positions) return c->ctx->error.status;
  centre((const float(*)[3])rest->positions, n, middle);
  for (int f = 0; f < c->poses; f++) {
    int frame = keys->frames[(int64_t)f * keys->count / c->poses];
    centre(sn_frame(frames, frame), n, c->positions + 3 * (size_t)f * (size_t)n);
  }
  for (int t = 0; t < rest->triangle_count; t++)
    for (int j = 0; j < 3; j++) valence[rest->triangles[t][j]]++;
  for (int t = 0; t < c->group_count; t++) {
    c->groups[t].z = z + 4 * numbers * (size_t)t;
    start_group(c, t, middle, valence, posed);
  }
  return SN_OK;
}

// Triangles with a common edge.
static sn_status start_neighbours(clustering *c) {
  sn_topology topology = {0};
  sn_status status = sn_topology_build(c->ctx, c->rest, &topology);
  for (int t = 0; status == SN_OK && t < c->group_count; t++) {
    group *g = &c->groups[t];
    const int *corners = c->rest->triangles[t];
    int capacity = 0, mark = ++c->mark;
    for (int j = 0; j < 3; j++) capacity += topology.face_start[corners[j] + 1] - topology.face_start[corners[j]];
    g->neighbours = SN_NEW(c->ctx, &c->memory, int, capacity);
    if (!g->neighbours) status = c->ctx->error.status;
    for (int j = 0; status == SN_OK && j < 3; j++) {
      int a = corners[j], b = corners[(j + 1) % 3];
      for (int n = topology.face_start[a]; n < topology.face_start[a + 1]; n++) {
        int other = topology.faces[n];
        const int *o = c->rest->triangles[other];
        if (other == t || c->marks[other] == mark || (o[0] != b && o[1] != b && o[2] != b)) continue;
        c->marks[other] = mark;
        g->neighbours[g->neighbour_count++] = other;
      }
    }
  }
  sn_topology_free(&topology);
  for (int t = 0; status == SN_OK && t < c->group_count; t++)
    for (int n = 0; status == SN_OK && n < c->groups[t].neighbour_count; n++)
      if (t < c->groups[t].neighbours[n]) status = offer(c, t, c->groups[t].neighbours[n]);
  return status;
}

// ---- joining --------------------------------------------------------------------------------------------------------

static void replace_neighbour(group *g, int from, int to) {
  int kept = 0;
  bool has = false;
  for (int n = 0; n < g->neighbour_count; n++) {
    int other = g->neighbours[n] == from ? to : g->neighbours[n];
    if (other == to && has) continue;
    has = has || other == to;
    g->neighbours[kept++] = other;
  }
  g->neighbour_count = kept;
}

// Group b goes into group a.
static sn_status unite(clustering *c, int a, int b) {
  group *ga = &c->groups[a], *gb = &c->groups[b];
  int *neighbours = SN_NEW(c->ctx, &c->memory, int, ga->neighbour_count + gb->neighbour_count), count = 0;
  if (!neighbours) return c->ctx->error.status;
  double k[pairs];
  ga->error = united_error(c, ga, gb, k);
  for (int n = 0; n < pairs; n++) ga->x[n] += gb->x[n], ga->k[n] = k[n];
  for (int m = 0; m < 12 * c->poses; m++) ga->z[m] += gb->z[m];
  ga->squares += gb->squares, ga->stamp++, gb->gone = true, c->alive--;
  int mark = ++c->mark;
  for (int side = 0; side < 2; side++) {
    const group *g = side ? gb : ga;
    for (int n = 0; n < g->neighbour_count; n++) {
      int other = g->neighbours[n];
      if (other == a || other == b || c->marks[other] == mark) continue;
      c->marks[other] = mark, neighbours[count++] = other;
      if (side) replace_neighbour(&c->groups[other], b, a);
    }
  }
  // Those that were neighbours of both still list b.
  for (int n = 0; n < gb->neighbour_count; n++)
    if (gb->neighbours[n] != a) replace_neighbour(&c->groups[gb->neighbours[n]], b, a);
  ga->neighbours = neighbours, ga->neighbour_count = count;
  sn_status status = SN_OK;
  for (int n = 0; n < count && status == SN_OK; n++) status = offer(c, a, neighbours[n]);
  return status;
}

static bool is_stale(const clustering *c, const join *j) {
  const group *a = &c->groups[j->a], *b = &c->groups[j->b];
  return a->gone || b->gone || a->stamp != j->stamp_a || b->stamp != j->stamp_b;
}

static void group_centre(const group *g, double out[3]) {
  for (int r = 0; r < 3; r++) out[r] = g->x[9] > 0 ? g->x[r == 0 ? 3 : r == 1 ? 6 : 8] / g->x[9] : 0;
}

// Groups that edges connect have the same component.
static sn_status find_components(clustering *c, int *component) {
  int *queue = SN_NEW(c->ctx, &c->memory, int, c->group_count);
  if (!queue) return c->ctx->error.status;
  for (int g = 0; g < c->group_count; g++) component[g] = -1;
  for (int first = 0; first < c->group_count; first++) {
    if (c->groups[first].gone || component[first] >= 0) continue;
    int count = 0;
    queue[count++] = first, component[first] = first;
    for (int k = 0; k < count; k++)
      for (int n = 0; n < c->groups[queue[k]].neighbour_count; n++) {
        int other = c->groups[queue[k]].neighbours[n];
        if (component[other] < 0) component[other] = first, queue[count++] = other;
      }
  }
  return SN_OK;
}

static bool is_listed(const int *list, int count, int wanted) {
  for (int n = 0; n < count; n++)
    if (list[n] == wanted) return true;
  return false;
}

static sn_status add_neighbour(clustering *c, int a, int b) {
  group *g = &c->groups[a];
  int *list = SN_NEW(c->ctx, &c->memory, int, g->neighbour_count + 1);
  if (!list) return c->ctx->error.status;
  if (g->neighbour_count > 0) memcpy(list, g->neighbours, (size_t)g->neighbour_count * sizeof *list);
  list[g->neighbour_count++] = b;
  g->neighbours = list;
  return SN_OK;
}

static sn_status link_groups(clustering *c, int a, int b) {
  if (is_listed(c->groups[a].neighbours, c->groups[a].neighbour_count, b)) return SN_OK;
  sn_status status = add_neighbour(c, a, b);
  if (status == SN_OK) status = add_neighbour(c, b, a);
  return status == SN_OK ? offer(c, a, b) : status;
}

int sn_least_enter(int most, int count, double cost, int item, double *costs, int *items) {
  int at = count < most ? count++ : most;
  for (; at > 0 && cost < costs[at - 1]; at--)
    if (at < most) costs[at] = costs[at - 1], items[at] = items[at - 1];
  if (at < most) costs[at] = cost, items[at] = item;
  return count;
}

// Of groups of other components, those whose centres are nearest. Returns how many.
static int find_nearest(const clustering *c, const int *component, int a, int nearest[nearest_groups]) {
  int count = 0;
  double distance[nearest_groups], here[3], there[3];
  group_centre(&c->groups[a], here);
  for (int b = 0; b < c->group_count; b++) {
    if (c->groups[b].gone || component[b] == component[a]) continue;
    group_centre(&c->groups[b], there);
    double d = hypot(hypot(here[0] - there[0], here[1] - there[1]), here[2] - there[2]);
    count = sn_least_enter(nearest_groups, count, d, b, distance, nearest);
  }
  return count;
}

static sn_status link_components(clustering *c) {
  int *component = SN_NEW(c->ctx, &c->memory, int, c->group_count), nearest[nearest_groups];
  sn_status status = component ? find_components(c, component) : c->ctx->error.status;
  for (int a = 0; status == SN_OK && a < c->group_count; a++) {
    if (c->groups[a].gone) continue;
    int count = find_nearest(c, component, a, nearest);
    for (int n = 0; status == SN_OK && n < count; n++) status = link_groups(c, a, nearest[n]);
  }
  c->linked = true;
  return status;
}

static sn_status join_all(clustering *c, sn_cluster_tree *out) {
  sn_status status = SN_OK;
  int joined = 0;
  while (status == SN_OK && c->alive > 1) {
    if (c->heap_count == 0 || (!c->linked && c->alive <= linked_at)) status = link_components(c);
    if (status != SN_OK) break;
    join next = pop(c);
    if (is_stale(c, &next)) continue;
    out->joins[joined][0] = next.a, out->joins[joined][1] = next.b;
    out->costs[joined++] = next.cost;
    status = unite(c, next.a, next.b);
  }
  return status;
}

sn_status sn_cluster_triangles(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                               bool published, sn_cluster_tree *out) {
  int leaves = examples->rest.triangle_count;
  *out = (sn_cluster_tree){.leaf_count = leaves};
  out->joins = sn_arena_alloc(ctx, memory, (size_t)leaves, sizeof *out->joins);
  out->costs = SN_NEW(ctx, memory, double, leaves);
  clustering c = {
    .ctx = ctx, .memory = sn_arena_new(ctx), .rest = &examples->rest, .group_count = leaves, .alive = leaves};
  c.published = published, c.poses = keys->count < most_poses ? keys->count : most_poses;
  c.transformation = SN_NEW(ctx, &c.memory, double, 12 * (size_t)c.poses);
  c.groups = SN_NEW(ctx, &c.memory, group, leaves);
  c.marks = SN_NEW(ctx, &c.memory, int, leaves);
  sn_status status = out->joins && out->costs && c.groups && c.marks && c.transformation ? SN_OK : ctx->error.status;
  if (status == SN_OK) status = start_groups(&c, &examples->frames, keys);
  if (status == SN_OK) status = start_neighbours(&c);
  if (status == SN_OK) status = join_all(&c, out);
  sn_arena_free(&c.memory);
  return status;
}

static int find(int *parent, int t) {
  while (parent[t] != t) t = parent[t] = parent[parent[t]];
  return t;
}

sn_status sn_cluster_cut(sn_context *ctx, const sn_cluster_tree *tree, int count, int *group_of, int *group_count) {
  sn_arena scratch = sn_arena_new(ctx);
  int leaves = tree->leaf_count;
  int *parent = SN_NEW(ctx, &scratch, int, leaves), *number = SN_NEW(ctx, &scratch, int, leaves);
  sn_status status = parent && number ? SN_OK : ctx->error.status;
  *group_count = 0;
  for (int t = 0; status == SN_OK && t < leaves; t++) parent[t] = t, number[t] = -1;
  for (int j = 0; status == SN_OK && j < leaves - count; j++) {
    parent[find(parent, tree->joins[j][1])] = find(parent, tree->joins[j][0]);
  }
  for (int t = 0; status == SN_OK && t < leaves; t++) {
    int root = find(parent, t);
    if (number[root] < 0) number[root] = (*group_count)++;
    group_of[t] = number[root];
  }
  sn_arena_free(&scratch);
  return status;
}
