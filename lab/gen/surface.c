// SPDX-License-Identifier: MIT
// Implicit surfaces of blended shapes, and the triangles of their zero set (marching tetrahedra).
#include <string.h>
#include "lab/gen/figure.h"

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

// The grid is gone through layer by layer (z): values of three layers, and vertices on the edges that leave two of them,
// are all that is held.
enum { value_layers = 3, crossing_layers = 2 };

typedef struct grid {
  sn_vec3 low;
  double cell;
  int64_t n[3], layer; // nodes along each axis, and of a layer
  const sn_surface *surface;
  float *value[value_layers];     // of layer z at z % value_layers
  bool *inside[value_layers];     // whether a row (y) has nodes inside
  int *crossing[crossing_layers]; // 7 per node: vertex on the edge to node + (1..7 as bits x, y, z), or -1
  int64_t sampled;                // the layer that is being sampled
} grid;

static sn_vec3 grid_point(const grid *g, int64_t x, int64_t y, int64_t z) {
  return sn_vec3_mad(g->low, sn_xyz((double)x, (double)y, (double)z), g->cell);
}

// Rows of nodes; a node far from the surface tells how many after it need no look.
static void sample_rows(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  grid *g = user;
  int64_t z = g->sampled;
  for (int64_t y = begin; y < end; y++) {
    float *row = g->value[z % value_layers] + y * g->n[0];
    bool inside = false;
    for (int64_t x = 0; x < g->n[0];) {
      sn_vec3 gradient;
      double d = sn_surface_distance(g->surface, grid_point(g, x, y, z), &gradient, NULL);
      int64_t skip = (int64_t)(0.4 * fabs(d) / g->cell); // shapes are steeper than 1 by less than 2
      if (skip < 1) skip = 1;
      inside = inside || d < 0;
      for (; skip > 0 && x < g->n[0]; skip--, x++) row[x] = (float)d;
    }
    g->inside[z % value_layers][y] = inside;
  }
}

static void sample_layer(sn_context *ctx, grid *g, int64_t z) {
  g->sampled = z;
  sn_parallel_for(ctx, g->n[1], 16, sample_rows, g);
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
  g->layer = g->n[0] * g->n[1];
  if ((double)g->layer * (double)g->n[2] > 2e9)
    return sn_fail(ctx, SN_UNSUPPORTED, "too many vertices: a grid of %.0f nodes would be needed",
                   (double)g->layer * (double)g->n[2]);
  for (int k = 0; k < value_layers; k++) {
    g->value[k] = SN_NEW(ctx, memory, float, g->layer);
    g->inside[k] = SN_NEW(ctx, memory, bool, g->n[1]);
    if (!g->value[k] || !g->inside[k]) return ctx->error.status;
  }
  for (int k = 0; k < crossing_layers; k++) {
    g->crossing[k] = SN_NEW(ctx, memory, int, 7 * g->layer);
    if (!g->crossing[k]) return ctx->error.status;
  }
  return SN_OK;
}

// The value at corner `bits` of the cube at x + n[0] y of layer z, and the vertices on the edges that leave it upwards.
static float value_at(const grid *g, int64_t at, int64_t z, int bits) {
  return g->value[(z + (bits >> 2)) % value_layers][at + (bits & 1) + (bits >> 1 & 1) * g->n[0]];
}

static int *crossings_at(const grid *g, int64_t at, int64_t z, int bits) {
  return g->crossing[(z + (bits >> 2)) % crossing_layers] + 7 * (at + (bits & 1) + (bits >> 1 & 1) * g->n[0]);
}

// Whether the surface may pass between row y of layer z, the next, and those above them.
static bool row_matters(const grid *g, int64_t y, int64_t z) {
  const bool *here = g->inside[z % value_layers], *above = g->inside[(z + 1) % value_layers];
  return here[y] || here[y + 1] || above[y] || above[y + 1];
}

