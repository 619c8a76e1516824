// SPDX-License-Identifier: MIT
// Sets files and options of jobs by name, and loads the files.
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "job/job.h"
#include "sinew/model.h"

bool sn_is_scene(const char *path) { return sn_format_does(path, SN_WRITES_RIG); }

// ---- by name --------------------------------------------------------------------------------------------------------------

typedef struct named_input {
  const char *name;
  enum { text, many_texts, number, switched } kind;
  size_t offset;            // in sn_inputs
  double smallest, largest; // of a number
} named_input;

#define INPUT(name, kind, field)                                                                                     \
  { name, kind, offsetof(sn_inputs, field), 0, 0 }
#define LIMITED(name, field, smallest, largest)                                                                      \
  { name, number, offsetof(sn_inputs, field), smallest, largest }

static const named_input named_inputs[] = {
  INPUT("rest", text, load.rest),
  INPUT("torque", text, load.torque),
  INPUT("values", text, load.values),
  INPUT("controls", text, load.controls),
  INPUT("match", text, load.match),
  INPUT("map", text, map),
  INPUT("keys", text, keys),
  INPUT("mirror", text, mirror),
  INPUT("solve", text, solve),
  INPUT("lock", text, lock),
  INPUT("rest-frame", text, rest_frame),
  INPUT("models", text, models),
  INPUT("frames", many_texts, frames),
  INPUT("skeleton", many_texts, skeletons),
  INPUT("test-frames", many_texts, test_frames),
  INPUT("test-skeleton", many_texts, test_skeletons),
  INPUT("clip", many_texts, clips),
  INPUT("object", many_texts, objects),
  INPUT("pose", many_texts, poses),
  LIMITED("fps", load.fps, 1e-3, 1e6),
  LIMITED("max-bytes", limits.bytes, 1e-9, 1e15),
  LIMITED("max-time", limits.time, 1e-9, 1e15),
  LIMITED("error", limits.error, 1e-9, 1e15),
  INPUT("keep-bones", switched, keep_bones),
  INPUT("keep-weights", switched, keep_weights),
  INPUT("heat", switched, heat),
  INPUT("unordered", switched, unordered),
  INPUT("curve", switched, limits.curve),
  {0},
};

static const named_input *find_input(const char *name) {
  const named_input *input = named_inputs;
  while (input->name && strcmp(input->name, name) != 0) input++;
  return input->name ? input : NULL;
}

static bool is_adjustment(const char *name) { return sn_option_choice("scale|axes|offset", name) >= 0; }

bool sn_input_known(const char *name) { return is_adjustment(name) || find_input(name); }

static sn_status set_number(sn_context *ctx, const named_input *input, const char *given, double *out) {
  char *end = NULL;
  double value = strtod(given, &end);
  if (!*given || *end || !(value >= input->smallest && value <= input->largest))
    return sn_fail(ctx, SN_BAD_INPUT, "`%s` %s: must be a positive number, from %g to %g", input->name, given,
                   input->smallest, input->largest);
  *out = value;
  return SN_OK;
}

sn_status sn_inputs_add(sn_context *ctx, sn_inputs *in, const char *name, const char *given) {
  if (is_adjustment(name)) return sn_adjust_option(ctx, name, given, in->load.adjust);
  const named_input *input = find_input(name);
  if (!input) return sn_fail(ctx, SN_BAD_INPUT, "there is no option '%s'", name);
  void *field = (char *)in + input->offset;
  sn_input_list *list = field;
  if (input->kind == number) return set_number(ctx, input, given, field);
  if (input->kind == many_texts && list->count == SN_MOST_INPUTS)
    return sn_fail(ctx, SN_BAD_INPUT, "at most %d of `%s`", SN_MOST_INPUTS, name);
  if (input->kind == many_texts) list->texts[list->count++] = given;
  if (input->kind == text) *(const char **)field = given;
  if (input->kind == switched) *(bool *)field = true;
  return SN_OK;
}

