// SPDX-License-Identifier: MIT
// sinew pack: compresses a trained model, or reorders its vertices.
#include "cli/inputs.h"

static int run(cli *c) {
  const char *from = c->arguments[0], *to = sn_cli_text(c, "-o"), *order = sn_cli_text(c, "--order");
  SN_FREED_BY(sn_opened_close) sn_opened opened;
  SN_FREED_BY(sn_model_free) sn_model packed = {0};
  if (sn_open_model(&c->ctx, from, &opened) != SN_OK) return sn_cli_fail(c);
  sn_status status = sn_job_pack(&c->ctx, &opened.model, order, &packed);
  if (status != SN_OK) sn_fail_prefix(&c->ctx, "%s: ", from);
  if (status == SN_OK) status = sn_model_write(&c->ctx, to, &packed);
  if (status != SN_OK) return sn_cli_fail(c);
  double before = (double)opened.file.size, after = (double)packed.size;
  sn_cli_say(c, "%s: %.0f bytes, %.1f %% of %.0f\n", to, after, 100 * after / before, before);
  c->result = json_pack("{sfsf}", "bytes", after, "bytes_before", before);
  return exit_done;
}

static const cli_option options[] = {
  {"-o", "MODEL.sinew", NULL, "model to write", cli_output | cli_needed},
  {"--order", "blocks|file", NULL,
   "blocks: number vertices in the order in which the runtime computes them; file: as in the rest file", cli_quality},
  {0},
};

const cli_command sn_cli_pack = {
  .name = "pack",
  .usage = "MODEL.sinew [--order blocks] -o MODEL.sinew",
  .summary = "write a finished model in half the bytes",
  .details = "Rounds rest positions, normals, weights and corrections, as pack=1 does in training: by at most 0.02 % "
             "of the diagonal and 0.3 degrees. With --order blocks evaluation is faster; engines renumber their "
             "buffers once, by sn_rt_get_order. Sinew's tools keep the order of the rest file either way.",
  .example = CLI_EXAMPLE_MODEL "sinew pack arm.sinew -o small.sinew",
  .options = options,
  .takes = {1, 1},
  .run = run,
};