// `items` of `size` bytes with room for one more than `count`.
static void *grown(sn_context *ctx, void *items, int64_t count, int64_t *room, size_t size) {
  if (count < *room) return items;
  int64_t larger = *room + *room / 2 + 4096;
  void *out = ctx->allocator.reallocate(ctx->allocator.user, items, (size_t)larger * size);
  if (out)
    *room = larger;
  else
    sn_fail(ctx, SN_NO_MEMORY, "out of memory: cannot make a surface of %lld points", (long long)larger);
  return out;
}

static bool add_point(sn_context *ctx, sn_soup *out, sn_vec3 p) {
  sn_vec3 *points = grown(ctx, out->points, out->vertex_count, &out->point_room, sizeof p);
  if (!points) return false;
  out->points = points;
  points[out->vertex_count++] = p;
  return true;
}

static bool add_triangle(sn_context *ctx, sn_soup *out, const int *corners) {
  int(*all)[3] = grown(ctx, out->corners, out->triangle_count, &out->triangle_room, sizeof *all);
  if (!all) return false;
  out->corners = all[0];
  memcpy(all[out->triangle_count++], corners, sizeof *all);
  return true;
}

void sn_soup_free(sn_context *ctx, sn_soup *soup) {
  ctx->allocator.reallocate(ctx->allocator.user, soup->points, 0);
  ctx->allocator.reallocate(ctx->allocator.user, soup->corners, 0);
  *soup = (sn_soup){0};
}

// Numbers the edges of a layer that the surface crosses; the outermost nodes are all outside. The crossing keeps away from
// the nodes, so that no triangle degenerates.
static sn_status place_crossings(sn_context *ctx, grid *g, int64_t z, sn_soup *out) {
  for (int64_t y = 0; y + 1 < g->n[1]; y++) {
    if (!row_matters(g, y, z)) {
      memset(crossings_at(g, y * g->n[0], z, 0), 0xff, 7 * (size_t)g->n[0] * sizeof(int));
      continue;
    }
    for (int64_t x = 0; x + 1 < g->n[0]; x++) {
      int64_t at = x + y * g->n[0];
      int *crossing = crossings_at(g, at, z, 0);
      double a = value_at(g, at, z, 0);
      for (int bits = 1; bits < 8; bits++) {
        double b = value_at(g, at, z, bits);
        crossing[bits - 1] = -1;
        if ((a < 0) == (b < 0)) continue;
        double t = fmin(fmax(a / (a - b), 0.1), 0.9);
        sn_vec3 other = grid_point(g, x + (bits & 1), y + (bits >> 1 & 1), z + (bits >> 2));
        crossing[bits - 1] = out->vertex_count;
        if (!add_point(ctx, out, sn_vec3_lerp(grid_point(g, x, y, z), other, t))) return ctx->error.status;
      }
    }
  }
  return SN_OK;
}

// The six tetrahedra of a cube around its long diagonal (corners as bits), all oriented the same way.
static const int tetrahedra[6][4] = {{0, 1, 3, 7}, {0, 3, 2, 7}, {0, 2, 6, 7},
                                     {0, 6, 4, 7}, {0, 4, 5, 7}, {0, 5, 1, 7}};

typedef struct cube {
  const grid *g;
  int64_t at, z;
} cube;

static int crossing_of(const cube *c, int a, int b) {
  int low = a < b ? a : b, high = a < b ? b : a; // a tetrahedron's corners are nested bit sets
  return crossings_at(c->g, c->at, c->z, low)[(high ^ low) - 1];
}

