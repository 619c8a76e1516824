// SPDX-License-Identifier: MIT
// `psd`: pose-space deformation on linear or dual-quaternion skinning (Murtagh 2008).
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/correct/psd.h"
#include "train/skin/base.h"

// ---- pose spaces ------------------------------------------------------------------------------------------------------

typedef struct gram_job {
  const float (*deltas)[6];
  int vertex_count, a, b;
} gram_job;

static double gram_sum(void *user, int64_t begin, int64_t end) {
  const gram_job *job = user;
  const float(*x)[6] = job->deltas + (size_t)job->a * (size_t)job->vertex_count;
  const float(*y)[6] = job->deltas + (size_t)job->b * (size_t)job->vertex_count;
  double sum = 0;
  for (int64_t i = begin; i < end; i++)
    for (int c = 0; c < 3; c++) sum += (double)x[i][c] * y[i][c];
  return sum;
}

void sn_residuals_gram(sn_context *ctx, const float (*deltas)[6], int vertex_count, int count, double *gram) {
  for (int a = 0; a < count; a++)
    for (int b = 0; b <= a; b++) {
      gram_job job = {deltas, vertex_count, a, b};
      double sum = sn_parallel_sum(ctx, vertex_count, 4096, gram_sum, &job);
      gram[(size_t)a * (size_t)count + (size_t)b] = gram[(size_t)b * (size_t)count + (size_t)a] = sum;
    }
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(sn_context *ctx, sn_arena *memory, int count, const double *values) {
  double *sorted = SN_NEW(ctx, memory, double, count);
  if (!sorted) return 0;
  memcpy(sorted, values, (size_t)count * sizeof *sorted);
  qsort(sorted, (size_t)count, sizeof *sorted, compare_doubles);
  return sorted[count / 2];
}

// Shepard's power, from which its choice starts: 2.5 and 5 end within 0.3 % of it on the generated arm.
static const double first_power = 3.5;

// Widths to begin with: one for all from the typical distance between neighbours, or each pose's own.
static sn_status first_widths(sn_context *ctx, sn_arena *memory, const sn_correct_options *o, int count, int axes,
                              const double *centres, double *widths) {
  sn_rbf_nearest(count, axes, centres, widths);
  bool own = o->sigma == SN_SIGMA_POSE || (o->kernel == SN_RBF_BSPLINE && o->sigma == SN_SIGMA_AUTO);
  double same = o->sigma > 0                  ? o->sigma
                : o->kernel == SN_RBF_SHEPARD ? first_power
                                              : median(ctx, memory, count, widths);
  if (same == 0) return ctx->error.status;
  for (int k = 0; !own && k < count; k++) widths[k] = same;
  return SN_OK;
}

// Kernel weights are stored in 16 bits: where they are far larger than the displacements they add up to, that shows.
static const double most_amplified = 40;

sn_status sn_field_solve(sn_context *ctx, sn_arena *memory, const sn_correct_options *o, const double *sigmas,
                         const double *gram, sn_pose_field *field, sn_rbf *rbf) {
  int count = field->centre_count, axes = field->metric.axes;
  double *widths = SN_NEW(ctx, memory, double, count);
  *rbf = (sn_rbf){0};
  if (!widths) return ctx->error.status;
  sn_rbf_linear linear = !o->linear ? SN_RBF_NO_LINEAR : o->cardinal ? SN_RBF_LINEAR_TWO_STEP : SN_RBF_LINEAR;
  if (o->kernel == SN_RBF_THINPLATE) linear = SN_RBF_LINEAR;
  const sn_rbf problem = {
    .kernel = o->kernel, .linear = linear, .count = count, .dims = axes, .centres = field->centres, .widths = widths};
  sn_status status = first_widths(ctx, memory, o, count, axes, field->centres, widths);
  if (status == SN_OK && !(o->sigma > 0) && o->kernel != SN_RBF_THINPLATE && count > 1) {
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

sn_status sn_field_make(sn_context *ctx, sn_arena *memory, const sn_correct_options *o, const sn_residuals *m,
                        const int *joints, int joint_count, const int *poses, int count, const double *gram,
                        sn_pose_field *field, sn_rbf *rbf) {
  int dims = sn_controls_dims(m, joints, joint_count);
  *rbf = (sn_rbf){0};
  *field = (sn_pose_field){.joint_count = joint_count, .centre_count = count};
  field->joints = SN_NEW(ctx, memory, int, joint_count);
  double *vectors = SN_NEW(ctx, memory, double, (size_t)count *(size_t)dims);
  double *centres = SN_NEW(ctx, memory, double, (size_t)count *(size_t)dims);
  double *sigmas = m->sigmas ? SN_NEW(ctx, memory, double, count) : NULL;
  if (!field->joints || !vectors || !centres || (m->sigmas && !sigmas)) return ctx->error.status;
  memcpy(field->joints, joints, (size_t)joint_count * sizeof *joints);
  for (int k = 0; k < count; k++)
    sn_controls_vector(m, poses[k], joints, joint_count, vectors + (size_t)k * (size_t)dims);
  sn_status status = sn_pose_metric_make(ctx, memory, o->distance, count, dims, vectors, &field->metric);
  if (status != SN_OK) return status;
  for (int k = 0; k < count; k++) {
    sn_pose_axes(&field->metric, vectors + (size_t)k * (size_t)dims,
                 centres + (size_t)k * (size_t)field->metric.axes);
    if (sigmas) sigmas[k] = m->sigmas[poses[k]];
  }
  field->centres = centres;
  return sn_field_solve(ctx, memory, o, sigmas, gram, field, rbf);
}

static bool any_delta(const float (*deltas)[6], int count) {
  for (int i = 0; i < count; i++)
    for (int c = 0; c < 6; c++)
      if (deltas[i][c] != 0) return true;
  return false;
}

// One basis per pose that has something to correct: its displacements, times its cardinal function.
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

// One basis per term: kernel weights of every vertex, c = mix^T f (Murtagh 2008, eq. 2.5).
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

sn_status sn_psd_fields(sn_context *ctx, sn_arena *memory, const sn_correct_options *options, const sn_residuals *m,
                        const int *joints, int joint_count, sn_corrections *out) {
  *out = (sn_corrections){.field_count = 1, .vertex_count = m->vertex_count};
  out->fields = SN_NEW(ctx, memory, sn_pose_field, 1);
  int *poses = SN_NEW(ctx, memory, int, m->pose_count);
  double *gram = SN_NEW(ctx, memory, double, (size_t)m->pose_count *(size_t)m->pose_count);
  if (!out->fields || !poses || !gram) return ctx->error.status;
  for (int p = 0; p < m->pose_count; p++) poses[p] = p;
  sn_residuals_gram(ctx, (const float(*)[6])m->deltas, m->vertex_count, m->pose_count, gram);
  sn_rbf rbf;
  sn_status status =
    sn_field_make(ctx, memory, options, m, joints, joint_count, poses, m->pose_count, gram, out->fields, &rbf);
  if (status == SN_OK) {
    status = (options->cardinal ? cardinal_bases : weight_bases)(ctx, memory, m, &rbf, out->fields, out);
  }
  out->basis_count = out->fields->basis_count;
  sn_rbf_free(&rbf);
  return status;
}

// ---- the method -----------------------------------------------------------------------------------------------------------

// The rest mesh itself, for values without a skeleton.
static sn_status train_still(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                             sn_model *out, sn_train_report *report) {
  (void)options, (void)keys, (void)report;
  sn_skin skin = {0};
  sn_model_desc desc = sn_model_desc_default();
  sn_status status = sn_skin_new(ctx, examples->rest.vertex_count, 1, &skin);
  for (int i = 0; status == SN_OK && i < skin.vertex_count; i++) skin.weights[i] = 1;
  desc.rest = &examples->rest, desc.skin = &skin, desc.palette_count = 1;
  if (status == SN_OK) status = sn_train_build(ctx, examples, desc, out);
  sn_skin_free(&skin);
  return status;
}

static sn_status train_base(sn_context *ctx, const sn_psd_options *o, const sn_skin_options *skin,
                            const sn_examples *examples, const sn_keys *keys, sn_model *out) {
  *out = (sn_model){0};
  return (examples->skeleton.joint_count == 0 ? train_still
          : o->blend == SN_RT_BLEND_LINEAR    ? sn_lbs_train
          : o->blend == SN_RT_BLEND_DUALQUAT  ? sn_dqs_train
                                              : sn_cor_train)(ctx, skin, examples, keys, out, NULL);
}

// ---- the base --------------------------------------------------------------------------------------------------------------

typedef struct trial {
  const sn_psd_options *options;
  const sn_base_sample *sample;
  sn_base_kind kind;
} trial;

// The corrections of a base that is learned from these keys alone; see sn_correct_try.
static sn_status try_base(sn_context *ctx, const trial *t, const sn_keys *keys, const bool *held,
                          sn_correct_setting *setting, double *squared) {
  sn_skin_options skin = t->options->skin;
  sn_model base;
  skin.base = 1 + (int)t->kind;
  sn_status status = train_base(ctx, t->options, &skin, &t->sample->examples, keys, &base);
  if (status == SN_OK)
    status = sn_correct_try(ctx, &t->options->correct, &t->sample->examples, &t->sample->keys, &base, held, setting,
                            squared);
  sn_model_free(&base);
  return status;
}

// The squared error on held-out frames of a base together with its corrections, both learned without them.
static sn_status validate_base(sn_context *ctx, sn_arena *memory, const trial *t, double *score) {
  const sn_folds *folds = &t->sample->folds;
  int count = t->sample->keys.count;
  bool *held = SN_NEW(ctx, memory, bool, count);
  int *frames = SN_NEW(ctx, memory, int, count);
  sn_correct_setting setting;
  sn_status status = held && frames ? try_base(ctx, t, &t->sample->keys, NULL, &setting, NULL) : ctx->error.status;
  *score = 0;
  for (int f = 0; status == SN_OK && f < folds->fold_count; f++) {
    const sn_fold *fold = folds->folds + f;
    sn_keys keys = {.count = fold->outside_count, .frames = frames};
    double squared = 0;
    for (int n = 0; n < fold->count; n++) {
      held[fold->poses[n]] = n >= fold->outside_count;
      if (n < fold->outside_count) frames[n] = t->sample->keys.frames[fold->poses[n]];
    }
    status = try_base(ctx, t, &keys, held, &setting, &squared);
    *score += squared;
  }
  return status;
}

// Where the file has weights, these and the same refitted compete, the usual one first. Of linear blending these are the file's: refitted
// weights would make up for volume that the blend loses, which holds within the training poses only.
static int drop_others(sn_rt_blend blend, sn_base_kind *kinds, int count) {
  bool refit = false, linear = blend == SN_RT_BLEND_LINEAR;
  for (int k = 0; k < count; k++) refit |= kinds[k] == SN_BASE_REFIT;
  if (!refit) return count;
  kinds[0] = linear ? SN_BASE_FILE : SN_BASE_REFIT, kinds[1] = linear ? SN_BASE_REFIT : SN_BASE_FILE;
  return 2;
}

// The base that is best together with its corrections; an earlier candidate unless the best has less than this part of its error.
static const double richer = 0.85;

static sn_status choose_base(sn_context *ctx, const sn_psd_options *o, const sn_examples *examples,
                             const sn_keys *keys, sn_train_report *report, int *base) {
  sn_arena memory = sn_arena_new(ctx);
  sn_base_kind kinds[SN_BASE_KINDS];
  sn_base_sample sample;
  double scores[SN_BASE_KINDS] = {0};
  int count = drop_others(o->blend, kinds, sn_base_candidates(&o->skin, examples, kinds));
  sn_status status = sn_base_sample_make(ctx, &memory, examples, keys, &sample);
  bool can_hold_out = status == SN_OK && sample.folds.fold_count > 1;
  for (int k = 0; can_hold_out && status == SN_OK && k < count; k++)
    status = validate_base(ctx, &memory, &(trial){o, &sample, kinds[k]}, scores + k);
  if (can_hold_out && status == SN_OK) {
    int best = sn_simplest(scores, count, 1 / (richer * richer));
    *base = 1 + (int)kinds[best];
    for (int k = 0; k < count; k++)
      sn_train_report_add(report, sn_base_name(kinds[k]), sample.rigid > 0 ? sqrt(scores[k] / sample.rigid) : 0,
                          k == best);
  }
  sn_arena_free(&memory);
  return status;
}

sn_status sn_psd_train(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                       sn_model *out, sn_train_report *report) {
  sn_psd_options own = *(const sn_psd_options *)options;
  const sn_psd_options *o = &own;
  sn_skin_options skin = o->skin;
  sn_model base = {0};
  if (examples->sculpted) own.correct.space = SN_SPACE_WHOLE;
  bool chosen = examples->skeleton.joint_count > 0 && skin.weights == SN_WEIGHTS_FIT &&
                o->correct.space == SN_SPACE_LOCAL && o->blend != SN_RT_BLEND_CENTRES && examples->values.count == 0;
  sn_status status = chosen ? choose_base(ctx, o, examples, keys, report, &skin.base) : SN_OK;
  if (status == SN_OK) status = train_base(ctx, o, &skin, examples, keys, &base);
  if (status == SN_OK) status = sn_correct_model(ctx, &o->correct, examples, keys, &base, out, report);
  sn_model_free(&base);
  return status;
}

const sn_option sn_psd_option_table[] = {
  {"blend", SN_OPTION_CHOICE, offsetof(sn_psd_options, blend), "linear", 0, 0, "linear|dualquat|centres",
   SN_OPTION_COMMON, "the skinning underneath: lbs, dqs or cor"},
  {0},
};
static const sn_option own[] = {
  {"weighted", SN_OPTION_SWITCH, offsetof(sn_psd_options, correct.weighted), "0", 0, 1, NULL, SN_OPTION_ADVANCED,
   "1: distances by each vertex's skinning weights"},
  {0},
};
static const sn_option_group groups[] = {{sn_psd_option_table, 0},
                                         {own, 0},
                                         {sn_correct_option_table, offsetof(sn_psd_options, correct)},
                                         {sn_skin_option_table, offsetof(sn_psd_options, skin)},
                                         SN_METHOD_COMMON,
                                         {0}};
_Static_assert(sizeof(sn_psd_options) <= SN_METHOD_COMMON_OFFSET, "room in sn_method_spec");

const sn_method sn_method_psd = {.name = "psd",
                                 .summary =
                                   "pose-space deformation on linear or dual-quaternion skinning (Murtagh 2008)",
                                 .options = groups,
                                 .needs_skeleton = true,
                                 .wants_skin = true,
                                 .takes_values = true,
                                 .vertex_bytes = 300,
                                 .pose_bytes = SN_RESIDUAL_BYTES,
                                 .train = sn_psd_train};
