// SPDX-License-Identifier: MIT
// sinew pack: a finished model in fewer bytes, and its vertices in another order.
#include <string.h>

#include "cli/models.h"

// Packed unless it is already, where that is what was asked for; then renumbered.
static sn_status make(cli *c, const sn_rt_model *model, const char *order, sn_model *out) {
  sn_vertex_order wanted = order && strcmp(order, "blocks") == 0 ? SN_VERTEX_ORDER_BLOCKS : SN_VERTEX_ORDER_FILE;
  if (order && model->info.weight_bits == 12) return sn_model_reorder(&c->ctx, model, wanted, out);
  sn_status status = sn_model_pack(&c->ctx, model, out);
  return status == SN_OK && order ? sn_model_set_order(&c->ctx, out, wanted) : status;
}

static int run(cli *c) {
  const char *from = c->arguments[0], *to = sn_cli_text(c, "-o"), *order = sn_cli_text(c, "--order");
  if (!to) return sn_cli_misuse("pack: where to? Give -o MODEL.sinew");
  if (!sn_has_extension(to, ".sinew")) return sn_cli_misuse("pack: -o %s: a model's name ends in .sinew", to);
  if (order && strcmp(order, "blocks") != 0 && strcmp(order, "file") != 0)
    return sn_cli_misuse("pack: --order %s: choose blocks or file", order);
  if (!sn_cli_has_folder(c, to)) return sn_cli_fail(c);
  cli_model opened;
  int result = sn_cli_open_model(c, from, &opened);
  if (result != exit_done) return result;
  sn_model packed = {0};
  sn_status status = make(c, &opened.model, order, &packed);
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
  {"--order", "ORDER", NULL,
   "blocks: number the vertices in the order in which the runtime computes them; file: as in the rest file", false},
  {0},
};

const cli_command sn_cli_pack = {
  .name = "pack",
  .usage = "MODEL.sinew [--order blocks] -o MODEL.sinew",
  .summary = "a finished model in half the bytes",
  .details =
    "Rest positions, normals, weights and corrections are rounded, as with the option pack=1 of a method: by\n"
    "0.02 % of the bounding-box diagonal and 0.3 degrees at most. Packed models are evaluated as they are, and "
    "faster\n"
    "where memory decides.\n"
    "With --order blocks results are written one after the other, which is faster still: engines renumber their "
    "vertex\n"
    "and index buffers once, by sn_rt_get_order. Sinew's own tools go on answering in the order of the rest file. A "
    "model\n"
    "that is packed already is renumbered as it is.",
  .example = "sinew pack arm.sinew -o arm-packed.sinew",
  .options = options,
  .least_arguments = 1,
  .most_arguments = 1,
  .run = run,
};
