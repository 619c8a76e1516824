// SPDX-License-Identifier: MIT
#include "train/correct/fields.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solve/lapack.h"
#include "train/correct/patches.h"

enum { patch_vertices = 64, most_fields = 32 };
// Of what may be lost, the part for components that are left out; the rest is for terms.
static const double part_of_components = 0.5;

// A patch while it is decomposed.
typedef struct patch {
  int count, *vertices;
  int rank, kept;  // components found; kept
  double *values;  // most_fields: energy of every component, largest first
  double *curves;  // pose_count * most_fields: u, of unit length
  double energy;   // of all components
  int group_count; // terms that it depends on
  int *groups;
  double *mix; // kept * terms
  int terms;
} patch;

typedef struct builder {
  sn_regression *r;
  int patch_count;
  patch *patches;
  double lost; // what terms that are left out may lose, as a part of a patch's energy
  sn_corrections *out;
} builder;

// What the regression predicts at the poses: K alpha = residual - lambda alpha; numbers first .. first + 2 of position and normal.
static void predictions(const sn_regression *r, const patch *p, int first, double *out) {
  size_t n = (size_t)r->m->vertex_count;
  for (size_t f = 0; f < (size_t)r->m->pose_count; f++)
    for (int k = 0; k < p->count; k++) {
      size_t i = (size_t)p->vertices[k];
      double lambda = r->lambda[r->set_of[i]];
      for (int c = first; c < first + 3; c++)
        *out++ = lambda > 0 ? r->m->deltas[f * n + i][c] - lambda * (double)r->alpha[f * n + i][c] : 0;
    }
}

// ---- components -----------------------------------------------------------------------------------------------------------------

// Principal components of the predictions from their Gram matrix, over poses or over coordinates, whichever are fewer.
static sn_status find_components(sn_context *ctx, sn_arena *memory, void *user, int index) {
  builder *b = user;
  patch *p = b->patches + index;
  int poses = b->r->m->pose_count, columns = 3 * p->count, size = poses < columns ? poses : columns;
  double *x = SN_NEW(ctx, memory, double, (size_t)poses *(size_t)columns);
  double *gram = SN_NEW(ctx, memory, double, (size_t)size *(size_t)size), *values = SN_NEW(ctx, memory, double, size);
  if (!x || !gram || !values) return ctx->error.status;
  predictions(b->r, p, 0, x);
  bool by_pose = poses <= columns;
  cblas_dgemm(CblasRowMajor, by_pose ? CblasNoTrans : CblasTrans, by_pose ? CblasTrans : CblasNoTrans, size, size,
              by_pose ? columns : poses, 1, x, columns, x, columns, 0, gram, size);
  for (int k = 0; k < size; k++) p->energy += gram[k * size + k];
  if (!(p->energy > 0)) return SN_OK;
  sn_status status = sn_lapack_syevd(ctx, 'U', size, gram, values);
  for (int k = 0; status == SN_OK && k < size && k < most_fields; k++) {
    double value = values[size - 1 - k];
    if (!(value > 1e-12 * p->energy)) break;
    p->values[p->rank] = value;
    for (int f = 0; f < poses; f++) {
      double u = 0;
      if (by_pose) u = gram[f * size + size - 1 - k];
      for (int c = 0; !by_pose && c < columns; c++)
        u += x[f * columns + c] * gram[c * size + size - 1 - k] / sqrt(value);
      p->curves[f * most_fields + p->rank] = u;
    }
    p->rank++;
  }
  if (status == SN_NOT_CONVERGED)
    return sn_fail(ctx, status, "the principal components of corrections were not found");
  return status;
}

typedef struct candidate {
  double gain; // energy per vertex
  int patch, component;
} candidate;

static int compare_candidates(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  if (x->gain != y->gain) return x->gain > y->gain ? -1 : 1;
  return x->patch != y->patch ? x->patch - y->patch : x->component - y->component;
}

