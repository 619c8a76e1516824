// SPDX-License-Identifier: MIT
// `helpers`: the skeleton and helper joints that it drives, with linear blending (after Mukai and Kuriyama 2016).
#include "train/helpers/faces.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { most_frames = 256, most_sample = 3000, rounds = 10, sweeps = 2, usual = 24, count_choices = 4 };
static const int choices[count_choices] = {6, 12, usual, 48}; // numbers of helpers, where none is given

static const double no_residual = 1e-5; // a part of the diagonal
static const double min_gain = 0.1; // of an influence: squared error that it removes, over that of the mean vertex

// ---- what is given -----------------------------------------------------------------------------------------------------------

static sn_status choose_frames(sn_helper_solve *s, const sn_keys *keys) {
  int *every = sn_spread(s->ctx, s->memory, keys->count, most_frames, &s->frame_count);
  s->sample = sn_spread(s->ctx, s->memory, s->examples->rest.vertex_count, most_sample, &s->sample_count);
  if (!every || !s->sample) return s->ctx->error.status;
  for (int f = 0; f < s->frame_count; f++) every[f] = keys->frames[every[f]];
  s->keys = (sn_keys){.count = s->frame_count, .frames = every};
  return SN_OK;
}

static void fill_poses(sn_helper_solve *s) {
  size_t dims = 3 * (size_t)s->joint_count;
  sn_pose_vector(s->rotations, s->joint_count, NULL, s->rest);
  for (int f = 0; f < s->frame_count; f++) {
    const sn_affine *pose = sn_pose(&s->examples->poses, s->keys.frames[f]);
    double *vector = s->vectors + (size_t)f * dims;
    sn_pose_vector(s->rotations, s->joint_count, pose, vector);
    for (size_t d = 0; d < dims; d++) vector[d] -= s->rest[d];
    for (int j = 0; j < s->joint_count; j++) {
      sn_mat3 *inverse = s->inverses + (size_t)f * (size_t)s->joint_count + (size_t)j;
      if (!sn_mat3_invert(sn_affine_linear(pose[j]), inverse)) *inverse = sn_affine_linear(sn_affine_identity());
      sn_helper_palette(s, f)[j] = pose[j];
    }
    for (int h = 0; h < s->helper_count; h++) sn_helper_palette(s, f)[s->joint_count + h] = sn_affine_identity();
  }
}

// What there is of every frame.
static sn_status new_frames(sn_helper_solve *s) {
  size_t frames = (size_t)s->frame_count, joints = (size_t)s->joint_count;
  s->vectors = SN_NEW(s->ctx, s->memory, double, 3 * joints * frames);
  s->palette = SN_NEW(s->ctx, s->memory, sn_affine, frames * (joints + (size_t)s->helper_count));
  s->inverses = SN_NEW(s->ctx, s->memory, sn_mat3, frames * joints);
  s->residuals = sn_arena_alloc(s->ctx, s->memory, frames * (size_t)s->sample_count, sizeof *s->residuals);
  float(*channels)[SN_RT_HELPER_ROW] =
    sn_arena_alloc(s->ctx, s->memory, frames * (size_t)s->helper_count, sizeof *channels);
  if (!s->vectors || !s->palette || !s->inverses || !s->residuals || !channels) return s->ctx->error.status;
  for (int h = 0; h < s->helper_count; h++) s->helpers[h].channels = channels + (size_t)h * frames;
  fill_poses(s);
  return SN_OK;
}

static sn_status prepare(sn_helper_solve *s, const sn_keys *keys) {
  sn_context *ctx = s->ctx;
  s->joint_count = s->examples->skeleton.joint_count;
  SN_TRY(choose_frames(s, keys));
  SN_TRY(sn_local_rotations_make(ctx, s->memory, s->examples, keys, &s->rotations));
  SN_TRY(sn_near_new(ctx, s->memory, &s->examples->skeleton, &s->base, &s->near));
  SN_TRY(sn_skin_new(ctx, s->examples->rest.vertex_count, s->influences, &s->skin));
  s->rest = SN_NEW(ctx, s->memory, double, 3 * s->joint_count);
  s->helpers = SN_NEW(ctx, s->memory, sn_helper, s->helper_count);
  s->diagonal = sn_points_diagonal((const float(*)[3])s->examples->rest.positions, s->examples->rest.vertex_count);
  if (!s->rest || !s->helpers) return ctx->error.status;
  SN_TRY(new_frames(s));
  sn_helpers_residuals(s, &s->base);
  return SN_OK;
}

