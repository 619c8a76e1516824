// SPDX-License-Identifier: MIT
// Positions of the bones from their linear parts and the control points: the Poisson step of Kim 2010 (section 3.3),
// precomputed as a matrix P. place_b is the position of centre_b.
//
//   edges     sum_b (w_bi - w_bj) place_b = sum_b wbar_b F_b (v_i - v_j) - sum_b (w_bi F_b (v_i - c_b) - w_bj F_b (v_j - c_b))
//   controls  sum_b w_bc place_b          = control_c - sum_b w_bc F_b (v_c - c_b)
//   bones     place_a - place_b           = (F_a + F_b) / 2 (c_a - c_b),   tiny weight: for bones without edges
#include "train/affine/affine.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#include "base/scope.h"
#include "solve/lapack.h"

// Weight of the rows between bones, relative to the mean weight of a bone: for bones that no other row determines.
static const double bone_weight = 1e-7;

static void add_left(sn_control_row *r, int bone, double x) {
  for (int n = 0; n < r->count; n++) {
    if (r->bones[n] != bone) continue;
    r->x[n] += x;
    return;
  }
  r->bones[r->count] = bone, r->x[r->count++] = x;
}

// Adds F_bone v to the right-hand side.
static void add_right(sn_control_row *r, int bone, sn_vec3 v) {
  const double p[3] = {v.x, v.y, v.z};
  for (int n = 0; n < r->right_count; n += 3) {
    if (r->columns[n] != 3 * bone) continue;
    for (int k = 0; k < 3; k++) r->right[n + k] += p[k];
    return;
  }
  for (int k = 0; k < 3; k++) r->columns[r->right_count] = 3 * bone + k, r->right[r->right_count++] = p[k];
}

// Adds `sign` times the vertex's blended position: bone positions on the left, linear parts on the right with opposite sign.
static void add_vertex(sn_control_row *r, const sn_mesh *rest, const sn_proxy_bones *bones, int i, double sign) {
  const sn_skin *skin = &bones->skin;
  for (int k = 0; k < skin->influences; k++) {
    size_t at = (size_t)i * (size_t)skin->influences + (size_t)k;
    int b = skin->joints[at];
    double w = sign * (double)skin->weights[at];
    if (w == 0) continue;
    add_left(r, b, w);
    add_right(r, b, sn_vec3_scale(sn_vec3_sub(sn_vec3_from(rest->positions[i]), bones->centre[b]), -w));
  }
}

static sn_control_row edge_row(const sn_mesh *rest, const sn_proxy_bones *bones, int i, int j) {
  const sn_skin *skin = &bones->skin;
  sn_control_row r = {0};
  add_vertex(&r, rest, bones, i, 1), add_vertex(&r, rest, bones, j, -1);
  sn_vec3 edge = sn_vec3_sub(sn_vec3_from(rest->positions[i]), sn_vec3_from(rest->positions[j]));
  for (int side = 0; side < 2; side++)
    for (int k = 0; k < skin->influences; k++) {
      size_t at = (size_t)(side ? j : i) * (size_t)skin->influences + (size_t)k;
      double w = 0.5 * (double)skin->weights[at];
      if (w > 0) add_right(&r, skin->joints[at], sn_vec3_scale(edge, w));
    }
  return r;
}

// Adds a row between neighbours in a minimum spanning tree of the bones' centres (Prim).
static void emit_bone_tree(const sn_proxy_bones *bones, double weight, double *distance, int *nearest,
                           sn_control_row_fn fn, void *user) {
  int count = bones->bone_count;
  for (int b = 0; b < count; b++) distance[b] = INFINITY, nearest[b] = -1;
  distance[0] = 0;
  for (int step = 0; step < count; step++) {
    int next = -1;
    for (int b = 0; b < count; b++)
      if (nearest[b] != -2 && (next < 0 || distance[b] < distance[next])) next = b;
    int from = nearest[next];
    nearest[next] = -2;
    if (from >= 0) {
      sn_control_row r = {0};
      sn_vec3 half = sn_vec3_scale(sn_vec3_sub(bones->centre[next], bones->centre[from]), 0.5);
      add_left(&r, next, 1), add_left(&r, from, -1);
      add_right(&r, next, half), add_right(&r, from, half);
      fn(user, &r, weight);
    }
    for (int b = 0; b < count; b++) {
      double d = sn_vec3_distance(bones->centre[b], bones->centre[next]);
      if (nearest[b] != -2 && d < distance[b]) distance[b] = d, nearest[b] = next;
    }
  }
}

