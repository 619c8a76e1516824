// SPDX-License-Identifier: MIT
// From control points to the numbers of the bones: the two-layer regression of Kim 2010 (sections 3.2 and 3.3), collapsed to
// one matrix M per bone; and the choice of its parameters by leaving out training frames.
#include "train/affine.h"

#include <math.h>
#include <string.h>

#include "solve/kcca.h"

double sn_affine_spread(const double *controls, int numbers, int frames) {
  double sum = 0;
  for (int n = 0; n < numbers; n++) { // twice the variance is the mean squared distance over all pairs, own included
    double mean = 0;
    for (int f = 0; f < frames; f++) mean += controls[(size_t)f * (size_t)numbers + (size_t)n] / frames;
    for (int f = 0; f < frames; f++) {
      double d = controls[(size_t)f * (size_t)numbers + (size_t)n] - mean;
      sum += 2 * d * d / (frames > 1 ? frames - 1 : 1);
    }
  }
  return sum > 1e-30 ? sum : 1;
}

// k(c, c') - 1, which keeps its digits for wide kernels.
static double kernel(const double *a, const double *b, int numbers, double width) {
  double sum = 0;
  for (int n = 0; n < numbers; n++) sum += (a[n] - b[n]) * (a[n] - b[n]);
  return expm1(-sum / width);
}

// ---- one bone ----------------------------------------------------------------------------------------------------------

// What the regressions of one thread work with.
typedef struct workspace {
  sn_kcca kcca;
  double *numbers; // frames * outputs, centred; then what the layers leave
  double mean[16];
  int components;
  double *kernel; // components * frames
  double *effect; // components * outputs
} workspace;

static sn_status new_workspace(sn_context *ctx, sn_arena *memory, int frames, int outputs, workspace *out) {
  out->numbers = SN_NEW(ctx, memory, double, (size_t)frames *(size_t)outputs);
  out->kernel = SN_NEW(ctx, memory, double, 2 * SN_KCCA_OUTPUTS * (size_t)frames);
  out->effect = SN_NEW(ctx, memory, double, 2 * SN_KCCA_OUTPUTS * (size_t)outputs);
  sn_status status = sn_kcca_new(ctx, memory, frames, &out->kcca);
  return out->numbers && out->kernel && out->effect ? status : ctx->error.status;
}

static double dot(const double *a, const double *b, int count) {
  double sum = 0;
  for (int n = 0; n < count; n++) sum += a[n] * b[n];
  return sum;
}

// x <- A^-1 x for a small symmetric positive definite A (count x count), by Cholesky; destroys a.
static void solve_small(int count, double a[SN_KCCA_OUTPUTS][SN_KCCA_OUTPUTS], double *x) {
  for (int j = 0; j < count; j++) {
    for (int k = 0; k < j; k++) a[j][j] -= a[j][k] * a[j][k];
    a[j][j] = sqrt(fmax(a[j][j], 1e-300));
    for (int i = j + 1; i < count; i++) {
      for (int k = 0; k < j; k++) a[i][j] -= a[i][k] * a[j][k];
      a[i][j] /= a[j][j];
    }
  }
  for (int i = 0; i < count; i++) {
    for (int k = 0; k < i; k++) x[i] -= a[i][k] * x[k];
    x[i] /= a[i][i];
  }
  for (int i = count - 1; i >= 0; i--) {
    for (int k = i + 1; k < count; k++) x[i] -= a[k][i] * x[k];
    x[i] /= a[i][i];
  }
}