// Triangles of one tetrahedron, outward; returns how many.
static int cut_tetrahedron(const cube *c, const int tet[4], int out[6]) {
  static const int even[4][4] = {{0, 1, 2, 3}, {1, 0, 3, 2}, {2, 0, 1, 3}, {3, 0, 2, 1}}; // even, by first corner
  static const int pairs[6][4] = {{0, 1, 2, 3}, {0, 2, 3, 1}, {0, 3, 1, 2}, {1, 2, 0, 3}, {1, 3, 2, 0}, {2, 3, 0, 1}};
  int inside = 0, mask = 0;
  for (int k = 0; k < 4; k++)
    if (value_at(c->g, c->at, c->z, tet[k]) < 0) inside++, mask |= 1 << k;
  if (inside == 0 || inside == 4) return 0;
  if (inside != 2) {
    int lone = 0;
    while ((mask >> lone & 1) != (inside == 1)) lone++;
    const int *p = even[lone];
    for (int k = 0; k < 3; k++) out[inside == 1 ? k : 2 - k] = crossing_of(c, tet[p[0]], tet[p[k + 1]]);
    return 1;
  }
  const int *p = pairs[0];
  for (int k = 0; k < 6; k++)
    if (mask == ((1 << pairs[k][0]) | (1 << pairs[k][1]))) p = pairs[k];
  int ac = crossing_of(c, tet[p[0]], tet[p[2]]), ad = crossing_of(c, tet[p[0]], tet[p[3]]);
  int bd = crossing_of(c, tet[p[1]], tet[p[3]]), bc = crossing_of(c, tet[p[1]], tet[p[2]]);
  const int quad[6] = {ac, ad, bd, ac, bd, bc};
  for (int k = 0; k < 6; k++) out[k] = quad[k];
  return 2;
}

// The cubes between layer z and the next.
static sn_status cut_layer(sn_context *ctx, const grid *g, int64_t z, sn_soup *out) {
  for (int64_t y = 0; y + 1 < g->n[1]; y++) {
    if (!row_matters(g, y, z)) continue;
    for (int64_t x = 0; x + 1 < g->n[0]; x++) {
      cube c = {g, x + y * g->n[0], z};
      int inside = 0;
      for (int k = 0; k < 8; k++) inside += value_at(g, c.at, z, k) < 0;
      for (int k = 0; k < 6 && inside > 0 && inside < 8; k++) {
        int cut[6], triangles = cut_tetrahedron(&c, tetrahedra[k], cut);
        for (int t = 0; t < triangles; t++)
          if (!add_triangle(ctx, out, cut + 3 * t)) return ctx->error.status;
      }
    }
  }
  return SN_OK;
}

sn_status sn_surface_extract(sn_context *ctx, const sn_surface *surface, double cell, sn_soup *out) {
  sn_arena scratch = sn_arena_new(ctx);
  grid g;
  *out = (sn_soup){0};
  sn_status status = grid_make(ctx, surface, cell, &scratch, &g);
  if (status == SN_OK) sample_layer(ctx, &g, 0);
  for (int64_t z = 0; status == SN_OK && z + 1 < g.n[2]; z++) {
    sample_layer(ctx, &g, z + 1);
    status = place_crossings(ctx, &g, z, out);
    if (status == SN_OK && z > 0) status = cut_layer(ctx, &g, z - 1, out);
    if (status == SN_OK && !sn_progress(ctx, "surface", (double)z / (double)g.n[2]))
      status = sn_fail(ctx, SN_STOPPED, "stopped");
  }
  if (status != SN_OK) sn_soup_free(ctx, out);
  sn_arena_free(&scratch);
  return status;
}

// The grid gives about three times the target number of vertices, so that remeshing has a choice; where it is too coarse to resolve
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
    sn_soup soup;
    status = sn_surface_extract(ctx, &surface, cell, &soup);
    if (status == SN_OK) {
      bool enough = soup.vertex_count >= 2.2 * vertices, sphere = soup.triangle_count == 2 * soup.vertex_count - 4;
      done = enough && sphere;
      if (done)
        status = sn_remesh(ctx, &surface, vertices, &soup, out);
      else
        cell *= enough ? 0.8 : sqrt((soup.vertex_count + 8) / (3.0 * vertices));
    }
    sn_soup_free(ctx, &soup);
  }
  sn_arena_free(&balls);
  if (status == SN_OK && !done)
    return sn_fail(ctx, SN_UNSUPPORTED, "cannot make a surface of %d vertices; ask for more", vertices);
  return status;
}
