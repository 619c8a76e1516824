// SPDX-License-Identifier: MIT
// Candidates for the base skin, their fits and their cross-validated errors.
#include "train/skin/base.h"

#include <math.h>
#include <string.h>

#include "sinew/fit.h"
#include "train/skin/centres.h"
#include "train/skin/fit.h"
#include "train/skin/heat.h"

const char *sn_base_name(sn_base_kind kind) {
  static const char *const names[SN_BASE_KINDS] = {
    [SN_BASE_FILE] = "the file's weights",           [SN_BASE_SKELETON] = "bone heat",
    [SN_BASE_RIGID] = "one joint per vertex",        [SN_BASE_REFIT] = "the file's weights refitted",
    [SN_BASE_LARGEST] = "the file's largest weight", [SN_BASE_SKELETON_REFIT] = "bone heat refitted",
    [SN_BASE_FREE] = "weights without a prior",
  };
  return names[kind];
}

static bool has_file_skin(const sn_examples *e) { return e->skin.influences > 0 && !e->skin_made; }

static bool has_prior(const sn_examples *e) { return has_file_skin(e) && !sn_skin_is_placeholder(&e->skin); }

// Limits memory: free weights need moments of every pair of joints.
enum { most_free_joints = 1024 };

int sn_base_candidates(const sn_skin_options *o, const sn_examples *e, sn_base_kind out[SN_BASE_KINDS]) {
  int count = 0;
  if (o->weights == SN_WEIGHTS_GIVEN) return out[0] = SN_BASE_FILE, 1;
  if (o->weights == SN_WEIGHTS_SKELETON) return out[0] = SN_BASE_SKELETON, 1;
  if (o->rho > 0) return out[0] = SN_BASE_FREE, 1; // smoothed weights have no prior
  if (has_file_skin(e)) out[count++] = SN_BASE_FILE;
  bool prior = has_prior(e), made = e->made.influences > 0;
  if (made) out[count++] = SN_BASE_SKELETON;
  // Joints that move together in all training frames fit a vertex equally well: the file's weights decide.
  out[count++] = prior ? SN_BASE_LARGEST : SN_BASE_RIGID;
  if (prior) out[count++] = SN_BASE_REFIT;
  if (made && !prior) out[count++] = SN_BASE_SKELETON_REFIT;
  if (!prior && e->skeleton.joint_count <= most_free_joints)
    out[count++] = SN_BASE_FREE; // only without a prior: weights on any joint overfit correlations within a clip
  return count;
}

// ---- the skins ------------------------------------------------------------------------------------------------------

static sn_status copy_skin(sn_context *ctx, const sn_skin *from, int influences, sn_skin *out) {
  sn_status status = sn_skin_new(ctx, from->vertex_count, influences, out);
  for (int i = 0; status == SN_OK && i < from->vertex_count; i++)
    for (int k = 0; k < influences; k++) {
      size_t to = (size_t)i * (size_t)influences + (size_t)k, at = (size_t)i * (size_t)from->influences + (size_t)k;
      out->joints[to] = from->joints[at], out->weights[to] = from->weights[at];
    }
  return status;
}

static int at_most(int a, int b) { return a < b ? a : b; }

static sn_status file_skin(sn_context *ctx, const sn_skin_options *o, const sn_examples *examples, sn_skin *out) {
  int all = examples->skin.influences;
  if (has_file_skin(examples)) {
    sn_status status =
      copy_skin(ctx, &examples->skin, o->weights == SN_WEIGHTS_GIVEN ? all : at_most(all, o->influences), out);
    if (status == SN_OK && out->influences < all) sn_skin_normalize(out);
    return status;
  }
  return sn_fail(ctx, SN_BAD_INPUT,
                 "the skeleton file has no skin; weights are given with its mesh, fitted, or weights=skeleton");
}

static sn_status skeleton_skin(sn_context *ctx, const sn_examples *examples, int influences, sn_skin *out) {
  const sn_skin *made = &examples->made;
  if (made->influences == 0) return sn_heat_skin(ctx, &examples->rest, &examples->skeleton, influences, out);
  sn_status status = copy_skin(ctx, made, at_most(influences, made->influences), out);
  if (status == SN_OK) sn_skin_normalize(out);
  return status;
}