// Row vector `y` of length frames regressed on the rows of `z`: coefficients in out. A touch of a ridge, relative.
static void regress(const double *z, int components, int frames, const double *y, int stride, double *out) {
  double a[SN_KCCA_OUTPUTS][SN_KCCA_OUTPUTS], trace = 0;
  for (int p = 0; p < components; p++) {
    const double *row = z + (size_t)p * (size_t)frames;
    for (int q = 0; q <= p; q++) a[p][q] = dot(row, z + (size_t)q * (size_t)frames, frames);
    out[p] = 0;
    for (int f = 0; f < frames; f++) out[p] += row[f] * y[(size_t)f * (size_t)stride];
    trace += a[p][p];
  }
  for (int p = 0; p < components; p++) a[p][p] += 1e-12 * trace + 1e-300;
  solve_small(components, a, out);
}

// B_c is the regression of the reduced outputs on the reduced inputs with the same ridge as the analysis itself:
// minimising |B C_r - Q_r|^2 + ridge |B F_c^T|_K^2 gives B = Q_r C_r^T (F_c^T (K^2 + ridge K) F_c)^-1 = diag(correlations).
// (Plain least squares would undo the ridge as soon as there are as many components as frames.)
//
// Adds the components of w->kcca, H B_c F_c^T by columns, for outputs first .. first + count - 1: coefficients of the kernel
// vector to w->kernel, of the outputs to w->effect. The part of the numbers that the reduced outputs explain is taken off.
static void add_layer(workspace *w, int frames, int outputs, int first, int count) {
  const sn_kcca *k = &w->kcca;
  for (int p = 0; p < k->components; p++) {
    double *effect = w->effect + (size_t)(w->components + p) * (size_t)outputs;
    memset(effect, 0, (size_t)outputs * sizeof *effect);
    memcpy(w->kernel + (size_t)(w->components + p) * (size_t)frames, k->f + (size_t)p * (size_t)frames,
           (size_t)frames * sizeof *w->kernel);
  }
  for (int o = first; o < first + count; o++) {
    double h[SN_KCCA_OUTPUTS];
    regress(k->q, k->components, frames, w->numbers + o, outputs, h); // H_q, H_w
    for (int p = 0; p < k->components; p++) {
      const double *reduced = k->q + (size_t)p * (size_t)frames;
      for (int f = 0; f < frames; f++) w->numbers[(size_t)f * (size_t)outputs + (size_t)o] -= h[p] * reduced[f];
      w->effect[(size_t)(w->components + p) * (size_t)outputs + (size_t)o] = h[p] * k->correlation[p];
    }
  }
  w->components += k->components;
}

// Variance below which an output is noise: about 1e-5 of a unit quaternion or stretch.
static double variance_floor(const double *numbers, int frames, int outputs, int first, int count) {
  double sum = 0;
  for (int f = 0; f < frames; f++)
    for (int o = first; o < first + count; o++)
      sum += numbers[(size_t)f * (size_t)outputs + (size_t)o] * numbers[(size_t)f * (size_t)outputs + (size_t)o];
  return 1e-6 * sum / count + 1e-10 * frames;
}

// The components of one bone, at most `kappa`. The first layer correlates control points with rotations (with dual
// quaternions, where those are the whole motion) and derives everything from the reduced rotations; what is left of
// kappa goes to a second one between control points and what rotations do not tell about the other numbers.
static void reduce_bone(const sn_kcca_basis *basis, const double *numbers, const sn_affine_options *options,
                        int outputs, double ridge, int kappa, workspace *w) {
  int frames = basis->frames, rotation = options->stretch || options->poisson ? 4 : outputs;
  w->components = 0;
  for (int o = 0; o < outputs; o++) {
    w->mean[o] = 0;
    for (int f = 0; f < frames; f++) w->mean[o] += numbers[(size_t)f * (size_t)outputs + (size_t)o] / frames;
    for (int f = 0; f < frames; f++) {
      size_t at = (size_t)f * (size_t)outputs + (size_t)o;
      w->numbers[at] = numbers[at] - w->mean[o];
    }
  }
  double floor = variance_floor(w->numbers, frames, outputs, 0, rotation);
  sn_kcca_solve(basis, w->numbers, rotation, outputs, ridge, floor, kappa, &w->kcca);
  add_layer(w, frames, outputs, 0, outputs);
  if (w->components < kappa && outputs > rotation) {
    int count = outputs - rotation;
    floor = variance_floor(w->numbers, frames, outputs, rotation, count);
    sn_kcca_solve(basis, w->numbers + rotation, count, outputs, ridge, floor, kappa - w->components, &w->kcca);
    add_layer(w, frames, outputs, rotation, count);
  }
}

