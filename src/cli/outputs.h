// SPDX-License-Identifier: MIT
// Output files appear whole or not at all, also where a signal ends the tool.
#ifndef SINEW_CLI_OUTPUTS_H
#define SINEW_CLI_OUTPUTS_H

#include "cli/cli.h"

// Refuses (exit_usage) a command line that would write two things to one file, or over what it reads.
int sn_cli_check_outputs(const cli *c);

// Runs the command and writes its report; the files that it wrote appear if all of it went well.
int sn_cli_run_whole(cli *c);

// Standard output to where it goes; where it cannot, a message and exit_failed.
int sn_cli_flush(void);

// For a process that ends at once: no temporary file stays.
void sn_cli_discard_outputs(void);

// Ctrl-C and its like leave no temporary file.
void sn_cli_catch_signals(void);

#endif
