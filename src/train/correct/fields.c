// SPDX-License-Identifier: MIT
// Displacement fields of patches: principal components of the displacements that each control causes alone, and coefficients.
#include "train/correct/fields.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solve/lapack.h"

enum { most_fields = 64 };
enum { patch_size = 32 }; // average number of vertices
// The part of the allowed error spent on dropped components. Controls and functions are dropped if they save less error
// per byte than the last component kept.
static const double part_of_components = 0.5;
// Bytes of a block's displacements by one field, and of a number of the mix.
enum { entry_bytes = sizeof(sn_rt_correct_entry) + sizeof(int16_t[6][SN_RT_LANES]), number_bytes = sizeof(float) };
// Estimates used before they are chosen: functions of a control, terms of a patch.
enum { usual_functions = 8, usual_terms = 40 };

// A patch while it is decomposed.
typedef struct patch {
  int count, *vertices;
  int rank, kept; // components found; components kept
  double *values; // most_fields: eigenvalues (energy) of the components, largest first
  double *fields; // 3 count * most_fields: the components
  double energy;  // energy of all components
  double lost;    // energy of the dropped controls
  double *needs;  // ranks * kept: weights of the coefficients on every control's orthonormal functions
  int *controls, control_count, terms;
  double *mix;    // kept * terms
  double *curves; // pose_count * kept: the coefficients at the poses
} patch;

// The functions of a control. Its features over the poses are Phi = Q L^T (L L^T = Phi^T Phi); the columns of Q are
// orthonormal functions.
typedef struct space {
  int first, end;            // its groups of terms
  int rank, start;           // number of features, and its first row among all features
  double *features, *factor; // pose_count * rank; L, lower
  double *functions;         // rank * rank: columns v of the functions Q v, by decreasing energy
  int count;
  double lost; // energy of the dropped functions
} space;

struct sn_fields {
  sn_regression *r;
  int patch_count, ranks, *patch_of; // patch_of: of every vertex
  int most;                          // components of a patch, at most
  patch *patches;
  space *spaces; // control_count
  double slope;  // squared error that a byte must save
  sn_corrections *out;
};

// ---- components -----------------------------------------------------------------------------------------------------------------

// Gathers alpha of the patch's vertices of a set: pose_count rows, three numbers per vertex starting at component
// `first`. Returns the number of vertices.
static int gather_alpha(const sn_regression *r, const patch *p, int set, int first, double *out) {
  size_t n = (size_t)r->m->vertex_count;
  int count = 0;
  for (int v = 0; v < p->count; v++) count += r->set_of[p->vertices[v]] == set;
  for (size_t f = 0; f < (size_t)r->m->pose_count; f++)
    for (int v = 0; v < p->count; v++) {
      if (r->set_of[p->vertices[v]] != set) continue;
      for (int c = 0; c < 3; c++) *out++ = (double)r->alpha[f * n + (size_t)p->vertices[v]][first + c];
    }
  return count;
}

// Scatters the weights of a set's vertices to their columns of a row of z.
static void scatter_weights(const sn_regression *r, const patch *p, int set, const double *weights, double *row) {
  for (int v = 0; v < p->count; v++)
    for (int c = 0; c < 3 && r->set_of[p->vertices[v]] == set; c++) row[3 * v + c] = *weights++;
}