static sn_status largest_skin(sn_context *ctx, const sn_skin *file, sn_skin *out) {
  sn_status status = copy_skin(ctx, file, 1, out);
  if (status == SN_OK) sn_skin_normalize(out);
  return status;
}

static sn_status rigid_skin(sn_context *ctx, const sn_examples *examples, const sn_keys *keys, sn_skin *out) {
  sn_status status = sn_skin_new(ctx, examples->rest.vertex_count, 1, out);
  if (status == SN_OK) status = sn_best_joints(ctx, examples, keys, out->joints, NULL);
  for (int i = 0; status == SN_OK && i < out->vertex_count; i++) out->weights[i] = 1;
  return status;
}

sn_status sn_free_weights(sn_context *ctx, const sn_skin_options *o, const sn_examples *examples,
                          const sn_poses *poses, const sn_keys *keys, sn_skin *out) {
  sn_weights_options options = sn_weights_options_default();
  options.influences = o->influences, options.rho = o->rho, options.keys = keys;
  return sn_solve_weights(ctx, &examples->rest, &examples->frames, poses, &options, out);
}

// Refits weights. Without a prior they go on the relevant joints of bone heat, or else on any joint: first for linear
// blending, then refitted on the joints found if the blend is by dual quaternions.
static sn_status refit(sn_context *ctx, const sn_skin_options *o, const sn_blend *blend, sn_base_kind kind,
                       sn_skin *out) {
  const sn_examples *examples = blend->examples;
  if (kind == SN_BASE_REFIT) return sn_skin_fit(ctx, blend, &examples->skin, SN_FIT_RIDGE, o->influences, out);
  if (kind == SN_BASE_SKELETON_REFIT)
    return sn_skin_fit(ctx, blend, &examples->made, SN_FIT_RIDGE, o->influences, out);
  bool any = examples->made.influences == 0 || o->rho > 0;
  if (!any) return sn_skin_fit(ctx, blend, &examples->made, SN_FIT_FREE, o->influences, out);
  sn_skin linear = {0};
  sn_status status = sn_free_weights(ctx, o, examples, &examples->poses, blend->keys, &linear);
  if (status != SN_OK || !blend->motions) return *out = linear, status;
  status = sn_skin_fit(ctx, blend, &linear, SN_FIT_FREE, o->influences, out);
  sn_skin_free(&linear);
  return status;
}

sn_status sn_base_fit(sn_context *ctx, const sn_skin_task *t, sn_base_kind kind, sn_skin *out) {
  *out = (sn_skin){0};
  if (kind == SN_BASE_FILE) return file_skin(ctx, t->options, t->examples, out);
  if (kind == SN_BASE_SKELETON) return skeleton_skin(ctx, t->examples, t->options->influences, out);
  if (kind == SN_BASE_LARGEST) return largest_skin(ctx, &t->examples->skin, out);
  if (kind == SN_BASE_RIGID) return rigid_skin(ctx, t->examples, t->keys, out);
  sn_arena scratch = sn_arena_new(ctx);
  sn_blend blend = {.examples = t->examples, .keys = t->keys};
  bool dual = t->blend == SN_RT_BLEND_DUALQUAT; // for centres of rotation, weights are fitted by linear blending
  sn_status status = sn_blend_make(ctx, &scratch, dual ? t->blend : SN_RT_BLEND_LINEAR, t->keys, &blend);
  if (status == SN_OK) status = refit(ctx, t->options, &blend, kind, out);
  if (status != SN_OK) sn_skin_free(out);
  sn_arena_free(&scratch);
  return status;
}

// ---- the sample -----------------------------------------------------------------------------------------------------

enum { most_sampled = 512 }; // vertices, and poses, to limit the work

