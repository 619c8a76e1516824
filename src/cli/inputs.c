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

sn_status sn_cli_inputs(cli *c, sn_inputs *out) {
  *out = (sn_inputs){0};
  sn_status status = SN_OK;
  for (int k = 0; status == SN_OK && k < c->value_count; k++) {
    const char *name = c->values[k].option->name;
    if (strncmp(name, "--", 2) == 0 && sn_input_known(name + 2))
      status = sn_inputs_add(&c->ctx, out, name + 2, c->values[k].text);
  }
  return status;
}

sn_status sn_cli_adjust(cli *c, sn_adjust adjust[SN_FILE_KINDS]) {
  sn_inputs inputs;
  sn_status status = sn_cli_inputs(c, &inputs);
  memcpy(adjust, inputs.load.adjust, sizeof inputs.load.adjust);
  return status;
}

static sn_status load(cli *c, bool still, sn_examples *out) {
  const char *objects[CLI_MOST_OBJECTS], *solve = sn_cli_text(c, "--solve");
  sn_choice choice;
  sn_inputs inputs;
  sn_status status = sn_cli_inputs(c, &inputs);
  if (status == SN_OK) status = sn_cli_choice(c, objects, &choice);
  if (status != SN_OK) return status;
  sn_load_options *options = &inputs.load;
  options->fps = choice.fps;
  options->still_skeleton = still || (solve && strcmp(solve, "weights") != 0); // motion is not wanted, or looked for
  if (options->controls && sn_cli_is_point_cache(options->controls))
    options->controls = NULL; // positions: for the evaluation
  status = sn_inputs_load(&c->ctx, &inputs, out);
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

sn_status sn_cli_add_sculpts(cli *c, sn_examples *examples) {
  sn_inputs inputs;
  sn_status status = sn_cli_inputs(c, &inputs);
  return status == SN_OK ? sn_inputs_sculpt(&c->ctx, &inputs, examples) : status;
}

sn_status sn_cli_retarget(cli *c, const sn_rt_model *model, sn_examples *examples) {
  sn_inputs inputs;
  char told[700];
  sn_status status = sn_cli_inputs(c, &inputs);
  if (status == SN_OK) status = sn_inputs_retarget(&c->ctx, &inputs, model, examples, told, sizeof told);
  if (status == SN_OK && told[0]) sn_cli_say(c, "%s: %s\n", sn_cli_text(c, "--skeleton"), told);
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
  if (out->object_count > CLI_MOST_OBJECTS)
    return sn_fail(&c->ctx, SN_BAD_INPUT, "at most %d --object", CLI_MOST_OBJECTS);
  if (sn_cli_given(c, "--fps")) out->fps = sn_cli_fps(c);
  if (sn_cli_given(c, "--fps") && out->fps <= 0)
    return sn_fail(&c->ctx, SN_BAD_INPUT, "--fps %s: must be a positive number, from %g to %g",
                   sn_cli_text(c, "--fps"), least_fps, most_fps);
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
