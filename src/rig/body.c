// SPDX-License-Identifier: MIT
// The inside of the rest mesh: generalised winding numbers, distances, and medial points.
#include "rig/body.h"
#include "sinew/rig.h"
#include "solve/solve.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  part_size = 8,   // triangles of a part, approximated by one dipole when far away
  block_parts = 6, // parts of a block, approximated in the same way
  block_size = part_size * block_parts,
  walls = 12 // nearest vertices at which sn_rig_put_inside measures the thickness
};

// A block farther away than this many of its radii is approximated by a dipole; the error of the winding number is about 1e-3.
static const double far_radii = 3;

// Solid angle of a triangle seen from x, divided by 4 pi (van Oosterom and Strackee).
static double triangle_winding(const rig_body *b, int t, const double x[3]) {
  sn_vec3 p[3];
  double l[3];
  for (int k = 0; k < 3; k++) {
    const double *u = b->u[b->triangle[t][k]];
    p[k] = (sn_vec3){u[0] - x[0], u[1] - x[1], u[2] - x[2]};
    l[k] = sn_vec3_length(p[k]);
  }
  double up = sn_vec3_dot(p[0], sn_vec3_cross(p[1], p[2]));
  double down = l[0] * l[1] * l[2] + sn_vec3_dot(p[0], p[1]) * l[2] + sn_vec3_dot(p[1], p[2]) * l[0] +
                sn_vec3_dot(p[2], p[0]) * l[1];
  return atan2(up, down) / (2 * SN_PI);
}

// Adds the dipole of a far block to the winding number about x; false if the block is too near.
static bool far_winding(const rig_block *block, const double x[3], double *sum) {
  sn_vec3 d = {block->centre.x - x[0], block->centre.y - x[1], block->centre.z - x[2]};
  double square = sn_vec3_dot(d, d);
  if (!(square > far_radii * far_radii * block->radius * block->radius)) return false;
  *sum += sn_vec3_dot(block->area, d) / (4 * SN_PI * square * sqrt(square));
  return true;
}

double sn_rig_winding(const rig_body *b, const double x[3]) {
  double sum = 0;
  for (int k = 0; k < b->block_count; k++) {
    if (far_winding(&b->blocks[k], x, &sum)) continue;
    for (int q = k * block_parts; q < (k + 1) * block_parts && q < b->part_count; q++) {
      const rig_block *part = &b->parts[q];
      if (far_winding(part, x, &sum)) continue;
      for (int t = part->first; t < part->first + part->count; t++) sum += triangle_winding(b, t, x);
    }
  }
  return sum;
}

bool sn_rig_inside(const rig_body *b, const double x[3]) { return sn_rig_winding(b, x) > 0.5; }

bool sn_rig_inside_known(const rig_body *b, const double x[3], rig_ball *known) {
  static const double certain = 0.9; // in an open mesh the winding number varies within the ball
  double square = 0;
  for (int c = 0; c < 3; c++) square += (x[c] - known->centre[c]) * (x[c] - known->centre[c]);
  if (square < known->radius * known->radius) return true;
  double winding = sn_rig_winding(b, x);
  if (winding > certain) {
    memcpy(known->centre, x, sizeof known->centre);
    known->radius = 0.5 * sn_rig_surface_distance(b, x);
  }
  return winding > 0.5;
}

static sn_vec3 corner(const rig_body *b, int t, int k) {
  const double *u = b->u[b->triangle[t][k]];
  return (sn_vec3){u[0], u[1], u[2]};
}

// ---- distance ------------------------------------------------------------------------------------------------------

static sn_vec3 nearest_on_edge(sn_vec3 a, sn_vec3 b, sn_vec3 x) {
  sn_vec3 e = sn_vec3_sub(b, a);
  double length = sn_vec3_dot(e, e), s = length > 0 ? sn_vec3_dot(sn_vec3_sub(x, a), e) / length : 0;
  return sn_vec3_mad(a, e, s < 0 ? 0 : s > 1 ? 1 : s);
}

