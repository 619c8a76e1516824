// SPDX-License-Identifier: MIT
// A box beam along +x whose second half is rotated against the first: the twist is exactly linear along its length,
// from 0 to 180 degrees in equal steps (Wang 2007 figure 13).
#include "lab/gen/figure.h"

static const double bar_length = 2, bar_width = 0.25;

// cells by cells quads on the ends, `rings` squares of vertices along the length.
typedef struct bar_grid {
  int cells, rings;
} bar_grid;

static int bar_vertices(bar_grid grid) {
  return 4 * grid.cells * grid.rings + 2 * (grid.cells - 1) * (grid.cells - 1);
}

// The grid whose count is close to `vertices` and whose cells are close to square.
static bar_grid bar_choose(int vertices) {
  bar_grid best = {1, 2};
  double least = 1e300;
  for (int cells = 1; cells <= 4096 && 8 * cells <= vertices; cells++) {
    int rings = (int)floor((vertices - 2.0 * (cells - 1) * (cells - 1)) / (4.0 * cells) + 0.5);
    if (rings < 2) break;
    bar_grid grid = {cells, rings};
    double off = fabs(bar_vertices(grid) - (double)vertices) / vertices;
    double cost = 20 * off + fabs(log(bar_width / cells / (bar_length / (rings - 1))));
    if (cost < least) least = cost, best = grid;
  }
  return best;
}

// Corner k of 4*cells around a square, counter-clockwise seen from +x.
static void bar_rim(int cells, int k, int *y, int *z) {
  int side = k / cells, step = k % cells;
  *y = side == 0 ? step : side == 1 ? cells : side == 2 ? cells - step : 0;
  *z = side == 0 ? 0 : side == 1 ? step : side == 2 ? cells : cells - step;
}

// Vertex (y, z) of the end at ring 0 or the last: on the rim, or one of the inner ones that follow all rings.
static int bar_end_vertex(bar_grid grid, bool last, int y, int z) {
  int cells = grid.cells, rim = 4 * cells, inner = (cells - 1) * (cells - 1);
  if (y > 0 && y < cells && z > 0 && z < cells)
    return rim * grid.rings + (last ? inner : 0) + (y - 1) * (cells - 1) + z - 1;
  int k = z == 0 && y < cells       ? y
          : y == cells && z < cells ? cells + z
          : z == cells && y > 0     ? 3 * cells - y
                                    : 4 * cells - z;
  return (last ? rim * (grid.rings - 1) : 0) + k % rim;
}

static void bar_positions(bar_grid grid, sn_mesh *mesh) {
  int cells = grid.cells, rim = 4 * cells;
  for (int r = 0; r < grid.rings; r++) {
    for (int k = 0; k < rim; k++) {
      int y, z;
      bar_rim(cells, k, &y, &z);
      sn_vec3 p = sn_xyz(bar_length * r / (grid.rings - 1), bar_width * ((double)y / cells - 0.5),
                         bar_width * ((double)z / cells - 0.5));
      sn_vec3_store(p, mesh->positions[r * rim + k]);
    }
  }
  for (int last = 0; last < 2; last++)
    for (int y = 1; y < cells; y++)
      for (int z = 1; z < cells; z++)
        sn_vec3_store(
          sn_xyz(last * bar_length, bar_width * ((double)y / cells - 0.5), bar_width * ((double)z / cells - 0.5)),
          mesh->positions[bar_end_vertex(grid, last, y, z)]);
}

static int *bar_quad(int *out, int a, int b, int c, int d, bool other) {
  const int one[6] = {a, b, c, a, c, d}, two[6] = {a, b, d, b, c, d};
  for (int k = 0; k < 6; k++) out[k] = other ? two[k] : one[k];
  return out + 6;
}

static void bar_triangles(bar_grid grid, sn_mesh *mesh) {
  int rim = 4 * grid.cells, *out = &mesh->triangles[0][0];
  for (int r = 0; r + 1 < grid.rings; r++)
    for (int k = 0; k < rim; k++) {
      int next = (k + 1) % rim;
      out = bar_quad(out, r * rim + k, r * rim + next, (r + 1) * rim + next, (r + 1) * rim + k, (r + k) % 2);
    }
  for (int y = 0; y < grid.cells; y++)
    for (int z = 0; z < grid.cells; z++)
      for (int last = 0; last < 2; last++) {
        int a = bar_end_vertex(grid, last, y, z), b = bar_end_vertex(grid, last, y + 1, z);
        int c = bar_end_vertex(grid, last, y + 1, z + 1), d = bar_end_vertex(grid, last, y, z + 1);
        out = last ? bar_quad(out, a, b, c, d, (y + z) % 2) : bar_quad(out, a, d, c, b, (y + z) % 2);
      }
}

static void bar_frame(const sn_mesh *rest, double angle, float (*out)[3]) {
  for (int i = 0; i < rest->vertex_count; i++) {
    sn_vec3 p = sn_vec3_from(rest->positions[i]);
    double turn = angle * p.x / bar_length, c = cos(turn), s = sin(turn);
    sn_vec3_store(sn_xyz(p.x, c * p.y - s * p.z, s * p.y + c * p.z), out[i]);
  }
}

sn_status sn_gen_bar(sn_context *ctx, const sn_gen_options *options, sn_examples *out) {
  static const char *const names[2] = {"base", "twist"};
  bar_grid grid = bar_choose(options->vertices);
  int vertices = bar_vertices(grid);
  if (sn_mesh_new(ctx, vertices, 2 * vertices - 4, &out->rest) != SN_OK) return ctx->error.status;
  bar_positions(grid, &out->rest);
  bar_triangles(grid, &out->rest);
  sn_status status = sn_gen_two_joints(ctx, options, names, sn_xyz(bar_length, 0, 0), 0.5, out);
  for (int f = 0; status == SN_OK && f < options->frames; f++) {
    double angle = SN_PI * f / (options->frames - 1);
    bar_frame(&out->rest, angle, sn_frame_mutable(&out->frames, f));
    sn_pose(&out->poses, f)[1] = sn_affine_make(sn_rotation_exp(sn_xyz(angle, 0, 0)), sn_xyz(0, 0, 0));
  }
  if (status == SN_OK) out->controls[0] = 0, out->controls[1] = 4 * grid.cells * (grid.rings - 1);
  return status;
}
