// SPDX-License-Identifier: MIT
#include "cli/models.h"

int cli_open_model(cli *c, const char *path, cli_model *out) {
  *out = (cli_model){0};
  if (sn_file_open(&c->ctx, path, &out->file) != SN_OK) return cli_fail(c);
  if (sn_model_open(&c->ctx, path, out->file.bytes, out->file.size, &out->model) != SN_OK) {
    sn_file_close(&out->file);
    return cli_fail(c);
  }
  return exit_done;
}

void cli_close_model(cli_model *model) { sn_file_close(&model->file); }
