// SPDX-License-Identifier: MIT
// From control points c to the numbers d of the bones: the two-layer regression of Kim 2010 (3.2, 3.3, appendix),
// collapsed to one matrix M per bone.
#include "train/affine/affine.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#include "base/scope.h"
#include "solve/kcca.h"
#include "solve/solve.h"

enum { SN_CONTROL_OUTPUTS = SN_KCCA_OUTPUTS };

// Outputs X of one bone at the training frames, in the eigenbasis of the kernel matrix, and their regression. One per thread.
typedef struct bone_space {
  double mean[SN_CONTROL_OUTPUTS];
  double *x;                                            // frames * outputs: centred
  double gram[SN_CONTROL_OUTPUTS * SN_CONTROL_OUTPUTS]; // X^T X, row stride `outputs`
  double *y;                                            // rank * outputs: Q^T X
  sn_kcca kcca;
  double h[SN_KCCA_OUTPUTS][SN_CONTROL_OUTPUTS]; // one row per reduced output: H_d^T, H_d = [H_q; H_w]
} bone_space;

// Ridges and floors, relative to a mean: only against rounding. The paper has none.
static const double rounding = 1e-7;

double sn_control_width(const sn_control_data *data) {
  int numbers = 3 * data->control_count, frames = data->bones->keys->count;
  double sum = 0;
  if (data->options->published) return data->options->beta;
  for (int n = 0; n < numbers; n++) { // the mean squared distance over all pairs is twice the variance
    double mean = 0;
    for (int f = 0; f < frames; f++) mean += data->controls[(size_t)f * (size_t)numbers + (size_t)n] / frames;
    for (int f = 0; f < frames; f++) {
      double d = data->controls[(size_t)f * (size_t)numbers + (size_t)n] - mean;
      sum += 2 * d * d / (frames > 1 ? frames - 1 : 1);
    }
  }
  return data->options->beta * (sum > 1e-30 ? sum : 1);
}

// k(c, c') - 1 (appendix): expm1 keeps its precision for wide kernels.
static double kernel(const double *a, const double *b, int numbers, double width) {
  return expm1(-sn_squared_distance(numbers, a, b) / width);
}

static void fill_kernel(const sn_control_data *data, double *out) {
  size_t numbers = 3 * (size_t)data->control_count, frames = (size_t)data->bones->keys->count;
  double width = sn_control_width(data);
  for (size_t n = 0; n < frames * frames; n++)
    out[n] =
      kernel(data->controls + n / frames * numbers, data->controls + n % frames * numbers, (int)numbers, width);
}

// ---- one bone -------------------------------------------------------------------------------------------------------

static sn_status space_new(sn_context *ctx, sn_arena *memory, int frames, int outputs, bone_space *out) {
  size_t numbers = (size_t)frames * (size_t)outputs;
  out->x = SN_NEW(ctx, memory, double, numbers), out->y = SN_NEW(ctx, memory, double, numbers);
  out->kcca.forward = SN_NEW(ctx, memory, double, SN_KCCA_OUTPUTS *(size_t)frames);
  return out->x && out->y && out->kcca.forward ? SN_OK : ctx->error.status;
}

static void centre_numbers(const sn_kcca_basis *basis, const double *numbers, int outputs, bone_space *s) {
  int frames = basis->frames;
  memset(s->mean, 0, sizeof s->mean), memset(s->gram, 0, sizeof s->gram);
  for (int n = 0; n < frames * outputs; n++) s->mean[n % outputs] += numbers[n] / frames;
  for (int n = 0; n < frames * outputs; n++) s->x[n] = numbers[n] - s->mean[n % outputs];
  for (int f = 0; f < frames; f++)
    for (int n = 0; n < outputs * outputs; n++)
      s->gram[n] += s->x[f * outputs + n / outputs] * s->x[f * outputs + n % outputs];
  sn_kcca_project(basis, s->x, outputs, s->y);
}

