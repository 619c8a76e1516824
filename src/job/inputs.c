// SPDX-License-Identifier: MIT
// The files of a set of examples by the names of their options, and what is done with them once they are loaded.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job/job.h"
#include "sinew/model.h"

bool sn_is_scene(const char *path) { return sn_format_does(path, SN_WRITES_RIG); }

bool sn_is_point_cache(const char *path) {
  return sn_format_does(path, SN_READS_FRAMES) && !sn_format_does(path, SN_READS_MESH);
}

static bool is_one_of(const char *name, const char *const *names) {
  while (*names && strcmp(*names, name) != 0) names++;
  return *names != NULL;
}

static const char *const adjustments[] = {"scale", "axes", "offset", NULL};

typedef struct named_input {
  const char *name, **one;
  sn_input_list *many;
} named_input;

enum { named_count = 12 };

static named_input find_input(sn_inputs *in, const char *name) {
  const named_input all[named_count] = {{"rest", &in->load.rest, NULL},
                                        {"torque", &in->load.torque, NULL},
                                        {"values", &in->load.values, NULL},
                                        {"controls", &in->load.controls, NULL},
                                        {"match", &in->load.match, NULL},
                                        {"map", &in->map, NULL},
                                        {"frames", NULL, &in->frames},
                                        {"skeleton", NULL, &in->skeletons},
                                        {"test-frames", NULL, &in->test_frames},
                                        {"test-skeleton", NULL, &in->test_skeletons},
                                        {"clip", NULL, &in->clips},
                                        {"object", NULL, &in->objects}};
  int k = 0;
  while (k < named_count && strcmp(all[k].name, name) != 0) k++;
  return k < named_count ? all[k] : (named_input){0};
}

bool sn_input_known(const char *name) {
  sn_inputs none;
  return find_input(&none, name).name || is_one_of(name, adjustments) || strcmp(name, "pose") == 0 ||
         strcmp(name, "fps") == 0;
}

static sn_status set_rate(sn_context *ctx, const char *text, double *out) {
  static const double least = 1e-3, most = 1e6;
  char *end = NULL;
  *out = strtod(text, &end);
  if (*text && !*end && *out >= least && *out <= most) return SN_OK;
  return sn_fail(ctx, SN_BAD_INPUT, "`fps` %s: must be a positive number, from %g to %g", text, least, most);
}

sn_status sn_inputs_add(sn_context *ctx, sn_inputs *in, const char *name, const char *text) {
  if (is_one_of(name, adjustments)) return sn_adjust_option(ctx, name, text, in->load.adjust);
  if (strcmp(name, "fps") == 0) return set_rate(ctx, text, &in->load.fps);
  bool pose = strcmp(name, "pose") == 0;
  if (pose && in->pose_count < SN_MOST_POSES) {
    in->poses[in->pose_count++] = text;
    return SN_OK;
  }
  named_input at = find_input(in, name);
  if (at.one) {
    *at.one = text;
    return SN_OK;
  }
  if (at.many && at.many->count < SN_MOST_INPUTS) {
    at.many->texts[at.many->count++] = text;
    return SN_OK;
  }
  if (!at.many && !pose) return sn_fail(ctx, SN_BAD_INPUT, "no files are called '%s'", name);
  return sn_fail(ctx, SN_BAD_INPUT, "at most %d of `%s`", pose ? SN_MOST_POSES : SN_MOST_INPUTS, name);
}

