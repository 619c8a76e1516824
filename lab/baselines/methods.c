// SPDX-License-Identifier: MIT
// Earlier methods (`mwe`, `animspace`, `mohr`, `sbs`, `hejl`, `alexa`, `wpsd`) as rows of `compare`. None writes a model.
#include "lab/baselines/baselines.h"
#include "lab/baselines/linear.h"
#include "lab/baselines/mohr.h"
#include "lab/baselines/sphere.h"
#include "train/skin/halfway.h"
#include "train/train.h"

bool sn_lab_has_no_model(const void *options) {
  (void)options;
  return true;
}

// The position of vertex i at a pose.
typedef sn_vec3 (*place_fn)(const void *learned, int i, const sn_affine *pose);

typedef struct place_job {
  const sn_examples *examples;
  const sn_keys *target;
  place_fn place;
  const void *learned;
  sn_frames *out;
} place_job;

static void place_range(void *user, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const place_job *job = user;
  for (int64_t i = begin; i < end; i++)
    for (int k = 0; k < job->target->count; k++) {
      const sn_affine *pose = sn_pose(&job->examples->poses, job->target->frames[k]);
      sn_vec3_store(job->place(job->learned, (int)i, pose), sn_frame_mutable(job->out, k)[i]);
    }
}

static sn_status place_all(sn_context *ctx, const sn_examples *examples, const sn_keys *target, place_fn place,
                           const void *learned, sn_frames *out) {
  place_job job = {examples, target, place, learned, out};
  sn_status status = sn_frames_new(ctx, examples->rest.vertex_count, target->count, out);
  if (status == SN_OK) sn_parallel_for(ctx, examples->rest.vertex_count, 16, place_range, &job);
  return status;
}

// ---- mwe, animspace -------------------------------------------------------------------------------------------------------

typedef struct linear_row {
  sn_linear_fit fit;
  const sn_mesh *rest;
} linear_row;

static sn_vec3 place_linear(const void *learned, int i, const sn_affine *pose) {
  const linear_row *row = learned;
  return sn_linear_at(&row->fit, i, sn_vec3_from(row->rest->positions[i]), pose);
}

static sn_status predict_linear(sn_context *ctx, const sn_linear_kind *kind, const sn_skin_options *options,
                                const sn_examples *examples, const sn_keys *keys, const sn_keys *target,
                                sn_frames *out) {
  sn_arena memory = sn_arena_new(ctx);
  linear_row row = {.rest = &examples->rest};
  *out = (sn_frames){0};
  sn_status status = sn_linear_train(ctx, &memory, kind, options, examples, keys, &row.fit);
  if (status == SN_OK) status = place_all(ctx, examples, target, place_linear, &row, out);
  sn_skin_free(&row.fit.skin);
  sn_arena_free(&memory);
  return status;
}

static sn_status predict_mwe(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                             const sn_keys *target, sn_frames *out) {
  return predict_linear(ctx, &sn_linear_mwe, options, examples, keys, target, out);
}

static sn_status predict_animspace(sn_context *ctx, const void *options, const sn_examples *examples,
                                   const sn_keys *keys, const sn_keys *target, sn_frames *out) {
  return predict_linear(ctx, &sn_linear_animspace, options, examples, keys, target, out);
}

static const sn_option_group skin_groups[] = {{sn_skin_option_table, 0}, {0}};

// ---- mohr -----------------------------------------------------------------------------------------------------------------

typedef struct mohr_options {
  int influences, rounds;
  bool extra;
} mohr_options;

// The poses, with half-way and scaling joints appended to those of the skeleton.
static sn_status add_extra_joints(sn_context *ctx, const sn_examples *examples, sn_poses *out) {
  sn_plan plan = sn_plan_new(ctx, examples);
  sn_status status = sn_halfway_palette(ctx, examples, &plan, out);
  sn_plan_free(&plan);
  return status;
}

static sn_vec3 place_mohr(const void *learned, int i, const sn_affine *pose) {
  const sn_mohr_fit *fit = learned;
  return sn_skin_blend(&fit->skin, i, pose, sn_vec3_from(fit->rest[i]));
}

static sn_status predict_mohr(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                              const sn_keys *target, sn_frames *out) {
  const mohr_options *o = options;
  sn_arena memory = sn_arena_new(ctx);
  sn_examples wide = *examples;
  sn_poses poses = {0};
  sn_mohr_fit fit = {0};
  *out = (sn_frames){0};
  sn_status status = o->extra ? add_extra_joints(ctx, examples, &poses) : SN_OK;
  if (o->extra) wide.poses = poses;
  if (status == SN_OK) status = sn_mohr_train(ctx, &memory, &wide, keys, o->influences, o->rounds, &fit);
  if (status == SN_OK) status = place_all(ctx, &wide, target, place_mohr, &fit, out);
  sn_poses_free(&poses);
  sn_skin_free(&fit.skin);
  sn_arena_free(&memory);
  return status;
}