// z = L^T w of every control (ranks rows, 3 count columns): the displacements each control causes alone, by its
// orthonormal functions. Correlations between controls are ignored because in new motion they move independently.
static sn_status find_needs(sn_context *ctx, sn_arena *memory, const sn_fields *b, const patch *p, int first,
                            double *z) {
  const sn_regression *r = b->r;
  int poses = r->m->pose_count, width = 3 * p->count;
  double *alpha = SN_NEW(ctx, memory, double, (size_t)poses *(size_t)width);
  double *weights = SN_NEW(ctx, memory, double, (size_t)width *SN_MOST_FEATURES);
  bool *done = SN_NEW(ctx, memory, bool, r->set_count);
  if (!alpha || !weights || !done) return ctx->error.status;
  for (int v = 0; v < p->count; v++) {
    int set = r->set_of[p->vertices[v]];
    if (done[set] || !(r->unit[set] > 0)) continue;
    done[set] = true;
    int columns = 3 * gather_alpha(r, p, set, first, alpha);
    double *at = z;
    for (int g = 0; g < r->terms.count; at += (size_t)r->terms.groups[g++].rank * (size_t)width) {
      const sn_terms *t = r->terms.groups + g;
      double variance = sn_regression_variance(r, &r->priors, r->sets + set, g);
      if (variance == 0 || t->rank == 0) continue;
      cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, t->rank, columns, poses, variance, t->features, t->rank,
                  alpha, columns, 0, weights, columns);
      for (int k = 0; k < t->rank; k++)
        scatter_weights(r, p, set, weights + k * columns, at + (size_t)k * (size_t)width);
    }
  }
  for (int k = 0; k < r->control_count; k++) {
    const space *s = b->spaces + k;
    if (s->rank > 0)
      cblas_dtrmm(CblasRowMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, s->rank, width, 1, s->factor,
                  s->rank, z + (size_t)s->start * (size_t)width, width);
  }
  return SN_OK;
}

static sn_status find_components(sn_context *ctx, sn_arena *memory, void *user, int index) {
  sn_fields *b = user;
  patch *p = b->patches + index;
  // With z z^T u = s u, the eigenvectors of z^T z are z^T u / sqrt(s): decompose the smaller of the two.
  int width = 3 * p->count, side = b->ranks < width ? b->ranks : width;
  double *z = SN_NEW(ctx, memory, double, (size_t)b->ranks *(size_t)width);
  double *gram = SN_NEW(ctx, memory, double, (size_t)side *(size_t)side), *values = SN_NEW(ctx, memory, double, side);
  sn_status status = z && gram && values ? find_needs(ctx, memory, b, p, 0, z) : ctx->error.status;
  if (status != SN_OK) return status;
  cblas_dsyrk(CblasRowMajor, CblasUpper, side < width ? CblasNoTrans : CblasTrans, side,
              side < width ? width : b->ranks, 1, z, width, 0, gram, side);
  for (int k = 0; k < side; k++) p->energy += gram[k * side + k];
  if (!(p->energy > 0)) return SN_OK;
  status = sn_lapack_syevd(ctx, 'U', side, gram, values);
  for (int k = 0; status == SN_OK && k < side && k < b->most; k++) {
    double value = values[side - 1 - k], *u = gram + side - 1 - k, *to = p->fields + p->rank;
    if (!(value > 1e-12 * p->energy)) break;
    if (side < width)
      cblas_dgemv(CblasRowMajor, CblasTrans, side, width, 1 / sqrt(value), z, width, u, side, 0, to, most_fields);
    else
      cblas_dcopy(width, u, side, to, most_fields);
    p->values[p->rank++] = value;
  }
  if (status == SN_NOT_CONVERGED)
    return sn_fail(ctx, status, "the principal components of corrections were not found");
  return status;
}

typedef struct candidate {
  double gain; // energy per byte
  int patch, component;
} candidate;

static int compare_candidates(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  if (x->gain != y->gain) return x->gain > y->gain ? -1 : 1;
  return x->patch != y->patch ? x->patch - y->patch : x->component - y->component;
}

// Bytes of a component: displacements of its blocks, and a row of the mix.
static double component_bytes(const patch *p) {
  return entry_bytes * ((p->count + SN_RT_LANES - 1) / SN_RT_LANES) + number_bytes * (double)usual_terms;
}

