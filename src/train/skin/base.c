// SPDX-License-Identifier: MIT
// The base skin: weights given, from the skeleton, or fitted to the frames; and its error on held-out poses.
#include "train/skin/base.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sinew/fit.h"
#include "train/skin/fit.h"
#include "train/skin/heat.h"

// The ridge towards the file's weights (docs/measurements.md). Other priors only decide what the frames hardly determine.
static const double file_ridge = 0.25;

bool sn_skin_has_prior(const sn_examples *e) {
  return e->skin.influences > 0 && !e->skin_made && !sn_skin_is_placeholder(&e->skin);
}

enum { made_influences = 4 };

sn_status sn_skin_make(sn_context *ctx, sn_examples *examples) {
  sn_skin made = {0};
  if (examples->skin_made || sn_skin_has_prior(examples) || examples->skeleton.joint_count < 2) return SN_OK;
  if (examples->rest.triangle_count == 0) return SN_OK;
  sn_status status = sn_heat_skin(ctx, &examples->rest, &examples->skeleton, made_influences, &made);
  if (status == SN_NO_MEMORY || status == SN_STOPPED) return status;
  if (status == SN_OK)
    examples->skin = made, examples->skin_made = true;
  else
    ctx->error = (sn_error){0};
  return SN_OK;
}

// ---- the skins ------------------------------------------------------------------------------------------------------

sn_status sn_free_weights(sn_context *ctx, const sn_skin_options *o, const sn_examples *examples,
                          const sn_poses *poses, const sn_keys *keys, sn_skin *out) {
  sn_weights_options options = sn_weights_options_default();
  options.influences = o->influences, options.rho = o->rho, options.keys = keys;
  return sn_solve_weights(ctx, &examples->rest, &examples->frames, poses, &options, out);
}

sn_status sn_rigid_skin(sn_context *ctx, const sn_examples *examples, const sn_keys *keys, sn_skin *out) {
  sn_status status = sn_skin_new(ctx, examples->rest.vertex_count, 1, out);
  if (status == SN_OK) status = sn_best_joints(ctx, examples, keys, out->joints, NULL);
  for (int i = 0; status == SN_OK && i < out->vertex_count; i++) out->weights[i] = 1;
  return status;
}

// Without a prior, weights on any joints for linear blending are the prior of those for dual quaternions. They need moments of
// every pair of joints: of very many, each vertex gets one.
static sn_status fit_without_prior(sn_context *ctx, const sn_skin_task *t, const sn_blend *blend, sn_skin *out) {
  enum { most_joints = 1024 };
  if (t->examples->skeleton.joint_count > most_joints) return sn_rigid_skin(ctx, t->examples, t->keys, out);
  sn_skin linear = {0};
  sn_status status = sn_free_weights(ctx, t->options, t->examples, &t->examples->poses, t->keys, &linear);
  if (status != SN_OK || !blend->motions) return *out = linear, status;
  status = sn_skin_fit(ctx, blend, &linear, sn_usual_ridge, t->options->influences, out);
  sn_skin_free(&linear);
  return status;
}

// Fits weights near the file's, or else near those of bone heat. For centres of rotation they are those of linear blending.
static sn_status fit(sn_context *ctx, const sn_skin_task *t, sn_skin *out) {
  const sn_examples *e = t->examples;
  bool prior = sn_skin_has_prior(e);
  sn_arena scratch = sn_arena_new(ctx);
  sn_blend blend = {.examples = e, .keys = t->keys};
  sn_status status = SN_OK;
  if (t->blend == SN_RT_BLEND_DUALQUAT) status = sn_blend_make(ctx, &scratch, t->blend, t->keys, &blend);
  if (status == SN_OK)
    status = (prior || e->skin_made) && t->options->rho == 0 // smoothed weights have no prior
               ? sn_skin_fit(ctx, &blend, &e->skin, prior ? file_ridge : sn_usual_ridge, t->options->influences, out)
               : fit_without_prior(ctx, t, &blend, out);
  sn_arena_free(&scratch);
  return status;
}

