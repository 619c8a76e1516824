// SPDX-License-Identifier: MIT
// Reads the torques of the training poses; fits functions of one torque.
#include "train/rotreg/torque.h"

#include <string.h>

#include "solve/solve.h"

static void read_joint(const sn_examples *e, const sn_keys *keys, int j, sn_torque_loads *out) {
  double low = INFINITY, high = -INFINITY;
  for (int k = 0; k < keys->count; k++) {
    low = fmin(low, sn_torque(&e->torques, keys->frames[k], j)),
    high = fmax(high, sn_torque(&e->torques, keys->frames[k], j));
  }
  // The model stores the range in floats: a range that is empty in floats is ignored.
  if (!((float)high > (float)low)) return;
  out->range[j][0] = low, out->range[j][1] = high;
  for (int k = 0; k < keys->count; k++) {
    out->x[(size_t)k * (size_t)out->joint_count + (size_t)j] =
      (sn_torque(&e->torques, keys->frames[k], j) - low) / (high - low);
  }
}

sn_status sn_torque_loads_read(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                               const sn_torque_options *options, sn_torque_loads *out) {
  const char *only = options->joint;
  const sn_torques *torques = &examples->torques;
  int joint_count = examples->skeleton.joint_count, chosen = *only ? sn_skeleton_find(&examples->skeleton, only) : -1;
  *out = (sn_torque_loads){.joint_count = joint_count, .pose_count = keys->count};
  out->degree_r = options->degree_r, out->degree_s = options->degree_s;
  if (!torques->values) {
    return sn_fail(ctx, SN_BAD_INPUT, "there are no torques to learn from: give `torque` FILE.csv");
  }
  if (*only && chosen < 0)
    return sn_fail(ctx, SN_BAD_INPUT, "joint=%s: the skeleton has no joint of that name", only);
  if (*only && !torques->has[chosen]) {
    return sn_fail(ctx, SN_BAD_INPUT, "joint=%s: the torques have no column for that joint", only);
  }
  out->range = sn_arena_alloc(ctx, memory, (size_t)joint_count, sizeof *out->range);
  out->x = SN_NEW(ctx, memory, double, (size_t)joint_count *(size_t)keys->count);
  if (!out->range || !out->x) return ctx->error.status;
  bool any = false;
  for (int j = 0; j < joint_count; j++) {
    if (torques->has[j] && (chosen < 0 || j == chosen)) read_joint(examples, keys, j, out);
    any = any || out->range[j][1] > out->range[j][0];
  }
  if (any) return SN_OK;
  return sn_fail(
    ctx, SN_BAD_INPUT,
    "%s%s%sthe torque is the same at all %d training frames, so what it does cannot be learned: add frames "
    "with another load, or use the method rotreg",
    *only ? "joint=" : "", only, *only ? ": " : "", keys->count);
}

void sn_torque_loads_at(const sn_torque_loads *loads, const sn_torques *torques, int frame, double *x) {
  for (int j = 0; j < loads->joint_count; j++) {
    double low = loads->range[j][0], high = loads->range[j][1];
    x[j] = high > low ? fmin(1, fmax(0, (sn_torque(torques, frame, j) - low) / (high - low))) : 0;
  }
}

static double within_unit(double f) { return f > 0 ? (f < 1 ? f : 1) : 0; }
static double powers(const double c[sn_torque_most_degree], double x) { return x * (c[0] + x * (c[1] + x * c[2])); }

void sn_torque_blend(const sn_torque_functions *functions, double x, double out[2]) {
  out[0] = within_unit(functions->offset[0] + powers(functions->rotation, x));
  out[1] = within_unit(functions->offset[1] + powers(functions->shear, x));
}

double sn_torque_fit_polynomial(int count, const double *x, const double *aa, const double *ab, int degree,
                                double c[sn_torque_most_degree]) {
  enum { terms = 1 + sn_torque_most_degree };
  double a[terms][terms] = {{0}}, b[terms] = {0}, span = 0, row[terms] = {1};
  c[0] = 1, c[1] = c[2] = 0;
  for (int i = 0; i < count; i++) span = fmax(span, aa[i]);
  if (!(span > 0)) return 0;
  for (int i = 0; i < count; i++) {
    if (aa[i] < sn_rotreg_rounding * span) continue; // the ends agree: no blending weight
    for (int r = 1; r <= degree; r++) row[r] = row[r - 1] * x[i];
    for (int r = 0; r <= degree; r++) {
      for (int k = 0; k <= r; k++) a[r][k] += row[r] * row[k];
      b[r] += row[r] * ab[i] / aa[i];
    }
  }
  sn_spd_solve(1 + degree, terms, a[0], 1, b);
  for (int k = 0; k < degree; k++) c[k] = b[1 + k];
  return b[0];
}

// f = x + x (1 - x) (g0 + g1 x) satisfies f(0) = 0 and f(1) = 1; g by least squares.
void sn_torque_fit_function(int count, const double *x, const double *aa, const double *ab, int degree,
                            double c[sn_torque_most_degree]) {
  double m[2][2] = {{0}}, b[2] = {0, 0}, g[2] = {0, 0}, all = 0;
  for (int i = 0; i < count; i++) {
    double bow = x[i] * (1 - x[i]), left = ab[i] - x[i] * aa[i]; // a . (b - x a)
    const double basis[2] = {bow, bow * x[i]};
    for (int r = 0; r < 2; r++) {
      for (int k = 0; k < 2; k++) m[r][k] += basis[r] * basis[k] * aa[i];
      b[r] += basis[r] * left;
    }
    all += aa[i];
  }
  c[0] = 1, c[1] = c[2] = 0;
  if (!(all > 0)) return;                  // the two ends agree everywhere
  double ridge = sn_rotreg_rounding * all; // g is zero where the examples do not determine it
  m[0][0] += ridge, m[1][1] += ridge;
  if (degree == 2) g[0] = b[0] / m[0][0];
  if (degree >= 3) {
    double det = m[0][0] * m[1][1] - m[0][1] * m[1][0];
    g[0] = (b[0] * m[1][1] - b[1] * m[0][1]) / det, g[1] = (b[1] * m[0][0] - b[0] * m[1][0]) / det;
  }
  c[0] = 1 + g[0], c[1] = g[1] - g[0], c[2] = -g[1];
}
