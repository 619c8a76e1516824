// SPDX-License-Identifier: MIT
// From control points to the numbers of the bones: the two-layer regression of Kim 2010 (sections 3.2 and 3.3), collapsed to
// one matrix M per bone.
#include "train/affine/affine.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#include "solve/kcca.h"
#include "solve/solve.h"

enum { SN_CONTROL_OUTPUTS = 4 + 6 + 3, SN_CONTROL_COMPONENTS = 2 * SN_KCCA_OUTPUTS };

// The numbers of one bone at the training frames as the regression needs them, in the basis of the kernel matrix.
typedef struct sn_control_moments {
  double mean[SN_CONTROL_OUTPUTS];
  double *x;                                            // frames * outputs: the centred numbers X
  double gram[SN_CONTROL_OUTPUTS * SN_CONTROL_OUTPUTS]; // X^T X, `outputs` apart
  double *y;                                            // rank * outputs: Q^T X
} sn_control_moments;

// What is learnt: numbers = mean + sum_p effect_p (forward_p . t), t = Q^T (xi - mean of the kernel).
typedef struct sn_control_map {
  int components;
  double *forward; // components * rank
  double effect[SN_CONTROL_COMPONENTS][SN_CONTROL_OUTPUTS];
} sn_control_map;

// Room for regressions on up to `frames` frames; one per thread.
typedef struct sn_control_space {
  sn_kcca kcca;
  sn_control_moments moments, left; // of the bone, and what a layer leaves of them
  sn_control_map map;
} sn_control_space;

// Ridges and floors of this part of a mean: against rounding. The analysis as printed has none.
static const double rounding = 1e-7;

double sn_control_width(const sn_control_data *data) {
  int numbers = 3 * data->control_count, frames = data->bones->frames;
  double sum = 0;
  if (data->options->published) return data->options->beta;
  for (int n = 0; n < numbers; n++) { // twice the variance is the mean squared distance over all pairs, own included
    double mean = 0;
    for (int f = 0; f < frames; f++) mean += data->controls[(size_t)f * (size_t)numbers + (size_t)n] / frames;
    for (int f = 0; f < frames; f++) {
      double d = data->controls[(size_t)f * (size_t)numbers + (size_t)n] - mean;
      sum += 2 * d * d / (frames > 1 ? frames - 1 : 1);
    }
  }
  return data->options->beta * (sum > 1e-30 ? sum : 1);
}

// k(c, c') - 1, which keeps its digits for wide kernels.
static double kernel(const double *a, const double *b, int numbers, double width) {
  return expm1(-sn_squared_distance(numbers, a, b) / width);
}

static void fill_kernel(const sn_control_data *data, double *out) {
  size_t numbers = 3 * (size_t)data->control_count, frames = (size_t)data->bones->frames;
  double width = sn_control_width(data);
  for (size_t n = 0; n < frames * frames; n++)
    out[n] =
      kernel(data->controls + n / frames * numbers, data->controls + n % frames * numbers, (int)numbers, width);
}

// ---- one bone -------------------------------------------------------------------------------------------------------

static sn_status space_new(sn_context *ctx, sn_arena *memory, int frames, int outputs, sn_control_space *out) {
  size_t numbers = (size_t)frames * (size_t)outputs;
  out->moments.y = SN_NEW(ctx, memory, double, numbers), out->left.y = SN_NEW(ctx, memory, double, numbers);
  out->moments.x = SN_NEW(ctx, memory, double, numbers), out->left.x = SN_NEW(ctx, memory, double, numbers);
  out->map.forward = SN_NEW(ctx, memory, double, SN_CONTROL_COMPONENTS *(size_t)frames);
  out->kcca.forward = SN_NEW(ctx, memory, double, SN_KCCA_OUTPUTS *(size_t)frames);
  bool ready =
    out->moments.y && out->left.y && out->moments.x && out->left.x && out->map.forward && out->kcca.forward;
  return ready ? SN_OK : ctx->error.status;
}

// X^T X
static void fill_gram(const double *x, int frames, int outputs, double *gram) {
  memset(gram, 0, (size_t)outputs * (size_t)outputs * sizeof *gram);
  for (int f = 0; f < frames; f++) {
    const double *row = x + (size_t)f * (size_t)outputs;
    for (int p = 0; p < outputs; p++)
      for (int q = 0; q < outputs; q++) gram[p * outputs + q] += row[p] * row[q];
  }
}