static double squared_residual(const sn_helper_solve *s) {
  double sum = 0;
  size_t count = (size_t)s->frame_count * (size_t)s->sample_count;
  for (size_t n = 0; n < count; n++) sum += sn_vec3_dot(sn_vec3_from(s->residuals[n]), sn_vec3_from(s->residuals[n]));
  return sum;
}

// ---- the alternation --------------------------------------------------------------------------------

static sn_status alternate(sn_helper_solve *s) {
  for (int round = 0; round < rounds; round++) {
    if (!sn_progress(s->ctx, "moving helpers", (double)round / rounds)) return sn_fail(s->ctx, SN_STOPPED, "stopped");
    int left = s->helper_count - s->placed_count;
    if (left > 0) SN_TRY(sn_helpers_seed(s, round < SN_HELPER_HALVINGS ? (left + 1) / 2 : left));
    SN_TRY(sn_helpers_weigh(s, false));
    sn_helpers_residuals(s, &s->skin);
    for (int n = 0; n < sweeps * s->placed_count; n++) SN_TRY(sn_helper_move(s, n % s->placed_count, NULL));
  }
  s->min_gain = min_gain * squared_residual(s) / s->sample_count;
  return sn_helpers_weigh(s, true);
}

// ---- cross-validation ---------------------------------------------------------------------------

typedef struct trial {
  const sn_skin_options *skin;
  const sn_base_sample *sample;
  int helpers;
  double (*squared)[2]; // of every fold: with helpers, and of the base
} trial;

// Residuals at the frames of `keys`, which were not learned from.
static sn_status measure_held_out(sn_helper_solve *s, sn_keys keys, double squared[2]) {
  s->keys = keys, s->frame_count = keys.count;
  SN_TRY(new_frames(s));
  sn_helpers_residuals(s, &s->base);
  squared[1] = squared_residual(s);
  for (int h = 0; h < s->helper_count; h++) sn_helper_apply(s, h, true);
  sn_helpers_residuals(s, &s->skin);
  squared[0] = squared_residual(s);
  return SN_OK;
}

static sn_status try_fold(sn_context *ctx, sn_arena *memory, void *user, int index) {
  const trial *t = user;
  const sn_fold *fold = t->sample->folds.folds + index;
  sn_helper_solve s = {.ctx = ctx,
                       .memory = memory,
                       .examples = &t->sample->examples,
                       .influences = t->skin->influences,
                       .helper_count = t->helpers};
  sn_keys learned = {.count = fold->outside_count, .frames = fold->poses}; // the sample's keys are all its frames
  sn_keys held = {.count = fold->count - learned.count, .frames = fold->poses + learned.count};
  sn_status status = sn_train_skin(ctx, &(sn_skin_task){t->skin, s.examples, SN_RT_BLEND_LINEAR, &learned}, &s.base);
  if (status == SN_OK) status = prepare(&s, &learned);
  if (status == SN_OK) status = alternate(&s);
  if (status == SN_OK) status = measure_held_out(&s, held, t->squared[index]);
  sn_skin_free(&s.base), sn_skin_free(&s.skin);
  return status;
}

