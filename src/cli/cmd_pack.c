// SPDX-License-Identifier: MIT
// sinew pack: a finished model in fewer bytes.
#include "cli/models.h"

static int run(cli *c) {
  const char *from = c->arguments[0], *to = sn_cli_text(c, "-o");
  if (!to) return sn_cli_misuse("pack: where to? Give -o MODEL.sinew");
  if (!sn_cli_has_extension(to, ".sinew")) return sn_cli_misuse("pack: -o %s: a model's name ends in .sinew", to);
  if (!sn_cli_has_folder(c, to)) return sn_cli_fail(c);
  cli_model opened;
  int result = sn_cli_open_model(c, from, &opened);
  if (result != exit_done) return result;
  sn_model packed = {0};
  sn_status status = sn_model_pack(&c->ctx, &opened.model, &packed);
  if (status != SN_OK) sn_fail_prefix(&c->ctx, "%s: ", from);
  if (status == SN_OK) status = sn_model_write(&c->ctx, to, &packed);
  if (status == SN_OK) {
    double before = (double)opened.file.size, after = (double)packed.size;
    sn_cli_say(c, "%s: %.0f bytes, %.1f %% of %.0f\n", to, after, 100 * after / before, before);
    c->result = json_pack("{sfsf}", "bytes", after, "bytes_before", before);
  }
  sn_model_free(&packed);
  sn_cli_close_model(&opened);
  return status == SN_OK ? exit_done : sn_cli_fail(c);
}

static const cli_option options[] = {
  {"-o", "MODEL.sinew", NULL, "the model to write", false},
  {0},
};

const cli_command sn_cli_pack = {
  .name = "pack",
  .usage = "MODEL.sinew -o MODEL.sinew",
  .summary = "a finished model in half the bytes",
  .details =
    "Rest positions, normals, weights and corrections are rounded, as with the option pack=1 of a method: by\n"
    "0.02 % of the bounding-box diagonal and 0.3 degrees at most. Packed models are evaluated as they are, and "
    "faster\n"
    "where memory decides.",
  .example = "sinew pack arm.sinew -o arm-packed.sinew",
  .options = options,
  .least_arguments = 1,
  .most_arguments = 1,
  .run = run,
};
