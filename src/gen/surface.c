// SPDX-License-Identifier: MIT
// Implicit surfaces of blended shapes, and the triangles of their zero set (marching tetrahedra).
#include "gen/figure.h"

// ---- distances -------------------------------------------------------------------------------------------------

static double capsule_distance(const sn_shape *shape, sn_vec3 p, sn_vec3 *gradient) {
  sn_vec3 ab = sn_vec3_sub(shape->b, shape->a);
  double length2 = sn_vec3_dot(ab, ab);
  double t = length2 > 0 ? sn_vec3_dot(sn_vec3_sub(p, shape->a), ab) / length2 : 0;
  bool inside = t > 0 && t < 1;
  t = sn_clamp01(t);
  sn_vec3 q = sn_vec3_sub(p, sn_vec3_mad(shape->a, ab, t));
  sn_vec3 stretched = sn_vec3_mad(q, shape->flat, (shape->squash - 1) * sn_vec3_dot(q, shape->flat));
  double length = sn_vec3_length(stretched) + 1e-12, scale = 1 / sqrt(shape->squash);
  sn_vec3 g = sn_vec3_scale(
    sn_vec3_mad(stretched, shape->flat, (shape->squash - 1) * sn_vec3_dot(stretched, shape->flat)), 1 / length);
  double slope = shape->rb - shape->ra + shape->belly * 32 * t * (1 - t) * (1 - 2 * t);
  if (inside) g = sn_vec3_mad(g, ab, -slope / length2);
  *gradient = sn_vec3_scale(g, scale);
  double radius = shape->ra + (shape->rb - shape->ra) * t + shape->belly * 16 * t * t * (1 - t) * (1 - t);
  return (length - radius) * scale;
}

// A cylinder from a to b of radius ra, its edges rounded by rb.
static double cylinder_distance(const sn_shape *shape, sn_vec3 p, sn_vec3 *gradient) {
  sn_vec3 axis = sn_vec3_normalize(sn_vec3_sub(shape->b, shape->a), sn_xyz(0, 1, 0));
  double half = sn_vec3_distance(shape->a, shape->b) / 2;
  sn_vec3 q = sn_vec3_sub(p, sn_vec3_lerp(shape->a, shape->b, 0.5));
  double h = sn_vec3_dot(q, axis), side = h < 0 ? -1 : 1;
  sn_vec3 radial = sn_vec3_mad(q, axis, -h);
  double r = sn_vec3_length(radial);
  sn_vec3 out = r > 1e-12 ? sn_vec3_scale(radial, 1 / r) : sn_xyz(0, 0, 0);
  double dr = r - (shape->ra - shape->rb), dh = fabs(h) - (half - shape->rb);
  if (dr <= 0 || dh <= 0) {
    bool wall = dr > dh;
    *gradient = wall ? out : sn_vec3_scale(axis, side);
    return (wall ? dr : dh) - shape->rb;
  }
  double d = sqrt(dr * dr + dh * dh);
  *gradient = sn_vec3_mad(sn_vec3_scale(out, dr / d), axis, side * dh / d);
  return d - shape->rb;
}

double sn_shape_distance(const sn_shape *shape, sn_vec3 p, sn_vec3 *gradient) {
  return shape->cylinder ? cylinder_distance(shape, p, gradient) : capsule_distance(shape, p, gradient);
}

