// SPDX-License-Identifier: MIT
// The files of a set of examples by the names of their options, and what is done with them once they are loaded.
#include <string.h>

#include "job/job.h"
#include "sinew/model.h"

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
  return find_input(&none, name).name || is_one_of(name, adjustments) || strcmp(name, "pose") == 0;
}

sn_status sn_inputs_add(sn_context *ctx, sn_inputs *in, const char *name, const char *text) {
  if (is_one_of(name, adjustments)) return sn_adjust_option(ctx, name, text, in->load.adjust);
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
  return sn_examples_load(ctx, o, out);
}

sn_status sn_inputs_sculpt(sn_context *ctx, const sn_inputs *in, sn_examples *examples) {
  return sn_examples_sculpt(ctx, &in->load, in->poses, in->pose_count, examples);
}

sn_status sn_inputs_retarget(sn_context *ctx, const sn_inputs *in, const sn_rt_model *model, sn_examples *examples,
                             char *told, size_t size) {
  sn_skeleton ours = {0};
  told[0] = '\0';
  if (model->info.joint_count == 0 || examples->poses.joint_count == 0) return SN_OK;
  sn_status status = sn_model_skeleton(ctx, model, &ours);
  if (status == SN_OK) status = sn_examples_retarget(ctx, &ours, in->map, examples, told, size);
  sn_skeleton_free(&ours);
  const char *name = in->skeletons.count > 0 ? in->skeletons.texts[in->skeletons.count - 1] : "skeleton";
  return status == SN_BAD_INPUT && !in->map ? sn_fail_prefix(ctx, "%s: ", name) : status;
}