// The number of helpers (0: to be chosen) and its cross-validated enveloping error. Fewer, or none, unless more lower it clearly.
static sn_status choose_count(sn_helper_solve *s, const sn_skin_options *skin, const sn_base_sample *sample,
                              sn_train_report *report) {
  int count = s->helper_count ? 1 : count_choices, best = 1;
  const int *counts = s->helper_count ? &s->helper_count : choices;
  double errors[count_choices + 1] = {0};
  trial t = {.skin = skin, .sample = sample};
  t.squared = sn_arena_alloc(s->ctx, s->memory, (size_t)sample->folds.fold_count, sizeof *t.squared);
  if (!t.squared) return s->ctx->error.status;
  for (int k = 0; k < count; k++) {
    double sums[2] = {0};
    t.helpers = counts[k];
    SN_TRY(sn_folds_run(s->ctx, &sample->folds, try_fold, &t));
    for (int f = 0; f < 2 * sample->folds.fold_count; f++) sums[f % 2] += t.squared[f / 2][f % 2];
    errors[k + 1] = sqrt(sums[0] / sample->rigid), errors[0] = sqrt(sums[1] / sample->rigid);
  }
  if (count > 1) best = sn_simplest(errors, count + 1, SN_WORTH_IT);
  for (int k = 0; k <= count; k++) {
    char name[32];
    snprintf(name, sizeof name, "%d helpers", k > 0 ? counts[k - 1] : 0);
    sn_train_report_add(report, name, errors[k], k == best);
  }
  s->helper_count = best > 0 ? counts[best - 1] : 0, report->cross_validated = errors[best];
  return SN_OK;
}

// ---- the model --------------------------------------------------------------------------------

int sn_helper_number(const sn_skin *skin, int kept, int count, int *new_of) {
  size_t all = (size_t)skin->vertex_count * (size_t)skin->influences;
  int next = 0;
  for (int e = 0; e < count; e++) new_of[e] = e < kept ? 0 : -1;
  for (size_t n = 0; n < all; n++)
    if (skin->weights[n] > 0) new_of[skin->joints[n]] = 0;
  for (int e = 0; e < count; e++)
    if (new_of[e] == 0) new_of[e] = next++;
  for (size_t n = 0; n < all; n++)
    if (skin->weights[n] > 0) skin->joints[n] = (uint16_t)new_of[skin->joints[n]];
  return next;
}

typedef struct written {
  sn_rt_helper *helpers;
  sn_rt_terms *terms;
  float (*mix)[SN_RT_HELPER_ROW];
  size_t group_count, row_count;
} written;

static void write_driver(const sn_helper_solve *s, const sn_helper *h, int driver, written *w) {
  int joint = h->drivers[driver], reference = 0;
  while (s->rotations[reference].joint != joint) reference++;
  sn_rt_terms *t = w->terms + w->group_count++;
  *t = (sn_rt_terms){.kind = SN_RT_TERMS_JOINT, .count = SN_RT_QUADRATIC, .a = (uint16_t)reference};
  for (int c = 0; c < 3; c++) t->rest[0][c] = (float)s->rest[3 * joint + c];
  for (int k = 0; k < SN_RT_QUADRATIC; k++, w->row_count++) {
    const double *from = h->mix[driver * SN_RT_QUADRATIC + k];
    for (int c = 0; c < SN_RT_HELPER_CHANNELS; c++)
      w->mix[w->row_count][c] = (float)(from[c] * sn_helper_feature_scale(k));
    w->mix[w->row_count][SN_RT_HELPER_CHANNELS] = 0;
  }
}

static sn_status write_helpers(const sn_helper_solve *s, sn_plan *plan, written *w) {
  size_t count = (size_t)s->helper_count, groups = 0;
  for (size_t k = 0; k < count; k++) groups += (size_t)s->helpers[k].driver_count;
  *w =
    (written){.helpers = sn_plan_section(s->ctx, plan, SN_SECTION_DRIVE_HELPERS, count, sizeof *w->helpers),
              .terms = sn_plan_section(s->ctx, plan, SN_SECTION_DRIVE_TERMS, groups, sizeof *w->terms),
              .mix = sn_plan_section(s->ctx, plan, SN_SECTION_DRIVE_MIX, groups * SN_RT_QUADRATIC, sizeof *w->mix)};
  if (!w->helpers || !w->terms || !w->mix) return s->ctx->error.status;
  for (size_t k = 0; k < count; k++) {
    const sn_helper *h = s->helpers + k;
    sn_rt_helper *to = w->helpers + k;
    *to = (sn_rt_helper){.parent = (uint16_t)h->parent,
                         .group_count = (uint16_t)h->driver_count,
                         .first_group = (uint32_t)w->group_count,
                         .first_row = (uint32_t)w->row_count};
    memcpy(to->centre, h->centre, sizeof to->centre);
    memcpy(to->low, h->low, sizeof to->low), memcpy(to->high, h->high, sizeof to->high);
    for (int d = 0; d < h->driver_count; d++) write_driver(s, h, d, w);
  }
  return SN_OK;
}

