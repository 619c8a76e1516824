// SPDX-License-Identifier: MIT
// The published pose space (Lewis and others 2000; Murtagh 2008): radial basis functions of all rotations, centred at
// the training poses.
#include <math.h>
#include <string.h>

#include "train/correct/corrector.h"

typedef struct gram_job {
  const float (*deltas)[6];
  int vertex_count, count;
  const int *poses; // NULL: all
  double *gram;
} gram_job;

static void gram_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const gram_job *job = user;
  for (int64_t a = begin; a < end; a++)
    for (int64_t b = 0; b <= a; b++) {
      const float(*x)[6] = job->deltas + (size_t)(job->poses ? job->poses[a] : a) * (size_t)job->vertex_count;
      const float(*y)[6] = job->deltas + (size_t)(job->poses ? job->poses[b] : b) * (size_t)job->vertex_count;
      double sum = 0;
      for (int i = 0; i < job->vertex_count; i++)
        for (int c = 0; c < 3; c++) sum += (double)x[i][c] * y[i][c];
      job->gram[a * job->count + b] = job->gram[b * job->count + a] = sum;
    }
}

void sn_residuals_gram(sn_context *ctx, const float (*deltas)[6], int vertex_count, const int *poses, int count,
                       double *gram) {
  gram_job job = {deltas, vertex_count, count, poses, gram};
  sn_parallel_for(ctx, count, 1, gram_range, &job);
}

static double median(sn_context *ctx, sn_arena *memory, int count, const double *values) {
  double *sorted = SN_NEW(ctx, memory, double, count);
  if (!sorted) return 0;
  memcpy(sorted, values, (size_t)count * sizeof *sorted);
  sn_sort_doubles(sorted, (size_t)count);
  return sorted[count / 2];
}

// Shepard's exponent at the start of its optimisation.
static const double first_power = 3.5;

// Initial widths: the median distance to the nearest pose for all, or each pose's distance to its nearest.
static sn_status first_widths(sn_corrector *c, const sn_pose_field *field, double *widths) {
  const sn_correct_options *o = c->options;
  int count = field->centre_count;
  sn_rbf_nearest(count, field->metric.axes, field->centres, widths);
  bool own = o->sigma == SN_SIGMA_POSE || (o->kernel == SN_RBF_BSPLINE && o->sigma == SN_SIGMA_AUTO);
  double same = o->sigma > 0                  ? o->sigma
                : o->kernel == SN_RBF_SHEPARD ? first_power
                                              : median(c->ctx, &c->memory, count, widths);
  if (same == 0) return c->ctx->error.status;
  for (int k = 0; !own && k < count; k++) widths[k] = same;
  return SN_OK;
}

// Largest ratio of kernel weights to displacements: weights are stored in 16 bits, and larger ones show rounding.
static const double most_amplified = 40;

sn_status sn_field_solve(sn_corrector *c, const double *sigmas, const double *gram, sn_pose_field *field,
                         sn_rbf *rbf) {
  sn_context *ctx = c->ctx;
  const sn_correct_options *o = c->options;
  int count = field->centre_count, axes = field->metric.axes;
  double *widths = SN_NEW(ctx, &c->memory, double, count);
  *rbf = (sn_rbf){0};
  if (!widths) return ctx->error.status;
  sn_rbf_linear linear = !o->linear ? SN_RBF_NO_LINEAR : o->cardinal ? SN_RBF_LINEAR_TWO_STEP : SN_RBF_LINEAR;
  if (o->kernel == SN_RBF_THINPLATE) linear = SN_RBF_LINEAR;
  const sn_rbf problem = {
    .kernel = o->kernel, .linear = linear, .count = count, .dims = axes, .centres = field->centres, .widths = widths};
  sn_status status = first_widths(c, field, widths);
  bool fixed = o->sigma > 0 || o->kernel == SN_RBF_THINPLATE || o->kernel == SN_RBF_BSPLINE; // twice the nearest pose
  if (status == SN_OK && !fixed && count > 1) {
    status =
      sn_rbf_choose_widths(ctx, &problem, gram, o->cardinal || o->components > 0 ? INFINITY : most_amplified, widths);
  }
  for (int k = 0; status == SN_OK && sigmas && k < count; k++)
    if (sigmas[k] > 0) widths[k] = sigmas[k];
  if (status == SN_OK) *rbf = problem, status = sn_rbf_solve(ctx, rbf);
  if (status == SN_NOT_CONVERGED && o->sigma > 0) {
    return sn_fail(ctx, SN_NOT_CONVERGED,
                   "sigma=%g is too wide for %d poses at these distances: their interpolation is singular; take a "
                   "smaller one or sigma=auto",
                   o->sigma, count);
  }
  field->kernel = o->kernel, field->widths = widths;
  field->linear = rbf->linear != SN_RBF_NO_LINEAR, field->terms = rbf->terms;
  return status;
}

