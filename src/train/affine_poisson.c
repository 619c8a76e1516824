// SPDX-License-Identifier: MIT
// Places of the bones from their linear parts and the control points: the Poisson step of Kim 2010 (section 3.3), solved
// once and for all (METHODS.md (c), about the bones' centres: place_b is where centre_b goes).
//
//   edges     sum_b (w_bi - w_bj) place_b = sum_b wbar_b F_b (v_i - v_j) - sum_b (w_bi F_b (v_i - c_b) - w_bj F_b (v_j - c_b))
//   controls  sum_b w_bc place_b          = control_c - sum_b w_bc F_b (v_c - c_b)
//   bones     place_a - place_b           = (F_a + F_b) / 2 (c_a - c_b),   hardly any weight: what edges leave open
#include "train/affine.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "solve/solve.h"

// Weights of the rows, an edge counting 1. Controls are met to about 1 / control_weight of what the edges want otherwise.
static const double control_weight = 1e3, bone_weight = 1e-3;

enum { most_terms = 16 };

// A row of the system: places on the left; columns 3 b + k (column k of F_b) and 3 bones + c on the right.
typedef struct row {
  int count, right_count;
  int bones[most_terms], columns[3 * most_terms + 1];
  double x[most_terms], right[3 * most_terms + 1];
} row;

static void add_left(row *r, int bone, double x) {
  for (int n = 0; n < r->count; n++) {
    if (r->bones[n] != bone) continue;
    r->x[n] += x;
    return;
  }
  r->bones[r->count] = bone, r->x[r->count++] = x;
}

// Adds F_bone v to the right-hand side.
static void add_right(row *r, int bone, sn_vec3 v) {
  const double p[3] = {v.x, v.y, v.z};
  for (int n = 0; n < r->right_count; n += 3) {
    if (r->columns[n] != 3 * bone) continue;
    for (int k = 0; k < 3; k++) r->right[n + k] += p[k];
    return;
  }
  for (int k = 0; k < 3; k++) r->columns[r->right_count] = 3 * bone + k, r->right[r->right_count++] = p[k];
}

// The vertex's blended position, `sign` times: places on the left, the rest on the right with the opposite sign.
static void add_vertex(row *r, const sn_mesh *rest, const sn_affine_bones *bones, int i, double sign) {
  const sn_skin *skin = &bones->skin;
  for (int k = 0; k < skin->influences; k++) {
    size_t at = (size_t)i * (size_t)skin->influences + (size_t)k;
    int b = skin->joints[at];
    double w = sign * (double)skin->weights[at];
    if (w == 0) continue;
    add_left(r, b, w);
    add_right(r, b, sn_vec3_scale(sn_vec3_sub(sn_vec3_from(rest->positions[i]), bones->centres[b]), -w));
  }
}

