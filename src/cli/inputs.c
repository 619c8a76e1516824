// SPDX-License-Identifier: MIT
// Options that mean the same everywhere, and what they load.
#include "cli/inputs.h"
#include "cli/team.h"
#include "cli/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool sn_cli_is_scene(const char *path) { return sn_format_does(path, SN_WRITES_RIG); }

// Frames without faces.
bool sn_cli_is_point_cache(const char *path) {
  return sn_format_does(path, SN_READS_FRAMES) && !sn_format_does(path, SN_READS_MESH);
}

enum { most_files = 64 };

// The files of an option and, behind them, those of its test clips. -1 where there are too many.
static int list_files(const cli *c, const char *name, const char *test_name, const char **out, int *test_count) {
  int count = sn_cli_texts(c, name, out, most_files);
  if (count > most_files) return -1;
  *test_count = sn_cli_texts(c, test_name, out + count, most_files - count);
  return count + *test_count > most_files ? -1 : count + *test_count;
}

static sn_status check_test_clips(cli *c, const sn_load_options *options, int test_skeletons) {
  if (options->test_count == 0 && test_skeletons == 0) return SN_OK;
  if (options->frames_count == options->test_count) {
    return sn_fail(&c->ctx, SN_BAD_INPUT, "clips that are only tested on need clips to train on: --frames FILE");
  }
  if (options->skeleton_count > 0 && options->test_count != test_skeletons) {
    return sn_fail(&c->ctx, SN_BAD_INPUT,
                   "%d --test-frames and %d --test-skeleton: they pair up in order, so give as many of each",
                   options->test_count, test_skeletons);
  }
  return SN_OK;
}

sn_status sn_cli_adjust(cli *c, sn_adjust adjust[SN_FILE_KINDS]) {
  static const char *const names[] = {"--scale", "--axes", "--offset"};
  sn_status status = SN_OK;
  memset(adjust, 0, SN_FILE_KINDS * sizeof *adjust);
  for (int k = 0; k < 3; k++) {
    const char *texts[most_files];
    int count = sn_cli_texts(c, names[k], texts, most_files);
    for (int t = 0; t < count && t < most_files && status == SN_OK; t++) {
      status = sn_adjust_option(&c->ctx, names[k] + 2, texts[t], adjust);
    }
  }
  return status;
}

static sn_status load(cli *c, bool still, sn_examples *out) {
  const char *frames[most_files], *skeletons[most_files], *clips[most_files], *objects[CLI_MOST_OBJECTS];
  int test_skeletons = 0;
  sn_choice choice;
  sn_load_options options = sn_load_options_default();
  options.rest = sn_cli_text(c, "--rest");
  options.frames = frames, options.skeletons = skeletons;
  options.frames_count = list_files(c, "--frames", "--test-frames", frames, &options.test_count);
  options.skeleton_count = list_files(c, "--skeleton", "--test-skeleton", skeletons, &test_skeletons);
  if (options.frames_count < 0 || options.skeleton_count < 0) {
    return sn_fail(&c->ctx, SN_BAD_INPUT, "at most %d --frames and --skeleton, test clips included", most_files);
  }
  sn_status status = check_test_clips(c, &options, test_skeletons);
  if (status == SN_OK) status = sn_cli_choice(c, objects, &choice);
  if (status == SN_OK) status = sn_cli_adjust(c, options.adjust);
  if (status != SN_OK) return status;
  options.clip_count = sn_cli_texts(c, "--clip", clips, most_files);
  options.clips = clips;
  if (options.clip_count > most_files) {
    return sn_fail(&c->ctx, SN_BAD_INPUT, "at most %d --clip; --clip all takes every one", most_files);
  }
  options.fps = choice.fps;
  options.object_count = choice.object_count, options.objects = choice.objects;
  const char *solve = sn_cli_text(c, "--solve");
  options.still_skeleton = still || (solve && strcmp(solve, "weights") != 0); // motion is not wanted, or looked for
  options.torque = sn_cli_text(c, "--torque");
  options.values = sn_cli_text(c, "--values");
  options.controls = sn_cli_text(c, "--controls");
  if (options.controls && sn_cli_is_point_cache(options.controls))
    options.controls = NULL; // positions: for the evaluation
  options.match = sn_cli_text(c, "--match");
  status = sn_examples_load(&c->ctx, &options, out);
  if (status == SN_OK) {
    status = sn_cli_team_check(c, out);
    if (status != SN_OK) sn_examples_free(out);
  }
  for (int k = 0; status == SN_OK && k < out->note_count; k++) {
    sn_cli_name_options(c, out->notes[k]);
    sn_cli_say(c, "note: %s\n", out->notes[k]);
  }
  return status;
}