// The polynomial smooth minimum, shape after shape. Shapes farther off than the widest blend reaches do not matter
// near the surface; away from it they bound the distance from below.
double sn_surface_distance(const sn_surface *surface, sn_vec3 p, sn_vec3 *gradient, double *detail) {
  double d = 1e9, size = 1, beyond = 1e9;
  sn_vec3 g = sn_xyz(0, 0, 0);
  for (int k = 0; k < surface->count; k++) {
    const sn_shape *shape = &surface->shapes[k];
    const sn_ball *ball = &surface->balls[k];
    sn_vec3 gk, to_ball = sn_vec3_sub(p, ball->centre);
    double limit = ball->radius + surface->reach, far2 = sn_vec3_dot(to_ball, to_ball);
    if (far2 > limit * limit) {
      double outside = sqrt(far2) - ball->radius;
      if (outside < beyond) beyond = outside;
      continue;
    }
    double dk = sn_shape_distance(shape, p, &gk), gap = fabs(d - dk);
    double h = shape->blend > gap ? (shape->blend - gap) / shape->blend : 0, share = dk < d ? 1 - h / 2 : h / 2;
    d = (dk < d ? dk : d) - h * h * shape->blend / 4;
    g = sn_vec3_lerp(g, gk, share);
    size += (shape->detail - size) * share;
  }
  *gradient = g;
  if (detail) *detail = size;
  return d < beyond ? d : beyond;
}

sn_status sn_surface_prepare(sn_context *ctx, sn_arena *memory, sn_surface *surface) {
  sn_ball *balls = SN_NEW(ctx, memory, sn_ball, surface->count);
  if (!balls) return ctx->error.status;
  surface->reach = 0;
  for (int k = 0; k < surface->count; k++) {
    const sn_shape *s = &surface->shapes[k];
    double thick = s->cylinder ? s->ra : fmax(s->ra, s->rb) + s->belly;
    balls[k] = (sn_ball){sn_vec3_lerp(s->a, s->b, 0.5), sn_vec3_distance(s->a, s->b) / 2 + thick};
    surface->reach = fmax(surface->reach, 2.5 * s->blend);
  }
  surface->balls = balls;
  return SN_OK;
}

// ---- marching tetrahedra ---------------------------------------------------------------------------------------------

typedef struct grid {
  sn_vec3 low;
  double cell;
  int64_t n[3], node_count; // nodes along each axis
  int64_t step[8];          // from a node to the one at bits x, y, z
  const sn_surface *surface;
  float *value;  // at the nodes
  int *crossing; // 7 per node: vertex on the edge to node + (1..7 as bits x, y, z), or -1
} grid;

static sn_vec3 grid_point(const grid *g, int64_t node) {
  int64_t x = node % g->n[0], y = node / g->n[0] % g->n[1], z = node / (g->n[0] * g->n[1]);
  return sn_vec3_mad(g->low, sn_xyz((double)x, (double)y, (double)z), g->cell);
}

// Rows of nodes; a node far from the surface tells how many after it need no look.
static void sample_rows(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  grid *g = user;
  for (int64_t row = begin; row < end; row++) {
    for (int64_t x = 0; x < g->n[0];) {
      sn_vec3 gradient;
      double d = sn_surface_distance(g->surface, grid_point(g, row * g->n[0] + x), &gradient, NULL);
      int64_t skip = (int64_t)(0.4 * fabs(d) / g->cell); // shapes are steeper than 1 by less than 2
      if (skip < 1) skip = 1;
      for (; skip > 0 && x < g->n[0]; skip--, x++) g->value[row * g->n[0] + x] = (float)d;
    }
  }
}