// The joints that drive helpers and their parents come first: the runtime needs no other rotations.
static sn_status put_drivers_first(sn_helper_solve *s) {
  size_t count = (size_t)s->joint_count, put = 0;
  bool *drives = SN_NEW(s->ctx, s->memory, bool, count);
  sn_local_rotation *sorted = SN_NEW(s->ctx, s->memory, sn_local_rotation, count);
  if (!drives || !sorted) return s->ctx->error.status;
  for (int h = 0; h < s->helper_count; h++)
    for (int d = 0; d < s->helpers[h].driver_count; d++) drives[s->helpers[h].drivers[d]] = true;
  for (size_t n = count; n-- > 0;)
    if (drives[s->rotations[n].joint] && s->rotations[n].parent >= 0) drives[s->rotations[n].parent] = true;
  for (int pass = 0; pass < 2; pass++)
    for (size_t n = 0; n < count; n++)
      if (drives[s->rotations[n].joint] == (pass == 0)) sorted[put++] = s->rotations[n];
  s->rotations = sorted;
  return SN_OK;
}

static sn_status describe(sn_helper_solve *s, const sn_keys *keys, sn_plan *plan) {
  written w;
  plan->desc.drive = SN_RT_DRIVE_HELPERS;
  plan->desc.palette_count = s->joint_count + s->helper_count;
  plan->skin = s->skin, s->skin = (sn_skin){0};
  SN_TRY(put_drivers_first(s));
  SN_TRY(write_helpers(s, plan, &w));
  SN_TRY(sn_plan_references(s->ctx, plan, s->rotations, s->joint_count));
  return sn_plan_ranges(s->ctx, plan, s->rotations, &s->examples->poses, keys);
}

// ---- the method --------------------------------------------------------------------------------

static sn_status describe_without(sn_helper_solve *s, const char *why, sn_plan *plan, sn_train_report *report) {
  sn_helper_note(report, why);
  s->helper_count = 0;
  for (int k = 0; k < report->candidate_count; k++) report->candidates[k].is_chosen = k == 0; // 0 helpers
  if (report->candidate_count > 0) report->cross_validated = report->candidates[0].cross_validated;
  return sn_skin_copy_rows(s->ctx, &s->base, NULL, s->base.vertex_count, s->base.influences, &plan->skin);
}

static sn_status solve(sn_helper_solve *s, const sn_keys *keys, sn_plan *plan, sn_train_report *report) {
  if (s->helper_count == 0)
    return describe_without(s, "no helpers: cross-validation finds no use for them", plan, report);
  SN_TRY(prepare(s, keys));
  double numbers = (double)s->frame_count * s->sample_count, before = sqrt(squared_residual(s) / numbers);
  if (!(before > no_residual * s->diagonal))
    return describe_without(s, "no helpers: linear blending leaves no residual", plan, report);
  int *new_of = SN_NEW(s->ctx, s->memory, int, s->joint_count + s->helper_count);
  if (!new_of) return s->ctx->error.status;
  SN_TRY(alternate(s));
  sn_helpers_residuals(s, &s->skin);
  double after = sqrt(squared_residual(s) / numbers);
  int used_count = sn_helper_number(&s->skin, s->joint_count, s->joint_count + s->helper_count, new_of);
  for (int h = 0; h < s->helper_count; h++)
    if (new_of[s->joint_count + h] >= 0) s->helpers[new_of[s->joint_count + h] - s->joint_count] = s->helpers[h];
  s->helper_count = used_count - s->joint_count;
  if (s->helper_count == 0)
    return describe_without(s, "no helpers: no joint that moves explains the residual", plan, report);
  snprintf(report->learned, sizeof report->learned,
           "%d helper joints; residual in training %.3g %% of the diagonal, %.3g %% without", s->helper_count,
           100 * after / s->diagonal, 100 * before / s->diagonal);
  return describe(s, keys, plan);
}