// Keeps the components with the most energy per byte until the loss is within its limit or the bytes are used up.
static sn_status keep_components(sn_fields *b, const sn_field_limits *limits, sn_field_limits *out) {
  candidate *list = SN_NEW(b->r->ctx, b->r->memory, candidate, (size_t)b->patch_count * most_fields);
  if (!list) return b->r->ctx->error.status;
  int count = 0;
  *out = (sn_field_limits){0}, b->slope = 0;
  for (int n = 0; n < b->patch_count; n++) {
    patch *p = b->patches + n;
    out->lost += p->energy, p->kept = 0;
    for (int k = 0; k < p->rank; k++) list[count++] = (candidate){p->values[k] / component_bytes(p), n, k};
  }
  qsort(list, (size_t)count, sizeof *list, compare_candidates);
  for (int n = 0; n < count && out->lost > part_of_components * limits->lost; n++) {
    patch *p = b->patches + list[n].patch;
    b->slope = list[n].gain;
    if (limits->bytes > 0 && out->bytes + component_bytes(p) > limits->bytes) break;
    p->kept = list[n].component + 1, out->lost -= p->values[list[n].component], out->bytes += component_bytes(p);
  }
  out->lost = fmax(out->lost, 0);
  return SN_OK;
}

// ---- coefficients --------------------------------------------------------------------------------------------

// Keeps the controls that save enough error for their bytes. Returns the energy of the others.
static double choose_controls(const sn_fields *b, patch *p) {
  double lost = 0, least = b->slope * number_bytes * usual_functions * p->kept;
  for (int k = 0; k < b->r->control_count; k++) {
    const space *s = b->spaces + k;
    double norm = cblas_dnrm2(s->rank * p->kept, p->needs + s->start * p->kept, 1);
    if (norm * norm > least) {
      p->controls[p->control_count++] = k;
    } else {
      lost += norm * norm;
    }
  }
  return lost;
}

// Stores the fields of positions, and the fields of normals that fit best in least squares with the same coefficients.
static sn_status put_fields(sn_context *ctx, sn_arena *memory, const sn_fields *b, const patch *p) {
  size_t n = (size_t)b->r->m->vertex_count;
  int width = 3 * p->count;
  double *z = SN_NEW(ctx, memory, double, (size_t)b->ranks *(size_t)width);
  double *normals = SN_NEW(ctx, memory, double, (size_t)p->kept *(size_t)width);
  sn_status status = z && normals ? find_needs(ctx, memory, b, p, 3, z) : ctx->error.status;
  if (status != SN_OK) return status;
  cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, p->kept, width, b->ranks, 1, p->needs, p->kept, z, width, 0,
              normals, width);
  for (int k = 0; k < p->kept; k++)
    for (int c = 0; c < width; c++) {
      float *to = b->out->deltas[(size_t)k * n + (size_t)p->vertices[c / 3]];
      to[c % 3] = (float)p->fields[c * most_fields + k];
      to[3 + c % 3] = (float)(normals[k * width + c] / p->values[k]);
    }
  return SN_OK;
}

static sn_status regress_patch(sn_context *ctx, sn_arena *memory, void *user, int index) {
  sn_fields *b = user;
  patch *p = b->patches + index;
  int width = 3 * p->count;
  if (p->kept == 0) return SN_OK;
  double *z = SN_NEW(ctx, memory, double, (size_t)b->ranks *(size_t)width);
  sn_status status = z ? find_needs(ctx, memory, b, p, 0, z) : ctx->error.status;
  if (status != SN_OK) return status;
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, b->ranks, p->kept, width, 1, z, width, p->fields,
              most_fields, 0, p->needs, p->kept);
  p->lost = choose_controls(b, p);
  return put_fields(ctx, memory, b, p);
}

// ---- functions of the controls ------------------------------------------------------------------------------------------------

static bool depends_on(const patch *p, int control) {
  for (int k = 0; k < p->control_count; k++)
    if (p->controls[k] == control) return true;
  return false;
}