static double distance_to_triangle(const rig_body *body, int t, sn_vec3 x) {
  sn_vec3 a = corner(body, t, 0), b = corner(body, t, 1), c = corner(body, t, 2);
  sn_vec3 ab = sn_vec3_sub(b, a), ac = sn_vec3_sub(c, a), n = sn_vec3_cross(ab, ac), ax = sn_vec3_sub(x, a);
  double area = sn_vec3_dot(n, n);
  if (area > 0) {
    double v = sn_vec3_dot(sn_vec3_cross(ax, ac), n) / area, w = sn_vec3_dot(sn_vec3_cross(ab, ax), n) / area;
    if (v >= 0 && w >= 0 && v + w <= 1) return fabs(sn_vec3_dot(ax, n)) / sqrt(area);
  }
  double least = sn_vec3_length(sn_vec3_sub(nearest_on_edge(a, b, x), x));
  least = fmin(least, sn_vec3_length(sn_vec3_sub(nearest_on_edge(b, c, x), x)));
  return fmin(least, sn_vec3_length(sn_vec3_sub(nearest_on_edge(c, a, x), x)));
}

static double distance_to_block(const rig_body *b, const rig_block *block, sn_vec3 x, double least) {
  for (int t = block->first; t < block->first + block->count; t++) least = fmin(least, distance_to_triangle(b, t, x));
  return least;
}

double sn_rig_surface_distance(const rig_body *b, const double x[3]) {
  sn_vec3 at = {x[0], x[1], x[2]};
  double least = INFINITY, nearest = INFINITY;
  int first = 0; // the part with the nearest ball: testing it first culls most others
  for (int k = 0; k < b->part_count; k++) {
    double gap = sn_vec3_distance(b->parts[k].centre, at) - b->parts[k].radius;
    if (gap < nearest) nearest = gap, first = k;
  }
  if (b->part_count > 0) least = distance_to_block(b, &b->parts[first], at, least);
  for (int k = 0; k < b->block_count; k++) {
    if (sn_vec3_distance(b->blocks[k].centre, at) - b->blocks[k].radius > least) continue;
    for (int q = k * block_parts; q < (k + 1) * block_parts && q < b->part_count; q++) {
      if (sn_vec3_distance(b->parts[q].centre, at) - b->parts[q].radius > least) continue;
      least = distance_to_block(b, &b->parts[q], at, least);
    }
  }
  return least;
}

// ---- points inside -------------------------------------------------------------------------------------------------

// Distance at which the ray from x along d hits triangle t; INFINITY: no hit (Moeller and Trumbore).
static double ray_hit(const rig_body *body, int t, sn_vec3 x, sn_vec3 d) {
  sn_vec3 a = corner(body, t, 0), ab = sn_vec3_sub(corner(body, t, 1), a), ac = sn_vec3_sub(corner(body, t, 2), a);
  sn_vec3 p = sn_vec3_cross(d, ac), s = sn_vec3_sub(x, a), q = sn_vec3_cross(s, ab);
  double det = sn_vec3_dot(ab, p);
  if (fabs(det) < 1e-18) return INFINITY;
  double u = sn_vec3_dot(s, p) / det, v = sn_vec3_dot(d, q) / det;
  return u < 0 || v < 0 || u + v > 1 ? INFINITY : sn_vec3_dot(ac, q) / det;
}

// Thickness of the body at vertex i along `inwards`; 0: no opposite wall.
static double thickness(const rig_body *b, int i, sn_vec3 inwards) {
  sn_vec3 x = {b->u[i][0], b->u[i][1], b->u[i][2]};
  double least = INFINITY;
  for (int k = 0; k < b->block_count; k++) {
    const rig_block *block = &b->blocks[k];
    sn_vec3 to = sn_vec3_sub(block->centre, x);
    double along = sn_vec3_dot(to, inwards), aside = sn_vec3_dot(to, to) - along * along;
    if (aside > block->radius * block->radius || along < -block->radius || along - block->radius > least) continue;
    for (int t = block->first; t < block->first + block->count; t++) {
      if (b->triangle[t][0] == i || b->triangle[t][1] == i || b->triangle[t][2] == i) continue;
      double hit = ray_hit(b, t, x, inwards);
      if (hit > 8 * (double)FLT_EPSILON && hit < least) least = hit;
    }
  }
  return least < INFINITY ? least : 0;
}

static int nearest_vertices(const rig_body *b, const double x[3], int *out) {
  double distance[walls];
  int count = 0;
  for (int i = 0; i < b->n; i++) {
    double d = 0;
    for (int c = 0; c < 3; c++) d += (b->u[i][c] - x[c]) * (b->u[i][c] - x[c]);
    count = sn_least_enter(walls, count, d, i, distance, out);
  }
  return count;
}