sn_status sn_control_poisson_rows(sn_context *ctx, const sn_control_data *data, double stiffness,
                                  sn_control_row_fn fn, void *user) {
  const sn_mesh *rest = &data->examples->rest;
  const sn_proxy_bones *bones = data->bones;
  SN_SCRATCH(scratch, ctx);
  SN_FREED_BY(sn_topology_free) sn_topology topology = {0};
  double *distance = SN_NEW(ctx, &scratch, double, bones->bone_count), hold = 0;
  int *nearest = SN_NEW(ctx, &scratch, int, bones->bone_count);
  if (!distance || !nearest) return ctx->error.status;
  SN_TRY(sn_topology_build(ctx, rest, &topology));
  for (int e = 0; e < topology.edge_count; e++) {
    sn_control_row r = edge_row(rest, bones, topology.edges[e][0], topology.edges[e][1]);
    for (int n = 0; n < r.count; n++) hold += r.x[n] * r.x[n] / bones->bone_count;
    fn(user, &r, 1);
  }
  if (!(hold > 0)) hold = 1;
  for (int c = 0; c < data->control_count; c++) {
    sn_control_row r = {0};
    add_vertex(&r, rest, bones, data->vertices[c], 1);
    r.columns[r.right_count] = 3 * bones->bone_count + c, r.right[r.right_count++] = 1;
    fn(user, &r, stiffness * hold);
  }
  emit_bone_tree(bones, bone_weight * hold, distance, nearest, fn, user);
  return SN_OK;
}

// ---- the solve ------------------------------------------------------------------------------------------------------

typedef struct normal_equations {
  int bones, columns;
  double *a, *b; // A^T A and A^T B
} normal_equations;

static void add_row(void *user, const sn_control_row *r, double weight) {
  normal_equations *n = user;
  for (int p = 0; p < r->count; p++) {
    double w = weight * r->x[p];
    if (w == 0) continue;
    double *a = n->a + (size_t)r->bones[p] * (size_t)n->bones, *b = n->b + (size_t)r->bones[p] * (size_t)n->columns;
    for (int q = 0; q < r->count; q++) a[r->bones[q]] += w * r->x[q];
    for (int q = 0; q < r->right_count; q++) b[r->columns[q]] += w * r->right[q];
  }
}

sn_status sn_control_poisson(sn_context *ctx, const sn_control_data *data, double stiffness, double *out) {
  SN_SCRATCH(scratch, ctx);
  int bones = data->bones->bone_count;
  normal_equations n = {.bones = bones, .columns = 3 * bones + data->control_count, .b = out};
  n.a = SN_NEW(ctx, &scratch, double, (size_t)bones *(size_t)bones);
  if (!n.a) return ctx->error.status;
  memset(out, 0, (size_t)bones * (size_t)n.columns * sizeof *out);
  SN_TRY(sn_control_poisson_rows(ctx, data, stiffness, add_row, &n));
  sn_status status = sn_lapack_posv(ctx, 'L', bones, n.columns, n.a, out);
  if (status != SN_NOT_CONVERGED) return status;
  return sn_fail(ctx, SN_NOT_CONVERGED, "affine: the places of %d bones do not follow from %d control points", bones,
                 data->control_count);
}

// ---- fitted to the training frames ----------------------------------------------------------------------------------

// Sample 3 f + r is coordinate r of training frame f (the last: the rest pose): columns of F, and control points.
typedef struct samples {
  int count, columns;
  double *inputs;   // count * columns
  double *residual; // count * bones: residual of P's positions; after the solve, coefficients of the samples
} samples;