sn_status sn_train_skin(sn_context *ctx, const sn_skin_task *t, sn_skin *out) {
  const sn_examples *e = t->examples;
  *out = (sn_skin){0};
  if (t->options->weights == SN_WEIGHTS_SKELETON)
    return sn_heat_skin(ctx, &e->rest, &e->skeleton, t->options->influences, out);
  if (t->options->weights != SN_WEIGHTS_GIVEN) return fit(ctx, t, out);
  if (e->skin.influences > 0 && !e->skin_made)
    return sn_skin_copy_rows(ctx, &e->skin, NULL, e->skin.vertex_count, e->skin.influences, out);
  return sn_fail(ctx, SN_BAD_INPUT,
                 "the skeleton file has no skin; weights are given with its mesh, fitted, or weights=skeleton");
}

// ---- the sample -----------------------------------------------------------------------------------------------------

enum { most_sampled = 512 }; // vertices, and poses, to limit the work

static sn_status thin_frames(sn_context *ctx, sn_arena *memory, const sn_examples *examples, sn_base_sample *out) {
  int n = out->examples.rest.vertex_count, count = out->keys.count, joints = examples->skeleton.joint_count;
  float(*rest)[3] = sn_arena_alloc(ctx, memory, (size_t)n, sizeof *rest);
  float(*positions)[3] = sn_arena_alloc(ctx, memory, (size_t)n * (size_t)count, sizeof *positions);
  sn_affine *matrices = SN_NEW(ctx, memory, sn_affine, (size_t)count * (size_t)joints);
  if (!rest || !positions || !matrices) return ctx->error.status;
  for (int i = 0; i < n; i++) memcpy(rest[i], examples->rest.positions[out->vertices[i]], sizeof *rest);
  for (int k = 0; k < count; k++) {
    const float(*frame)[3] = sn_frame(&examples->frames, out->frames[k]);
    for (int i = 0; i < n; i++)
      memcpy(positions[(size_t)k * (size_t)n + (size_t)i], frame[out->vertices[i]], sizeof *positions);
    memcpy(matrices + (size_t)k * (size_t)joints, sn_pose(&examples->poses, out->frames[k]),
           (size_t)joints * sizeof *matrices);
    sn_frames_used(&examples->frames, examples->rest.vertex_count, 1);
  }
  out->examples.rest.positions = rest;
  out->examples.frames =
    (sn_frames){.vertex_count = n, .frame_count = count, .positions = (const float(*)[3])positions, .finite = true};
  out->examples.poses = (sn_poses){.joint_count = joints, .frame_count = count, .matrices = matrices};
  return SN_OK;
}

sn_status sn_rigid_error(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                         double *out) {
  double *errors = SN_NEW(ctx, memory, double, examples->rest.vertex_count);
  sn_status status = errors ? sn_best_joints(ctx, examples, keys, NULL, errors) : ctx->error.status;
  *out = 0;
  for (int i = 0; status == SN_OK && i < examples->rest.vertex_count; i++) *out += errors[i];
  return status;
}

int *sn_spread(sn_context *ctx, sn_arena *memory, int count, int most, int *chosen) {
  *chosen = count < most ? count : most;
  int *out = SN_NEW(ctx, memory, int, *chosen);
  for (int n = 0; out && n < *chosen; n++) out[n] = (int)((int64_t)n * count / *chosen);
  return out;
}

sn_status sn_base_sample_make(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                              sn_base_sample *out) {
  sn_context alone = *ctx; // every process of a team builds the whole sample
  alone.team = NULL;
  *out = (sn_base_sample){.examples = {.skeleton = examples->skeleton, .skin_made = examples->skin_made}};
  int n = 0;
  out->vertices = sn_spread(&alone, memory, examples->rest.vertex_count, most_sampled, &n);
  out->frames = sn_spread(&alone, memory, keys->count, most_sampled, &out->keys.count);
  out->keys.frames = SN_NEW(&alone, memory, int, out->keys.count);
  sn_status status = out->vertices && out->frames && out->keys.frames ? SN_OK : alone.error.status;
  for (int k = 0; status == SN_OK && k < out->keys.count; k++)
    out->keys.frames[k] = k, out->frames[k] = keys->frames[out->frames[k]];
  out->examples.rest.vertex_count = n;
  if (status == SN_OK) status = thin_frames(&alone, memory, examples, out);
  if (status == SN_OK && examples->skin.influences > 0)
    status =
      sn_skin_copy_rows(&alone, &examples->skin, out->vertices, n, examples->skin.influences, &out->examples.skin);
  if (status == SN_OK) {
    const sn_keys chosen = {.count = out->keys.count, .frames = out->frames};
    status = sn_folds_of_keys(&alone, memory, examples, &chosen, &out->folds);
  }
  if (status == SN_OK) status = sn_rigid_error(&alone, memory, &out->examples, &out->keys, &out->rigid);
  if (status != SN_OK) sn_base_sample_free(out);
  ctx->error = alone.error;
  return status;
}