void sn_rig_put_inside(const rig_body *b, double x[3]) {
  if (sn_rig_inside(b, x)) return;
  int wall[walls], count = nearest_vertices(b, x, wall);
  double best = INFINITY, found[3];
  for (int q = 0; q < count; q++) {
    sn_vec3 inwards = sn_vec3_scale(b->normal[wall[q]], -1);
    double deep = 0.5 * thickness(b, wall[q], inwards), middle[3], distance = 0;
    middle[0] = b->u[wall[q]][0] + deep * inwards.x, middle[1] = b->u[wall[q]][1] + deep * inwards.y;
    middle[2] = b->u[wall[q]][2] + deep * inwards.z;
    for (int c = 0; c < 3; c++) distance += (middle[c] - x[c]) * (middle[c] - x[c]);
    if (deep > 0 && distance < best && sn_rig_inside(b, middle)) best = distance, memcpy(found, middle, sizeof found);
  }
  if (best < INFINITY) memcpy(x, found, sizeof found);
}

// ---- building ------------------------------------------------------------------------------------------------------

// Sorts triangles by their first corners along p's space-filling curve, so that blocks are compact.
static void sort_triangles(const sn_mesh *rest, const fit_problem *p, int *rank, int *start, rig_body *b) {
  for (int q = 0; q < p->n; q++) rank[p->order[q]] = q;
  memset(start, 0, ((size_t)p->n + 1) * sizeof *start);
  for (int t = 0; t < rest->triangle_count; t++) start[rank[rest->triangles[t][0]] + 1]++;
  for (int q = 0; q < p->n; q++) start[q + 1] += start[q];
  for (int t = 0; t < rest->triangle_count; t++) {
    int to = start[rank[rest->triangles[t][0]]]++;
    for (int k = 0; k < 3; k++) b->triangle[to][k] = (int)rest->triangles[t][k];
  }
}

// ---- pieces: connected components of the mesh

typedef struct rig_piece {
  double volume, size;
  sn_vec3 area; // sum of area-weighted normals; 0 if the piece is closed
} rig_piece;

// Orients triangles outwards: closed pieces by the sign of their volume, all open pieces together by the sign of their total
// volume.
static void turn_outwards(rig_body *b, int triangles, int *piece, rig_piece *pieces) {
  static const double closed = 1e-3;
  double open = 0;
  for (int i = 0; i < b->n; i++) piece[i] = i;
  for (int t = 0; t < triangles; t++)
    for (int k = 1; k < 3; k++)
      piece[sn_set_first(piece, b->triangle[t][k])] = sn_set_first(piece, b->triangle[t][0]);
  for (int t = 0; t < triangles; t++) {
    sn_vec3 a = corner(b, t, 0), e = corner(b, t, 1), g = corner(b, t, 2);
    sn_vec3 area = sn_vec3_cross(sn_vec3_sub(e, a), sn_vec3_sub(g, a));
    rig_piece *of = &pieces[sn_set_first(piece, b->triangle[t][0])];
    b->pieces += of->size == 0;
    of->volume += sn_vec3_dot(a, sn_vec3_cross(e, g)), of->area = sn_vec3_add(of->area, area);
    of->size += sn_vec3_length(area) + 1e-300;
  }
  for (int i = 0; i < b->n; i++)
    if (sn_vec3_length(pieces[i].area) > closed * pieces[i].size) open += pieces[i].volume, pieces[i].volume = 0;
  for (int t = 0; t < triangles; t++) {
    const rig_piece *of = &pieces[sn_set_first(piece, b->triangle[t][0])];
    if (of->volume > 0 || (of->volume == 0 && open >= 0)) continue;
    int other = b->triangle[t][1];
    b->triangle[t][1] = b->triangle[t][2], b->triangle[t][2] = other;
  }
}

static void fill_block(const rig_body *b, int first, int count, rig_block *out) {
  *out = (rig_block){.first = first, .count = count};
  double total = 0;
  for (int t = first; t < first + count; t++) {
    sn_vec3 a = corner(b, t, 0), e = corner(b, t, 1), g = corner(b, t, 2);
    sn_vec3 area = sn_vec3_scale(sn_vec3_cross(sn_vec3_sub(e, a), sn_vec3_sub(g, a)), 0.5);
    double size = sn_vec3_length(area) + 1e-300;
    out->area = sn_vec3_add(out->area, area);
    out->centre = sn_vec3_mad(out->centre, sn_vec3_add(a, sn_vec3_add(e, g)), size / 3), total += size;
  }
  out->centre = sn_vec3_scale(out->centre, 1 / total);
  for (int t = first; t < first + count; t++)
    for (int k = 0; k < 3; k++) {
      out->radius = fmax(out->radius, sn_vec3_length(sn_vec3_sub(corner(b, t, k), out->centre)));
    }
}