static row edge_row(const sn_mesh *rest, const sn_affine_bones *bones, int i, int j) {
  const sn_skin *skin = &bones->skin;
  row r = {0};
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

static void emit(const row *r, double weight, sn_affine_row_fn fn, void *user) {
  fn(user, r->count, r->bones, r->x, r->right_count, r->columns, r->right, weight);
}

// Ties every bone to the nearest of those before it in the order of a minimum spanning tree of the centres (Prim).
static void emit_bone_tree(const sn_affine_bones *bones, double *distance, int *nearest, sn_affine_row_fn fn,
                           void *user) {
  int count = bones->bones;
  for (int b = 0; b < count; b++) distance[b] = INFINITY, nearest[b] = -1;
  distance[0] = 0;
  for (int step = 0; step < count; step++) {
    int next = -1;
    for (int b = 0; b < count; b++)
      if (nearest[b] != -2 && (next < 0 || distance[b] < distance[next])) next = b;
    int from = nearest[next];
    nearest[next] = -2;
    if (from >= 0) {
      row r = {0};
      sn_vec3 half = sn_vec3_scale(sn_vec3_sub(bones->centres[next], bones->centres[from]), 0.5);
      add_left(&r, next, 1), add_left(&r, from, -1);
      add_right(&r, next, half), add_right(&r, from, half);
      emit(&r, bone_weight, fn, user);
    }
    for (int b = 0; b < count; b++) {
      double d = sn_vec3_distance(bones->centres[b], bones->centres[next]);
      if (nearest[b] != -2 && d < distance[b]) distance[b] = d, nearest[b] = next;
    }
  }
}

sn_status sn_affine_poisson_rows(sn_context *ctx, const sn_mesh *rest, const sn_affine_bones *bones,
                                 const int *controls, int control_count, sn_affine_row_fn fn, void *user) {
  sn_topology topology;
  sn_status status = sn_topology_build(ctx, rest, &topology);
  if (status != SN_OK) return status;
  sn_arena scratch = sn_arena_new(ctx);
  double *distance = SN_NEW(ctx, &scratch, double, bones->bones);
  int *nearest = SN_NEW(ctx, &scratch, int, bones->bones);
  if (!distance || !nearest) status = ctx->error.status;
  for (int e = 0; status == SN_OK && e < topology.edge_count; e++) {
    row r = edge_row(rest, bones, topology.edges[e][0], topology.edges[e][1]);
    emit(&r, 1, fn, user);
  }
  for (int c = 0; status == SN_OK && c < control_count; c++) {
    row r = {0};
    add_vertex(&r, rest, bones, controls[c], 1);
    r.columns[r.right_count] = 3 * bones->bones + c, r.right[r.right_count++] = 1;
    emit(&r, control_weight, fn, user);
  }
  if (status == SN_OK) emit_bone_tree(bones, distance, nearest, fn, user);
  sn_arena_free(&scratch);
  sn_topology_free(&topology);
  return status;
}

// ---- the solve ----------------------------------------------------------------------------------------------------------------

typedef struct normal_equations {
  int bones, columns;
  double *a, *b; // A^T A and A^T B
} normal_equations;

static void add_row(void *user, int count, const int *bones, const double *x, int right_count,
                    const int *right_columns, const double *right, double weight) {
  normal_equations *n = user;
  for (int p = 0; p < count; p++) {
    double w = weight * x[p];
    if (w == 0) continue;
    double *a = n->a + (size_t)bones[p] * (size_t)n->bones, *b = n->b + (size_t)bones[p] * (size_t)n->columns;
    for (int q = 0; q < count; q++) a[bones[q]] += w * x[q];
    for (int q = 0; q < right_count; q++) b[right_columns[q]] += w * right[q];
  }
}

sn_status sn_affine_poisson(sn_context *ctx, const sn_mesh *rest, const sn_affine_bones *bones, const int *controls,
                            int control_count, double *out) {
  sn_arena scratch = sn_arena_new(ctx);
  normal_equations n = {.bones = bones->bones, .columns = 3 * bones->bones + control_count, .b = out};
  n.a = SN_NEW(ctx, &scratch, double, (size_t)n.bones *(size_t)n.bones);
  sn_status status = n.a ? SN_OK : ctx->error.status;
  memset(out, 0, (size_t)n.bones * (size_t)n.columns * sizeof *out);
  if (status == SN_OK) status = sn_affine_poisson_rows(ctx, rest, bones, controls, control_count, add_row, &n);
  sn_blas_serial();
  if (status == SN_OK &&
      LAPACKE_dposv(LAPACK_ROW_MAJOR, 'L', n.bones, n.columns, n.a, n.bones, out, n.columns) != 0) {
    status = sn_fail(ctx, SN_NOT_CONVERGED, "affine: the places of %d bones do not follow from %d control points",
                     n.bones, control_count);
  }
  sn_arena_free(&scratch);
  return status;
}

// ---- what the training frames say -----------------------------------------------------------------------------------------------

// Sample 3 f + r is coordinate r of training frame f (the last f is the rest pose): rows of F, and control points about
// their mean, in units of `unit`.
typedef struct samples {
  int count, columns;
  double *inputs;  // count * columns
  double *missing; // count * bones: what P leaves of the places; then the coefficients of the samples
} samples;

static void fill_sample(const sn_affine_bones *bones, const double *controls, const float (*rest_controls)[3],
                        int control_count, const double *solve, int s, double unit, samples *out) {
  int f = s / 3, r = s % 3, count = bones->bones;
  bool rest = f == bones->frames;
  double *input = out->inputs + (size_t)s * (size_t)out->columns, mean = 0;
  double *missing = out->missing + (size_t)s * (size_t)count;
  const sn_affine *motion = bones->motions + (size_t)(rest ? 0 : f) * (size_t)count;
  for (int b = 0; b < count; b++) {
    sn_affine m = rest ? sn_affine_identity() : motion[b];
    sn_vec3 place = sn_affine_apply(m, bones->centres[b]);
    for (int k = 0; k < 3; k++) input[3 * b + k] = m.m[r][k];
    missing[b] = r == 0 ? place.x : r == 1 ? place.y : place.z;
  }
  for (int c = 0; c < control_count; c++) {
    input[3 * count + c] =
      rest ? (double)rest_controls[c][r] : controls[((size_t)f * (size_t)control_count + (size_t)c) * 3 + (size_t)r];
    mean += input[3 * count + c] / control_count;
  }
  for (int b = 0; b < count; b++) {
    const double *own = solve + (size_t)b * (size_t)out->columns;
    for (int n = 0; n < out->columns; n++) missing[b] -= own[n] * input[n];
  }
  for (int c = 0; c < control_count; c++) input[3 * count + c] = (input[3 * count + c] - mean) / unit;
}

// coefficients = (Z Z^T + ridge I)^-1 missing, with the samples as rows of Z.
static sn_status solve_samples(sn_context *ctx, sn_arena *scratch, int bones, samples *s) {
  size_t n = (size_t)s->count;
  double *gram = SN_NEW(ctx, scratch, double, n *n), trace = 0;
  if (!gram) return ctx->error.status;
  cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, s->count, s->columns, 1, s->inputs, s->columns, 0, gram,
              s->count);
  for (size_t k = 0; k < n; k++) trace += gram[k * n + k];
  for (size_t k = 0; k < n; k++) gram[k * n + k] += 1e-5 * trace / (double)n + 1e-300;
  if (LAPACKE_dposv(LAPACK_ROW_MAJOR, 'L', s->count, bones, gram, s->count, s->missing, bones) == 0) return SN_OK;
  return sn_fail(ctx, SN_NOT_CONVERGED, "affine: the places of the bones could not be fitted");
}