void sn_inputs_note(const sn_inputs *in, const char *format, ...) {
  char line[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  if (in->note) in->note(in->user, line);
}

sn_choice sn_inputs_choice(const sn_inputs *in, sn_file_kind kind) {
  return (sn_choice){.clip = in->clips.count > 0 ? in->clips.texts[in->clips.count - 1] : NULL,
                     .fps = in->load.fps,
                     .object_count = in->objects.count,
                     .objects = in->objects.texts,
                     .adjust = in->load.adjust[kind]};
}

// Appends the files of `more` to `list`.
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
    return sn_fail(ctx, SN_BAD_INPUT, "test clips need clips to train on: give `frames` FILE");
  if (in->skeletons.count + test_skeletons > 0 && tests != test_skeletons)
    return sn_fail(ctx, SN_BAD_INPUT,
                   "%d `test-frames` and %d `test-skeleton`: they pair up in order, so give as many of each", tests,
                   test_skeletons);
  SN_TRY(append(ctx, &in->frames, &in->test_frames));
  SN_TRY(append(ctx, &in->skeletons, &in->test_skeletons));
  o->test_count = tests;
  o->frames_count = in->frames.count, o->frames = in->frames.texts;
  o->skeleton_count = in->skeletons.count, o->skeletons = in->skeletons.texts;
  o->clip_count = in->clips.count, o->clips = in->clips.texts;
  o->object_count = in->objects.count, o->objects = in->objects.texts;
  if (o->controls && sn_is_point_cache(o->controls)) o->controls = NULL; // positions, read by the evaluation
  SN_TRY(sn_examples_load(ctx, o, out));
  sn_status status = in->loaded ? in->loaded(in->user, out) : SN_OK;
  for (int k = 0; status == SN_OK && k < out->note_count; k++) sn_inputs_note(in, "note: %s", out->notes[k]);
  if (status != SN_OK) sn_examples_free(out);
  return status;
}

sn_status sn_inputs_sculpt(sn_context *ctx, const sn_inputs *in, sn_examples *examples) {
  if (in->poses.count > 0) SN_TRY(sn_examples_sculpt(ctx, &in->load, in->poses.texts, in->poses.count, examples));
  if (examples->frames.frame_count > 0) return SN_OK;
  return sn_fail(ctx, SN_BAD_INPUT,
                 "example frames are needed: give `frames` FILE; only models of lbs, dqs and cor with weights=given "
                 "need none");
}

sn_status sn_inputs_retarget(sn_context *ctx, const sn_inputs *in, const sn_rt_model *model, sn_examples *examples) {
  SN_FREED_BY(sn_skeleton_free) sn_skeleton ours = {0};
  char matched[700] = "";
  if (model->info.joint_count == 0 || examples->poses.joint_count == 0) return SN_OK;
  SN_TRY(sn_model_skeleton(ctx, model, &ours));
  sn_status status = sn_examples_retarget(ctx, &ours, in->map, examples, matched, sizeof matched);
  const char *name = in->skeletons.count > 0 ? in->skeletons.texts[in->skeletons.count - 1] : "skeleton";
  if (status == SN_OK && matched[0]) sn_inputs_note(in, "%s: %s", name, matched);
  return status == SN_BAD_INPUT && !in->map ? sn_fail_prefix(ctx, "%s: ", name) : status;
}

sn_status sn_open_model(sn_context *ctx, const char *path, sn_opened *out) {
  *out = (sn_opened){0};
  SN_TRY(sn_file_open(ctx, path, &out->file));
  sn_status status = sn_model_open(ctx, path, out->file.bytes, out->file.size, &out->model);
  if (status != SN_OK) sn_opened_close(out);
  if (status == SN_BAD_FILE && sn_is_scene(path))
    return sn_fail(ctx, status, "%s is no model but a character; `sinew train` makes a model of it", path);
  return status;
}

sn_status sn_open_as_file(sn_context *ctx, const char *path, sn_opened *out) {
  sn_status status = sn_open_model(ctx, path, out);
  if (status != SN_OK || !sn_rt_get_order(&out->model, NULL)) return status;
  status = sn_model_open_as_file(ctx, path, &out->model, &out->as_file, &out->model);
  if (status != SN_OK) sn_opened_close(out);
  return status;
}

void sn_opened_close(sn_opened *opened) {
  sn_model_free(&opened->as_file);
  sn_file_close(&opened->file);
}