// Kernel CCA of the control points c with the first m outputs (3.2): c_r and q_r. As published these are the rotation q,
// otherwise all outputs.
static void correlate(const sn_kcca_basis *basis, const sn_affine_options *options, int outputs, int m,
                      bone_space *s) {
  double values = 0, variance = 0;
  for (int k = 0; k < basis->rank; k++) values += basis->values[k] / basis->frames;
  for (int o = 0; o < m; o++) variance += fmax(s->gram[o * outputs + o], 0) / m;
  const sn_kcca_outputs x = {m, outputs, s->y, s->gram, rounding * variance + 1e-10 * basis->frames};
  sn_kcca_solve(basis, &x, rounding * values, options->kappa, &s->kcca);
}

// H_q (3.2) and H_w (3.3): ridge regression of q and w on q_r, the rows of Q_r = X G, with the floor of the CCA as its
// ridge. As G^T (X^T X + floor I) G = I, it is simply Q_r^T X.
static void regress_h(int outputs, int m, bone_space *s) {
  memset(s->h, 0, sizeof s->h);
  for (int p = 0; p < s->kcca.components; p++)
    for (int l = 0; l < m; l++)
      for (int o = 0; o < outputs; o++) s->h[p][o] += s->kcca.g[p][l] * s->gram[l * outputs + o];
}

// M = H_d B_c F_c^T (3.3; F_c is printed without ^T), outputs rows of frames + 1 columns: d = mean + M (xi - mean of the kernel).
// B_c (3.2) regresses q_r on c_r with the ridge of the CCA: minimising |B C_r - Q_r|^2 + ridge |B F_c^T|_K^2 gives
// diag(correlations). Plain least squares would undo the ridge if there are as many components as frames.
static void store_m(const sn_kcca_basis *basis, int outputs, const bone_space *s, double *map) {
  int frames = basis->frames;
  for (int o = 0; o < outputs; o++) {
    double *row = map + (size_t)o * (size_t)(frames + 1), constant = s->mean[o];
    memset(row, 0, (size_t)frames * sizeof *row);
    for (int r = 0; r < basis->rank; r++) {
      double sum = 0;
      for (int p = 0; p < s->kcca.components; p++)
        sum += s->h[p][o] * s->kcca.correlation[p] * s->kcca.forward[(size_t)p * (size_t)basis->rank + (size_t)r];
      cblas_daxpy(frames, sum, basis->vectors + (size_t)r * (size_t)frames, 1, row, 1);
    }
    for (int f = 0; f < frames; f++) constant -= row[f] * basis->mean[f];
    row[frames] = constant;
  }
}

// ---- all bones ------------------------------------------------------------------------------------------------------

typedef struct predict_job {
  const sn_control_data *data;
  const sn_kcca_basis *basis;
  bone_space *spaces; // per worker
  double *out;
} predict_job;

static void predict_range(void *user, int64_t begin, int64_t end, int worker) {
  const predict_job *job = user;
  const sn_affine_options *o = job->data->options;
  size_t frames = (size_t)job->basis->frames, outputs = (size_t)job->data->outputs;
  int m = o->published && !sn_control_dual(o) ? 4 : (int)outputs;
  bone_space *s = &job->spaces[worker];
  for (int64_t b = begin; b < end; b++) {
    centre_numbers(job->basis, job->data->numbers + (size_t)b * frames * outputs, (int)outputs, s);
    correlate(job->basis, o, (int)outputs, m, s);
    regress_h((int)outputs, m, s);
    store_m(job->basis, (int)outputs, s, job->out + (size_t)b * outputs * (frames + 1));
  }
}

sn_status sn_control_predictor(sn_context *ctx, const sn_control_data *data, double *out) {
  SN_SCRATCH(scratch, ctx);
  int frames = data->bones->keys->count;
  double *k = SN_NEW(ctx, &scratch, double, (size_t)frames *(size_t)frames);
  bone_space *spaces = SN_NEW(ctx, &scratch, bone_space, sn_threads(ctx));
  sn_kcca_basis basis = {0};
  if (!k || !spaces) return ctx->error.status;
  for (int t = 0; t < sn_threads(ctx); t++) SN_TRY(space_new(ctx, &scratch, frames, data->outputs, &spaces[t]));
  fill_kernel(data, k);
  SN_TRY(sn_kcca_basis_make(ctx, &scratch, frames, k, &basis));
  predict_job job = {data, &basis, spaces, out};
  sn_parallel_for(ctx, data->bones->bone_count, 4, predict_range, &job);
  return SN_OK;
}