// The components with the most energy per vertex, until what is left is at most limits->lost. Returns what is lost.
static sn_status keep_components(builder *b, const sn_field_limits *limits, double *lost) {
  candidate *list = SN_NEW(b->r->ctx, b->r->memory, candidate, (size_t)b->patch_count * most_fields);
  if (!list) return b->r->ctx->error.status;
  int count = 0;
  double room = limits->mean > 0 ? limits->mean * b->r->m->vertex_count : INFINITY;
  *lost = 0;
  for (int n = 0; n < b->patch_count; n++) {
    const patch *p = b->patches + n;
    *lost += p->energy;
    for (int k = 0; k < p->rank && (!limits->per_patch || k < limits->per_patch); k++)
      list[count++] = (candidate){p->values[k] / p->count, n, k};
  }
  qsort(list, (size_t)count, sizeof *list, compare_candidates);
  for (int n = 0; n<count && * lost> part_of_components * limits->lost && room > 0; n++) {
    patch *p = b->patches + list[n].patch;
    p->kept = list[n].component + 1, *lost -= p->values[list[n].component], room -= p->count;
  }
  *lost = fmax(*lost, 0);
  return SN_OK;
}

// ---- coefficients -----------------------------------------------------------------------------------------------------------------

// The field of component k: x^T u / s, in `fields` (kept rows of `columns`), of positions; of normals the least-squares fit to their predictions.
static void make_fields(const builder *b, const patch *p, const double *x, int columns, double *fields) {
  for (int k = 0; k < p->kept; k++) {
    double scale = 1 / sqrt(p->values[k]), *row = fields + (size_t)k * (size_t)columns;
    memset(row, 0, (size_t)columns * sizeof *row);
    for (int f = 0; f < b->r->m->pose_count; f++)
      cblas_daxpy(columns, scale * p->curves[f * most_fields + k], x + (size_t)f * (size_t)columns, 1, row, 1);
  }
}

// gamma[f][k] of a set: the sum over the patch's vertices of the set of alpha_i . field_k,i.
static void project_set(const builder *b, const patch *p, int set, const double *fields, double *gamma) {
  const sn_regression *r = b->r;
  size_t n = (size_t)r->m->vertex_count, columns = 3 * (size_t)p->count;
  memset(gamma, 0, (size_t)r->m->pose_count * (size_t)p->kept * sizeof *gamma);
  for (size_t f = 0; f < (size_t)r->m->pose_count; f++)
    for (int v = 0; v < p->count; v++) {
      if (r->set_of[p->vertices[v]] != set) continue;
      const float *alpha = r->alpha[f * n + (size_t)p->vertices[v]];
      for (int k = 0; k < p->kept; k++) {
        const double *field = fields + (size_t)k * columns + 3 * (size_t)v;
        gamma[f * (size_t)p->kept + (size_t)k] += alpha[0] * field[0] + alpha[1] * field[1] + alpha[2] * field[2];
      }
    }
}

// Weights of the features of every group, rank * kept each, one behind the other.
static sn_status feature_weights(sn_context *ctx, sn_arena *memory, const builder *b, const patch *p,
                                 const double *fields, double *weights) {
  const sn_regression *r = b->r;
  int poses = r->m->pose_count, kept = p->kept;
  double *gamma = SN_NEW(ctx, memory, double, (size_t)poses *(size_t)kept);
  bool *done = SN_NEW(ctx, memory, bool, r->set_count);
  if (!gamma || !done) return ctx->error.status;
  for (int v = 0; v < p->count; v++) {
    int set = r->set_of[p->vertices[v]];
    if (done[set]) continue;
    done[set] = true;
    project_set(b, p, set, fields, gamma);
    double *at = weights;
    for (int g = 0; g < r->terms.count; at += r->terms.groups[g++].rank * kept) {
      const sn_terms *t = r->terms.groups + g;
      double variance = sn_regression_variance(r, r->sets + set, g);
      if (variance > 0 && t->rank > 0)
        cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, t->rank, kept, poses, variance, t->features, t->rank,
                    gamma, kept, 1, at, kept);
    }
  }
  return SN_OK;
}

typedef struct part {
  double size; // norm of what the group adds over the poses
  int group;
} part;

static int compare_parts(const void *a, const void *b) {
  const part *x = a, *y = b;
  return x->size != y->size ? (x->size < y->size ? -1 : 1) : x->group - y->group;
}