sn_status sn_cli_load(cli *c, sn_examples *out) { return load(c, false, out); }

sn_status sn_cli_load_still(cli *c, sn_examples *out) {
  sn_status status = load(c, true, out);
  if (status != SN_OK || out->rest.vertex_count > 0) return status;
  sn_examples_free(out);
  return sn_fail(&c->ctx, SN_BAD_INPUT, "a rest mesh is needed: --rest FILE");
}

sn_status sn_cli_load_frames(cli *c, sn_examples *out) {
  sn_status status = sn_cli_load(c, out);
  if (status == SN_OK && sn_cli_given(c, "--pose")) {
    status = sn_cli_add_sculpts(c, out);
    if (status != SN_OK) sn_examples_free(out);
  }
  if (status != SN_OK || out->frames.frame_count > 0) return status;
  sn_examples_free(out);
  return sn_fail(&c->ctx, SN_BAD_INPUT, "example frames are needed: --frames FILE");
}

// Which frames were chosen, for whoever is to sculpt or simulate them.
static void tell_keys(cli *c, const sn_keys *keys) {
  json_t *list = json_array();
  sn_cli_say(c, "frames chosen:");
  for (int k = 0; k < keys->count; k++) {
    sn_cli_say(c, "%s%d", k > 0 ? "," : " ", keys->frames[k]);
    json_array_append_new(list, json_integer(keys->frames[k]));
  }
  sn_cli_say(c, "\n");
  c->keys = list;
}

sn_status sn_cli_keys(cli *c, const sn_examples *examples, sn_keys *keys, sn_keys *others) {
  const char *spec = sn_cli_text(c, "--keys");
  sn_status status = sn_train_keys(&c->ctx, examples, spec, c->seed, keys, others);
  if (status == SN_OK && strncmp(spec, "auto:", 5) == 0) tell_keys(c, keys);
  return status;
}

static const double least_fps = 1e-3, most_fps = 1e6;

double sn_cli_fps(const cli *c) {
  const char *text = sn_cli_text(c, "--fps");
  char *end = NULL;
  double fps = text ? strtod(text, &end) : 0;
  return text && *text && !*end && fps >= least_fps && fps <= most_fps ? fps : 0;
}

double sn_cli_rate(const cli *c, const sn_frames *frames) {
  return !sn_cli_given(c, "--fps") && frames->rate > 0 ? frames->rate : sn_cli_fps(c);
}

sn_status sn_cli_choice(cli *c, const char **objects, sn_choice *out) {
  *out = (sn_choice){.clip = sn_cli_text(c, "--clip"), .objects = objects};
  out->object_count = sn_cli_texts(c, "--object", objects, CLI_MOST_OBJECTS);
  if (out->object_count > CLI_MOST_OBJECTS) {
    return sn_fail(&c->ctx, SN_BAD_INPUT, "at most %d --object", CLI_MOST_OBJECTS);
  }
  if (sn_cli_given(c, "--fps")) out->fps = sn_cli_fps(c);
  if (sn_cli_given(c, "--fps") && out->fps <= 0) {
    return sn_fail(&c->ctx, SN_BAD_INPUT, "--fps %s: must be a positive number, from %g to %g",
                   sn_cli_text(c, "--fps"), least_fps, most_fps);
  }
  return SN_OK;
}

cli_figure_text sn_cli_figure(double value, int decimals) {
  cli_figure_text out = {"-"};
  if (isfinite(value)) snprintf(out.text, sizeof out.text, fabs(value) < 1e9 ? "%.*f" : "%.*g", decimals, value);
  return out;
}

bool sn_cli_has_folder(cli *c, const char *path) {
  const char *slash = strrchr(path, '/');
  char folder[4096];
  if (!slash || slash == path) return true;
  snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
  if (access(folder, F_OK) == 0) return true;
  sn_fail(&c->ctx, SN_IO, "%s: there is no folder %s", path, folder);
  return false;
}
