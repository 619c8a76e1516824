// SPDX-License-Identifier: MIT
#ifndef SINEW_CLI_MODELS_H
#define SINEW_CLI_MODELS_H

#include "cli/inputs.h"

// A model file, mapped.
typedef struct cli_model {
  sn_file file;
  sn_rt_model model;
} cli_model;

// exit_done, or another exit status after having printed why.
int cli_open_model(cli *c, const char *path, cli_model *out);
void cli_close_model(cli_model *model);

#endif
