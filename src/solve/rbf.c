// SPDX-License-Identifier: MIT
// Radial basis functions: kernels, cardinal functions, evaluation.
#include "solve/rbf.h"

#include <math.h>
#include <string.h>

#include "base/scope.h"
#include "solve/lapack.h"
#include "solve/solve.h"

// Systems with a smaller reciprocal condition number are rejected: the mix would be dominated by rounding errors.
static const double least_rcond = 1e-10;

// Directions in which the centres spread less than this fraction of the largest spread get no slope: it would fit noise.
static const double least_spread = 0.05;

// ---- kernels ---------------------------------------------------------------------------------------------------------

// Cubic B-spline (Shape by Example).
static double m4(double x) {
  if (x < 1) return 2.0 / 3 - x * x + x * x * x / 2;
  return x < 2 ? (2 - x) * (2 - x) * (2 - x) / 6 : 0;
}

double sn_rbf_kernel_value(sn_rbf_kernel kernel, double distance, double width) {
  double x = distance / width;
  switch (kernel) {
  case SN_RBF_THINPLATE:
    return x > 0 ? x * x * log(x) : 0;
  case SN_RBF_BSPLINE:
    return m4(x);
  case SN_RBF_SHEPARD:
    return pow(distance > 1e-6 ? distance : 1e-6, -width);
  default:
    return exp(-0.5 * x * x);
  }
}

static const double *centre(const sn_rbf *rbf, int k) { return rbf->centres + (size_t)k * (size_t)rbf->dims; }

// Kernel k at x.
static double kernel_at(const sn_rbf *rbf, int k, const double *x) {
  double distance = sqrt(sn_squared_distance(rbf->dims, x, centre(rbf, k)));
  return sn_rbf_kernel_value(rbf->kernel, distance, rbf->widths[k]);
}

void sn_rbf_terms(const sn_rbf *rbf, const double *x, double *terms) {
  double sum = 0;
  for (int k = 0; k < rbf->count; k++) sum += terms[k] = kernel_at(rbf, k, x);
  for (int k = 0; rbf->kernel == SN_RBF_SHEPARD && k < rbf->count; k++) terms[k] /= sum;
  if (rbf->linear == SN_RBF_NO_LINEAR) return;
  terms[rbf->count] = 1;
  if (rbf->dims) memcpy(terms + rbf->count + 1, x, (size_t)rbf->dims * sizeof *terms);
}

void sn_rbf_cardinal(const sn_rbf *rbf, const double *x, double *terms, double *values) {
  sn_rbf_terms(rbf, x, terms);
  for (int k = 0; k < rbf->count; k++) {
    values[k] = 0;
    for (int t = 0; t < rbf->terms; t++) values[k] += rbf->mix[(size_t)k * (size_t)rbf->terms + (size_t)t] * terms[t];
  }
}

// ---- solving --------------------------------------------------------------------------------------------------------------

// Orthonormalised columns of [1, x] at the centres: basis (count * rank), and the map to coefficients of 1 and x, back
// (rank * (1 + dims)). Directions in which the centres do not spread are dropped.
typedef struct plane {
  int rank;
  double *basis, *back;
} plane;