static sn_status grid_make(sn_context *ctx, const sn_surface *surface, double cell, sn_arena *memory, grid *g) {
  sn_vec3 low = sn_xyz(1e9, 1e9, 1e9), high = sn_xyz(-1e9, -1e9, -1e9);
  for (int k = 0; k < surface->count; k++) {
    const sn_shape *s = &surface->shapes[k];
    double r = s->cylinder ? s->ra : (fmax(s->ra, s->rb) + s->belly) * s->squash;
    low = sn_xyz(fmin(low.x, fmin(s->a.x, s->b.x) - r), fmin(low.y, fmin(s->a.y, s->b.y) - r),
                 fmin(low.z, fmin(s->a.z, s->b.z) - r));
    high = sn_xyz(fmax(high.x, fmax(s->a.x, s->b.x) + r), fmax(high.y, fmax(s->a.y, s->b.y) + r),
                  fmax(high.z, fmax(s->a.z, s->b.z) + r));
  }
  double margin = 2.3 * cell;
  *g = (grid){.low = sn_vec3_sub(low, sn_xyz(margin, margin, margin)), .cell = cell, .surface = surface};
  const double extent[3] = {high.x - low.x, high.y - low.y, high.z - low.z};
  for (int k = 0; k < 3; k++) g->n[k] = (int64_t)((extent[k] + 2 * margin) / cell) + 2;
  g->node_count = g->n[0] * g->n[1] * g->n[2];
  for (int bits = 0; bits < 8; bits++)
    g->step[bits] = (bits & 1) + (bits >> 1 & 1) * g->n[0] + (bits >> 2 & 1) * g->n[0] * g->n[1];
  if (g->node_count > 300000000)
    return sn_fail(ctx, SN_UNSUPPORTED, "too many vertices: a grid of %lld nodes would be needed",
                   (long long)g->node_count);
  g->value = SN_NEW(ctx, memory, float, g->node_count);
  g->crossing = SN_NEW(ctx, memory, int, 7 * g->node_count);
  if (!g->value || !g->crossing) return ctx->error.status;
  sn_parallel_for(ctx, g->n[1] * g->n[2], 64, sample_rows, g);
  return SN_OK;
}

// Numbers the edges the surface crosses; `points` may be NULL to count only. The crossing keeps away from the nodes,
// so that no triangle degenerates.
static int place_crossings(grid *g, sn_vec3 *points) {
  int count = 0;
  for (int64_t node = 0; node < g->node_count; node++) {
    for (int bits = 1; bits < 8; bits++) {
      int64_t other = node + g->step[bits];
      g->crossing[7 * node + bits - 1] = -1;
      if (other >= g->node_count || (g->value[node] < 0) == (g->value[other] < 0)) continue;
      if (points) {
        double a = g->value[node], b = g->value[other], t = fmin(fmax(a / (a - b), 0.1), 0.9);
        points[count] = sn_vec3_lerp(grid_point(g, node), grid_point(g, other), t);
      }
      g->crossing[7 * node + bits - 1] = count++;
    }
  }
  return count;
}

// The six tetrahedra of a cube around its long diagonal (corners as bits), all turned the same way.
static const int tetrahedra[6][4] = {{0, 1, 3, 7}, {0, 3, 2, 7}, {0, 2, 6, 7},
                                     {0, 6, 4, 7}, {0, 4, 5, 7}, {0, 5, 1, 7}};

static int crossing_of(const grid *g, int64_t cube, int a, int b) {
  int low = a < b ? a : b, high = a < b ? b : a; // a tetrahedron's corners are nested bit sets
  return g->crossing[7 * (cube + g->step[low]) + (high ^ low) - 1];
}

// Triangles of one tetrahedron, outward; returns how many.
static int cut_tetrahedron(const grid *g, int64_t cube, const int tet[4], int out[6]) {
  static const int even[4][4] = {{0, 1, 2, 3}, {1, 0, 3, 2}, {2, 0, 1, 3}, {3, 0, 2, 1}}; // even, by first corner
  static const int pairs[6][4] = {{0, 1, 2, 3}, {0, 2, 3, 1}, {0, 3, 1, 2}, {1, 2, 0, 3}, {1, 3, 2, 0}, {2, 3, 0, 1}};
  int inside = 0, mask = 0;
  for (int k = 0; k < 4; k++)
    if (g->value[cube + g->step[tet[k]]] < 0) inside++, mask |= 1 << k;
  if (inside == 0 || inside == 4) return 0;
  if (inside != 2) {
    int lone = 0;
    while ((mask >> lone & 1) != (inside == 1)) lone++;
    const int *p = even[lone];
    for (int k = 0; k < 3; k++) out[inside == 1 ? k : 2 - k] = crossing_of(g, cube, tet[p[0]], tet[p[k + 1]]);
    return 1;
  }
  const int *p = pairs[0];
  for (int k = 0; k < 6; k++)
    if (mask == ((1 << pairs[k][0]) | (1 << pairs[k][1]))) p = pairs[k];
  int ac = crossing_of(g, cube, tet[p[0]], tet[p[2]]), ad = crossing_of(g, cube, tet[p[0]], tet[p[3]]);
  int bd = crossing_of(g, cube, tet[p[1]], tet[p[3]]), bc = crossing_of(g, cube, tet[p[1]], tet[p[2]]);
  const int quad[6] = {ac, ad, bd, ac, bd, bc};
  for (int k = 0; k < 6; k++) out[k] = quad[k];
  return 2;
}