// The features of a control side by side, and the factor of their Gram matrix.
static sn_status start_space(sn_context *ctx, sn_arena *memory, const sn_fields *b, int control) {
  space *s = b->spaces + control;
  const sn_term_list *list = &b->r->terms;
  int poses = b->r->m->pose_count, rank = s->rank, column = 0;
  s->features = SN_NEW(ctx, memory, double, (size_t)poses *(size_t)rank);
  s->factor = SN_NEW(ctx, memory, double, rank *rank), s->functions = SN_NEW(ctx, memory, double, rank *rank);
  if (!s->features || !s->factor || !s->functions) return ctx->error.status;
  for (int g = s->first; g < s->end; column += list->groups[g++].rank)
    for (int f = 0; f < poses; f++)
      memcpy(s->features + f * rank + column, list->groups[g].features + f * list->groups[g].rank,
             (size_t)list->groups[g].rank * sizeof *s->features);
  if (rank == 0) return SN_OK;
  cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, rank, rank, poses, 1, s->features, rank, s->features, rank, 0,
              s->factor, rank);
  double largest = 0;
  for (int k = 0; k < rank; k++) largest = fmax(largest, s->factor[k * rank + k]);
  for (int k = 0; k < rank; k++) s->factor[k * rank + k] += 1e-9 * largest + 1e-30; // features may be dependent
  return sn_lapack_potrf(ctx, rank, s->factor) == SN_OK
           ? SN_OK
           : sn_fail(ctx, SN_NOT_CONVERGED, "the terms of a joint are singular");
}

// The functions of a control: principal components of the weights of all patches' coefficients on it.
static sn_status find_functions(sn_context *ctx, sn_arena *memory, void *user, int control) {
  sn_fields *b = user;
  space *s = b->spaces + control;
  int rank = s->rank;
  double *values = SN_NEW(ctx, memory, double, rank);
  int fields = 0; // number of fields that depend on the control
  if (!values) return ctx->error.status;
  s->lost = 0;
  if (rank == 0) return SN_OK;
  memset(s->functions, 0, (size_t)rank * (size_t)rank * sizeof *s->functions);
  for (int n = 0; n < b->patch_count; n++) {
    const patch *p = b->patches + n;
    if (!depends_on(p, control)) continue;
    cblas_dsyrk(CblasRowMajor, CblasUpper, CblasNoTrans, rank, p->kept, 1, p->needs + s->start * p->kept, p->kept, 1,
                s->functions, rank);
    fields += p->kept;
  }
  sn_status status = sn_lapack_syevd(ctx, 'U', rank, s->functions, values);
  double least = b->slope * number_bytes * (fields + rank);
  for (s->count = rank; s->count > 0 && values[rank - s->count] <= least; s->count--)
    s->lost += fmax(values[rank - s->count], 0);
  for (int r = 0; r < rank; r++) // sorts by decreasing energy
    for (int k = 0; k < rank / 2; k++) {
      double *row = s->functions + r * rank, other = row[k];
      row[k] = row[rank - 1 - k], row[rank - 1 - k] = other;
    }
  return status;
}

// Scales fields and coefficients so that a coefficient is at most 1 at the poses.
static void normalise(const sn_fields *b, patch *p) {
  size_t n = (size_t)b->r->m->vertex_count;
  for (int k = 0; k < p->kept; k++) {
    double peak = 0;
    for (int f = 0; f < b->r->m->pose_count; f++) peak = fmax(peak, fabs(p->curves[f * p->kept + k]));
    if (!(peak > 0)) continue;
    for (int f = 0; f < b->r->m->pose_count; f++) p->curves[f * p->kept + k] /= peak;
    for (int t = 0; t < p->terms; t++) p->mix[k * p->terms + t] /= peak;
    for (int v = 0; v < p->count; v++)
      for (int c = 0; c < 6; c++) b->out->deltas[(size_t)k * n + (size_t)p->vertices[v]][c] *= (float)peak;
  }
}

// The patch's coefficients as sums of the functions (mix), and their values at the poses (curves).
static sn_status mix_patch(sn_context *ctx, sn_arena *memory, void *user, int index) {
  sn_fields *b = user;
  patch *p = b->patches + index;
  int poses = b->r->m->pose_count, kept = p->kept, first = 0;
  if (kept == 0) return SN_OK;
  for (int k = 0; k < p->control_count; k++) p->terms += b->spaces[p->controls[k]].count;
  double *mix = SN_NEW(ctx, memory, double, b->ranks *kept), *weights = SN_NEW(ctx, memory, double, b->ranks *kept);
  if (!mix || !weights) return ctx->error.status;
  for (int k = 0; k < p->control_count; k++) {
    const space *s = b->spaces + p->controls[k];
    if (s->count == 0) continue;
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, s->count, kept, s->rank, 1, s->functions, s->rank,
                p->needs + s->start * kept, kept, 0, mix, kept);
    for (int t = 0; t < s->count; t++)
      for (int c = 0; c < kept; c++) p->mix[c * p->terms + first + t] = mix[t * kept + c];
    first += s->count;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, s->rank, kept, s->count, 1, s->functions, s->rank, mix,
                kept, 0, weights, kept);
    cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, s->rank, kept, 1, s->factor, s->rank,
                weights, kept);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, poses, kept, s->rank, 1, s->features, s->rank, weights,
                kept, 1, p->curves, kept);
  }
  normalise(b, p);
  return SN_OK;
}