// M of one bone, outputs rows of frames + 1: d = mean + M (xi - mean of the kernel).
static void predict_bone(const sn_kcca_basis *basis, int outputs, const workspace *w, double *map) {
  int frames = basis->frames;
  for (int o = 0; o < outputs; o++) {
    double *row = map + (size_t)o * (size_t)(frames + 1);
    memset(row, 0, (size_t)frames * sizeof *row);
    for (int p = 0; p < w->components; p++) {
      double effect = w->effect[(size_t)p * (size_t)outputs + (size_t)o];
      for (int f = 0; f < frames; f++) row[f] += effect * w->kernel[(size_t)p * (size_t)frames + (size_t)f];
    }
    row[frames] = w->mean[o] - dot(row, basis->mean, frames);
  }
}

// ---- all bones ------------------------------------------------------------------------------------------------------------

typedef struct predict_job {
  const sn_affine_data *data;
  const sn_kcca_basis *basis;
  const double *numbers; // [bone][basis->frames][outputs]
  double ridge;
  int kappa;
  workspace *workspaces; // per worker
  double *out;
} predict_job;

static void predict_range(void *user, int64_t begin, int64_t end, int worker) {
  const predict_job *job = user;
  size_t frames = (size_t)job->basis->frames, outputs = (size_t)job->data->outputs;
  for (int64_t b = begin; b < end; b++) {
    workspace *w = &job->workspaces[worker];
    reduce_bone(job->basis, job->numbers + (size_t)b * frames * outputs, job->data->options, (int)outputs, job->ridge,
                job->kappa, w);
    predict_bone(job->basis, (int)outputs, w, job->out + (size_t)b * outputs * (frames + 1));
  }
}

static void fill_kernel(const double *controls, int numbers, int frames, double width, double *out) {
  for (int a = 0; a < frames; a++)
    for (int b = 0; b < frames; b++) {
      out[(size_t)a * (size_t)frames + (size_t)b] =
        kernel(controls + (size_t)a * (size_t)numbers, controls + (size_t)b * (size_t)numbers, numbers, width);
    }
}

// Mean eigenvalue of the centred kernel matrix: what `ridge` is relative to.
static double mean_value(const sn_kcca_basis *basis) {
  double sum = 0;
  for (int k = 0; k < basis->rank; k++) sum += basis->values[k];
  return basis->frames > 0 ? sum / basis->frames : 0;
}

sn_status sn_affine_predictor(sn_context *ctx, const sn_affine_data *data, const sn_affine_choice *choice,
                              double *out) {
  sn_arena scratch = sn_arena_new(ctx);
  int frames = data->bones->frames, numbers = 3 * data->control_count;
  double *k = SN_NEW(ctx, &scratch, double, (size_t)frames *(size_t)frames);
  workspace *workspaces = SN_NEW(ctx, &scratch, workspace, sn_threads(ctx));
  sn_kcca_basis basis = {0};
  sn_status status = k && workspaces ? SN_OK : ctx->error.status;
  for (int t = 0; status == SN_OK && t < sn_threads(ctx); t++) {
    status = new_workspace(ctx, &scratch, frames, data->outputs, &workspaces[t]);
  }
  if (status == SN_OK) {
    fill_kernel(data->inputs, numbers, frames, choice->beta * sn_affine_spread(data->inputs, numbers, frames), k);
    status = sn_kcca_basis_make(ctx, &scratch, frames, k, &basis);
  }
  if (status == SN_OK) {
    predict_job job = {.data = data,
                       .basis = &basis,
                       .numbers = data->numbers,
                       .ridge = choice->ridge * mean_value(&basis),
                       .kappa = choice->kappa,
                       .workspaces = workspaces,
                       .out = out};
    sn_parallel_for(ctx, data->bones->bones, 4, predict_range, &job);
  }
  sn_arena_free(&scratch);
  return status;
}