static void fill_sample(const sn_control_data *data, int f, int r, double *input, double *place) {
  const sn_proxy_bones *bones = data->bones;
  int count = bones->bone_count, points = data->control_count;
  for (int b = 0; b < count; b++) {
    sn_affine m =
      f < bones->keys->count ? bones->motion[(size_t)f * (size_t)count + (size_t)b] : sn_affine_identity();
    sn_vec3 moved = sn_affine_apply(m, bones->centre[b]);
    for (int k = 0; k < 3; k++) input[3 * b + k] = m.m[r][k];
    place[b] = r == 0 ? moved.x : r == 1 ? moved.y : moved.z;
  }
  for (int c = 0; c < points; c++) {
    input[3 * count + c] = f < bones->keys->count
                             ? data->controls[((size_t)f * (size_t)points + (size_t)c) * 3 + (size_t)r]
                             : (double)data->examples->rest.positions[data->vertices[c]][r];
  }
}

// Control points relative to their mean, in units of `unit`: translations of the whole scene must have no effect.
static void centre_controls(int first, double unit, samples *s) {
  for (int n = 0; n < s->count; n++) {
    double *input = s->inputs + (size_t)n * (size_t)s->columns, mean = 0;
    for (int c = first; c < s->columns; c++) mean += input[c] / (s->columns - first);
    for (int c = first; c < s->columns; c++) input[c] = (input[c] - mean) / unit;
  }
}

// coefficients = (Z Z^T + ridge I)^-1 residual, with the samples as rows of Z.
static sn_status solve_samples(sn_context *ctx, sn_arena *scratch, int bones, samples *s) {
  size_t n = (size_t)s->count;
  double *gram = SN_NEW(ctx, scratch, double, n *n), trace = 0;
  if (!gram) return ctx->error.status;
  cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, s->count, s->columns, 1, s->inputs, s->columns, 0, gram,
              s->count);
  for (size_t k = 0; k < n; k++) trace += gram[k * n + k];
  for (size_t k = 0; k < n; k++) gram[k * n + k] += 1e-7 * trace / (double)n + 1e-300;
  sn_status status = sn_lapack_posv(ctx, 'L', s->count, bones, gram, s->residual);
  if (status != SN_NOT_CONVERGED) return status;
  return sn_fail(ctx, SN_NOT_CONVERGED, "affine: the places of the bones could not be fitted");
}

sn_status sn_control_poisson_fit(sn_context *ctx, const sn_control_data *data, double *solve) {
  SN_SCRATCH(scratch, ctx);
  const sn_proxy_bones *bones = data->bones;
  int count = bones->bone_count, frames = bones->keys->count;
  samples s = {.count = 3 * (frames + 1), .columns = 3 * count + data->control_count};
  s.inputs = SN_NEW(ctx, &scratch, double, (size_t)s.count *(size_t)s.columns);
  s.residual = SN_NEW(ctx, &scratch, double, (size_t)s.count *(size_t)count);
  if (!s.inputs || !s.residual) return ctx->error.status;
  double unit = 0;
  for (int b = 0; b < count; b++) unit = fmax(unit, sn_vec3_distance(bones->centre[b], bones->centre[0]));
  if (!(unit > 0)) unit = 1;
  for (int n = 0; n < s.count; n++)
    fill_sample(data, n / 3, n % 3, s.inputs + (size_t)n * (size_t)s.columns, s.residual + (size_t)n * (size_t)count);
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, s.count, count, s.columns, -1, s.inputs, s.columns, solve,
              s.columns, 1, s.residual, count);
  centre_controls(3 * count, unit, &s);
  SN_TRY(solve_samples(ctx, &scratch, count, &s));
  for (int n = 0; n < s.count; n++)
    for (int c = 3 * count; c < s.columns; c++) s.inputs[(size_t)n * (size_t)s.columns + (size_t)c] /= unit;
  cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, count, s.columns, s.count, 1, s.residual, count, s.inputs,
              s.columns, 1, solve, s.columns);
  return SN_OK;
}
