// SPDX-License-Identifier: MIT
// Computes the terms of joints, pairs and values at the training poses, scaled to their prior variances.
#include "train/correct/terms.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

// Constants chosen by the measurements in docs/measurements.md.
// Prior variance of theta, of Gaussians and of products of a pair; of a joint's products, relative to theta.
static const double half = 0.5;
static const double length = 1.0 / 32; // of the diagonal: as likely a priori as a rotation by 1 rad
static const double pivot = 1e-9;      // smallest residual kernel of a centre, relative to the largest

int sn_terms_parent(const sn_residuals *m, int joint) {
  for (int n = 0; n < m->joint_count; n++)
    if (m->rotations[n].joint == joint) return m->rotations[n].parent;
  return -1;
}

// The control's vector in pose p relative to the rest pose.
static void control_at(const sn_residuals *m, int control, int p, double out[3]) {
  const double *x = sn_control_at(m, p, control), *rest = sn_control_at(m, 0, control);
  for (int c = 0; c < sn_control_dims(m, control); c++) out[c] = x[c] - rest[c];
}

// The translation of a joint relative to its parent in pose p, in units of `length`.
static void offset_at(const sn_residuals *m, int joint, int p, double out[3]) {
  const double *x = m->offsets + 3 * ((size_t)p * (size_t)m->joint_count + (size_t)joint);
  for (int c = 0; c < 3; c++) out[c] = x[c] / (length * m->diagonal);
}

static sn_status new_features(sn_context *ctx, sn_arena *memory, const sn_residuals *m, sn_terms *t) {
  t->features = SN_NEW(ctx, memory, double, (size_t)m->pose_count *(size_t)t->rank);
  return t->features ? SN_OK : ctx->error.status;
}

// The ratio of a feature to its term.
static double scale_of(const sn_terms *t, int term) {
  return t->kind == SN_RT_TERMS_JOINT && term >= 3 ? half : t->scale;
}

// x y z xx xy xz yy yz zz.
static sn_status make_polynomial(sn_context *ctx, sn_arena *memory, const sn_residuals *m, sn_terms *t) {
  t->kind = SN_RT_TERMS_JOINT, t->count = t->rank = 9, t->scale = sqrt(half);
  sn_status status = new_features(ctx, memory, m, t);
  for (int p = 0; status == SN_OK && p < m->pose_count; p++) {
    double x[3], *at = t->features + 9 * (size_t)p;
    (t->hidden ? offset_at : control_at)(m, t->a, p, x);
    for (int c = 0; c < 3; c++) at[c] = t->scale * x[c];
    for (int c = 0, k = 3; c < 3; c++)
      for (int d = c; d < 3; d++, k++) at[k] = scale_of(t, k) * x[c] * x[d];
  }
  return status;
}

static sn_status make_product(sn_context *ctx, sn_arena *memory, const sn_residuals *m, sn_terms *t) {
  t->kind = SN_RT_TERMS_PAIR, t->count = t->rank = 9, t->scale = sqrt(half);
  sn_status status = new_features(ctx, memory, m, t);
  for (int p = 0; status == SN_OK && p < m->pose_count; p++) {
    double x[3], y[3];
    control_at(m, t->a, p, x), control_at(m, t->b, p, y);
    for (int c = 0; c < 9; c++) t->features[9 * (size_t)p + (size_t)c] = t->scale * x[c / 3] * y[c % 3];
  }
  return status;
}

// The number of levels of a value other than at rest: 1, or 2 for several.
static int levels_of(const sn_residuals *m, int control) {
  double first = 0, x[3];
  for (int p = 1; p < m->pose_count; p++) {
    control_at(m, control, p, x);
    if (x[0] == 0) continue;
    if (first == 0) first = x[0];
    if (fabs(x[0] - first) > sn_least_motion * fabs(first)) return 2;
  }
  return 1;
}

static sn_status make_value(sn_context *ctx, sn_arena *memory, const sn_residuals *m, sn_terms *t) {
  t->kind = SN_RT_TERMS_VALUE, t->count = t->rank = levels_of(m, t->a), t->scale = 1;
  sn_status status = new_features(ctx, memory, m, t);
  for (int p = 0; status == SN_OK && p < m->pose_count; p++) {
    double x[3];
    control_at(m, t->a, p, x);
    for (int k = 0; k < t->rank; k++) t->features[(size_t)p * (size_t)t->rank + (size_t)k] = k ? x[0] * x[0] : x[0];
  }
  return status;
}

// ---- Gaussians -----------------------------------------------------------------------------------------------------------

static double gauss(const double *x, const double *y) {
  double d2 = 0;
  for (int c = 0; c < 3; c++) d2 += (x[c] - y[c]) * (x[c] - y[c]);
  return exp(-d2 / (2 * sn_usual_width * sn_usual_width));
}

// A Gaussian kernel conditioned to vanish in the rest pose; about x . y near it.
static double kernel(const double *x, const double *y) {
  static const double rest[3] = {0, 0, 0};
  return sn_usual_width * sn_usual_width * (gauss(x, y) - gauss(x, rest) * gauss(y, rest));
}