sn_status sn_field_make(sn_corrector *c, const sn_pose_data *data, sn_pose_field *field, sn_rbf *rbf) {
  sn_context *ctx = c->ctx;
  sn_arena *memory = &c->memory;
  const sn_residuals *m = &c->residuals;
  int joint_count = data->joint_count, count = data->count, dims = sn_controls_dims(m, data->joints, joint_count);
  *rbf = (sn_rbf){0};
  *field = (sn_pose_field){.joint_count = joint_count, .centre_count = count};
  field->joints = SN_NEW(ctx, memory, int, joint_count);
  double *vectors = SN_NEW(ctx, memory, double, (size_t)count *(size_t)dims);
  double *centres = SN_NEW(ctx, memory, double, (size_t)count *(size_t)dims);
  double *sigmas = m->sigmas ? SN_NEW(ctx, memory, double, count) : NULL;
  if (!field->joints || !vectors || !centres || (m->sigmas && !sigmas)) return ctx->error.status;
  memcpy(field->joints, data->joints, (size_t)joint_count * sizeof *field->joints);
  for (int k = 0; k < count; k++)
    sn_controls_vector(m, data->poses[k], data->joints, joint_count, vectors + (size_t)k * (size_t)dims);
  field->metric = (sn_pose_metric){.kind = c->options->distance, .dims = dims};
  sn_status status = sn_pose_metric_make(ctx, memory, count, vectors, &field->metric);
  if (status != SN_OK) return status;
  for (int k = 0; k < count; k++) {
    sn_pose_axes(&field->metric, vectors + (size_t)k * (size_t)dims,
                 centres + (size_t)k * (size_t)field->metric.axes);
    if (sigmas) sigmas[k] = m->sigmas[data->poses[k]];
  }
  field->centres = centres;
  return sn_field_solve(c, sigmas, data->gram, field, rbf);
}

static bool any_delta(const float (*deltas)[6], int count) {
  for (int i = 0; i < count; i++)
    for (int c = 0; c < 6; c++)
      if (deltas[i][c] != 0) return true;
  return false;
}

// One basis per pose with a residual: its displacements, with the pose's cardinal function.
static sn_status cardinal_bases(sn_context *ctx, sn_arena *memory, const sn_residuals *m, const sn_rbf *rbf,
                                sn_pose_field *field, sn_corrections *out) {
  size_t n = (size_t)m->vertex_count, terms = (size_t)rbf->terms;
  field->mix = SN_NEW(ctx, memory, double, (size_t)rbf->count *terms);
  out->deltas = sn_arena_alloc(ctx, memory, (size_t)rbf->count * n, sizeof *out->deltas);
  if (!field->mix || !out->deltas) return ctx->error.status;
  field->mixed = true;
  for (int k = 0; k < rbf->count; k++) {
    const float(*deltas)[6] = (const float(*)[6])(m->deltas + (size_t)k * n);
    if (!any_delta(deltas, m->vertex_count)) continue;
    size_t b = (size_t)field->basis_count++;
    memcpy(out->deltas + b * n, deltas, n * sizeof *deltas);
    memcpy(field->mix + b * terms, rbf->mix + (size_t)k * terms, terms * sizeof *rbf->mix);
  }
  return SN_OK;
}

// One basis per term: the kernel weights w_k of every vertex, w = Phi^-1 d (Murtagh 2008, eq. 2.3).
static sn_status weight_bases(sn_context *ctx, sn_arena *memory, const sn_residuals *m, const sn_rbf *rbf,
                              sn_pose_field *field, sn_corrections *out) {
  size_t n = (size_t)m->vertex_count;
  field->basis_count = rbf->terms;
  out->deltas = sn_arena_alloc(ctx, memory, (size_t)rbf->terms * n, sizeof *out->deltas);
  if (!out->deltas) return ctx->error.status;
  for (size_t t = 0; t < (size_t)rbf->terms; t++)
    for (size_t i = 0; i < n; i++)
      for (int c = 0; c < 6; c++) {
        double sum = 0;
        for (size_t k = 0; k < (size_t)rbf->count; k++)
          sum += rbf->mix[k * (size_t)rbf->terms + t] * m->deltas[k * n + i][c];
        out->deltas[t * n + i][c] = (float)sum;
      }
  return SN_OK;
}

sn_status sn_psd_fields(sn_corrector *c, sn_corrections *out) {
  sn_context *ctx = c->ctx;
  sn_arena *memory = &c->memory;
  const sn_residuals *m = &c->residuals;
  *out = (sn_corrections){.field_count = 1, .vertex_count = m->vertex_count};
  out->fields = SN_NEW(ctx, memory, sn_pose_field, 1);
  int *poses = SN_NEW(ctx, memory, int, m->pose_count);
  double *gram = SN_NEW(ctx, memory, double, (size_t)m->pose_count *(size_t)m->pose_count);
  if (!out->fields || !poses || !gram) return ctx->error.status;
  for (int p = 0; p < m->pose_count; p++) poses[p] = p;
  sn_residuals_gram(ctx, (const float(*)[6])m->deltas, m->vertex_count, NULL, m->pose_count, gram);
  sn_rbf rbf;
  const sn_pose_data data = {c->joints, poses, c->joint_count, m->pose_count, gram};
  sn_status status = sn_field_make(c, &data, out->fields, &rbf);
  if (status == SN_OK) {
    status = (c->options->cardinal ? cardinal_bases : weight_bases)(ctx, memory, m, &rbf, out->fields, out);
  }
  out->basis_count = out->fields->basis_count;
  sn_rbf_free(&rbf);
  return status;
}