// The number of helpers, by cross-validation where there are poses to hold out.
static sn_status choose(sn_helper_solve *s, const sn_skin_options *skin, const sn_keys *keys,
                        sn_train_report *report) {
  SN_FREED_BY(sn_base_sample_free) sn_base_sample sample = {0};
  if (skin->weights == SN_WEIGHTS_SKELETON) return SN_OK;
  SN_TRY(sn_base_sample_make(s->ctx, s->memory, s->examples, keys, &sample));
  return sample.folds.fold_count > 1 && sample.rigid > 0 ? choose_count(s, skin, &sample, report) : SN_OK;
}

// Fewer helpers where the model is larger or slower than it may be: the candidate before the chosen one.
static bool has_fewer(sn_context *ctx, const sn_examples *examples, const sn_plan *plan, int *helpers,
                      sn_train_report *report) {
  const sn_limits *l = &report->limits;
  double bytes = 0, ratio = 0;
  int less = 0;
  for (int k = 0; k < count_choices && choices[k] < *helpers; k++) less = choices[k];
  if (less == 0 || !(l->bytes > 0 || l->time > 0)) return false;
  if (sn_plan_measure(ctx, plan, examples, l, &bytes, &ratio) != SN_OK) return false;
  if (!(l->bytes > 0 && bytes > l->bytes) && !(l->time > 0 && ratio > l->time)) return false;
  int chosen = report->candidate_count - 1;
  while (!report->candidates[chosen].is_chosen) chosen--;
  report->candidates[chosen].is_chosen = false, report->candidates[chosen - 1].is_chosen = true;
  *helpers = less, report->cross_validated = report->candidates[chosen - 1].cross_validated;
  return true;
}

static sn_status train(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                       sn_plan *plan, sn_train_report *report) {
  const sn_helpers_options *o = options;
  sn_skin_options skin = o->skin;
  int vertices = examples->rest.vertex_count, helpers = o->helpers < vertices ? o->helpers : vertices;
  if (helpers < o->helpers)
    snprintf(report->note, sizeof report->note, "helpers=%d: the mesh has %d vertices, and at most as many helpers",
             o->helpers, helpers);
  if (examples->values.count > 0)
    return sn_faces_train(ctx, &(sn_helpers_options){skin, helpers ? helpers : usual, o->numbers}, examples, keys,
                          plan, report);
  sn_arena memory = sn_arena_new(ctx);
  sn_helper_solve s = {
    .ctx = ctx, .memory = &memory, .examples = examples, .influences = skin.influences, .helper_count = helpers};
  if (examples->skeleton.joint_count == 1)
    sn_helper_note(report, "the skeleton has one joint: helpers follow its rotation in space");
  sn_status status = choose(&s, &skin, keys, report);
  if (status == SN_OK)
    status = sn_train_skin(ctx, &(sn_skin_task){&skin, examples, SN_RT_BLEND_LINEAR, keys}, &s.base);
  helpers = s.helper_count;
  do {
    sn_plan_free(plan), sn_skin_free(&s.skin), s.helper_count = helpers, s.placed_count = 0;
    *plan = sn_plan_new(ctx, examples);
    if (status == SN_OK) status = solve(&s, keys, plan, report);
  } while (status == SN_OK && o->helpers == 0 && s.helper_count > 0 &&
           has_fewer(ctx, examples, plan, &helpers, report));
  sn_skin_free(&s.base), sn_skin_free(&s.skin);
  sn_arena_free(&memory);
  return status;
}

static const sn_option own[] = {
  {"helpers", SN_OPTION_INT, offsetof(sn_helpers_options, helpers), "24", 1, 256, "auto", SN_OPTION_COMMON,
   "helper joints at most; auto: by cross-validation"},
  {"numbers", SN_OPTION_INT, offsetof(sn_helpers_options, numbers), "0", 0, 1e6, NULL, SN_OPTION_COMMON,
   "with values: numbers in all bones' transforms together at most; 0: no limit"},
  {0},
};
static const sn_option_group groups[] = {
  {own, 0}, {sn_skin_option_table, offsetof(sn_helpers_options, skin)}, SN_METHOD_COMMON, {0}};

const sn_method sn_method_helpers = {
  .name = "helpers",
  .summary = "linear blend skinning with helper joints: plain bones for any engine",
  .options = groups,
  .needs_skeleton = true,
  .takes_values = true,
  .wants_skin = true,
  .vertex_bytes = 170,
  .train = train,
};
