// SPDX-License-Identifier: MIT
// sinew info: describes the contents of a file.
#include "cli/inputs.h"

// --keys auto:N: chooses poses of a clip to sculpt or simulate.
static sn_status choose_poses(cli *c, const char *path) {
  sn_inputs inputs;
  sn_examples examples;
  sn_keys keys = {0}, others = {0};
  if (!sn_is_document(path))
    return sn_fail(&c->ctx, SN_BAD_INPUT, "--keys: poses are chosen from a skeleton's motion, and %s has none", path);
  sn_status status = sn_cli_inputs(c, &inputs);
  if (status == SN_OK) status = sn_inputs_add(&c->ctx, &inputs, "skeleton", path);
  if (status == SN_OK) status = sn_inputs_load(&c->ctx, &inputs, &examples);
  if (status != SN_OK) return status;
  status = sn_train_keys(&c->ctx, &examples, sn_cli_text(c, "--keys"), c->seed, &keys, &others);
  if (status == SN_OK) sn_cli_say_keys(c, &keys);
  sn_keys_free(&keys);
  sn_keys_free(&others);
  sn_examples_free(&examples);
  return status;
}

static int run(cli *c) {
  const char *path = c->arguments[0];
  sn_info_result result = {0};
  if (sn_cli_given(c, "--clip") && !sn_cli_given(c, "--keys")) return sn_cli_misuse("info: --clip goes with --keys");
  sn_status status = sn_job_info(&c->ctx, path, &result);
  if (result.text) sn_cli_say(c, "%s", result.text);
  c->result = json_incref(result.report);
  if (status == SN_OK && sn_cli_given(c, "--keys")) status = choose_poses(c, path);
  sn_info_result_free(&result);
  return status == SN_OK ? exit_done : sn_cli_fail(c);
}

static const cli_option options[] = {
  {"--keys", "SPEC", NULL, "auto:N: choose the N frames of a clip to sculpt or simulate, from its poses alone",
   false},
  {"--clip", "NAME", NULL, "clip for --keys; the first by default", false},
  {0},
};

const cli_command sn_cli_info = {
  .name = "info",
  .usage = "FILE",
  .summary = "describe a file",
  .details = "FILE is a mesh, a sequence, a skeleton or a model: anything that Sinew reads.",
  .example = "sinew gen arm -o arm\nsinew info arm/skeleton.glb",
  .options = options,
  .takes = {1, 1},
  .run = run,
};