static sn_status make_plane(sn_context *ctx, sn_arena *memory, const sn_rbf *rbf, plane *out) {
  int n = rbf->count, dims = rbf->dims, most = dims < n ? dims : n;
  size_t columns = (size_t)dims + 1;
  double *spread = SN_NEW(ctx, memory, double, (size_t)n *(size_t)dims), *mean = SN_NEW(ctx, memory, double, dims);
  double *u = SN_NEW(ctx, memory, double, (size_t)n *(size_t)most), *s = SN_NEW(ctx, memory, double, most);
  double *vt = SN_NEW(ctx, memory, double, (size_t)most *(size_t)dims);
  out->basis = SN_NEW(ctx, memory, double, (size_t)n *(size_t)(most + 1));
  out->back = SN_NEW(ctx, memory, double, (size_t)(most + 1) * columns);
  if (!spread || !mean || !u || !s || !vt || !out->basis || !out->back) return ctx->error.status;
  for (int k = 0; k < n; k++)
    for (int d = 0; d < dims; d++) mean[d] += centre(rbf, k)[d] / n;
  for (int k = 0; k < n; k++)
    for (int d = 0; d < dims; d++) spread[(size_t)k * (size_t)dims + (size_t)d] = centre(rbf, k)[d] - mean[d];
  sn_status status = most > 0 ? sn_lapack_gesvd(ctx, &(sn_svd){n, dims, spread, s, u, vt}) : SN_OK;
  if (status == SN_NO_MEMORY) return status;
  if (status != SN_OK) return sn_fail(ctx, SN_NOT_CONVERGED, "the singular values of the poses were not found");
  int rank = 0;
  while (rank < most && s[rank] > least_spread * s[0]) rank++;
  out->rank = rank + 1;
  double unit = 1 / sqrt(n);
  out->back[0] = unit;
  for (int k = 0; k < n; k++) out->basis[(size_t)k * (size_t)out->rank] = unit;
  for (int r = 0; r < rank; r++) {
    double *back = out->back + (size_t)(r + 1) * columns;
    for (int k = 0; k < n; k++)
      out->basis[(size_t)k * (size_t)out->rank + (size_t)r + 1] = u[(size_t)k * (size_t)most + (size_t)r];
    for (int d = 0; d < dims; d++) {
      back[d + 1] = vt[(size_t)r * (size_t)dims + (size_t)d] / s[r];
      back[0] -= back[d + 1] * mean[d];
    }
  }
  return SN_OK;
}

// In place; SN_NOT_CONVERGED if the matrix is nearly singular. Phi of equal Gaussians is definite.
static sn_status invert(sn_context *ctx, const sn_rbf *rbf, int rows, double *a) {
  bool definite = rows == rbf->count && rbf->kernel == SN_RBF_GAUSS;
  for (int k = 1; k < rbf->count; k++) definite = definite && rbf->widths[k] == rbf->widths[0];
  double rcond;
  sn_status status = sn_lapack_invert(ctx, definite, rows, a, &rcond);
  if (status == SN_NO_MEMORY || (status == SN_OK && rcond > least_rcond)) return status;
  return sn_fail(ctx, SN_NOT_CONVERGED, "the interpolation of %d poses is singular", rows);
}

// Phi in the top left of a matrix of `size` rows.
static void fill_phi(const sn_rbf *rbf, double *matrix, size_t size) {
  for (int a = 0; a < rbf->count; a++)
    for (int b = 0; b < rbf->count; b++) matrix[(size_t)a * size + (size_t)b] = kernel_at(rbf, b, centre(rbf, a));
}

// mix[k][count ...] from the coefficients `slope` (rank * count: of the orthonormal columns for each cardinal function).
static void put_plane(const sn_rbf *rbf, const plane *p, const double *slope, size_t stride) {
  for (int k = 0; k < rbf->count; k++)
    for (int d = 0; d <= rbf->dims; d++)
      for (int r = 0; r < p->rank; r++) {
        rbf->mix[(size_t)k * (size_t)rbf->terms + (size_t)(rbf->count + d)] +=
          slope[(size_t)r * stride + (size_t)k] * p->back[(size_t)r * (size_t)(rbf->dims + 1) + (size_t)d];
      }
}

// Phi or, with a plane, [Phi U; U^T 0] with U its orthonormal columns.
static sn_status solve_at_once(sn_context *ctx, sn_arena *scratch, const sn_rbf *rbf) {
  plane p = {0};
  if (rbf->linear == SN_RBF_LINEAR) SN_TRY(make_plane(ctx, scratch, rbf, &p));
  size_t n = (size_t)rbf->count, size = n + (size_t)p.rank;
  double *matrix = SN_NEW(ctx, scratch, double, size *size);
  if (!matrix) return ctx->error.status;
  fill_phi(rbf, matrix, size);
  for (size_t k = 0; k < n; k++)
    for (size_t r = 0; r < (size_t)p.rank; r++)
      matrix[k * size + n + r] = matrix[(n + r) * size + k] = p.basis[k * (size_t)p.rank + r];
  SN_TRY(invert(ctx, rbf, (int)size, matrix));
  for (size_t k = 0; k < n; k++)
    for (size_t t = 0; t < n; t++) rbf->mix[k * (size_t)rbf->terms + t] = matrix[t * size + k];
  put_plane(rbf, &p, matrix + n * size, size);
  return SN_OK;
}