// Which groups of terms the patch depends on: the least are left out as long as all that is left out is little; and the curves that remain.
static sn_status choose_groups(sn_context *ctx, sn_arena *memory, const builder *b, patch *p, const double *weights) {
  const sn_regression *r = b->r;
  int poses = r->m->pose_count, kept = p->kept;
  double *added = SN_NEW(ctx, memory, double, (size_t)poses *(size_t)kept), left = sqrt(b->lost * p->energy);
  part *parts = SN_NEW(ctx, memory, part, r->terms.count);
  bool *without = SN_NEW(ctx, memory, bool, r->terms.count);
  if (!added || !parts || !without) return ctx->error.status;
  for (int pass = 0; pass < 2; pass++) {
    const double *at = weights;
    if (pass == 1) memset(p->curves, 0, (size_t)poses * most_fields * sizeof *p->curves);
    for (int g = 0; g < r->terms.count; at += r->terms.groups[g++].rank * kept) {
      const sn_terms *t = r->terms.groups + g;
      double sum = 0;
      if (t->rank == 0 || (pass == 1 && without[g])) {
        parts[g] = (part){0, g};
        continue;
      }
      cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, poses, kept, t->rank, 1, t->features, t->rank, at, kept,
                  0, added, kept);
      for (int n = 0; n < poses * kept; n++) sum += added[n] * added[n];
      if (pass == 0) parts[g] = (part){sqrt(sum), g};
      for (int n = 0; pass == 1 && n < poses * kept; n++) p->curves[n / kept * most_fields + n % kept] += added[n];
    }
    if (pass == 1) break;
    qsort(parts, (size_t)r->terms.count, sizeof *parts, compare_parts);
    for (int g = 0; g < r->terms.count && parts[g].size <= left; g++)
      left -= parts[g].size, without[parts[g].group] = true;
  }
  for (int g = 0; g < r->terms.count; g++)
    if (!without[g] && r->terms.groups[g].rank > 0)
      p->groups[p->group_count++] = g, p->terms += r->terms.groups[g].count;
  return SN_OK;
}

static void mix_groups(const builder *b, patch *p, const double *weights) {
  const sn_term_list *list = &b->r->terms;
  const double *at = weights;
  int first = 0;
  for (int g = 0, n = 0; g < list->count && n < p->group_count; at += list->groups[g++].rank * p->kept) {
    const sn_terms *t = list->groups + g;
    double column[64];
    if (p->groups[n] != g) continue;
    for (int k = 0; k < p->kept; k++) {
      for (int c = 0; c < t->rank; c++) column[c] = at[c * p->kept + k];
      sn_terms_mix(t, column, p->mix + (size_t)k * (size_t)p->terms + (size_t)first);
    }
    first += t->count, n++;
  }
}

// Fields into the places of the patch's vertices.
static void put_fields(const builder *b, const patch *p, const double *fields, int offset) {
  size_t n = (size_t)b->r->m->vertex_count;
  for (int k = 0; k < p->kept; k++)
    for (int v = 0; v < p->count; v++)
      for (int c = 0; c < 3; c++)
        b->out->deltas[(size_t)k * n + (size_t)p->vertices[v]][offset + c] =
          (float)fields[(size_t)k * 3 * (size_t)p->count + 3 * (size_t)v + (size_t)c];
}

static sn_status finish_patch(sn_context *ctx, sn_arena *memory, void *user, int index) {
  builder *b = user;
  patch *p = b->patches + index;
  int columns = 3 * p->count, ranks = 0;
  if (p->kept == 0) return SN_OK;
  for (int g = 0; g < b->r->terms.count; g++) ranks += b->r->terms.groups[g].rank;
  double *x = SN_NEW(ctx, memory, double, (size_t)b->r->m->pose_count *(size_t)columns);
  double *fields = SN_NEW(ctx, memory, double, (size_t)p->kept *(size_t)columns);
  double *weights = SN_NEW(ctx, memory, double, (size_t)ranks *(size_t)p->kept);
  if (!x || !fields || !weights) return ctx->error.status;
  predictions(b->r, p, 3, x);
  make_fields(b, p, x, columns, fields);
  put_fields(b, p, fields, 3);
  predictions(b->r, p, 0, x);
  make_fields(b, p, x, columns, fields);
  put_fields(b, p, fields, 0);
  sn_status status = feature_weights(ctx, memory, b, p, fields, weights);
  if (status == SN_OK) status = choose_groups(ctx, memory, b, p, weights);
  if (status == SN_OK) mix_groups(b, p, weights);
  return status;
}

// ---- all ---------------------------------------------------------------------------------------------------------------------------

