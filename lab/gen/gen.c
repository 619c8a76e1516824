// SPDX-License-Identifier: MIT
// The table of sets.
#include <stdio.h>
#include <string.h>
#include "lab/gen/figure.h"

typedef struct gen_set {
  sn_gen_info info;
  sn_status (*make)(sn_context *ctx, const sn_gen_options *options, sn_examples *out);
  void (*figure)(sn_figure *figure, int joints); // where `make` is NULL
} gen_set;

static const gen_set sets[] = {
  {{"bar", "box beam, twisted 0 to 180 degrees, linear along its length", 41, 80, 2, 8}, sn_gen_bar, NULL},
  {{"elbow", "arm of two joints that bends and twists at once", 41, 2610, 2, 600}, NULL, sn_figure_elbow},
  {{"wrist", "forearm and hand, 180 degrees of twist taken up by the forearm", 41, 2000, 2, 400},
   NULL,
   sn_figure_wrist},
  {{"cylinder", "cylinder that bulges as its upper end is pushed down, with control points", 40, 2000, 2, 60},
   sn_gen_cylinder,
   NULL},
  {{"arm", "arm; muscles swell with angle and torque, nearly linear in torque", 50, 5256, 3, 600},
   NULL,
   sn_figure_arm},
  {{"leg", "thigh, calf and foot; muscles swell with the square of the torque", 86, 4000, 3, 300},
   NULL,
   sn_figure_leg},
  {{"shoulder", "chest and arm; three degrees of freedom, muscles slide under the skin", 60, 2610, 2, 300},
   NULL,
   sn_figure_shoulder},
  {{"hand", "forearm and hand; fingers, wrist and forearm move at once", 43, 7997, 18, 2000}, NULL, sn_figure_hand},
  {{"body", "standing figure with any number of joints and vertices", 49, 12500, 16, 2000}, NULL, sn_figure_body},
  {{"athlete", "figure; muscles swell with the joints' angles under a smoothed skin", 80, 4000, 21, 2000},
   NULL,
   sn_figure_athlete},
  {{"dancer", "the athlete in a skirt of six panels and two hanging sleeves that swing", 80, 8000, 29, 4000},
   NULL,
   sn_figure_dancer},
  {{"face", "head with six or more expressions that combine, as named values", 80, 6000, 1, 1500}, sn_gen_face, NULL},
};

enum {
  SET_COUNT = sizeof sets / sizeof sets[0],
  MOST_FRAMES = 100000,
  MOST_VERTICES = 2000000,
  MOST_TARGETS = 500,
  usual_targets = 6
};

sn_gen_options sn_gen_options_default(void) { return (sn_gen_options){.seed = 1}; }
int sn_gen_set_count(void) { return SET_COUNT; }
const sn_gen_info *sn_gen_set(int index) { return index >= 0 && index < SET_COUNT ? &sets[index].info : NULL; }

static sn_status unknown_set(sn_context *ctx, const char *name) {
  const char *names[SET_COUNT + 1] = {NULL};
  for (int k = 0; k < SET_COUNT; k++) names[k] = sets[k].info.name;
  return sn_fail_unknown(ctx, "set", name, names);
}

static const char *const motions[] = {"own", "rom", "mixed", "extreme", "lift"};

bool sn_gen_motion_named(const char *name, sn_gen_motion *out) {
  for (int k = 0; k <= SN_MOTION_LIFT; k++) {
    if (strcmp(name, motions[k]) != 0) continue;
    *out = (sn_gen_motion)k;
    return true;
  }
  return false;
}

const char *sn_gen_motion_name(sn_gen_motion motion) { return motions[motion]; }