// Pivoted incomplete Cholesky: the pose with the largest residual kernel is the next centre. `left`: pose_count;
// `columns`: SN_MOST_FEATURES columns of pose_count.
static int find_centres(const double (*x)[3], int poses, double *left, double *columns, int *pivots) {
  double largest = 0;
  for (int p = 0; p < poses; p++) left[p] = kernel(x[p], x[p]), largest = fmax(largest, left[p]);
  int rank = 0;
  for (; rank < SN_MOST_FEATURES; rank++) {
    int next = 0;
    for (int p = 1; p < poses; p++)
      if (left[p] > left[next]) next = p;
    if (!(left[next] > pivot * largest)) break;
    double scale = 1 / sqrt(left[next]), *column = columns + (size_t)rank * (size_t)poses;
    for (int p = 0; p < poses; p++) {
      double v = kernel(x[p], x[next]);
      for (int c = 0; c < rank; c++)
        v -= columns[(size_t)c * (size_t)poses + (size_t)p] * columns[(size_t)c * (size_t)poses + (size_t)next];
      column[p] = v * scale;
    }
    for (int p = 0; p < poses; p++) left[p] = fmax(left[p] - column[p] * column[p], 0);
    left[next] = 0, pivots[rank] = next;
  }
  return rank;
}

static sn_status make_gaussians(sn_context *ctx, sn_arena *memory, const sn_residuals *m, sn_terms *t) {
  size_t poses = (size_t)m->pose_count;
  double(*x)[3] = sn_arena_alloc(ctx, memory, poses, sizeof *x);
  double *left = SN_NEW(ctx, memory, double, poses), *columns = SN_NEW(ctx, memory, double, SN_MOST_FEATURES *poses);
  int pivots[SN_MOST_FEATURES];
  if (!x || !left || !columns) return ctx->error.status;
  for (int p = 0; p < m->pose_count; p++) control_at(m, t->a, p, x[p]);
  t->kind = SN_RT_TERMS_GAUSS, t->scale = sqrt(half);
  t->rank = find_centres((const double(*)[3])x, m->pose_count, left, columns, pivots);
  size_t rank = (size_t)t->rank;
  t->count = t->rank ? t->rank + 1 : 0;
  t->centres = SN_NEW(ctx, memory, double, 3 * (rank + 1)), t->corner = SN_NEW(ctx, memory, double, rank *rank);
  sn_status status = t->centres && t->corner ? new_features(ctx, memory, m, t) : ctx->error.status;
  for (size_t r = 0; status == SN_OK && r < rank; r++) {
    memcpy(t->centres + 3 * r, x[pivots[r]], sizeof *x);
    for (size_t c = 0; c <= r; c++) t->corner[r * rank + c] = columns[c * poses + (size_t)pivots[r]];
    for (size_t p = 0; p < poses; p++) t->features[p * rank + r] = t->scale * columns[r * poses + p];
  }
  return status;
}

// ---- all ---------------------------------------------------------------------------------------------------------------------

static bool is_control(const int *controls, int count, int joint) {
  for (int k = 0; k < count; k++)
    if (controls[k] == joint) return true;
  return false;
}

// Adds hidden terms of joint translations, so that rotations are not fitted to what translations cause.
static sn_status add_hidden(sn_context *ctx, sn_arena *memory, const sn_residuals *m, const int *controls,
                            int control_count, sn_term_list *out) {
  sn_status status = SN_OK;
  out->all = out->count;
  for (int k = 0; status == SN_OK && k < control_count; k++) {
    if (controls[k] >= m->joint_count) break; // values
    sn_terms *t = out->groups + out->all;
    *t = (sn_terms){.a = controls[k], .b = -1, .owner = k, .hidden = true};
    status = make_polynomial(ctx, memory, m, t);
    out->all += status == SN_OK && cblas_dasum(m->pose_count * t->rank, t->features, 1) > sn_least_motion;
  }
  return status;
}

sn_status sn_terms_make(sn_context *ctx, sn_arena *memory, const sn_residuals *m, const int *controls,
                        int control_count, sn_term_list *out) {
  *out = (sn_term_list){.groups = SN_NEW(ctx, memory, sn_terms, 4 * control_count)};
  sn_status status = out->groups ? SN_OK : ctx->error.status;
  for (int k = 0; status == SN_OK && k < control_count; k++) {
    bool joint = controls[k] < m->joint_count;
    int parent = joint ? sn_terms_parent(m, controls[k]) : -1;
    bool paired = parent >= 0 && is_control(controls, control_count, parent);
    sn_terms *t = out->groups + out->count;
    t[0] = t[1] = t[2] = (sn_terms){.a = controls[k], .b = paired ? parent : -1, .owner = k};
    status = (joint ? make_polynomial : make_value)(ctx, memory, m, t);
    if (status == SN_OK && joint) status = make_gaussians(ctx, memory, m, t + 1);
    if (status == SN_OK && paired) status = make_product(ctx, memory, m, t + 2);
    out->count += 1 + joint + paired;
  }
  return status == SN_OK ? add_hidden(ctx, memory, m, controls, control_count, out) : status;
}

void sn_terms_mix(const sn_terms *t, const double *weights, double *mix) {
  if (t->kind != SN_RT_TERMS_GAUSS) {
    for (int k = 0; k < t->count; k++) mix[k] = scale_of(t, k) * weights[k];
    return;
  }
  static const double rest[3] = {0, 0, 0};
  int rank = t->rank;
  for (int r = rank - 1; r >= 0; r--) { // solves L^T mix = weights
    mix[r] = weights[r];
    for (int k = r + 1; k < rank; k++) mix[r] -= t->corner[k * rank + r] * mix[k];
    mix[r] /= t->corner[r * rank + r];
  }
  mix[rank] = 0;
  for (int r = 0; r < rank; r++) {
    mix[r] *= t->scale * sn_usual_width * sn_usual_width;
    mix[rank] -= mix[r] * gauss(t->centres + 3 * r, rest);
  }
}