static const sn_option mohr_table[] = {
  {"influences", SN_OPTION_INT, offsetof(mohr_options, influences), "4", 1, 8, NULL, SN_OPTION_ADVANCED,
   "most joints of a vertex"},
  {"rounds", SN_OPTION_INT, offsetof(mohr_options, rounds), "20", 1, 1000, NULL, SN_OPTION_ADVANCED,
   "most rounds of weights and rest positions"},
  {"extra", SN_OPTION_SWITCH, offsetof(mohr_options, extra), "1", 0, 1, NULL, SN_OPTION_ADVANCED,
   "1: with half-way and scaling joints; 0: the skeleton's alone"},
  {0},
};
static const sn_option_group mohr_groups[] = {{mohr_table, 0}, {0}};

// ---- sbs, hejl, alexa -------------------------------------------------------------------------------------------------------

typedef sn_vec3 (*blend_fn)(int count, const sn_affine *matrices, const double *weights, sn_vec3 near, sn_vec3 v);

typedef struct rigid_row {
  blend_fn blend;
  sn_skin skin;
  const sn_examples *examples;
} rigid_row;

// An undetermined centre is taken nearest to the mean position of the vertex's joints in the rest pose.
static sn_vec3 place_rigid(const void *learned, int i, const sn_affine *pose) {
  enum { most = SN_RT_MAX_INFLUENCES };
  const rigid_row *row = learned;
  sn_affine matrices[most];
  double weights[most];
  sn_vec3 middle = {0, 0, 0};
  int count = 0;
  for (int k = 0; k < row->skin.influences && count < most; k++) {
    size_t at = (size_t)i * (size_t)row->skin.influences + (size_t)k;
    if (!(row->skin.weights[at] > 0)) continue;
    int j = row->skin.joints[at];
    const sn_affine *rest = &row->examples->skeleton.rest[j];
    matrices[count] = pose[j], weights[count++] = (double)row->skin.weights[at];
    middle = sn_vec3_add(middle, (sn_vec3){rest->m[0][3], rest->m[1][3], rest->m[2][3]});
  }
  sn_vec3 v = sn_vec3_from(row->examples->rest.positions[i]);
  return count ? row->blend(count, matrices, weights, sn_vec3_scale(middle, 1.0 / count), v) : v;
}

static sn_status predict_rigid(sn_context *ctx, rigid_row row, const void *options, const sn_keys *keys,
                               const sn_keys *target, sn_frames *out) {
  *out = (sn_frames){0};
  sn_status status = sn_train_skin(ctx, &(sn_skin_task){options, row.examples, SN_RT_BLEND_LINEAR, keys}, &row.skin);
  if (status == SN_OK && row.skin.influences > SN_RT_MAX_INFLUENCES) {
    status = sn_fail(ctx, SN_BAD_INPUT, "the skin has %d influences per vertex, at most %d are possible",
                     row.skin.influences, SN_RT_MAX_INFLUENCES);
  }
  if (status == SN_OK) status = place_all(ctx, row.examples, target, place_rigid, &row, out);
  sn_skin_free(&row.skin);
  return status;
}

static sn_status predict_sbs(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                             const sn_keys *target, sn_frames *out) {
  return predict_rigid(ctx, (rigid_row){.blend = sn_sphere_at, .examples = examples}, options, keys, target, out);
}

static sn_status predict_hejl(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                              const sn_keys *target, sn_frames *out) {
  return predict_rigid(ctx, (rigid_row){.blend = sn_hejl_at, .examples = examples}, options, keys, target, out);
}

static sn_status predict_alexa(sn_context *ctx, const void *options, const sn_examples *examples, const sn_keys *keys,
                               const sn_keys *target, sn_frames *out) {
  return predict_rigid(ctx, (rigid_row){.blend = sn_alexa_at, .examples = examples}, options, keys, target, out);
}

// ---- the rows -------------------------------------------------------------------------------------------------------------

#define ROW .needs_skeleton = true, .has_no_model = sn_lab_has_no_model
static const sn_method rows[] = {
  {"mwe", "multi-weight enveloping (Wang and Phillips 2002); only a row of compare", skin_groups, ROW,
   .predict = predict_mwe, .vertex_bytes = 500},
  {"animspace", "animation space (Merry, Marais and Gain 2006); only a row of compare", skin_groups, ROW,
   .predict = predict_animspace, .vertex_bytes = 500},
  {"mohr", "extra joints, influence sets, fitted rest (Mohr and Gleicher 2003); only a row of compare", mohr_groups,
   ROW, .predict = predict_mohr, .vertex_bytes = 100, .pose_bytes = 24},
  {"sbs", "spherical blend skinning (Kavan and Zara 2005); only a row of compare", skin_groups, ROW,
   .needs_no_frames = sn_skin_needs_no_frames, .predict = predict_sbs},
  {"hejl", "blended quaternions and translations (Hejl 2004); only a row of compare", skin_groups, ROW,
   .needs_no_frames = sn_skin_needs_no_frames, .predict = predict_hejl},
  {"alexa", "blended logarithms of matrices (Alexa 2002); only a row of compare", skin_groups, ROW,
   .needs_no_frames = sn_skin_needs_no_frames, .predict = predict_alexa},
};

void sn_lab_add_methods(void) {
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) sn_methods_add(&rows[k]);
  sn_methods_add(&sn_lab_wpsd);
}