void sn_base_sample_free(sn_base_sample *sample) { sn_skin_free(&sample->examples.skin); }

// ---- cross-validation -----------------------------------------------------------------------------------------------

typedef struct validation {
  const sn_skin_task *task;
  const sn_base_sample *sample;
  const sn_skin *fixed;      // weights that do not depend on the poses; NULL: fitted in every fold
  const float (*centres)[3]; // of the sample's vertices
  double *errors;            // per fold: squared error on the held-out poses
} validation;

static sn_status validate_fold(sn_context *ctx, sn_arena *memory, void *user, int n) {
  const validation *v = user;
  const sn_fold *fold = &v->sample->folds.folds[n];
  sn_keys learned = {.count = fold->outside_count, .frames = fold->poses};
  sn_keys held_out = {.count = fold->count - fold->outside_count, .frames = fold->poses + fold->outside_count};
  const sn_skin_task task = {v->task->options, &v->sample->examples, v->task->blend, &learned};
  sn_blend blend = {.examples = task.examples, .keys = &held_out, .centres = v->centres};
  sn_skin fitted = {0};
  sn_status status = sn_blend_make(ctx, memory, task.blend, &learned, &blend);
  if (status == SN_OK && !v->fixed) status = sn_train_skin(ctx, &task, &fitted);
  if (status == SN_OK) status = sn_blend_error(ctx, &blend, v->fixed ? v->fixed : &fitted, &v->errors[n]);
  sn_skin_free(&fitted);
  return status;
}

static sn_status validate(sn_context *ctx, sn_arena *memory, validation *v, double *out) {
  const sn_base_sample *sample = v->sample;
  double sum = 0;
  v->errors = SN_NEW(ctx, memory, double, sample->folds.fold_count);
  sn_status status = v->errors ? sn_folds_run(ctx, &sample->folds, validate_fold, v) : ctx->error.status;
  for (int n = 0; status == SN_OK && n < sample->folds.fold_count; n++) sum += v->errors[n];
  *out = status == SN_OK && sample->rigid > 0 ? sqrt(sum / sample->rigid) : 0;
  return status;
}

void sn_skin_describe(const sn_skin_options *o, const sn_examples *e, sn_train_report *report) {
  const char *name = o->weights == SN_WEIGHTS_GIVEN          ? "the file's weights"
                     : o->weights == SN_WEIGHTS_SKELETON     ? "bone heat"
                     : o->rho > 0 || e->skin.influences == 0 ? "weights without a prior"
                     : e->skin_made                          ? "bone heat refitted"
                                                             : "the file's weights refitted";
  snprintf(report->learned, sizeof report->learned, "Base: %s.", name);
}

sn_status sn_skin_validate(sn_context *ctx, const sn_skin_task *task, const sn_skin *skin, const float (*centres)[3],
                           sn_train_report *report) {
  bool fixed = sn_skin_needs_no_frames(task->options);
  if (!report) return SN_OK;
  sn_skin_describe(task->options, task->examples, report);
  if (task->keys->count == 0 || task->options->rho > 0) return SN_OK;
  sn_arena memory = sn_arena_new(ctx);
  sn_base_sample sample;
  sn_skin thin = {0};
  sn_status status = sn_base_sample_make(ctx, &memory, task->examples, task->keys, &sample);
  int n = sample.examples.rest.vertex_count;
  float(*places)[3] = centres ? sn_arena_alloc(ctx, &memory, (size_t)n, sizeof *places) : NULL;
  if (status == SN_OK && centres && !places) status = ctx->error.status;
  for (int i = 0; status == SN_OK && places && i < n; i++)
    memcpy(places[i], centres[sample.vertices[i]], sizeof *places);
  if (status == SN_OK && fixed) status = sn_skin_copy_rows(ctx, skin, sample.vertices, n, skin->influences, &thin);
  validation v = {task, &sample, fixed ? &thin : NULL, (const float(*)[3])places, NULL};
  if (status == SN_OK && (fixed || sample.folds.fold_count > 1))
    status = validate(ctx, &memory, &v, &report->cross_validated);
  sn_skin_free(&thin);
  sn_base_sample_free(&sample);
  sn_arena_free(&memory);
  return status;
}