static sn_status make_patches(builder *b, const float (*positions)[3], int *patch_of) {
  sn_regression *r = b->r;
  int n = r->m->vertex_count, *order = SN_NEW(r->ctx, r->memory, int, n);
  b->patch_count = (n + patch_vertices - 1) / patch_vertices;
  sn_status status =
    order ? sn_patches_make(r->ctx, r->m, positions, &b->patch_count, patch_of) : r->ctx->error.status;
  b->patches = SN_NEW(r->ctx, r->memory, patch, b->patch_count);
  if (!b->patches) return r->ctx->error.status;
  for (int c = 0, used = 0; status == SN_OK && c < b->patch_count; c++) {
    patch *p = b->patches + c;
    p->vertices = order + used;
    for (int i = 0; i < n; i++)
      if (patch_of[i] == c) order[used++] = i, p->count++;
    p->values = SN_NEW(r->ctx, r->memory, double, most_fields);
    p->curves = SN_NEW(r->ctx, r->memory, double, (size_t)r->m->pose_count *most_fields);
    if (!p->values || !p->curves) status = r->ctx->error.status;
  }
  return status;
}

// Room for what finish_patch finds, which runs in parallel.
static sn_status make_room(builder *b, int *places) {
  sn_regression *r = b->r;
  int terms = 0;
  for (int g = 0; g < r->terms.count; g++) terms += r->terms.groups[g].count;
  for (int c = 0; c < b->patch_count; c++) {
    patch *p = b->patches + c;
    p->groups = SN_NEW(r->ctx, r->memory, int, r->terms.count);
    p->mix = SN_NEW(r->ctx, r->memory, double, (size_t)p->kept *(size_t)terms);
    if (!p->groups || !p->mix) return r->ctx->error.status;
    if (p->kept > *places) *places = p->kept;
  }
  b->out->deltas =
    sn_arena_alloc(r->ctx, r->memory, (size_t)*places * (size_t)r->m->vertex_count, sizeof *b->out->deltas);
  return b->out->deltas ? SN_OK : r->ctx->error.status;
}

static sn_status describe(builder *b, const int *patch_of) {
  sn_regression *r = b->r;
  sn_corrections *out = b->out;
  size_t poses = (size_t)r->m->pose_count;
  int *first = SN_NEW(r->ctx, r->memory, int, b->patch_count + 1), bases = 0;
  for (int c = 0; c < b->patch_count; c++) bases += b->patches[c].kept;
  double *curves = SN_NEW(r->ctx, r->memory, double, (size_t)bases *poses);
  out->fields = SN_NEW(r->ctx, r->memory, sn_pose_field, b->patch_count);
  if (!first || !curves || !out->fields) return r->ctx->error.status;
  for (int c = 0; c < b->patch_count; c++) {
    const patch *p = b->patches + c;
    first[c] = out->basis_count;
    for (int k = 0; k < p->kept; k++)
      for (size_t f = 0; f < poses; f++)
        curves[(size_t)(first[c] + k) * poses + f] = p->curves[f * most_fields + (size_t)k];
    out->basis_count += p->kept;
    if (p->kept == 0) continue;
    out->fields[out->field_count++] = (sn_pose_field){.is_sum = true,
                                                      .joint_count = p->group_count,
                                                      .joints = p->groups,
                                                      .mixed = true,
                                                      .terms = p->terms,
                                                      .basis_count = p->kept,
                                                      .mix = p->mix};
  }
  first[b->patch_count] = out->basis_count;
  out->groups = (sn_basis_groups){.common = 0, .first = first, .group_of = patch_of};
  out->curves = curves, out->terms = &r->terms;
  return SN_OK;
}

sn_status sn_fields_make(sn_regression *r, const float (*positions)[3], sn_field_limits *limits,
                         sn_corrections *out) {
  *out = (sn_corrections){.vertex_count = r->m->vertex_count, .pruned = true};
  builder b = {.r = r, .out = out};
  int *patch_of = SN_NEW(r->ctx, r->memory, int, r->m->vertex_count), places = 0;
  double lost = 0, energy = 0;
  sn_status status = patch_of ? make_patches(&b, positions, patch_of) : r->ctx->error.status;
  sn_folds each = {.fold_count = b.patch_count};
  if (status == SN_OK) status = sn_folds_run(r->ctx, &each, find_components, &b);
  if (status == SN_OK) status = keep_components(&b, limits, &lost);
  if (status == SN_OK) status = make_room(&b, &places);
  for (int c = 0; status == SN_OK && c < b.patch_count; c++) energy += b.patches[c].energy;
  b.lost = energy > 0 ? (1 - part_of_components) * limits->lost / energy : 0;
  if (status == SN_OK) status = sn_folds_run(r->ctx, &each, finish_patch, &b);
  if (status == SN_OK) status = describe(&b, patch_of);
  limits->lost = lost + b.lost * energy;
  return status;
}
