// SPDX-License-Identifier: MIT
// sinew info: describes the contents of a file.
#include "cli/inputs.h"

// --keys auto:N: chooses poses of a clip to sculpt or simulate.
static sn_status choose_poses(cli *c, const char *path) {
  sn_inputs inputs;
  SN_FREED_BY(sn_examples_free) sn_examples examples = {0};
  SN_FREED_BY(sn_keys_free) sn_keys keys = {0};
  SN_FREED_BY(sn_keys_free) sn_keys others = {0};
  if (!sn_is_document(path))
    return sn_fail(&c->ctx, SN_BAD_INPUT, "--keys: poses are chosen from a skeleton's motion, and %s has none", path);
  SN_TRY(sn_cli_inputs(c, &inputs));
  SN_TRY(sn_inputs_add(&c->ctx, &inputs, "skeleton", path));
  SN_TRY(sn_inputs_load(&c->ctx, &inputs, &examples));
  SN_TRY(sn_train_keys(&c->ctx, &examples, sn_cli_text(c, "--keys"), c->seed, &keys, &others));
  sn_cli_say_keys(c, &keys);
  return SN_OK;
}

static int run(cli *c) {
  const char *path = c->arguments[0];
  SN_FREED_BY(sn_info_result_free) sn_info_result result = {0};
  if (sn_cli_given(c, "--clip") && !sn_cli_given(c, "--keys")) return sn_cli_misuse("info: --clip goes with --keys");
  sn_status status = sn_job_info(&c->ctx, path, &result);
  if (result.text) sn_cli_say(c, "%s", result.text);
  c->result = json_incref(result.report);
  if (status == SN_OK && sn_cli_given(c, "--keys")) status = choose_poses(c, path);
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