void sn_inputs_note(const sn_inputs *in, const char *format, ...) {
  char line[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  if (in->note) in->note(in->user, line);
}

double sn_inputs_rate(const sn_inputs *in, const sn_frames *frames) {
  if (in->load.fps > 0) return in->load.fps;
  return frames->rate > 0 ? frames->rate : SN_DEFAULT_FPS;
}

sn_choice sn_inputs_choice(const sn_inputs *in, sn_file_kind kind) {
  return (sn_choice){.clip = in->clips.count > 0 ? in->clips.texts[in->clips.count - 1] : NULL,
                     .fps = in->load.fps,
                     .object_count = in->objects.count,
                     .objects = in->objects.texts,
                     .adjust = in->load.adjust[kind]};
}

// The files of `more` behind those of `list`.
static sn_status append(sn_context *ctx, sn_input_list *list, const sn_input_list *more) {
  if (list->count + more->count > SN_MOST_INPUTS)
    return sn_fail(ctx, SN_BAD_INPUT, "at most %d `frames` and `skeleton`, test clips included", SN_MOST_INPUTS);
  memcpy(list->texts + list->count, more->texts, (size_t)more->count * sizeof *more->texts);
  list->count += more->count;
  return SN_OK;
}

sn_status sn_inputs_load(sn_context *ctx, sn_inputs *in, sn_examples *out) {
  sn_load_options *o = &in->load;
  int tests = in->test_frames.count, test_skeletons = in->test_skeletons.count;
  if (tests + test_skeletons > 0 && in->frames.count == 0)
    return sn_fail(ctx, SN_BAD_INPUT, "clips that are only tested on need clips to train on: `frames` FILE");
  if (in->skeletons.count + test_skeletons > 0 && tests != test_skeletons)
    return sn_fail(ctx, SN_BAD_INPUT,
                   "%d `test-frames` and %d `test-skeleton`: they pair up in order, so give as many of each", tests,
                   test_skeletons);
  sn_status status = append(ctx, &in->frames, &in->test_frames);
  if (status == SN_OK) status = append(ctx, &in->skeletons, &in->test_skeletons);
  if (status != SN_OK) return status;
  o->test_count = tests;
  o->frames_count = in->frames.count, o->frames = in->frames.texts;
  o->skeleton_count = in->skeletons.count, o->skeletons = in->skeletons.texts;
  o->clip_count = in->clips.count, o->clips = in->clips.texts;
  o->object_count = in->objects.count, o->objects = in->objects.texts;
  if (o->controls && sn_is_point_cache(o->controls)) o->controls = NULL; // positions: for the evaluation
  status = sn_examples_load(ctx, o, out);
  if (status == SN_OK && in->loaded) {
    status = in->loaded(in->user, out);
    if (status != SN_OK) sn_examples_free(out);
  }
  for (int k = 0; status == SN_OK && k < out->note_count; k++) sn_inputs_note(in, "note: %s", out->notes[k]);
  return status;
}

sn_status sn_inputs_sculpt(sn_context *ctx, const sn_inputs *in, sn_examples *examples) {
  sn_status status = SN_OK;
  if (in->pose_count > 0) status = sn_examples_sculpt(ctx, &in->load, in->poses, in->pose_count, examples);
  if (status != SN_OK || examples->frames.frame_count > 0) return status;
  return sn_fail(ctx, SN_BAD_INPUT, "example frames are needed: `frames` FILE");
}

sn_status sn_inputs_retarget(sn_context *ctx, const sn_inputs *in, const sn_rt_model *model, sn_examples *examples) {
  sn_skeleton ours = {0};
  char matched[700] = "";
  if (model->info.joint_count == 0 || examples->poses.joint_count == 0) return SN_OK;
  sn_status status = sn_model_skeleton(ctx, model, &ours);
  if (status == SN_OK) status = sn_examples_retarget(ctx, &ours, in->map, examples, matched, sizeof matched);
  sn_skeleton_free(&ours);
  const char *name = in->skeletons.count > 0 ? in->skeletons.texts[in->skeletons.count - 1] : "skeleton";
  if (status == SN_OK && matched[0]) sn_inputs_note(in, "%s: %s", name, matched);
  return status == SN_BAD_INPUT && !in->map ? sn_fail_prefix(ctx, "%s: ", name) : status;
}

sn_status sn_open_model(sn_context *ctx, const char *path, sn_opened *out) {
  *out = (sn_opened){0};
  sn_status status = sn_file_open(ctx, path, &out->file);
  if (status != SN_OK) return status;
  status = sn_model_open(ctx, path, out->file.bytes, out->file.size, &out->model);
  if (status != SN_OK) sn_opened_close(out);
  return status;
}

sn_status sn_open_as_file(sn_context *ctx, const char *path, sn_opened *out) {
  sn_status status = sn_open_model(ctx, path, out);
  if (status != SN_OK || !sn_rt_get_order(&out->model, NULL)) return status;
  sn_rt_model renumbered = out->model;
  status = sn_model_open_as_file(ctx, path, &renumbered, &out->as_file, &out->model);
  if (status != SN_OK) sn_opened_close(out);
  return status;
}

void sn_opened_close(sn_opened *opened) {
  sn_model_free(&opened->as_file);
  sn_file_close(&opened->file);
}