static int cut_grid(const grid *g, int *corners) {
  int count = 0;
  for (int64_t z = 0; z + 1 < g->n[2]; z++) {
    for (int64_t y = 0; y + 1 < g->n[1]; y++) {
      for (int64_t x = 0; x + 1 < g->n[0]; x++) {
        int64_t cube = x + g->n[0] * (y + g->n[1] * z);
        int inside = 0;
        for (int k = 0; k < 8; k++) inside += g->value[cube + g->step[k]] < 0;
        for (int k = 0; k < 6 && inside > 0 && inside < 8; k++) {
          int cut[6], triangles = cut_tetrahedron(g, cube, tetrahedra[k], cut);
          for (int c = 0; corners && c < 3 * triangles; c++) corners[3 * count + c] = cut[c];
          count += triangles;
        }
      }
    }
  }
  return count;
}

sn_status sn_surface_extract(sn_context *ctx, const sn_surface *surface, double cell, sn_arena *memory,
                             sn_soup *out) {
  sn_arena scratch = sn_arena_new(ctx);
  grid g;
  sn_status status = grid_make(ctx, surface, cell, &scratch, &g);
  if (status == SN_OK) {
    out->vertex_count = place_crossings(&g, NULL);
    out->points = SN_NEW(ctx, memory, sn_vec3, out->vertex_count);
    if (out->points) place_crossings(&g, out->points);
    out->triangle_count = cut_grid(&g, NULL);
    out->corners = SN_NEW(ctx, memory, int, 3 * (int64_t)out->triangle_count);
    if (out->points && out->corners)
      cut_grid(&g, out->corners);
    else
      status = ctx->error.status;
  }
  sn_arena_free(&scratch);
  return status;
}

// The grid gives about three times the vertices wanted, so that remeshing has a choice; where it is too coarse to tell
// neighbouring limbs apart (the surface is not a sphere then), a finer one is tried.
sn_status sn_surface_mesh(sn_context *ctx, sn_surface surface, int vertices, sn_mesh *out) {
  sn_arena balls = sn_arena_new(ctx);
  sn_status status = sn_surface_prepare(ctx, &balls, &surface);
  double area = 0;
  for (int k = 0; k < surface.count; k++) {
    const sn_shape *s = &surface.shapes[k];
    area += SN_PI * (s->ra + s->rb) * (sn_vec3_distance(s->a, s->b) + s->ra + s->rb);
  }
  double cell = sqrt(area / vertices);
  bool done = false;
  *out = (sn_mesh){0};
  for (int attempt = 0; status == SN_OK && !done && attempt < 12; attempt++) {
    sn_arena scratch = sn_arena_new(ctx);
    sn_soup soup;
    status = sn_surface_extract(ctx, &surface, cell, &scratch, &soup);
    if (status == SN_OK) {
      bool enough = soup.vertex_count >= 2.2 * vertices, sphere = soup.triangle_count == 2 * soup.vertex_count - 4;
      done = enough && sphere;
      if (done)
        status = sn_remesh(ctx, &surface, vertices, &soup, out);
      else
        cell *= enough ? 0.8 : sqrt((soup.vertex_count + 8) / (3.0 * vertices));
    }
    sn_arena_free(&scratch);
  }
  sn_arena_free(&balls);
  if (status == SN_OK && !done)
    return sn_fail(ctx, SN_UNSUPPORTED, "cannot make a surface of %d vertices; ask for more", vertices);
  return status;
}
