// SPDX-License-Identifier: MIT
// Options shared by commands, and their loading.
#include "cli/inputs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void note(void *user, const char *line) { sn_cli_say(user, "%s\n", line); }

static sn_status check_loaded(void *user, sn_examples *examples) {
  for (int k = 0; k < examples->note_count; k++) sn_cli_name_options(user, examples->notes[k]);
  return sn_cli_team_check(user, examples);
}

sn_status sn_cli_inputs(cli *c, sn_inputs *out) {
  *out = (sn_inputs){.keys = "all", .seed = c->seed, .note = note, .loaded = check_loaded, .user = c};
  sn_status status = SN_OK;
  for (int k = 0; status == SN_OK && k < c->value_count; k++) {
    const char *name = c->values[k].option->name;
    if (strncmp(name, "--", 2) == 0 && sn_input_known(name + 2))
      status = sn_inputs_add(&c->ctx, out, name + 2, c->values[k].text);
  }
  return status;
}

void sn_cli_say_keys(cli *c, const sn_keys *keys) {
  const char *spec = sn_cli_text(c, "--keys");
  if (!spec || strncmp(spec, "auto:", 5) != 0) return;
  c->keys = sn_report_integers(keys->frames, keys->count);
  sn_cli_say(c, "frames chosen:");
  for (int k = 0; k < keys->count; k++) sn_cli_say(c, "%s%d", k > 0 ? "," : " ", keys->frames[k]);
  sn_cli_say(c, "\n");
}

cli_figure_text sn_cli_figure(double value, int decimals) {
  cli_figure_text out = {"-"};
  if (isfinite(value)) snprintf(out.text, sizeof out.text, fabs(value) < 1e9 ? "%.*f" : "%.*g", decimals, value);
  return out;
}