// ---- leaving out frames ---------------------------------------------------------------------------------------------------

enum { most_folds = 12, most_samples = 250 };

static const double betas[] = {1, 4, 16, 64}, ridges[] = {1e-1, 1e-2, 1e-3, 1e-5, 1e-7};
static const int kappas[] = {10, 7, 4, 3, 2, 1};
enum { beta_count = 4, ridge_count = 5, kappa_count = 6, choice_count = beta_count * ridge_count * kappa_count };

typedef struct fold_job {
  sn_context *ctx;
  const sn_affine_data *data;
  int fold_count;
  const int *folds;   // training frames to leave out
  const int *samples; // vertices whose error counts
  int sample_count;
  double *errors;      // [fold][choice]
  sn_status *statuses; // per fold
} fold_job;

// Squared error of the sampled vertices at training frame f for the bones' numbers `d`.
static double shape_error(const fold_job *job, int f, const double *d, sn_mat3 *linear, sn_vec3 *places) {
  const sn_affine_data *data = job->data;
  const sn_affine_bones *bones = data->bones;
  int count = bones->bones, columns = 3 * count + data->control_count;
  for (int b = 0; b < count; b++) {
    linear[b] = sn_affine_decode(d + (size_t)b * (size_t)data->outputs, data->options, bones->centres[b], &places[b]);
  }
  const double *controls = data->controls + (size_t)f * 3 * (size_t)data->control_count;
  for (int b = 0; data->solve && b < count; b++) {
    const double *row = data->solve + (size_t)b * (size_t)columns;
    sn_vec3 sum = {0, 0, 0};
    for (int n = 0; n < count; n++)
      for (int k = 0; k < 3; k++) sum = sn_vec3_mad(sum, sn_mat3_column(linear[n], k), row[3 * n + k]);
    for (int c = 0; c < data->control_count; c++) {
      sum =
        sn_vec3_mad(sum, sn_vec3_make(controls[3 * c], controls[3 * c + 1], controls[3 * c + 2]), row[3 * count + c]);
    }
    places[b] = sum;
  }
  double error = 0;
  const float(*truth)[3] = sn_frame(&data->examples->frames, data->keys->frames[f]);
  for (int s = 0; s < job->sample_count; s++) {
    int i = job->samples[s];
    sn_vec3 p = sn_vec3_from(data->examples->rest.positions[i]), sum = sn_vec3_scale(sn_vec3_from(truth[i]), -1);
    for (int k = 0; k < bones->skin.influences; k++) {
      size_t at = (size_t)i * (size_t)bones->skin.influences + (size_t)k;
      int b = bones->skin.joints[at];
      sn_vec3 moved = sn_vec3_add(places[b], sn_mat3_apply(linear[b], sn_vec3_sub(p, bones->centres[b])));
      sum = sn_vec3_mad(sum, moved, (double)bones->skin.weights[at]);
    }
    error += sn_vec3_dot(sum, sum);
  }
  return error;
}

// The training data without frame `out`.
typedef struct fold_data {
  int frames;
  double *controls, *numbers, *kernel, *xi;
  double *d; // [kappa][bone][outputs]
  sn_mat3 *linear;
  sn_vec3 *places;
  workspace space;
} fold_data;

