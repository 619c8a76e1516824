// SPDX-License-Identifier: MIT
// Normal equations of the proxy bones, and C by a dense Cholesky factorisation.
#include "train/rotreg/reduced.h"

#include <string.h>

#include "base/scope.h"
#include "solve/lapack.h"

enum { most_entries = 64 };

// A sparse row: coefficients of the unknowns t (vertices not in F), or of the known D' and Q'.
typedef struct sparse_row {
  int count, index[most_entries];
  double value[most_entries];
} sparse_row;

static void put(sparse_row *row, int index, double value) {
  row->index[row->count] = index, row->value[row->count++] = value;
}

static void put_point(sparse_row *row, int first, sn_vec3 p, double w, double sign) {
  put(row, first, sign * w * p.x), put(row, first + 1, sign * w * p.y), put(row, first + 2, sign * w * p.z);
  put(row, first + 3, sign * w);
}

// Adds Phi of a vertex (4), alpha_b (y^ - centre_b, 1), to the unknowns; or Psi of a fixed one (4.2), w_b (y^, 1), to the knowns.
static void put_vertex(const sn_rotreg_training *t, int i, double sign, sparse_row *unknown, sparse_row *known) {
  bool fixed = t->fixed[i];
  const sn_skin *skin = fixed ? &t->skin : &t->bones.skin;
  sn_vec3 rest = sn_vec3_from(t->examples->rest.positions[i]);
  for (int k = 0; k < skin->influences; k++) {
    size_t at = (size_t)i * (size_t)skin->influences + (size_t)k;
    if (!(skin->weights[at] > 0)) break;
    int bone = skin->joints[at], first = fixed ? 3 * t->gradients.gradient_count : 0;
    sn_vec3 p = sn_vec3_sub(rest, fixed ? t->origin : t->bones.centre[bone]);
    put_point(fixed ? known : unknown, first + 4 * bone, p, (double)skin->weights[at], fixed ? -sign : sign);
  }
}

// Normal equations A t = B [D'; Q'] of edges and anchors, in the bones' centred coordinates.
typedef struct normal_equations {
  int rows, columns; // 4P, 3P + 4J
  double *a, *b;
} normal_equations;

// a += weight u u^T, b += weight u k^T
static void add_outer(const normal_equations *n, const sparse_row *u, const sparse_row *k, double weight) {
  for (int p = 0; p < u->count; p++) {
    double x = weight * u->value[p];
    double *b = n->b + (size_t)u->index[p] * (size_t)n->columns;
    for (int q = 0; q < k->count; q++) b[k->index[q]] += x * k->value[q];
    double *a = n->a + (size_t)u->index[p] * (size_t)n->rows;
    for (int q = 0; q < u->count; q++) a[u->index[q]] += x * u->value[q];
  }
}

// |sum_l beta_kl D_l v^ - (Phi_j - Phi_1) t|^2, with Psi q instead of Phi t for fixed vertices (5).
static void add_edge(const sn_rotreg_training *t, const normal_equations *n, int triangle, int j) {
  const sn_mesh *rest = &t->examples->rest;
  int first = rest->triangles[triangle][0], second = rest->triangles[triangle][j + 1];
  if (t->fixed[first] && t->fixed[second]) return;
  sparse_row unknown = {0}, known = {0};
  put_vertex(t, second, 1, &unknown, &known);
  put_vertex(t, first, -1, &unknown, &known);
  sn_vec3 v = sn_rotreg_edge(rest, (const float(*)[3])rest->positions, triangle, j + 1);
  for (int m = 0; m < sn_rotreg_most_gradients && t->gradients.index[triangle][m] >= 0; m++) {
    int at = 3 * t->gradients.index[triangle][m];
    double beta = t->gradients.beta[triangle][m];
    put(&known, at, beta * v.x), put(&known, at + 1, beta * v.y), put(&known, at + 2, beta * v.z);
  }
  add_outer(n, &unknown, &known, t->edge[triangle][j]);
}

static void add_anchor(const sn_rotreg_training *t, const normal_equations *n, int i) {
  if (t->fixed[i]) return;
  sparse_row unknown = {0}, known = {0};
  put_vertex(t, i, 1, &unknown, &known);
  for (int s = 0; s < sn_rotreg_anchor_slots && t->anchors.joints[i][s] >= 0; s++) {
    const double *p = t->anchors.points[i][s], origin[4] = {t->origin.x, t->origin.y, t->origin.z, 0};
    for (int c = 0; c < 4; c++)
      put(&known, 3 * t->gradients.gradient_count + 4 * t->anchors.joints[i][s] + c, p[c] - p[3] * origin[c]);
  }
  add_outer(n, &unknown, &known, t->anchor_weight[i]);
}

// Regularises linear parts towards the group's key gradient: flat groups do not determine them.
static void add_ridge(const normal_equations *n, double ridge) {
  double trace[2] = {0, 0};
  int bones = n->rows / 4;
  for (int m = 0; m < n->rows; m++) trace[m % 4 == 3] += n->a[(size_t)m * (size_t)n->rows + (size_t)m];
  double ridges[2] = {ridge * trace[0] / (3.0 * bones) + 1e-300, 1e-10 * trace[1] / bones + 1e-300};
  for (int m = 0; m < n->rows; m++) {
    n->a[(size_t)m * (size_t)n->rows + (size_t)m] += ridges[m % 4 == 3];
    if (m % 4 < 3) n->b[(size_t)m * (size_t)n->columns + (size_t)(3 * (m / 4) + m % 4)] += ridges[0];
  }
}

// Changes from p - centre to p - origin: subtracts the linear part times the way from the translation row.
static void move_centres(const sn_rotreg_training *t, size_t columns) {
  for (int g = 0; g < t->bones.bone_count; g++) {
    sn_vec3 way = sn_vec3_sub(t->bones.centre[g], t->origin);
    const double centre[3] = {way.x, way.y, way.z};
    double *row = t->c + 4 * (size_t)g * columns;
    for (size_t m = 0; m < columns; m++)
      for (size_t d = 0; d < 3; d++) row[3 * columns + m] -= centre[d] * row[d * columns + m];
  }
}

sn_status sn_rotreg_solve_c(sn_rotreg_training *t) {
  sn_context *ctx = t->ctx;
  int bones = t->bones.bone_count;
  normal_equations n = {.rows = 4 * bones,
                        .columns = 3 * t->gradients.gradient_count + 4 * t->examples->skeleton.joint_count};
  SN_SCRATCH(scratch, ctx);
  n.a = SN_NEW(ctx, &scratch, double, (size_t)n.rows *(size_t)n.rows);
  n.b = t->c = SN_NEW(ctx, &t->memory, double, (size_t)n.rows *(size_t)n.columns);
  if (!n.a || !n.b) return ctx->error.status;
  for (int k = 0; k < 2 * t->examples->rest.triangle_count; k++) add_edge(t, &n, k / 2, k % 2);
  for (int i = 0; i < t->examples->rest.vertex_count; i++) add_anchor(t, &n, i);
  add_ridge(&n, t->fit.published ? sn_rotreg_rounding : sn_bone_ridge);
  sn_status status = sn_lapack_posv(ctx, 'U', n.rows, n.columns, n.a, n.b);
  if (status == SN_NOT_CONVERGED)
    return sn_fail(ctx, SN_NOT_CONVERGED, "the matrices of %d proxy bones are not determined", bones);
  if (status == SN_OK) move_centres(t, (size_t)n.columns);
  return status;
}