// The functions of a control as combinations of its terms: a matrix of count * terms.
static sn_status describe_functions(const sn_fields *b, int control, sn_functions *out) {
  sn_regression *r = b->r;
  const space *s = b->spaces + control;
  *out = (sn_functions){.first = s->first, .end = s->end, .count = s->count};
  for (int g = s->first; g < s->end; g++) out->terms += r->terms.groups[g].count;
  double *weights = SN_NEW(r->ctx, r->memory, double, s->rank *(s->count + 1));
  out->matrix = SN_NEW(r->ctx, r->memory, double, (size_t)s->count *(size_t)out->terms);
  if (!weights || !out->matrix) return r->ctx->error.status;
  if (s->count == 0) return SN_OK;
  for (int k = 0; k < s->count; k++) {
    double *column = weights + (k + 1) * s->rank, *to = out->matrix + k * out->terms;
    for (int c = 0; c < s->rank; c++) column[c] = s->functions[c * s->rank + k];
    cblas_dtrsv(CblasRowMajor, CblasLower, CblasTrans, CblasNonUnit, s->rank, s->factor, s->rank, column, 1);
    for (int g = s->first; g < s->end; g++) {
      if (r->terms.groups[g].rank > 0) sn_terms_mix(r->terms.groups + g, column, to);
      column += r->terms.groups[g].rank, to += r->terms.groups[g].count;
    }
  }
  return SN_OK;
}

static sn_status make_spaces(sn_fields *b) {
  sn_regression *r = b->r;
  b->spaces = SN_NEW(r->ctx, r->memory, space, r->control_count);
  sn_status status = b->spaces ? SN_OK : r->ctx->error.status;
  for (int g = 0, k = 0; status == SN_OK && k < r->control_count; k++) {
    space *s = b->spaces + k;
    s->first = g, s->start = b->ranks;
    for (; g < r->terms.count && r->terms.groups[g].owner == k; g++) s->rank += r->terms.groups[g].rank;
    s->end = g, b->ranks += s->rank;
    status = start_space(r->ctx, r->memory, b, k);
  }
  return status;
}

// ---- all -----------------------------------------------------------------------------------------------------

static sn_status make_patches(sn_fields *b, const float (*positions)[3], int size) {
  sn_regression *r = b->r;
  int n = r->m->vertex_count, *order = SN_NEW(r->ctx, r->memory, int, n);
  int *patch_of = b->patch_of = SN_NEW(r->ctx, r->memory, int, n);
  b->patch_count = (n + size - 1) / size;
  sn_status status =
    order && patch_of ? sn_patches_make(r->ctx, r->m, positions, &b->patch_count, patch_of) : r->ctx->error.status;
  b->patches = SN_NEW(r->ctx, r->memory, patch, b->patch_count);
  if (!b->patches) return r->ctx->error.status;
  for (int c = 0, used = 0; status == SN_OK && c < b->patch_count; c++) {
    patch *p = b->patches + c;
    p->vertices = order + used;
    for (int i = 0; i < n; i++)
      if (patch_of[i] == c) order[used++] = i, p->count++;
    p->values = SN_NEW(r->ctx, r->memory, double, most_fields);
    p->fields = SN_NEW(r->ctx, r->memory, double, 3 * (size_t)p->count * most_fields);
    if (!p->values || !p->fields) status = r->ctx->error.status;
  }
  return status;
}