static rig_block *new_blocks(sn_context *ctx, sn_arena *memory, const rig_body *b, int triangles, int size,
                             int *count) {
  *count = (triangles + size - 1) / size;
  rig_block *out = SN_NEW(ctx, memory, rig_block, *count);
  for (int k = 0; out && k < *count; k++) {
    int first = k * size;
    fill_block(b, first, triangles - first < size ? triangles - first : size, &out[k]);
  }
  return out;
}

static void add_normals(rig_body *b, int triangles) {
  for (int t = 0; t < triangles; t++) {
    sn_vec3 a = corner(b, t, 0), e = corner(b, t, 1), g = corner(b, t, 2);
    sn_vec3 area = sn_vec3_cross(sn_vec3_sub(e, a), sn_vec3_sub(g, a));
    for (int k = 0; k < 3; k++) {
      sn_vec3 *normal = &b->normal[b->triangle[t][k]];
      *normal = sn_vec3_add(*normal, area);
    }
  }
  for (int i = 0; i < b->n; i++) {
    double length = sn_vec3_length(b->normal[i]);
    if (length > 0) b->normal[i] = sn_vec3_scale(b->normal[i], 1 / length);
  }
}

sn_status sn_rig_body_build(sn_context *ctx, sn_arena *memory, const sn_mesh *rest, const fit_problem *p,
                            rig_body *out) {
  int triangles = rest->triangle_count;
  *out = (rig_body){.n = p->n, .u = (const double(*)[4])p->u};
  sn_arena scratch = sn_arena_new(ctx);
  int *rank = SN_NEW(ctx, &scratch, int, p->n), *start = SN_NEW(ctx, &scratch, int, p->n + 1);
  rig_piece *pieces = SN_NEW(ctx, &scratch, rig_piece, p->n);
  out->triangle = sn_arena_alloc(ctx, memory, (size_t)triangles, sizeof *out->triangle);
  out->normal = SN_NEW(ctx, memory, sn_vec3, p->n);
  bool good = rank && start && pieces && out->triangle && out->normal;
  if (good) {
    sort_triangles(rest, p, rank, start, out);
    turn_outwards(out, triangles, rank, pieces);
    out->blocks = new_blocks(ctx, memory, out, triangles, block_size, &out->block_count);
    out->parts = new_blocks(ctx, memory, out, triangles, part_size, &out->part_count);
    good = out->blocks && out->parts;
    add_normals(out, triangles);
  }
  sn_arena_free(&scratch);
  return good ? SN_OK : ctx->error.status;
}

sn_status sn_rig_mesh_body(sn_context *ctx, sn_arena *memory, const sn_mesh *rest, rig_body *out) {
  int n = rest->vertex_count;
  fit_problem p = {.n = n, .u = sn_arena_alloc(ctx, memory, (size_t)n, sizeof *p.u)};
  if (!p.u) return ctx->error.status;
  for (int i = 0; i < n; i++)
    for (int c = 0; c < 3; c++) p.u[i][c] = (double)rest->positions[i][c];
  sn_status status = sn_fit_problem_order(ctx, memory, &p);
  return status == SN_OK ? sn_rig_body_build(ctx, memory, rest, &p, out) : status;
}

sn_status sn_rig_joints_inside(sn_context *ctx, const sn_mesh *rest, const sn_skeleton *skeleton, double *inside_pct,
                               double *outside_pct_diag, int *pieces) {
  sn_arena scratch = sn_arena_new(ctx);
  int joint_count = 0, inside = 0;
  rig_body body;
  sn_status status = sn_rig_mesh_body(ctx, &scratch, rest, &body);
  double farthest = 0, diagonal = sn_points_diagonal((const float(*)[3])rest->positions, rest->vertex_count);
  for (int j = 0; j < skeleton->joint_count && status == SN_OK; j++) {
    sn_vec3 c = sn_affine_translation(skeleton->rest[j]);
    double x[3] = {c.x, c.y, c.z};
    if (skeleton->parents[j] < 0) continue;
    joint_count++;
    if (sn_rig_inside(&body, x)) {
      inside++;
    } else if (rest->triangle_count > 0) {
      farthest = fmax(farthest, sn_rig_surface_distance(&body, x));
    }
  }
  *inside_pct = joint_count > 0 ? 100.0 * inside / joint_count : 100;
  *outside_pct_diag = diagonal > 0 ? 100 * farthest / diagonal : 0;
  if (pieces) *pieces = status == SN_OK ? body.pieces : 0;
  sn_arena_free(&scratch);
  return status;
}