static void moments_of(const sn_kcca_basis *basis, const double *numbers, int outputs, sn_control_space *space) {
  sn_control_moments *m = &space->moments;
  int frames = basis->frames;
  memset(m->mean, 0, sizeof m->mean);
  for (int f = 0; f < frames; f++)
    for (int o = 0; o < outputs; o++) m->mean[o] += numbers[f * outputs + o] / frames;
  for (int n = 0; n < frames * outputs; n++) m->x[n] = numbers[n] - m->mean[n % outputs];
  fill_gram(m->x, frames, outputs, m->gram);
  sn_kcca_project(basis, m->x, outputs, m->y);
}

// rows -= (rows g) h for the outputs that the next layer is about: what the m reduced outputs explain.
static void take_off(const sn_kcca *k, double h[SN_KCCA_OUTPUTS][SN_CONTROL_OUTPUTS], double *rows, int count,
                     int outputs, int m) {
  for (int r = 0; r < count; r++) {
    double *row = rows + (size_t)r * (size_t)outputs;
    for (int p = 0; p < k->components; p++) {
      double reduced = 0;
      for (int l = 0; l < m; l++) reduced += row[l] * k->g[p][l];
      for (int o = m; o < outputs; o++) row[o] -= reduced * h[p][o];
    }
  }
}

// One layer for the outputs from `first` on: the analysis took the `m` of them that begin there. With the reduced outputs
// Q_r = X g, H = (Q_r^T Q_r)^-1 Q_r^T X, all from the covariances; what Q_r explains is taken off `left`.
//
// B_c is the regression of the reduced outputs on the reduced inputs with the same ridge as the analysis itself:
// minimising |B C_r - Q_r|^2 + ridge |B F_c^T|_K^2 gives B = Q_r C_r^T (F_c^T (K^2 + ridge K) F_c)^-1 = diag(correlations).
// (Plain least squares would undo the ridge as soon as there are as many components as frames.)
static void add_layer(int frames, int rank, int outputs, int first, int m, sn_control_space *s) {
  const sn_kcca *k = &s->kcca;
  const sn_control_moments *left = &s->left;
  double cross[SN_KCCA_OUTPUTS][SN_CONTROL_OUTPUTS] = {{0}}, h[SN_KCCA_OUTPUTS][SN_CONTROL_OUTPUTS];
  double own[SN_KCCA_OUTPUTS][SN_KCCA_OUTPUTS] = {{0}}, factor[SN_KCCA_OUTPUTS][SN_KCCA_OUTPUTS], trace = 0;
  for (int p = 0; p < k->components; p++) {
    for (int l = 0; l < m; l++)
      for (int o = 0; o < outputs; o++) cross[p][o] += k->g[p][l] * left->gram[(first + l) * outputs + o];
    for (int q = 0; q < k->components; q++)
      for (int l = 0; l < m; l++) own[p][q] += cross[p][first + l] * k->g[q][l];
    trace += own[p][p];
  }
  memcpy(h, cross, sizeof h), memcpy(factor, own, sizeof factor);
  for (int p = 0; p < k->components; p++) factor[p][p] += 1e-12 * trace + 1e-300;
  sn_spd_solve(k->components, SN_KCCA_OUTPUTS, factor[0], SN_CONTROL_OUTPUTS, h[0]); // H_q, H_w
  for (int p = 0; p < k->components; p++) {
    double *effect = s->map.effect[s->map.components + p];
    for (int o = 0; o < outputs; o++) effect[o] = o < first ? 0 : h[p][o] * k->correlation[p];
  }
  memcpy(s->map.forward + (size_t)s->map.components * (size_t)rank, k->forward,
         (size_t)k->components * (size_t)rank * sizeof(double));
  s->map.components += k->components;
  if (first + m == outputs) return;
  take_off(k, h, s->left.y, rank, outputs, m);
  take_off(k, h, s->left.x, frames, outputs, m);
}

// Variance below which an output is noise.
static double variance_floor(const double *gram, int frames, int outputs, int first, int count) {
  double sum = 0;
  for (int o = first; o < first + count; o++) sum += fmax(gram[o * outputs + o], 0);
  return rounding * sum / count + 1e-10 * frames;
}

// Mean eigenvalue of the centred kernel matrix: what the ridge is relative to.
static double mean_value(const sn_kcca_basis *basis) {
  double sum = 0;
  for (int k = 0; k < basis->rank; k++) sum += basis->values[k];
  return basis->frames > 0 ? sum / basis->frames : 0;
}

