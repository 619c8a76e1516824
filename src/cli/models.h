// SPDX-License-Identifier: MIT
// Models that commands work on.
#ifndef SINEW_CLI_MODELS_H
#define SINEW_CLI_MODELS_H

#include "cli/inputs.h"

// A model file, opened.
typedef struct cli_model {
  sn_file file;
  sn_rt_model model;
  sn_model as_file; // of sn_cli_open_as_file, where the model was renumbered
} cli_model;

// exit_done, or another exit status after having printed why.
int sn_cli_open_model(cli *c, const char *path, cli_model *out);
// With its vertices in the order of the rest file.
int sn_cli_open_as_file(cli *c, const char *path, cli_model *out);
void sn_cli_close_model(cli_model *model);

// Says which joints leave the range of the training, in which frames and by how far; also for the report. NULL where that failed.
json_t *sn_cli_note_outside(cli *c, const sn_rt_model *model, const sn_examples *examples);

// Says where torques and values are outside what the model was trained on. Returns the number of such frames by joint or value.
json_t *sn_cli_note_clamped(const cli *c, const char *name, const sn_rt_model *model, const sn_examples *examples);

// A method's spec as the name of a file: '-' for what does not belong in one.
void sn_cli_spec_name(const char *spec, char *out, size_t size);

#endif