// Allocates the results of the parallel steps.
static sn_status make_room(sn_fields *b, int *places) {
  sn_regression *r = b->r;
  for (int c = 0; c < b->patch_count; c++) {
    patch *p = b->patches + c;
    p->control_count = p->terms = 0, p->lost = 0;
    p->controls = SN_NEW(r->ctx, r->memory, int, r->control_count);
    p->needs = SN_NEW(r->ctx, r->memory, double, (size_t)p->kept *(size_t)b->ranks);
    p->curves = SN_NEW(r->ctx, r->memory, double, (size_t)p->kept *(size_t)r->m->pose_count);
    p->mix = SN_NEW(r->ctx, r->memory, double, (size_t)p->kept *(size_t)b->ranks);
    if (!p->controls || !p->mix || !p->needs || !p->curves) return r->ctx->error.status;
    if (p->kept > *places) *places = p->kept;
  }
  b->out->deltas =
    sn_arena_alloc(r->ctx, r->memory, (size_t)*places * (size_t)r->m->vertex_count, sizeof *b->out->deltas);
  return b->out->deltas ? SN_OK : r->ctx->error.status;
}

static sn_status describe(sn_fields *b) {
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
        curves[(size_t)(first[c] + k) * poses + f] = p->curves[f * (size_t)p->kept + (size_t)k];
    out->basis_count += p->kept;
    if (p->kept == 0) continue;
    out->fields[out->field_count++] = (sn_pose_field){.is_sum = true,
                                                      .joint_count = p->control_count,
                                                      .joints = p->controls,
                                                      .mixed = true,
                                                      .terms = p->terms,
                                                      .basis_count = p->kept,
                                                      .mix = p->mix};
  }
  first[b->patch_count] = out->basis_count;
  out->groups = (sn_basis_groups){.common = 0, .first = first, .group_of = b->patch_of};
  sn_term_list *terms = SN_NEW(r->ctx, r->memory, sn_term_list, 1);
  if (!terms) return r->ctx->error.status;
  *terms = r->terms;
  out->curves = curves, out->terms = terms;
  out->functions = SN_NEW(r->ctx, r->memory, sn_functions, r->control_count), out->control_count = r->control_count;
  sn_status status = out->functions ? SN_OK : r->ctx->error.status;
  for (int k = 0; status == SN_OK && k < r->control_count; k++) status = describe_functions(b, k, out->functions + k);
  return status;
}

sn_status sn_fields_find(sn_regression *r, float (*positions)[3], int shapes, sn_fields **out) {
  sn_fields *b = *out = SN_NEW(r->ctx, r->memory, sn_fields, 1);
  if (!b) return r->ctx->error.status;
  *b = (sn_fields){.r = r, .most = shapes ? shapes : most_fields};
  sn_status status = make_spaces(b);
  if (status == SN_OK)
    status = make_patches(b, (const float(*)[3])positions, shapes ? r->m->vertex_count : patch_size);
  const sn_folds each = {.fold_count = b->patch_count};
  return status == SN_OK ? sn_folds_run(r->ctx, &each, find_components, b) : status;
}

sn_status sn_fields_make(sn_fields *b, sn_field_limits *limits, sn_corrections *out) {
  sn_field_limits spent = {0};
  int places = 0;
  sn_status status = keep_components(b, limits, &spent);
  sn_regression *r = b->r;
  *out = (sn_corrections){.vertex_count = r->m->vertex_count, .pruned = true};
  if (status != SN_OK) return status;
  const sn_folds each = {.fold_count = b->patch_count}, controls = {.fold_count = r->control_count};
  b->out = out;
  status = make_room(b, &places);
  if (status == SN_OK) status = sn_folds_run(r->ctx, &each, regress_patch, b);
  if (status == SN_OK) status = sn_folds_run(r->ctx, &controls, find_functions, b);
  if (status == SN_OK) status = sn_folds_run(r->ctx, &each, mix_patch, b);
  if (status == SN_OK) status = describe(b);
  *limits = spent;
  for (int c = 0; status == SN_OK && c < b->patch_count; c++) limits->lost += b->patches[c].lost;
  for (int k = 0; status == SN_OK && k < r->control_count; k++) limits->lost += b->spaces[k].lost;
  return status;
}