static sn_status thin_skin(sn_context *ctx, sn_arena *memory, const sn_skin *from, const int *vertices, int count,
                           sn_skin *out) {
  size_t row = (size_t)from->influences;
  *out = (sn_skin){.vertex_count = count, .influences = from->influences};
  if (row == 0) return SN_OK;
  out->joints = SN_NEW(ctx, memory, uint16_t, (size_t)count * row);
  out->weights = SN_NEW(ctx, memory, float, (size_t)count *row);
  if (!out->joints || !out->weights) return ctx->error.status;
  for (int n = 0; n < count; n++) {
    memcpy(out->joints + (size_t)n * row, from->joints + (size_t)vertices[n] * row, row * sizeof *out->joints);
    memcpy(out->weights + (size_t)n * row, from->weights + (size_t)vertices[n] * row, row * sizeof *out->weights);
  }
  return SN_OK;
}

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
  if (status == SN_OK) status = thin_skin(&alone, memory, &examples->skin, out->vertices, n, &out->examples.skin);
  if (status == SN_OK) status = thin_skin(&alone, memory, &examples->made, out->vertices, n, &out->examples.made);
  if (status == SN_OK) {
    const sn_keys chosen = {.count = out->keys.count, .frames = out->frames};
    status = sn_folds_of_keys(&alone, memory, examples, &chosen, &out->folds);
  }
  if (status == SN_OK) status = sn_rigid_error(&alone, memory, &out->examples, &out->keys, &out->rigid);
  ctx->error = alone.error;
  return status;
}

// ---- the choice -----------------------------------------------------------------------------------------------------

typedef struct choice {
  const sn_skin_options *options;
  sn_rt_blend blend;
  const sn_base_sample *sample;
  int count;
  sn_base_kind kinds[SN_BASE_KINDS];
  float (*centres[SN_BASE_KINDS])[3]; // centres of rotation per candidate; NULL for other blends
  double *errors;                     // [fold][candidate]: squared errors on the held-out poses
} choice;

static sn_status validate_fold(sn_context *ctx, sn_arena *memory, void *user, int n) {
  const choice *c = user;
  const sn_fold *fold = &c->sample->folds.folds[n];
  const sn_examples *examples = &c->sample->examples;
  sn_keys learned = {.count = fold->outside_count, .frames = fold->poses};
  sn_keys held_out = {.count = fold->count - fold->outside_count, .frames = fold->poses + fold->outside_count};
  const sn_skin_task task = {c->options, examples, c->blend, &learned};
  sn_blend blend = {.examples = examples, .keys = &held_out};
  sn_status status = sn_blend_make(ctx, memory, c->blend, &learned, &blend);
  for (int k = 0; status == SN_OK && k < c->count; k++) {
    sn_skin skin;
    status = sn_base_fit(ctx, &task, c->kinds[k], &skin);
    blend.centres = (const float(*)[3])c->centres[k];
    if (status == SN_OK) status = sn_blend_error(ctx, &blend, &skin, &c->errors[n * c->count + k]);
    sn_skin_free(&skin);
  }
  return status;
}

static void report_choice(const choice *c, const double *scores, int chosen, sn_train_report *report) {
  report->cross_validated = scores[chosen];
  for (int k = 0; k < c->count; k++) sn_train_report_add(report, sn_base_name(c->kinds[k]), scores[k], k == chosen);
}

static bool is_unlearned(sn_base_kind kind) {
  return kind == SN_BASE_FILE || kind == SN_BASE_SKELETON || kind == SN_BASE_LARGEST;
}

// If no pose can be held out, only candidates that are not fitted to frames compete, if there are any.
static void drop_learned(choice *c) {
  int count = 0;
  for (int k = 0; k < c->count; k++)
    if (is_unlearned(c->kinds[k])) c->kinds[count++] = c->kinds[k];
  if (count > 0) c->count = count;
}

static sn_status validate(sn_context *ctx, sn_arena *memory, choice *c, double *scores) {
  const sn_folds *folds = &c->sample->folds;
  if (folds->fold_count < 2) drop_learned(c);
  c->errors = SN_NEW(ctx, memory, double, (size_t)folds->fold_count *(size_t)c->count);
  sn_status status = c->errors ? sn_folds_run(ctx, folds, validate_fold, c) : ctx->error.status;
  for (int k = 0; status == SN_OK && k < c->count; k++) {
    double sum = 0;
    for (int n = 0; n < folds->fold_count; n++) sum += c->errors[n * c->count + k];
    scores[k] = c->sample->rigid > 0 ? sqrt(sum / c->sample->rigid) : 0;
  }
  return status;
}