sn_status sn_affine_poisson_fit(sn_context *ctx, const sn_affine_bones *bones, const double *controls,
                                const float (*rest_controls)[3], int control_count, double *solve) {
  sn_arena scratch = sn_arena_new(ctx);
  int count = bones->bones;
  samples s = {.count = 3 * (bones->frames + 1), .columns = 3 * count + control_count};
  s.inputs = SN_NEW(ctx, &scratch, double, (size_t)s.count *(size_t)s.columns);
  s.missing = SN_NEW(ctx, &scratch, double, (size_t)s.count *(size_t)count);
  sn_status status = s.inputs && s.missing ? SN_OK : ctx->error.status;
  double unit = 0;
  for (int b = 0; b < count; b++) unit = fmax(unit, sn_vec3_distance(bones->centres[b], bones->centres[0]));
  if (!(unit > 0)) unit = 1;
  for (int k = 0; k < s.count && status == SN_OK; k++) {
    fill_sample(bones, controls, rest_controls, control_count, solve, k, unit, &s);
  }
  sn_blas_serial();
  if (status == SN_OK) status = solve_samples(ctx, &scratch, count, &s);
  for (int b = 0; b < count && status == SN_OK; b++) {
    double *own = solve + (size_t)b * (size_t)s.columns, mean = 0;
    for (int k = 0; k < s.count; k++) {
      const double *input = s.inputs + (size_t)k * (size_t)s.columns;
      double c = s.missing[(size_t)k * (size_t)count + (size_t)b];
      for (int n = 0; n < s.columns; n++) own[n] += c * (n < 3 * count ? input[n] : input[n] / unit);
      for (int n = 3 * count; n < s.columns; n++) mean += c * input[n] / unit / control_count;
    }
    for (int n = 3 * count; n < s.columns; n++) own[n] -= mean;
  }
  sn_arena_free(&scratch);
  return status;
}