static sn_status new_fold(sn_context *ctx, sn_arena *memory, const sn_affine_data *data, int out, fold_data *fold) {
  int bones = data->bones->bones, frames = data->bones->frames - 1, numbers = 3 * data->control_count;
  size_t outputs = (size_t)data->outputs;
  fold->frames = frames;
  fold->controls = SN_NEW(ctx, memory, double, (size_t)frames *(size_t)numbers);
  fold->numbers = SN_NEW(ctx, memory, double, (size_t)bones *(size_t)frames *outputs);
  fold->kernel = SN_NEW(ctx, memory, double, (size_t)frames *(size_t)frames);
  fold->xi = SN_NEW(ctx, memory, double, frames);
  fold->d = SN_NEW(ctx, memory, double, kappa_count *(size_t)bones *outputs);
  fold->linear = SN_NEW(ctx, memory, sn_mat3, bones);
  fold->places = SN_NEW(ctx, memory, sn_vec3, bones);
  sn_status status = new_workspace(ctx, memory, frames, data->outputs, &fold->space);
  if (status != SN_OK || !fold->controls || !fold->numbers || !fold->kernel || !fold->xi || !fold->d ||
      !fold->linear || !fold->places)
    return ctx->error.status;
  for (int f = 0, to = 0; f < data->bones->frames; f++) {
    if (f == out) continue;
    memcpy(fold->controls + (size_t)to * (size_t)numbers, data->inputs + (size_t)f * (size_t)numbers,
           (size_t)numbers * sizeof(double));
    for (int b = 0; b < bones; b++) {
      memcpy(fold->numbers + ((size_t)b * (size_t)frames + (size_t)to) * outputs,
             data->numbers + ((size_t)b * (size_t)data->bones->frames + (size_t)f) * outputs,
             outputs * sizeof(double));
    }
    to++;
  }
  return SN_OK;
}

// The numbers of all bones at the frame left out, for every number of dimensions of the table.
static void fold_numbers(const fold_job *job, const sn_kcca_basis *basis, double ridge, fold_data *fold) {
  const sn_affine_data *data = job->data;
  int outputs = data->outputs, bones = data->bones->bones, wanted = data->options->kappa;
  workspace *w = &fold->space;
  for (int b = 0; b < bones; b++) {
    const double *numbers = fold->numbers + (size_t)b * (size_t)fold->frames * (size_t)outputs;
    reduce_bone(basis, numbers, data->options, outputs, ridge, wanted > 0 ? wanted : kappas[0], w);
    for (int k = 0; k < kappa_count; k++) {
      double *d = fold->d + ((size_t)k * (size_t)bones + (size_t)b) * (size_t)outputs;
      memcpy(d, w->mean, (size_t)outputs * sizeof *d);
      for (int p = 0; p < w->components && (wanted > 0 || p < kappas[k]); p++) {
        const double *kernel_row = w->kernel + (size_t)p * (size_t)fold->frames;
        double reduced = dot(kernel_row, fold->xi, fold->frames) - dot(kernel_row, basis->mean, fold->frames);
        for (int o = 0; o < outputs; o++) d[o] += reduced * w->effect[p * outputs + o];
      }
    }
  }
}

static sn_status run_fold(sn_context *ctx, sn_arena *memory, const fold_job *job, int index) {
  const sn_affine_data *data = job->data;
  int out = job->folds[index], numbers = 3 * data->control_count;
  fold_data fold = {0};
  sn_status status = new_fold(ctx, memory, data, out, &fold);
  for (int p = 0; p < beta_count && status == SN_OK; p++) {
    double beta = data->options->beta > 0 ? data->options->beta : betas[p];
    double width = beta * sn_affine_spread(fold.controls, numbers, fold.frames);
    sn_kcca_basis basis;
    fill_kernel(fold.controls, numbers, fold.frames, width, fold.kernel);
    status = sn_kcca_basis_make(ctx, memory, fold.frames, fold.kernel, &basis);
    for (int f = 0; f < fold.frames; f++) {
      fold.xi[f] = kernel(data->inputs + (size_t)out * (size_t)numbers, fold.controls + (size_t)f * (size_t)numbers,
                          numbers, width);
    }
    for (int q = 0; q < ridge_count && status == SN_OK; q++) {
      double *to = job->errors + (size_t)index * choice_count + (p * ridge_count + q) * kappa_count;
      bool same_beta = p > 0 && data->options->beta > 0;
      if (!same_beta) fold_numbers(job, &basis, ridges[q] * mean_value(&basis), &fold);
      for (int k = 0; k < kappa_count; k++) {
        const double *d = fold.d + (size_t)k * (size_t)data->bones->bones * (size_t)data->outputs;
        bool same = same_beta || (k > 0 && data->options->kappa > 0);
        to[k] = same ? INFINITY : shape_error(job, out, d, fold.linear, fold.places);
      }
    }
  }
  return status;
}