// The first layer correlates control points with rotations (with dual quaternions, where those are the whole motion) and
// derives everything from the reduced rotations; what is left of kappa goes to a second one between control points and
// what rotations do not tell about the other numbers.
static void reduce(const sn_kcca_basis *basis, const sn_affine_options *options, int outputs, sn_control_space *s) {
  int kappa = options->kappa, rotation = sn_control_dual(options) ? outputs : 4, others = outputs - rotation;
  double scaled = rounding * mean_value(basis);
  sn_control_moments *left = &s->left;
  memcpy(left->gram, s->moments.gram, sizeof left->gram);
  memcpy(left->y, s->moments.y, (size_t)basis->rank * (size_t)outputs * sizeof *left->y);
  memcpy(left->x, s->moments.x, (size_t)basis->frames * (size_t)outputs * sizeof *left->x);
  s->map.components = 0;
  sn_kcca_outputs x = {rotation, outputs, left->y, left->gram,
                       variance_floor(left->gram, basis->frames, outputs, 0, rotation)};
  sn_kcca_solve(basis, &x, scaled, kappa, &s->kcca);
  add_layer(basis->frames, basis->rank, outputs, 0, rotation, s);
  if (s->map.components >= kappa || others == 0) return;
  fill_gram(left->x, basis->frames, outputs, left->gram);
  x = (sn_kcca_outputs){others, outputs, left->y + rotation, left->gram + rotation * outputs + rotation,
                        variance_floor(left->gram, basis->frames, outputs, rotation, others)};
  sn_kcca_solve(basis, &x, scaled, kappa - s->map.components, &s->kcca);
  add_layer(basis->frames, basis->rank, outputs, rotation, others, s);
}

// ---- all bones ------------------------------------------------------------------------------------------------------

typedef struct predict_job {
  const sn_control_data *data;
  const sn_kcca_basis *basis;
  sn_control_space *spaces; // per worker
  double *out;
} predict_job;

// M of one bone, outputs rows of frames + 1: d = mean + M (xi - mean of the kernel).
static void store_bone(const sn_kcca_basis *basis, int outputs, const sn_control_space *s, double *map) {
  int frames = basis->frames;
  for (int o = 0; o < outputs; o++) {
    double *row = map + (size_t)o * (size_t)(frames + 1), constant = s->moments.mean[o];
    memset(row, 0, (size_t)frames * sizeof *row);
    for (int r = 0; r < basis->rank; r++) {
      double sum = 0;
      for (int p = 0; p < s->map.components; p++)
        sum += s->map.effect[p][o] * s->map.forward[(size_t)p * (size_t)basis->rank + (size_t)r];
      cblas_daxpy(frames, sum, basis->vectors + (size_t)r * (size_t)frames, 1, row, 1);
    }
    for (int f = 0; f < frames; f++) constant -= row[f] * basis->mean[f];
    row[frames] = constant;
  }
}

static void predict_range(void *user, int64_t begin, int64_t end, int worker) {
  const predict_job *job = user;
  size_t frames = (size_t)job->basis->frames, outputs = (size_t)job->data->outputs;
  sn_control_space *s = &job->spaces[worker];
  for (int64_t b = begin; b < end; b++) {
    moments_of(job->basis, job->data->numbers + (size_t)b * frames * outputs, (int)outputs, s);
    reduce(job->basis, job->data->options, (int)outputs, s);
    store_bone(job->basis, (int)outputs, s, job->out + (size_t)b * outputs * (frames + 1));
  }
}

sn_status sn_control_predictor(sn_context *ctx, const sn_control_data *data, double *out) {
  sn_arena scratch = sn_arena_new(ctx);
  int frames = data->bones->frames;
  double *k = SN_NEW(ctx, &scratch, double, (size_t)frames *(size_t)frames);
  sn_control_space *spaces = SN_NEW(ctx, &scratch, sn_control_space, sn_threads(ctx));
  sn_kcca_basis basis = {0};
  sn_status status = k && spaces ? SN_OK : ctx->error.status;
  for (int t = 0; status == SN_OK && t < sn_threads(ctx); t++) {
    status = space_new(ctx, &scratch, frames, data->outputs, &spaces[t]);
  }
  if (status == SN_OK) {
    fill_kernel(data, k);
    status = sn_kcca_basis_make(ctx, &scratch, frames, k, &basis);
  }
  if (status == SN_OK) {
    predict_job job = {data, &basis, spaces, out};
    sn_parallel_for(ctx, data->bones->bones, 4, predict_range, &job);
  }
  sn_arena_free(&scratch);
  return status;
}