// Shape by Example: hyperplanes first, kernels for the residual (steps 1 to 3).
static sn_status solve_two_step(sn_context *ctx, sn_arena *scratch, const sn_rbf *rbf) {
  plane p;
  SN_TRY(make_plane(ctx, scratch, rbf, &p));
  size_t n = (size_t)rbf->count, rank = (size_t)p.rank;
  double *phi = SN_NEW(ctx, scratch, double, n *n), *slope = SN_NEW(ctx, scratch, double, rank *n);
  double *residual = SN_NEW(ctx, scratch, double, n *n);
  if (!phi || !slope || !residual) return ctx->error.status;
  fill_phi(rbf, phi, n);
  SN_TRY(invert(ctx, rbf, rbf->count, phi));
  for (size_t k = 0; k < n; k++)
    for (size_t r = 0; r < rank; r++) slope[r * n + k] = p.basis[k * rank + r];
  for (size_t a = 0; a < n; a++)
    for (size_t k = 0; k < n; k++) {
      residual[a * n + k] = a == k;
      for (size_t r = 0; r < rank; r++) residual[a * n + k] -= p.basis[a * rank + r] * slope[r * n + k];
    }
  for (size_t k = 0; k < n; k++)
    for (size_t t = 0; t < n; t++)
      for (size_t a = 0; a < n; a++) rbf->mix[k * (size_t)rbf->terms + t] += phi[t * n + a] * residual[a * n + k];
  put_plane(rbf, &p, slope, n);
  return SN_OK;
}

sn_status sn_rbf_solve(sn_context *ctx, sn_rbf *out) {
  int count = out->count;
  if (out->kernel == SN_RBF_THINPLATE && out->linear == SN_RBF_NO_LINEAR) out->linear = SN_RBF_LINEAR;
  if (out->kernel == SN_RBF_SHEPARD) out->linear = SN_RBF_NO_LINEAR;
  out->terms = count, out->memory = sn_arena_new(ctx);
  if (out->linear != SN_RBF_NO_LINEAR) out->terms += 1 + out->dims;
  out->mix = SN_NEW(ctx, &out->memory, double, (size_t)count *(size_t)out->terms);
  sn_arena scratch = sn_arena_new(ctx);
  sn_status status = out->mix ? SN_OK : ctx->error.status;
  if (status == SN_OK && out->kernel == SN_RBF_SHEPARD) {
    for (int k = 0; k < count; k++) out->mix[(size_t)k * (size_t)count + (size_t)k] = 1;
  } else if (status == SN_OK) {
    status = (out->linear == SN_RBF_LINEAR_TWO_STEP ? solve_two_step : solve_at_once)(ctx, &scratch, out);
  }
  sn_arena_free(&scratch);
  if (status != SN_OK) sn_rbf_free(out);
  return status;
}

SN_DEFINE_FREE(sn_rbf);

// ---- leave one out ---------------------------------------------------------------------------------------------------------

// Adds the squared error at centre k of the prediction sum_b s_b f_b from the other centres: (f_k - s f)^2 = r^T gram r.
static sn_status error_without(sn_context *ctx, const sn_rbf *rbf, int k, const double *gram, double *error) {
  int n = rbf->count;
  size_t dims = (size_t)rbf->dims;
  SN_SCRATCH(scratch, ctx);
  double *centres = SN_NEW(ctx, &scratch, double, (size_t)n *dims), *widths = SN_NEW(ctx, &scratch, double, n);
  double *values = SN_NEW(ctx, &scratch, double, n), *terms = SN_NEW(ctx, &scratch, double, (size_t)n + 1 + dims);
  double *r = SN_NEW(ctx, &scratch, double, n);
  if (!centres || !widths || !values || !terms || !r) return ctx->error.status;
  for (int a = 0, to = 0; a < n; a++) {
    if (a == k) continue;
    if (dims) memcpy(centres + (size_t)to * dims, centre(rbf, a), dims * sizeof *centres);
    widths[to++] = rbf->widths[a];
  }
  SN_FREED_BY(sn_rbf_free) sn_rbf others = *rbf;
  others.count = n - 1, others.centres = centres, others.widths = widths, others.memory = (sn_arena){0};
  SN_TRY(sn_rbf_solve(ctx, &others));
  sn_rbf_cardinal(&others, centre(rbf, k), terms, values);
  for (int a = 0; a < n; a++) r[a] = a == k ? 1 : -values[a - (a > k)];
  double sum = 0;
  for (int a = 0; a < n; a++)
    for (int b = 0; b < n; b++) sum += r[a] * r[b] * gram[(size_t)a * (size_t)n + (size_t)b];
  *error += sum;
  return SN_OK;
}