static void run_folds(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const fold_job *job = user;
  for (int64_t n = begin; n < end; n++) {
    sn_context ctx = *job->ctx; // messages of its own
    sn_arena memory = sn_arena_new(&ctx);
    job->statuses[n] = run_fold(&ctx, &memory, job, (int)n);
    sn_arena_free(&memory);
  }
}

static sn_affine_choice choice_at(const sn_affine_options *options, int index) {
  return (sn_affine_choice){options->kappa > 0 ? options->kappa : kappas[index % kappa_count],
                            options->beta > 0 ? options->beta : betas[index / kappa_count / ridge_count],
                            ridges[index / kappa_count % ridge_count], 0};
}

sn_status sn_affine_choose(sn_context *ctx, const sn_affine_data *data, sn_affine_choice *out) {
  int frames = data->bones->frames, vertices = data->examples->rest.vertex_count;
  int folds = frames < most_folds ? frames : most_folds, samples = vertices < most_samples ? vertices : most_samples;
  *out = choice_at(data->options, (1 * ridge_count + 2) * kappa_count);
  bool whole = data->options->kappa > 0 && data->options->kappa >= frames - 1; // nothing is to be left out
  if (whole) out->ridge = ridges[ridge_count - 1];
  if (frames < 3) return SN_OK;
  sn_arena scratch = sn_arena_new(ctx);
  int *fold = SN_NEW(ctx, &scratch, int, folds), *sample = SN_NEW(ctx, &scratch, int, samples);
  fold_job job = {ctx, data, folds, fold, sample, samples, NULL, NULL};
  job.errors = SN_NEW(ctx, &scratch, double, (size_t)folds *choice_count);
  job.statuses = SN_NEW(ctx, &scratch, sn_status, folds);
  sn_status status = fold && sample && job.errors && job.statuses ? SN_OK : ctx->error.status;
  if (status == SN_OK) {
    for (int n = 0; n < folds; n++) fold[n] = (int)((int64_t)n * frames / folds);
    for (int n = 0; n < samples; n++) sample[n] = (int)((int64_t)n * vertices / samples);
    sn_parallel_for(ctx, folds, 1, run_folds, &job);
  }
  for (int n = 0; n < folds && status == SN_OK; n++) {
    status = job.statuses[n];
    if (status != SN_OK) sn_fail(ctx, status, "affine: out of memory while leaving out training frames");
  }
  // The first in the order of the tables (narrow kernels, strong ridges, many dimensions) that is hardly worse than the
  // best: with few frames to leave out the differences are noise, and the wilder choices extrapolate badly.
  double least = INFINITY, *total = job.errors;
  for (int c = 0; c < choice_count && status == SN_OK; c++) {
    for (int n = 1; n < folds; n++) total[c] += job.errors[(size_t)n * choice_count + (size_t)c];
    least = fmin(least, total[c]);
  }
  for (int c = choice_count - 1; c >= 0 && status == SN_OK; c--) {
    if (total[c] > SN_AFFINE_TOLERANCE * least) continue;
    *out = choice_at(data->options, c);
    out->error = total[c];
  }
  if (whole) out->ridge = ridges[ridge_count - 1];
  sn_arena_free(&scratch);
  return status;
}