static sn_status resolve(sn_context *ctx, const gen_set *set, sn_gen_options *options) {
  const sn_gen_info *info = &set->info;
  if (options->motion != SN_MOTION_OWN && !set->figure)
    return sn_fail(ctx, SN_BAD_INPUT, "%s has one motion only; leave out `motion`", info->name);
  if (options->frames == 0 && options->motion != SN_MOTION_ROM) options->frames = info->frames;
  if (options->vertices == 0) options->vertices = info->vertices;
  if (options->joints == 0) options->joints = info->joints;
  bool targets_asked = options->targets != 0;
  if (!targets_asked) options->targets = options->frames > usual_targets ? usual_targets : options->frames - 1;
  if (options->seed == 0) options->seed = sn_gen_options_default().seed;
  if (options->angles && set->figure != sn_figure_elbow)
    return sn_fail(ctx, SN_BAD_INPUT, "%s: only elbow takes `bend` and `twist`", info->name);
  if (options->angles && options->motion != SN_MOTION_OWN)
    return sn_fail(ctx, SN_BAD_INPUT, "`bend` and `twist` are of the set's own motion; leave out `motion`");
  if (options->angles &&
      (!(options->angles->bend >= 0 && options->angles->bend <= 150) || !(fabs(options->angles->twist) <= 180)))
    return sn_fail(ctx, SN_BAD_INPUT, "elbow: it bends by 0 to 150 degrees and twists by -180 to 180, not %g and %g",
                   options->angles->bend, options->angles->twist);
  if (options->square && (!set->figure || !(*options->square >= 0 && *options->square <= 1)))
    return sn_fail(ctx, SN_BAD_INPUT, "%s: `square` is from 0 to 1, and only figures with muscles have one",
                   info->name);
  bool as_needed = options->motion == SN_MOTION_ROM && options->frames == 0;
  if (!as_needed && (options->frames < 2 || options->frames > MOST_FRAMES))
    return sn_fail(ctx, SN_BAD_INPUT, "%s: %d frames; from 2 to %d are possible", info->name, options->frames,
                   MOST_FRAMES);
  if (options->vertices < info->min_vertices || options->vertices > MOST_VERTICES)
    return sn_fail(ctx, SN_BAD_INPUT, "%s: %d vertices; from %d to %d are possible", info->name, options->vertices,
                   info->min_vertices, MOST_VERTICES);
  if (set->make != sn_gen_face && targets_asked)
    return sn_fail(ctx, SN_BAD_INPUT, "%s has no expressions; only face takes `targets`", info->name);
  if (set->make == sn_gen_face && (options->targets < 1 || options->targets > MOST_TARGETS))
    return sn_fail(ctx, SN_BAD_INPUT, "face: %d targets; from 1 to %d are possible", options->targets, MOST_TARGETS);
  if (set->figure == sn_figure_body) {
    if (options->joints < 1 || options->joints > SN_FIGURE_JOINTS)
      return sn_fail(ctx, SN_BAD_INPUT, "body: %d joints; from 1 to %d are possible", options->joints,
                     SN_FIGURE_JOINTS);
  } else if (options->joints != info->joints) {
    return sn_fail(ctx, SN_BAD_INPUT, "%s has %d joints; only body takes another number", info->name, info->joints);
  }
  return SN_OK;
}

static sn_status make_figure(sn_context *ctx, const gen_set *set, const sn_gen_options *options, sn_examples *out) {
  sn_arena scratch = sn_arena_new(ctx);
  sn_figure *figure = sn_figure_new(ctx, &scratch);
  sn_status status = figure ? SN_OK : ctx->error.status;
  if (status == SN_OK) {
    sn_gen_options resolved = *options;
    set->figure(figure, options->joints);
    if (options->angles) sn_figure_elbow_angles(figure, options->angles);
    if (options->square) figure->torque_squared = *options->square;
    if (options->frames == 0) resolved.frames = sn_figure_rom_frames(figure);
    status = sn_figure_examples(ctx, figure, &resolved, out);
  }
  sn_arena_free(&scratch);
  return status;
}

// Sets that are made as a whole: their frames, for who takes them one by one.
static sn_status hand_over(sn_context *ctx, const sn_gen_options *options, sn_examples *out) {
  sn_frames frames = out->frames;
  out->frames =
    (sn_frames){.vertex_count = frames.vertex_count, .frame_count = frames.frame_count, .rate = frames.rate};
  sn_status status = SN_OK;
  for (int f = 0; f < frames.frame_count && status == SN_OK; f++)
    status = options->take(ctx, options->taker, out, f, sn_frame(&frames, f));
  sn_frames_free(&frames);
  return status;
}

static sn_status add_clip(sn_context *ctx, sn_examples *out) {
  out->clip_start = SN_NEW(ctx, &out->memory, int, 2);
  if (!out->clip_start) return ctx->error.status;
  out->clip_count = 1;
  out->clip_start[1] = out->frames.frame_count;
  return SN_OK;
}

sn_status sn_gen(sn_context *ctx, const sn_gen_options *options, sn_examples *out) {
  sn_gen_options resolved = *options;
  *out = (sn_examples){0};
  if (!options->set) return sn_fail(ctx, SN_BAD_INPUT, "no set is named");
  for (int k = 0; k < SET_COUNT; k++) {
    if (strcmp(sets[k].info.name, options->set) != 0) continue;
    sn_status status = resolve(ctx, &sets[k], &resolved);
    if (status == SN_OK) {
      status = sets[k].make ? sets[k].make(ctx, &resolved, out) : make_figure(ctx, &sets[k], &resolved, out);
    }
    if (status == SN_OK && sets[k].make && options->take) status = hand_over(ctx, options, out);
    if (status == SN_OK) status = add_clip(ctx, out);
    if (status != SN_OK) sn_examples_free(out);
    return status;
  }
  return unknown_set(ctx, options->set);
}