sn_status sn_rbf_leave_one_out_refit(sn_context *ctx, const sn_rbf *rbf, const double *gram, double *error) {
  *error = 0;
  for (int k = 0; rbf->count > 1 && k < rbf->count; k++) SN_TRY(error_without(ctx, rbf, k, gram, error));
  return SN_OK;
}

// e_k = c_k / (M^-1)_kk with c = B f, B the kernels' part of M^-1: squared and summed over the
// right-hand sides, (B gram B^T)_kk / B_kk^2. mix holds B transposed.
sn_status sn_rbf_leave_one_out(sn_context *ctx, const sn_rbf *rbf, const double *gram, double *error) {
  if (rbf->kernel == SN_RBF_SHEPARD || rbf->linear == SN_RBF_LINEAR_TWO_STEP)
    return sn_rbf_leave_one_out_refit(ctx, rbf, gram, error);
  size_t n = (size_t)rbf->count, terms = (size_t)rbf->terms;
  *error = 0;
  for (size_t k = 0; k < n; k++) {
    double sum = 0, diagonal = rbf->mix[k * terms + k];
    for (size_t a = 0; a < n; a++)
      for (size_t b = 0; b < n; b++) sum += rbf->mix[a * terms + k] * rbf->mix[b * terms + k] * gram[a * n + b];
    if (sum > 0) *error += sum / (diagonal * diagonal);
  }
  return isfinite(*error) ? SN_OK : sn_fail(ctx, SN_NOT_CONVERGED, "leaving out a pose gives no interpolation");
}

// ---- widths ------------------------------------------------------------------------------------------------------------------

void sn_rbf_nearest(int count, int dims, const double *centres, double *out) {
  for (int k = 0; k < count; k++) {
    double nearest = INFINITY;
    const double *own = centres + (size_t)k * (size_t)dims;
    for (int o = 0; o < count; o++)
      if (o != k) nearest = fmin(nearest, sqrt(sn_squared_distance(dims, own, centres + (size_t)o * (size_t)dims)));
    out[k] = isfinite(nearest) && nearest > 0 ? nearest : 1;
  }
}

double sn_rbf_amplification(const sn_rbf *rbf) {
  double largest = 0;
  for (int t = 0; t < rbf->terms; t++) {
    double sum = 0;
    for (int k = 0; k < rbf->count; k++) sum += fabs(rbf->mix[(size_t)k * (size_t)rbf->terms + (size_t)t]);
    if (sum > largest) largest = sum;
  }
  return largest;
}

// With a higher power, Shepard's method is nearest-neighbour interpolation.
static const double most_power = 16;

// Widths tried: first_factor times the initial ones, then each next_factor times the last, up to 24 times the initial ones.
static const double first_factor = 0.3, next_factor = 1.2;

sn_status sn_rbf_choose_widths(sn_context *ctx, const sn_rbf *problem, const double *gram, double most_amplified,
                               double *widths) {
  int count = problem->count, steps = 25;
  SN_SCRATCH(scratch, ctx);
  double *trial = SN_NEW(ctx, &scratch, double, count), least = INFINITY, best = 0;
  if (!trial) return ctx->error.status;
  for (int step = 0; step < steps; step++) {
    double factor = first_factor * pow(next_factor, step), error;
    for (int k = 0; k < count; k++) trial[k] = widths[k] * factor;
    if (problem->kernel == SN_RBF_SHEPARD && trial[0] > most_power) break;
    SN_FREED_BY(sn_rbf_free) sn_rbf rbf = *problem;
    rbf.widths = trial;
    sn_status status = sn_rbf_solve(ctx, &rbf);
    if (status == SN_OK) status = sn_rbf_leave_one_out(ctx, &rbf, gram, &error);
    if (status != SN_OK && status != SN_NOT_CONVERGED) return status;
    bool fine = status == SN_OK && sn_rbf_amplification(&rbf) <= most_amplified;
    if (fine && error < least) least = error, best = factor;
  }
  if (best == 0) return sn_fail(ctx, SN_NOT_CONVERGED, "no width of the kernels interpolates the %d poses", count);
  for (int k = 0; k < count; k++) widths[k] *= best;
  return SN_OK;
}