// The centres of rotation of each candidate at the sample's vertices, from all keys: they hardly depend on the folds.
static sn_status find_centres(sn_context *ctx, sn_arena *memory, const sn_examples *examples, const sn_keys *keys,
                              choice *c) {
  int n = c->sample->examples.rest.vertex_count;
  float(*all)[3] = sn_arena_alloc(ctx, memory, (size_t)examples->rest.vertex_count, sizeof *all);
  sn_status status = all ? SN_OK : ctx->error.status;
  for (int k = 0; status == SN_OK && k < c->count; k++) {
    sn_skin skin;
    c->centres[k] = sn_arena_alloc(ctx, memory, (size_t)n, sizeof **c->centres);
    if (!c->centres[k]) return ctx->error.status;
    status = sn_base_fit(ctx, &(sn_skin_task){c->options, examples, c->blend, keys}, c->kinds[k], &skin);
    if (status == SN_OK) sn_skin_normalize(&skin);
    if (status == SN_OK) status = sn_centres(ctx, &examples->rest, &skin, all);
    for (int i = 0; status == SN_OK && i < n; i++) memcpy(c->centres[k][i], all[c->sample->vertices[i]], sizeof *all);
    sn_skin_free(&skin);
  }
  return status;
}

// Centres of rotation are slow to compute. Only the best candidate of linear blending, the file's weights and one joint
// per vertex compete.
static sn_status choose_for_centres(sn_context *ctx, sn_arena *memory, const sn_examples *examples,
                                    const sn_keys *keys, choice *c, double *scores) {
  sn_status status = SN_OK;
  c->blend = SN_RT_BLEND_LINEAR;
  if (c->count > 1) status = validate(ctx, memory, c, scores);
  int best = sn_simplest(scores, c->count, SN_WORTH_IT), count = 0;
  for (int k = 0; k < c->count; k++)
    if (k == best || c->kinds[k] == SN_BASE_FILE || c->kinds[k] == SN_BASE_LARGEST || c->kinds[k] == SN_BASE_RIGID)
      c->kinds[count++] = c->kinds[k];
  c->count = count, c->blend = SN_RT_BLEND_CENTRES;
  if (status == SN_OK) status = find_centres(ctx, memory, examples, keys, c);
  return status == SN_OK ? validate(ctx, memory, c, scores) : status;
}

sn_status sn_base_choose(sn_context *ctx, const sn_skin_task *t, sn_base_kind *out, sn_train_report *report) {
  sn_base_sample sample;
  choice c = {.options = t->options, .blend = t->blend, .sample = &sample};
  c.count = sn_base_candidates(t->options, t->examples, c.kinds);
  *out = c.kinds[0];
  if (t->keys->count == 0 || t->options->rho > 0) return SN_OK;
  sn_arena memory = sn_arena_new(ctx);
  double scores[SN_BASE_KINDS] = {0};
  sn_status status = sn_base_sample_make(ctx, &memory, t->examples, t->keys, &sample);
  if (status == SN_OK && t->blend == SN_RT_BLEND_CENTRES)
    status = choose_for_centres(ctx, &memory, t->examples, t->keys, &c, scores);
  else if (status == SN_OK)
    status = validate(ctx, &memory, &c, scores);
  if (status == SN_OK) {
    int best = sn_simplest(scores, c.count, SN_WORTH_IT);
    *out = c.kinds[best];
    if (report) report_choice(&c, scores, best, report);
  }
  sn_arena_free(&memory);
  return status;
}

// Weights from the skeleton do not depend on the poses: they are made once, on the whole mesh.
sn_status sn_train_skin(sn_context *ctx, const sn_skin_task *task, sn_skin *out, sn_train_report *report) {
  const sn_skin_options *o = task->options;
  sn_examples local = *task->examples;
  sn_skin_task chosen = *task;
  sn_base_kind kind = SN_BASE_SKELETON;
  sn_status status = SN_OK;
  *out = (sn_skin){0};
  if (o->base > 0) return sn_base_fit(ctx, task, (sn_base_kind)(o->base - 1), out);
  if (o->weights == SN_WEIGHTS_SKELETON) {
    status = sn_base_fit(ctx, task, kind, out);
    local.made = *out, chosen.examples = &local;
  }
  if (status == SN_OK) status = sn_base_choose(ctx, &chosen, &kind, report);
  if (status == SN_OK && o->weights != SN_WEIGHTS_SKELETON) status = sn_base_fit(ctx, task, kind, out);
  if (status != SN_OK) sn_skin_free(out);
  return status;
}
